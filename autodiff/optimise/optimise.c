/* optimise.c - optimisation of a finished function: the cheapest of several
 * equivalent forms.
 *
 * Method: the forms are f inlined, with sums below contractions, with gradients
 * in forward mode, and with mixed derivatives by directional expansions. Later
 * transforms (batching, reverse mode, compilation) start from the form chosen,
 * so a reverse pass saves as much again.
 *
 * Needs: sum_pushdown.h.
 *
 * Contract:
 * - As for ad_optimise in autodiff.h.
 * - f is returned unchanged unless another form takes fewer operations. They
 *   are counted by fn_cost, with TYPICAL for every symbolic extent.
 */
#include "autodiff/optimise/sum_pushdown.h"
#include "autodiff/taylor/mixed_partials.h"
#include <math.h>

#define TYPICAL 32    /* the assumed extent of an axis */
#define ROUNDS_MOST 4 /* a sum that has been moved may be a term of another */
/* Calls are inlined merely to share common work if at most this fraction of the
 * operations remains. */
#define WORTH_WRITING 0.9

/* ---- is inlining worthwhile? --------------------------------------------- */

static bool contracts(Arena *scratch, const Fn *f) {
	uint32_t n;
	const Fn **all = fn_callees(scratch, f, false, &n);
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; all[k]->finished && i < all[k]->insts.n; i++)
			if (all[k]->insts.at[i].op == OP_DOT) return true;
	return false;
}

/* The derivatives called directly or indirectly: gradients with a forward form,
 * expansions that could share work, nested expansions, and their total
 * number. */
typedef struct Found {
	bool gradient, jet, mixed;
	uint32_t derivatives;
} Found;

static Found find_derivatives(Ctx *c, Arena *scratch, const Fn *f) {
	Found found = {0};
	uint32_t n;
	const Fn **all = fn_callees(scratch, f, false, &n);
	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t i = 0; (all[k] == f || all[k]->finished) && i < all[k]->insts.n; i++) {
			const Fn *g = inst_callee(c, &all[k]->insts.at[i]);
			if (!g || !g->finished) continue;
			const TransformInfo o = transform_info(g);
			found.gradient |= o.is_gradient;
			found.jet |= o.is_jet;
			const Fn *inner = o.nested_order ? fn_get(c, o.nested_of) : NULL;
			found.mixed |= inner && transform_info(inner).nested_order;
			found.derivatives += o.is_jet || o.is_jvp || o.is_gradient;
		}
	}
	return found;
}

/* Whether f contains a sum whose terms come out of contractions by linear
 * operations. Operands precede their uses. */
static bool worth_a_look(Ctx *c, Arena *scratch, const Fn *f) {
	bool *from = ARENA_ARRAY(scratch, bool, f->vals.n + 1);
	for (uint32_t i = 0; i < f->insts.n; i++) {
		const Inst *in = &f->insts.at[i];
		bool any = false;
		for (uint32_t a = 0; a < in->nargs && !any; a++)
			any = ref_is_value(inst_arg(f, in, a)) && from[REF_INDEX(inst_arg(f, in, a))];
		switch ((Op)in->op) {
		case OP_DOT: any = true; break;
		case OP_CALL: {
			const Fn *g = inst_callee(c, in);
			any = g && g->finished && contracts(scratch, g);
			break;
		}
		case OP_REDUCE_SUM:
		case OP_ADD:
		case OP_SUB:
			if (any) return true;
			break;
		case OP_NEG:
		case OP_MUL:
		case OP_BROADCAST:
		case OP_RESHAPE:
		case OP_TRANSPOSE:
		case OP_SLICE:
		case OP_GATHER:
		case OP_SELECT: break;
		default: any = false;
		}
		for (uint32_t k = 0; k < in->nresults; k++) from[in->results + k] = any;
	}
	return false;
}

/* ---- optimising ---------------------------------------------------------- */

typedef struct Optimisation {
	Ctx *c;
	Fn *f;
	Arena *scratch;
	Fn *made[3 * (ROUNDS_MOST + 1) + 2]; /* one reference each */
	uint32_t nmade;
} Optimisation;

static double typical_cost(Optimisation *s, const Fn *f) {
	int64_t *lengths = ARENA_ARRAY(s->scratch, int64_t, f->syms.n + 1);
	for (uint32_t i = 0; i < f->syms.n; i++) lengths[i] = TYPICAL;
	return fn_cost(f, lengths, f->syms.n);
}

static void keep(Optimisation *s, Fn *f) {
	if (f) s->made[s->nmade++] = f;
}

/* f inlined and with its sums moved; NULL when neither changes anything. */
static Fn *form(Optimisation *s, Fn *f, Fn *(*instead)(void *ud, Fn *g), bool *sums) {
	Fn *flat = fn_inline_calls_with(s->c, f, instead, s->c), *best = flat ? flat : f;
	keep(s, flat);
	*sums = false;
	for (uint32_t round = 0; round < ROUNDS_MOST; round++) {
		Fn *moved = push_sums_down(s->c, best, s->scratch);
		keep(s, moved);
		if (!moved || typical_cost(s, moved) >= typical_cost(s, best)) break;
		best = moved;
		*sums = true;
	}
	return best != f ? best : NULL;
}

static Fn *forwards(void *ud, Fn *g) {
	Fn *forward = is_gradient(g) ? gradient_forward(ud, g) : NULL;
	return forward ? forward : g;
}

static void run_optimise(Ctx *c, void *arg) {
	Optimisation *s = arg;
	s->scratch = arena_new(c);
	const Found found = find_derivatives(c, s->scratch, s->f);
	const bool choice = found.gradient && found.jet, share = found.derivatives > 1;
	if (!choice && !share && !worth_a_look(c, s->scratch, s->f)) return;
	bool sums, more;
	MixedPartials mixed = {0};
	Fn *best = form(s, s->f, NULL, &sums);
	double least = best ? typical_cost(s, best) : HUGE_VAL;
	Fn *forward = choice ? form(s, s->f, forwards, &more) : NULL;
	Fn *expanded = found.mixed
	                   ? expand_mixed_partials(c, s->f, s->scratch, mixed.along, sizeof mixed.along)
	                   : NULL;
	keep(s, expanded);
	expanded = expanded ? form(s, expanded, NULL, &more) : NULL;
	if (expanded) {
		const double nested = fmin(least, typical_cost(s, s->f));
		mixed.taken = typical_cost(s, expanded) < nested &&
		              !(forward && typical_cost(s, forward) <= typical_cost(s, expanded));
		mixed.other = !mixed.taken ? expanded : best && least <= nested ? best : s->f;
		if (mixed.taken) {
			mixed_partials_set(c, expanded, mixed);
			unoptimised_set(c, expanded, s->f);
			fn_ref(expanded);
			keep(s, s->f);
			s->f = expanded;
			return;
		}
	}
	if (forward && typical_cost(s, forward) < least) {
		best = forward;
		least = typical_cost(s, best);
	} else if (!sums && !(share && least < WORTH_WRITING * typical_cost(s, s->f))) {
		best = s->f; /* only inlined, so nothing is gained */
	}
	if (least >= typical_cost(s, s->f)) best = s->f;
	if (expanded) mixed_partials_set(c, best, mixed);
	if (best == s->f) return;
	fn_ref(best);
	unoptimised_set(c, best, s->f);
	keep(s, s->f);
	s->f = best;
}

Fn *ad_optimise(Ctx *c, Fn *f) {
	Optimisation s = {.c = c, .f = f};
	const uint32_t mark = build_mark(c);
	const Status st = ctx_protect(c, run_optimise, &s);
	if (st != ST_OK) build_unwind(c, mark);
	for (uint32_t i = 0; i < s.nmade; i++) fn_unref(s.made[i]);
	if (s.scratch) arena_free(s.scratch);
	if (st == ST_OK) return s.f;
	fn_unref(s.f);
	ctx_throw(c, st);
}
