/* effects.c - builtins for effects, failures, structures, dynamic values,
 * functions of functions, host calls, and the search for NaN.
 *
 * Needs: specialise/internal.h, lang/ir/host.h.
 *
 * Contract: as arrays.c.
 */
#include "parser/builtins/table.h"

#include <stdio.h>

/* ---- text ---------------------------------------------------------------- */

/* All arguments as one string, separated by spaces. */
static Ref joined(Sp *sp, const CallArguments *call, uint32_t first) {
	Text t;
	text_init(&t, sp->c);
	VEC(Ref) holes = {0};
	for (uint32_t i = first; i < call->n; i++) {
		if (i > first) text_str(&t, " ");
		Av *v = call->args[i];
		const size_t n = v->kind == AV_STRING ? atom_length(sp->c, v->text) : 0;
		if (v->kind == AV_STRING && t.n + n <= TEXT_STATIC_MOST) {
			const char *text = atom_text(sp->c, v->text);
			for (size_t k = 0; k < n; k++) {
				if (text[k] == '{' || text[k] == '}') text_add(&t, text + k, 1);
				text_add(&t, text + k, 1);
			}
			continue;
		}
		text_format(&t, "{%u}", holes.n);
		VEC_PUSH(sp->a, &holes, v->kind == AV_ARRAY ? v->ref : sp_box(sp, v));
	}
	if (t.failed) {
		text_free(&t);
		ctx_throw(sp->c, ST_NOMEM);
	}
	int64_t word = atom_n(sp->c, t.n ? t.at : "", t.n);
	text_free(&t);
	return build(sp->b, OP_FORMAT, holes.n, holes.at, attr_intern(sp->c, &word, 1), NULL);
}

BUILTIN(print) {
	UNUSED;
	Ref text = joined(sp, call, 0), rng, io;
	sp_effects(sp, &rng, &io, call->span);
	sp_set_effects(sp, REF_NONE, build(sp->b, OP_PRINT, 2, (Ref[]){io, text}, 0, NULL));
	return av_none(sp);
}

/* A value of a progress report: a real scalar, converted to d. `none` stands
 * for an unknown number of steps. */
static Ref progress_number(Sp *sp, Av *v, Dtype d, Span at, const char *what) {
	if (v->kind == AV_NONE && d == DT_I64) return av_int(sp, 0)->ref;
	if (v->kind != AV_ARRAY || ty(sp, v->ref)->rank ||
	    dtype_is_complex((Dtype)ty(sp, v->ref)->dtype))
		sp_fail(sp, E_TYPE, at, "%s must be a real number, not %s", what, sp_type_text(sp, v));
	return sp_to_dtype(sp, v, d);
}

/* progress(...): emits the primitive. It has no results and no derivative, and
 * keeps its order relative to instructions that can fail. */
BUILTIN(progress) {
	UNUSED;
	Ref args[2 + PROGRESS_VALUES];
	Text names;
	if (call->nnamed > PROGRESS_VALUES)
		sp_fail(sp, E_ARITY, call->span, "progress takes at most %d named values; here are %u",
		        PROGRESS_VALUES, call->nnamed);
	args[0] = progress_number(sp, call->args[0], DT_I64, call->spans[0], "the step");
	args[1] = call->n > 1 ? progress_number(sp, call->args[1], DT_I64, call->spans[1],
	                                        "the number of steps")
	                      : av_int(sp, 0)->ref;
	for (uint32_t i = 0; i < call->nnamed; i++)
		args[2 + i] =
			progress_number(sp, call->named[i], DT_F64, call->named_spans[i],
		                    arena_printf(sp->a, "the value %s", atom_text(sp->c, call->names[i])));
	text_init(&names, sp->c);
	for (uint32_t i = 0; i < call->nnamed; i++)
		text_format(&names, "%s%s", i ? "," : "", atom_text(sp->c, call->names[i]));
	if (names.failed) {
		text_free(&names);
		ctx_throw(sp->c, ST_NOMEM);
	}
	const int64_t word = atom_n(sp->c, names.n ? names.at : "", names.n);
	text_free(&names);
	sp_at(sp, call->span);
	build(sp->b, OP_PROGRESS, 2 + call->nnamed, args, attr_intern(sp->c, &word, 1), NULL);
	return av_none(sp);
}

BUILTIN(str) {
	UNUSED;
	if (call->n == 1 && call->args[0]->kind == AV_STRING) return call->args[0];
	if (call->n == 1 && call->args[0]->kind == AV_FUNCTION && call->args[0]->code_kind == CODE_IR)
		return builtin_ir_text(sp, call->args[0]);
	return av_dyn(sp, joined(sp, call, 0));
}

static void emit_failure(Sp *sp, DiagCode code, Ref message) {
	build(sp->b, OP_FAIL, 1, &message, attr_intern(sp->c, (int64_t[]){code}, 1), NULL);
	sp_set_dead(sp);
}

BUILTIN(error) {
	UNUSED;
	Ref message = joined(sp, call, 0);
	sp_at(sp, call->span);
	emit_failure(sp, E_USER, message);
	return av_new(sp, AV_UNSET);
}

/* exit(code): no `try` catches it, and the host decides what ends. */
BUILTIN(leave) {
	UNUSED;
	Av *code =
		call->n ? av_array(sp, sp_scalar(sp, call->args[0], DT_I64, call->spans[0], "an exit code"))
				: av_int(sp, 0);
	CallArguments text = *call;
	text.n = 1;
	text.args = &code;
	Ref message = joined(sp, &text, 0);
	sp_at(sp, call->span);
	emit_failure(sp, E_EXIT, message);
	return av_new(sp, AV_UNSET);
}

/* _warning(message): reported beside the results; the program continues. */
BUILTIN(warning) {
	UNUSED;
	Ref message = joined(sp, call, 0);
	sp_at(sp, call->span);
	build(sp->b, OP_WARN, 1, &message, 0, NULL);
	return av_none(sp);
}

/* _refuse(message): the library rejects this use at specialisation time. */
BUILTIN(refuse) {
	UNUSED;
	sp_fail(sp, E_METHOD, sp_user_place(sp, call->span), "%s",
	        sp_want_string(sp, call->args[0], call->spans[0], "a message"));
}

struct assertion {
	const CallArguments *call;
};

static Av *assertion_fails(Sp *sp, void *ud) {
	const CallArguments *call = ((struct assertion *)ud)->call;
	Ref message;
	if (call->n > 1) message = joined(sp, call, 1);
	else {
		size_t n;
		const char *text = source_text(sp->c, call->span.source, &n);
		const char *what = call->spans[0].source
		                       ? arena_copy(sp->a, text + call->spans[0].start,
		                                    call->spans[0].end - call->spans[0].start)
		                       : "the assertion";
		message = sp_box(sp, av_string(sp, arena_printf(sp->a, "%s does not hold", what)));
	}
	emit_failure(sp, E_ASSERT, message);
	return av_none(sp);
}
static Av *assertion_holds(Sp *sp, void *ud) {
	(void)ud;
	return av_none(sp);
}

BUILTIN(assert_that) {
	UNUSED;
	Av *c = call->args[0];
	if (c->kind == AV_DYN)
		c = av_array(sp, sp_scalar(sp, c, DT_BOOL, call->spans[0], "an assertion"));
	if (c->kind != AV_ARRAY || ty(sp, c->ref)->dtype != DT_BOOL)
		sp_fail(sp, E_TYPE, call->spans[0], "`assert` takes a condition, not %s",
		        sp_type_text(sp, c));
	if (ty(sp, c->ref)->rank) {
		Diag *d = diag_error(sp->c, E_TYPE, call->spans[0], "`assert` takes one condition, not %s",
		                     sp_type_text(sp, c));
		diag_hint(sp->c, d, "all(...) asks whether each holds");
		sp_throw(sp);
	}
	struct assertion a = {call};
	bool known;
	if (av_static_bool(sp, c, &known)) return known ? av_none(sp) : assertion_fails(sp, &a);
	sp_branch(sp, c, assertion_holds, NULL, assertion_fails, &a, call->span);
	return av_none(sp);
}

/* ---- structure ----------------------------------------------------------- */

BUILTIN(list) {
	UNUSED;
	return av_seq(sp, AV_LIST, call->n, call->args);
}

/* The integers of a range as a list, so that loops and map over it are
 * unrolled. */
BUILTIN(each) {
	enum { EACH_MOST = 100000 };
	(void)ncaptured;
	(void)captured;
	for (uint32_t i = 0; i < call->n; i++)
		if (call->args[i]->kind == AV_DYN)
			return sp_call_dynamic(sp, av_builtin(sp, self->name, 0, NULL), call->n, call->args,
			                       call->span);
	const int64_t from =
		call->n > 1 ? sp_want_int(sp, call->args[0], call->spans[0], "the first number") : 0;
	const int64_t to = sp_want_int(sp, call->args[call->n - 1], call->spans[call->n - 1],
	                               "how far the numbers go");
	const int64_t n = to > from ? to - from : 0;
	if (n > EACH_MOST)
		sp_fail(sp, E_SHAPE, call->span,
		        "`each` takes up to %d numbers, not %lld: a range a..b has no limit", EACH_MOST,
		        (long long)n);
	Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (int64_t i = 0; i < n; i++) items[i] = av_int(sp, from + i);
	return av_seq(sp, AV_LIST, (uint32_t)n, items);
}

BUILTIN(push) {
	UNUSED;
	Av *v = call->args[0], *x = call->args[1];
	if (v->kind == AV_LIST || v->kind == AV_TUPLE) {
		Av *r = av_seq(sp, (AvKind)v->kind, 0, NULL);
		r->n = v->n + 1;
		r->items = ARENA_ARRAY(sp->a, Av *, r->n);
		for (uint32_t i = 0; i < v->n; i++) r->items[i] = v->items[i];
		r->items[v->n] = x;
		return r;
	}
	if (v->kind == AV_DYN)
		return sp_call_dynamic(sp, av_builtin(sp, "push", 0, NULL), 2, call->args, call->span);
	v = sp_want_array(sp, v, call->spans[0], "push");
	x = sp_want_array(sp, x, call->spans[1], "push");
	Type tv = *ty(sp, v->ref), tx = *ty(sp, x->ref);
	if (tv.rank != tx.rank + 1u)
		sp_fail(sp, E_SHAPE, call->span, "cannot push %s onto %s", sp_type_text(sp, x),
		        sp_type_text(sp, v));
	int64_t empty;
	Dtype d = dim_is_const(sp->c, tv.dims[0], &empty) && empty == 0 ? (Dtype)tx.dtype
	                                                                : sp_common_dtype(sp, v, x);
	Atom what = atom_f(sp->c, "cannot push %s onto %s", sp_type_text(sp, x), sp_type_text(sp, v));
	for (uint32_t i = 0; i < tx.rank; i++)
		if (!build_unify(sp->b, tv.dims[i + 1], tx.dims[i], what))
			sp_fail(sp, E_SHAPE, call->span, "%s", atom_text(sp->c, what));
	return av_array(sp, build2(sp->b, OP_PUSH, sp_to_dtype(sp, v, d), sp_to_dtype(sp, x, d)));
}

BUILTIN(keys) {
	UNUSED;
	Av *r = call->args[0];
	if (r->kind != AV_RECORD)
		sp_fail(sp, E_TYPE, call->spans[0], "`%s` takes a record, not %s", self->name,
		        sp_type_text(sp, r));
	if (!strcmp(self->name, "values")) return av_seq(sp, AV_TUPLE, r->n, r->items);
	Av **items = ARENA_ARRAY(sp->a, Av *, r->n + 1);
	for (uint32_t i = 0; i < r->n; i++) items[i] = av_string(sp, atom_text(sp->c, r->names[i]));
	return av_seq(sp, AV_TUPLE, r->n, items);
}

BUILTIN(leaves) {
	UNUSED;
	uint32_t n = av_count_leaves(call->args[0]), k = 0;
	Ref *refs = ARENA_ARRAY(sp->a, Ref, n + 1);
	av_leaves(call->args[0], refs, &k);
	Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (uint32_t i = 0; i < n; i++)
		items[i] = ty(sp, refs[i])->kind == TY_TENSOR ? av_array(sp, refs[i]) : av_dyn(sp, refs[i]);
	return av_seq(sp, AV_LIST, n, items);
}

BUILTIN(has) {
	(void)ncaptured;
	(void)captured;
	if (call->args[0]->kind == AV_DYN)
		return sp_call_dynamic(sp, av_builtin(sp, self->name, 0, NULL), call->n, call->args,
		                       call->span);
	if (call->args[0]->kind != AV_RECORD) return av_bool(sp, false);
	return av_bool(sp, av_field(call->args[0], sp_want_atom(sp, call->args[1], call->spans[1],
	                                                        "a field's name")) != NULL);
}

BUILTIN(field) {
	(void)ncaptured;
	(void)captured;
	Av *r = call->args[0];
	if (r->kind == AV_DYN)
		return sp_call_dynamic(sp, av_builtin(sp, self->name, 0, NULL), call->n, call->args,
		                       call->span);
	const Atom name = sp_want_atom(sp, call->args[1], call->spans[1], "a field's name");
	Av *v = r->kind == AV_RECORD ? av_field(r, name) : NULL;
	if (!v && call->n > 2) return call->args[2];
	if (!v)
		sp_fail(sp, E_FIELD, call->span, "no field `%s` in %s", atom_text(sp->c, name),
		        sp_type_text(sp, r));
	return v;
}

BUILTIN(record_of) {
	UNUSED;
	uint32_t n, m;
	Av **names, **values;
	if (!sp_static_items(sp, call->args[0], &n, &names) ||
	    !sp_static_items(sp, call->args[1], &m, &values) || n != m)
		sp_fail(sp, E_TYPE, call->span, "a record is made of as many names as values");
	Atom *atoms = ARENA_ARRAY(sp->a, Atom, n + 1);
	for (uint32_t i = 0; i < n; i++)
		atoms[i] = sp_want_atom(sp, names[i], call->spans[0], "a field's name");
	return av_record(sp, n, atoms, values);
}

/* In the user's text: the kind of the run-time value. In the library: the
 * static kind. */
BUILTIN(kind) {
	UNUSED;
	if (call->args[0]->kind == AV_DYN && !source_is_library(sp->c, call->span.source))
		return sp_call_dynamic(sp, av_builtin(sp, self->name, 0, NULL), 1, call->args, call->span);
	static const char *const names[] = {"unset", "none", "array",  "dynamic",  "string",  "range",
	                                    "tuple", "list", "record", "function", "problem", "host"};
	return av_string(sp,
	                 av_is_sparse(sp->c, call->args[0]) ? "sparse" : names[call->args[0]->kind]);
}

BUILTIN(accepts) {
	(void)ncaptured;
	(void)captured;
	const Av *f = call->args[0];
	if (f->kind == AV_DYN)
		return sp_call_dynamic(sp, av_builtin(sp, self->name, 0, NULL), call->n, call->args,
		                       call->span);
	if (f->kind != AV_FUNCTION) return av_bool(sp, false);
	return av_bool(sp, sp_accepts(f, sp_want_int(sp, call->args[1], call->spans[1],
	                                             "the number of arguments")));
}

BUILTIN(zip) {
	UNUSED;
	uint32_t n = UINT32_MAX;
	Av ***items = ARENA_ARRAY(sp->a, Av **, call->n + 1);
	for (uint32_t i = 0; i < call->n; i++) {
		uint32_t m;
		if (!sp_static_items(sp, call->args[i], &m, &items[i]))
			sp_fail(sp, E_TYPE, call->spans[i], "`%s` takes tuples, lists or short arrays",
			        self->name);
		if (m < n) n = m;
	}
	bool enumerated = self->name[0] == 'e';
	Av **rows = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (uint32_t k = 0; k < n; k++) {
		Av **row = ARENA_ARRAY(sp->a, Av *, call->n + 1);
		uint32_t w = 0;
		if (enumerated) row[w++] = av_int(sp, k);
		for (uint32_t i = 0; i < call->n; i++) row[w++] = items[i][k];
		rows[k] = av_seq(sp, AV_TUPLE, w, row);
	}
	return av_seq(sp, AV_LIST, n, rows);
}

/* True when two arrays have one shape and equal elements: a single boolean. */
BUILTIN(same) {
	UNUSED;
	Av *x = call->args[0], *y = call->args[1];
	if (x->kind != AV_ARRAY || y->kind != AV_ARRAY) return av_bool(sp, av_same_structure(x, y));
	Type a = *ty(sp, x->ref), b = *ty(sp, y->ref);
	if (a.rank != b.rank) return av_bool(sp, false);
	Av *lengths = NULL;
	for (uint32_t i = 0; i < a.rank; i++) {
		Dim da = build_canon(sp->b, a.dims[i]), db = build_canon(sp->b, b.dims[i]);
		if (da == db) continue;
		if (dim_is_const(sp->c, da, NULL) && dim_is_const(sp->c, db, NULL))
			return av_bool(sp, false);
		Av *eq = sp_elementwise(
			sp, OP_EQ, 2,
			(Av *[]){av_array(sp, build_extent(sp->b, da)), av_array(sp, build_extent(sp->b, db))},
			call->span);
		lengths = lengths ? sp_elementwise(sp, OP_MIN, 2, (Av *[]){lengths, eq}, call->span) : eq;
	}
	if (lengths)
		sp_fail(sp, E_NOT_STATIC, call->span,
		        "whether these have one shape is not known before the program runs");
	Av *eq = sp_elementwise(sp, OP_EQ, 2, (Av *[]){x, y}, call->span);
	int axes[MAX_RANK];
	for (uint32_t i = 0; i < a.rank; i++) axes[i] = (int)i;
	return a.rank ? av_array(sp, build_reduce(sp->b, OP_REDUCE_MIN, eq->ref, a.rank, axes)) : eq;
}

/* ---- dynamic values: these builtins run on values at run time ------------ */

BUILTIN(operator_on) {
	UNUSED;
	static const struct {
		const char *name;
		AstOp op;
	} table[] = {{"+", AO_ADD},       {"-", AO_SUB},   {"*", AO_MUL}, {"/", AO_DIV},
	             {"//", AO_FLOORDIV}, {"%", AO_MOD},   {"^", AO_POW}, {"@", AO_MATMUL},
	             {"·", AO_DOT},       {"×", AO_CROSS}, {"==", AO_EQ}, {"!=", AO_NE},
	             {"<", AO_LT},        {"<=", AO_LE},   {">", AO_GT},  {">=", AO_GE}};
	const char *name = atom_text(sp->c, captured[0]->text);
	for (uint32_t i = 0; i < call->n; i++)
		if (call->args[i]->kind == AV_DYN)
			sp_fail(sp, E_TYPE, call->span, "`%s` has no meaning for this value", name);
	if (call->n == 1)
		return sp_unary(sp,
		                !strcmp(name, "not")   ? AO_NOT
		                : !strcmp(name, "neg") ? AO_NEG
		                                       : AO_POS,
		                call->args[0], call->span);
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (!strcmp(name, table[i].name))
			return sp_binary(sp, table[i].op, call->args[0], call->args[1], call->span, call->span,
			                 call->span);
	sp_fail(sp, E_INTERNAL, call->span, "an unknown operator %s", name);
}

/* Indices of a dynamic call: a range was boxed as a tuple of its ends. */
static Av *const *unboxed_indices(Sp *sp, uint32_t n, Av *const *boxed) {
	Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		items[i] = boxed[i];
		if (items[i]->kind == AV_TUPLE && items[i]->n == 3)
			items[i] = av_seq(sp, AV_RANGE, 3, items[i]->items);
		if (items[i]->kind == AV_RANGE)
			for (int k = 0; k < 3; k++)
				if (items[i]->items[k]->kind == AV_NONE) items[i]->items[k] = av_new(sp, AV_UNSET);
	}
	return items;
}

BUILTIN(item) {
	UNUSED;
	return sp_index_values(sp, call->args[0], call->n - 1,
	                       unboxed_indices(sp, call->n - 1, call->args + 1), call->spans + 1,
	                       call->span);
}

/* _item_set[add](x, value, i, ...): x with other items. */
BUILTIN(item_set) {
	(void)self, (void)ncaptured;
	bool add = false;
	if (!av_static_bool(sp, captured[0], &add))
		sp_fail(sp, E_INTERNAL, call->span, "an update without its kind");
	if (call->args[0]->kind == AV_DYN)
		sp_fail(sp, E_TARGET, call->span, "this value cannot be written into by index");
	return sp_index_set(sp, call->args[0], call->n - 2,
	                    unboxed_indices(sp, call->n - 2, call->args + 2), call->spans + 2,
	                    call->args[1], add, call->span);
}

/* _part(x, i, n): the i-th of the n values that x is destructured into. */
BUILTIN(part) {
	UNUSED;
	const int64_t i = sp_want_int(sp, call->args[1], call->span, "a part's number"),
				  n = sp_want_int(sp, call->args[2], call->span, "a number of parts");
	return sp_take_apart(sp, call->args[0], (uint32_t)n, call->span)[i];
}

/* _as_declared(x, dtype, axes, who): x as an array of this dtype and rank, if
 * it converts implicitly. */
BUILTIN(as_declared) {
	UNUSED;
	Av *v = call->args[0];
	const char *who = sp_want_string(sp, call->args[3], call->span, "a name");
	Dtype want = DT_F64;
	dtype_from_name(sp_want_string(sp, call->args[1], call->span, "a dtype"), &want);
	const int64_t rank = sp_want_int(sp, call->args[2], call->span, "a number of axes");
	if (v->kind == AV_RANGE || v->kind == AV_TUPLE || v->kind == AV_LIST)
		v = sp_want_array(sp, v, call->span, who);
	const Type *t = v->kind == AV_ARRAY ? ty(sp, v->ref) : NULL;
	if (!t || t->rank != rank || dtype_promote((Dtype)t->dtype, want) != want)
		sp_fail(sp, E_ANNOTATION, call->span, "%s is %s, and %s with %lld ax%s is declared", who,
		        sp_type_text(sp, v), dtype_name(want), (long long)rank, rank == 1 ? "is" : "es");
	return av_array(sp, build_convert(sp->b, v->ref, want));
}

/* ---- functions of functions ---------------------------------------------- */

BUILTIN(compose) {
	UNUSED;
	if (!strcmp(self->name, "compose")) return av_builtin(sp, "_compose", 2, call->args);
	Av *inner = sp_call(sp, captured[1], call);
	return sp_call_args(sp, captured[0], 1, &inner, call->span);
}

BUILTIN(call_on) {
	UNUSED;
	return sp_call(sp, captured[0], call);
}

/* _with_named: a call with the named arguments of a record. */
BUILTIN(with_named) {
	UNUSED;
	CallArguments all = *call;
	all.nnamed = captured[1]->n;
	all.names = captured[1]->names;
	all.named = captured[1]->items;
	all.named_rest = NULL;
	all.named_spans = ARENA_ARRAY(sp->a, Span, all.nnamed + 1);
	for (uint32_t i = 0; i < all.nnamed; i++) all.named_spans[i] = call->span;
	return sp_call(sp, captured[0], &all);
}

/* _without_rule: a host function without the rule that the program gives it. */
BUILTIN(without_rule) {
	UNUSED;
	return sp_call_host(sp, captured[0], call);
}

BUILTIN(pointwise) {
	UNUSED;
	const char *name = atom_text(sp->c, captured[0]->text);
	Av *v[2];
	for (int i = 0; i < 2; i++)
		v[i] = captured[1 + i]->kind == AV_FUNCTION ? sp_call(sp, captured[1 + i], call)
		                                            : captured[1 + i];
	AstOp op = name[0] == '+'   ? AO_ADD
	           : name[0] == '-' ? AO_SUB
	           : name[0] == '*' ? AO_MUL
	           : name[0] == '/' ? AO_DIV
	                            : AO_POW;
	return sp_binary(sp, op, v[0], v[1], call->span, call->span, call->span);
}

BUILTIN(negated) {
	UNUSED;
	return sp_unary(sp, AO_NEG, sp_call(sp, captured[0], call), call->span);
}

/* ---- host functions that take functions: solvers ------------------------- */

/* _host(name, ((f, (samples...)), ...), (operands...), (options...)): each
 * function is specialised for its samples. Its captured values follow the
 * operands. The host function's options begin with the number of functions and,
 * for each, the number of operands that it captures. A string option is a
 * number of words, then that many words. */
BUILTIN(host) {
	UNUSED;
	const char *name = sp_want_string(sp, call->args[0], call->spans[0], "a host function's name");
	const HostDef *def = host_find(sp->c, name);
	if (!def) sp_fail(sp, E_HOST, call->span, "there is no solver `%s` here", name);
	uint32_t nf, nops, nopt;
	Av **fs, **ops, **opts;
	if (!sp_static_items(sp, call->args[1], &nf, &fs) ||
	    !sp_static_items(sp, call->args[2], &nops, &ops) ||
	    !sp_static_items(sp, call->args[3], &nopt, &opts) || nf > 8)
		sp_fail(sp, E_TYPE, call->span, "a host call takes tuples");
	VEC(Ref) operands = {0};
	for (uint32_t i = 0; i < nops; i++) {
		Av *v = sp_want_array(sp, ops[i], call->spans[2], name);
		VEC_PUSH(sp->a, &operands, v->ref);
	}
	Fn *fns[8];
	uint32_t words = 0; /* words of the options that are strings */
	for (uint32_t i = 0; i < nopt; i++)
		if (opts[i]->kind == AV_STRING)
			words += (uint32_t)strlen(sp_want_string(sp, opts[i], call->spans[3], "an option")) /
			             sizeof(int64_t) +
			         1;
	int64_t *options = ARENA_ARRAY(sp->a, int64_t, 1 + nf + nopt + words);
	options[0] = nf;
	for (uint32_t k = 0; k < nf; k++) {
		if (fs[k]->kind != AV_TUPLE || fs[k]->n != 2 || fs[k]->items[0]->kind != AV_FUNCTION ||
		    fs[k]->items[1]->kind != AV_TUPLE)
			sp_fail(sp, E_TYPE, call->span,
			        "a function is handed to a solver with a tuple of sample arguments");
		Av *f = sp_keep_rule(sp, fs[k]->items[0]), *samples = fs[k]->items[1];
		Span *spans = ARENA_ARRAY(sp->a, Span, samples->n + 1);
		for (uint32_t i = 0; i < samples->n; i++) spans[i] = call->span;
		CallArguments inner = {.span = call->span,
		                       .callee_span = call->span,
		                       .n = samples->n,
		                       .args = samples->items,
		                       .spans = spans};
		Specialisation s = sp_specialise(sp, f, &inner);
		sp_no_effects(sp, &s, E_HOST, call->span,
		              "a function handed to a solver, or whose pattern is asked for, cannot print "
		              "or draw random numbers");
		uint32_t sample_leaves = 0;
		for (uint32_t i = 0; i < samples->n; i++)
			sample_leaves += av_count_leaves(samples->items[i]);
		for (uint32_t i = s.nleaves - sample_leaves; i < s.nleaves; i++)
			if (s.param_of_leaf[i] < 0)
				sp_fail(sp, E_NOT_STATIC, call->span,
				        "a function handed to a solver decides a shape by its argument");
		uint32_t ncap = s.nargs - sample_leaves;
		for (uint32_t i = 0; i < ncap; i++) VEC_PUSH(sp->a, &operands, s.args[i]);
		fns[k] = s.fn;
		options[1 + k] = ncap;
	}
	uint32_t noptions = 1 + nf;
	for (uint32_t i = 0; i < nopt; i++) {
		if (opts[i]->kind != AV_STRING) {
			options[noptions++] = sp_want_int(sp, opts[i], call->spans[3], "an option");
			continue;
		}
		/* A string: its number of words, then its bytes, the last of which is
		 * 0. */
		const char *text = sp_want_string(sp, opts[i], call->spans[3], "an option");
		const uint32_t n = (uint32_t)strlen(text) / sizeof(int64_t) + 1;
		options[noptions++] = n;
		memset(options + noptions, 0, n * sizeof *options);
		memcpy(options + noptions, text, strlen(text));
		noptions += n;
	}
	Ref results[16];
	sp_at(sp, call->span);
	HostId id = host_call_intern(sp->c, def, nf, fns, noptions, options);
	uint32_t n = build_host(sp->b, id, operands.n, operands.at, results, 16);
	Av *items[16];
	for (uint32_t i = 0; i < n; i++) items[i] = av_array(sp, results[i]);
	return av_seq(sp, AV_TUPLE, n, items);
}

/* ---- not a number -------------------------------------------------------- */

/* The names of an argument's leaves, for messages: "x", "p.W", "argument 2". */
static void leaf_names(Sp *sp, const Av *v, const char *path, uint32_t *k, Atom *out) {
	if (av_is_leaf(v)) {
		out[(*k)++] = atom(sp->c, path);
		return;
	}
	const uint32_t before = *k, n = av_count_leaves(v);
	for (uint32_t i = 0; i < v->n; i++)
		leaf_names(sp, v->items[i],
		           v->kind == AV_RECORD || v->kind == AV_FUNCTION
		               ? arena_printf(sp->a, "%s.%s", path, atom_text(sp->c, v->names[i]))
		               : arena_printf(sp->a, "%s[%u]", path, i),
		           k, out);
	while (*k < before + n) out[(*k)++] = atom(sp->c, path);
}

/* nan_check: a host call that runs the function with an observer
 * (backend/eval/nan_trace.c). Its message is printed if output is granted. */
BUILTIN(nan_check) {
	UNUSED;
	Specialisation s = builtin_spec_of(sp, call);
	const HostDef *def = host_find(sp->c, "_nan_check");
	Av *inf = call_named(call, "inf", sp->c);
	Atom *names = ARENA_ARRAY(sp->a, Atom, s.nleaves + 1);
	uint32_t k = 0;
	Av *f = sp_keep_rule(sp, call->args[0]);
	for (uint32_t i = 0; i < f->n; i++)
		leaf_names(sp, f->items[i],
		           f->names && f->names[i]
		               ? arena_printf(sp->a, "the captured value %s", atom_text(sp->c, f->names[i]))
		               : "a captured value",
		           &k, names);
	const Ast *code = f->code_kind == CODE_AST ? f->code : NULL;
	for (uint32_t i = 0; i + 1 < call->n; i++) {
		const bool named = code && (code->kind == A_DEF || code->kind == A_LAMBDA) &&
		                   i < code->function.nparams && code->function.params[i].name;
		leaf_names(sp, call->args[i + 1],
		           named ? arena_printf(sp->a, "the argument %s",
		                                atom_text(sp->c, code->function.params[i].name))
		                 : arena_printf(sp->a, "argument %u", i + 1),
		           &k, names);
	}
	Ref *args = ARENA_ARRAY(sp->a, Ref, s.nargs + 2), results[16];
	int64_t *options = ARENA_ARRAY(sp->a, int64_t, s.nleaves + 2);
	uint32_t n = s.nargs;
	options[0] = inf && sp_want_bool(sp, inf, call->span, "inf");
	for (uint32_t i = 0; i < s.nargs; i++) args[i] = s.args[i];
	for (uint32_t i = 0; i < s.nleaves && i < k; i++)
		if (s.param_of_leaf[i] >= 0) options[1 + s.param_of_leaf[i]] = names[i];
	if (s.effects) {
		sp_effects(sp, &args[n], &args[n + 1], call->span);
		n += 2;
	}
	sp_at(sp, call->span);
	build_host(sp->b, host_call_intern(sp->c, def, 1, &s.fn, 1 + s.nargs, options), n, args,
	           results, 16);
	static const char *const fields[] = {"found", "kind",       "operation", "operands", "index",
	                                     "turns", "derivative", "order",     "function", "file",
	                                     "line",  "column",     "message"};
	enum { FIELDS = sizeof fields / sizeof *fields };
	if (s.effects) sp_set_effects(sp, results[FIELDS], results[FIELDS + 1]);
	Atom atoms[FIELDS];
	Av *items[FIELDS];
	for (uint32_t i = 0; i < FIELDS; i++) {
		atoms[i] = atom(sp->c, fields[i]);
		items[i] = ty(sp, results[i])->kind == TY_TENSOR ? av_array(sp, results[i])
		                                                 : av_dyn(sp, results[i]);
	}
	if (ctx_granted(sp->c, GRANT_OUTPUT)) { /* otherwise only the record is returned */
		Ref rng, io;
		sp_effects(sp, &rng, &io, call->span);
		sp_set_effects(sp, REF_NONE,
		               build(sp->b, OP_PRINT, 2, (Ref[]){io, results[FIELDS - 1]}, 0, NULL));
	}
	return av_record(sp, FIELDS, atoms, items);
}

/* True when a number is static: extents up to 16 are, and values computed from
 * them. */
BUILTIN(is_fixed) {
	UNUSED;
	Value v;
	return av_bool(sp, call->args[0]->kind == AV_ARRAY &&
	                       ref_splat(build_fn(sp->b), call->args[0]->ref, &v));
}

const Builtin builtins_flow[] = {
	{.name = "print",
     .min_args = 0,
     .max_args = -1,
     .run = print,
     .doc = "print(a, b, ...): writes its arguments on a line"},
	{.name = "progress",
     .min_args = 1,
     .max_args = 2,
     .named = "*",
     .run = progress,
     .doc = "progress(step, steps; name = value, ...): tells who watches how far the loop around "
            "has come"},
	{.name = "str", .min_args = 0, .max_args = -1, .run = str, .doc = "str(x, ...): as text"},
	{.name = "exit",
     .min_args = 0,
     .max_args = 1,
     .run = leave,
     .doc =
         "exit(code): ends the program, with an exit code from 0 to 255; 0 when it is not given"},
	{.name = "error",
     .min_args = 1,
     .max_args = -1,
     .run = error,
     .doc = "error(message): stops the program"},
	{.name = "assert",
     .min_args = 1,
     .max_args = 2,
     .run = assert_that,
     .doc = "assert(c, message): stops the program unless c holds"},
	{.name = "list",
     .min_args = 0,
     .max_args = -1,
     .run = list,
     .doc = "list(a, b, ...): values of unlike types"},
	{.name = "each",
     .min_args = 1,
     .max_args = 2,
     .run = each,
     .doc = "each(n): the integers 0 .. n-1 as a list; each(a, b): those from a to b-1"},
	{.name = "push",
     .min_args = 2,
     .max_args = 2,
     .run = push,
     .quick = quick_push,
     .doc = "push(v, x): a list with one more item, an array with one more row"},
	{.name = "keys",
     .min_args = 1,
     .max_args = 1,
     .run = keys,
     .doc = "keys(r): names of a record's fields"},
	{.name = "values",
     .min_args = 1,
     .max_args = 1,
     .run = keys,
     .doc = "values(r): values of a record's fields, as a tuple"},
	{.name = "leaves",
     .min_args = 1,
     .max_args = 1,
     .run = leaves,
     .doc = "leaves(p): the arrays inside a record, tuple or list, as a list"},
	{.name = "has",
     .min_args = 2,
     .max_args = 2,
     .run = has,
     .doc = "has(r, \"name\"): whether a record has a field"},
	{.name = "field",
     .min_args = 2,
     .max_args = 3,
     .run = field,
     .doc = "field(r, \"name\"), field(r, \"name\", fallback): a field by its name"},
	{.name = "record",
     .min_args = 2,
     .max_args = 2,
     .run = record_of,
     .doc = "record(names, values): a record from two tuples"},
	{.name = "kind",
     .min_args = 1,
     .max_args = 1,
     .run = kind,
     .doc = "kind(x): \"array\", \"record\", \"function\", \"problem\" ..."},
	{.name = "accepts",
     .min_args = 2,
     .max_args = 2,
     .run = accepts,
     .doc = "accepts(f, n): whether a function can be called with n arguments without names"},
	{.name = "zip",
     .min_args = 1,
     .max_args = -1,
     .run = zip,
     .doc = "zip(a, b, ...): list of tuples"},
	{.name = "enumerate",
     .min_args = 1,
     .max_args = 1,
     .run = zip,
     .doc = "enumerate(a): list of (number, item)"},
	{.name = "same",
     .min_args = 2,
     .max_args = 2,
     .run = same,
     .doc = "same(x, y): whether shapes and all elements agree"},
	{.name = "compose",
     .min_args = 2,
     .max_args = 2,
     .run = compose,
     .doc = "compose(f, g), f ∘ g: x -> f(g(x))"},
	{.name = "nan_check",
     .min_args = 1,
     .max_args = -1,
     .named = "inf",
     .run = nan_check,
     .doc = "nan_check(f, x, ...; inf = false): runs f at x and says which operation gives the "
            "first NaN of the result (with inf: the first infinity)"},
	{.name = "_is_fixed", .min_args = 1, .max_args = 1, .run = is_fixed},
	{.name = "_refuse", .min_args = 1, .max_args = 1, .run = refuse},
	{.name = "_warning", .min_args = 1, .max_args = -1, .run = warning},
	{.name = "_same", .min_args = 2, .max_args = 2, .run = same},
	{.name = "_field", .min_args = 2, .max_args = 3, .run = field},
	{.name = "_operator",
     .min_args = 1,
     .max_args = 2,
     .run = operator_on,
     .quick = quick_operator},
	{.name = "_item", .min_args = 2, .max_args = -1, .run = item, .quick = quick_item},
	{.name = "_item_set", .min_args = 3, .max_args = -1, .run = item_set, .quick = quick_item_set},
	{.name = "_part", .min_args = 3, .max_args = 3, .run = part, .quick = quick_part},
	{.name = "_as_declared", .min_args = 4, .max_args = 4, .run = as_declared},
	{.name = "_compose", .min_args = -1, .max_args = -1, .named = "*", .run = compose},
	{.name = "_call", .min_args = -1, .max_args = -1, .named = "*", .run = call_on},
	{.name = "_with_named", .min_args = -1, .max_args = -1, .run = with_named},
	{.name = "_without_rule", .min_args = -1, .max_args = -1, .run = without_rule},
	{.name = "_pointwise", .min_args = -1, .max_args = -1, .named = "*", .run = pointwise},
	{.name = "_negated", .min_args = -1, .max_args = -1, .named = "*", .run = negated},
	{.name = "_host", .min_args = 4, .max_args = 4, .run = host},
	{.name = NULL},
};

#define ARRAY_TABLES                                                                               \
	builtins_elementwise, builtins_array, builtins_reduction, builtins_linear, builtins_random
#define DERIVATIVE_TABLES                                                                          \
	builtins_forward, builtins_reverse, builtins_map, builtins_flatten, builtins_custom

static const Builtin *const tables[] = {ARRAY_TABLES,  builtins_axes,   DERIVATIVE_TABLES,
                                        builtins_flow, builtins_ir,     builtins_jumps,
                                        builtins_text, builtins_problem};

const Builtin *builtin_find(const char *name) {
	for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
		for (const Builtin *b = tables[t]; b->name; b++)
			if (b->name[0] == name[0] && !strcmp(b->name, name)) return b;
	return NULL;
}

static bool is_in(const Builtin *b, size_t n, const Builtin *const *from) {
	for (size_t t = 0; t < n; t++)
		for (const Builtin *k = from[t]; k->name; k++)
			if (k == b) return true;
	return false;
}

bool builtin_waits(const Builtin *b) {
	static const char *const others[] = {"same",      "keys",   "values",  "leaves", "zip",
	                                     "enumerate", "record", "flatten", "map",    "map_rows"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(b->name, others[i])) return true;
	static const Builtin *const arrays[] = {ARRAY_TABLES};
	return is_in(b, sizeof arrays / sizeof *arrays, arrays);
}

bool builtin_derives(const Builtin *b) {
	static const Builtin *const derivatives[] = {DERIVATIVE_TABLES};
	return is_in(b, sizeof derivatives / sizeof *derivatives, derivatives);
}

void builtin_each(void (*visit)(void *ud, const Builtin *b), void *ud) {
	for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
		for (const Builtin *b = tables[t]; b->name; b++) visit(ud, b);
}
