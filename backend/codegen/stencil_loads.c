/* stencil_loads.c - loads of a vector loop that share registers by shuffles.
 *
 * Method, stencil loads: u[j-1], u[j] and u[j+1] are three vectors, most of
 * which cross a cache line. Instead, the loads at j and j+1 are lane shifts of
 * the load at j-1, plus two trailing elements. Targets where such a shift takes
 * more than a shuffle or two for each register are left out.
 *
 * The two trailing elements begin the vector of the next iteration. Where the
 * index advances with the loop counter, the whole register that begins with
 * them is loaded and carried to the next iteration. In the last iteration only
 * the two elements are read. This saves a load that mostly crosses a line.
 *
 * Method, adjacent gathers: several gathers at neighbouring addresses, for
 * example the parameters of a record that each lane selects. Each lane's
 * neighbours are loaded as a contiguous row, and the rows are transposed.
 *
 * Contract:
 * - Needs emit.h.
 * - The same elements are read and no others.
 * - Nothing is read before something that may fail or store in the first
 *   iteration; no element is read more than one iteration early.
 * - An index clamped by a check (k_clamp_index) may be read whatever other
 *   checks report.
 */
#include "backend/codegen/emit.h"
#include <string.h>

enum { ATOMS = 6, LOADS = 64, DEEP = 8 };

/* An affine index: a sum of values with integer factors, plus a constant. */
typedef struct AffineIndex {
	KRef atom[ATOMS];
	int64_t times[ATOMS], constant;
	uint32_t n;
} AffineIndex;

typedef struct StencilLoad {
	KRef result, pointer;
	KType type;
	AffineIndex at;
	/* the load whose vector it shifts by `by` lanes; NULL: an ordinary load */
	struct StencilLoad *first;
	int by;
	/* of a first one, when emitted: its vector, and one that begins with the
	 * two trailing elements */
	LLVMValueRef whole, after;
	/* its first register, carried from the previous iteration (NULL: none), and
	 * that of the next iteration */
	LLVMValueRef head, next;
} StencilLoad;

struct EmitStencilLoads {
	uint32_t n, ncarried;
	StencilLoad loads[LOADS], *carried[EMIT_STENCIL_CARRIED];
};

static uint32_t register_lanes(const Emitter *e, KType t, uint32_t lanes) {
	const uint32_t fit = e->m->target.vector_bytes / ktype_size(t);
	return fit < lanes ? fit : lanes;
}

static bool add_atom(AffineIndex *l, KRef x, int64_t times) {
	uint32_t i = 0;
	while (i < l->n && l->atom[i] < x) i++;
	if (i < l->n && l->atom[i] == x) {
		l->times[i] += times;
		return true;
	}
	if (l->n == ATOMS) return false;
	for (uint32_t k = l->n++; k > i; k--)
		l->atom[k] = l->atom[k - 1], l->times[k] = l->times[k - 1];
	l->atom[i] = x;
	l->times[i] = times;
	return true;
}

/* Adds times * x to the sum; looks into sums up to `deep` levels. Arithmetic
 * wraps, as that of the kernel does. */
static bool add_linear(const Emitter *e, AffineIndex *l, KRef x, int64_t times, uint32_t deep) {
	const KInst *in = &e->fn->f->insts.at[e->fn->f->vals.at[x].def];
	const bool own = in->nresults == 1 && in->results == x && in->type == KT_I64;
	if (own && in->op == K_CONST) {
		l->constant = (int64_t)((uint64_t)l->constant + (uint64_t)times * (uint64_t)in->imm);
		return true;
	}
	if (own && deep && in->op == K_PRIM && (in->prim == OP_ADD || in->prim == OP_SUB))
		return add_linear(e, l, emit_operand(e, in, 0), times, deep - 1) &&
		       add_linear(e, l, emit_operand(e, in, 1), in->prim == OP_SUB ? -times : times,
		                  deep - 1);
	return add_atom(l, x, times);
}

/* Compares everything but the constants of the indices. */
static int compare(const StencilLoad *x, const StencilLoad *y) {
	if (x->pointer != y->pointer) return x->pointer < y->pointer ? -1 : 1;
	if (x->type != y->type) return x->type < y->type ? -1 : 1;
	if (x->at.n != y->at.n) return x->at.n < y->at.n ? -1 : 1;
	int c = memcmp(x->at.atom, y->at.atom, x->at.n * sizeof *x->at.atom);
	return c ? c : memcmp(x->at.times, y->at.times, x->at.n * sizeof *x->at.times);
}

static bool in_order(const StencilLoad *x, const StencilLoad *y) {
	const int c = compare(x, y);
	return c ? c < 0 : x->at.constant <= y->at.constant;
}

/* Are there loads one and two elements after the load at `i`? */
static bool begins_three(const struct EmitStencilLoads *stencil_loads, uint32_t i) {
	const StencilLoad *first = &stencil_loads->loads[i];
	bool second = false;
	for (uint32_t k = i + 1; k < stencil_loads->n && !compare(first, &stencil_loads->loads[k]);
	     k++) {
		const int64_t by =
			(int64_t)((uint64_t)stencil_loads->loads[k].at.constant - (uint64_t)first->at.constant);
		second |= by == 1;
		if (by == 2) return second;
	}
	return false;
}

struct EmitStencilLoads *emit_stencil_loads_find(Emitter *e, uint32_t at, uint32_t lanes) {
	const KFn *f = e->fn->f;
	const uint32_t bytes = e->m->target.vector_bytes;
	if (!e->options->level || lanes < 2 || bytes < 32) return NULL;
	struct EmitStencilLoads *stencil_loads = NULL;
	for (; at < f->insts.n; at++) {
		const KInst *in = &f->insts.at[at];
		if (in->op != K_LOAD && in->op != K_PREFETCH && !kop_is_pure((KOp)in->op)) break;
		if (in->op != K_LOAD || in->mode != KM_UNIT || in->lanes != lanes ||
		    ktype_size((KType)in->type) < (bytes < 64 ? 8 : 4))
			continue;
		if (!stencil_loads) stencil_loads = emit_alloc(e, sizeof *stencil_loads);
		if (stencil_loads->n == LOADS) break;
		StencilLoad x = {
			.result = in->results, .pointer = emit_operand(e, in, 0), .type = (KType)in->type};
		if (!add_linear(e, &x.at, emit_operand(e, in, 1), 1, DEEP)) continue;
		uint32_t k = stencil_loads->n++;
		for (; k && !in_order(&stencil_loads->loads[k - 1], &x); k--)
			stencil_loads->loads[k] = stencil_loads->loads[k - 1];
		stencil_loads->loads[k] = x;
	}
	for (uint32_t i = 0; stencil_loads && i < stencil_loads->n;) {
		StencilLoad *first = &stencil_loads->loads[i];
		if (!begins_three(stencil_loads, i)) {
			i++;
			continue;
		}
		for (; i < stencil_loads->n && !compare(first, &stencil_loads->loads[i]) &&
		       stencil_loads->loads[i].at.constant - first->at.constant <= 2;
		     i++) {
			stencil_loads->loads[i].first = first;
			stencil_loads->loads[i].by =
				(int)(stencil_loads->loads[i].at.constant - first->at.constant);
		}
	}
	return stencil_loads;
}

/* Is x defined before the loop, whose instruction is `loop`? */
static bool from_outside(const Emitter *e, KRef x, uint32_t loop) {
	return e->fn->f->vals.at[x].def < loop && e->fn->vals[x];
}

uint32_t emit_stencil_loads_carry(Emitter *e, struct EmitStencilLoads *stencil_loads,
                                  const KInst *in, uint32_t loop) {
	for (uint32_t i = 0;
	     stencil_loads && i < stencil_loads->n && stencil_loads->ncarried < EMIT_STENCIL_CARRIED;
	     i++) {
		StencilLoad *x = &stencil_loads->loads[i];
		bool follows = false, known = x->first == x && from_outside(e, x->pointer, loop);
		for (uint32_t k = 0; k < x->at.n && known; k++) {
			if (x->at.atom[k] == in->params && x->at.times[k] == 1) follows = true;
			else known = from_outside(e, x->at.atom[k], loop);
		}
		if (known && follows) stencil_loads->carried[stencil_loads->ncarried++] = x;
	}
	return stencil_loads ? stencil_loads->ncarried : 0;
}

void emit_stencil_loads_begin(Emitter *e, struct EmitStencilLoads *stencil_loads, const KInst *in,
                              LLVMValueRef *init) {
	for (uint32_t i = 0; stencil_loads && i < stencil_loads->ncarried; i++) {
		const StencilLoad *x = stencil_loads->carried[i];
		LLVMValueRef at = emit_i64(e, x->at.constant);
		for (uint32_t k = 0; k < x->at.n; k++)
			if (x->at.atom[k] != in->params)
				at = LLVMBuildAdd(e->b, at,
				                  LLVMBuildMul(e->b, emit_value(e, x->at.atom[k]),
				                               emit_i64(e, x->at.times[k]), ""),
				                  "");
		init[i] =
			emit_load(e, x->type, register_lanes(e, x->type, in->lanes),
		              emit_element(e, x->type, emit_value(e, x->pointer), at), x->pointer, NULL);
	}
}

void emit_stencil_loads_open(struct EmitStencilLoads *stencil_loads, const LLVMValueRef *carried) {
	for (uint32_t k = 0; stencil_loads && k < stencil_loads->ncarried; k++)
		stencil_loads->carried[k]->head = carried[k];
}

void emit_stencil_loads_close(struct EmitStencilLoads *stencil_loads, LLVMValueRef *next) {
	for (uint32_t k = 0; stencil_loads && k < stencil_loads->ncarried; k++)
		next[k] = stencil_loads->carried[k]->next;
}

/* Emits x with its first register taken from the previous iteration, and loads
 * that of the next iteration if there is one. */
static void load_carried(Emitter *e, StencilLoad *x, uint32_t lanes, LLVMValueRef pointer,
                         LLVMValueRef at) {
	const EmitVector *v = e->vector;
	const uint32_t width = register_lanes(e, x->type, lanes);
	LLVMValueRef parts[256],
		behind = emit_element(e, x->type, pointer, LLVMBuildAdd(e->b, at, emit_i64(e, lanes), "")),
		last;
	int pick[256];
	parts[0] = x->head;
	for (uint32_t l = width; l < lanes; l += width)
		parts[l / width] =
			emit_load(e, x->type, width,
		              emit_element(e, x->type, pointer, LLVMBuildAdd(e->b, at, emit_i64(e, l), "")),
		              x->pointer, NULL);
	x->whole = emit_join(e, lanes / width, parts);
	EmitIf more = {0};
	emit_if_begin(e, &more,
	              LLVMBuildICmp(e->b, LLVMIntSLT,
	                            LLVMBuildAdd(e->b, v->base, emit_i64(e, lanes), ""), v->trip_count,
	                            ""),
	              2);
	x->next = emit_load(e, x->type, width, behind, x->pointer, NULL);
	emit_if_else(e, &more, 1, &x->next);
	for (uint32_t l = 0; l < width; l++) pick[l] = l < 2 ? (int)l : -1;
	last = emit_shuffle(e, emit_load(e, x->type, 2, behind, x->pointer, NULL), NULL, width, pick);
	emit_if_end(e, &more, &last, &x->next);
	for (uint32_t l = 0; l < lanes; l++) pick[l] = l < width ? (int)l : -1;
	x->after = emit_shuffle(e, x->next, NULL, lanes, pick);
}

LLVMValueRef emit_stencil_load(Emitter *e, const KInst *in, LLVMValueRef pointer,
                               LLVMValueRef index) {
	struct EmitStencilLoads *stencil_loads = e->vector ? e->vector->stencil_loads : NULL;
	StencilLoad *x = NULL;
	for (uint32_t i = 0; stencil_loads && i < stencil_loads->n; i++)
		if (stencil_loads->loads[i].result == in->results) x = &stencil_loads->loads[i];
	if (!x || !x->first) return NULL;
	const uint32_t lanes = in->lanes;
	const KType t = x->type;
	StencilLoad *first = x->first;
	int pick[256];
	if (!first->whole) {
		LLVMValueRef at = LLVMBuildSub(e->b, index, emit_i64(e, x->by), "");
		if (first->head) load_carried(e, first, lanes, pointer, at);
	}
	if (!first->whole) {
		LLVMValueRef at = LLVMBuildSub(e->b, index, emit_i64(e, x->by), "");
		first->whole = emit_load(e, t, lanes, emit_element(e, t, pointer, at), x->pointer, NULL);
		at = LLVMBuildAdd(e->b, at, emit_i64(e, lanes), "");
		LLVMValueRef two = emit_load(e, t, 2, emit_element(e, t, pointer, at), x->pointer, NULL);
		for (uint32_t l = 0; l < lanes; l++) pick[l] = l < 2 ? (int)l : -1;
		first->after = emit_shuffle(e, two, NULL, lanes, pick);
	}
	if (!x->by) return first->whole;
	for (uint32_t l = 0; l < lanes; l++) pick[l] = (int)l + x->by;
	return emit_shuffle(e, first->whole, first->after, lanes, pick);
}

/* ---- adjacent gathers ---------------------------------------------------- */

struct AdjacentGather {
	uint32_t n;
	KRef result[LOADS];
	LLVMValueRef value[LOADS];
};

void emit_transpose(Emitter *e, uint32_t n, LLVMValueRef *x) {
	int first[64], second[64];
	/* Iteration `bit` exchanges one bit of the vector's index with that of the
	 * lane's. */
	for (uint32_t bit = 1; bit < n; bit *= 2)
		for (uint32_t i = 0; i < n; i++) {
			if (i & bit) continue;
			for (uint32_t l = 0; l < n; l++) {
				first[l] = (int)(l & bit ? n + l - bit : l);
				second[l] = (int)(l & bit ? n + l : l + bit);
			}
			LLVMValueRef a = x[i], b = x[i + bit];
			x[i] = emit_shuffle(e, a, b, n, first);
			x[i + bit] = emit_shuffle(e, a, b, n, second);
		}
}

/* Does the index consist only of indices that a check has clamped
 * (k_clamp_index)? Whatever is read there, with some constant added, is then in
 * bounds; a check in between concerns something else. */
static bool is_cut(const Emitter *e, const AffineIndex *l) {
	const KFn *f = e->fn->f;
	for (uint32_t k = 0; k < l->n; k++) {
		const KInst *in = &f->insts.at[f->vals.at[l->atom[k]].def];
		if (in->op == K_PRIM && in->prim == OP_MUL)
			for (uint32_t side = 0; side < 2; side++) {
				const KInst *part = &f->insts.at[f->vals.at[emit_operand(e, in, side)].def];
				if (part->lanes == in->lanes && part->op == K_SELECT &&
				    f->insts.at[f->vals.at[emit_operand(e, in, 1 - side)].def].op == K_CONST)
					in = part;
			}
		if (in->op != K_SELECT || in->imm != 1 || !in->lanes) return false;
	}
	return l->n > 0;
}

/* Finds the loads from `in` on whose elements are adjacent to its own, with
 * nothing in between that may fail or store there. Returns their number;
 * `found` is sorted by position. */
static uint32_t find_beside(Emitter *e, const KInst *in, StencilLoad *found) {
	const KFn *f = e->fn->f;
	StencilLoad own = {.pointer = emit_operand(e, in, 0), .type = (KType)in->type};
	uint32_t n = 0, from = 0, to;
	bool cut;
	if (in < f->insts.at || in >= f->insts.at + f->insts.n ||
	    !add_linear(e, &own.at, emit_operand(e, in, 1), 1, DEEP))
		return 0;
	cut = is_cut(e, &own.at);
	for (const KInst *other = in; other < f->insts.at + f->insts.n && n < LOADS; other++) {
		if (other->op == K_STORE && emit_apart(e, emit_operand(e, other, 0), own.pointer)) continue;
		if (other->op == K_FAIL_IF && cut &&
		    f->vals.at[emit_operand(e, other, 0)].lanes == in->lanes)
			continue;
		if (other->op != K_LOAD && !kop_is_pure((KOp)other->op)) break;
		if (other->op != K_LOAD || other->mode != KM_INDEXED || other->lanes != in->lanes ||
		    other->type != in->type)
			continue;
		StencilLoad x = {
			.result = other->results, .pointer = emit_operand(e, other, 0), .type = own.type};
		if (!add_linear(e, &x.at, emit_operand(e, other, 1), 1, DEEP) || compare(&own, &x))
			continue;
		uint32_t k = n++;
		for (; k && !in_order(&found[k - 1], &x); k--) found[k] = found[k - 1];
		found[k] = x;
	}
	/* keep the ones that form a run without gaps around `in` */
	while (from < n && found[from].result != in->results) from++;
	for (to = from + 1; to < n && found[to].at.constant == found[to - 1].at.constant + 1;) to++;
	while (from && found[from - 1].at.constant + 1 == found[from].at.constant) from--;
	memmove(found, found + from, (to - from) * sizeof *found);
	return to - from;
}

/* Loads elements at, at + 1 ... of each lane's row, `count` of them, and
 * transposes blocks of `wide` rows. */
static void transpose_rows(Emitter *e, KType t, KRef root, uint32_t lanes, LLVMValueRef *rows,
                           int64_t at, uint32_t count, uint32_t wide, LLVMValueRef *out) {
	LLVMValueRef parts[64][64], squares[64];
	LLVMValueRef mask = count < wide ? emit_first_lanes(e, wide, emit_i64(e, count)) : NULL;
	for (uint32_t l = 0; l < lanes; l += wide) {
		for (uint32_t i = 0; i < wide; i++) {
			LLVMValueRef offset = emit_i64(e, at * (int64_t)ktype_size(t));
			parts[l / wide][i] = emit_load(
				e, t, wide, LLVMBuildGEP2(e->b, e->i8, rows[l + i], &offset, 1, ""), root, mask);
		}
		emit_transpose(e, wide, parts[l / wide]);
	}
	for (uint32_t j = 0; j < count; j++) {
		for (uint32_t l = 0; l < lanes; l += wide) squares[l / wide] = parts[l / wide][j];
		out[j] = emit_join(e, lanes / wide, squares);
	}
}

LLVMValueRef emit_adjacent_gather(Emitter *e, const KInst *in, LLVMValueRef pointer,
                                  LLVMValueRef index) {
	const KType t = (KType)in->type;
	const uint32_t lanes = in->lanes;
	if (!e->options->level || t == KT_BOOL || e->m->target.vector_bytes < 32 || lanes < 4 ||
	    lanes > 64 || lanes & (lanes - 1))
		return NULL;
	if (!e->adjacent) e->adjacent = emit_alloc(e, sizeof *e->adjacent);
	struct AdjacentGather *done = e->adjacent;
	for (uint32_t i = 0; i < done->n; i++)
		if (done->result[i] == in->results) {
			LLVMValueRef x = done->value[i];
			done->n--;
			done->result[i] = done->result[done->n];
			done->value[i] = done->value[done->n];
			return x;
		}
	StencilLoad found[LOADS];
	const uint32_t n = find_beside(e, in, found), most = register_lanes(e, t, lanes);
	if (n < 2 || done->n + n > LOADS) return NULL;
	/* each lane's row: the address of the element that `in` reads */
	int64_t own = 0;
	for (uint32_t i = 0; i < n; i++)
		if (found[i].result == in->results) own = found[i].at.constant;
	LLVMValueRef rows[64], values[LOADS], mine = NULL;
	for (uint32_t l = 0; l < lanes; l++)
		rows[l] =
			emit_element(e, t, pointer, LLVMBuildExtractElement(e->b, index, emit_i64(e, l), ""));
	uint32_t made = 0;
	for (uint32_t wide = most; wide > 1;) {
		const uint32_t left = n - made;
		const bool part = e->m->target.has_masks && left > wide / 2;
		if (left < wide && !part) {
			wide /= 2;
			continue;
		}
		const uint32_t count = left < wide ? left : wide;
		transpose_rows(e, t, found[0].pointer, lanes, rows, found[made].at.constant - own, count,
		               wide, values + made);
		made += count;
		if (made == n) break;
	}
	for (uint32_t i = 0; i < made; i++) {
		if (found[i].result == in->results) {
			mine = values[i];
		} else {
			done->result[done->n] = found[i].result;
			done->value[done->n++] = values[i];
		}
	}
	return mine;
}
