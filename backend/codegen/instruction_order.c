/* instruction_order.c - instruction order in long runs of element-wise code.
 *
 * Method, scalar code: values used late (for example the four stages of a
 * Runge-Kutta step) have long live ranges and cause spills. Instructions are
 * therefore scheduled as soon as an operand would die, whose register the
 * result takes. Vector code does not gain: it has too few registers.
 *
 * Method, vector loops: a vector of the loop may take two or four registers,
 * which multiplies the live values. A long run is therefore cut into pieces.
 * Each piece is emitted for the lanes of one register after the other, so that
 * one register's values are live at a time. Pieces are short enough for
 * out-of-order execution to overlap the registers.
 *
 * Contract:
 * - Needs emit.h.
 * - Every lane gets what emit_plain would compute.
 * - Failures in a run keep their order.
 */
#include "backend/codegen/emit.h"

/* Varying instructions: the least number in a run, and the number in a piece.
 * Longer pieces lose where a row's operations depend on each other. */
enum { LONG_ENOUGH = 32, PIECE = 24 };

/* Neither branches nor accesses memory, so it may be moved freely among its
 * like. */
static bool is_element_wise(const KInst *in) {
	if (in->op == K_PRIM) return !emit_prim_has((Op)in->prim, TRAIT_MATHS | TRAIT_FAILS);
	return kop_is_pure((KOp)in->op) && in->op != K_PTRADD;
}

/* Returns the last instruction that uses each value. */
static const uint32_t *last_uses(Emitter *e) {
	const KFn *f = e->fn->f;
	if (e->fn->last_uses) return e->fn->last_uses;
	uint32_t *last = e->fn->last_uses = emit_alloc(e, sizeof *last * f->vals.n);
	for (uint32_t i = 0; i < f->insts.n; i++)
		for (uint32_t k = 0; k < f->insts.at[i].nargs; k++)
			last[emit_operand(e, &f->insts.at[i], k)] = i;
	return last;
}

typedef struct VectorSplit {
	uint32_t from, to; /* instructions */
	uint32_t lanes, parts;
	/* by KRef: needed, also beyond failure operands; whole: as one value for
	 * all lanes */
	bool *needed, *whole;
	LLVMValueRef **vals; /* by part, by KRef */
	LLVMValueRef *all;   /* the function's values */
} VectorSplit;

/* ---- vector code: one register's lanes after the other ------------------- */

/* Is the instruction emitted part by part? */
static bool in_parts(const VectorSplit *s, const KInst *in) {
	return in->lanes == s->lanes && in->op != K_LANE && in->op != K_MASK && in->op != K_FAIL_IF &&
	       s->needed[in->results];
}

static void find_needs(Emitter *e, VectorSplit *s) {
	const KFn *f = e->fn->f;
	const uint32_t *last = last_uses(e);
	s->needed = emit_alloc(e, sizeof *s->needed * f->vals.n);
	s->whole = emit_alloc(e, sizeof *s->whole * f->vals.n);
	for (uint32_t i = s->to; i-- > s->from;) {
		const KInst *in = &f->insts.at[i];
		if (in->op == K_FAIL_IF) {
			s->needed[emit_operand(e, in, 0)] = true;
			for (uint32_t k = 0; k < in->nargs; k++) s->whole[emit_operand(e, in, k)] = true;
			continue;
		}
		if (last[in->results] >= s->to) s->needed[in->results] = s->whole[in->results] = true;
		for (uint32_t k = 0; k < in->nargs; k++)
			*(s->needed[in->results] ? &s->needed[emit_operand(e, in, k)]
			                         : &s->whole[emit_operand(e, in, k)]) = true;
	}
}

static void emit_for_part(Emitter *e, const VectorSplit *s, const KInst *in, uint32_t part) {
	const uint32_t lanes = s->lanes / s->parts;
	LLVMValueRef *vals = s->vals[part];
	for (uint32_t k = 0; k < in->nargs; k++) {
		KRef x = emit_operand(e, in, k);
		if (!x || vals[x]) continue;
		LLVMValueRef all = emit_value(e, x);
		vals[x] = emit_lanes(all) > 1 ? emit_part(e, all, part * lanes, lanes) : all;
	}
	KInst one = *in;
	one.lanes = (uint16_t)lanes;
	e->fn->vals = vals;
	emit_plain(e, &one);
	e->fn->vals = s->all;
}

/* Emits the varying instructions of one piece, from `at` on. Returns the index
 * after them. */
static uint32_t emit_piece(Emitter *e, const VectorSplit *s, uint32_t at) {
	const KFn *f = e->fn->f;
	uint32_t to = at;
	for (uint32_t n = 0; to < s->to && n < PIECE; to++) n += in_parts(s, &f->insts.at[to]);
	for (uint32_t part = 0; part < s->parts; part++)
		for (uint32_t i = at; i < to; i++)
			if (in_parts(s, &f->insts.at[i])) emit_for_part(e, s, &f->insts.at[i], part);
	return to;
}

/* ---- scalar code: scheduling --------------------------------------------- */

/* A run of uniform instructions. Instructions are indexed by their position in
 * the run, uses by the position of the operand. */
typedef struct Order {
	uint32_t from, to;
	const uint32_t *last;
	uint32_t *uses;    /* of the instruction's result: uses not yet placed */
	uint32_t *user;    /* last operand that is the instruction's result, plus 1; 0: none */
	uint32_t *earlier; /* of an operand: the previous one of the same value, plus 1 */
	uint32_t *owner;   /* of an operand: its instruction */
	bool *placed;
	uint32_t *order, n;
} Order;

/* The position of the instruction that defines x when x is both defined and
 * last used in the run, else -1. Constants need no register. */
static int64_t dying(const Order *o, const KFn *f, KRef x) {
	if (!x) return -1;
	const uint32_t def = f->vals.at[x].def;
	return def < o->from || def >= o->to || o->last[x] >= o->to || f->insts.at[def].op == K_CONST
	           ? -1
	           : (int64_t)(def - o->from);
}

static uint32_t times_used(const Emitter *e, const KInst *in, KRef x) {
	uint32_t n = 0;
	for (uint32_t k = 0; k < in->nargs; k++) n += emit_operand(e, in, k) == x;
	return n;
}

/* The instruction that is the last user of x and has all its other operands, -1
 * if there is none. */
static int64_t follower(const Emitter *e, const Order *o, KRef x) {
	const KFn *f = e->fn->f;
	const int64_t made = dying(o, f, x);
	if (made < 0 || !o->uses[made]) return -1;
	uint32_t at = o->user[made];
	while (at && o->placed[o->owner[at - 1] - o->from]) at = o->earlier[at - 1];
	if (!at) return -1;
	const uint32_t i = o->owner[at - 1];
	const KInst *in = &f->insts.at[i];
	if (times_used(e, in, x) != o->uses[made]) return -1;
	for (uint32_t k = 0; k < in->nargs; k++) {
		const KRef y = emit_operand(e, in, k);
		const uint32_t def = y ? f->vals.at[y].def : 0;
		if (y && def >= o->from && def < o->to && !o->placed[def - o->from]) return -1;
	}
	return i;
}

static void place(Emitter *e, Order *o, uint32_t i) {
	const KFn *f = e->fn->f;
	const KInst *in = &f->insts.at[i];
	o->placed[i - o->from] = true;
	o->order[o->n++] = i;
	for (uint32_t k = 0; k < in->nargs; k++) {
		const int64_t made = dying(o, f, emit_operand(e, in, k));
		if (made >= 0) o->uses[made]--;
	}
}

/* Returns the new order of instructions from .. to - 1, which are uniform and
 * element-wise. */
static uint32_t *order_stretch(Emitter *e, uint32_t from, uint32_t to) {
	const KFn *f = e->fn->f;
	const uint32_t n = to - from;
	uint32_t low = UINT32_MAX, high = 0;
	for (uint32_t i = from; i < to; i++) {
		const KInst *in = &f->insts.at[i];
		if (in->nargs && in->args < low) low = in->args;
		if (in->nargs && in->args + in->nargs > high) high = in->args + in->nargs;
	}
	const uint32_t refs = high > low ? high - low : 1;
	uint32_t *waiting = emit_alloc(e, sizeof *waiting * n), nwaiting = 0;
	Order o = {.from = from, .to = to, .last = last_uses(e)};
	o.uses = emit_alloc(e, sizeof *o.uses * n), o.user = emit_alloc(e, sizeof *o.user * n),
	o.order = emit_alloc(e, sizeof *o.order * n);
	o.earlier = emit_alloc(e, sizeof *o.earlier * refs),
	o.owner = emit_alloc(e, sizeof *o.owner * refs), o.placed = emit_alloc(e, n);
	for (uint32_t i = from; i < to; i++)
		for (uint32_t k = 0; k < f->insts.at[i].nargs; k++) {
			const uint32_t at = f->insts.at[i].args + k - low;
			const int64_t made = dying(&o, f, emit_operand(e, &f->insts.at[i], k));
			o.owner[at] = i;
			if (made < 0) continue;
			o.earlier[at] = o.user[made], o.user[made] = at + 1, o.uses[made]++;
		}
	for (uint32_t i = from; i < to; i++)
		if (f->insts.at[i].op == K_CONST) place(e, &o, i);
	for (uint32_t first = from; first < to; first++) {
		if (o.placed[first - from]) continue;
		place(e, &o, first);
		for (waiting[nwaiting++] = first; nwaiting;) {
			const KInst *in = &f->insts.at[waiting[--nwaiting]];
			for (uint32_t k = 0; k <= in->nargs; k++) {
				const int64_t next =
					follower(e, &o, k < in->nargs ? emit_operand(e, in, k) : in->results);
				if (next < 0) continue;
				place(e, &o, (uint32_t)next);
				waiting[nwaiting++] = (uint32_t)next;
			}
		}
	}
	return o.order;
}

static uint32_t emit_numbers(Emitter *e, uint32_t at) {
	const KFn *f = e->fn->f;
	uint32_t to = at, real = 0;
	if (at >= e->fn->short_from && at < e->fn->short_to) return at;
	for (; to < f->insts.n && is_element_wise(&f->insts.at[to]) && !f->insts.at[to].lanes; to++)
		real += f->insts.at[to].type == KT_F64 || f->insts.at[to].type == KT_F32;
	if (real < LONG_ENOUGH) {
		e->fn->short_from = at;
		e->fn->short_to = to;
		return at;
	}
	const uint32_t *order = order_stretch(e, at, to);
	for (uint32_t i = 0; i < to - at; i++) {
		emit_line(e, &f->insts.at[order[i]]);
		emit_plain(e, &f->insts.at[order[i]]);
	}
	e->emitted += to - at;
	return to;
}

uint32_t emit_vector_split(Emitter *e, uint32_t at) {
	const KFn *f = e->fn->f;
	VectorSplit s = {
		.from = at, .to = at, .lanes = e->vector ? e->vector->lanes : 0, .all = e->fn->vals};
	uint32_t varying = 0, widest = 4;
	if (!e->vector && e->options->level) return emit_numbers(e, at);
	if (!e->options->level || s.lanes * 8 <= e->m->target.vector_bytes ||
	    (at >= e->fn->short_from && at < e->fn->short_to))
		return at;
	for (; s.to < f->insts.n; s.to++) {
		const KInst *in = &f->insts.at[s.to];
		if (in->op != K_FAIL_IF && !is_element_wise(in)) break;
		if (in->op == K_FAIL_IF || in->lanes != s.lanes) continue;
		varying++;
		if (in->type == KT_F64) widest = 8; /* integers beside f32 are few */
	}
	const uint32_t fit = e->m->target.vector_bytes / widest;
	if (varying < LONG_ENOUGH || fit < 2 || s.lanes < 2 * fit) {
		e->fn->short_from = at;
		e->fn->short_to = s.to;
		return at;
	}
	s.parts = s.lanes / fit;
	find_needs(e, &s);
	s.vals = emit_alloc(e, sizeof *s.vals * s.parts);
	for (uint32_t part = 0; part < s.parts; part++)
		s.vals[part] = emit_alloc(e, sizeof *s.vals[part] * f->vals.n);

	for (uint32_t i = s.from; i < s.to; i++)
		if (f->insts.at[i].op != K_FAIL_IF &&
		    (f->insts.at[i].lanes != s.lanes || f->insts.at[i].op == K_LANE ||
		     f->insts.at[i].op == K_MASK))
			emit_plain(e, &f->insts.at[i]);
	for (uint32_t i = s.from; i < s.to;) i = emit_piece(e, &s, i);
	for (uint32_t i = s.from; i < s.to; i++) {
		const KInst *in = &f->insts.at[i];
		if (in->op == K_FAIL_IF) emit_FAIL_IF(e, in);
		else if (in_parts(&s, in)) {
			if (!s.whole[in->results]) continue;
			LLVMValueRef parts[256];
			for (uint32_t part = 0; part < s.parts; part++) parts[part] = s.vals[part][in->results];
			s.all[in->results] = emit_join(e, s.parts, parts);
		} else if (in->lanes == s.lanes && in->op != K_LANE && in->op != K_MASK) emit_plain(e, in);
	}
	return s.to;
}
