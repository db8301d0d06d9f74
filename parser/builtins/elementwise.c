/* elementwise.c - builtins that compute element by element: the primitives of
 * prims.def, conversions between dtypes, choices, host functions of scalars.
 *
 * Needs: table.h.
 *
 * Contract: as arrays.c. Operands broadcast by NumPy's rules.
 */
#include "parser/builtins/table.h"

BUILTIN(elementwise) {
	UNUSED;
	for (uint32_t i = 0; i < call->n; i++)
		if (call->args[i]->kind == AV_DYN)
			return sp_call_dynamic(sp, av_builtin(sp, self->name, 0, NULL), call->n, call->args,
			                       call->span);
	for (uint32_t i = 0; i < call->n; i++)
		if (call->args[i]->kind == AV_FUNCTION)
			return av_builtin(sp, "_compose", 2,
			                  (Av *[]){av_builtin(sp, self->name, 0, NULL), call->args[0]});
	return sp_elementwise(sp, self->op, call->n, call->args, call->span);
}

/* _each(name, x, ...): a host function of scalars, applied to each element in
 * f64. For single precision the result is rounded. */
BUILTIN(each) {
	UNUSED;
	const char *name = sp_want_string(sp, call->args[0], call->spans[0], "a function's name");
	const HostDef *def = host_find(sp->c, arena_printf(sp->a, "each.%s", name));
	const uint32_t n = call->n - 1;
	if (!def || def->nargs != n)
		sp_fail(sp, E_HOST, call->span, "there is no function `%s` of %u numbers here", name, n);
	for (uint32_t i = 1; i <= n; i++)
		if (call->args[i]->kind == AV_DYN)
			return sp_call_dynamic(sp, av_builtin(sp, self->name, 0, NULL), call->n, call->args,
			                       call->span);
	Av *x[MAX_RANK];
	Ref r[MAX_RANK], y;
	bool weak = true;
	Dtype d = DT_BOOL;
	for (uint32_t i = 0; i < n; i++) {
		x[i] = sp_want_array(sp, call->args[1 + i], sp_user_place(sp, call->span), name);
		weak = weak && x[i]->weak;
		if (dtype_is_complex((Dtype)ty(sp, x[i]->ref)->dtype)) {
			Diag *e = diag_error(sp->c, E_DTYPE, sp_user_place(sp, call->span),
			                     "`%s` takes real numbers, not %s", name, sp_type_text(sp, x[i]));
			diag_hint(sp->c, e, "real(z), imag(z) or abs(z)");
			sp_throw(sp);
		}
	}
	/* The result is f32 if an f32 meets only f32, weak numbers and integers. */
	for (uint32_t i = 0; i < n; i++) {
		const Dtype di = (Dtype)ty(sp, x[i]->ref)->dtype;
		if (di == DT_F32 && d != DT_F64) d = DT_F32;
		if (di == DT_F64 && !x[i]->weak) d = DT_F64;
		r[i] = sp_to_dtype(sp, x[i], DT_F64);
	}
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 1; i < n; i++)
			sp_broadcast_pair(sp, &r[0], &r[i], x[0], x[i], sp_user_place(sp, call->span),
			                  "combine");
	sp_at(sp, call->span);
	build_host(sp->b, host_call_intern(sp->c, def, 0, NULL, 0, NULL), n, r, &y, 1);
	Av *v = av_array(sp, d == DT_F32 ? build_convert(sp->b, y, DT_F32) : y);
	v->weak = weak;
	return v;
}

BUILTIN(where) {
	UNUSED;
	Av *c = sp_want_array(sp, call->args[0], call->spans[0], "where"),
	   *x = sp_want_array(sp, call->args[1], call->spans[1], "where"),
	   *y = sp_want_array(sp, call->args[2], call->spans[2], "where");
	if (ty(sp, c->ref)->dtype != DT_BOOL)
		sp_fail(sp, E_TYPE, call->spans[0], "the first argument of `where` is a condition, not %s",
		        sp_type_text(sp, c));
	Dtype d = sp_common_dtype(sp, x, y);
	Ref rc = c->ref, rx = sp_to_dtype(sp, x, d), ry = sp_to_dtype(sp, y, d);
	for (int pass = 0; pass < 2; pass++) {
		sp_broadcast_pair(sp, &rx, &ry, x, y, call->span, "choose between");
		sp_broadcast_pair(sp, &rc, &rx, c, x, call->span, "choose between");
	}
	sp_broadcast_pair(sp, &rc, &ry, c, y, call->span, "choose between");
	Av *v = av_array(sp, build_select(sp->b, rc, rx, ry));
	v->weak = x->weak && y->weak;
	return v;
}

BUILTIN(convert) {
	UNUSED;
	Dtype d = DT_F64;
	dtype_from_name(self->name, &d);
	Av *x = call->args[0];
	if (x->kind == AV_STRING) return sp_number_of(sp, x, d, sp_user_place(sp, call->span));
	x = sp_want_array(sp, x, call->spans[0], self->name);
	if (dtype_is_complex((Dtype)ty(sp, x->ref)->dtype) && !dtype_is_complex(d) && d != DT_BOOL) {
		Diag *e = diag_error(sp->c, E_DTYPE, call->spans[0], "a complex number does not become %s",
		                     dtype_name(d));
		diag_hint(sp->c, e, "real(z) or abs(z)");
		sp_throw(sp);
	}
	return av_array(sp, build_convert(sp->b, x->ref, d));
}

BUILTIN(rounding) {
	if (call->n == 2) return sp_call_library(sp, "_round_to", 2, call->args, call->span);
	return elementwise(sp, self, ncaptured, captured, call);
}

/* ---- the table ----------------------------------------------------------- */

/* The element-wise primitives that users call by name come from prims.def. */
const Builtin builtins_elementwise[] = {
#define USER_CALL(NAME, N, ID, DOC)                                                                \
	{.name = NAME, .min_args = N, .max_args = N, .run = elementwise, .op = OP_##ID, .doc = DOC},
#define USER_SIGN(NAME, N, ID, DOC)
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	USER_##USER(name, 1, ID, doc)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	USER_##USER(name, 2, ID, doc)
#include "lang/ir/prims.def"
	{.name = "round",
     .min_args = 1,
     .max_args = 2,
     .run = rounding,
     .op = OP_ROUND,
     .doc = "round(x): nearest integer, ties to even; round(x, n): to n decimal places"},
	{.name = "stop_gradient",
     .min_args = 1,
     .max_args = 1,
     .run = elementwise,
     .op = OP_STOP,
     .doc = "stop_gradient(x): x, without a derivative"},
	{.name = "_each", .min_args = 2, .max_args = 6, .run = each},
	{.name = "bitshift",
     .min_args = 2,
     .max_args = 2,
     .run = elementwise,
     .op = OP_SHIFT,
     .doc = "bitshift(x, n): the bits of integers moved up by n places, down by -n; zeros "
            "come in"},
	{.name = "where",
     .min_args = 3,
     .max_args = 3,
     .run = where,
     .doc = "where(c, a, b): a where c is true, else b, element by element"},
	{.name = "bool",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "bool(x): whether x is not 0"},
	{.name = "i32",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "i32(x): integer of 32 bits, truncated"},
	{.name = "i64",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "i64(x): integer of 64 bits, truncated"},
	{.name = "f32",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "f32(x): real number of single precision"},
	{.name = "f64",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "f64(x): real number of double precision"},
	{.name = "c64",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "c64(x): complex number of single precision"},
	{.name = "c128",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "c128(x): complex number of double precision"},
	{.name = NULL},
};
