/* value.c - values of any kind: handles, queries, construction, variables,
 * calls and native functions.
 *
 * Needs: api.h.
 *
 * Contract: a handle owns one reference. A passing handle, which a callback
 * receives, owns none and is on the stack.
 */
#include "api/api.h"

atled_value *value_handle(atled_context *x, Value v) {
	atled_value *h = v.kind == V_UNSET ? NULL : handle_new(x, HANDLE_VALUE, sizeof *h);
	if (!h) {
		value_unref(v);
		return NULL;
	}
	h->c = x->c;
	h->v = v;
	return h;
}

void value_handle_release(atled_value *h) {
	value_unref(h->v);
	h->v = (Value){.kind = V_UNSET};
	h->c = NULL;
}

void atled_value_free(atled_value *v) {
	if (v) handle_free(&v->h, sizeof *v);
}

atled_value *atled_value_copy(const atled_value *v) {
	if (!v || !v->c) return NULL;
	return value_handle(api_of(v->c), value_ref(v->v));
}

/* ---- queries ------------------------------------------------------------- */

atled_kind atled_value_kind(const atled_value *v) {
	static const atled_kind of[] = {
		[V_SCALAR] = ATLED_ARRAY,  [V_TENSOR] = ATLED_ARRAY,      [V_STRING] = ATLED_STRING,
		[V_RANGE] = ATLED_RANGE,   [V_TUPLE] = ATLED_TUPLE,       [V_LIST] = ATLED_LIST,
		[V_RECORD] = ATLED_RECORD, [V_FUNCTION] = ATLED_FUNCTION, [V_PROBLEM] = ATLED_PROBLEM,
		[V_HOST] = ATLED_HOST,     [V_TOKEN] = ATLED_NONE};
	return v ? of[v->v.kind] : ATLED_NONE;
}

int atled_value_f64(const atled_value *v, double *out) {
	return v && out && value_as_f64(v->v, out);
}

int atled_value_i64(const atled_value *v, int64_t *out) {
	return v && out && value_as_i64(v->v, out);
}

int atled_value_bool(const atled_value *v, int *out) {
	bool b;
	if (!v || !out || !value_as_bool(v->v, &b)) return 0;
	*out = b;
	return 1;
}

const char *atled_value_string(const atled_value *v, size_t *n) {
	if (!v || v->v.kind != V_STRING) return NULL;
	if (n) *n = v->v.object->n;
	return ((const StringObject *)v->v.object)->text;
}

int atled_value_range(const atled_value *v, int64_t *start, int64_t *stop, int64_t *step) {
	if (!v || v->v.kind != V_RANGE) return 0;
	const RangeObject *r = (const RangeObject *)v->v.object;
	if (start) *start = r->start;
	if (stop) *stop = r->stop;
	if (step) *step = r->step;
	return 1;
}

static const HostObject *host_object(const atled_value *v) {
	return v && v->v.kind == V_HOST ? (const HostObject *)v->v.object : NULL;
}

const char *atled_value_host_type(const atled_value *v) {
	const HostObject *h = host_object(v);
	return h ? atom_text(v->c, h->type) : NULL;
}

void *atled_value_host(const atled_value *v, const char *type) {
	const HostObject *h = host_object(v);
	return h && (!type || !strcmp(type, atom_text(v->c, h->type))) ? h->pointer : NULL;
}

atled_tensor *atled_value_tensor(const atled_value *v) {
	if (!v || !value_is_array(v->v)) return NULL;
	return tensor_handle(value_to_tensor(v->c, v->v));
}

size_t atled_value_count(const atled_value *v) {
	return v && (v->v.kind == V_TUPLE || v->v.kind == V_LIST || v->v.kind == V_RECORD)
	           ? v->v.object->n
	           : 0;
}

atled_value *atled_value_item(const atled_value *v, size_t i) {
	if (i >= atled_value_count(v)) return NULL;
	const Object *o = v->v.object;
	Value item = o->kind == V_RECORD ? ((const RecordObject *)o)->fields[i].value
	                                 : ((const SeqObject *)o)->items[i];
	return value_handle(api_of(v->c), value_ref(item));
}

const char *atled_value_field_name(const atled_value *v, size_t i) {
	if (!v || v->v.kind != V_RECORD || i >= v->v.object->n) return NULL;
	return atom_text(v->c, ((const RecordObject *)v->v.object)->fields[i].name);
}

atled_value *atled_value_field(const atled_value *v, const char *name) {
	if (!v || !name || v->v.kind != V_RECORD) return NULL;
	for (size_t i = 0; i < v->v.object->n; i++)
		if (!strcmp(atled_value_field_name(v, i), name)) return atled_value_item(v, i);
	return NULL;
}

static atled_status give_text(Text *t, atled_sink sink, void *ud) {
	atled_status st = t->failed ? ATLED_NOMEM : ATLED_OK;
	if (st == ATLED_OK && t->n) sink(ud, t->at, t->n);
	text_free(t);
	return st;
}

atled_status atled_value_write(const atled_value *v, const char *spec, int edge, atled_sink sink,
                               void *ud) {
	if (!v || !v->c) return ATLED_MISUSE;
	API_WANT(api_of(v->c), sink, "sink is NULL");
	Text t;
	text_init(&t, v->c);
	value_print(&t, v->v, spec ? spec : "", edge);
	return give_text(&t, sink, ud);
}

atled_status atled_value_describe(const atled_value *v, int summary, atled_sink sink, void *ud) {
	if (!v || !v->c) return ATLED_MISUSE;
	API_WANT(api_of(v->c), sink, "sink is NULL");
	Text t;
	text_init(&t, v->c);
	if (summary) value_header(&t, v->v);
	else value_type_print(&t, v->v);
	return give_text(&t, sink, ud);
}

/* ---- construction -------------------------------------------------------- */

typedef struct Build {
	Value v; /* the value to wrap, or the constructed value */
	const char *text;
	size_t n;
	ValueKind kind;
	const char *const *names;
	const atled_value *const *items;
	const Tensor *tensor;
	bool is_tensor;
	void *pointer; /* of V_HOST, whose type is `text` */
	void (*finalise)(void *pointer);
	Arena *scratch; /* freed by the caller in any case */
	atled_value *out;
} Build;

static void want_utf8(Ctx *c, const char *what, const char *text, size_t n) {
	size_t wrong;
	if (!utf8_valid(text, n, &wrong))
		api_misuse(c, "byte %zu of %s (0x%02x) is not UTF-8", wrong, what,
		           (unsigned char)text[wrong]);
}

#define TYPE_NAME_MOST 100

static void want_type_name(Ctx *c, const char *name) {
	const size_t n = strnlen(name, TYPE_NAME_MOST + 1);
	if (!n || n > TYPE_NAME_MOST)
		api_misuse(c, "the name of a type has 1 to %d bytes", TYPE_NAME_MOST);
	want_utf8(c, "the name of the type", name, n);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 127)
			api_misuse(c, "the name of a type contains the control character 0x%02x", name[i]);
}

static void build_body(Ctx *c, void *arg) {
	Build *b = arg;
	if (b->is_tensor) b->v = value_from_tensor(tensor_ref((Tensor *)(uintptr_t)b->tensor));
	else if (b->kind == V_STRING) {
		want_utf8(c, "the string", b->text, b->n);
		b->v = value_string(c, b->text, b->n);
	} else if (b->kind == V_HOST) {
		want_type_name(c, b->text);
		b->v = value_host(c, atom(c, b->text), b->pointer);
	} else if (b->kind == V_TUPLE || b->kind == V_LIST || b->kind == V_RECORD) {
		if (b->n > UINT32_MAX / 64) api_misuse(c, "too many items");
		if (b->n && (!b->items || (b->kind == V_RECORD && !b->names)))
			api_misuse(c, "the items are missing");
		for (size_t i = 0; i < b->n; i++) {
			if (!b->items[i] || b->items[i]->c != c)
				api_misuse(c, "item %zu is no value of this context", i);
			if (b->kind != V_RECORD) continue;
			if (!b->names[i]) api_misuse(c, "the name of item %zu is NULL", i);
			want_utf8(c, "the name of a field", b->names[i], strlen(b->names[i]));
		}
		Arena *a = arena_new(c);
		b->scratch = a;
		Value *items = ARENA_ARRAY(a, Value, b->n + 1);
		Atom *names = ARENA_ARRAY(a, Atom, b->n + 1);
		for (size_t i = 0; i < b->n; i++) {
			items[i] = b->items[i]->v;
			if (b->kind == V_RECORD) names[i] = atom(c, b->names[i]);
		}
		b->v = b->kind == V_RECORD ? value_record(c, (uint32_t)b->n, names, items)
		                           : value_seq(c, b->kind, (uint32_t)b->n, items);
	}
	if (b->v.kind == V_UNSET) ctx_throw(c, ST_NOMEM);
	Value v = b->v;
	b->v = value_none();
	if (!(b->out = value_handle(api_of(c), v))) ctx_throw(c, ST_NOMEM);
	if (v.kind == V_HOST) ((HostObject *)v.object)->finalise = b->finalise;
}

static atled_value *build_value(atled_context *x, Build *b) {
	atled_status st = api_run(x, ENTER_CALLBACK, build_body, b);
	if (b->scratch) arena_free(b->scratch);
	return st == ATLED_OK ? b->out : NULL;
}

static atled_value *refuse(atled_context *x, const char *call, const char *why) {
	(void)api_refuse(x, call, why);
	return NULL;
}

atled_value *atled_value_of_none(atled_context *x) {
	return build_value(x, &(Build){.v = value_none()});
}
atled_value *atled_value_of_f64(atled_context *x, double d) {
	return build_value(x, &(Build){.v = value_f64(d)});
}
atled_value *atled_value_of_i64(atled_context *x, int64_t i) {
	return build_value(x, &(Build){.v = value_i64(i)});
}
atled_value *atled_value_of_bool(atled_context *x, int b) {
	return build_value(x, &(Build){.v = value_bool(b != 0)});
}

atled_value *atled_value_of_string(atled_context *x, const char *text, size_t n) {
	if (!text) return refuse(x, __func__, "text is NULL");
	return build_value(x, &(Build){.kind = V_STRING, .text = text, .n = api_length(text, n)});
}

atled_value *atled_value_of_tensor(atled_context *x, const atled_tensor *t) {
	if (!t) return refuse(x, __func__, "t is NULL");
	return build_value(x, &(Build){.is_tensor = true, .tensor = tensor_of(t)});
}

atled_value *atled_value_of_items(atled_context *x, atled_kind kind, size_t n,
                                  const atled_value *const *items) {
	if (kind != ATLED_TUPLE && kind != ATLED_LIST)
		return refuse(x, __func__, "the kind is neither ATLED_TUPLE nor ATLED_LIST");
	return build_value(
		x, &(Build){.kind = kind == ATLED_TUPLE ? V_TUPLE : V_LIST, .n = n, .items = items});
}

atled_value *atled_value_of_fields(atled_context *x, size_t n, const char *const *names,
                                   const atled_value *const *items) {
	return build_value(x, &(Build){.kind = V_RECORD, .n = n, .items = items, .names = names});
}

atled_value *atled_value_of_host(atled_context *x, const char *type, void *pointer,
                                 void (*finalise)(void *pointer)) {
	if (!type) return refuse(x, __func__, "type is NULL");
	if (!pointer) return refuse(x, __func__, "pointer is NULL");
	return build_value(
		x, &(Build){.kind = V_HOST, .text = type, .pointer = pointer, .finalise = finalise});
}

/* ---- variables ----------------------------------------------------------- */

typedef struct Variable {
	const char *name;
	const atled_value *v;
	atled_value *out;
} Variable;

static void get_body(Ctx *c, void *arg) {
	Variable *k = arg;
	Value v = session_get(api_of(c)->session, k->name);
	if (v.kind == V_UNSET) {
		if (!diag_count(c, SEV_ERROR)) diag_error(c, E_NAME, NO_SPAN, "no `%s`", k->name);
		ctx_throw(c, ST_ERROR);
	}
	if (!(k->out = value_handle(api_of(c), value_ref(v)))) ctx_throw(c, ST_NOMEM);
}

atled_status atled_get(atled_context *x, const char *name, atled_value **out) {
	if (out) *out = NULL;
	API_WANT(x, name, "name is NULL");
	API_WANT(x, out, "out is NULL");
	Variable k = {.name = name};
	atled_status st = api_run(x, ENTER_ALONE, get_body, &k);
	*out = st == ATLED_OK ? k.out : NULL;
	return st;
}

bool api_is_name(const char *name) {
	size_t n = strlen(name), wrong;
	if (!n || !utf8_valid(name, n, &wrong)) return false;
	for (size_t i = 0; parse_keywords[i]; i++)
		if (!strcmp(parse_keywords[i], name)) return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char ch = (unsigned char)name[i];
		bool letter =
			ch == '_' || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch >= 0x80;
		if (!letter && (!i || ch < '0' || ch > '9')) return false;
	}
	return true;
}

static void set_body(Ctx *c, void *arg) {
	Variable *k = arg;
	if (!api_is_name(k->name)) api_misuse(c, "`%s` cannot be a name", k->name);
	if (k->v->c != c) api_misuse(c, "the value of another context");
	api_want(c, session_set(api_of(c)->session, k->name, k->v->v));
}

atled_status atled_set(atled_context *x, const char *name, const atled_value *v) {
	API_WANT(x, name, "name is NULL");
	API_WANT(x, v, "v is NULL");
	Variable k = {.name = name, .v = v};
	return api_run(x, ENTER_ALONE, set_body, &k);
}

/* ---- calls --------------------------------------------------------------- */

typedef struct ApiCall {
	const atled_value *fn;
	size_t n;
	const atled_value *const *args;
	bool wanted;
	atled_value *out;
} ApiCall;

#define CALL_MOST 64

static void call_body(Ctx *c, void *arg) {
	ApiCall *k = arg;
	if (k->fn->c != c) api_misuse(c, "the function of another context");
	if (k->n > CALL_MOST) api_misuse(c, "a call has at most %d arguments", CALL_MOST);
	Value args[CALL_MOST], result = {.kind = V_UNSET};
	for (size_t i = 0; i < k->n; i++) {
		if (!k->args || !k->args[i] || k->args[i]->c != c)
			api_misuse(c, "argument %zu is no value of this context", i);
		args[i] = k->args[i]->v;
	}
	api_want(c, session_call(api_of(c)->session, k->fn->v, (uint32_t)k->n, args, &result, 0));
	if (!k->wanted) value_unref(result);
	else if (!(k->out = value_handle(api_of(c), result))) ctx_throw(c, ST_NOMEM);
}

atled_status atled_value_call(atled_context *x, const atled_value *fn, size_t n,
                              const atled_value *const *args, atled_value **out) {
	if (out) *out = NULL;
	API_WANT(x, fn, "fn is NULL");
	ApiCall k = {.fn = fn, .n = n, .args = args, .wanted = out != NULL};
	atled_status st = api_run(x, ENTER_CALLBACK, call_body, &k);
	if (out) *out = st == ATLED_OK ? k.out : NULL;
	return st;
}

/* ---- native functions ---------------------------------------------------- */

typedef struct Native {
	atled_native fn;
	void *ud;
	const char *name;
} Native;

static Status run_native(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result) {
	const Native *k = ud;
	atled_value few[8], *handles = few;
	const atled_value *pointers[CALL_MOST];
	result->kind = V_UNSET;
	if (nargs > CALL_MOST) {
		diag_error(c, E_ARITY, NO_SPAN, "`%s` takes at most %d arguments", k->name, CALL_MOST);
		return ST_ERROR;
	}
	if (nargs > 8 && !(handles = heap_alloc(c, nargs * sizeof *handles))) return ST_NOMEM;
	for (uint32_t i = 0; i < nargs; i++) {
		handles[i] = value_passing(c, args[i]);
		pointers[i] = &handles[i];
	}
	uint32_t mark = diag_total(c);
	atled_value *out = NULL;
	api_callback_begin(c);
	Status st = api_status(k->fn(k->ud, api_of(c), nargs, pointers, &out));
	api_callback_end(c);
	if (st == ST_OK && out && out->c != c) {
		diag_error(c, E_HOST, NO_SPAN, "`%s` gives a value of another context", k->name);
		st = ST_ERROR;
	} else if (st == ST_OK) {
		diag_truncate(c, mark);
		*result = out ? value_ref(out->v) : value_none();
	} else if (st == ST_ERROR && diag_total(c) == mark)
		diag_error(c, E_HOST, NO_SPAN, "`%s` failed", k->name);
	atled_value_free(out);
	if (handles != few) heap_free(c, handles, nargs * sizeof *handles);
	return st;
}

typedef struct NativeDefinition {
	const char *name;
	Native native;
} NativeDefinition;

static void define_body(Ctx *c, void *arg) {
	NativeDefinition *d = arg;
	if (!api_is_name(d->name)) api_misuse(c, "`%s` cannot be a name", d->name);
	Native *k = ARENA_NEW(ctx_arena(c), Native);
	*k = d->native;
	k->name = arena_copy(ctx_arena(c), d->name, strlen(d->name));
	api_want(c, session_define_dynamic(api_of(c)->session, d->name, run_native, k));
}

atled_status atled_define_native(atled_context *x, const char *name, atled_native fn, void *ud) {
	API_WANT(x, name, "name is NULL");
	API_WANT(x, fn, "fn is NULL");
	NativeDefinition d = {name, {fn, ud, NULL}};
	return api_run(x, ENTER_ALONE, define_body, &d);
}

void atled_raise(atled_context *x, const char *message) {
	if (!x || api_enter(x, ENTER_CALLBACK) != ATLED_OK) return;
	if (atomic_load(&x->busy) > 1)
		diag_error(x->c, E_HOST, NO_SPAN, "%s", message ? message : "a host function failed");
	uint32_t base = x->error_base;
	api_leave(x, ST_OK);
	x->error_base = base;
}
