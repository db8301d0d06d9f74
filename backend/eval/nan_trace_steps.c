/* nan_trace_steps.c - the observer: origins for the results of each step.
 *
 * Needs: nan_trace.h.
 *
 * Contract:
 * - An operation is blamed for a NaN or infinity where its operands have none
 *   that the result's element depends on.
 * - Values that a step only moves keep their origins.
 * - A value is copied before its payloads are written, if it is shared.
 */
#include "backend/eval/nan_trace.h"

/* ---- operands of the program's own operations ---------------------------- */

static Primal *primal_find(const Watch *w, SpanId span, uint32_t rank, const int64_t *shape) {
	for (Primal *p = w->primals[span % BUCKETS]; p; p = p->next) {
		if (p->span != span) continue;
		ArrayView e;
		if (view_elements(&p->operand, &e) && e.rank == rank &&
		    (!rank || !memcmp(e.shape, shape, rank * sizeof *shape)))
			return p;
	}
	return NULL;
}

/* Saves the operand of an operation for messages about its derivative. Not in
 * loops, whose iterations differ. */
static void primal_keep(Watch *w, const Frame *f, const Step *s, const Value *operand) {
	if (prims[s->op].deriv != DERIV_RULE || s->nargs > 1) return;
	for (const EnclosingStep *a = w->around; a; a = a->outer)
		if (a->s->op == OP_FOR || a->s->op == OP_WHILE) return;
	ArrayView e;
	if (!view_elements(operand, &e)) return;
	Primal *p = primal_find(w, s->span, e.rank, e.shape);
	if (!p) {
		p = heap_alloc(w->c, sizeof *p);
		if (!p) return;
		*p = (Primal){.span = s->span, .next = w->primals[s->span % BUCKETS]};
		w->primals[s->span % BUCKETS] = p;
	}
	value_unref(p->operand);
	p->operand = value_ref(*operand);
	p->op = (Op)s->op;
	p->name = s->args[0] >= 0 ? f->code->fn->vals.at[s->args[0]].name : 0;
}

/* ---- kinds of steps ------------------------------------------------------ */

/* A result's element depends on the operands' elements there. */
static bool is_local(const Step *s) {
	if (s->op == OP_HOST) return !strncmp(((const HostCall *)s->site)->def->name, "each.", 5);
	return prims[s->op].elementwise || s->op == OP_CONVERT || s->op == OP_SELECT;
}

/* Operations that only move elements make no NaN. Holding their operands for
 * inspection would force copies of arrays that are updated in place. */
static bool is_move(const Step *s) {
	switch (s->op) {
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_SLICE:
	case OP_PAD:
	case OP_UPDATE:
	case OP_CONCAT:
	case OP_GATHER:
	case OP_SCATTER_SET:
	case OP_PUSH:
	case OP_STOP:
	case OP_BOX: return true;
	default: return false;
	}
}

static bool is_around(const Step *s) { return s->nblocks || s->op == OP_CALL; }

/* ---- a new origin -------------------------------------------------------- */

/* Notes where an array operand is infinite. */
static void note_operand(Watch *w, NanOrigin *o, const ArrayView *e) {
	static const char *const signs[] = {"inf", "-inf"};
	for (int sign = 0; sign < 2; sign++) {
		for (int64_t i = 0; i < e->count; i++) {
			uint32_t origin;
			const char *p = view_element(e, i);
			if (element_class(w, e->dtype, p, &origin) != INFINITE) continue;
			Value v = value_scalar_from_bytes(e->dtype, p);
			const bool negative = v.dtype == DT_F64   ? v.f < 0
			                      : v.dtype == DT_F32 ? v.f32 < 0
			                                          : false;
			if (negative != (sign == 1)) continue;
			text_format(&o->note, "%s%s at [", o->note.n ? ", " : "",
			            dtype_is_complex(e->dtype) ? "an infinity" : signs[sign]);
			int64_t index[MAX_RANK];
			view_index(e, i, index);
			for (uint32_t k = 0; k < e->rank; k++)
				text_format(&o->note, "%s%lld", k ? ", " : "", (long long)index[k]);
			text_str(&o->note, "]");
			break;
		}
	}
}

/* Records the operands. */
static void describe(Watch *w, NanOrigin *o, const Frame *f, const Step *s, const Value *args,
                     const ArrayView *result, int64_t at) {
	o->rank = result->rank;
	if (result->rank) view_index(result, at, o->index);
	if (s->op == OP_HOST) o->host = atom(w->c, ((const HostCall *)s->site)->def->name);
	for (uint32_t k = 0; k < s->nargs && k < 3; k++) {
		ArrayView e;
		if (!view_elements(&args[k], &e)) continue;
		uint32_t origin = 0;
		if (is_local(s)) {
			const char *p = view_element_at(&e, o->index);
			o->operands[o->noperands] = value_scalar_from_bytes(e.dtype, p);
			o->names[o->noperands++] = s->args[k] >= 0 ? f->code->fn->vals.at[s->args[k]].name : 0;
			o->shown = true;
			if (element_class(w, e.dtype, p, &origin) == INFINITE && !o->infinity)
				o->infinity = infinity_in(w, f, s->args[k]);
			continue;
		}
		note_operand(w, o, &e);
		if (!o->infinity && first_of_class(w, &e, INFINITE, false) >= 0)
			o->infinity = infinity_in(w, f, s->args[k]);
	}
	if (!chain_is_derived(w->c, s->chain)) return;
	const Primal *p = primal_find(w, s->span, result->rank, result->shape);
	ArrayView e;
	if (p && view_elements(&p->operand, &e)) {
		o->has_primal = true;
		o->primal = value_scalar_from_bytes(e.dtype, view_element_at(&e, o->index));
		o->primal_name = p->name;
		o->primal_op = p->op;
	}
}

static void describe_protected(Ctx *c, void *ud) {
	(void)c;
	void **x = ud;
	describe(x[0], x[1], x[2], x[3], x[4], x[5], *(int64_t *)x[6]);
}

static uint32_t operation(Watch *w, const Frame *f, const Step *s, const Value *args,
                          const ArrayView *result, int64_t at, bool infinite) {
	uint32_t id = origin_new(w, FROM_OPERATION, infinite, s);
	if (!id) return 0;
	void *x[] = {w,
	             &w->origins[id],
	             (void *)(uintptr_t)f,
	             (void *)(uintptr_t)s,
	             (void *)(uintptr_t)args,
	             (void *)(uintptr_t)result,
	             &at};
	if (ctx_protect(w->c, describe_protected, x) != ST_OK) w->origins[id].note.n = 0;
	return id;
}

/* The origin of a NaN among the operands: 0 without a NaN, UINT32_MAX for one
 * without an origin. */
static uint32_t operand_origin(const Watch *w, const Step *s, const Value *args,
                               const ArrayView *result, int64_t at) {
	uint32_t found = 0;
	int64_t index[MAX_RANK];
	if (result->rank) view_index(result, at, index);
	for (uint32_t k = 0; k < s->nargs; k++) {
		ArrayView e;
		uint32_t origin;
		if (!view_elements(&args[k], &e)) continue;
		if (is_local(s)) {
			if (element_class(w, e.dtype, view_element_at(&e, index), &origin) != IS_NAN) continue;
		} else {
			int64_t i = first_of_class(w, &e, IS_NAN, false);
			if (i < 0) continue;
			element_class(w, e.dtype, view_element(&e, i), &origin);
		}
		if (origin) return origin;
		found = UINT32_MAX;
	}
	return found;
}

/* ---- origins of a result ------------------------------------------------- */

/* Makes the value's bits writable. */
static Status make_own(Watch *w, Value *v, ArrayView *e) {
	if (v->kind != V_TENSOR || (v->tensor->contiguous && tensor_is_unshared(v->tensor)))
		return ST_OK;
	Tensor *copy = tensor_copy(w->c, v->tensor);
	if (!copy) return ST_NOMEM;
	value_unref(*v);
	*v = value_tensor(copy);
	view_elements(v, e);
	return ST_OK;
}

Status mark_origins(Watch *w, Value *v, Whose who, void *ud) {
	ArrayView e;
	if (!view_elements(v, &e)) return ST_OK;
	int64_t first = first_of_class(w, &e, IS_NAN, true);
	if (first < 0) return ST_OK;
	if (make_own(w, v, &e) != ST_OK) return ST_NOMEM;
	for (int64_t i = first; i < e.count; i++) {
		uint32_t origin;
		char *p = view_element(&e, i);
		if (element_class(w, e.dtype, p, &origin) == IS_NAN && !origin && (origin = who(ud, &e, i)))
			tag_element(e.dtype, p, origin);
	}
	return ST_OK;
}

typedef struct Blame {
	Watch *w;
	const Frame *f;
	const Step *s;
	const Value *args; /* NULL: the step only passes values on */
	uint32_t made, constant, inherited;
	bool asked; /* `inherited` is known and the same for all elements */
} Blame;

static uint32_t blame(void *ud, const ArrayView *e, int64_t at) {
	Blame *b = ud;
	uint32_t from = UINT32_MAX;
	if (b->args) {
		from = b->asked ? b->inherited : operand_origin(b->w, b->s, b->args, e, at);
		if (!is_local(b->s)) {
			b->asked = true;
			b->inherited = from;
		}
	}
	if (from && from != UINT32_MAX) return from;
	if (!from && !b->made) b->made = operation(b->w, b->f, b->s, b->args, e, at, false);
	if (from && !b->constant) b->constant = origin_new(b->w, FROM_CONSTANT, false, b->s);
	return from ? b->constant : b->made;
}

/* Of a sum or product of two NaNs the first operand's origin counts, as in a
 * difference. C compilers may exchange the operands on some machines. */
static Status first_stands(Watch *w, const Step *s, const Value *args, Value *v) {
	ArrayView e, x[2];
	if ((s->op != OP_ADD && s->op != OP_MUL) || s->nargs != 2 || !view_elements(v, &e) ||
	    dtype_is_complex(e.dtype))
		return ST_OK;
	for (uint32_t k = 0; k < 2; k++)
		if (!view_elements(&args[k], &x[k]) || first_of_class(w, &x[k], IS_NAN, false) < 0)
			return ST_OK;
	if (make_own(w, v, &e) != ST_OK) return ST_NOMEM;
	for (int64_t i = first_of_class(w, &e, IS_NAN, false); i >= 0 && i < e.count; i++) {
		int64_t index[MAX_RANK];
		uint32_t now, first;
		if (element_class(w, e.dtype, view_element(&e, i), &now) != IS_NAN) continue;
		if (e.rank) view_index(&e, i, index);
		if (element_class(w, x[0].dtype, view_element_at(&x[0], index), &first) == IS_NAN &&
		    first && first != now)
			tag_element(e.dtype, view_element(&e, i), first);
	}
	return ST_OK;
}

/* The origin of the first infinity in a result, or 0. */
static uint32_t infinity_of(Watch *w, const Frame *f, const Step *s, const Value *args,
                            const Value *v) {
	ArrayView e;
	if (!view_elements(v, &e)) return 0;
	int64_t at = first_of_class(w, &e, INFINITE, false), index[MAX_RANK];
	if (at < 0) return 0;
	if (e.rank) view_index(&e, at, index);
	for (uint32_t k = 0; k < s->nargs; k++) {
		ArrayView x;
		uint32_t origin;
		if (!view_elements(&args[k], &x)) continue;
		if (is_local(s) ? element_class(w, x.dtype, view_element_at(&x, index), &origin) != INFINITE
		                : first_of_class(w, &x, INFINITE, false) < 0)
			continue;
		origin = infinity_in(w, f, s->args[k]);
		return origin ? origin : origin_new(w, FROM_CONSTANT, true, s);
	}
	return operation(w, f, s, args, &e, at, true);
}

/* ---- the observer -------------------------------------------------------- */

static Status look(Watch *w, Frame *f, const Step *s, const Value *args) {
	int64_t seen = 0;
	for (uint32_t k = 0; k < s->nresults; k++) {
		Value *v = &f->slots[s->d + k];
		Blame b = {.w = w, .f = f, .s = s, .args = args};
		Status st = mark_origins(w, v, blame, &b);
		if (st == ST_OK && args) st = first_stands(w, s, args, v);
		if (st != ST_OK) return st;
		if (args) set_infinity(w, f, v, infinity_of(w, f, s, args, v));
		seen += v->kind == V_TENSOR ? v->tensor->count : 1;
	}
	return spend(f->be, (uint64_t)seen);
}

Status watch_step(Observer *o, Frame *f, const Step *s) {
	Watch *w = (Watch *)o;
	if (!w->root) {
		w->root = f;
		w->root_slots = f->slots;
	}
	w->reverse |= s->chain && chain_is_backwards(w->c, s->chain);
	Status st;
	if (is_around(s)) {
		EnclosingStep a = {w->around, f, s, -1};
		w->around = &a;
		st = s->inner(f, s);
		w->around = a.outer;
		return st == ST_OK ? look(w, f, s, NULL) : st;
	}
	if (is_move(s)) {
		uint32_t infinity = 0;
		for (uint32_t k = 0; k < s->nargs && w->last_infinity && !infinity; k++) {
			ArrayView e;
			if (s->args[k] >= 0 && view_elements(operand(f, s, k), &e) && e.count < POLL_EVERY &&
			    first_of_class(w, &e, INFINITE, false) >= 0)
				infinity = infinity_in(w, f, s->args[k]);
		}
		st = s->inner(f, s);
		if (st == ST_OK && s->nresults) set_infinity(w, f, &f->slots[s->d], infinity);
		return st;
	}
	Value few[8], *args = few;
	if (s->nargs > 8 && !(args = heap_alloc(w->c, s->nargs * sizeof *args))) return ST_NOMEM;
	for (uint32_t k = 0; k < s->nargs; k++) args[k] = value_ref(*operand(f, s, k));
	if (s->nargs && !chain_is_derived(w->c, s->chain)) primal_keep(w, f, s, &args[0]);
	if (s->op == OP_HOST) {
		EnclosingStep a = {w->around, f, s, -1};
		w->around = &a;
		st = s->inner(f, s);
		w->around = a.outer;
	} else st = s->inner(f, s);
	if (st == ST_OK) st = look(w, f, s, args);
	for (uint32_t k = 0; k < s->nargs; k++) value_unref(args[k]);
	if (s->nargs > 8) heap_free(w->c, args, s->nargs * sizeof *args);
	return st;
}

void watch_block(Observer *o, Frame *f, const Block *b) {
	Watch *w = (Watch *)o;
	EnclosingStep *a = w->around;
	if (a && a->f == f && (a->s->op == OP_FOR || a->s->op == OP_WHILE) &&
	    b == &a->s->blocks[a->s->nblocks - 1])
		a->iteration++;
}
