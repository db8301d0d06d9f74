/* transform_cache.h - the transforms of a function, kept on the function: one
 * entry for each (transform, order, mask).
 *
 * Needs: autodiff.h. Guarantees: an entry is made once and lives as long as its
 * function; the functions it owns die with it. While an entry is being made it
 * can already be asked for (recursion): then `fn` is the function under
 * construction, which may be called with build_typed because its id will not
 * change. A throw while an entry is made removes it and every entry that was
 * finished since and may call it, gives up the builders opened since, and goes
 * on outwards.
 *
 *     Derived *d = derived_of(c, f, TR_JVP, 0, mask, make_jvp); if (!d->done)
 *     ... d->fn is open: call it with build_typed, with the types the transform
 *     promises
 */
#ifndef ATLED_AUTODIFF_CORE_TRANSFORM_CACHE_H
#define ATLED_AUTODIFF_CORE_TRANSFORM_CACHE_H

#include "autodiff/autodiff.h"

typedef enum Transform {
	TR_JVP,
	TR_SPLIT,
	TR_TRANSPOSE,
	TR_JET,
	TR_BATCH,
	TR_DEPENDS,
	TR_COLUMNS,
	TR_GRADIENT,
	TR_SLOPES,
	TR_CHECKPOINT,
	TR_ADVANCE,
	TR_LOOP,
	TR_REPORT,
	TR_IN_REVERSE,
	TR_REVERSED,
	TR_SPARSITY
} Transform;

typedef struct Derived Derived;
struct Derived {
	Derived *next; /* on the same function */
	Fn *from;      /* whose transform it is */
	uint8_t transform;
	/* made; before that `fn` is under construction, or NULL when even that
	 * has not begun */
	bool done;
	/* was asked for before it was done: it must keep the promises made to
	 * its caller */
	bool recursive;
	/* jet: the order, and whether it is along straight lines; in reverse:
	 * the number of the other form; transpose, columns: the number of
	 * residuals; checkpoint: how; sparsity: of captured values; others: 0 */
	uint32_t order;
	uint32_t nmask; /* parameters of `from` */
	bool *mask;     /* never set where a parameter has no tangent, except in a batch */
	Fn *fn;
	bool *result_active; /* one per result of `from`; what it says is the transform's business */
	void *data;          /* more of the transform's own, in from->arena */
	VEC(Fn *) owned;     /* released with the entry */
	Arena *scratch;      /* for `make`; gone when it returns or throws */
	uint32_t serial;     /* when it was begun */
	/* the entry that was being made when this one was begun; only while it
	 * is being made */
	Derived *outer;
	/* finished entries that may call an unfinished one; only until the
	 * outermost is done */
	Derived *provisional;
};

/* The entry, made by `make` if there is none yet. `mask` has a bool for each
 * parameter; NULL: none set. For all transforms but TR_BATCH bits of parameters
 * without a tangent are cleared first. `make` gets an entry whose arrays are
 * zero, sets fn as soon as it has a builder, and gives the finished functions
 * to derived_own. */
Derived *derived_of(Ctx *c, Fn *f, Transform transform, uint32_t order, const bool *mask,
                    void (*make)(Ctx *c, Derived *d));
/* The entry of f whose function it is; NULL: none. */
Derived *derived_that_made(const Fn *f, const Fn *made);
/* The entry takes over the caller's reference. */
Fn *derived_own(Derived *d, Fn *fn);
/* For `make`: the entry's function is one of the same parameters and results
 * that calls `from`, by another name in all that looks at functions. */
void derived_calls(Ctx *c, Derived *d);

/* What is known of a function because of the transform that made it.
 * Zero-filled for functions that no transform made. */
typedef struct Origin {
	/* the parameters from jvp_params on are tangents, and so are the results
	 * from jvp_results on */
	bool is_jvp;
	uint32_t jvp_params, jvp_results;
	/* linear in the parameters from linear_from on, in the form that
	 * transposing wants */
	bool is_linear;
	uint32_t linear_from;
	/* the two sweeps of reverse mode: what keeps residuals, and a transpose */
	bool is_primal, is_reverse;
	/* of a forward sweep and of a batch: what it was made of, by its number,
	 * whose calls are written out in it */
	bool has_source;
	FnId source;
	bool is_jet; /* a Taylor expansion, or a batch of them */
	/* nested_jets.h: an expansion of line_of by one number; order 0: none */
	uint32_t line_order, line_param;
	FnId line_of; /* by its number, since it may be gone */
	/* gradient.c made it, of the function `gradient_of`, which may be gone:
	 * its number is asked for */
	bool is_gradient;
	FnId gradient_of;
	bool is_few;   /* a gradient forwards, by so few numbers that it costs less */
	bool reversed; /* with the forms for reverse mode in it */
	/* reverse_override.c made it: what is taken in its place in reverse
	 * mode, which its entry owns, and everywhere else, which it was made of */
	Fn *in_reverse, *in_forward;
	uint32_t rounds; /* of splits that led to it, one of the linear part of another */
	/* checkpoint.c made it, of a loop that keeps snapshots: it has a
	 * transpose of its own */
	const struct SnapshotLoop *loop;
} Origin;
Origin origin_of(const Fn *f);
void origin_set(Ctx *c, Fn *f, Origin o);

/* The form that f had before it was settled, its calls not written out: forward
 * modes take that, since it tells what was expanded of what. f itself where
 * there is none. plain_set keeps a reference. */
Fn *plain_of(Fn *f);
void plain_set(Ctx *c, Fn *settled, Fn *plain);

/* As fn_flatten, with the forms for reverse mode given up: what is batched has
 * none (reverse_override.c). */
Fn *flatten_forward(Ctx *c, Fn *f);

/* What optimise.c found of the mixed derivatives in f: along which directions
 * they can be expanded instead, whether they are, and the form not taken. other
 * NULL: nothing. polarised_set keeps a reference. */
typedef struct Polarised {
	Fn *other;
	bool taken;
	char along[200];
} Polarised;
Polarised polarised_of(const Fn *f);
void polarised_set(Ctx *c, Fn *f, Polarised p);

/* The free_derived hook. */
void derived_free(Ctx *c, void *derived);

/* "f.jvp": what a transform of f is called. */
Atom derived_name(Ctx *c, const Fn *f, const char *transform);

/* E_NO_RULE at an instruction of f, naming it and the transform. `why`
 * completes the sentence "`dot` ...". */
_Noreturn void no_rule(Ctx *c, const Fn *f, const Inst *in, const char *transform, const char *why);

#endif
