/* transform_cache.h - the transforms of a function, cached on the function: one
 * entry for each (transform, order, mask).
 *
 * Needs: autodiff.h.
 *
 * Contract:
 * - An entry is made once and lives as long as its function. The functions it
 *   owns are released with it.
 * - An entry may be requested while it is being made (recursion). Then `fn` is
 *   the function under construction; build_typed may call it because its id
 *   will not change.
 * - A throw while an entry is made removes it, and every entry finished since
 *   then that may call it. It abandons the builders opened since, then
 *   propagates.
 *
 *     Transform *d = transform_get(c, f, TR_JVP, 0, mask, make_jvp);
 *     if (!d->done) ... d->fn is open: call it with build_typed, with the types
 *                       that the transform promises
 */
#ifndef ATLED_AUTODIFF_CORE_TRANSFORM_CACHE_H
#define ATLED_AUTODIFF_CORE_TRANSFORM_CACHE_H

#include "autodiff/autodiff.h"

typedef enum TransformKind {
	TR_JVP,
	TR_SPLIT,
	TR_TRANSPOSE,
	TR_JET,
	TR_BATCH,
	TR_DEPENDS,
	TR_SMALL_JACOBIAN,
	TR_GRADIENT,
	TR_FORWARD_GRADIENT,
	TR_CHECKPOINT,
	TR_ADVANCE,
	TR_LOOP,
	TR_REPORT,
	TR_REVERSE_OVERRIDE,
	TR_OVERRIDES_APPLIED,
	TR_SPARSITY
} TransformKind;

typedef struct Transform Transform;
struct Transform {
	Transform *next; /* the next entry of the same function */
	Fn *from;        /* the function that was transformed */
	uint8_t transform;
	/* Finished. Before that `fn` is under construction, or NULL when
	 * construction has not begun. */
	bool done;
	/* Requested before it was done: it must keep the promises made to its
	 * caller. */
	bool recursive;
	/* Jet: the order, and whether it is along straight lines. Reverse override:
	 * the id of the other function. Transpose, small Jacobian: the number of
	 * residuals. Checkpoint: the policy. Sparsity: of captured values. Others:
	 * 0. */
	uint32_t order;
	uint32_t nmask; /* parameters of `from` */
	bool *mask;     /* never set where a parameter has no tangent, except in a batch */
	Fn *fn;
	bool *result_active; /* one per result of `from`; its meaning depends on the transform */
	void *data;          /* the transform's own data, in from->arena */
	VEC(Fn *) owned;     /* released with the entry */
	Arena *scratch;      /* for `make`; freed when it returns or throws */
	uint32_t serial;     /* order of construction */
	/* The entry that was under construction when this one was begun; valid only
	 * during construction. */
	Transform *outer;
	/* The next finished entry that may call an unfinished one; valid only until
	 * the outermost is done. */
	Transform *provisional;
};

/* Returns the entry, made by `make` if there is none yet. `mask` has a bool for
 * each parameter; NULL: none set. For all transforms but TR_BATCH, bits of
 * parameters without a tangent are cleared first. `make` receives an entry
 * whose arrays are zero. It sets fn as soon as it has a builder, and passes the
 * finished functions to transform_own. */
Transform *transform_get(Ctx *c, Fn *f, TransformKind transform, uint32_t order, const bool *mask,
                         void (*make)(Ctx *c, Transform *d));
/* The entry of f whose function is `made`, or NULL. */
Transform *transform_that_made(const Fn *f, const Fn *made);
/* The entry takes over the caller's reference. */
Fn *transform_own(Transform *d, Fn *fn);
/* For `make`: makes the entry's function a wrapper that calls `from`, with the
 * same parameters and results. Passes treat it as a different function. */
void transform_wrap(Ctx *c, Transform *d);

/* Facts about a function that follow from the transform that made it.
 * Zero-filled for functions that no transform made. */
typedef struct TransformInfo {
	/* The parameters from jvp_params on are tangents, and so are the results
	 * from jvp_results on. */
	bool is_jvp;
	uint32_t jvp_params, jvp_results;
	/* Linear in the parameters from linear_from on, in the form that the
	 * transpose requires. */
	bool is_linear;
	uint32_t linear_from;
	/* The two sweeps of reverse mode: the primal that stores residuals, and the
	 * transpose. */
	bool is_primal, is_reverse;
	/* For a forward sweep or a batch: the id of the function it was made of.
	 * The calls in that function are inlined here. */
	bool has_source;
	FnId source;
	bool is_jet; /* a Taylor expansion, or a batch of them */
	/* nested_jets.h: an expansion of nested_of along one scalar parameter;
	 * order 0: none. */
	uint32_t nested_order, nested_param;
	FnId nested_of; /* an id, since the function may have been freed */
	/* Made by gradient.c, of the function with the id `gradient_of`, which may
	 * have been freed. */
	bool is_gradient;
	FnId gradient_of;
	/* a forward-mode gradient with respect to few variables, where that is
	 * cheaper */
	bool is_few;
	bool reversed; /* the reverse overrides have been substituted */
	/* Made by reverse_override.c: its replacement in reverse mode, which its
	 * entry owns, and the function it was made of, which replaces it everywhere
	 * else. */
	Fn *reverse_override, *overridden;
	uint32_t rounds; /* number of splits that led to it, each of the linear part of another */
	/* Made by checkpoint.c, of a loop that uses checkpoints: it has its own
	 * transpose. */
	const struct SnapshotLoop *loop;
} TransformInfo;
TransformInfo transform_info(const Fn *f);
void transform_info_set(Ctx *c, Fn *f, TransformInfo o);

/* The unoptimised form of f, with its calls not inlined, or f itself. Forward
 * modes use it, since it shows which function was expanded. unoptimised_set
 * stores a reference. */
Fn *unoptimised_of(Fn *f);
void unoptimised_set(Ctx *c, Fn *optimised, Fn *unoptimised);

/* As fn_inline_calls, without the reverse overrides: batched functions have
 * none (reverse_override.c). */
Fn *flatten_forward(Ctx *c, Fn *f);

/* The result of optimise.c for the mixed derivatives in f: the directions along
 * which they can be expanded instead, whether they are, and the form not taken.
 * `other` NULL: none. mixed_partials_set stores a reference. */
typedef struct MixedPartials {
	Fn *other;
	bool taken;
	char along[200];
} MixedPartials;
MixedPartials mixed_partials_of(const Fn *f);
void mixed_partials_set(Ctx *c, Fn *f, MixedPartials p);

/* The hooks free_derived and each_derived. */
void transforms_free(Ctx *c, void *derived);
void transforms_each(const void *derived, const RefVisitor *v);

/* The name of a transform of f, for example "f.jvp". */
Atom transform_name(Ctx *c, const Fn *f, const char *transform);

/* Throws E_NO_RULE at an instruction of f, naming it and the transform. `why`
 * completes the sentence "`dot` ...". */
_Noreturn void no_rule(Ctx *c, const Fn *f, const Inst *in, const char *transform, const char *why);

#endif
