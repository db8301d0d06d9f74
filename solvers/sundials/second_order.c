/* second_order.c - derivatives of the tangents and adjoints of "ode" and "dae".
 *
 * Method: the tangent s of a solution y satisfies its own equation, so (y, s)
 * solves a doubled system,
 *     z' = (f(t, y; p), J s + f_p dp),  z(t0) = (y0, dy0),
 *     with parameters (p, dp).
 * - The derivative of the tangent is the tangent of the doubled system. Its
 *   Jacobian is (J, 0; *, J), whose lower left block is omitted. Newton's
 *   matrix then has a nilpotent error, which costs one more iteration.
 * - The adjoint is g = (dY/dx)^T w for x = (y0, p). Its derivative with respect
 *   to w is the adjoint again. That with respect to x is the Hessian of <w,
 *   Y(x)> times dx. It is symmetric, so the curvature is its own transpose.
 * - The curvature is the gradient of <w, s> for the doubled system in direction
 *   dx. It is thus the adjoint of that system for the cotangents (0, w), with
 *   the same derivatives.
 *
 * Needs: second_order.h; Family describes the layout of a call.
 *
 * Contract: "ode" and "dae" have derivatives of any order in any mixture of
 * modes. One case is refused with a message: derivatives of the adjoint of
 * "dae" with respect to times.
 */
#include "solvers/sundials/second_order.h"

static Arena *scratch(Builder *b) { return build_fn(b)->arena; }

static Ref joined(Builder *b, Ref x, Ref y) { return build_concat(b, 2, (Ref[]){x, y}, 0); }

static Ref or_zeros(Builder *b, Ref x, Ref like) {
	return x != REF_NONE ? x : build_zeros(b, ref_type(build_fn(b), like));
}

/* ---- the doubled system -------------------------------------------------- */

/* The parameter z that replaces y in a doubled function, and its half
 * extent. */
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
	return (Halves){build_param(b, type_tensor(c, DT_F64, 1, &both), 0),
	                known ? n : dim_floordiv(c, both, 2)};
}

static Ref half_of(Builder *b, Halves h, bool second) {
	const Dim start = second ? h.half : dim_const(build_ctx(b), 0);
	return build_slice(b, h.z, &start, &h.half, NULL);
}

/* From the jvp of f: (captured..., active dp..., t, z) -> z'. Implicit systems:
 * (captured..., active dp..., t, z, z') -> residual. */
static Fn *doubled_f(Ctx *c, Fn *jvp, uint32_t ncaptured, uint32_t nactive, uint32_t nstates) {
	Builder *b = build_begin(c, atom_f(c, "%s doubled", atom_text(c, jvp->name)), jvp->span, jvp);
	build_derivative(b);
	const uint32_t behind = ncaptured + 1 + nstates; /* index of the tangents in the jvp */
	Ref *args = ARENA_ARRAY(scratch(b), Ref, behind + nactive + nstates),
		out[2] = {REF_NONE, REF_NONE};
	for (uint32_t k = 0; k < ncaptured; k++)
		args[k] = build_param(b, ref_type(jvp, fn_param(jvp, k)), 0);
	for (uint32_t k = 0; k < nactive; k++) {
		const uint32_t at = behind + k;
		args[at] = build_param(b, ref_type(jvp, fn_param(jvp, at)), 0);
	}
	args[ncaptured] = build_param(b, type_scalar(c, DT_F64), 0);
	Halves h = halves_param(b, jvp, fn_param(jvp, ncaptured + 1));
	const Ref states[2] = {h.z,
	                       nstates > 1 ? build_param(b, ref_type(build_fn(b), h.z), 0) : REF_NONE};
	for (uint32_t k = 0; k < nstates; k++) {
		h.z = states[k];
		args[ncaptured + 1 + k] = half_of(b, h, false);
		args[behind + nactive + k] = half_of(b, h, true);
	}
	build_call(b, jvp, behind + nactive + nstates, args, out);
	if (fn_nresults(jvp) < 2) /* f depends on nothing active */
		out[1] = build_zeros(b, ref_type(build_fn(b), args[ncaptured + 1]));
	Ref r = joined(b, out[0], out[1]);
	return build_end(b, 1, &r);
}

/* (captured..., t, z) -> the two diagonal blocks. Implicit systems:
 * (captured..., t, z, z', cj). */
static Fn *doubled_jacobian(Ctx *c, Fn *jac, uint32_t ncaptured, bool dense, bool implicit) {
	Builder *b = build_begin(c, atom_f(c, "%s doubled", atom_text(c, jac->name)), jac->span, jac);
	build_derivative(b);
	Ref *args = ARENA_ARRAY(scratch(b), Ref, ncaptured + 4), j, r;
	for (uint32_t k = 0; k <= ncaptured; k++)
		args[k] = build_param(b, ref_type(jac, fn_param(jac, k)), 0);
	Halves h = halves_param(b, jac, fn_param(jac, ncaptured + 1));
	const Ref rate = implicit ? build_param(b, ref_type(build_fn(b), h.z), 0) : REF_NONE;
	if (implicit) args[ncaptured + 3] = build_param(b, type_scalar(c, DT_F64), 0);
	args[ncaptured + 1] = half_of(b, h, false);
	if (implicit) args[ncaptured + 2] = half_of(b, (Halves){rate, h.half}, false);
	build_call(b, jac, ncaptured + (implicit ? 4 : 2), args, &j);
	if (dense) {
		Ref zero = build_zeros(b, ref_type(build_fn(b), j));
		r = joined(b, build_concat(b, 2, (Ref[]){j, zero}, 1),
		           build_concat(b, 2, (Ref[]){zero, j}, 1));
	} else {
		r = joined(b, j, j);
	}
	return build_end(b, 1, &r);
}

static int64_t *doubled_options(Builder *b, const HostCall *call, uint32_t nactive) {
	const Family *m = call->def->ud;
	int64_t *out = ARENA_ARRAY(scratch(b), int64_t, m->noptions);
	memcpy(out, call->options, m->noptions * sizeof *out);
	out[1] += nactive;
	return out;
}

/* The functions of the doubled call, each with one reference. */
static void doubled_functions(Ctx *c, const HostCall *call, Fn *jvp, uint32_t nactive, Fn **fns) {
	const Family *m = call->def->ud;
	fns[FAMILY_F] = doubled_f(c, jvp, (uint32_t)call->options[1], nactive, m->implicit ? 2 : 1);
	fns[FAMILY_JAC] = doubled_jacobian(c, call->fns[FAMILY_JAC], (uint32_t)call->options[2],
	                                   call->options[m->linear] == 0, m->implicit);
}

/* ---- the derivative of the tangent --------------------------------------- */

/* The largest element; 0 of an empty array. */
static Ref largest_of(Builder *b, Ref x) {
	Ctx *c = build_ctx(b);
	const Type type = *type_of(c, ref_type(build_fn(b), x));
	if (!type.rank) return x;
	Dim one = dim_const(c, 1), all = one;
	for (int k = 0; k < type.rank; k++) all = dim_mul(c, all, type.dims[k]);
	Ref zero = build_zeros(b, type_tensor(c, DT_F64, 1, &one));
	return build_reduce(b, OP_REDUCE_MAX,
	                    build_concat(b, 2, (Ref[]){zero, build_reshape(b, x, 1, &all)}, 0), 1,
	                    (int[]){0});
}

/* The largest |dp| / size of p, where size is |p| + 0.01 max |p|, or 1 for
 * zeros. It equals that of sensitivity_directions.c up to a factor of two. */
static Ref largest_ratio(Builder *b, Ref p, Ref dp) {
	Ref size = build_convert(b, build1(b, OP_ABS, p), DT_F64),
		ratio = build_convert(b, build1(b, OP_ABS, dp), DT_F64);
	Ref most = largest_of(b, size);
	Ref none = build2(b, OP_LE, most, build_f64(b, 0));
	Ref least = build_select(b, none, build_f64(b, 1), build2(b, OP_MUL, build_f64(b, 0.01), most));
	size = build2(b, OP_ADD, size, build_broadcast_scalar(b, least, ref_type(build_fn(b), size)));
	return largest_of(b, build2(b, OP_DIV, ratio, size));
}

/* atol of (y, s): that of s is that of y times the size of the direction. */
static Ref doubled_atol(Builder *b, const Family *m, const Ref *args, Active v, Ref dy0,
                        const Ref *dp) {
	Ref y0 = args[m->y0], size = build_f64(b, 1e-200); /* for a zero direction: s stays 0 */
	const TypeId vector = ref_type(build_fn(b), y0);
	if (v.y0) size = build2(b, OP_MAX, size, largest_ratio(b, y0, dy0));
	for (uint32_t k = 0; k < v.ncaptured; k++)
		size = build2(b, OP_MAX, size,
		              largest_ratio(b, args[m->operands + (uint32_t)v.captured[k]], dp[k]));
	Ref some = build2(b, OP_MUL, build_f64(b, 1e-3), args[m->rtol]); /* for atol = 0 */
	Ref atol =
		build2(b, OP_ADD, args[m->atol],
	           build2(b, OP_MUL, build_broadcast_scalar(b, some, vector), build1(b, OP_ABS, y0)));
	return joined(b, args[m->atol],
	              build2(b, OP_MUL, atol, build_broadcast_scalar(b, size, vector)));
}

static void doubled_pattern(Builder *b, const HostCall *call, const Ref *args, Ref *in) {
	Ctx *c = build_ctx(b);
	const Family *m = call->def->ud;
	Ref *colptr = &in[m->colptr], *rowind = &in[m->rowind];
	*colptr = args[m->colptr];
	*rowind = args[m->rowind];
	if (call->options[m->linear] == 0) return;
	const TypeId tc = ref_type(build_fn(b), *colptr), tr = ref_type(build_fn(b), *rowind);
	const Dim nc = type_of(c, tc)->dims[0], nnz = type_of(c, tr)->dims[0], one = dim_const(c, 1);
	const Dim n = ref_ty(build_fn(b), args[m->y0])->dims[0], rest = dim_sub(c, nc, one);
	Ref more = build2(b, OP_ADD, *colptr, build_broadcast_scalar(b, build_extent(b, nnz), tc));
	*colptr = joined(b, *colptr, build_slice(b, more, &one, &rest, NULL));
	*rowind = joined(b, *rowind,
	                 build2(b, OP_ADD, *rowind, build_broadcast_scalar(b, build_extent(b, n), tr)));
}

/* A call to be doubled: its operands, times and direction, and optionally the
 * tangents of these. */
typedef struct Doubling {
	const Family *m;
	const HostCall *call;
	const Ref *args, *tangents; /* tangents: NULL: not needed */
	Active v;
	uint32_t ncaptured; /* captured values of f before doubling */
	uint32_t times;     /* index of the times */
	uint32_t dy0, dp;   /* indices of the direction */
} Doubling;

/* Builds the operands of the doubled call, followed by its times, and their
 * tangents. Returns their number. */
static uint32_t doubled_operands(Builder *b, const Doubling *d, Ref *in, Ref *din) {
	const Family *m = d->m;
	const Ref *args = d->args, *t = d->tangents, y0 = args[m->y0],
			  dy0 = or_zeros(b, d->v.y0 ? args[d->dy0] : REF_NONE, y0);
	const uint32_t njac = (uint32_t)d->call->options[2];
	memcpy(in, args, m->operands * sizeof *in);
	in[m->y0] = joined(b, y0, dy0);
	in[m->atol] = doubled_atol(b, m, args, d->v, dy0, args + d->dp);
	doubled_pattern(b, d->call, args, in);
	in[m->saveat] = args[d->times];
	if (m->implicit) {
		in[m->yp0] = joined(b, args[m->yp0], build_zeros(b, ref_type(build_fn(b), args[m->yp0])));
		in[m->id] = joined(b, args[m->id], args[m->id]);
	}
	uint32_t n = m->operands;
	memcpy(in + n, args + n, d->ncaptured * sizeof *in);
	memcpy(in + n + d->ncaptured, args + d->dp, d->v.ncaptured * sizeof *in);
	memcpy(in + n + d->ncaptured + d->v.ncaptured, args + n + d->ncaptured, njac * sizeof *in);
	n += d->ncaptured + d->v.ncaptured + njac;
	in[n] = args[d->times];
	if (!t) return n + 1;
	memset(din, 0, (n + 1) * sizeof *din);
	din[m->t0] = t[m->t0];
	const Ref ddy0 = d->v.y0 ? t[d->dy0] : REF_NONE;
	if (t[m->y0] != REF_NONE || ddy0 != REF_NONE)
		din[m->y0] = joined(b, or_zeros(b, t[m->y0], y0), or_zeros(b, ddy0, y0));
	memcpy(din + m->operands, t + m->operands, d->ncaptured * sizeof *din);
	memcpy(din + m->operands + d->ncaptured, t + d->dp, d->v.ncaptured * sizeof *din);
	din[n] = t[d->times];
	return n + 1;
}

/* The columns of the first or the second half. */
static Ref half_columns(Builder *b, Ref rows, Ref y0, bool second) {
	const Dim half = ref_ty(build_fn(b), y0)->dims[0], none = dim_const(build_ctx(b), 0);
	const Type t = *ref_ty(build_fn(b), rows);
	return build_slice(b, rows, (Dim[]){none, second ? half : none}, (Dim[]){t.dims[0], half},
	                   NULL);
}

void tangent_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                 const Ref *results, const Ref *tangents, Ref *result_tangents) {
	(void)results;
	Ctx *c = build_ctx(b);
	const Family *m = call->def->ud;
	const Active v = active_of(m, call);
	const uint32_t base = family_base(m, call);
	Fn *fns[FAMILY_NFNS];
	doubled_functions(c, call, call->fns[FAMILY_NFNS], v.ncaptured, fns);
	const HostId id = host_call_intern(c, host_find(c, m->name), FAMILY_NFNS, fns, m->noptions,
	                                   doubled_options(b, call, v.ncaptured));
	fn_unref(fns[0]);
	fn_unref(fns[1]);
	const Doubling d = {m,    call,     args,           tangents, v, (uint32_t)call->options[1],
	                    base, base + 1, base + 1 + v.y0};
	Ref *in = ARENA_ARRAY(scratch(b), Ref, nargs + v.ncaptured + 2),
		*din = ARENA_ARRAY(scratch(b), Ref, nargs + v.ncaptured + 2);
	Ref out[3] = {args[base], REF_NONE, REF_NONE}, dout[3];
	const uint32_t n = doubled_operands(b, &d, in, din) - 1;
	din[m->saveat] = tangents[base];
	/* the doubled solution is needed only if rows move */
	if (tangents[base] != REF_NONE) build_host(b, id, n, in, out, 3);
	solver_jvp(b, host_call(c, id), n, in, out, din, dout);
	result_tangents[0] =
		dout[1] == REF_NONE ? REF_NONE : half_columns(b, dout[1], args[m->y0], true);
}

/* ---- the derivative of the adjoint --------------------------------------- */

/* An adjoint is linear in w only. Its transpose for cotangents g of its results
 * is the tangent in the direction g. */
void adjoint_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                       const bool *linear, const Ref *result_cotangents, Ref *cotangents) {
	Ctx *c = build_ctx(b);
	const Family *m = call->def->ud;
	const Active v = active_of(m, call);
	const uint32_t base = family_base(m, call);
	for (uint32_t k = 0; k < nargs; k++)
		if (linear[k] && k != base + 1)
			refuse_derivative(b, m->name, "by what its adjoint is not linear in");
	Ref *in = ARENA_ARRAY(scratch(b), Ref, base + 2 + v.ncaptured), out;
	uint32_t n = base + 1;
	memcpy(in, args, n * sizeof *in);
	if (v.y0) in[n++] = or_zeros(b, result_cotangents[0], args[m->y0]);
	for (uint32_t k = 0; k < v.ncaptured; k++)
		in[n++] =
			or_zeros(b, result_cotangents[v.y0 + k], args[m->operands + (uint32_t)v.captured[k]]);
	for (uint32_t k = 0; k < nargs; k++) cotangents[k] = REF_NONE;
	if (!linear[base + 1]) return;
	HostId id =
		host_call_intern(c, host_find(c, m->tangent), 3, call->fns, call->noptions, call->options);
	build_host(b, id, n, in, &out, 1);
	cotangents[base + 1] = out;
}

/* Prepends n zero columns to w. */
static Ref below_zeros(Builder *b, Ref w) {
	return build_concat(b, 2, (Ref[]){build_zeros(b, ref_type(build_fn(b), w)), w}, 1);
}

/* The union of the adjoint's active parameters and those with a tangent (dy0:
 * of y0). The Hessian covers all of them, to be symmetric. */
static Active united(Builder *b, const HostCall *call, Ref dy0, const Ref *tangents) {
	const Family *m = call->def->ud;
	const Active v = active_of(m, call);
	const uint32_t n = (uint32_t)call->options[1];
	int64_t *which = ARENA_ARRAY(scratch(b), int64_t, n + 1);
	Active u = {.y0 = v.y0 || dy0 != REF_NONE, .captured = which};
	for (uint32_t k = 0, next = 0; k < n; k++) {
		const bool was = next < v.ncaptured && v.captured[next] == k;
		next += was;
		if (was || tangents[m->operands + k] != REF_NONE) which[u.ncaptured++] = k;
	}
	return u;
}

static HostId curvature_call(Builder *b, const HostCall *call, Active u) {
	Ctx *c = build_ctx(b);
	const Family *m = call->def->ud;
	const uint32_t ncaptured = (uint32_t)call->options[1], nd = ncaptured + u.ncaptured,
				   nstates = m->implicit ? 2 : 1;
	bool *active = ARENA_ARRAY(scratch(b), bool, nd + 3), changes;
	for (uint32_t k = 1; k <= nstates; k++) active[ncaptured + k] = true;
	for (uint32_t k = 0; k < u.ncaptured; k++) active[u.captured[k]] = true;
	Fn *jvp = ir_services(c)->jvp(c, call->fns[FAMILY_F], active, &changes), *fns[5],
	   *made[4] = {NULL};
	doubled_functions(c, call, jvp, u.ncaptured, made);
	fns[FAMILY_F] = made[0];
	fns[FAMILY_JAC] = made[1];
	memset(active, 0, (nd + 3) * sizeof *active);
	for (uint32_t k = 1; k <= nstates; k++) active[nd + k] = true;
	if (m->backward) made[2] = vjp_of(c, made[0], active);
	for (uint32_t k = 0; k < u.ncaptured; k++) active[u.captured[k]] = true;
	fns[FAMILY_NFNS] = ir_services(c)->jvp(c, made[0], active, &changes);
	for (uint32_t k = 1; k <= nstates; k++) active[nd + k] = false;
	if (m->backward && u.ncaptured) made[3] = vjp_of(c, made[0], active);
	uint32_t nfns = 3, noptions;
	for (uint32_t k = 2; k < 4; k++)
		if (made[k]) fns[nfns++] = made[k];
	u.vjp_state = made[2] != NULL;
	u.vjp_captured = made[3] != NULL;
	const int64_t *options =
		derived_options(b, m, doubled_options(b, call, u.ncaptured), u, &noptions);
	HostId id = host_call_intern(c, host_find(c, m->curvature), nfns, fns, noptions, options);
	for (uint32_t k = 0; k < 4; k++)
		if (made[k]) fn_unref(made[k]);
	return id;
}

/* The adjoint's cotangents, including that of y0 whether or not it is
 * active. */
static void whole_adjoint(Builder *b, const HostCall *call, const Ref *args, Active v, Ref *out) {
	Ctx *c = build_ctx(b);
	uint32_t noptions;
	v.y0 = true;
	const int64_t *options = derived_options(b, call->def->ud, call->options, v, &noptions);
	HostId id = host_call_intern(c, call->def, call->nfns, call->fns, noptions, options);
	build_host(b, id, family_base(call->def->ud, call) + 2, args, out, 1 + v.ncaptured);
}

/* Products of w with the derivatives of f, or of f applied to each row: out[0]
 * with respect to y, the others with respect to the active captured values
 * (summed over rows). All are REF_NONE if f depends on none of these. */
static void pulled_back(Builder *b, const HostCall *call, Fn *f, Active v, const Ref *args, Ref t,
                        Ref y, Ref w, Ref *out) {
	const Family *m = call->def->ud;
	const uint32_t n = (uint32_t)call->options[1];
	bool *active = ARENA_ARRAY(scratch(b), bool, n + 2);
	for (uint32_t k = 0; k < v.ncaptured; k++) active[v.captured[k]] = true;
	active[n + 1] = true;
	for (uint32_t k = 0; k <= v.ncaptured; k++) out[k] = REF_NONE;
	Fn *back = vjp_of(build_ctx(b), f, active);
	if (!back) return;
	Ref *in = f_args(b, m, call, args, t, y), *r = ARENA_ARRAY(scratch(b), Ref, v.ncaptured + 1);
	in[n + 2] = w;
	build_call(b, back, n + 3, in, r);
	fn_unref(back);
	memcpy(out + 1, r, v.ncaptured * sizeof *r);
	out[0] = r[v.ncaptured];
}

static Ref scaled(Builder *b, Ref x, Ref number) {
	return build2(b, OP_MUL, x, build_broadcast_scalar(b, number, ref_type(build_fn(b), x)));
}

/* Adds the effect of moving times on the adjoint's results. Changes of the
 * cotangents are added to *dw, and changes of y0 to *dy0.
 * - A row's time: dy(t_k)/dx changes by J dy/dx + f_p, so w_k becomes w_k + J^T
 *   w_k dt_k, and the parameters gain f_p^T w_k dt_k.
 * - t0: Y(x) becomes Y(y0 - f(t0, y0; p) dt0, p). Its chain rule adds -J^T g
 *   dt0 and -f_p^T g dt0 for the cotangent g of y0. */
static void moved_times(Builder *b, const HostCall *call, const Ref *args, Active v, Ref dt0,
                        Ref dt, Ref *dw, Ref *dy0, Ref *more) {
	Ctx *c = build_ctx(b);
	const Family *m = call->def->ud;
	const uint32_t base = family_base(m, call);
	Ref *out = ARENA_ARRAY(scratch(b), Ref, 2 * (v.ncaptured + 1)), *g = out + v.ncaptured + 1;
	if (dt != REF_NONE) {
		Ref *in = ARENA_ARRAY(scratch(b), Ref, base), solution[3], w = args[base + 1];
		memcpy(in, args, base * sizeof *in);
		in[m->saveat] = args[base];
		HostId id = host_call_intern(c, host_find(c, m->name), FAMILY_NFNS, call->fns, m->noptions,
		                             call->options);
		build_host(b, id, base, in, solution, 3);
		const Type t = *ref_ty(build_fn(b), w);
		w = build2(b, OP_MUL, w, build_broadcast(b, dt, 2, t.dims, (int[]){0}));
		pulled_back(b, call, rows_of_f(b, call), v, args, args[base], solution[1], w, out);
		*dw = tangent_sum(b, *dw, out[0]);
		for (uint32_t k = 0; k < v.ncaptured; k++)
			more[v.y0 + k] = tangent_sum(b, more[v.y0 + k], out[1 + k]);
	}
	if (dt0 == REF_NONE) return;
	Ref back = build1(b, OP_NEG, dt0), t0 = args[m->t0], y0 = args[m->y0];
	*dy0 = tangent_sum(b, *dy0, scaled(b, rate_at(b, m, call, args, t0, y0), back));
	whole_adjoint(b, call, args, v, g);
	pulled_back(b, call, call->fns[FAMILY_F], v, args, t0, y0, scaled(b, g[0], back), out);
	if (v.y0) more[0] = tangent_sum(b, more[0], out[0]);
	for (uint32_t k = 0; k < v.ncaptured; k++)
		more[v.y0 + k] = tangent_sum(b, more[v.y0 + k], out[1 + k]);
}

void adjoint_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                 const Ref *results, const Ref *tangents, Ref *result_tangents) {
	Ctx *c = build_ctx(b);
	(void)results;
	const Family *m = call->def->ud;
	const Active v = active_of(m, call);
	const uint32_t base = family_base(m, call), nresults = v.y0 + v.ncaptured;
	const Ref dt0 = tangents[m->t0], dt = tangents[base];
	Ref dw = tangents[base + 1], dy0 = tangents[m->y0];
	bool moves = false;
	if (m->implicit && (dt0 != REF_NONE || dt != REF_NONE))
		refuse_derivative(b, m->name,
		                  "with respect to times, of a derivative that was taken backward");
	for (uint32_t k = 0; k < nresults; k++) result_tangents[k] = REF_NONE;
	moved_times(b, call, args, v, dt0, dt, &dw, &dy0, result_tangents);
	if (dw != REF_NONE) {
		Ref *in = ARENA_ARRAY(scratch(b), Ref, nargs),
			*out = ARENA_ARRAY(scratch(b), Ref, nresults);
		memcpy(in, args, nargs * sizeof *in);
		in[base + 1] = dw;
		HostId id =
			host_call_intern(c, call->def, call->nfns, call->fns, call->noptions, call->options);
		build_host(b, id, nargs, in, out, nresults);
		for (uint32_t k = 0; k < nresults; k++)
			result_tangents[k] = tangent_sum(b, result_tangents[k], out[k]);
	}
	const Active u = united(b, call, dy0, tangents);
	for (uint32_t k = 0; k < u.ncaptured; k++)
		moves |= tangents[m->operands + (uint32_t)u.captured[k]] != REF_NONE;
	if (!moves && dy0 == REF_NONE) return;
	uint32_t n = base + 2, from = u.y0;
	Ref *in = ARENA_ARRAY(scratch(b), Ref, n + 1 + u.ncaptured),
		*out = ARENA_ARRAY(scratch(b), Ref, u.ncaptured + 1);
	memcpy(in, args, n * sizeof *in);
	if (u.y0) in[n++] = or_zeros(b, dy0, args[m->y0]);
	for (uint32_t k = 0; k < u.ncaptured; k++) {
		const uint32_t at = m->operands + (uint32_t)u.captured[k];
		in[n++] = or_zeros(b, tangents[at], args[at]);
	}
	build_host(b, curvature_call(b, call, u), n, in, out, u.y0 + u.ncaptured);
	for (uint32_t k = 0; k < nresults; k++) { /* those that the adjoint has */
		if (k >= v.y0)
			while (u.captured[from - u.y0] != v.captured[k - v.y0]) from++;
		result_tangents[k] = tangent_sum(b, result_tangents[k], k < v.y0 ? out[0] : out[from]);
	}
}

uint32_t curvature_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                         TypeId *out, uint32_t cap) {
	const Family *m = call->def->ud;
	const Active u = active_of(m, call);
	const uint32_t base = family_base(m, call) - u.ncaptured;
	if (cap < u.y0 + u.ncaptured || nargs != base + 2 + u.y0 + u.ncaptured)
		refuse_derivative(b, call->def->name, "from operands like these");
	for (uint32_t k = 0; k < u.y0 + u.ncaptured; k++)
		out[k] = ref_type(build_fn(b), args[base + 2 + k]);
	return u.y0 + u.ncaptured;
}

/* A curvature as the adjoint of the doubled system for (0, w), whose result's
 * first half is used. The call's functions and options are those of the doubled
 * adjoint. */
static Doubling doubling_of_curvature(const HostCall *call, const Ref *args, const Ref *tangents) {
	const Family *m = call->def->ud;
	const Active u = active_of(m, call);
	const uint32_t base = family_base(m, call) - u.ncaptured;
	return (Doubling){m,        call,     args,
	                  tangents, u,        (uint32_t)call->options[1] - u.ncaptured,
	                  base,     base + 2, base + 2 + u.y0};
}

void curvature_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                   const Ref *results, const Ref *tangents, Ref *result_tangents) {
	Ctx *c = build_ctx(b);
	const Family *m = call->def->ud;
	const Active u = active_of(m, call);
	const uint32_t base = family_base(m, call) - u.ncaptured;
	Ref *in = ARENA_ARRAY(scratch(b), Ref, nargs + u.ncaptured + 2),
		*din = ARENA_ARRAY(scratch(b), Ref, nargs + u.ncaptured + 2);
	const Doubling d = doubling_of_curvature(call, args, tangents);
	const uint32_t n = doubled_operands(b, &d, in, din);
	in[n] = below_zeros(b, args[base + 1]);
	din[n] = tangents[base + 1] != REF_NONE ? below_zeros(b, tangents[base + 1]) : REF_NONE;
	const HostId id = host_call_intern(c, host_find(c, m->adjoint), call->nfns, call->fns,
	                                   call->noptions, call->options);
	adjoint_jvp(b, host_call(c, id), n + 1, in, results, din, result_tangents);
	if (!u.y0 || result_tangents[0] == REF_NONE) return;
	const Dim half = ref_ty(build_fn(b), args[m->y0])->dims[0];
	result_tangents[0] = build_slice(b, result_tangents[0], (Dim[]){dim_const(c, 0)}, &half, NULL);
}

/* <g, curvature of w in direction u> = <w, D^2 Y(g, u)>: the tangent, in the
 * direction g, of the second half of the doubled solution. */
static void bilinear_in_w(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                          const Ref *g, Ref *cotangents) {
	Ctx *c = build_ctx(b);
	const Family *m = call->def->ud;
	const Active u = active_of(m, call);
	const uint32_t base = family_base(m, call) - u.ncaptured;
	Ref *in = ARENA_ARRAY(scratch(b), Ref, nargs + 2 * u.ncaptured + 2), out;
	const Doubling d = doubling_of_curvature(call, args, NULL);
	uint32_t n = doubled_operands(b, &d, in, NULL);
	const Ref y0 = args[m->y0];
	if (u.y0) in[n++] = joined(b, or_zeros(b, g[0], y0), or_zeros(b, REF_NONE, y0));
	for (uint32_t k = 0; k < u.ncaptured; k++)
		in[n++] = or_zeros(b, g[u.y0 + k], args[m->operands + (uint32_t)u.captured[k]]);
	const HostId id =
		host_call_intern(c, host_find(c, m->tangent), 3, call->fns, call->noptions, call->options);
	build_host(b, id, n, in, &out, 1);
	for (uint32_t k = 0; k < nargs; k++) cotangents[k] = REF_NONE;
	cotangents[base + 1] = half_columns(b, out, y0, true);
}

void curvature_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                         const bool *linear, const Ref *result_cotangents, Ref *cotangents) {
	const Family *m = call->def->ud;
	const Active u = active_of(m, call);
	const uint32_t base = family_base(m, call) - u.ncaptured, nresults = u.y0 + u.ncaptured;
	if (linear[base + 1]) {
		bilinear_in_w(b, call, nargs, args, result_cotangents, cotangents);
		return;
	}
	Ref *in = ARENA_ARRAY(scratch(b), Ref, nargs), *out = ARENA_ARRAY(scratch(b), Ref, nresults);
	memcpy(in, args, (base + 2) * sizeof *in);
	for (uint32_t k = 0; k < nargs; k++) cotangents[k] = REF_NONE;
	for (uint32_t k = 0; k < nresults; k++) {
		const Ref like =
			u.y0 && k == 0 ? args[m->y0] : args[m->operands + (uint32_t)u.captured[k - u.y0]];
		in[base + 2 + k] = or_zeros(b, result_cotangents[k], like);
	}
	HostId id = host_call_intern(build_ctx(b), call->def, call->nfns, call->fns, call->noptions,
	                             call->options);
	build_host(b, id, nargs, in, out, nresults);
	for (uint32_t k = 0; k < nresults; k++)
		if (linear[base + 2 + k]) cotangents[base + 2 + k] = out[k];
}
