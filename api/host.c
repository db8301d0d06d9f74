/* host.c - C functions of the host as functions of the language, with
 * derivatives.
 *
 * Needs: api.h, lang/ir/host.h.
 *
 * Contract:
 * - The derivative of a call is a call of the host's jvp, which is linear in
 *   the tangents. Its transpose is a call of the host's vjp, whose transpose is
 *   the jvp again.
 * - A missing rule, or a second derivative, is an error where it is requested.
 *   The message names the function.
 *
 *     value: (x...) -> y...
 *     jvp:   (x..., y..., dx...) -> dy...
 *     vjp:   (x..., y..., w...) -> cotangents of x...
 *
 * jvp and vjp calls have one option: a mask of the arguments that have a
 * tangent or need a cotangent. dy and w exist for real and complex results
 * only.
 */
#include "api/api.h"

#include <stdio.h>

#define PLACES 16u /* limit on arguments, and on results */

typedef struct HostFn {
	atled_host host;
	Signature sig;
	HostDef value, jvp, vjp;
} HostFn;

static bool inexact_out(Ctx *c, const HostFn *h, uint32_t k) {
	return type_has_tangent(c, h->sig.out[k]);
}
static bool inexact_in(Ctx *c, const HostFn *h, uint32_t k) {
	return type_has_tangent(c, h->sig.in[k]);
}
static int64_t mask_of(const HostCall *call) { return call->noptions ? call->options[0] : 0; }
static bool in_mask(int64_t mask, uint32_t k) { return mask >> k & 1; }

/* ---- types --------------------------------------------------------------- */

static _Noreturn void wrong_argument(Builder *b, const HostFn *h, uint32_t k, TypeId have) {
	Ctx *c = build_ctx(b);
	char x[300], y[300];
	type_print(c, have, NULL, NULL, x, sizeof x);
	diag_error(c, E_ANNOTATION, span_of(c, build_span(b)), "`%s` takes %s as argument %u, not %s",
	           h->host.name, signature_type_text(c, &h->sig, h->sig.in[k], y, sizeof y), k, x);
	ctx_throw(c, ST_ERROR);
}

static uint32_t value_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                            TypeId *out, uint32_t cap) {
	Ctx *c = build_ctx(b);
	const HostFn *h = call->def->ud;
	Dim map[TYPE_SYMS];
	for (uint32_t s = 0; s < TYPE_SYMS; s++) map[s] = UINT32_MAX;
	if (nargs != h->sig.nin) {
		diag_error(c, E_ARITY, span_of(c, build_span(b)), "`%s` takes %u argument%s, not %u",
		           h->host.name, h->sig.nin, h->sig.nin == 1 ? "" : "s", nargs);
		ctx_throw(c, ST_ERROR);
	}
	for (uint32_t k = 0; k < nargs; k++) {
		TypeId id = ref_type(build_fn(b), args[k]);
		const Type have = *type_of(c, id), want = *type_of(c, h->sig.in[k]);
		if (have.kind != TY_TENSOR || have.rank != want.rank ||
		    dtype_promote((Dtype)have.dtype, (Dtype)want.dtype) != (Dtype)want.dtype)
			wrong_argument(b, h, k, id);
		for (uint32_t d = 0; d < want.rank; d++) {
			SymId s;
			if (dim_is_sym(c, want.dims[d], &s) && map[s] == UINT32_MAX) {
				map[s] = have.dims[d];
				continue;
			}
			Atom what = atom_f(c, "the arguments of `%s` do not fit its type %s", h->host.name,
			                   h->host.type);
			if (!build_unify(b, dim_subst(c, want.dims[d], map, TYPE_SYMS), have.dims[d], what))
				wrong_argument(b, h, k, id);
		}
	}
	for (uint32_t k = 0; k < h->sig.nout && k < cap; k++)
		out[k] = build_canon_type(b, type_subst(c, h->sig.out[k], map, TYPE_SYMS));
	return h->sig.nout;
}

/* dy has the types of y. */
static uint32_t jvp_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                          TypeId *out, uint32_t cap) {
	const HostFn *h = call->def->ud;
	uint32_t n = 0;
	(void)nargs;
	for (uint32_t k = 0; k < h->sig.nout; k++)
		if (inexact_out(build_ctx(b), h, k) && n < cap)
			out[n++] = ref_type(build_fn(b), args[h->sig.nin + k]);
	return n;
}

/* A cotangent of x has the type of x. */
static uint32_t vjp_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                          TypeId *out, uint32_t cap) {
	const HostFn *h = call->def->ud;
	uint32_t n = 0;
	(void)nargs;
	for (uint32_t k = 0; k < h->sig.nin; k++)
		if (in_mask(mask_of(call), k) && n < cap) out[n++] = ref_type(build_fn(b), args[k]);
	return n;
}

/* ---- running ------------------------------------------------------------- */

/* contiguous tensors and their public views; missing ones have data NULL */
typedef struct Arrays {
	atled_array at[PLACES];
	Tensor *t[PLACES];
} Arrays;

static void see_array(Arrays *a, uint32_t k, bool writable) {
	static const int64_t none[1];
	const Tensor *t = a->t[k];
	a->at[k] = (atled_array){.size = sizeof a->at[k], .shape = none, .strides = none};
	if (!t) return;
	a->at[k] = (atled_array){.size = sizeof a->at[k],
	                         .dtype = (atled_dtype)t->dtype,
	                         .rank = t->rank,
	                         .shape = t->shape,
	                         .strides = t->stride,
	                         .data = t->data,
	                         .count = t->count,
	                         .writable = writable};
}

static bool make_array(Ctx *c, Arrays *a, uint32_t k, Dtype dtype, uint32_t rank,
                       const int64_t *shape) {
	a->t[k] = tensor_zeros(c, dtype, rank, shape);
	if (a->t[k]) see_array(a, k, true);
	return a->t[k] != NULL;
}

/* Converts an operand to the declared dtype and to contiguous storage. */
static bool read_array(Ctx *c, Arrays *a, uint32_t k, Value v, Dtype dtype) {
	Tensor *t = value_to_tensor(c, v), *converted = t;
	if (t && t->dtype != dtype) {
		converted = tensor_new(c, dtype, t->rank, t->shape);
		if (converted) tensor_convert_into(converted, t);
		tensor_unref(t);
	}
	if (!converted) return false;
	a->t[k] = tensor_contiguous(c, converted);
	tensor_unref(converted);
	if (a->t[k]) see_array(a, k, false);
	return a->t[k] != NULL;
}

static void drop_arrays(Arrays *a) {
	for (uint32_t k = 0; k < PLACES; k++) tensor_unref(a->t[k]);
}

static Dtype declared_dtype(Ctx *c, TypeId t) { return (Dtype)type_of(c, t)->dtype; }

static bool read_arguments(Ctx *c, const HostFn *h, Arrays *x, const Value *args) {
	for (uint32_t k = 0; k < h->sig.nin; k++)
		if (!read_array(c, x, k, args[k], declared_dtype(c, h->sig.in[k]))) return false;
	return true;
}

static bool read_results(Ctx *c, const HostFn *h, Arrays *y, const Value *args) {
	for (uint32_t k = 0; k < h->sig.nout; k++)
		if (!read_array(c, y, k, args[k], declared_dtype(c, h->sig.out[k]))) return false;
	return true;
}

/* Returns a result in the dtype of its operand (DT_COUNT: unchanged). */
static bool give(Ctx *c, Arrays *a, uint32_t k, Dtype dtype, Value *out) {
	Tensor *t = a->t[k];
	if (dtype != DT_COUNT && t->dtype != dtype) {
		Tensor *converted = tensor_new(c, dtype, t->rank, t->shape);
		if (!converted) return false;
		tensor_convert_into(converted, t);
		*out = value_from_tensor(converted);
		return true;
	}
	a->t[k] = NULL;
	*out = value_from_tensor(t);
	return true;
}

static Status finish(Ctx *c, int failed, uint32_t mark) {
	api_callback_end(c);
	if (!failed) {
		diag_truncate(c, mark);
		return ST_OK;
	}
	/* the callback may have stopped because of an interrupt or a limit */
	Status why = ctx_poll(c, 0);
	return why == ST_OK ? ST_ERROR : why;
}

static Status no_rule(Ctx *c, const HostFn *h, const char *what) {
	diag_error(c, E_NO_RULE, NO_SPAN, "the host function `%s` has no %s", h->host.name, what);
	return ST_ERROR;
}

static Status value_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                         uint32_t nresults, Value *results) {
	const HostFn *h = call->def->ud;
	Arrays x = {0}, y = {0};
	int64_t values[TYPE_SYMS], shape[MAX_RANK];
	Status st = ST_NOMEM;
	for (uint32_t s = 0; s < TYPE_SYMS; s++) values[s] = -1;
	if (!read_arguments(c, h, &x, args)) goto out;
	st = ST_ERROR;
	for (uint32_t k = 0; k < nargs; k++) {
		if (signature_match(c, h->sig.in[k], x.t[k]->rank, x.t[k]->shape, values)) continue;
		char a[300];
		diag_error(c, E_HOST, NO_SPAN, "`%s` takes %s, and argument %u is %s", h->host.name,
		           h->host.type, k,
		           array_type_text(x.t[k]->dtype, x.t[k]->rank, x.t[k]->shape, a, sizeof a));
		goto out;
	}
	for (uint32_t k = 0; k < nresults; k++) {
		const Type t = *type_of(c, h->sig.out[k]);
		if (!signature_shape(c, h->sig.out[k], values, shape)) {
			diag_error(c, E_HOST, NO_SPAN, "a length in a result of `%s` would be negative",
			           h->host.name);
			goto out;
		}
		st = ST_NOMEM;
		if (!make_array(c, &y, k, (Dtype)t.dtype, t.rank, shape)) goto out;
		st = ST_ERROR;
	}
	uint32_t mark = diag_total(c);
	api_callback_begin(c);
	st = finish(c, h->host.value(h->host.ud, api_of(c), x.at, y.at), mark);
	for (uint32_t k = 0; k < nresults && st == ST_OK; k++)
		if (!give(c, &y, k, DT_COUNT, &results[k])) st = ST_NOMEM;
out:
	drop_arrays(&x);
	drop_arrays(&y);
	return st;
}

static Status jvp_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                       uint32_t nresults, Value *results) {
	const HostFn *h = call->def->ud;
	(void)nresults;
	if (!h->host.jvp) return no_rule(c, h, "forward derivative (jvp)");
	Arrays x = {0}, y = {0}, dx = {0}, dy = {0};
	Status st = ST_NOMEM;
	bool ok = read_arguments(c, h, &x, args) && read_results(c, h, &y, args + h->sig.nin);
	uint32_t at = h->sig.nin + h->sig.nout, n = 0;
	for (uint32_t k = 0; k < h->sig.nin && ok; k++) {
		see_array(&dx, k, false);
		if (in_mask(mask_of(call), k))
			ok = at < nargs && read_array(c, &dx, k, args[at++], declared_dtype(c, h->sig.in[k]));
		else if (inexact_in(c, h, k))
			ok = make_array(c, &dx, k, (Dtype)x.t[k]->dtype, x.t[k]->rank, x.t[k]->shape);
	}
	for (uint32_t k = 0; k < h->sig.nout && ok; k++) {
		see_array(&dy, k, true);
		if (inexact_out(c, h, k))
			ok = make_array(c, &dy, k, (Dtype)y.t[k]->dtype, y.t[k]->rank, y.t[k]->shape);
	}
	if (ok) {
		uint32_t mark = diag_total(c);
		api_callback_begin(c);
		st = finish(c, h->host.jvp(h->host.ud, api_of(c), x.at, y.at, dx.at, dy.at), mark);
		for (uint32_t k = 0; k < h->sig.nout && st == ST_OK; k++)
			if (dy.t[k] && !give(c, &dy, k, DT_COUNT, &results[n++])) st = ST_NOMEM;
	}
	drop_arrays(&x);
	drop_arrays(&y);
	drop_arrays(&dx);
	drop_arrays(&dy);
	return st;
}

static Status vjp_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                       uint32_t nresults, Value *results) {
	const HostFn *h = call->def->ud;
	(void)nresults;
	Arrays x = {0}, y = {0}, w = {0}, back = {0};
	Status st = ST_NOMEM;
	bool ok = read_arguments(c, h, &x, args) && read_results(c, h, &y, args + h->sig.nin);
	uint32_t at = h->sig.nin + h->sig.nout, n = 0;
	for (uint32_t k = 0; k < h->sig.nout && ok; k++) {
		see_array(&w, k, false);
		if (inexact_out(c, h, k))
			ok = at < nargs && read_array(c, &w, k, args[at++], declared_dtype(c, h->sig.out[k]));
	}
	for (uint32_t k = 0; k < h->sig.nin && ok; k++) {
		see_array(&back, k, true);
		if (in_mask(mask_of(call), k))
			ok = make_array(c, &back, k, (Dtype)x.t[k]->dtype, x.t[k]->rank, x.t[k]->shape);
	}
	if (ok) {
		uint32_t mark = diag_total(c);
		api_callback_begin(c);
		st = finish(c, h->host.vjp(h->host.ud, api_of(c), x.at, y.at, w.at, back.at), mark);
		for (uint32_t k = 0; k < h->sig.nin && st == ST_OK; k++)
			if (back.t[k] && !give(c, &back, k, value_dtype(args[k]), &results[n++])) st = ST_NOMEM;
	}
	drop_arrays(&x);
	drop_arrays(&y);
	drop_arrays(&w);
	drop_arrays(&back);
	return st;
}

/* ---- rules --------------------------------------------------------------- */

static Ref or_zeros(Builder *b, Ref r, Ref like) {
	return r != REF_NONE ? r : build_zeros(b, ref_type(build_fn(b), like));
}

/* Emits the jvp call. dx: tangents by argument, REF_NONE: zero; dy: by result.
 * Emits nothing when all tangents are zero. */
static void emit_jvp(Builder *b, const HostFn *h, const Ref *x, const Ref *y, const Ref *dx,
                     Ref *dy) {
	Ctx *c = build_ctx(b);
	Ref args[3 * PLACES], results[PLACES];
	uint32_t n = 0, m = 0;
	int64_t mask = 0;
	for (uint32_t k = 0; k < h->sig.nin; k++) args[n++] = x[k];
	for (uint32_t k = 0; k < h->sig.nout; k++) args[n++] = y[k];
	for (uint32_t k = 0; k < h->sig.nin; k++) {
		if (dx[k] == REF_NONE) continue;
		mask |= (int64_t)1 << k;
		args[n++] = dx[k];
	}
	for (uint32_t k = 0; k < h->sig.nout; k++) dy[k] = REF_NONE;
	if (!mask) return;
	build_host(b, host_call_intern(c, &h->jvp, 0, NULL, 1, &mask), n, args, results, PLACES);
	for (uint32_t k = 0; k < h->sig.nout; k++)
		if (inexact_out(c, h, k)) dy[k] = results[m++];
}

/* Emits the vjp call. w: cotangents by result, REF_NONE: zero, used for real
 * and complex results; back: cotangents by argument. */
static void emit_vjp(Builder *b, const HostFn *h, const Ref *x, const Ref *y, const Ref *w,
                     int64_t mask, Ref *back) {
	Ctx *c = build_ctx(b);
	Ref args[3 * PLACES], results[PLACES];
	uint32_t n = 0, m = 0;
	for (uint32_t k = 0; k < h->sig.nin; k++) args[n++] = x[k];
	for (uint32_t k = 0; k < h->sig.nout; k++) args[n++] = y[k];
	for (uint32_t k = 0; k < h->sig.nout; k++)
		if (inexact_out(c, h, k)) args[n++] = or_zeros(b, w[k], y[k]);
	if (mask)
		build_host(b, host_call_intern(c, &h->vjp, 0, NULL, 1, &mask), n, args, results, PLACES);
	for (uint32_t k = 0; k < h->sig.nin; k++) back[k] = in_mask(mask, k) ? results[m++] : REF_NONE;
}

static _Noreturn void no_second(Builder *b, const HostFn *h) {
	Ctx *c = build_ctx(b);
	diag_error(c, E_NO_RULE, span_of(c, build_span(b)),
	           "the host function `%s` has no second derivative", h->host.name);
	ctx_throw(c, ST_ERROR);
}

static void value_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                      const Ref *results, const Ref *tangents, Ref *out) {
	(void)nargs;
	emit_jvp(b, call->def->ud, args, results, tangents, out);
}

/* Linear in dx; x and y must have no tangents. */
static void jvp_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                    const Ref *results, const Ref *tangents, Ref *out) {
	const HostFn *h = call->def->ud;
	uint32_t fixed = h->sig.nin + h->sig.nout, at = fixed, m = 0;
	Ref ddx[PLACES], dy[PLACES];
	(void)results;
	for (uint32_t k = 0; k < fixed; k++)
		if (tangents[k] != REF_NONE) no_second(b, h);
	for (uint32_t k = 0; k < h->sig.nin; k++)
		ddx[k] = in_mask(mask_of(call), k) && at < nargs ? tangents[at++] : REF_NONE;
	emit_jvp(b, h, args, args + h->sig.nin, ddx, dy);
	for (uint32_t k = 0; k < h->sig.nout; k++)
		if (inexact_out(build_ctx(b), h, k)) out[m++] = dy[k];
}

static void jvp_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                          const bool *linear, const Ref *result_cotangents, Ref *cotangents) {
	const HostFn *h = call->def->ud;
	uint32_t fixed = h->sig.nin + h->sig.nout, at = fixed, m = 0;
	Ref w[PLACES], back[PLACES];
	int64_t mask = 0;
	for (uint32_t k = 0; k < nargs; k++) cotangents[k] = REF_NONE;
	for (uint32_t k = 0; k < fixed; k++)
		if (linear[k]) no_second(b, h);
	for (uint32_t k = 0; k < h->sig.nout; k++)
		w[k] = inexact_out(build_ctx(b), h, k) ? result_cotangents[m++] : REF_NONE;
	for (uint32_t k = 0; k < h->sig.nin; k++)
		if (in_mask(mask_of(call), k) && linear[at++]) mask |= (int64_t)1 << k;
	emit_vjp(b, h, args, args + h->sig.nin, w, mask, back);
	at = fixed;
	for (uint32_t k = 0; k < h->sig.nin; k++)
		if (in_mask(mask_of(call), k)) cotangents[at++] = back[k];
}

/* Linear in w. */
static void vjp_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                    const Ref *results, const Ref *tangents, Ref *out) {
	const HostFn *h = call->def->ud;
	uint32_t fixed = h->sig.nin + h->sig.nout, at = fixed, m = 0;
	Ref dw[PLACES], back[PLACES];
	bool some = false;
	(void)results;
	for (uint32_t k = 0; k < fixed; k++)
		if (tangents[k] != REF_NONE) no_second(b, h);
	for (uint32_t k = 0; k < h->sig.nout; k++) {
		dw[k] = inexact_out(build_ctx(b), h, k) && at < nargs ? tangents[at++] : REF_NONE;
		some |= dw[k] != REF_NONE;
	}
	if (some) emit_vjp(b, h, args, args + h->sig.nin, dw, mask_of(call), back);
	for (uint32_t k = 0; k < h->sig.nin; k++)
		if (in_mask(mask_of(call), k)) out[m++] = some ? back[k] : REF_NONE;
}

static void vjp_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                          const bool *linear, const Ref *result_cotangents, Ref *cotangents) {
	const HostFn *h = call->def->ud;
	uint32_t fixed = h->sig.nin + h->sig.nout, at = fixed, m = 0;
	Ref dx[PLACES], dy[PLACES];
	for (uint32_t k = 0; k < nargs; k++) cotangents[k] = REF_NONE;
	for (uint32_t k = 0; k < fixed; k++)
		if (linear[k]) no_second(b, h);
	for (uint32_t k = 0; k < h->sig.nin; k++)
		dx[k] = in_mask(mask_of(call), k) ? result_cotangents[m++] : REF_NONE;
	emit_jvp(b, h, args, args + h->sig.nin, dx, dy);
	for (uint32_t k = 0; k < h->sig.nout; k++)
		if (inexact_out(build_ctx(b), h, k)) {
			if (linear[at]) cotangents[at] = dy[k];
			at++;
		}
}

/* ---- defining ------------------------------------------------------------ */

static void want_known_lengths(Ctx *c, const HostFn *h) {
	int64_t values[TYPE_SYMS], shape[MAX_RANK];
	for (uint32_t s = 0; s < TYPE_SYMS; s++) values[s] = -1;
	for (uint32_t k = 0; k < h->sig.nin; k++) {
		const Type t = *type_of(c, h->sig.in[k]);
		SymId s;
		for (uint32_t d = 0; d < t.rank; d++)
			if (dim_is_sym(c, t.dims[d], &s)) values[s] = 1000000;
	}
	for (uint32_t k = 0; k < h->sig.nout; k++)
		if (!signature_shape(c, h->sig.out[k], values, shape))
			api_misuse(c, "a length of result %u of `%s` does not come from an argument", k,
			           h->host.name);
}

typedef struct HostDefinition {
	const atled_host *host;
} HostDefinition;

static void define_body(Ctx *c, void *arg) {
	atled_context *x = api_of(c);
	Arena *a = ctx_arena(c);
	atled_host given = {0};
	const atled_host *from = ((HostDefinition *)arg)->host;
	memcpy(&given, from, from->size < sizeof given ? from->size : sizeof given);
	if (!given.name || !given.type || !given.value)
		api_misuse(c, "a host function needs a name, a type and a value");
	if (!api_is_name(given.name)) api_misuse(c, "`%s` cannot be a name", given.name);
	HostFn *h = ARENA_NEW(a, HostFn);
	h->host = given;
	h->host.name = arena_copy(a, given.name, strlen(given.name));
	h->host.type = arena_copy(a, given.type, strlen(given.type));
	h->sig = signature_read(c, a, h->host.type);
	if (!h->sig.has_results || !h->sig.nout)
		api_misuse(c, "the type of `%s` says no results", given.name);
	if (h->sig.nin > PLACES || h->sig.nout > 8)
		api_misuse(c, "a host function has at most %u arguments and 8 results", PLACES);
	want_known_lengths(c, h);
	bool any = given.jvp || given.vjp;
	h->value = (HostDef){.name = h->host.name,
	                     .ud = h,
	                     .types = value_types,
	                     .eval = value_eval,
	                     .jvp = any ? value_jvp : NULL};
	h->jvp = (HostDef){.name = h->host.name,
	                   .ud = h,
	                   .types = jvp_types,
	                   .eval = jvp_eval,
	                   .jvp = jvp_jvp,
	                   .transpose = given.vjp ? jvp_transpose : NULL};
	h->vjp = (HostDef){.name = h->host.name,
	                   .ud = h,
	                   .types = vjp_types,
	                   .eval = vjp_eval,
	                   .jvp = vjp_jvp,
	                   .transpose = given.jvp ? vjp_transpose : NULL};
	VEC_RESERVE(a, &x->hosts, x->hosts.n + 1);
	api_want(c, session_define_host(x->session, given.name, &h->value, (int)h->sig.nin));
	if (given.free_ud) x->hosts.at[x->hosts.n++] = &h->host;
}

atled_status atled_define_host(atled_context *x, const atled_host *host) {
	API_WANT(x, host, "host is NULL");
	API_WANT(x, host->size >= offsetof(atled_host, jvp), "host->size is not set");
	return api_run(x, ENTER_ALONE, define_body, &(HostDefinition){host});
}
