/* second.c - derivatives of the derivatives of "ode": of its tangent and of its adjoint.
 *
 * Needs: second.h, ode.h for the layout of the calls. Guarantees: derivatives of "ode" in any order forward, of those
 * backward once, and Hessians in every mode; what is beyond that is refused by name.
 *
 * The tangent s of a solution y solves an equation of its own, so (y, s) is the solution of a *doubled* system,
 *     z' = (f(t, y; p), J s + f_p dp),   z(t0) = (y0, dy0),   with parameters (p, dp),
 * and the derivative of the tangent is the tangent of the doubled system. Its Jacobian is (J, 0; *, J), of which the
 * lower left block is left out: Newton's method then errs by a nilpotent matrix only and needs an iteration more.
 *
 * The adjoint gives g = (dY/dx)^T w for x = (y0, p). Its derivative in w is the adjoint again; in x it is the Hessian
 * of <w, Y(x)> times dx, which is symmetric, so that "ode_curvature" is its own transpose. It is the gradient, in x,
 * of <w, s> for the doubled system started in the direction dx.
 */
#include "solvers/second.h"
#include "solvers/ode.h"

const char *const CURVATURE = "ode_curvature";

static Arena *scratch(Builder *b) {
	return build_fn(b)->arena;
}

static Ref joined(Builder *b, Ref x, Ref y) {
	return build_concat(b, 2, (Ref[]){x, y}, 0);
}

static Ref or_zeros(Builder *b, Ref x, Ref like) {
	return x != REF_NONE ? x : build_zeros(b, ref_type(build_fn(b), like));
}

/* ---- the doubled system ---------------------------------------------------------------------------------------- */

/* The parameter z of a doubled function that replaces y, and its halves. */
typedef struct Halves {
	Ref z;
	Dim half;
} Halves;

static Halves halves_param(Builder *b, const Fn *f, Ref y) {
	Ctx *c = build_ctx(b);
	const Dim n = ref_ty(f, y)->dims[0];
	int64_t length;
	const bool known = dim_is_const(c, n, &length);
	const Dim both = known ? dim_const(c, 2 * length) : build_fresh_dim(b, atom(c, "n"), f->span);
	return (Halves){build_param(b, type_tensor(c, DT_F64, 1, &both), 0), known ? n : dim_floordiv(c, both, 2)};
}

static Ref half_of(Builder *b, Halves h, bool second) {
	const Dim start = second ? h.half : dim_const(build_ctx(b), 0);
	return build_slice(b, h.z, &start, &h.half, NULL);
}

/* (captured..., dp of the active ones..., t, z) -> z', from the jvp of f. */
static Fn *doubled_f(Ctx *c, Fn *jvp, uint32_t ncaptured, uint32_t nactive) {
	Builder *b = build_begin(c, atom_f(c, "%s doubled", atom_text(c, jvp->name)), jvp->span, jvp);
	Ref *args = ARENA_ARRAY(scratch(b), Ref, ncaptured + nactive + 3), out[2] = {REF_NONE, REF_NONE};
	for (uint32_t k = 0; k < ncaptured; k++) args[k] = build_param(b, ref_type(jvp, fn_param(jvp, k)), 0);
	for (uint32_t k = 0; k < nactive; k++) {
		const uint32_t at = ncaptured + 2 + k;
		args[at] = build_param(b, ref_type(jvp, fn_param(jvp, at)), 0);
	}
	args[ncaptured] = build_param(b, type_scalar(c, DT_F64), 0);
	const Halves h = halves_param(b, jvp, fn_param(jvp, ncaptured + 1));
	args[ncaptured + 1] = half_of(b, h, false);
	args[ncaptured + 2 + nactive] = half_of(b, h, true);
	build_call(b, jvp, ncaptured + nactive + 3, args, out);
	if (fn_nresults(jvp) < 2)
		out[1] = build_zeros(b, ref_type(build_fn(b), args[ncaptured + 1])); /* f depends on nothing active */
	Ref r = joined(b, out[0], out[1]);
	return build_end(b, 1, &r);
}

/* (captured..., t, z) -> the two diagonal blocks. */
static Fn *doubled_jacobian(Ctx *c, Fn *jac, uint32_t ncaptured, bool dense) {
	Builder *b = build_begin(c, atom_f(c, "%s doubled", atom_text(c, jac->name)), jac->span, jac);
	Ref *args = ARENA_ARRAY(scratch(b), Ref, ncaptured + 2), j, r;
	for (uint32_t k = 0; k <= ncaptured; k++) args[k] = build_param(b, ref_type(jac, fn_param(jac, k)), 0);
	args[ncaptured + 1] = half_of(b, halves_param(b, jac, fn_param(jac, ncaptured + 1)), false);
	build_call(b, jac, ncaptured + 2, args, &j);
	if (dense) {
		Ref zero = build_zeros(b, ref_type(build_fn(b), j));
		r = joined(b, build_concat(b, 2, (Ref[]){j, zero}, 1), build_concat(b, 2, (Ref[]){zero, j}, 1));
	} else {
		r = joined(b, j, j);
	}
	return build_end(b, 1, &r);
}

static int64_t *doubled_options(Builder *b, const HostCall *call, uint32_t nactive) {
	int64_t *out = ARENA_ARRAY(scratch(b), int64_t, ODE_OPTIONS);
	memcpy(out, call->options, ODE_OPTIONS * sizeof *out);
	out[1] += nactive;
	return out;
}

/* The doubled "ode" call's functions; each with a reference. */
static void doubled_functions(Ctx *c, const HostCall *call, Fn *jvp, uint32_t nactive, Fn **fns) {
	fns[ODE_F] = doubled_f(c, jvp, (uint32_t)call->options[1], nactive);
	fns[ODE_JAC] = doubled_jacobian(c, call->fns[ODE_JAC], (uint32_t)call->options[2], call->options[ODE_LINEAR] == 0);
}

/* ---- the derivative of the tangent ----------------------------------------------------------------------------- */

/* x + 0.01 max x, but 1 where all are 0: what directions.c takes for the size of values of magnitude x, up to a
 * factor of two. */
static Ref largest_ratio(Builder *b, Ref p, Ref dp) {
	const TypeId t = ref_type(build_fn(b), p);
	const Type type = *type_of(build_ctx(b), t);
	int axes[MAX_RANK];
	for (int k = 0; k < type.rank; k++) axes[k] = k;
	Ref size = build_convert(b, build1(b, OP_ABS, p), DT_F64), ratio = build_convert(b, build1(b, OP_ABS, dp), DT_F64);
	Ref most = type.rank ? build_reduce(b, OP_REDUCE_MAX, size, type.rank, axes) : size;
	Ref none = build2(b, OP_LE, most, build_f64(b, 0));
	Ref least = build_select(b, none, build_f64(b, 1), build2(b, OP_MUL, build_f64(b, 0.01), most));
	size = build2(b, OP_ADD, size, build_broadcast_scalar(b, least, ref_type(build_fn(b), size)));
	ratio = build2(b, OP_DIV, ratio, size);
	return type.rank ? build_reduce(b, OP_REDUCE_MAX, ratio, type.rank, axes) : ratio;
}

/* atol of (y, s): that of s is that of y times the size of the direction. */
static Ref doubled_atol(Builder *b, const Ref *args, Active v, Ref dy0, const Ref *dp) {
	Ref y0 = args[ODE_Y0], size = build_f64(b, 1e-200); /* a direction of zeros: s stays 0 */
	const TypeId vector = ref_type(build_fn(b), y0);
	if (v.y0) size = build2(b, OP_MAX, size, largest_ratio(b, y0, dy0));
	for (uint32_t k = 0; k < v.ncaptured; k++)
		size = build2(b, OP_MAX, size, largest_ratio(b, args[ODE_OPERANDS + (uint32_t)v.captured[k]], dp[k]));
	Ref some = build2(b, OP_MUL, build_f64(b, 1e-3), args[ODE_RTOL]); /* where atol is 0 */
	Ref atol = build2(b, OP_ADD, args[ODE_ATOL],
	                  build2(b, OP_MUL, build_broadcast_scalar(b, some, vector), build1(b, OP_ABS, y0)));
	return joined(b, args[ODE_ATOL], build2(b, OP_MUL, atol, build_broadcast_scalar(b, size, vector)));
}

static void doubled_pattern(Builder *b, const HostCall *call, const Ref *args, Ref *colptr, Ref *rowind) {
	Ctx *c = build_ctx(b);
	*colptr = args[ODE_COLPTR];
	*rowind = args[ODE_ROWIND];
	if (call->options[ODE_LINEAR] == 0) return;
	const TypeId tc = ref_type(build_fn(b), *colptr), tr = ref_type(build_fn(b), *rowind);
	const Dim nc = type_of(c, tc)->dims[0], nnz = type_of(c, tr)->dims[0], one = dim_const(c, 1);
	const Dim n = ref_ty(build_fn(b), args[ODE_Y0])->dims[0], rest = dim_sub(c, nc, one);
	Ref more = build2(b, OP_ADD, *colptr, build_broadcast_scalar(b, build_extent(b, nnz), tc));
	*colptr = joined(b, *colptr, build_slice(b, more, &one, &rest, NULL));
	*rowind = joined(b, *rowind, build2(b, OP_ADD, *rowind, build_broadcast_scalar(b, build_extent(b, n), tr)));
}

void tangent_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const Ref *results,
                 const Ref *tangents, Ref *result_tangents) {
	(void)nargs;
	(void)results;
	Ctx *c = build_ctx(b);
	const Active v = active_of(&ode_family, call);
	const uint32_t base = family_base(&ode_family, call), ncaptured = (uint32_t)call->options[1],
				   njac = (uint32_t)call->options[2];
	const Ref *first = args + base + 1 + v.y0, *dfirst = tangents + base + 1 + v.y0; /* dp, and its tangents */
	const Ref y0 = args[ODE_Y0], dy0 = or_zeros(b, v.y0 ? args[base + 1] : REF_NONE, y0);
	const Ref ddy0 = v.y0 ? tangents[base + 1] : REF_NONE;
	Fn *fns[ODE_NFNS];
	doubled_functions(c, call, call->fns[ODE_NFNS], v.ncaptured, fns);
	const HostId id = host_call_intern(c, host_find(c, ode_family.name), ODE_NFNS, fns, ODE_OPTIONS,
	                                   doubled_options(b, call, v.ncaptured));
	fn_unref(fns[0]);
	fn_unref(fns[1]);
	const uint32_t n = ODE_OPERANDS + ncaptured + v.ncaptured + njac;
	Ref *in = ARENA_ARRAY(scratch(b), Ref, n), *din = ARENA_ARRAY(scratch(b), Ref, n),
		out[3] = {args[base], REF_NONE, REF_NONE}, dout[3];
	memcpy(in, args, ODE_OPERANDS * sizeof *in);
	memcpy(din, tangents, ODE_OPERANDS * sizeof *din);
	in[ODE_Y0] = joined(b, y0, dy0);
	if (tangents[ODE_Y0] != REF_NONE || ddy0 != REF_NONE)
		din[ODE_Y0] = joined(b, or_zeros(b, tangents[ODE_Y0], y0), or_zeros(b, ddy0, y0));
	in[ODE_ATOL] = doubled_atol(b, args, v, dy0, first);
	doubled_pattern(b, call, args, &in[ODE_COLPTR], &in[ODE_ROWIND]);
	in[ODE_SAVEAT] = args[base];
	din[ODE_SAVEAT] = tangents[base];
	uint32_t at = ODE_OPERANDS;
	for (uint32_t k = 0; k < ncaptured; k++, at++) {
		in[at] = args[ODE_OPERANDS + k];
		din[at] = tangents[ODE_OPERANDS + k];
	}
	for (uint32_t k = 0; k < v.ncaptured; k++, at++) {
		in[at] = first[k];
		din[at] = dfirst[k];
	}
	for (uint32_t k = 0; k < njac; k++, at++) {
		in[at] = args[ODE_OPERANDS + ncaptured + k];
		din[at] = REF_NONE;
	}
	/* the doubled solution itself is wanted only where rows move */
	if (tangents[base] != REF_NONE) build_host(b, id, n, in, out, 3);
	solver_jvp(b, host_call(c, id), n, in, out, din, dout);
	result_tangents[0] = REF_NONE;
	if (dout[1] == REF_NONE) return;
	const Type t = *ref_ty(build_fn(b), dout[1]);
	const Dim half = ref_ty(build_fn(b), y0)->dims[0];
	result_tangents[0] = build_slice(b, dout[1], (Dim[]){dim_const(c, 0), half}, (Dim[]){t.dims[0], half}, NULL);
}

/* ---- the derivative of the adjoint ----------------------------------------------------------------------------- */

/* w is what an adjoint is linear in: cotangents g of its results give the tangent in the direction g. */
void adjoint_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const bool *linear,
                       const Ref *result_cotangents, Ref *cotangents) {
	Ctx *c = build_ctx(b);
	const Active v = active_of(&ode_family, call);
	const uint32_t base = family_base(&ode_family, call);
	Ref *in = ARENA_ARRAY(scratch(b), Ref, base + 2 + v.ncaptured), out;
	uint32_t n = base + 1;
	memcpy(in, args, n * sizeof *in);
	if (v.y0) in[n++] = or_zeros(b, result_cotangents[0], args[ODE_Y0]);
	for (uint32_t k = 0; k < v.ncaptured; k++)
		in[n++] = or_zeros(b, result_cotangents[v.y0 + k], args[ODE_OPERANDS + (uint32_t)v.captured[k]]);
	for (uint32_t k = 0; k < nargs; k++) cotangents[k] = REF_NONE;
	if (!linear[base + 1]) return;
	HostId id = host_call_intern(c, host_find(c, ode_family.tangent), 3, call->fns, call->noptions, call->options);
	build_host(b, id, n, in, &out, 1);
	cotangents[base + 1] = out;
}

/* What is active in an adjoint or has a tangent now: the Hessian is taken in all of it, to be symmetric. */
static Active united(Builder *b, const HostCall *call, const Ref *tangents) {
	const Active v = active_of(&ode_family, call);
	const uint32_t n = (uint32_t)call->options[1];
	int64_t *which = ARENA_ARRAY(scratch(b), int64_t, n + 1);
	Active u = {.y0 = v.y0 || tangents[ODE_Y0] != REF_NONE, .captured = which};
	for (uint32_t k = 0, next = 0; k < n; k++) {
		const bool was = next < v.ncaptured && v.captured[next] == k;
		next += was;
		if (was || tangents[ODE_OPERANDS + k] != REF_NONE) which[u.ncaptured++] = k;
	}
	return u;
}

static HostId curvature_call(Builder *b, const HostCall *call, Active u) {
	Ctx *c = build_ctx(b);
	const uint32_t ncaptured = (uint32_t)call->options[1], nd = ncaptured + u.ncaptured;
	bool *active = ARENA_ARRAY(scratch(b), bool, nd + 2), changes;
	active[ncaptured + 1] = true;
	for (uint32_t k = 0; k < u.ncaptured; k++) active[u.captured[k]] = true;
	Fn *jvp = ir_services(c)->jvp(c, call->fns[ODE_F], active, &changes), *fns[5], *made[4] = {NULL};
	doubled_functions(c, call, jvp, u.ncaptured, made);
	fns[ODE_F] = made[0];
	fns[ODE_JAC] = made[1];
	memset(active, 0, (nd + 2) * sizeof *active);
	active[nd + 1] = true;
	made[2] = vjp_of(c, made[0], active);
	for (uint32_t k = 0; k < u.ncaptured; k++) active[u.captured[k]] = true;
	fns[ODE_NFNS] = ir_services(c)->jvp(c, made[0], active, &changes);
	active[nd + 1] = false;
	if (u.ncaptured) made[3] = vjp_of(c, made[0], active);
	uint32_t nfns = 3, noptions;
	for (uint32_t k = 2; k < 4; k++)
		if (made[k]) fns[nfns++] = made[k];
	u.vjp_state = made[2] != NULL;
	u.vjp_captured = made[3] != NULL;
	const int64_t *options = derived_options(b, &ode_family, doubled_options(b, call, u.ncaptured), u, &noptions);
	HostId id = host_call_intern(c, host_find(c, CURVATURE), nfns, fns, noptions, options);
	for (uint32_t k = 0; k < 4; k++)
		if (made[k]) fn_unref(made[k]);
	return id;
}

void adjoint_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const Ref *results,
                 const Ref *tangents, Ref *result_tangents) {
	Ctx *c = build_ctx(b);
	(void)results;
	const Active v = active_of(&ode_family, call), u = united(b, call, tangents);
	const uint32_t base = family_base(&ode_family, call), nresults = v.y0 + v.ncaptured;
	bool moves = false;
	if (tangents[ODE_T0] != REF_NONE || tangents[base] != REF_NONE)
		refuse_derivative(b, ode_family.name, "with respect to times, of a derivative that was taken backward");
	for (uint32_t k = 0; k < nresults; k++) result_tangents[k] = REF_NONE;
	if (tangents[base + 1] != REF_NONE) {
		Ref *in = ARENA_ARRAY(scratch(b), Ref, nargs);
		memcpy(in, args, nargs * sizeof *in);
		in[base + 1] = tangents[base + 1];
		HostId id = host_call_intern(c, call->def, call->nfns, call->fns, call->noptions, call->options);
		build_host(b, id, nargs, in, result_tangents, nresults);
	}
	for (uint32_t k = 0; k < u.ncaptured; k++) moves |= tangents[ODE_OPERANDS + (uint32_t)u.captured[k]] != REF_NONE;
	if (!moves && tangents[ODE_Y0] == REF_NONE) return;
	uint32_t n = base + 2, from = u.y0;
	Ref *in = ARENA_ARRAY(scratch(b), Ref, n + 1 + u.ncaptured), *out = ARENA_ARRAY(scratch(b), Ref, u.ncaptured + 1);
	memcpy(in, args, n * sizeof *in);
	if (u.y0) in[n++] = or_zeros(b, tangents[ODE_Y0], args[ODE_Y0]);
	for (uint32_t k = 0; k < u.ncaptured; k++) {
		const uint32_t at = ODE_OPERANDS + (uint32_t)u.captured[k];
		in[n++] = or_zeros(b, tangents[at], args[at]);
	}
	build_host(b, curvature_call(b, call, u), n, in, out, u.y0 + u.ncaptured);
	for (uint32_t k = 0; k < nresults; k++) { /* those that the adjoint has */
		if (k >= v.y0)
			while (u.captured[from - u.y0] != v.captured[k - v.y0]) from++;
		Ref more = k < v.y0 ? out[0] : out[from];
		result_tangents[k] = result_tangents[k] == REF_NONE ? more : build2(b, OP_ADD, result_tangents[k], more);
	}
}

uint32_t curvature_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs, TypeId *out, uint32_t cap) {
	const Active u = active_of(&ode_family, call);
	const uint32_t base = family_base(&ode_family, call) - u.ncaptured;
	if (cap < u.y0 + u.ncaptured || nargs != base + 2 + u.y0 + u.ncaptured)
		refuse_derivative(b, CURVATURE, "from operands like these");
	for (uint32_t k = 0; k < u.y0 + u.ncaptured; k++) out[k] = ref_type(build_fn(b), args[base + 2 + k]);
	return u.y0 + u.ncaptured;
}

void curvature_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const bool *linear,
                         const Ref *result_cotangents, Ref *cotangents) {
	const Active u = active_of(&ode_family, call);
	const uint32_t base = family_base(&ode_family, call) - u.ncaptured, nresults = u.y0 + u.ncaptured;
	if (linear[base + 1]) refuse_derivative(b, ode_family.name, "of third order, backward");
	Ref *in = ARENA_ARRAY(scratch(b), Ref, nargs), *out = ARENA_ARRAY(scratch(b), Ref, nresults);
	memcpy(in, args, (base + 2) * sizeof *in);
	for (uint32_t k = 0; k < nargs; k++) cotangents[k] = REF_NONE;
	for (uint32_t k = 0; k < nresults; k++) {
		const Ref like = u.y0 && k == 0 ? args[ODE_Y0] : args[ODE_OPERANDS + (uint32_t)u.captured[k - u.y0]];
		in[base + 2 + k] = or_zeros(b, result_cotangents[k], like);
	}
	HostId id = host_call_intern(build_ctx(b), call->def, call->nfns, call->fns, call->noptions, call->options);
	build_host(b, id, nargs, in, out, nresults);
	for (uint32_t k = 0; k < nresults; k++)
		if (linear[base + 2 + k]) cotangents[base + 2 + k] = out[k];
}
