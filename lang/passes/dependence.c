/* dependence.c - the dependence of a function's results on its arguments.
 *
 * Method: dataflow analysis. A value's state is n + 1 sets of arguments: those
 * on which the value depends and, for each argument, those on which the
 * derivative with respect to it may depend. A primitive is described by the
 * same two facts for its operands (Slopes below), so one rule of composition
 * serves primitives, branches and calls. Loops and recursion take the least
 * fixed point, which exists because states only grow.
 *
 * Needs: dependence.h.
 *
 * Contract: see dependence.h.
 */
#include "lang/passes/dependence.h"

/* The summary of an analysed function: the states of its results in terms of
 * its non-constant parameters. Only these are counted, because a state's size
 * is quadratic in their number, and functions capture hundreds of constant
 * values. */
typedef struct Walked {
	const Fn *f;
	const bool *moves; /* by parameter: it is not constant */
	uint64_t **results;
	struct Walked *next;
} Walked;

typedef struct DependenceWalk {
	Ctx *c;
	Arena *a;
	const Fn *f;
	uint32_t n, words;            /* number of arguments, and words of a set of them */
	uint64_t **state;             /* by value: n + 1 sets; NULL: constant */
	uint64_t *lengths;            /* the arguments on which extents depend */
	struct DependenceWalk *outer; /* the analysis of the caller */
	Walked **walked;              /* shared by all analyses */
	bool changed;
} DependenceWalk;

/* How a result depends on operands, by the derivatives (slopes) with respect to
 * them. */
typedef enum Slopes {
	SLOPES_SUM,     /* constant slopes */
	SLOPES_PRODUCT, /* affine in each operand: its slope depends on the others */
	/* As a product in the first operand; the other slopes may depend on any. */
	SLOPES_QUOTIENT,
	/* The first operand selects; it may change the slopes of the others. */
	SLOPES_CHOICE,
	SLOPES_PLACED, /* the second operand selects, as an index does */
	SLOPES_ANY
} Slopes;

static uint64_t *set_of(const DependenceWalk *w, uint64_t *state, uint32_t k) {
	return state + (size_t)k * w->words;
}
static bool has(const uint64_t *set, uint32_t i) { return set[i / 64] >> (i % 64) & 1; }
static void put(uint64_t *set, uint32_t i) { set[i / 64] |= (uint64_t)1 << (i % 64); }

static bool add(uint64_t *into, const uint64_t *from, size_t words) {
	uint64_t grown = 0;
	for (size_t k = 0; k < words; k++) {
		grown |= from[k] & ~into[k];
		into[k] |= from[k];
	}
	return grown != 0;
}

static uint64_t *new_state(const DependenceWalk *w) {
	return ARENA_ARRAY(w->a, uint64_t, (size_t)(w->n + 1) * w->words);
}

static uint64_t *state_of(const DependenceWalk *w, Ref r) {
	return ref_is_value(r) ? w->state[REF_INDEX(r)] : NULL;
}

/* Joins a state into that of a value. */
static void join(DependenceWalk *w, Ref r, const uint64_t *state) {
	if (!state) return;
	uint64_t **at = &w->state[REF_INDEX(r)];
	if (!*at) *at = new_state(w);
	w->changed |= add(*at, state, (size_t)(w->n + 1) * w->words);
}

/* ---- composition --------------------------------------------------------- */

static bool slope_uses(Slopes s, uint32_t p, uint32_t q) {
	switch (s) {
	case SLOPES_SUM: return false;
	case SLOPES_PRODUCT: return p != q;
	case SLOPES_QUOTIENT: return p > 0 || q > 0;
	case SLOPES_CHOICE: return p == 0 || q == 0;
	case SLOPES_PLACED: return p == 1 || q == 1;
	case SLOPES_ANY: return true;
	}
	return true;
}

/* Adds to `out` the contribution through operand p: its state, scaled by a
 * slope that depends on `factor`. */
static void through(const DependenceWalk *w, uint64_t *out, uint64_t *operand,
                    const uint64_t *factor) {
	add(out, operand, w->words);
	for (uint32_t j = 0; j < w->n; j++) {
		if (!has(operand, j)) continue;
		add(set_of(w, out, j + 1), set_of(w, operand, j + 1), w->words);
		add(set_of(w, out, j + 1), factor, w->words);
	}
}

/* The state of a value computed from n operands, whose states may be NULL;
 * NULL: constant. */
static uint64_t *composed(const DependenceWalk *w, Slopes s, uint32_t n,
                          uint64_t *const *operands) {
	uint64_t *out = NULL, *factor = ARENA_ARRAY(w->a, uint64_t, w->words);
	for (uint32_t p = 0; p < n; p++) {
		if (!operands[p]) continue;
		if (!out) out = new_state(w);
		memset(factor, 0, sizeof *factor * w->words);
		for (uint32_t q = 0; q < n; q++)
			if (operands[q] && slope_uses(s, p, q)) add(factor, operands[q], w->words);
		through(w, out, operands[p], factor);
	}
	return out;
}

/* ---- instructions -------------------------------------------------------- */

static void visit(DependenceWalk *w, const Region *g);

/* The states of a region's result, and of an operand. */
static uint64_t *given(const DependenceWalk *w, const Region *g, uint32_t k) {
	return state_of(w, w->f->args.at[g->results + k]);
}
static uint64_t *taken(const DependenceWalk *w, const Inst *in, uint32_t k) {
	return state_of(w, inst_arg(w->f, in, k));
}
static Ref param(const Region *g, uint32_t k) { return ref_value(g->params + k); }

static Slopes slopes_of(const DependenceWalk *w, const Inst *in) {
	switch ((Op)in->op) {
	case OP_CONVERT: {
		const Dtype to = (Dtype)ref_ty(w->f, inst_result(in, 0))->dtype;
		return dtype_is_inexact(to) ? SLOPES_SUM : SLOPES_ANY;
	}
	case OP_STOP: return SLOPES_SUM;
	case OP_DIV: return SLOPES_QUOTIENT;
	case OP_SELECT:
	case OP_TRISOLVE: return SLOPES_CHOICE;
	case OP_GATHER:
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET: return SLOPES_PLACED;
	case OP_BOX:
	case OP_UNBOX: return SLOPES_SUM;
	default: break;
	}
	if (prims[in->op].deriv == DERIV_LINEAR) return SLOPES_SUM;
	return prims[in->op].deriv == DERIV_BILINEAR ? SLOPES_PRODUCT : SLOPES_ANY;
}

static uint64_t **operand_states(const DependenceWalk *w, const Inst *in) {
	uint64_t **s = ARENA_ARRAY(w->a, uint64_t *, in->nargs + 1u);
	for (uint32_t k = 0; k < in->nargs; k++) s[k] = taken(w, in, k);
	return s;
}

/* Joins into result r one of two values, between which `decides` selects. */
static void join_choice(DependenceWalk *w, Ref r, uint64_t *decides, uint64_t *x, uint64_t *y) {
	join(w, r, composed(w, SLOPES_CHOICE, 3, (uint64_t *[]){decides, x, y}));
}

/* whole_region: all operands of a region's instructions as one value, which
 * determines whether they fail. */
static uint64_t *both(const DependenceWalk *w, uint64_t *x, uint64_t *y) {
	return composed(w, SLOPES_ANY, 2, (uint64_t *[]){x, y});
}

static uint64_t *whole_region(const DependenceWalk *w, const Region *g) {
	uint64_t *all = NULL;
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &w->f->insts.at[w->f->inst_order.at[g->insts + i]];
		all = both(w, all, composed(w, SLOPES_ANY, in->nargs, operand_states(w, in)));
		for (uint32_t r = 0; r < in->nregions; r++)
			all = both(w, all, whole_region(w, inst_region(w->f, in, r)));
	}
	return all;
}

static void visit_branches(DependenceWalk *w, const Inst *in) {
	const Region *g = inst_region(w->f, in, 0), *h = inst_region(w->f, in, 1);
	visit(w, g);
	if (in->op == OP_TRY)
		for (uint32_t k = 0; k < h->nparams; k++) join(w, param(h, k), whole_region(w, g));
	visit(w, h);
	uint64_t *decides = in->op == OP_TRY ? whole_region(w, g) : taken(w, in, 0);
	for (uint32_t k = 0; k < in->nresults; k++)
		join_choice(w, inst_result(in, k), decides, given(w, g, k), given(w, h, k));
}

/* Iterates the carried values to a fixed point; the trip count affects them
 * too. */
static void visit_for(DependenceWalk *w, const Inst *in) {
	const Region *body = inst_region(w->f, in, 0);
	uint64_t *count = taken(w, in, 0);
	for (uint32_t k = 0; k < in->nresults; k++) join(w, param(body, 1 + k), taken(w, in, 1 + k));
	for (bool more = true; more;) {
		const bool before = w->changed;
		w->changed = false;
		visit(w, body);
		for (uint32_t k = 0; k < in->nresults; k++)
			join_choice(w, param(body, 1 + k), count, NULL, given(w, body, k));
		more = w->changed;
		w->changed |= before;
	}
	for (uint32_t k = 0; k < in->nresults; k++)
		join(w, inst_result(in, k), state_of(w, param(body, 1 + k)));
}

static void visit_while(DependenceWalk *w, const Inst *in) {
	const Region *test = inst_region(w->f, in, 0), *body = inst_region(w->f, in, 1);
	for (uint32_t k = 0; k < in->nresults; k++) join(w, param(body, k), taken(w, in, k));
	for (bool more = true; more;) {
		const bool before = w->changed;
		w->changed = false;
		for (uint32_t k = 0; k < in->nresults; k++)
			join(w, param(test, k), state_of(w, param(body, k)));
		visit(w, test);
		visit(w, body);
		uint64_t *decides = given(w, test, 0);
		for (uint32_t k = 0; k < in->nresults; k++)
			join_choice(w, param(body, k), decides, state_of(w, param(body, k)), given(w, body, k));
		more = w->changed;
		w->changed |= before;
	}
	for (uint32_t k = 0; k < in->nresults; k++)
		join(w, inst_result(in, k), state_of(w, param(body, k)));
}

/* ---- calls --------------------------------------------------------------- */

static void walk_begin(DependenceWalk *w, Ctx *c, Arena *a, const Fn *f, uint32_t n,
                       DependenceWalk *outer, Walked **walked) {
	*w = (DependenceWalk){.c = c, .a = a, .f = f, .n = n, .words = n / 64 + 1};
	w->outer = outer;
	w->walked = walked;
	w->state = ARENA_ARRAY(a, uint64_t *, f->vals.n + 1u);
	w->lengths = ARENA_ARRAY(a, uint64_t, w->words);
}

static void visit_any(DependenceWalk *w, const Inst *in) {
	uint64_t *all = composed(w, SLOPES_ANY, in->nargs, operand_states(w, in));
	for (uint32_t k = 0; k < in->nresults; k++) join(w, inst_result(in, k), all);
}

/* Values that determine extents may affect every result. */
static uint64_t *with_lengths(const DependenceWalk *w, uint64_t *state) {
	uint64_t *sized = new_state(w);
	memcpy(sized, w->lengths, sizeof *sized * w->words);
	for (uint32_t j = 0; j < w->n; j++)
		if (has(w->lengths, j)) add(set_of(w, sized, j + 1), w->lengths, w->words);
	return composed(w, SLOPES_CHOICE, 2, (uint64_t *[]){sized, state});
}

/* The states of a callee's results in terms of its non-constant parameters;
 * NULL for a recursive call. */
static uint64_t **walked_results(DependenceWalk *w, const Fn *callee, const bool *moves,
                                 uint32_t count) {
	const uint32_t nparams = fn_nparams(callee);
	for (const Walked *k = *w->walked; k; k = k->next)
		if (k->f == callee && !memcmp(k->moves, moves, nparams * sizeof *moves)) return k->results;
	uint32_t depth = 0;
	if (!callee->finished) return NULL;
	for (const DependenceWalk *o = w; o; o = o->outer, depth++)
		if (o->f == callee || depth > 60) return NULL;
	DependenceWalk own;
	walk_begin(&own, w->c, w->a, callee, count, w, w->walked);
	for (uint32_t p = 0, k = 0; p < nparams; p++) {
		if (!moves[p]) continue;
		uint64_t *s = new_state(&own);
		put(s, k++);
		join(&own, fn_param(callee, p), s);
	}
	visit(&own, &callee->regions.at[0]);
	Walked *k = ARENA_NEW(w->a, Walked);
	k->f = callee;
	k->moves = moves;
	k->results = ARENA_ARRAY(w->a, uint64_t *, fn_nresults(callee) + 1u);
	k->next = *w->walked;
	for (uint32_t r = 0; r < fn_nresults(callee); r++)
		k->results[r] = with_lengths(&own, state_of(&own, fn_result(callee, r)));
	*w->walked = k;
	return k->results;
}

/* Composes the callee's summary with the states of the operands. */
static void visit_call(DependenceWalk *w, const Inst *in) {
	uint64_t **operands = operand_states(w, in);
	uint64_t **moving = ARENA_ARRAY(w->a, uint64_t *, in->nargs + 1u);
	bool *moves = ARENA_ARRAY(w->a, bool, in->nargs + 1u);
	uint32_t count = 0;
	for (uint32_t p = 0; p < in->nargs; p++) {
		moves[p] = operands[p] != NULL;
		if (moves[p]) moving[count++] = operands[p];
	}
	if (!count) return; /* constant operands give constant results */
	uint64_t **found = walked_results(w, inst_callee(w->c, in), moves, count);
	if (!found) {
		visit_any(w, in);
		return;
	}
	const uint32_t words = count / 64 + 1; /* size of a set of the callee's parameters */
	uint64_t *factor = ARENA_ARRAY(w->a, uint64_t, w->words);
	for (uint32_t k = 0; k < in->nresults; k++) {
		uint64_t *out = NULL;
		for (uint32_t p = 0; p < count; p++) {
			if (!has(found[k], p)) continue;
			if (!out) out = new_state(w);
			memset(factor, 0, sizeof *factor * w->words);
			for (uint32_t q = 0; q < count; q++)
				if (has(found[k] + (size_t)(p + 1) * words, q)) add(factor, moving[q], w->words);
			through(w, out, moving[p], factor);
		}
		join(w, inst_result(in, k), out);
	}
}

static void visit_inst(DependenceWalk *w, const Inst *in) {
	switch ((Op)in->op) {
	case OP_IF:
	case OP_TRY: visit_branches(w, in); return;
	case OP_FOR: visit_for(w, in); return;
	case OP_WHILE: visit_while(w, in); return;
	case OP_CALL: visit_call(w, in); return;
	case OP_SOLVED: join(w, inst_result(in, 0), taken(w, in, 4)); return; /* X itself */
	case OP_BIND:
	case OP_NONZERO: {
		const uint64_t *s = taken(w, in, 0);
		if (s) w->changed |= add(w->lengths, s, w->words);
		break;
	}
	default: break;
	}
	if (!in->nresults) return;
	uint64_t *s = composed(w, slopes_of(w, in), in->nargs, operand_states(w, in));
	for (uint32_t k = 0; k < in->nresults; k++) join(w, inst_result(in, k), s);
}

static void visit(DependenceWalk *w, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		visit_inst(w, &w->f->insts.at[w->f->inst_order.at[g->insts + i]]);
}

Dependence fn_dependence(Ctx *c, Arena *a, const Fn *f, const int32_t *number, uint32_t n) {
	Walked *walked = NULL;
	DependenceWalk w;
	walk_begin(&w, c, a, f, n, NULL, &walked);
	for (uint32_t p = 0; p < fn_nparams(f); p++) {
		if (number[p] < 0) continue;
		uint64_t *s = new_state(&w);
		put(s, (uint32_t)number[p]);
		join(&w, fn_param(f, p), s);
	}
	visit(&w, &f->regions.at[0]);
	Dependence d = {.n = n};
	d.depends = ARENA_ARRAY(a, bool, n + 1u);
	d.factors = ARENA_ARRAY(a, bool, (size_t)n *n + 1);
	for (uint32_t k = 0; k < fn_nresults(f); k++) {
		uint64_t *s = with_lengths(&w, state_of(&w, fn_result(f, k)));
		for (uint32_t i = 0; s && i < n; i++) {
			d.depends[i] |= has(s, i);
			for (uint32_t q = 0; q < n; q++)
				d.factors[(size_t)i * n + q] |= has(set_of(&w, s, i + 1), q);
		}
	}
	return d;
}
