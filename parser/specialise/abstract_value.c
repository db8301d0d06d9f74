/* abstract_value.c - construction, comparison, flattening and rebuilding of
 * abstract values; what must be known of them before the program runs.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - The order of leaves is depth-first everywhere.
 */
#include "parser/specialise/internal.h"

Av *av_new(Sp *sp, AvKind kind) {
	Av *v = ARENA_NEW(sp->a, Av);
	v->kind = (uint8_t)kind;
	v->parts = 1;
	return v;
}

Av *av_array(Sp *sp, Ref r) {
	Av *v = av_new(sp, AV_ARRAY);
	v->ref = r;
	return v;
}

Av *av_weak(Sp *sp, Ref r) {
	Av *v = av_array(sp, r);
	v->weak = true;
	return v;
}

Av *av_dyn(Sp *sp, Ref r) {
	Av *v = av_new(sp, AV_DYN);
	v->ref = r;
	return v;
}

Av *av_none(Sp *sp) { return av_new(sp, AV_NONE); }
Av *av_bool(Sp *sp, bool x) { return av_array(sp, build_bool(sp->b, x)); }
Av *av_int(Sp *sp, int64_t x) { return av_array(sp, build_i64(sp->b, x)); }

Av *av_string(Sp *sp, const char *text) {
	Av *v = av_new(sp, AV_STRING);
	v->text = atom(sp->c, text);
	return v;
}

static void count_parts(Sp *sp, Av *v) {
	uint64_t parts = 1;
	for (uint32_t i = 0; i < v->n; i++) parts += v->items[i] ? v->items[i]->parts : 0;
	if (parts > AV_PARTS_MOST)
		sp_fail(sp, E_BUDGET, span_of(sp->c, build_span(sp->b)), "a value of more than %u parts",
		        AV_PARTS_MOST);
	v->parts = (uint32_t)parts;
}

Av *av_seq(Sp *sp, AvKind kind, uint32_t n, Av *const *items) {
	Av *v = av_new(sp, kind);
	v->n = n;
	v->items = ARENA_ARRAY(sp->a, Av *, n ? n : 1);
	for (uint32_t i = 0; i < n; i++) v->items[i] = items[i];
	count_parts(sp, v);
	return v;
}

Av *av_record(Sp *sp, uint32_t n, const Atom *names, Av *const *items) {
	Av *v = av_seq(sp, AV_RECORD, n, items);
	v->names = ARENA_ARRAY(sp->a, Atom, n ? n : 1);
	for (uint32_t i = 0; i < n; i++) v->names[i] = names[i];
	return v;
}

Av *av_function(Sp *sp, CodeKind kind, uint32_t code_id, const void *code, Atom name, uint32_t n,
                const Atom *names, Av *const *items) {
	Av *v = av_seq(sp, AV_FUNCTION, n, items);
	v->names = ARENA_ARRAY(sp->a, Atom, n ? n : 1);
	for (uint32_t i = 0; i < n; i++) v->names[i] = names ? names[i] : 0;
	v->code_kind = (uint8_t)kind;
	v->code_id = code_id;
	v->code = code;
	v->text = name;
	return v;
}

Av *av_builtin(Sp *sp, const char *builtin_name, uint32_t n, Av *const *captured) {
	const Builtin *b = builtin_find(builtin_name);
	if (!b) sp_fail(sp, E_INTERNAL, NO_SPAN, "no builtin named %s", builtin_name);
	/* A builtin is identified by its address, so the atom of its name serves as
	 * the id. */
	return av_function(sp, CODE_BUILTIN, atom(sp->c, builtin_name), b, atom(sp->c, builtin_name), n,
	                   NULL, captured);
}

Av *av_field(const Av *record, Atom name) {
	if (record->kind != AV_RECORD) return NULL;
	for (uint32_t i = 0; i < record->n; i++)
		if (record->names[i] == name) return record->items[i];
	return NULL;
}

bool av_is_sparse(const Ctx *c, const Av *v) {
	static const char *const fields[] = {"rows", "columns", "values", "column_start", "row_start"};
	if (v->kind != AV_RECORD || v->n != 5) return false;
	for (uint32_t i = 0; i < 5; i++)
		if (strcmp(atom_text(c, v->names[i]), fields[i]) || v->items[i]->kind != AV_ARRAY)
			return false;
	return true;
}

Av *av_strong(Sp *sp, Av *v) {
	if (v->kind != AV_ARRAY || !v->weak) return v;
	Av *s = ARENA_NEW(sp->a, Av);
	*s = *v;
	s->weak = false;
	return s;
}

Av *av_named(Sp *sp, Av *v) {
	const bool whole = v->kind == AV_ARRAY && v->weak &&
	                   !dtype_is_inexact((Dtype)ref_ty(build_fn(sp->b), v->ref)->dtype);
	return whole ? av_strong(sp, v) : v;
}

Av *av_with_origin(Sp *sp, Av *v, Span origin) {
	Av *s = ARENA_NEW(sp->a, Av);
	*s = *v;
	s->origin = origin;
	return s;
}

/* ---- static requirements ------------------------------------------------- */

/* Finds the leaves of the frame from which a ref is computed. Returns false
 * when it also depends on something else (a loop's variable, data). */
static bool depends_only_on_leaves(Sp *sp, FunctionFrame *fr, Ref r, bool *which, int depth) {
	if (ref_is_const(r)) return true;
	for (uint32_t i = 0; i < fr->nleaves; i++)
		if (fr->params[i] == r) {
			which[i] = true;
			return true;
		}
	const Inst *in = ref_inst(build_fn(fr->b), r);
	if (!in || depth > 32) return false;
	if (!prims[in->op].elementwise && in->op != OP_SELECT && in->op != OP_CONVERT &&
	    in->op != OP_GATHER && in->op != OP_SLICE && in->op != OP_RESHAPE &&
	    in->op != OP_REDUCE_SUM && in->op != OP_REDUCE_MAX)
		return false;
	uint32_t nargs = in->nargs, args = in->args;
	for (uint32_t i = 0; i < nargs; i++)
		if (!depends_only_on_leaves(sp, fr, build_fn(fr->b)->args.at[args + i], which, depth + 1))
			return false;
	return true;
}

static _Noreturn void demand_static(Sp *sp, Ref r, bool needed, Span at, const char *what) {
	FunctionFrame *fr = sp->frame;
	if (fr && fr->nleaves) {
		bool *which = ARENA_ARRAY(sp->a, bool, fr->nleaves);
		if (depends_only_on_leaves(sp, fr, r, which, 0)) {
			bool any = false;
			for (uint32_t i = 0; i < fr->nleaves; i++) {
				if (!which[i] || fr->baked[i]) continue;
				any = fr->demanded[i] = true;
				fr->needed[i] |= needed;
			}
			if (any) {
				session_set_retry(sp->session, fr);
				ctx_throw(sp->c, ST_ERROR);
			}
		}
	}
	session_set_wants_unroll(sp->session);
	Diag *d = diag_error(sp->c, E_NOT_STATIC, at, "%s must be known before the program runs", what);
	diag_hint(sp->c, d, "write a number here, or pass it down as a plain argument");
	sp_throw(sp);
}

_Noreturn void sp_demand_static(Sp *sp, Ref r, Span at, const char *what) {
	demand_static(sp, r, true, at, what);
}

/* r is in the code of the frame; NULL: of a statement. What depends on
 * parameters alone is as static as the call's arguments; anything else may
 * depend on a loop that can be unrolled. */
static bool can_be_static(Sp *sp, FunctionFrame *fr, bool in_unrollable, Ref r) {
	if (ref_is_const(r)) return true;
	if (!fr || !fr->nleaves) return in_unrollable;
	bool *which = ARENA_ARRAY(sp->a, bool, fr->nleaves), some = false;
	if (!depends_only_on_leaves(sp, fr, r, which, 0)) return in_unrollable;
	for (uint32_t i = 0; i < fr->nleaves; i++) {
		if (!which[i] || fr->baked[i]) continue;
		if (fr->open || !can_be_static(sp, fr->outer, fr->in_unrollable, fr->args[i])) return false;
		some = true;
	}
	return some;
}

bool sp_can_be_static(Sp *sp, Ref r) { return can_be_static(sp, sp->frame, sp->unrollable > 0, r); }

void sp_ask_static(Sp *sp, Ref r, Span at, const char *what) {
	if (sp_can_be_static(sp, r)) demand_static(sp, r, false, at, what);
}

/* ---- static facts -------------------------------------------------------- */

static const Value *static_scalar(Sp *sp, const Av *v) {
	if (v->kind != AV_ARRAY) return NULL;
	const Const *k = ref_constant(build_fn(sp->b), v->ref);
	return k && k->value.kind == V_SCALAR ? &k->value : NULL;
}

bool av_static_int(Sp *sp, const Av *v, int64_t *out) {
	const Value *k = static_scalar(sp, v);
	/* A real number is not an integer, whatever its value. */
	return k && dtype_is_int((Dtype)k->dtype) && value_as_i64(*k, out);
}

bool av_static_bool(Sp *sp, const Av *v, bool *out) {
	const Value *k = static_scalar(sp, v);
	return k && value_as_bool(*k, out);
}

int64_t sp_want_int(Sp *sp, const Av *v, Span at, const char *what) {
	int64_t x;
	if (av_static_int(sp, v, &x)) return x;
	if (v->kind != AV_ARRAY)
		sp_fail(sp, E_TYPE, at, "%s must be an integer, not %s", what, av_kind_text(v));
	const Type *t = ref_ty(build_fn(sp->b), v->ref);
	if (t->rank != 0 || !dtype_is_int(t->dtype))
		sp_fail(sp, E_TYPE, at, "%s must be an integer, not %s", what, sp_type_text(sp, v));
	sp_demand_static(sp, v->ref, at, what);
}

bool sp_want_bool(Sp *sp, const Av *v, Span at, const char *what) {
	bool x;
	if (av_static_bool(sp, v, &x)) return x;
	if (v->kind != AV_ARRAY)
		sp_fail(sp, E_TYPE, at, "%s must be true or false, not %s", what, av_kind_text(v));
	const Type *t = ref_ty(build_fn(sp->b), v->ref);
	if (t->rank != 0 || t->dtype != DT_BOOL)
		sp_fail(sp, E_TYPE, at, "%s must be true or false, not %s", what, sp_type_text(sp, v));
	sp_demand_static(sp, v->ref, at, what);
}

const char *sp_want_string(Sp *sp, const Av *v, Span at, const char *what) {
	const Atom text = sp_want_atom(sp, v, at, what);
	if (strlen(atom_text(sp->c, text)) != atom_length(sp->c, text))
		sp_fail(sp, E_VALUE, at, "%s cannot contain the character NUL", what);
	return atom_text(sp->c, text);
}

Atom sp_want_atom(Sp *sp, const Av *v, Span at, const char *what) {
	if (v->kind == AV_STRING) return v->text;
	if (v->kind == AV_DYN)
		sp_fail(sp, E_NOT_STATIC, at, "%s must be known before the program runs", what);
	sp_fail(sp, E_TYPE, at, "%s must be a string, not %s", what, sp_type_text(sp, v));
}

void sp_want_ints(Sp *sp, const Av *v, Span at, const char *what, uint32_t *n, int64_t *out,
                  uint32_t cap) {
	uint32_t count;
	Av **items;
	if (v->kind == AV_ARRAY && ref_ty(build_fn(sp->b), v->ref)->rank == 0) {
		*n = 1;
		if (cap < 1) sp_fail(sp, E_ARITY, at, "%s has too many entries", what);
		out[0] = sp_want_int(sp, v, at, what);
		return;
	}
	if (!sp_static_items(sp, (Av *)v, &count, &items))
		sp_fail(sp, E_TYPE, at, "%s must be an integer or a tuple of integers", what);
	if (count > cap)
		sp_fail(sp, E_ARITY, at, "%s has %u entries where at most %u make sense", what, count, cap);
	*n = count;
	for (uint32_t i = 0; i < count; i++) out[i] = sp_want_int(sp, items[i], at, what);
}

/* ---- leaves -------------------------------------------------------------- */

uint32_t av_count_leaves(const Av *v) {
	if (av_is_leaf(v)) return 1;
	uint32_t n = 0;
	for (uint32_t i = 0; i < v->n; i++) n += av_count_leaves(v->items[i]);
	return n;
}

void av_leaves(const Av *v, Ref *out, uint32_t *n) {
	if (av_is_leaf(v)) {
		out[(*n)++] = v->ref;
		return;
	}
	for (uint32_t i = 0; i < v->n; i++) av_leaves(v->items[i], out, n);
}

void av_leaf_values(Av *v, Av **out, uint32_t *n) {
	if (av_is_leaf(v)) {
		out[(*n)++] = v;
		return;
	}
	for (uint32_t i = 0; i < v->n; i++) av_leaf_values(v->items[i], out, n);
}

Av *av_rebuild(Sp *sp, const Av *v, const Ref *refs, uint32_t *n) {
	Av *r = ARENA_NEW(sp->a, Av);
	*r = *v;
	if (av_is_leaf(v)) {
		r->ref = refs[(*n)++];
		return r;
	}
	if (v->n) {
		r->items = ARENA_ARRAY(sp->a, Av *, v->n);
		for (uint32_t i = 0; i < v->n; i++) r->items[i] = av_rebuild(sp, v->items[i], refs, n);
	}
	return r;
}

bool av_has_dynamic(const Av *v) {
	if (v->kind == AV_DYN) return true;
	for (uint32_t i = 0; i < v->n; i++)
		if (av_has_dynamic(v->items[i])) return true;
	return false;
}

bool av_same_structure(const Av *x, const Av *y) {
	if (x->kind != y->kind || x->n != y->n) return false;
	switch ((AvKind)x->kind) {
	case AV_ARRAY:
	case AV_DYN:
	case AV_HOST: return true;
	case AV_STRING: return x->text == y->text;
	case AV_FUNCTION:
	case AV_PROBLEM:
		if (x->code_kind != y->code_kind || x->code_id != y->code_id || x->code != y->code)
			return false;
		/* fallthrough */
	case AV_RECORD:
		for (uint32_t i = 0; i < x->n; i++)
			if (x->names[i] != y->names[i]) return false;
		break;
	default: break;
	}
	for (uint32_t i = 0; i < x->n; i++)
		if (!av_same_structure(x->items[i], y->items[i])) return false;
	return true;
}

const Av *av_keep(Arena *a, const Av *v) {
	Av *r = ARENA_NEW(a, Av);
	*r = *v;
	if (v->n) {
		r->items = ARENA_ARRAY(a, Av *, v->n);
		for (uint32_t i = 0; i < v->n; i++) r->items[i] = (Av *)av_keep(a, v->items[i]);
		if (v->names) {
			r->names = ARENA_ARRAY(a, Atom, v->n);
			memcpy(r->names, v->names, sizeof(Atom) * v->n);
		}
	}
	return r;
}

const Av *av_keep_strong(Arena *a, const Av *v) {
	Av *r = (Av *)av_keep(a, v);
	r->weak = false;
	for (uint32_t i = 0; i < v->n; i++) r->items[i] = (Av *)av_keep_strong(a, v->items[i]);
	return r;
}

static void hold(Arena *a, HeldCode *h, _Atomic uint32_t *count) {
	for (uint32_t i = 0; i < h->counts.n; i++)
		if (h->counts.at[i] == count) return;
	VEC_PUSH(a, &h->counts, count);
	atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

void held_code_node(Ctx *c, Arena *a, HeldCode *h, uint32_t node) {
	CodeOwner *o = code_owner_of(c, node);
	if (o) hold(a, h, &o->records);
}

void held_code_functions(Ctx *c, Arena *a, HeldCode *h, const Av *v) {
	if (v->kind == AV_FUNCTION || v->kind == AV_PROBLEM) {
		if (v->code_kind == CODE_AST) held_code_node(c, a, h, v->code_id);
		else if (v->code_kind == CODE_IR) hold(a, h, &((const IrCode *)v->code)->owner->records);
		else if (v->code_kind == CODE_FN && code_owner_last(c))
			hold(a, h, &code_owner_last(c)->others);
	}
	for (uint32_t i = 0; i < v->n; i++) held_code_functions(c, a, h, v->items[i]);
}

void held_code_release(HeldCode *h) {
	const uint32_t n = h->counts.n;
	h->counts.n = 0;
	for (uint32_t i = 0; i < n; i++)
		atomic_fetch_sub_explicit(h->counts.at[i], 1, memory_order_relaxed);
}

/* ---- values -------------------------------------------------------------- */

Av *av_of_value(Sp *sp, Value v) {
	switch ((ValueKind)v.kind) {
	case V_UNSET: return av_new(sp, AV_UNSET);
	case V_NONE:
	case V_TOKEN: return av_none(sp);
	case V_SCALAR:
	case V_TENSOR: {
		Value number = v;
		number.weak = false; /* belongs to the abstract value, not to the constant */
		Av *r = av_array(sp, build_const(sp->b, number));
		r->weak = v.weak;
		return r;
	}
	case V_STRING: {
		const StringObject *s = (const StringObject *)v.object;
		if (s->head.n > TEXT_STATIC_MOST) return av_dyn(sp, build_const(sp->b, v));
		Av *r = av_new(sp, AV_STRING);
		r->text = atom_n(sp->c, s->text, s->head.n);
		return r;
	}
	case V_RANGE: {
		const RangeObject *r = (const RangeObject *)v.object;
		return av_seq(sp, AV_RANGE, 3,
		              (Av *[]){av_int(sp, r->start), av_int(sp, r->stop), av_int(sp, r->step)});
	}
	case V_TUPLE:
	case V_LIST: {
		const SeqObject *s = (const SeqObject *)v.object;
		Av *r = av_seq(sp, v.kind == V_TUPLE ? AV_TUPLE : AV_LIST, 0, NULL);
		r->n = s->head.n;
		r->items = ARENA_ARRAY(sp->a, Av *, r->n ? r->n : 1);
		for (uint32_t i = 0; i < r->n; i++) r->items[i] = av_of_value(sp, s->items[i]);
		count_parts(sp, r);
		return r;
	}
	case V_RECORD: {
		const RecordObject *s = (const RecordObject *)v.object;
		Av *r = av_new(sp, AV_RECORD);
		r->n = s->head.n;
		r->items = ARENA_ARRAY(sp->a, Av *, r->n ? r->n : 1);
		r->names = ARENA_ARRAY(sp->a, Atom, r->n ? r->n : 1);
		for (uint32_t i = 0; i < r->n; i++) {
			r->names[i] = s->fields[i].name;
			r->items[i] = av_of_value(sp, s->fields[i].value);
		}
		count_parts(sp, r);
		return r;
	}
	case V_FUNCTION:
	case V_PROBLEM: {
		const FunctionObject *s = (const FunctionObject *)v.object;
		Av *r =
			av_function(sp, (CodeKind)s->code_kind, s->code_id, s->code, s->name, 0, NULL, NULL);
		r->kind = v.kind == V_FUNCTION ? AV_FUNCTION : AV_PROBLEM;
		r->n = s->head.n;
		r->items = ARENA_ARRAY(sp->a, Av *, r->n ? r->n : 1);
		r->names = ARENA_ARRAY(sp->a, Atom, r->n ? r->n : 1);
		for (uint32_t i = 0; i < r->n; i++) {
			r->names[i] = s->captured[i].name;
			r->items[i] = av_of_value(sp, s->captured[i].value);
		}
		count_parts(sp, r);
		return r;
	}
	case V_HOST: {
		Av *r = av_new(sp, AV_HOST);
		r->ref = build_const(sp->b, v);
		return r;
	}
	}
	return av_none(sp);
}

/* With `leaf` NULL, leaves stay V_UNSET holes; the result is the template of a
 * box. */
Value av_to_value(Ctx *c, const Av *v, const Value *leaf, uint32_t *n) {
	switch ((AvKind)v->kind) {
	case AV_UNSET:
	case AV_NONE: return value_none();
	case AV_ARRAY:
	case AV_DYN:
	case AV_HOST: {
		if (!leaf) return (Value){.kind = V_UNSET};
		Value r = value_ref(leaf[(*n)++]);
		r.weak = v->kind == AV_ARRAY && v->weak;
		return r;
	}
	case AV_STRING: return value_string(c, atom_text(c, v->text), atom_length(c, v->text));
	default: break;
	}
	Value *items = heap_alloc(c, sizeof(Value) * (v->n ? v->n : 1));
	if (!items) return (Value){.kind = V_UNSET};
	bool ok = true;
	for (uint32_t i = 0; i < v->n; i++) {
		items[i] = av_to_value(c, v->items[i], leaf, n);
		bool hole = !leaf && av_is_leaf(v->items[i]);
		if (items[i].kind == V_UNSET && !hole) ok = false;
	}
	Value r = {.kind = V_UNSET};
	if (ok) switch ((AvKind)v->kind) {
		case AV_RANGE: {
			int64_t start = 0, stop = 0, step = 1;
			/* A box template cannot contain a range with holes, so sp_box
			 * replaces such a range by a tuple of its ends. */
			if (value_as_i64(items[0], &start) && value_as_i64(items[1], &stop) &&
			    value_as_i64(items[2], &step))
				r = value_range(c, start, stop, step);
			break;
		}
		case AV_TUPLE: r = value_seq(c, V_TUPLE, v->n, items); break;
		case AV_LIST: r = value_seq(c, V_LIST, v->n, items); break;
		case AV_RECORD: r = value_record(c, v->n, v->names, items); break;
		case AV_FUNCTION:
			r = value_function(c, V_FUNCTION, v->code_kind, v->code_id, v->code, v->text, v->n,
			                   v->names, items);
			break;
		case AV_PROBLEM:
			r = value_function(c, V_PROBLEM, v->code_kind, v->code_id, v->code, v->text, v->n,
			                   v->names, items);
			break;
		default: break;
		}
	for (uint32_t i = 0; i < v->n; i++) value_unref(items[i]);
	heap_free(c, items, sizeof(Value) * (v->n ? v->n : 1));
	return r;
}

/* A value without ranges that have holes. A constant range becomes one leaf,
 * another range a tuple of its ends. */
static Av *boxable(Sp *sp, Av *v) {
	if (v->kind == AV_RANGE) {
		int64_t x;
		for (uint32_t i = 0; i < 3; i++)
			if (!av_static_int(sp, v->items[i], &x)) return av_seq(sp, AV_TUPLE, 3, v->items);
		int64_t ends[3];
		for (uint32_t i = 0; i < 3; i++) av_static_int(sp, v->items[i], &ends[i]);
		Value range = value_range(sp->c, ends[0], ends[1], ends[2]);
		if (range.kind == V_UNSET) ctx_throw(sp->c, ST_NOMEM);
		/* One leaf: a template has no holes inside a range. */
		return av_dyn(sp, sp_const(sp, range));
	}
	bool same = true;
	Av **items = ARENA_ARRAY(sp->a, Av *, v->n ? v->n : 1);
	for (uint32_t i = 0; i < v->n; i++) {
		items[i] = boxable(sp, v->items[i]);
		same &= items[i] == v->items[i];
	}
	if (same) return v;
	Av *r = ARENA_NEW(sp->a, Av);
	*r = *v;
	r->items = items;
	return r;
}

static bool all_constant(const Ref *refs, uint32_t n) {
	for (uint32_t i = 0; i < n; i++)
		if (!ref_is_const(refs[i])) return false;
	return true;
}

typedef struct ConstJob {
	Builder *b;
	Value v;
	Ref made;
} ConstJob;

static void const_protected(Ctx *c, void *arg) {
	ConstJob *j = arg;
	(void)c;
	j->made = build_const(j->b, j->v);
}

Ref sp_const(Sp *sp, Value v) {
	ConstJob j = {.b = sp->b, .v = v};
	Status st = ctx_protect(sp->c, const_protected, &j);
	value_unref(v);
	if (st != ST_OK) ctx_throw(sp->c, st);
	return j.made;
}

Ref sp_box(Sp *sp, Av *v) {
	if (av_is_boxed(v)) return v->ref;
	v = boxable(sp, v);
	uint32_t n = av_count_leaves(v), k = 0;
	Ref *args = ARENA_ARRAY(sp->a, Ref, n + 1);
	av_leaves(v, args + 1, &k);
	Value filled = {.kind = V_UNSET};
	uint32_t used = 0;
	if (all_constant(args + 1, n)) {
		Value *leaf = ARENA_ARRAY(sp->a, Value, n ? n : 1);
		for (uint32_t i = 0; i < n; i++)
			leaf[i] = ref_constant(build_fn(sp->b), args[1 + i])->value;
		filled = av_to_value(sp->c, v, leaf, &used);
		if (filled.kind == V_UNSET) ctx_throw(sp->c, ST_NOMEM);
		if (!value_is_array(filled)) return sp_const(sp, filled);
		value_unref(filled);
	}
	Value template = av_to_value(sp->c, v, NULL, &used);
	if (v->kind != AV_ARRAY && template.kind == V_UNSET) ctx_throw(sp->c, ST_NOMEM);
	args[0] = sp_const(sp, template);
	return build(sp->b, OP_BOX, n + 1, args, 0, NULL);
}
