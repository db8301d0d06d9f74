/* function.c - typed functions: look up, call, derive, direct entry, show.
 *
 * Needs: api.h, parser/session/session.h, backend/eval/code.h.
 *
 * Contract:
 * - Types of arguments are checked before anything runs.
 * - Results are new tensors, or are written to the host's tensors: in place
 *   where possible, else by a copy.
 * - A derived function is built in the language from the function's IR, so that
 *   derivatives nest, and belong to the function that a call runs: names may
 *   have been bound anew since.
 */
#include "api/api.h"
#include "backend/eval/core/code.h"
#include "parser/specialise/abstract_value.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

struct Entry {
	atled_context *x;
	atled_function *f;
	uint32_t nin, nout;
	Tensor **in; /* over the caller's memory, set at each call; NULL for scalars */
	Value *args, *results;
	Tensor **out, **places; /* places: scratch of a call, see code_call_into */
	/* Cached for calls with the same extents: */
	bool settled, indirect;
	int64_t lengths[TYPE_SYMS];
	DirectCall *direct;
};

/* ---- handles ------------------------------------------------------------- */

static void entry_release(atled_context *x, Entry *e) {
	if (!e) return;
	direct_end(e->direct);
	for (uint32_t i = 0; i < e->nin; i++) tensor_unref(e->in[i]);
	for (uint32_t i = 0; i < e->nout; i++) tensor_unref(e->out[i]);
	heap_free(x->c, e,
	          e->nin * (sizeof *e->in + sizeof *e->args) +
	              e->nout * (2 * sizeof *e->out + sizeof *e->results) + sizeof *e);
}

void function_handle_release(atled_function *f) {
	if (!f->fn) return;
	entry_release(api_of(f->fn->ctx), f->entry);
	f->entry = NULL;
	value_unref(f->f);
	f->f = (Value){.kind = V_UNSET};
	fn_unref(f->fn);
	f->fn = NULL;
}

void atled_function_free(atled_function *f) {
	if (f) handle_free(&f->h, sizeof *f);
}

const char *atled_function_type(const atled_function *f) { return f ? f->type : ""; }
uint32_t atled_function_inputs(const atled_function *f) { return f ? f->nin : 0; }
uint32_t atled_function_outputs(const atled_function *f) { return f ? f->nout : 0; }

/* A handle for a function of the given type. It takes one reference of fn, also
 * on failure. Returns NULL when memory fails. */
static atled_function *function_handle(Ctx *c, Value f, Fn *fn, const Signature *sig) {
	atled_context *x = api_of(c);
	Text text;
	text_init(&text, c);
	signature_write(c, sig, &text);
	const size_t in = sizeof *sig->in * sig->nin, out = sizeof *sig->out * sig->nout,
				 syms = sizeof *sig->syms * TYPE_SYMS, bytes = in + out + syms + text.n + 1;
	char *block = text.failed ? NULL : account_alloc(heap_account(c), bytes);
	atled_function *h = block ? handle_new(x, HANDLE_FUNCTION, sizeof *h) : NULL;
	if (h) {
		h->f = value_ref(f);
		h->fn = fn;
		h->sig = *sig;
		h->block = block;
		h->block_bytes = bytes;
		h->sig.in = memcpy(block, sig->in, in);
		h->sig.out = (TypeId *)(void *)(block + in);
		if (out) memcpy(h->sig.out, sig->out, out);
		h->sig.syms = (Atom *)(void *)(block + in + out);
		memcpy(h->sig.syms, sig->syms, sizeof *sig->syms * sig->nsyms);
		h->type = memcpy(block + in + out + syms, text.at, text.n + 1);
		h->nin = sig->nin;
		h->nout = sig->nout;
	} else {
		if (block) account_free(heap_account(c), block, bytes);
		fn_unref(fn);
	}
	text_free(&text);
	return h;
}

atled_function *atled_function_copy(const atled_function *f) {
	if (!f || !f->h.life) return NULL;
	pthread_mutex_lock(&f->h.life->lock);
	atled_function *copy = NULL;
	if (f->fn && f->h.life->ctx) {
		fn_ref(f->fn);
		copy = function_handle(f->fn->ctx, f->f, f->fn, &f->sig);
	}
	pthread_mutex_unlock(&f->h.life->lock);
	return copy;
}

/* ---- look-up ------------------------------------------------------------- */

/* Maps between the extents of the specialised function and the signature's
 * symbols. */
typedef struct SymMaps {
	Dim to_fn[TYPE_SYMS];
	Dim *from_fn;
	uint32_t nfrom;
} SymMaps;

static SymMaps sym_maps(Ctx *c, Arena *a, const Fn *fn, const Signature *sig) {
	SymMaps m = {.nfrom = fn->syms.n};
	m.from_fn = ARENA_ARRAY(a, Dim, m.nfrom + 1);
	for (uint32_t s = 0; s < TYPE_SYMS; s++) m.to_fn[s] = UINT32_MAX;
	for (uint32_t s = 0; s < m.nfrom; s++) m.from_fn[s] = UINT32_MAX;
	for (uint32_t i = 0; i < sig->nin && i < fn_nparams(fn); i++) {
		const Type declared = *type_of(c, sig->in[i]), have = *ref_ty(fn, fn_param(fn, i));
		for (uint32_t d = 0; d < declared.rank && have.kind == TY_TENSOR && d < have.rank; d++) {
			SymId s, t;
			if (!dim_is_sym(c, declared.dims[d], &s)) continue;
			if (m.to_fn[s] == UINT32_MAX) m.to_fn[s] = have.dims[d];
			if (dim_is_sym(c, have.dims[d], &t) && t < m.nfrom && m.from_fn[t] == UINT32_MAX)
				m.from_fn[t] = declared.dims[d];
		}
	}
	return m;
}

typedef struct Unmapped {
	const SymMaps *m;
	bool found;
} Unmapped;

static void see_unmapped(void *ud, SymId s) {
	Unmapped *u = ud;
	if (s >= u->m->nfrom || u->m->from_fn[s] == UINT32_MAX) u->found = true;
}

/* A result's type over the signature's symbols. Extents that depend on other
 * symbols get new ones. */
static TypeId result_type(Ctx *c, const SymMaps *m, Signature *sig, TypeId t) {
	Type r = *type_of(c, t);
	for (uint32_t d = 0; d < r.rank; d++) {
		Unmapped u = {.m = m};
		dim_each_sym(c, r.dims[d], see_unmapped, &u);
		if (!u.found) {
			r.dims[d] = dim_subst(c, r.dims[d], m->from_fn, m->nfrom);
			continue;
		}
		if (sig->nsyms == TYPE_SYMS) api_misuse(c, "too many names of lengths");
		sig->syms[sig->nsyms] = atom_f(c, "m%u", sig->nsyms);
		r.dims[d] = dim_sym(c, sig->nsyms++);
	}
	return type_tensor(c, (Dtype)r.dtype, r.rank, r.dims);
}

static const char *function_name(Ctx *c, Value f) {
	const char *name =
		f.kind == V_FUNCTION ? atom_text(c, ((const FunctionObject *)f.object)->name) : "";
	return *name ? name : "the function";
}

/* Checks the function's results against the type, or completes the type. */
static void settle_results(Ctx *c, Arena *scratch, Value f, const Fn *fn, Signature *sig) {
	SymMaps m = sym_maps(c, scratch, fn, sig);
	uint32_t n = fn_nresults(fn);
	if (sig->has_results && sig->nout != n) {
		diag_error(c, E_ANNOTATION, NO_SPAN, "%s gives %u result%s, the type says %u",
		           function_name(c, f), n, n == 1 ? "" : "s", sig->nout);
		ctx_throw(c, ST_ERROR);
	}
	TypeId *out = ARENA_ARRAY(scratch, TypeId, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		TypeId t = ref_type(fn, fn_result(fn, i));
		if (type_of(c, t)->kind != TY_TENSOR) {
			diag_error(
				c, E_TYPE, NO_SPAN,
				"%s gives something that is no array, or whose type is known only when it runs",
				function_name(c, f));
			ctx_throw(c, ST_ERROR);
		}
		if (!sig->has_results) {
			out[i] = result_type(c, &m, sig, t);
			continue;
		}
		out[i] = sig->out[i];
		const Type want = *type_of(c, sig->out[i]), have = *type_of(c, t);
		bool fits = want.dtype == have.dtype && want.rank == have.rank;
		for (uint32_t d = 0; fits && d < want.rank; d++) {
			int64_t x, y;
			Dim w = dim_subst(c, want.dims[d], m.to_fn, TYPE_SYMS);
			if (dim_is_const(c, w, &x) && dim_is_const(c, have.dims[d], &y) && x != y) fits = false;
		}
		if (fits) continue;
		char a[300], b[300];
		Signature shown = *sig;
		shown.syms = ARENA_ARRAY(scratch, Atom, TYPE_SYMS);
		memcpy(shown.syms, sig->syms, sig->nsyms * sizeof *sig->syms);
		TypeId given = result_type(c, &m, &shown, t);
		diag_error(c, E_ANNOTATION, NO_SPAN, "%s gives %s, the type says %s", function_name(c, f),
		           signature_type_text(c, &shown, given, a, sizeof a),
		           signature_type_text(c, sig, sig->out[i], b, sizeof b));
		ctx_throw(c, ST_ERROR);
	}
	sig->out = out;
	sig->nout = n;
	sig->has_results = true;
}

/* *unsettled holds a handle that would leak on a throw; the caller frees it.
 * The arrays of sig are copied. */
static atled_function *make_function(Ctx *c, Arena *scratch, Value f, Signature sig,
                                     atled_function **unsettled) {
	if (f.kind != V_FUNCTION) {
		diag_error(c, E_NOT_CALLABLE, NO_SPAN, "this is no function");
		ctx_throw(c, ST_ERROR);
	}
	Fn *fn;
	api_want(c, session_specialise(api_of(c)->session, f, sig.nin, sig.in, &fn));
	*unsettled = function_handle(c, f, fn, &sig);
	if (!*unsettled) ctx_throw(c, ST_NOMEM);
	settle_results(c, scratch, f, fn, &sig);
	fn_ref(fn);
	atled_function *h = function_handle(c, f, fn, &sig);
	if (!h) ctx_throw(c, ST_NOMEM);
	return h;
}

/* ---- annotated types ----------------------------------------------------- */

static void write_dim(Ctx *c, const Ast *e, Text *t) {
	size_t n;
	const char *text = e ? source_text(c, e->span.source, &n) : NULL;
	if (text) text_add(t, text + e->span.start, e->span.end - e->span.start);
	else text_str(t, "_");
}

/* "(f64[n, 3], f64)" from the definition; f64 where it has no annotation. false
 * when the parameters have no such type. */
static bool annotated_type(Ctx *c, Value f, Text *t) {
	const FunctionObject *o = f.kind == V_FUNCTION ? (const FunctionObject *)f.object : NULL;
	if (!o || o->code_kind != CODE_AST) return false;
	const Ast *e = o->code;
	uint32_t unnamed = 0, written = 0;
	text_str(t, "(");
	for (uint32_t i = 0; i < e->function.nparams; i++) {
		const Param *p = &e->function.params[i];
		if (p->named || p->fallback) continue;
		if (p->pattern) return false;
		if (written++) text_str(t, ", ");
		const Ast *type = p->type;
		if (type && (type->type.is_record || type->type.is_function)) return false;
		text_str(t, type && type->type.has_dtype ? dtype_name((Dtype)type->type.dtype) : "f64");
		if (!type || !type->type.rank || type->type.rank == UINT32_MAX) continue;
		text_str(t, "[");
		for (uint32_t d = 0; d < type->type.rank; d++) {
			if (d) text_str(t, ", ");
			if (type->type.dims[d]) write_dim(c, type->type.dims[d], t);
			else text_format(t, "any%u", unnamed++);
		}
		text_str(t, "]");
	}
	text_str(t, ")");
	return true;
}

static Signature signature_for(Ctx *c, Arena *scratch, Value f, const char *type, Text *t) {
	if (type) return signature_read(c, scratch, type);
	if (annotated_type(c, f, t) || session_ir_type(c, f, t)) {
		if (t->failed) ctx_throw(c, ST_NOMEM);
		return signature_read(c, scratch, arena_copy(scratch, t->at, t->n));
	}
	Diag *d = diag_error(c, E_NOT_STATIC, NO_SPAN, "the types of the arguments of %s must be said",
	                     function_name(c, f));
	diag_hint(c, d, "a type is like \"(f64[n, 3], i64) -> f64[n]\"");
	ctx_throw(c, ST_ERROR);
}

typedef struct Lookup {
	const char *name, *type;
	const atled_value *value;
	Text text;
	Arena *scratch;
	atled_function *out, *unsettled;
} Lookup;

static void lookup_body(Ctx *c, void *arg) {
	Lookup *k = arg;
	Value f = k->value ? k->value->v : session_get(api_of(c)->session, k->name);
	if (f.kind == V_UNSET) {
		if (!diag_count(c, SEV_ERROR)) diag_error(c, E_NAME, NO_SPAN, "no `%s`", k->name);
		ctx_throw(c, ST_ERROR);
	}
	if (k->value && k->value->c != c) api_misuse(c, "the value of another context");
	k->scratch = arena_new(c);
	const Signature sig = signature_for(c, k->scratch, f, k->type, &k->text);
	k->out = make_function(c, k->scratch, f, sig, &k->unsettled);
}

static atled_status look_up(atled_context *x, EnterMode mode, Lookup *k, atled_function **out) {
	if (!x) return ATLED_MISUSE;
	text_init(&k->text, x->c);
	atled_status st = api_run(x, mode, lookup_body, k);
	text_free(&k->text);
	arena_free(k->scratch);
	atled_function_free(k->unsettled);
	*out = st == ATLED_OK ? k->out : NULL;
	return st;
}

atled_status atled_lookup(atled_context *x, const char *name, const char *type,
                          atled_function **out) {
	if (out) *out = NULL;
	API_WANT(x, name, "name is NULL");
	API_WANT(x, out, "out is NULL");
	return look_up(x, ENTER_ALONE, &(Lookup){.name = name, .type = type}, out);
}

atled_status atled_function_of(atled_context *x, const atled_value *value, const char *type,
                               atled_function **out) {
	if (out) *out = NULL;
	API_WANT(x, value, "value is NULL");
	API_WANT(x, out, "out is NULL");
	return look_up(x, ENTER_CALLBACK, &(Lookup){.value = value, .type = type}, out);
}

/* ---- stored functions ---------------------------------------------------- */

typedef struct Stored {
	const atled_function *fn;
	const char *name, *type;
	const void *bytes;
	size_t n;
	Value f;
	Text text;
	Arena *scratch;
	atled_function *out, *unsettled;
} Stored;

static void store_body(Ctx *c, void *arg) {
	Stored *k = arg;
	api_want(c, session_ir_of(c, k->fn->fn, &k->f));
	api_want(c, session_ir_out(c, k->f, &k->text));
}

atled_status atled_store(atled_context *x, const atled_function *fn, atled_sink sink, void *ud) {
	if (!x) return ATLED_MISUSE;
	API_WANT(x, fn && fn->h.life == x->life, "fn is no function of this context");
	API_WANT(x, sink, "sink is NULL");
	Stored k = {.fn = fn, .f = {.kind = V_UNSET}};
	text_init(&k.text, x->c);
	atled_status st = api_run(x, ENTER_CALLBACK, store_body, &k);
	if (st == ATLED_OK) sink(ud, k.text.at, k.text.n);
	text_free(&k.text);
	value_unref(k.f);
	return st;
}

static void load_body(Ctx *c, void *arg) {
	Stored *k = arg;
	api_want(c, session_ir_in(c, k->name, k->bytes, k->n, &k->f));
	k->scratch = arena_new(c);
	const Signature sig = signature_for(c, k->scratch, k->f, k->type, &k->text);
	k->out = make_function(c, k->scratch, k->f, sig, &k->unsettled);
}

atled_status atled_load(atled_context *x, const char *name, const void *bytes, size_t n,
                        const char *type, atled_function **out) {
	if (out) *out = NULL;
	if (!x) return ATLED_MISUSE;
	API_WANT(x, name, "name is NULL");
	API_WANT(x, out, "out is NULL");
	API_WANT(x, bytes || !n, "bytes is NULL");
	Stored k = {.name = name, .type = type, .bytes = bytes, .n = n, .f = {.kind = V_UNSET}};
	text_init(&k.text, x->c);
	atled_status st = api_run(x, ENTER_ALONE, load_body, &k);
	text_free(&k.text);
	arena_free(k.scratch);
	value_unref(k.f);
	atled_function_free(k.unsettled);
	*out = st == ATLED_OK ? k.out : NULL;
	return st;
}

/* ---- deriving ------------------------------------------------------------ */

/* type of the additional argument */
typedef enum Extra { EXTRA_NONE, EXTRA_ARGUMENT, EXTRA_RESULT } Extra;

/* FREE: the function of the chosen argument alone; @: that argument; *: all
 * arguments; w: the additional argument. */
static const struct {
	const char *how, *body;
	Extra extra;
} derivatives[] = {
	{"grad", "grad(FREE)(@)", EXTRA_NONE},
	{"value_and_grad", "value_and_grad(FREE)(@)", EXTRA_NONE},
	{"jvp", "jvp(FREE, @, w)", EXTRA_ARGUMENT},
	{"vjp", "{ p = vjp(FREE, @)\n (p[0], p[1](w)) }", EXTRA_RESULT},
	{"hvp", "jvp(grad(FREE), @, w)[1]", EXTRA_ARGUMENT},
	{"jacobian", "jacobian(FREE)(@)", EXTRA_NONE},
	{"hessian", "hessian(FREE)(@)", EXTRA_NONE},
	{"map", "map(f, *)", EXTRA_NONE},
};

typedef struct Derive {
	const atled_function *fn;
	const char *how;
	Text text;
	Arena *scratch;
	Value ir;
	atled_value *derived;
	atled_function *out, *unsettled;
} Derive;

static void write_arguments(Text *t, uint32_t n, uint32_t k, const char *chosen) {
	for (uint32_t i = 0; i < n; i++) {
		if (i) text_str(t, ", ");
		if (i == k && chosen) text_str(t, chosen);
		else text_format(t, "x%u", i);
	}
}

/* f -> (x0, x1, ...) -> body */
static void write_wrapper(Text *t, const char *body, uint32_t n, uint32_t k, bool extra) {
	text_str(t, "f -> (");
	write_arguments(t, n, 0, NULL);
	if (extra) text_str(t, n ? ", w" : "w");
	text_str(t, ") -> ");
	for (const char *p = body; *p; p++) {
		if (!strncmp(p, "FREE", 4)) {
			text_str(t, "v -> f(");
			write_arguments(t, n, k, "v");
			text_str(t, ")");
			p += 3;
		} else if (*p == '@') text_format(t, "x%u", k);
		else if (*p == '*') write_arguments(t, n, 0, NULL);
		else text_add(t, p, 1);
	}
}

/* The value of a wrapper's source, cached in the context. Borrowed. */
static Value wrapper_value(Ctx *c, const Text *t) {
	atled_context *x = api_of(c);
	Atom text = atom_n(c, t->at, t->n);
	for (uint32_t i = 0; i < x->wrappers.n; i++)
		if (x->wrappers.at[i].text == text) return x->wrappers.at[i].value;
	VEC_RESERVE(ctx_arena(c), &x->wrappers, x->wrappers.n + 1);
	Value v = value_none();
	Status st = session_run(x->session, "<derivative>", atom_text(c, text), t->n, NULL, NULL, &v);
	if (st != ST_OK) {
		value_unref(v);
		ctx_throw(c, st);
	}
	x->wrappers.at[x->wrappers.n++] = (Wrapper){text, v};
	return v;
}

static void derive_body(Ctx *c, void *arg) {
	Derive *k = arg;
	const atled_function *fn = k->fn;
	const char *p = k->how;
	size_t n = strcspn(p, " "), which;
	for (which = 0; which < sizeof derivatives / sizeof *derivatives; which++)
		if (strlen(derivatives[which].how) == n && !strncmp(p, derivatives[which].how, n)) break;
	if (which == sizeof derivatives / sizeof *derivatives)
		api_misuse(c,
		           "there is no derivative \"%.60s\": grad, value_and_grad, jvp, vjp, hvp, "
		           "jacobian, hessian and map "
		           "are known",
		           p);
	p += n;
	while (*p == ' ') p++;
	long argument = 0;
	if (*p) {
		char *end;
		argument = strtol(p, &end, 10);
		if (!isdigit((unsigned char)*p) || *end)
			api_misuse(c, "\"%.60s\" does not end in the number of an argument", k->how);
	}
	if (!fn->nin) api_misuse(c, "a function without arguments has no derivative");
	if (argument >= (long)fn->nin)
		api_misuse(c, "\"%.60s\": the function has %u argument%s, counted from 0", k->how, fn->nin,
		           fn->nin == 1 ? "" : "s");
	bool map = derivatives[which].how[0] == 'm';
	Extra extra = derivatives[which].extra;
	if (extra == EXTRA_RESULT && fn->nout != 1)
		api_misuse(c, "\"vjp\" is for functions with one result, not %u", fn->nout);
	Signature sig = {.nin = fn->nin + (extra != EXTRA_NONE), .nsyms = fn->sig.nsyms};
	k->scratch = arena_new(c);
	sig.in = ARENA_ARRAY(k->scratch, TypeId, sig.nin + 1);
	sig.syms = ARENA_ARRAY(k->scratch, Atom, TYPE_SYMS);
	memcpy(sig.in, fn->sig.in, fn->nin * sizeof *sig.in);
	memcpy(sig.syms, fn->sig.syms, sig.nsyms * sizeof *sig.syms);
	if (extra == EXTRA_ARGUMENT) sig.in[fn->nin] = sig.in[argument];
	if (extra == EXTRA_RESULT) sig.in[fn->nin] = fn->sig.out[0];
	if (map) {
		if (sig.nsyms == TYPE_SYMS) api_misuse(c, "too many names of lengths");
		Dim lanes = dim_sym(c, sig.nsyms);
		sig.syms[sig.nsyms++] = atom(c, "batch");
		for (uint32_t i = 0; i < sig.nin; i++) {
			Type t = *type_of(c, sig.in[i]);
			if (t.rank == MAX_RANK) api_misuse(c, "an array has at most %d axes", MAX_RANK);
			memmove(t.dims + 1, t.dims, t.rank * sizeof *t.dims);
			t.dims[0] = lanes;
			sig.in[i] = type_tensor(c, (Dtype)t.dtype, t.rank + 1u, t.dims);
		}
	}
	write_wrapper(&k->text, derivatives[which].body, fn->nin, (uint32_t)argument,
	              extra != EXTRA_NONE);
	if (k->text.failed) ctx_throw(c, ST_NOMEM);
	Value wrapper = wrapper_value(c, &k->text), derived = {.kind = V_UNSET};
	api_want(c, session_ir_of(c, fn->fn, &k->ir));
	api_want(c, session_call(api_of(c)->session, wrapper, 1, &k->ir, &derived, 0));
	k->derived = value_handle(api_of(c), derived);
	if (!k->derived) ctx_throw(c, ST_NOMEM);
	k->out = make_function(c, k->scratch, k->derived->v, sig, &k->unsettled);
}

atled_status atled_derive(atled_context *x, const atled_function *fn, const char *how,
                          atled_function **out) {
	if (out) *out = NULL;
	if (!x) return ATLED_MISUSE;
	API_WANT(x, fn && fn->h.life == x->life, "fn is no function of this context");
	API_WANT(x, how, "how is NULL");
	API_WANT(x, out, "out is NULL");
	Derive k = {.fn = fn, .how = how, .ir = {.kind = V_UNSET}};
	text_init(&k.text, x->c);
	atled_status st = api_run(x, ENTER_ALONE, derive_body, &k);
	text_free(&k.text);
	arena_free(k.scratch);
	value_unref(k.ir);
	atled_value_free(k.derived);
	atled_function_free(k.unsettled);
	*out = st == ATLED_OK ? k.out : NULL;
	return st;
}

/* ---- calling ------------------------------------------------------------- */

typedef struct CallIn {
	const atled_function *fn;
	uint32_t nin, nout;
	atled_tensor *const *in;
	atled_tensor **out;
	Value *args, *results;
	Tensor **made;
} CallIn;

static void check_arguments(Ctx *c, const CallIn *k, int64_t *values) {
	const Signature *sig = &k->fn->sig;
	char a[300], b[300];
	if (k->nin != sig->nin)
		api_misuse(c, "the function takes %u argument%s, not %u", sig->nin,
		           sig->nin == 1 ? "" : "s", k->nin);
	if (k->nout != sig->nout)
		api_misuse(c, "the function gives %u result%s, not %u", sig->nout,
		           sig->nout == 1 ? "" : "s", k->nout);
	for (uint32_t s = 0; s < TYPE_SYMS; s++) values[s] = -1;
	for (uint32_t i = 0; i < k->nin; i++) {
		if (!k->in || !k->in[i]) api_misuse(c, "argument %u is missing", i);
		const Tensor *t = tensor_of(k->in[i]);
		if (t->dtype == type_of(c, sig->in[i])->dtype &&
		    signature_match(c, sig->in[i], t->rank, t->shape, values))
			continue;
		diag_error(c, E_ANNOTATION, NO_SPAN, "argument %u is %s, the type says %s", i,
		           array_type_text(t->dtype, t->rank, t->shape, a, sizeof a),
		           signature_type_text(c, sig, sig->in[i], b, sizeof b));
		ctx_throw(c, ST_ERROR);
	}
	for (uint32_t i = 0; i < k->nout; i++) {
		if (!k->out) api_misuse(c, "the places of the results are missing");
		const Tensor *t = tensor_of(k->out[i]);
		if (!t) continue;
		if (!tensor_writable(t))
			api_misuse(c,
			           "the tensor given for result %u cannot be written: it has another owner, or "
			           "wraps memory that "
			           "is only read",
			           i);
		int64_t shape[MAX_RANK];
		const Type want = *type_of(c, sig->out[i]);
		bool fits = t->dtype == want.dtype && t->rank == want.rank,
			 known = fits && signature_shape(c, sig->out[i], values, shape);
		for (uint32_t d = 0; known && d < t->rank; d++) fits &= shape[d] == t->shape[d];
		if (!fits)
			api_misuse(c, "the tensor given for result %u is %s, not %s", i,
			           array_type_text(t->dtype, t->rank, t->shape, a, sizeof a),
			           signature_type_text(c, sig, sig->out[i], b, sizeof b));
	}
}

/* Checks a result against its type, binding extents that were unknown
 * before. */
static void check_result(Ctx *c, const Signature *sig, uint32_t i, const Tensor *t,
                         int64_t *values) {
	char a[300], b[300];
	if (signature_match(c, sig->out[i], t->rank, t->shape, values)) return;
	diag_error(c, E_ANNOTATION, NO_SPAN, "result %u is %s, the type says %s", i,
	           array_type_text(t->dtype, t->rank, t->shape, a, sizeof a),
	           signature_type_text(c, sig, sig->out[i], b, sizeof b));
	ctx_throw(c, ST_ERROR);
}

/* Results that overlap an argument or another result are not computed in
 * place. */
static void keep_apart(uint32_t nin, const Tensor *const *in, uint32_t nout, Tensor **places) {
	for (uint32_t i = 0; i < nout; i++) {
		for (uint32_t j = 0; places[i] && j < nin; j++)
			if (in[j] && tensor_meets(places[i], in[j])) places[i] = NULL;
		for (uint32_t j = 0; places[i] && j < i; j++)
			if (places[j] && tensor_meets(places[i], places[j])) places[i] = NULL;
	}
}

static void call_body(Ctx *c, void *arg) {
	CallIn *k = arg;
	int64_t values[TYPE_SYMS];
	check_arguments(c, k, values);
	for (uint32_t i = 0; i < k->nin; i++)
		k->args[i] = value_from_tensor(tensor_ref(tensor_of(k->in[i])));
	Code *code = code_of(c, k->fn->fn);
	if (!code) ctx_throw(c, ctx_failure(c));
	Tensor *places[TYPE_PLACES];
	const Tensor *in[TYPE_PLACES];
	for (uint32_t i = 0; i < k->nin; i++) in[i] = tensor_of(k->in[i]);
	for (uint32_t i = 0; i < k->nout; i++) places[i] = k->out[i] ? tensor_of(k->out[i]) : NULL;
	keep_apart(k->nin, in, k->nout, places);
	api_want(c, code_call_into(c, code, k->args, places, k->results));
	for (uint32_t i = 0; i < k->nout; i++) {
		if (!(k->made[i] = value_to_tensor(c, k->results[i]))) ctx_throw(c, ST_NOMEM);
		check_result(c, &k->fn->sig, i, k->made[i], values);
		if (k->out[i] && !tensor_same_shape(tensor_of(k->out[i]), k->made[i]))
			api_misuse(c, "the tensor given for result %u has another shape", i);
	}
	for (uint32_t i = 0; i < k->nout; i++)
		if (k->out[i] && k->made[i] != tensor_of(k->out[i]) &&
		    !tensor_move_into(c, tensor_of(k->out[i]), k->made[i]))
			ctx_throw(c, ST_NOMEM);
}

atled_status atled_call(atled_context *x, const atled_function *fn, uint32_t nin,
                        atled_tensor *const *in, uint32_t nout, atled_tensor **out) {
	if (!x) return ATLED_MISUSE;
	API_WANT(x, fn && fn->h.life == x->life, "fn is no function of this context");
	API_WANT(x, nin <= TYPE_PLACES && nout <= TYPE_PLACES,
	         "more arguments or results than a type has");
	API_WANT(x, (in || !nin) && (out || !nout), "in or out is NULL");
	Value args[TYPE_PLACES], results[TYPE_PLACES];
	Tensor *made[TYPE_PLACES];
	for (uint32_t i = 0; i < nin; i++) args[i].kind = V_UNSET;
	for (uint32_t i = 0; i < nout; i++) {
		results[i].kind = V_UNSET;
		made[i] = NULL;
	}
	CallIn k = {.fn = fn,
	            .nin = nin,
	            .nout = nout,
	            .in = in,
	            .out = out,
	            .args = args,
	            .results = results,
	            .made = made};
	atled_status entered = api_enter(x, ENTER_CALLBACK);
	if (entered != ATLED_OK) return entered;
	uint32_t mark = build_mark(x->c);
	Status st = api_protect(x, call_body, &k);
	if (st != ST_OK) build_unwind(x->c, mark);
	for (uint32_t i = 0; i < nin; i++) value_unref(args[i]);
	for (uint32_t i = 0; i < nout; i++) {
		value_unref(results[i]);
		if (st == ST_OK && !out[i]) out[i] = tensor_handle(made[i]);
		else tensor_unref(made[i]);
	}
	return api_leave(x, st);
}

/* ---- direct entry -------------------------------------------------------- */

typedef struct EntryCall {
	Entry *e;
	const int64_t *lengths;
	const void *const *in;
	void *const *out;
} EntryCall;

static void shape_tensor(Ctx *c, Tensor *t, TypeId type, const int64_t *lengths, uint32_t nsyms) {
	const Type want = *type_of(c, type);
	t->count = 1;
	for (uint32_t d = 0; d < want.rank; d++) {
		if (!dim_is_const(c, want.dims[d], &t->shape[d]) &&
		    !dim_eval(c, want.dims[d], lengths, nsyms, &t->shape[d]))
			api_misuse(c, "a length is missing");
		if (t->shape[d] < 0) api_misuse(c, "a length cannot be %lld", (long long)t->shape[d]);
		if (__builtin_mul_overflow(t->count, t->shape[d], &t->count))
			api_misuse(c, "an array is too large");
	}
	int64_t step = 1;
	for (uint32_t d = want.rank; d-- > 0;) {
		t->stride[d] = step;
		step *= t->shape[d] ? t->shape[d] : 1;
	}
	t->contiguous = true;
	t->buffer->bytes = (size_t)t->count * dtype_size((Dtype)t->dtype);
}

static void point_tensor(Tensor *t, void *data) {
	t->data = data;
	t->buffer->data = data;
}

/* Sets the shapes from the extents, which usually equal those of the last
 * call. */
static void settle(Ctx *c, Entry *e, const int64_t *lengths) {
	const Signature *sig = &e->f->sig;
	if (e->settled && (!sig->nsyms || !memcmp(e->lengths, lengths, sig->nsyms * sizeof *lengths)))
		return;
	direct_end(e->direct);
	e->direct = NULL;
	e->settled = e->indirect = false;
	for (uint32_t i = 0; i < e->nin; i++)
		if (e->in[i]) shape_tensor(c, e->in[i], sig->in[i], lengths, sig->nsyms);
	for (uint32_t i = 0; i < e->nout; i++)
		if (e->out[i]) shape_tensor(c, e->out[i], sig->out[i], lengths, sig->nsyms);
	if (sig->nsyms) memcpy(e->lengths, lengths, sig->nsyms * sizeof *lengths);
	e->settled = true;
}

/* Calls without a frame. This works when the function is one compiled unit with
 * one result that fits the caller's memory, as is usual in inner loops. Returns
 * false when the ordinary call is needed. */
static bool entry_direct(Ctx *c, Entry *e, const EntryCall *k) {
	if (e->nout != 1 || !!e->places[0] != !!e->out[0]) return false;
	if (!e->direct && !e->indirect)
		e->direct = direct_begin(c, (Code *)e->f->fn->code, e->args, &e->indirect);
	if (!e->direct) return false;
	if (e->out[0] && !direct_can_fill(e->direct, e->out[0])) return false;
	const Value *r;
	api_want(c, direct_call(e->direct, e->args, e->out[0], &r));
	if (!e->out[0])
		memcpy(k->out[0], r->kind == V_SCALAR ? value_scalar_bytes(r) : r->tensor->data,
		       dtype_size((Dtype)type_of(c, e->f->sig.out[0])->dtype));
	return true;
}

static void entry_body(Ctx *c, void *arg) {
	EntryCall *k = arg;
	Entry *e = k->e;
	const Signature *sig = &e->f->sig;
	settle(c, e, k->lengths);
	for (uint32_t i = 0; i < e->nin; i++) {
		if (e->in[i]) {
			point_tensor(e->in[i], (void *)(uintptr_t)k->in[i]);
			e->args[i] = value_tensor(e->in[i]);
		} else e->args[i] = value_scalar_from_bytes((Dtype)type_of(c, sig->in[i])->dtype, k->in[i]);
	}
	for (uint32_t i = 0; i < e->nout; i++) {
		e->results[i].kind = V_UNSET;
		if ((e->places[i] = e->out[i])) point_tensor(e->out[i], k->out[i]);
	}
	keep_apart(e->nin, (const Tensor *const *)e->in, e->nout, e->places);
	if (entry_direct(c, e, k)) return;
	api_want(c, code_call_into(c, (Code *)e->f->fn->code, e->args, e->places, e->results));
	for (uint32_t i = 0; i < e->nout; i++) {
		Value *r = &e->results[i];
		if (r->kind == V_SCALAR) {
			memcpy(k->out[i], value_scalar_bytes(r), dtype_size((Dtype)r->dtype));
			continue;
		}
		if (!e->out[i]) { /* a scalar in a tensor */
			memcpy(k->out[i], r->tensor->data, dtype_size((Dtype)r->tensor->dtype));
			continue;
		}
		if (r->tensor == e->out[i]) continue;
		if (!tensor_same_shape(e->out[i], r->tensor)) {
			diag_error(c, E_ANNOTATION, NO_SPAN, "result %u has another shape than its type says",
			           i);
			ctx_throw(c, ST_ERROR);
		}
		if (!tensor_move_into(c, e->out[i], r->tensor)) ctx_throw(c, ST_NOMEM);
	}
}

static atled_status entry_call(void *ud, const int64_t *lengths, const void *const *in,
                               void *const *out) {
	EntryCall k = {ud, lengths, in, out};
	atled_context *x = k.e->x;
	atled_status entered = api_enter(x, ENTER_CALLBACK);
	if (entered != ATLED_OK) return entered;
	Status st = api_protect(x, entry_body, &k);
	for (uint32_t i = 0; i < k.e->nout; i++) {
		value_unref(k.e->results[i]);
		k.e->results[i].kind = V_UNSET;
	}
	return api_leave(x, st);
}

typedef struct MakeEntry {
	atled_function *f;
} MakeEntry;

/* A tensor whose memory is set at each call. */
static Tensor *hollow_tensor(Ctx *c, TypeId type) {
	const Type t = *type_of(c, type);
	int64_t none[MAX_RANK] = {0};
	return tensor_wrap(c, (Dtype)t.dtype, t.rank, none, NULL, NULL, true, NULL, NULL);
}

static void make_entry_body(Ctx *c, void *arg) {
	atled_function *f = ((MakeEntry *)arg)->f;
	if (f->entry) return;
	if (f->fn->effects) api_misuse(c, "a function with effects has no entry");
	for (uint32_t i = 0; i < f->nout; i++) { /* the host must know the size of the results */
		const Type t = *type_of(c, f->sig.out[i]);
		int64_t values[TYPE_SYMS], shape[MAX_RANK];
		for (uint32_t s = 0; s < TYPE_SYMS; s++) values[s] = 1;
		if (t.rank && !signature_shape(c, f->sig.out[i], values, shape))
			api_misuse(c, "the shape of result %u is not known before the call", i);
	}
	size_t nin = f->nin, nout = f->nout,
		   bytes = nin * (sizeof(Tensor *) + sizeof(Value)) +
	               nout * (2 * sizeof(Tensor *) + sizeof(Value)) + sizeof(Entry);
	Entry *e = heap_alloc(c, bytes);
	if (!e) ctx_throw(c, ST_NOMEM);
	memset(e, 0, bytes);
	*e = (Entry){.x = api_of(c), .f = f, .nin = f->nin, .nout = f->nout};
	e->args = (Value *)(e + 1);
	e->results = e->args + nin;
	e->in = (Tensor **)(e->results + nout);
	e->out = e->in + nin;
	e->places = e->out + nout;
	f->entry = e;
	const Status st = code_of(c, f->fn) ? ST_NOMEM : ctx_failure(c);
	bool ok = f->fn->code != NULL;
	for (uint32_t i = 0; i < nin && ok; i++)
		if (type_of(c, f->sig.in[i])->rank)
			ok = (e->in[i] = hollow_tensor(c, f->sig.in[i])) != NULL;
	for (uint32_t i = 0; i < nout && ok; i++)
		if (type_of(c, f->sig.out[i])->rank)
			ok = (e->out[i] = hollow_tensor(c, f->sig.out[i])) != NULL;
	if (ok) return;
	entry_release(api_of(c), e);
	f->entry = NULL;
	ctx_throw(c, st);
}

atled_status atled_entry(atled_context *x, const atled_function *fn, atled_raw *raw, void **ud) {
	if (raw) *raw = NULL;
	if (ud) *ud = NULL;
	if (!x) return ATLED_MISUSE;
	API_WANT(x, fn && fn->h.life == x->life, "fn is no function of this context");
	API_WANT(x, raw && ud, "raw or ud is NULL");
	MakeEntry k = {(atled_function *)(uintptr_t)fn};
	atled_status st = api_run(x, ENTER_ALONE, make_entry_body, &k);
	*raw = st == ATLED_OK ? entry_call : NULL;
	*ud = st == ATLED_OK ? k.f->entry : NULL;
	return st;
}

/* ---- printing ------------------------------------------------------------ */

typedef struct StageDump {
	const atled_function *fn;
	const char *stage;
	Text text;
} StageDump;

static void show_body(Ctx *c, void *arg) {
	StageDump *s = arg;
	if (s->stage && strcmp(s->stage, "typed"))
		api_misuse(c, "there is no stage \"%.60s\": typed is known", s->stage);
	fn_print(&s->text, s->fn->fn);
	if (s->text.failed) ctx_throw(c, ST_NOMEM);
}

atled_status atled_ir(atled_context *x, const atled_function *fn, const char *stage,
                      atled_sink sink, void *ud) {
	if (!x) return ATLED_MISUSE;
	API_WANT(x, fn && fn->h.life == x->life, "fn is no function of this context");
	API_WANT(x, sink, "sink is NULL");
	StageDump s = {.fn = fn, .stage = stage};
	text_init(&s.text, x->c);
	atled_status st = api_run(x, ENTER_CALLBACK, show_body, &s);
	if (st == ATLED_OK && s.text.n) sink(ud, s.text.at, s.text.n);
	text_free(&s.text);
	return st;
}
