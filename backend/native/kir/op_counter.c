/* op_counter.c - operation and memory counts from the kernel IR.
 *
 * Needs: op_counter.h.
 *
 * Contract:
 * - Ends after a bounded number of instructions, for any extents.
 * - An unknown value makes the result inexact, never an error.
 *
 * Method: a loop's body is walked at its first, middle and last iteration, and
 * Simpson's rule is applied. The count is exact where all iterations but the
 * last cost the same (blocks of rows). It is also exact where the cost is
 * linear in the index (triangular loops). It is close for polynomials of degree
 * two and three. Where only the last iterations differ, short loops are walked
 * iteration by iteration.
 */
#include "backend/native/kir/op_counter.h"
#include <math.h>

#define STEPS_MOST 20000000u /* walked instructions */
#define STEPS_FEW 1000000u
#define TRIP_COUNT_WALKED 128

typedef struct Meter {
	const KModule *m;
	uint32_t nwords;
	const KNumber *words;
	KNumber **values; /* by function, by value: a function is walked for one call at a time */
	bool *busy;       /* by function: being walked now */
	double scratch;   /* in use at this point */
	uint64_t steps;
	KCost cost;
} Meter;

typedef struct Times {
	double trip_count, elements; /* execution counts of uniform and varying instructions */
} Times;

/* The position after the END of the region that begins at `at`. */
static uint32_t skip(const KFn *f, uint32_t at) {
	for (uint32_t depth = 1; at < f->insts.n && depth; at++) {
		const KInst *in = &f->insts.at[at];
		if (in->op == K_END) depth--;
		else depth += kinst_regions(in);
	}
	return at;
}

static KNumber operand(const KFn *f, const KNumber *values, const KInst *in, uint32_t k) {
	return k < in->nargs ? values[f->refs.at[in->args + k]] : (KNumber){0};
}

/* ---- integers ------------------------------------------------------------ */

static KNumber prim_of(Op op, KNumber x, KNumber y) {
	KNumber r = {.known = x.known && y.known};
	if (!r.known) return r;
	switch (op) {
	case OP_ADD: r.known = !__builtin_add_overflow(x.v, y.v, &r.v); return r;
	case OP_SUB: r.known = !__builtin_sub_overflow(x.v, y.v, &r.v); return r;
	case OP_MUL: r.known = !__builtin_mul_overflow(x.v, y.v, &r.v); return r;
	case OP_MAX: r.v = x.v > y.v ? x.v : y.v; return r;
	case OP_MIN: r.v = x.v < y.v ? x.v : y.v; return r;
	case OP_EQ: r.v = x.v == y.v; return r;
	case OP_LT: r.v = x.v < y.v; return r;
	case OP_LE: r.v = x.v <= y.v; return r;
	case OP_FLOORDIV:
		r.known = y.v > 0;
		if (r.known) r.v = x.v / y.v - (x.v % y.v < 0);
		return r;
	default: return (KNumber){0};
	}
}

static bool is_whole(KType t) { return t == KT_I64 || t == KT_BOOL; }

/* The result of an instruction with one uniform result. */
static KNumber number_of(const Meter *w, const KFn *f, const KNumber *values, const KInst *in) {
	const KNumber x = operand(f, values, in, 0), y = operand(f, values, in, 1), none = {0};
	switch (in->op) {
	case K_CONST: return is_whole((KType)in->type) ? (KNumber){.v = in->imm, .known = true} : none;
	case K_WORD:
		return in->type == KT_I64 && (uint64_t)in->imm < w->nwords ? w->words[in->imm] : none;
	case K_PRIM:
		return in->nargs == 2 && is_whole((KType)in->type) ? prim_of((Op)in->prim, x, y) : none;
	case K_SELECT: return !x.known ? none : x.v ? y : operand(f, values, in, 2);
	case K_LOGIC:
		if (!x.known || !y.known) return none;
		return (KNumber){.v = in->imm == 0   ? x.v & y.v
		                      : in->imm == 1 ? x.v | y.v
		                                     : x.v ^ y.v,
		                 .known = true};
	case K_SHIFT:
		if (!x.known || !y.known || y.v < 0 || y.v > 62 || x.v < 0) return none;
		return (KNumber){.v = in->imm == 0 ? (int64_t)((uint64_t)x.v << y.v) : x.v >> y.v,
		                 .known = true};
	default: return none;
	}
}

/* ---- operations ---------------------------------------------------------- */

static bool is_real(KType t) { return t == KT_F32 || t == KT_F64; }

static double flops_of(const KFn *f, const KInst *in) {
	const KType x = in->nargs ? (KType)f->vals.at[f->refs.at[in->args]].type : KT_NONE;
	switch (in->op) {
	case K_PRIM: return is_real(x);
	case K_REDUCE_LANES: return is_real(x) ? (double)f->vals.at[f->refs.at[in->args]].lanes : 0;
	case K_MULADD: return is_real(x) ? 2 : 0;
	default: return 0;
	}
}

static uint32_t walk(Meter *w, uint32_t fn, uint32_t at, Times t);

/* The operations that one walk of the region would add. */
static double once(Meter *w, uint32_t fn, uint32_t at, const KInst *in, KNumber index, Times t) {
	const double before = w->cost.flops;
	KNumber *values = w->values[fn];
	for (uint32_t k = 0; k < in->nparams; k++) values[in->params + k] = (KNumber){0};
	if (in->nparams) values[in->params] = index;
	walk(w, fn, at, t);
	const double added = w->cost.flops - before;
	w->cost.flops = before;
	return added;
}

/* The k-th iteration of a loop from lo. */
static double iteration(Meter *w, uint32_t fn, uint32_t at, const KInst *in, int64_t lo, int64_t k,
                        Times t) {
	return once(w, fn, at, in, (KNumber){.v = lo + k * in->imm, .known = true}, t);
}

static void walk_loop(Meter *w, uint32_t fn, uint32_t at, const KInst *in, Times t) {
	const KFn *f = w->m->fns.at[fn];
	const KNumber lo = operand(f, w->values[fn], in, 0), hi = operand(f, w->values[fn], in, 1);
	if (!lo.known || !hi.known || in->imm <= 0) {
		w->cost.exact = false;
		w->cost.flops += once(w, fn, at, in, lo, t);
		return;
	}
	const int64_t trip_count = hi.v > lo.v ? (hi.v - lo.v - 1) / in->imm + 1 : 0;
	if (trip_count <= 0) return;
	const double n = (double)trip_count, first = once(w, fn, at, in, lo, t);
	if (trip_count == 1 || w->steps > STEPS_MOST) {
		w->cost.flops += n * first;
		return;
	}
	/* An even trip count has two middle iterations. */
	double middle = iteration(w, fn, at, in, lo.v, (trip_count - 1) / 2, t);
	if (trip_count % 2 == 0 && middle != first)
		middle = (middle + iteration(w, fn, at, in, lo.v, trip_count / 2, t)) / 2;
	const double last = iteration(w, fn, at, in, lo.v, trip_count - 1, t);
	/* Shorter iterations at the end, such as fronts past it. */
	if (middle == first && last != first && trip_count <= TRIP_COUNT_WALKED &&
	    w->steps < STEPS_FEW) {
		for (int64_t k = 0; k < trip_count; k++)
			w->cost.flops += iteration(w, fn, at, in, lo.v, k, t);
		return;
	}
	w->cost.flops += trip_count == 3   ? first + middle + last
	                 : middle == first ? (n - 1) * first + last
	                                   : n * (first + 4 * middle + last) / 6;
}

static void walk_vector(Meter *w, uint32_t fn, uint32_t at, const KInst *in, Times t) {
	const KNumber n = operand(w->m->fns.at[fn], w->values[fn], in, 0);
	double elements = 1, trip_count = 1;
	if (n.known) {
		elements = n.v > 0 ? (double)n.v : 0;
		trip_count = ceil(elements / (in->lanes ? in->lanes : 1));
	} else {
		w->cost.exact = false;
	}
	w->cost.flops += once(w, fn, at, in, (KNumber){0},
	                      (Times){t.trip_count * trip_count, t.trip_count * elements});
}

static void walk_parallel(Meter *w, uint32_t fn, uint32_t at, const KInst *in, Times t) {
	const KNumber n = operand(w->m->fns.at[fn], w->values[fn], in, 0);
	const int64_t parts = n.known && n.v > 0 ? n.v : n.known ? 0 : 1;
	const double outside = w->scratch;
	w->cost.exact = w->cost.exact && n.known;
	double sum = 0;
	for (int64_t k = 0; k < parts && k < 64; k++) {
		w->scratch = outside;
		sum += once(w, fn, at, in, (KNumber){.v = k, .known = n.known}, t);
		if (w->steps > STEPS_MOST) {
			sum *= (double)parts / (double)(k + 1);
			break;
		}
	}
	w->scratch = outside;
	w->cost.flops += sum;
}

static void walk_if(Meter *w, uint32_t fn, uint32_t at, uint32_t second, const KInst *in, Times t) {
	const KNumber c = operand(w->m->fns.at[fn], w->values[fn], in, 0);
	if (c.known) {
		walk(w, fn, c.v ? at : second, t);
		return;
	}
	const KInst plain = {0};
	const double yes = once(w, fn, at, &plain, (KNumber){0}, t),
				 no = once(w, fn, second, &plain, (KNumber){0}, t);
	if (yes != no && !(in->flags & KF_COLD)) w->cost.exact = false;
	w->cost.flops += in->flags & KF_COLD ? no : fmax(yes, no);
}

static void walk_call(Meter *w, uint32_t fn, const KInst *in, Times t) {
	const uint32_t callee = (uint32_t)in->imm;
	if (w->busy[callee]) { /* recursion depth is unknown */
		w->cost.exact = false;
		return;
	}
	const KFn *g = w->m->fns.at[callee];
	w->busy[callee] = true;
	for (uint32_t i = 0; i < g->insts.n && g->insts.at[i].op != K_END; i++) {
		const KInst *p = &g->insts.at[i];
		if (p->op == K_PARAM)
			w->values[callee][p->results] =
				operand(w->m->fns.at[fn], w->values[fn], in, (uint32_t)p->imm);
	}
	walk(w, callee, 0, t);
	w->busy[callee] = false;
}

static void walk_contraction(Meter *w, uint32_t fn, const KInst *in, Times t) {
	const bool bias = in->op == K_CONTRACT && in->flags & KF_BIAS;
	/* Two more for each further product. */
	double n = in->op == K_GEMM || bias ? 2 : 2 + (in->nargs - 12);
	for (uint32_t k = 9; k < 12; k++) {
		const KNumber x = operand(w->m->fns.at[fn], w->values[fn], in, k);
		if (x.known) n *= (double)x.v;
		else w->cost.exact = false;
	}
	w->cost.flops += t.trip_count * n;
	if (bias) { /* one addition for each result */
		const KNumber rows = operand(w->m->fns.at[fn], w->values[fn], in, 9),
					  columns = operand(w->m->fns.at[fn], w->values[fn], in, 10);
		if (rows.known && columns.known)
			w->cost.flops += t.trip_count * (double)rows.v * (double)columns.v;
	}
}

/* Walks from `at` to the end of its region; returns the position after it. */
static uint32_t walk(Meter *w, uint32_t fn, uint32_t at, Times t) {
	const KFn *f = w->m->fns.at[fn];
	KNumber *values = w->values[fn];
	while (at < f->insts.n) {
		const KInst *in = &f->insts.at[at++];
		w->steps++;
		if (in->op == K_END) return at;
		const uint32_t nregions = kinst_regions(in), second = nregions == 2 ? skip(f, at) : at;
		switch (in->op) {
		case K_LOOP: walk_loop(w, fn, at, in, t); break;
		case K_VLOOP: walk_vector(w, fn, at, in, t); break;
		case K_PARALLEL: walk_parallel(w, fn, at, in, t); break;
		case K_IF: walk_if(w, fn, at, second, in, t); break;
		case K_WHILE:
			w->cost.exact = false;
			walk(w, fn, at, t);
			walk(w, fn, second, t);
			break;
		case K_CALL: walk_call(w, fn, in, t); break;
		case K_CONTRACT:
		case K_GEMM: walk_contraction(w, fn, in, t); break;
		case K_FACTOR: {
			const KNumber n = operand(f, values, in, 2), r = operand(f, values, in, 3);
			const double rows = n.known ? (double)n.v : 0;
			w->cost.exact = w->cost.exact && n.known && r.known;
			w->cost.flops += t.trip_count * rows * rows *
			                 (in->prim == OP_TRISOLVE ? (r.known ? (double)r.v : 0)
			                                          : rows * (in->prim == OP_LU ? 2 : 1) / 3);
			break;
		}
		case K_ARENA:
		case K_SCRATCH: {
			const KNumber n = operand(f, values, in, 0);
			const double bytes = n.known && n.v > 0 ? (double)n.v : 0;
			w->cost.exact = w->cost.exact && n.known;
			if (in->op == K_ARENA) {
				w->cost.arena_bytes += bytes;
				break;
			}
			w->scratch += bytes;
			w->cost.scratch_bytes = fmax(w->cost.scratch_bytes, w->scratch);
			break;
		}
		default: w->cost.flops += flops_of(f, in) * (in->lanes ? t.elements : t.trip_count);
		}
		if (in->op == K_PARAM) continue; /* set by walk_call */
		for (uint32_t k = 0; k < in->nresults; k++) values[in->results + k] = (KNumber){0};
		if (in->nresults == 1 && !in->lanes && !nregions)
			values[in->results] = number_of(w, f, values, in);
		for (uint32_t k = 0; k < nregions; k++) at = skip(f, at);
	}
	return at;
}

KCost kmodule_count_ops(const KModule *m, uint32_t nwords, const KNumber *words, Arena *scratch) {
	Meter w = {.m = m, .nwords = nwords, .words = words, .cost = {.exact = true}};
	w.values = ARENA_ARRAY(scratch, KNumber *, m->fns.n + 1);
	w.busy = ARENA_ARRAY(scratch, bool, m->fns.n + 1);
	for (uint32_t k = 0; k < m->fns.n; k++)
		w.values[k] = ARENA_ARRAY(scratch, KNumber, m->fns.at[k]->vals.n + 1);
	w.busy[0] = true;
	walk(&w, 0, 0, (Times){1, 1});
	w.cost.values = w.values[0];
	return w.cost;
}
