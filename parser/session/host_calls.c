/* host_calls.c - calls of functions by the host and at run time, and their
 * specialisation to given types.
 *
 * Needs: state.h.
 *
 * Contract:
 * - The arguments are constants of a function that is never run. The function
 *   called is the specialisation for them.
 * - A call advances the random state.
 */
#include "parser/session/state.h"

/* ---- calls with values --------------------------------------------------- */

typedef struct FunctionCall {
	Session *s;
	Value f;
	uint32_t n;
	const Value *args;
	SpanId span;
	Arena *a;
	Builder *b;
	Specialisation spec;
	Value *leaf; /* borrowed from constants of b */
	uint32_t nleaf;
} FunctionCall;

static void specialise_call(Ctx *c, void *arg) {
	FunctionCall *k = arg;
	Sp top = session_top(k->s, k->s->main, k->a, k->b), *sp = &top;
	Span span = span_of(c, k->span);
	Av *f = av_of_value(sp, k->f);
	Av **args = ARENA_ARRAY(k->a, Av *, k->n + 1);
	Span *spans = ARENA_ARRAY(k->a, Span, k->n + 1);
	for (uint32_t i = 0; i < k->n; i++) {
		args[i] = av_of_value(sp, k->args[i]);
		spans[i] = span;
	}
	CallArguments call = {
		.span = span, .callee_span = span, .n = k->n, .args = args, .spans = spans};
	if (f->kind == AV_PROBLEM) {
		Av *p = sp_call(sp, f, &call);
		(void)p;
	}
	k->spec = sp_specialise(sp, f, &call);
	fn_ref(k->spec.fn);
	k->leaf = ARENA_ARRAY(k->a, Value, k->spec.nargs + 2);
	for (uint32_t i = 0; i < k->spec.nargs; i++)
		k->leaf[k->nleaf++] = ref_constant(build_fn(k->b), k->spec.args[i])->value;
}

static Status call_values(Session *s, Value f, uint32_t n, const Value *args, Value *random_state,
                          Value *result, SpanId span) {
	Ctx *c = s->c;
	FunctionCall k = {.s = s, .f = f, .n = n, .args = args, .span = span};
	result->kind = V_UNSET;
	uint32_t mark = build_mark(c);
	k.a = arena_new(c);
	k.b = build_begin(c, atom(c, "call"), span, NULL);
	Status st = ctx_protect(c, specialise_call, &k);
	if (st == ST_OK) {
		uint32_t nres = fn_nresults(k.spec.fn), used = 0;
		Value *results = heap_alloc(c, sizeof(Value) * (nres + 1));
		Value token = {.kind = V_TOKEN};
		if (k.spec.effects) {
			k.leaf[k.nleaf++] = *random_state;
			k.leaf[k.nleaf++] = token;
		}
		if (!results) st = ST_NOMEM;
		else {
			for (uint32_t i = 0; i < nres; i++) results[i].kind = V_UNSET;
			st = ir_services(c)->run(c, k.spec.fn, k.leaf, results);
			if (st == ST_OK) {
				*result = av_to_value(c, k.spec.result, results, &used);
				if (result->kind == V_UNSET) st = ST_NOMEM;
				if (k.spec.effects) {
					value_unref(*random_state);
					*random_state = value_ref(results[nres - 2]);
				}
			}
			for (uint32_t i = 0; i < nres; i++) value_unref(results[i]);
			heap_free(c, results, sizeof(Value) * (nres + 1));
		}
		fn_unref(k.spec.fn);
		build_abandon(k.b);
	} else build_unwind(c, mark);
	arena_free(k.a);
	return st;
}

typedef struct DynamicCall {
	Session *s;
	Value f;
	uint32_t n;
	const Value *args;
	Value *random_state, *result;
	SpanId span;
	Status st;
} DynamicCall;

static void boxed_call(Ctx *c, void *arg) {
	DynamicCall *k = arg;
	(void)c;
	k->st = call_values(k->s, k->f, k->n, k->args, k->random_state, k->result, k->span);
}

Status session_call_dynamic(Ctx *c, Value f, uint32_t n, Value *args, Value *random_state,
                            Value *result, SpanId span) {
	DynamicCall k = {session_of(c), f, n, args, random_state, result, span, ST_OK};
	if (f.kind == V_FUNCTION) {
		const FunctionObject *fo = (const FunctionObject *)f.object;
		const Builtin *b = fo->code_kind == CODE_BUILTIN ? fo->code : NULL;
		result->kind = V_UNSET;
		if (b && b->quick && b->quick(c, fo, n, args, result))
			return result->kind == V_UNSET ? ST_NOMEM : ST_OK;
		if (b && b->native) {
			result->kind = V_UNSET;
			Status st = b->native(b->native_ud, c, n, args, result);
			if (st == ST_OK && result->kind == V_UNSET) *result = value_none();
			/* The message of a native function of ours, which has no
			 * location. */
			if (st == ST_ERROR && result->kind == V_STRING) {
				diag_error(c, E_VALUE, span_of(c, span), "%s",
				           ((const StringObject *)result->object)->text);
				value_unref(*result);
				result->kind = V_UNSET;
			}
			return st;
		}
	}
	Status st = ctx_protect(c, boxed_call, &k);
	return st != ST_OK ? st : k.st;
}

Status session_call(Session *s, Value f, uint32_t n, const Value *args, Value *result,
                    SpanId span) {
	int64_t two = 2;
	Tensor *state = tensor_new(s->c, DT_I64, 1, &two);
	if (!state) return ST_NOMEM;
	Value *given = heap_alloc(s->c, n * sizeof *given);
	if (!given) {
		tensor_unref(state);
		return ST_NOMEM;
	}
	for (uint32_t i = 0; i < n; i++) given[i] = value_ref(args[i]);
	((int64_t *)(void *)state->data)[0] = s->random_key;
	((int64_t *)(void *)state->data)[1] = s->random_counter;
	Value rng = value_tensor(state);
	Status st = session_call_dynamic(s->c, f, n, given, &rng, result, span);
	for (uint32_t i = 0; i < n; i++) value_unref(given[i]);
	heap_free(s->c, given, n * sizeof *given);
	if (st == ST_OK && rng.kind == V_TENSOR) {
		s->random_key = ((int64_t *)(void *)rng.tensor->data)[0];
		s->random_counter = ((int64_t *)(void *)rng.tensor->data)[rng.tensor->stride[0]];
	}
	value_unref(rng);
	return st;
}

/* ---- specialisation to types --------------------------------------------- */

typedef struct TypedCall {
	Session *s;
	Value f;
	uint32_t n;
	const TypeId *types;
	Arena *a;
	Builder *b;
	Fn *fn;
	Text *described; /* NULL: not requested */
} TypedCall;

static void describe_parts(const TypedCall *k, const Av *v, uint32_t *leaf);

/* Describes a value in the form of value_type_print. The types of its arrays
 * are those of the finished function's results, which are in the order of the
 * leaves. */
static void describe(const TypedCall *k, const Av *v, uint32_t *leaf) {
	Ctx *c = k->s->c;
	char buf[300];
	switch ((AvKind)v->kind) {
	case AV_ARRAY:
		type_print(c, ref_type(k->fn, fn_result(k->fn, (*leaf)++)), NULL, NULL, buf, sizeof buf);
		text_str(k->described, buf);
		return;
	case AV_DYN:
		(*leaf)++;
		text_str(k->described, "any");
		return;
	case AV_HOST:
		(*leaf)++;
		text_str(k->described, "host value");
		return;
	case AV_TUPLE:
	case AV_RECORD:
	case AV_LIST: describe_parts(k, v, leaf); return;
	case AV_STRING: text_str(k->described, "string"); break;
	case AV_RANGE: text_str(k->described, "range"); break;
	case AV_FUNCTION: text_str(k->described, "function"); break;
	case AV_PROBLEM: text_str(k->described, "problem"); break;
	case AV_UNSET:
	case AV_NONE: text_str(k->described, "none"); break;
	}
	*leaf += av_count_leaves(v);
}

static void describe_parts(const TypedCall *k, const Av *v, uint32_t *leaf) {
	text_str(k->described, v->kind == AV_RECORD  ? "record ("
	                       : v->kind == AV_TUPLE ? "tuple ("
	                                             : "list (");
	for (uint32_t i = 0; i < v->n; i++) {
		if (i) text_str(k->described, ", ");
		if (v->kind == AV_RECORD)
			text_format(k->described, "%s: ", atom_text(k->s->c, v->names[i]));
		describe(k, v->items[i], leaf);
	}
	text_str(k->described, ")");
}

static void specialise_typed(Ctx *c, void *arg) {
	TypedCall *k = arg;
	const FunctionObject *fo = k->f.kind == V_FUNCTION ? (const FunctionObject *)k->f.object : NULL;
	k->a = arena_new(c);
	k->b = build_begin(c, fo ? fo->name : 0, 0, NULL);
	Sp sp = {.c = c, .session = k->s, .a = k->a, .b = k->b, .module = k->s->main};
	FunctionFrame frame = {.b = k->b, .fixed = true};
	sp.frame = &frame;
	sp.env = env_new(&sp, NULL);
	Av **args = ARENA_ARRAY(k->a, Av *, k->n + 1);
	Span *spans = ARENA_ARRAY(k->a, Span, k->n + 1);
	Dim *map = ARENA_ARRAY(k->a, Dim, 64);
	for (uint32_t i = 0; i < 64; i++) map[i] = UINT32_MAX;
	for (uint32_t i = 0; i < k->n; i++) {
		Type t = *type_of(c, k->types[i]);
		for (uint32_t d = 0; t.kind == TY_TENSOR && d < t.rank; d++) {
			SymId s;
			if (dim_is_sym(c, t.dims[d], &s) && s < 64 && map[s] == UINT32_MAX)
				map[s] = build_fresh_dim(k->b, 0, 0);
		}
		Ref r = build_param(k->b, type_subst(c, k->types[i], map, 64), 0);
		args[i] = t.kind == TY_TENSOR ? av_array(&sp, r) : av_dyn(&sp, r);
	}
	Av *f = av_of_value(&sp, k->f);
	CallArguments call = {.n = k->n, .args = args, .spans = spans};
	Av *v = sp_call(&sp, f, &call);
	uint32_t n = av_count_leaves(v), m = 0;
	Ref *results = ARENA_ARRAY(k->a, Ref, n + 1);
	av_leaves(v, results, &m);
	Fn *plain = build_end(k->b, n, results);
	k->b = NULL;
	k->fn = ir_services(c)->optimise(c, plain);
	uint32_t leaf = 0;
	if (k->described) describe(k, v, &leaf);
}

static Status specialise(TypedCall *k, Fn **out) {
	Ctx *c = k->s->c;
	*out = NULL;
	uint32_t mark = build_mark(c);
	Status st = ctx_protect(c, specialise_typed, k);
	if (st != ST_OK) build_unwind(c, mark);
	else *out = k->fn;
	arena_free(k->a);
	return st;
}

Status session_specialise(Session *s, Value f, uint32_t n, const TypeId *types, Fn **out) {
	return specialise(&(TypedCall){.s = s, .f = f, .n = n, .types = types}, out);
}

Status session_specialise_described(Session *s, Value f, Fn **out, Text *text) {
	return specialise(&(TypedCall){.s = s, .f = f, .described = text}, out);
}
