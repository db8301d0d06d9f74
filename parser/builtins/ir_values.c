/* ir_values.c - IR as a value: ir(f, x) is a function that can be called,
 * printed, inspected, rewritten and read back; cost, plan and native code of a
 * function.
 *
 * Needs: table.h.
 *
 * Contract:
 * - A piece of IR lives as long as a function value with it, or a rule or a
 *   piece that needs it.
 * - It accepts arguments of the types it was made for. Anything else is an
 *   error that shows both types.
 * - A file stores it completely (docs/internals/binary.md).
 * - It carries the captured values of its closure, so derivatives with respect
 *   to them go through it.
 */
#include "lang/passes/dependence.h"
#include "parser/builtins/table.h"

#include <stdio.h>

/* The code of an IR function. Its leaves are those of the captured values, then
 * those of the arguments. */
typedef struct KeptIr {
	IrCode head;
	struct KeptIr *next;
	Arena *a; /* holds it */
	HeldCode held;
	uint32_t number, ncaptured, nargs;
	const Av *all; /* template of captured values and arguments, a tuple */
	uint32_t nleaves;
	int *param_of_leaf; /* -1: the function was made for one value, baked[leaf] */
	Value *baked;
	const Av *result;
	bool effects;
} KeptIr;

uint32_t kept_ir_nargs(const struct KeptIr *k) { return k->nargs; }

/* The memory of the owner stays, since values may outlive the session. */
static void free_piece(KeptIr *k) {
	for (uint32_t i = 0; i < k->nleaves; i++) value_unref(k->baked[i]);
	fn_unref(k->head.fn);
	held_code_release(&k->held);
	arena_free(k->a);
}

void kept_ir_release(KeptIr *k) {
	for (KeptIr *next; k; k = next) {
		next = k->next;
		free_piece(k);
	}
}

void kept_ir_note_unused(KeptIr *k) {
	for (; k; k = k->next) {
		CodeOwner *o = k->head.owner;
		o->unused = !atomic_load(&o->values) && !atomic_load(&o->records);
	}
}

void kept_ir_free_unused(Ctx *c, KeptIr **list) {
	while (*list) {
		KeptIr *k = *list;
		if (!k->head.owner->unused) {
			list = &k->next;
			continue;
		}
		*list = k->next;
		code_owner_give_back(c, k->head.owner);
		free_piece(k);
	}
}

/* Stores a piece of IR, or finds an equal one that is stored. Takes the
 * reference to fn. */
static const KeptIr *keep_code(Ctx *c, KeptIr given) {
	KeptIr **list = session_kept_ir(session_of(c)), *k = *list;
	while (k &&
	       !(k->head.fn == given.head.fn && k->effects == given.effects &&
	         av_same_structure(k->all, given.all) && av_same_structure(k->result, given.result)))
		k = k->next;
	if (k) {
		fn_unref(given.head.fn);
		return k;
	}
	Arena *a = arena_small(c);
	k = ARENA_NEW(a, KeptIr);
	*k = given;
	k->a = a;
	k->head.owner = code_owner_make(c);
	k->head.newest = parse_next_id(c) - 1;
	k->all = av_keep_strong(a, given.all);
	k->result = av_keep_strong(a, given.result);
	k->param_of_leaf = ARENA_ARRAY(a, int, k->nleaves + 1);
	k->baked = ARENA_ARRAY(a, Value, k->nleaves + 1);
	for (uint32_t i = 0; i < k->nleaves; i++) {
		k->param_of_leaf[i] = given.param_of_leaf[i];
		k->baked[i] = value_ref(given.baked[i]);
	}
	held_code_functions(c, a, &k->held, k->all);
	held_code_functions(c, a, &k->held, k->result);
	k->number = session_number_ir(session_of(c));
	k->next = *list;
	*list = k;
	return k;
}

/* A function value with the captured values `captured`. */
static Av *keep(Sp *sp, KeptIr given, const Atom *names, Av *const *captured) {
	const KeptIr *k = keep_code(sp->c, given);
	return av_function(sp, CODE_IR, k->number, k, k->head.fn->name, k->ncaptured, names, captured);
}

static const KeptIr *want_ir(Sp *sp, const Av *v, Span at, const char *who) {
	if (v->kind == AV_FUNCTION && v->code_kind == CODE_IR) return v->code;
	Diag *d =
		diag_error(sp->c, E_TYPE, at, "`%s` wants a piece of IR, not %s", who, sp_type_text(sp, v));
	if (v->kind == AV_FUNCTION)
		diag_hint(sp->c, d, "ir(f, x) makes one of a function at its arguments");
	sp_throw(sp);
}

static Av *string_of(Sp *sp, Text *t, Status st) {
	if (st != ST_OK || t->failed) {
		text_free(t);
		ctx_throw(sp->c, st != ST_OK ? st : ST_NOMEM);
	}
	Av *r = av_new(sp, AV_STRING);
	r->text = atom_n(sp->c, t->at, t->n);
	text_free(t);
	return r;
}

Av *builtin_ir_text(Sp *sp, const Av *f) {
	Text t;
	text_init(&t, sp->c);
	fn_print(&t, ((const KeptIr *)f->code)->head.fn);
	return string_of(sp, &t, ST_OK);
}

/* ---- calling ------------------------------------------------------------- */

static _Noreturn void misfit(Sp *sp, const KeptIr *k, uint32_t param, const Av *given, Span at) {
	Text want;
	text_init(&want, sp->c);
	const Type *t = ref_ty(k->head.fn, fn_param(k->head.fn, param));
	text_str(&want, dtype_name((Dtype)t->dtype));
	for (uint32_t i = 0; i < t->rank; i++) {
		int64_t n;
		if (dim_is_const(sp->c, t->dims[i], &n))
			text_format(&want, "%s%lld", i ? ", " : "[", (long long)n);
		else text_format(&want, "%s_", i ? ", " : "[");
	}
	text_str(&want, t->rank ? "]" : "");
	const char *text = want.failed ? "" : arena_copy(sp->a, want.at, want.n);
	text_free(&want);
	sp_fail(sp, E_TYPE, at, "this IR was made for %s, and %s is given", text,
	        sp_type_text(sp, given));
}

/* The operand for a parameter, of its dtype and rank. Weak numbers and those of
 * a smaller kind are converted. */
static Ref fitting(Sp *sp, const KeptIr *k, uint32_t param, Av *v, Span at) {
	const Type *t = ref_ty(k->head.fn, fn_param(k->head.fn, param));
	if (t->kind != TY_TENSOR) return sp_box(sp, v);
	if (v->kind != AV_ARRAY || ty(sp, v->ref)->rank != t->rank) misfit(sp, k, param, v, at);
	const Dtype want = (Dtype)t->dtype, have = (Dtype)ty(sp, v->ref)->dtype;
	if (want == have) return v->ref;
	if (!v->weak && dtype_kind(have) >= dtype_kind(want)) misfit(sp, k, param, v, at);
	if (v->weak && dtype_kind(have) > dtype_kind(want)) misfit(sp, k, param, v, at);
	return sp_to_dtype(sp, v, want);
}

/* Extents that occur twice in the function must be equal, and constant ones
 * must be these. */
static void fit_lengths(Sp *sp, const KeptIr *k, const Ref *args, Av *const *leaves,
                        const Span *spans, const uint32_t *leaf_of, uint32_t nargs) {
	Dim *map = ARENA_ARRAY(sp->a, Dim, k->head.fn->syms.n + 1);
	for (uint32_t s = 0; s < k->head.fn->syms.n; s++) map[s] = UINT32_MAX;
	for (uint32_t i = 0; i < nargs; i++) {
		const Type want = *ref_ty(k->head.fn, fn_param(k->head.fn, i)), have = *ty(sp, args[i]);
		for (uint32_t a = 0; want.kind == TY_TENSOR && a < want.rank; a++) {
			int64_t n;
			SymId s;
			Dim d = want.dims[a];
			if (dim_is_sym(sp->c, d, &s)) {
				if (map[s] == UINT32_MAX) map[s] = have.dims[a];
				d = map[s];
				/* An extent that follows from others is compared by the call
				 * itself. */
			} else if (!dim_is_const(sp->c, d, &n)) continue;
			if (!build_unify(sp->b, d, have.dims[a],
			                 atom(sp->c, "a length that this IR was made for")))
				misfit(sp, k, i, leaves[leaf_of[i]], spans[leaf_of[i]]);
		}
	}
}

/* The arrays inside a value in the order of its leaves, and the location of
 * each. */
static void collect(Av *v, Span at, Av **out, Span *spans, uint32_t *n) {
	if (av_is_leaf(v)) {
		spans[*n] = at;
		out[(*n)++] = v;
		return;
	}
	for (uint32_t i = 0; i < v->n; i++) collect(v->items[i], at, out, spans, n);
}

Av *sp_call_ir(Sp *sp, Av *f, const CallArguments *call) {
	const KeptIr *k = f->code;
	if (call->nnamed)
		sp_fail(sp, E_NAMED_ARG, call->named_spans[0],
		        "a piece of IR takes its arguments by position");
	if (call->n != k->nargs)
		sp_fail(sp, E_ARITY, call->span, "this IR takes %u argument%s, and %u %s given", k->nargs,
		        k->nargs == 1 ? "" : "s", call->n, call->n == 1 ? "is" : "are");
	Av **leaves = ARENA_ARRAY(sp->a, Av *, k->nleaves + 1);
	Span *spans = ARENA_ARRAY(sp->a, Span, k->nleaves + 1);
	uint32_t n = 0, nargs = 0;
	for (uint32_t i = 0; i < f->n + call->n; i++) {
		Av *v = i < f->n ? f->items[i] : call->args[i - f->n];
		const Span at = i < f->n ? call->span : call->spans[i - f->n];
		if (!av_same_structure(v, k->all->items[i])) {
			const Av *want = k->all->items[i];
			sp_fail(sp, E_TYPE, at, "this IR was made for %s%s, and %s is given",
			        av_kind_text(want),
			        want->kind == AV_RECORD || want->kind == AV_TUPLE || want->kind == AV_LIST
			            ? " of another form"
			        : want->kind == v->kind ? " of its own"
			                                : "",
			        sp_type_text(sp, v));
		}
		collect(v, at, leaves, spans, &n);
	}
	Ref *args = ARENA_ARRAY(sp->a, Ref, k->nleaves + 2);
	uint32_t *leaf_of = ARENA_ARRAY(sp->a, uint32_t, k->nleaves + 1);
	for (uint32_t i = 0; i < k->nleaves; i++) {
		if (k->param_of_leaf[i] >= 0) {
			args[nargs] = fitting(sp, k, (uint32_t)k->param_of_leaf[i], leaves[i], spans[i]);
			leaf_of[nargs++] = i;
			continue;
		}
		const Const *now = ref_constant(build_fn(sp->b), leaves[i]->ref);
		if (!now || !value_identical(now->value, k->baked[i])) {
			Text t;
			text_init(&t, sp->c);
			value_print(&t, k->baked[i], "", 3);
			const char *text = t.failed ? "" : arena_copy(sp->a, t.at, t.n);
			text_free(&t);
			sp_fail(sp, E_NOT_STATIC, spans[i],
			        "this IR was made for the value %s here, which decides a type in it", text);
		}
	}
	fit_lengths(sp, k, args, leaves, spans, leaf_of, nargs);
	const uint32_t nres = av_count_leaves(k->result);
	Ref *results = ARENA_ARRAY(sp->a, Ref, nres + 2);
	sp_at(sp, call->span);
	sp_emit_call(sp, k->head.fn, nargs, args, k->effects, results);
	if (k->effects) sp_set_effects(sp, results[nres], results[nres + 1]);
	if (k->result->kind == AV_UNSET) sp_set_dead(sp);
	uint32_t at = 0;
	return av_rebuild(sp, k->result, results, &at);
}

/* ---- making -------------------------------------------------------------- */

Specialisation builtin_spec_of(Sp *sp, const CallArguments *call) {
	Av *f = call->args[0];
	if (f->kind != AV_FUNCTION)
		sp_fail(sp, E_NOT_CALLABLE, call->spans[0],
		        "a function and its arguments are wanted, not %s", sp_type_text(sp, f));
	if (f->code_kind == CODE_IR && call->n == 1) { /* it has its types already */
		const KeptIr *k = f->code;
		return (Specialisation){.fn = k->head.fn, .result = k->result, .effects = k->effects};
	}
	CallArguments inner = builtin_inner_call(call, call->n - 1);
	return sp_specialise(sp, sp_keep_rule(sp, f), &inner);
}

/* _dependence(f, x, ...): what f depends on and how, for all values of its
 * arguments (lang/passes/dependence.h). The arrays in the arguments are
 * numbered in order. Returns (depends, factors), indexed by one such number and
 * by two. The result is static. */
BUILTIN(dependence) {
	UNUSED;
	const Specialisation s = builtin_spec_of(sp, call);
	if (s.promised)
		sp_fail(sp, E_DEPTH, call->span,
		        "what a function depends on is not known while it is being made");
	uint32_t n = 0;
	for (uint32_t i = 1; i < call->n; i++) n += av_count_leaves(call->args[i]);
	int32_t *number = ARENA_ARRAY(sp->a, int32_t, fn_nparams(s.fn) + 1);
	bool *baked = ARENA_ARRAY(sp->a, bool, n + 1);
	for (uint32_t p = 0; p < fn_nparams(s.fn); p++) number[p] = -1;
	for (uint32_t k = 0; k < n; k++) {
		const int p = s.param_of_leaf[s.nleaves - n + k];
		/* The function was made for one value, so any dependence on it is
		 * possible. */
		if (p < 0) baked[k] = true;
		else number[p] = (int32_t)k;
	}
	const Dependence d = fn_dependence(sp->c, sp->a, s.fn, number, n);
	Av **depends = ARENA_ARRAY(sp->a, Av *, n + 1), **factors = ARENA_ARRAY(sp->a, Av *, n + 1),
	   **row = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		depends[i] = av_bool(sp, d.depends[i] || baked[i]);
		for (uint32_t k = 0; k < n; k++)
			row[k] =
				av_bool(sp, d.factors[(size_t)i * n + k] || baked[i] || (baked[k] && d.depends[i]));
		factors[i] = av_seq(sp, AV_TUPLE, n, row);
	}
	const Atom names[] = {atom(sp->c, "depends"), atom(sp->c, "factors")};
	return av_record(sp, 2, names,
	                 (Av *[]){av_seq(sp, AV_TUPLE, n, depends), av_seq(sp, AV_TUPLE, n, factors)});
}

/* _now(f): the result of f(), as constants if all captured values are static: f
 * then runs at specialisation time. Otherwise, or if f fails, this is an
 * ordinary call. */
BUILTIN(now) {
	UNUSED;
	const Specialisation s = builtin_spec_of(sp, call);
	const CallArguments inner = {.span = call->span, .callee_span = call->spans[0]};
	const uint32_t n = av_count_leaves(s.result);
	if (s.promised || s.effects || s.result->kind == AV_UNSET || fn_nresults(s.fn) != n)
		return sp_call(sp, call->args[0], &inner);
	Value *args = ARENA_ARRAY(sp->a, Value, s.nargs + 1),
		  *results = ARENA_ARRAY(sp->a, Value, n + 1);
	Ref *known = ARENA_ARRAY(sp->a, Ref, n + 1);
	for (uint32_t i = 0; i < s.nargs; i++) {
		const Const *k = ref_constant(build_fn(sp->b), s.args[i]);
		if (!k) return sp_call(sp, call->args[0], &inner);
		args[i] = k->value;
	}
	for (uint32_t i = 0; i < n; i++) results[i] = (Value){.kind = V_UNSET};
	const uint32_t mark = diag_total(sp->c);
	const bool good = ir_services(sp->c)->run(sp->c, s.fn, args, results) == ST_OK;
	diag_truncate(sp->c, mark);
	for (uint32_t i = 0; good && i < n; i++) known[i] = build_const(sp->b, results[i]);
	for (uint32_t i = 0; i < n; i++) value_unref(results[i]);
	uint32_t at = 0;
	return good ? av_rebuild(sp, s.result, known, &at) : sp_call(sp, call->args[0], &inner);
}

BUILTIN(ir) {
	UNUSED;
	if (call->args[0]->kind == AV_FUNCTION && call->args[0]->code_kind == CODE_IR && call->n == 1)
		return call->args[0];
	Specialisation s = builtin_spec_of(sp, call);
	if (s.promised)
		sp_fail(sp, E_DEPTH, call->span,
		        "the IR of a function that is being made cannot be looked at from inside it");
	Av *f = sp_keep_rule(sp, call->args[0]), **items = ARENA_ARRAY(sp->a, Av *, f->n + call->n);
	for (uint32_t i = 0; i < f->n; i++) items[i] = av_strong(sp, f->items[i]);
	for (uint32_t i = 1; i < call->n; i++) items[f->n + i - 1] = av_strong(sp, call->args[i]);
	Av *all = av_seq(sp, AV_TUPLE, f->n + call->n - 1, items);
	Ref *leaves = ARENA_ARRAY(sp->a, Ref, s.nleaves + 1);
	uint32_t n = 0;
	av_leaves(all, leaves, &n);
	KeptIr k = {.head.fn = s.fn,
	            .ncaptured = f->n,
	            .nargs = call->n - 1,
	            .all = all,
	            .nleaves = s.nleaves,
	            .param_of_leaf = s.param_of_leaf,
	            .result = s.result,
	            .effects = s.effects};
	k.baked = ARENA_ARRAY(sp->a, Value, s.nleaves + 1);
	for (uint32_t i = 0; i < n; i++)
		if (s.param_of_leaf[i] < 0) k.baked[i] = ref_constant(build_fn(sp->b), leaves[i])->value;
	fn_ref(s.fn);
	return keep(sp, k, f->names, items);
}

/* Reads a text form. Each parameter is an argument; several results are a
 * tuple. */
BUILTIN(read_ir) {
	UNUSED;
	const char *text = sp_want_string(sp, call->args[0], call->spans[0], "the text of a function");
	SourceId source = source_add(sp->c, "ir", text, strlen(text));
	Status why;
	Fn *fn = fn_read(sp->c, source, &why);
	if (!fn && why != ST_ERROR) ctx_throw(sp->c, why);
	if (!fn) sp_throw(sp);
	const uint32_t np = fn_nparams(fn), nr = fn_nresults(fn);
	bool plain = !fn->effects;
	Av **args = ARENA_ARRAY(sp->a, Av *, np + 1), **results = ARENA_ARRAY(sp->a, Av *, nr + 1);
	KeptIr k = {.head.fn = fn,
	            .nargs = np,
	            .nleaves = np,
	            .param_of_leaf = ARENA_ARRAY(sp->a, int, np + 1),
	            .baked = ARENA_ARRAY(sp->a, Value, np + 1)};
	for (uint32_t i = 0; i < np; i++) {
		const uint8_t kind = ref_ty(fn, fn_param(fn, i))->kind;
		plain &= kind != TY_TOKEN;
		args[i] = kind == TY_TENSOR ? av_array(sp, REF_NONE) : av_dyn(sp, REF_NONE);
		k.param_of_leaf[i] = (int)i;
	}
	for (uint32_t i = 0; i < nr; i++)
		results[i] = ref_ty(fn, fn_result(fn, i))->kind == TY_TENSOR ? av_array(sp, REF_NONE)
		                                                             : av_dyn(sp, REF_NONE);
	if (!plain) {
		fn_unref(fn);
		sp_fail(sp, E_TYPE, call->spans[0],
		        "a function that prints, or draws random numbers, cannot be read back");
	}
	k.all = av_seq(sp, AV_TUPLE, np, args);
	k.result = nr == 1 ? results[0] : av_seq(sp, AV_TUPLE, nr, results);
	return keep(sp, k, NULL, NULL);
}

/* ---- files --------------------------------------------------------------- */

/* A file stores with the function a record that a call of it needs
 * (docs/internals/binary.md): templates of arguments and result, the values
 * that determined types, and the captured values. In a template an integer
 * stands for an array, a real number for a weak array, `true` for a dynamic
 * value. */

static void mark_leaves(const Av *v, Value *leaf, uint32_t *n) {
	if (av_is_boxed(v)) leaf[(*n)++] = value_bool(true);
	else if (v->kind == AV_ARRAY) leaf[(*n)++] = v->weak ? value_f64(1) : value_i64(1);
	else
		for (uint32_t i = 0; i < v->n; i++) mark_leaves(v->items[i], leaf, n);
}

static Value template_out(Ctx *c, Arena *a, const Av *v) {
	Value *leaf = ARENA_ARRAY(a, Value, av_count_leaves(v) + 1);
	uint32_t n = 0, at = 0;
	mark_leaves(v, leaf, &n);
	return av_to_value(c, v, leaf, &at);
}

/* A template, or captured values, in which numbers are data. It belongs to no
 * function under construction, so its arrays have no refs. The reader of files
 * has bounded its depth. */
static Av *template_in(Ctx *c, Arena *a, Value v, bool captured) {
	Av *r = ARENA_NEW(a, Av);
	const Value *items = NULL;
	switch ((ValueKind)v.kind) {
	case V_SCALAR:
		r->kind = v.dtype == DT_BOOL && !captured ? AV_DYN : AV_ARRAY;
		r->weak = v.dtype == DT_F64 && !captured;
		return r;
	case V_TENSOR: r->kind = AV_ARRAY; return r;
	case V_STRING:
		r->kind = AV_STRING;
		r->text = atom_n(c, ((const StringObject *)v.object)->text, v.object->n);
		return r;
	case V_RANGE:
		r->kind = AV_RANGE;
		r->n = 3;
		r->items = ARENA_ARRAY(a, Av *, 3);
		for (uint32_t i = 0; i < 3; i++) {
			r->items[i] = ARENA_NEW(a, Av);
			r->items[i]->kind = AV_ARRAY;
		}
		return r;
	case V_TUPLE:
	case V_LIST:
		r->kind = v.kind == V_TUPLE ? AV_TUPLE : AV_LIST;
		items = ((const SeqObject *)v.object)->items;
		break;
	case V_RECORD: r->kind = AV_RECORD; break;
	case V_FUNCTION:
	case V_PROBLEM: {
		const FunctionObject *f = (const FunctionObject *)v.object;
		r->kind = v.kind == V_FUNCTION ? AV_FUNCTION : AV_PROBLEM;
		r->text = f->name;
		r->code_kind = (uint8_t)f->code_kind;
		r->code_id = f->code_id;
		r->code = f->code;
		break;
	}
	default: r->kind = AV_NONE; return r;
	}
	r->n = v.object->n;
	r->items = ARENA_ARRAY(a, Av *, r->n + 1);
	r->names = ARENA_ARRAY(a, Atom, r->n + 1);
	for (uint32_t i = 0; i < r->n; i++) {
		Value item;
		if (items) item = items[i];
		else if (v.kind == V_RECORD) {
			r->names[i] = ((const RecordObject *)v.object)->fields[i].name;
			item = ((const RecordObject *)v.object)->fields[i].value;
		} else {
			r->names[i] = ((const FunctionObject *)v.object)->captured[i].name;
			item = ((const FunctionObject *)v.object)->captured[i].value;
		}
		r->items[i] = template_in(c, a, item, captured);
	}
	return r;
}

static const char *const about_names[] = {"arguments", "result",   "returns", "effects",
                                          "names",     "captured", "decided"};
enum {
	ABOUT_ARGUMENTS,
	ABOUT_RESULT,
	ABOUT_RETURNS,
	ABOUT_EFFECTS,
	ABOUT_NAMES,
	ABOUT_CAPTURED,
	ABOUT_DECIDED,
	ABOUT_COUNT
};

typedef struct Filing {
	Ctx *c;
	Arena *a;  /* of the work */
	Value f;   /* the function */
	Text *out; /* what is written */
	const char *name;
	const void *bytes;
	size_t n;
	Fn *fn; /* until a KeptIr owns it */
	Value about[ABOUT_COUNT], all;
} Filing;

static void file_out(Ctx *c, void *arg) {
	Filing *o = arg;
	const FunctionObject *f = (const FunctionObject *)o->f.object;
	const KeptIr *k = f->code;
	Arena *a = o->a = arena_new(c);
	Atom *atoms = ARENA_ARRAY(a, Atom, ABOUT_COUNT);
	Value *items = ARENA_ARRAY(a, Value, f->head.n + k->nleaves + 1u);
	o->about[ABOUT_ARGUMENTS] = template_out(c, a, k->all);
	o->about[ABOUT_RESULT] = template_out(c, a, k->result);
	o->about[ABOUT_RETURNS] = value_bool(k->result->kind != AV_UNSET);
	o->about[ABOUT_EFFECTS] = value_bool(k->effects);
	ValueList names = {.c = c};
	for (uint32_t i = 0; i < f->head.n; i++)
		value_list_add(&names, value_string(c, atom_text(c, f->captured[i].name),
		                                    atom_length(c, f->captured[i].name)));
	o->about[ABOUT_NAMES] = value_list_end(&names);
	for (uint32_t i = 0; i < f->head.n; i++) items[i] = f->captured[i].value;
	o->about[ABOUT_CAPTURED] = value_seq(c, V_TUPLE, f->head.n, items);
	for (uint32_t i = 0; i < k->nleaves; i++)
		items[i] = k->param_of_leaf[i] < 0 ? k->baked[i] : value_none();
	o->about[ABOUT_DECIDED] = value_seq(c, V_TUPLE, k->nleaves, items);
	for (uint32_t i = 0; i < ABOUT_COUNT; i++) {
		if (o->about[i].kind == V_UNSET) ctx_throw(c, ST_NOMEM);
		atoms[i] = atom(c, about_names[i]);
	}
	o->all = value_record(c, ABOUT_COUNT, atoms, o->about);
	if (o->all.kind == V_UNSET) ctx_throw(c, ST_NOMEM);
	const Status st = fn_store(o->out, k->head.fn, o->all);
	if (st != ST_OK) ctx_throw(c, st);
}

Status session_ir_out(Ctx *c, Value f, Text *out) {
	Filing o = {.c = c, .f = f, .out = out};
	const Status st = ctx_protect(c, file_out, &o);
	arena_free(o.a);
	for (uint32_t i = 0; i < ABOUT_COUNT; i++) value_unref(o.about[i]);
	value_unref(o.all);
	return st;
}

static _Noreturn void unfit(Filing *in, const char *what) {
	diag_error(in->c, E_FILE, NO_SPAN, "%s: %s", in->name, what);
	ctx_throw(in->c, ST_ERROR);
}

/* True when the kinds of v's leaves are those of f's parameters (or results)
 * from *at on. */
static bool kinds_agree(const Fn *f, const Av *v, bool results, const Value *decided,
                        uint32_t *leaf, uint32_t *at) {
	if (!av_is_leaf(v)) {
		for (uint32_t i = 0; i < v->n; i++)
			if (!kinds_agree(f, v->items[i], results, decided, leaf, at)) return false;
		return true;
	}
	if (decided && decided[(*leaf)++].kind != V_NONE) return v->kind == AV_ARRAY;
	if (*at >= (results ? fn_nresults(f) : fn_nparams(f))) return false;
	const uint8_t kind = ref_ty(f, results ? fn_result(f, *at) : fn_param(f, *at))->kind;
	++*at;
	return kind == (v->kind == AV_ARRAY ? TY_TENSOR : TY_DYN);
}

/* True when the random state and the effect token, or nothing, follow the other
 * parameters (or results). */
static bool effects_agree(Ctx *c, const Fn *f, bool results, bool effects, uint32_t at) {
	const uint32_t n = results ? fn_nresults(f) : fn_nparams(f);
	if (!effects) return n == at;
	const Dim two = dim_const(c, 2);
	return n == at + 2 &&
	       ref_type(f, results ? fn_result(f, at) : fn_param(f, at)) ==
	           type_tensor(c, DT_I64, 1, &two) &&
	       ref_type(f, results ? fn_result(f, at + 1) : fn_param(f, at + 1)) == type_token(c);
}

static void file_in(Ctx *c, void *arg) {
	Filing *in = arg;
	Arena *a = in->a = arena_new(c);
	in->fn = fn_load(c, in->name, in->bytes, in->n, &in->all);
	if (!in->fn) ctx_throw(c, ST_ERROR);
	/* Borrowed. */
	for (uint32_t i = 0; i < ABOUT_COUNT; i++)
		in->about[i] = in->all.kind == V_RECORD ? value_field(in->all, atom(c, about_names[i]))
		                                        : (Value){.kind = V_UNSET};
	bool returns = true, effects = false;
	const Value *v = in->about;
	if (v[ABOUT_ARGUMENTS].kind != V_TUPLE || v[ABOUT_NAMES].kind != V_LIST ||
	    v[ABOUT_CAPTURED].kind != V_TUPLE || v[ABOUT_DECIDED].kind != V_TUPLE ||
	    v[ABOUT_RESULT].kind == V_UNSET || !value_as_bool(v[ABOUT_RETURNS], &returns) ||
	    !value_as_bool(v[ABOUT_EFFECTS], &effects))
		unfit(in, "the function in this file lacks the record of its arguments");
	const Value *decided = ((const SeqObject *)v[ABOUT_DECIDED].object)->items,
				*captured = ((const SeqObject *)v[ABOUT_CAPTURED].object)->items,
				*names = ((const SeqObject *)v[ABOUT_NAMES].object)->items;
	Av *all = template_in(c, a, v[ABOUT_ARGUMENTS], false),
	   *result = template_in(c, a, v[ABOUT_RESULT], false);
	if (!returns) result->kind = AV_UNSET;
	/* Functions among the captured values are exactly these, not others of the
	 * same text. */
	for (uint32_t i = 0; i < all->n && i < v[ABOUT_CAPTURED].object->n; i++)
		all->items[i] = template_in(c, a, captured[i], true);
	KeptIr k = {.head.fn = in->fn,
	            .ncaptured = v[ABOUT_CAPTURED].object->n,
	            .all = all,
	            .nleaves = av_count_leaves(all),
	            .result = result,
	            .effects = effects};
	uint32_t leaf = 0, params = 0, results = 0;
	bool fits = all->n >= k.ncaptured && v[ABOUT_NAMES].object->n == k.ncaptured &&
	            v[ABOUT_DECIDED].object->n == k.nleaves && (effects || !in->fn->effects);
	fits = fits && kinds_agree(in->fn, all, false, decided, &leaf, &params) &&
	       effects_agree(c, in->fn, false, effects, params);
	fits = fits && kinds_agree(in->fn, result, true, NULL, &leaf, &results) &&
	       effects_agree(c, in->fn, true, effects, results);
	Atom *atoms = ARENA_ARRAY(a, Atom, k.ncaptured + 1);
	for (uint32_t i = 0; fits && i < k.ncaptured; i++) {
		fits = names[i].kind == V_STRING;
		if (fits)
			atoms[i] = atom_n(c, ((const StringObject *)names[i].object)->text, names[i].object->n);
	}
	k.nargs = all->n - k.ncaptured;
	k.param_of_leaf = ARENA_ARRAY(a, int, k.nleaves + 1);
	k.baked = ARENA_ARRAY(a, Value, k.nleaves + 1);
	for (uint32_t i = 0, at = 0; fits && i < k.nleaves; i++) {
		k.param_of_leaf[i] = decided[i].kind == V_NONE ? (int)at++ : -1;
		if (k.param_of_leaf[i] < 0) k.baked[i] = decided[i];
		fits = k.param_of_leaf[i] >= 0 || value_is_array(decided[i]);
	}
	if (!fits) unfit(in, "the record of arguments in this file is not that of its function");
	const KeptIr *code = keep_code(c, k);
	in->fn = NULL;
	in->f = value_function(c, V_FUNCTION, CODE_IR, code->number, code, code->head.fn->name,
	                       k.ncaptured, atoms, captured);
	if (in->f.kind == V_UNSET) ctx_throw(c, ST_NOMEM);
}

Status session_ir_in(Ctx *c, const char *name, const void *bytes, size_t n, Value *f) {
	Filing in = {.c = c, .name = name, .bytes = bytes, .n = n, .f = {.kind = V_UNSET}};
	const Status st = ctx_protect(c, file_in, &in);
	arena_free(in.a);
	if (in.fn) fn_unref(in.fn);
	value_unref(in.all);
	*f = in.f;
	return st;
}

/* ---- values for the host ------------------------------------------------- */

static void make_value(Ctx *c, void *arg) {
	Filing *o = arg;
	const Fn *fn = o->fn;
	Arena *a = o->a = arena_new(c);
	const uint32_t np = fn_nparams(fn), nr = fn_nresults(fn);
	Av *all = ARENA_NEW(a, Av), *result = ARENA_NEW(a, Av);
	KeptIr k = {.head.fn = o->fn,
	            .nargs = np,
	            .nleaves = np,
	            .all = all,
	            .param_of_leaf = ARENA_ARRAY(a, int, np + 1),
	            .baked = ARENA_ARRAY(a, Value, np + 1)};
	*all = (Av){.kind = AV_TUPLE, .n = np, .items = ARENA_ARRAY(a, Av *, np + 1)};
	*result = (Av){.kind = AV_TUPLE, .n = nr, .items = ARENA_ARRAY(a, Av *, nr + 1)};
	for (uint32_t i = 0; i < np + nr; i++) {
		Av *leaf = ARENA_NEW(a, Av);
		leaf->kind = ref_ty(fn, i < np ? fn_param(fn, i) : fn_result(fn, i - np))->kind == TY_TENSOR
		                 ? AV_ARRAY
		                 : AV_DYN;
		if (i < np) {
			all->items[i] = leaf;
			k.param_of_leaf[i] = (int)i;
		} else result->items[i - np] = leaf;
	}
	k.result = nr == 1 ? result->items[0] : result;
	fn_ref(o->fn);
	const KeptIr *code = keep_code(c, k);
	o->f = value_function(c, V_FUNCTION, CODE_IR, code->number, code, fn->name, 0, NULL, NULL);
	if (o->f.kind == V_UNSET) ctx_throw(c, ST_NOMEM);
}

Status session_ir_of(Ctx *c, Fn *fn, Value *f) {
	Filing o = {.c = c, .fn = fn, .f = {.kind = V_UNSET}};
	const Status st = ctx_protect(c, make_value, &o);
	arena_free(o.a);
	*f = o.f;
	return st;
}

static const char *symbol_name(void *ud, SymId s) {
	static _Thread_local char name[24];
	(void)ud;
	snprintf(name, sizeof name, "n%u", s);
	return name;
}

bool session_ir_type(Ctx *c, Value f, Text *out) {
	const FunctionObject *o = f.kind == V_FUNCTION ? (const FunctionObject *)f.object : NULL;
	if (!o || o->code_kind != CODE_IR) return false;
	const KeptIr *k = o->code;
	uint32_t leaf = 0;
	for (uint32_t i = 0; i < k->ncaptured; i++) leaf += av_count_leaves(k->all->items[i]);
	text_str(out, "(");
	for (uint32_t i = 0; i < k->nargs; i++, leaf++) {
		char type[400];
		if (k->all->items[k->ncaptured + i]->kind != AV_ARRAY || k->param_of_leaf[leaf] < 0)
			return false;
		type_print(c, ref_type(k->head.fn, fn_param(k->head.fn, (uint32_t)k->param_of_leaf[leaf])),
		           symbol_name, NULL, type, sizeof type);
		text_format(out, "%s%s", i ? ", " : "", type);
	}
	text_str(out, ")");
	return true;
}

/* ---- inspection ---------------------------------------------------------- */

BUILTIN(inspect) {
	UNUSED;
	Value v = fn_inspect(want_ir(sp, call->args[0], call->spans[0], "inspect")->head.fn);
	if (v.kind == V_UNSET) ctx_throw(sp->c, ST_NOMEM);
	Av *r = av_of_value(sp, v);
	value_unref(v);
	return r;
}

/* ---- rewriting ----------------------------------------------------------- */

typedef struct Rewriting {
	Sp *sp;
	const Fn *from;
	const CallArguments *call;
	/* A record of functions by the names of primitives. Their captured values
	 * are constant. */
	const Av *rules;
	Av *by_op[OP_COUNT];
	Builder *b;
	Fn *made;
	Arena *a;
} Rewriting;

/* Moves a value of the calling frame to the function under construction.
 * Everything in it must be static. */
static Av *moved(Sp *sp, const Rewriting *r, const Av *v) {
	const uint32_t n = av_count_leaves(v);
	Ref *leaf = ARENA_ARRAY(sp->a, Ref, n + 1);
	uint32_t k = 0;
	av_leaves(v, leaf, &k);
	for (uint32_t i = 0; i < n; i++) {
		const Const *known = ref_constant(build_fn(r->sp->b), leaf[i]);
		if (!known)
			sp_fail(r->sp, E_NOT_STATIC, r->call->spans[1],
			        "what a rewriting rule captures must be known before running");
		leaf[i] = build_const(sp->b, known->value);
	}
	k = 0;
	return av_rebuild(sp, v, leaf, &k);
}

static void replace(Builder *b, RefMap *m, const Inst *in) {
	Rewriting *r = m->copied_ud;
	Av *rule = r->by_op[in->op];
	if (!rule) return;
	const char *name = prims[in->op].name;
	FunctionFrame frame = {.b = b, .fixed = true};
	Sp sp = {.c = r->sp->c,
	         .session = r->sp->session,
	         .a = r->a,
	         .b = b,
	         .module = r->sp->module,
	         .frame = &frame};
	sp.env = env_new(&sp, NULL);
	static const Av self = {.kind = AV_FUNCTION};
	sp.self = (Av *)&self;
	Av **args = ARENA_ARRAY(r->a, Av *, in->nargs + 1);
	for (uint32_t i = 0; i < in->nargs; i++) {
		Ref x = refmap_get(b, m, inst_arg(m->from, in, i));
		args[i] = ref_ty(build_fn(b), x)->kind == TY_TENSOR ? av_array(&sp, x) : av_dyn(&sp, x);
	}
	const SpanId span = build_span(b);
	const ChainId chain = build_get_chain(b);
	Av *v = sp_call_args(&sp, moved(&sp, r, rule), in->nargs, args, r->call->spans[1]);
	build_at(b, span);
	build_chain(b, chain);
	Ref was = refmap_get(b, m, inst_result(in, 0));
	if (v->kind == AV_ARRAY && v->weak)
		v = av_array(&sp, sp_to_dtype(&sp, v, (Dtype)ref_ty(build_fn(b), was)->dtype));
	const Type want = *ref_ty(build_fn(b), was),
			   *have = v->kind == AV_ARRAY ? ref_ty(build_fn(b), v->ref) : NULL;
	bool fits = have && have->dtype == want.dtype && have->rank == want.rank;
	for (uint32_t i = 0; fits && i < want.rank; i++)
		fits = build_unify(b, want.dims[i], ref_ty(build_fn(b), v->ref)->dims[i],
		                   atom(sp.c, "the result of a rewriting rule"));
	if (!fits)
		sp_fail(r->sp, E_TYPE, r->call->spans[1], "the rule for `%s` gives %s, where %s was", name,
		        sp_type_text(&sp, v), sp_type_text(&sp, av_array(&sp, was)));
	refmap_set(m, inst_result(in, 0), v->ref);
}

static void copy_rewritten(Ctx *c, void *arg) {
	Rewriting *r = arg;
	const Fn *f = r->from;
	Builder *b = r->b;
	RefMap m = refmap_new(b, f, true);
	m.copied = replace;
	m.copied_ud = r;
	const Region body = f->regions.at[0];
	for (uint32_t i = 0; i < body.nparams; i++)
		refmap_set(&m, ref_value(body.params + i),
		           build_param(b, ref_type(f, ref_value(body.params + i)),
		                       f->vals.at[body.params + i].name));
	for (uint32_t i = 0; i < body.ninsts; i++)
		build_copy_inst(b, &m, &f->insts.at[f->inst_order.at[body.insts + i]]);
	Ref *results = ARENA_ARRAY(r->a, Ref, body.nresults + 1);
	for (uint32_t i = 0; i < body.nresults; i++) results[i] = refmap_get(b, &m, fn_result(f, i));
	(void)c;
	r->made = build_end(b, body.nresults, results);
	r->b = NULL;
}

/* rewrite(p, rules): inlines all calls, so that the rules also reach callees.
 * Rules are not applied to their own results. */
BUILTIN(rewrite) {
	UNUSED;
	const KeptIr *k = want_ir(sp, call->args[0], call->spans[0], "rewrite");
	const Av *rules = call->args[1];
	if (rules->kind != AV_RECORD)
		sp_fail(sp, E_TYPE, call->spans[1], "rules are a record of functions by operation, not %s",
		        sp_type_text(sp, rules));
	Rewriting *r = ARENA_NEW(sp->a, Rewriting);
	*r = (Rewriting){.sp = sp, .call = call, .rules = rules};
	for (uint32_t i = 0; i < rules->n; i++) {
		const char *name = atom_text(sp->c, rules->names[i]);
		const Op op = prim_from_name(name);
		if (op == OP_NONE) {
			const char *names[OP_COUNT];
			for (uint32_t q = 1; q < OP_COUNT; q++) names[q - 1] = prims[q].name;
			const char *near = diag_nearest(name, names, OP_COUNT - 1);
			if (near)
				sp_fail(sp, E_NAME, call->spans[1],
				        "no operation is called `%s`; did you mean `%s`?", name, near);
			sp_fail(sp, E_NAME, call->spans[1], "no operation is called `%s`", name);
		}
		if (rules->items[i]->kind != AV_FUNCTION)
			sp_fail(sp, E_TYPE, call->spans[1], "the rule for `%s` must be a function, not %s",
			        name, sp_type_text(sp, rules->items[i]));
		if (prims[op].nres != 1 || prims[op].effect == EFFECT_EFFECT)
			sp_fail(sp, E_TYPE, call->spans[1],
			        "`%s` cannot be rewritten: it does not give one value and nothing else", name);
		r->by_op[op] = rules->items[i];
	}
	Fn *flat = fn_inline_calls(sp->c, k->head.fn);
	r->from = flat ? flat : k->head.fn;
	r->a = sp->a;
	r->b = build_begin(sp->c, k->head.fn->name, k->head.fn->span, r->from);
	const Status st = ctx_protect(sp->c, copy_rewritten, r);
	if (st != ST_OK && r->b) build_abandon(r->b);
	if (flat) fn_unref(flat);
	if (st != ST_OK) ctx_throw(sp->c, st);
	KeptIr made = *k;
	made.head.fn = ir_services(sp->c)->optimise(sp->c, r->made);
	return keep(sp, made, call->args[0]->names, call->args[0]->items);
}

/* ---- cost, plan, native code --------------------------------------------- */

/* By symbol of the function: its extent if the arguments determine it, else
 * -1. */
static int64_t *lengths_of(Sp *sp, const Specialisation *s) {
	int64_t *lengths = ARENA_ARRAY(sp->a, int64_t, s->fn->syms.n + 1);
	for (uint32_t i = 0; i < s->fn->syms.n; i++) lengths[i] = -1;
	for (uint32_t i = 0; i < s->nargs; i++) {
		Type p = *ref_ty(s->fn, fn_param(s->fn, i));
		for (uint32_t k = 0; p.kind == TY_TENSOR && k < p.rank; k++) {
			SymId sym;
			int64_t v;
			if (dim_is_sym(sp->c, p.dims[k], &sym) &&
			    dim_is_const(sp->c, build_canon(sp->b, ty(sp, s->args[i])->dims[k]), &v))
				lengths[sym] = v;
		}
	}
	return lengths;
}

BUILTIN(cost) {
	UNUSED;
	Specialisation s = builtin_spec_of(sp, call);
	return av_array(
		sp, build_f64(sp->b, ir_services(sp->c)->cost(s.fn, lengths_of(sp, &s), s.fn->syms.n)));
}

/* The builtins plan and native. */
BUILTIN(show_native) {
	UNUSED;
	Specialisation s = builtin_spec_of(sp, call);
	const int64_t *lengths = lengths_of(sp, &s);
	Text t;
	text_init(&t, sp->c);
	const bool assembly = !strcmp(self->name, "native");
	if (!assembly) ir_services(sp->c)->explain(sp->c, s.fn, lengths, &t);
	return string_of(
		sp, &t, ir_services(sp->c)->show_native(sp->c, s.fn, lengths, s.fn->syms.n, assembly, &t));
}

const Builtin builtins_ir[] = {
	{.name = "_now", .min_args = 1, .max_args = 1, .run = now},
	{.name = "_dependence", .min_args = 2, .max_args = -1, .run = dependence},
	{.name = "ir",
     .min_args = 1,
     .max_args = -1,
     .run = ir,
     .doc = "ir(f, x, ...): the intermediate representation of f at x: a function of arguments of "
            "these types, shown as text"},
	{.name = "inspect",
     .min_args = 1,
     .max_args = 1,
     .run = inspect,
     .doc = "inspect(p): a piece of IR as a record (name, symbols, parameters, instructions, "
            "results, callees) of lists and records"},
	{.name = "rewrite",
     .min_args = 2,
     .max_args = 2,
     .run = rewrite,
     .doc = "rewrite(p, rules): IR p with operations replaced: rules is a record of functions, as "
            "in (sin = x -> x - x^3/6)"},
	{.name = "read_ir",
     .min_args = 1,
     .max_args = 1,
     .run = read_ir,
     .doc = "read_ir(text): the function whose IR was written as this text"},
	{.name = "plan",
     .min_args = 1,
     .max_args = -1,
     .run = show_native,
     .doc = "plan(f, x, ...): what f becomes at x, in words: its derivatives with their "
            "operations, then the machine code: loops, what is fused, where values are kept"},
	{.name = "native",
     .min_args = 1,
     .max_args = -1,
     .run = show_native,
     .doc = "native(f, x, ...): the machine code that f becomes at x, as assembly"},
	{.name = "cost",
     .min_args = 1,
     .max_args = -1,
     .run = cost,
     .doc = "cost(f, x, ...): scalar operations of one call"},
	{.name = NULL},
};
