/* rules.c - derivative rules of the solvers as IR.
 *
 * Method: tangents of t0 and of the output times are expressed by quantities
 * that the solver knows.
 * - t0: at fixed times, a change of t0 equals a change of the initial value,
 *   dy0 := dy0 - y'(t0) dt0.
 * - An output time: its row changes by y' dt, the time itself by dt. If the
 *   integrator chose the times, the first row moves with t0 and the last with
 *   t1; rows between stay fixed.
 * - The tolerances have no effect on the solution.
 * - Implicit systems: y' is not available. Derivatives with respect to t0 and
 *   to output times are refused. The last row stays at the given t1; the
 *   library moves it along the interpolant (_rows_of_dae in ode.dsl). A tangent
 *   of y'(t0) is ignored, because it follows from the others.
 *
 * Needs: rules.h. Contract: as in rules.h.
 */
#include "solvers/sundials/rules.h"

Active active_of(const Family *m, const HostCall *call) {
	const int64_t *w = call->options + m->noptions;
	return (Active){.y0 = w[0],
	                .vjp_state = w[1],
	                .vjp_captured = w[2],
	                .ncaptured = (uint32_t)w[3],
	                .captured = w + 4};
}

static Arena *scratch(Builder *b) { return build_fn(b)->arena; }

void refuse_derivative(Builder *b, const char *solver, const char *why) {
	Ctx *c = build_ctx(b);
	diag_error(c, E_NO_RULE, span_of(c, build_span(b)), "%s has no derivative %s", solver, why);
	ctx_throw(c, ST_ERROR);
}

static Ref times_number(Builder *b, Ref v, Ref number) {
	return build2(b, OP_MUL, v, build_broadcast_scalar(b, number, ref_type(build_fn(b), v)));
}

Ref tangent_sum(Builder *b, Ref x, Ref y) {
	return x == REF_NONE ? y : y == REF_NONE ? x : build2(b, OP_ADD, x, y);
}

Ref *f_args(Builder *b, const Family *m, const HostCall *call, const Ref *args, Ref t, Ref y) {
	const uint32_t n = (uint32_t)call->options[1];
	Ref *in = ARENA_ARRAY(scratch(b), Ref, n + 3);
	for (uint32_t k = 0; k < n; k++) in[k] = args[m->operands + k];
	in[n] = t;
	in[n + 1] = y;
	return in;
}

/* Converts a rate to the shape of its state. If the function declares its own
 * extents, a guard states the equality; it holds, because the integration has
 * run. Unequal constant extents fail here, as the integration would. */
static Ref shaped_like(Builder *b, Ref rate, Ref like) {
	Ctx *c = build_ctx(b);
	const Type r = *ref_ty(build_fn(b), rate), t = *ref_ty(build_fn(b), like);
	for (uint32_t k = 0; k < t.rank && r.rank == t.rank; k++) {
		build_unify(b, r.dims[k], t.dims[k], atom(c, "the right-hand side and the unknowns"));
		if (build_canon(b, r.dims[k]) == build_canon(b, t.dims[k])) continue;
		diag_error(c, E_SHAPE, span_of(c, build_span(b)),
		           "the right-hand side gives another number of values than there are unknowns");
		ctx_throw(c, ST_ERROR);
	}
	return build_convert(b, rate, (Dtype)t.dtype);
}

Ref rate_at(Builder *b, const Family *m, const HostCall *call, const Ref *args, Ref t, Ref y) {
	Ref out;
	build_call(b, call->fns[FAMILY_F], (uint32_t)call->options[1] + 2,
	           f_args(b, m, call, args, t, y), &out);
	return shaped_like(b, out, y);
}

Fn *rows_of_f(Builder *b, const HostCall *call) {
	Ctx *c = build_ctx(b);
	const uint32_t n = (uint32_t)call->options[1];
	bool *lanes = ARENA_ARRAY(scratch(b), bool, n + 2);
	lanes[n] = lanes[n + 1] = true;
	return ir_services(c)->batch(c, call->fns[FAMILY_F], lanes);
}

/* dt_k y'(t_k) for all rows k. */
static Ref moved_rows(Builder *b, const Family *m, const HostCall *call, const Ref *args,
                      const Ref *results, Ref dt) {
	Ref rate;
	build_call(b, rows_of_f(b, call), (uint32_t)call->options[1] + 2,
	           f_args(b, m, call, args, results[0], results[1]), &rate);
	rate = shaped_like(b, rate, results[1]);
	const Type t = *ref_ty(build_fn(b), rate);
	return build2(b, OP_MUL, rate, build_broadcast(b, dt, 2, t.dims, (int[]){0}));
}

/* Zeros like `rows`, with x in the first row, or in the last. */
static Ref as_row(Builder *b, Ref x, Ref rows, bool last) {
	Ctx *c = build_ctx(b);
	const Type t = *ref_ty(build_fn(b), rows);
	const Dim one = dim_const(c, 1), none = dim_const(c, 0);
	const Dim low[2] = {last ? dim_sub(c, t.dims[0], one) : none, none};
	Dim shape[2] = {one, t.rank > 1 ? t.dims[1] : none};
	return build_pad(b, build_reshape(b, x, t.rank, shape), low, t.dims, NULL);
}

/* Adds the effect of moving first and last times on the times and values of a
 * whole solution. A single row is the last. */
static void moved_ends(Builder *b, const Family *m, const HostCall *call, const Ref *args,
                       const Ref *results, Ref dt0, Ref dt1, Ref *dtimes, Ref *dvalues) {
	Ctx *c = build_ctx(b);
	const Type t = *ref_ty(build_fn(b), results[1]);
	const Dim one = dim_const(c, 1), none = dim_const(c, 0),
			  at[2] = {dim_sub(c, t.dims[0], one), none};
	if (dt0 != REF_NONE) {
		Ref single = build2(b, OP_EQ, build_extent(b, t.dims[0]), build_extent(b, one));
		dt0 = build_select(b, single, build_zeros(b, ref_type(build_fn(b), dt0)), dt0);
		*dtimes = as_row(b, dt0, results[0], false);
		Ref by = times_number(b, rate_at(b, m, call, args, args[m->t0], args[m->y0]), dt0);
		*dvalues = tangent_sum(b, *dvalues, as_row(b, by, results[1], false));
	}
	if (dt1 == REF_NONE) return;
	Ref end = build_reshape(b, build_slice(b, results[0], at, &one, NULL), 0, NULL);
	Ref y = build_reshape(b, build_slice(b, results[1], at, (Dim[]){one, t.dims[1]}, NULL), 1,
	                      t.dims + 1);
	Ref by = times_number(b, rate_at(b, m, call, args, end, y), dt1);
	*dtimes = tangent_sum(b, *dtimes, as_row(b, dt1, results[0], true));
	*dvalues = tangent_sum(b, *dvalues, as_row(b, by, results[1], true));
}

/* Whether the integrator chose the times. */
static bool whole_solution(Builder *b, const Family *m, const Ref *args) {
	int64_t length;
	return dim_is_const(build_ctx(b), build_canon(b, ref_ty(build_fn(b), args[m->saveat])->dims[0]),
	                    &length) &&
	       length == 0;
}

static bool moves(Builder *b, const Family *m, const HostCall *call, const Ref *tangents,
                  uint32_t captured) {
	const Ref r = tangents[m->operands + captured];
	if (r == REF_NONE) return false;
	if (dtype_is_complex((Dtype)ref_ty(build_fn(b), r)->dtype))
		refuse_derivative(b, call->def->name,
		                  "with respect to a complex number that its function captures");
	return true;
}

/* Options of a derived call: those of the primal call, and the words that
 * active_of reads. */
int64_t *derived_options(Builder *b, const Family *m, const int64_t *options, Active v,
                         uint32_t *n) {
	*n = m->noptions + 4 + v.ncaptured;
	int64_t *out = ARENA_ARRAY(scratch(b), int64_t, *n);
	memcpy(out, options, m->noptions * sizeof *out);
	memcpy(out + m->noptions, (int64_t[]){v.y0, v.vjp_state, v.vjp_captured, v.ncaptured},
	       4 * sizeof *out);
	if (v.ncaptured) memcpy(out + m->noptions + 4, v.captured, v.ncaptured * sizeof *out);
	return out;
}

static const HostDef *derived_host(Builder *b, const char *name) {
	const HostDef *def = host_find(build_ctx(b), name);
	if (!def) refuse_derivative(b, name, "here");
	return def;
}

/* f as a function of its distinct captured values; at[k]: index of the k-th
 * among them. Returns one reference. */
static Fn *capturing_once(Ctx *c, Fn *f, uint32_t ncaptured, const uint32_t *at) {
	const uint32_t n = fn_nparams(f);
	Builder *b = build_begin(c, f->name, f->span, f);
	Ref *in = ARENA_ARRAY(scratch(b), Ref, n + 1), *made = ARENA_ARRAY(scratch(b), Ref, n + 1), out;
	uint32_t nmade = 0;
	for (uint32_t k = 0; k < n; k++) {
		if (k < ncaptured && at[k] < nmade) in[k] = made[at[k]];
		else in[k] = made[nmade++] = build_param(b, ref_type(f, fn_param(f, k)), 0);
	}
	build_call(b, f, n, in, &out);
	return build_end(b, 1, &out);
}

/* A solver's call, its operands and their tangents. */
typedef struct DerivedCall {
	const HostCall *call;
	Ref *args, *tangents;
} DerivedCall;

/* Removes duplicates among the captured values of f if a duplicate has a
 * tangent. Several inner functions may capture the same parameter; it then
 * needs a single sensitivity and a single cotangent. */
static DerivedCall each_once(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                             const Ref *tangents) {
	Ctx *c = build_ctx(b);
	const Family *m = call->def->ud;
	const uint32_t n = (uint32_t)call->options[1];
	DerivedCall d = {call, ARENA_ARRAY(scratch(b), Ref, nargs + 1),
	                 ARENA_ARRAY(scratch(b), Ref, nargs + 1)};
	uint32_t *at = ARENA_ARRAY(scratch(b), uint32_t, n + 1), kept = 0;
	bool moves_twice = false;
	memcpy(d.args, args, m->operands * sizeof *args);
	memcpy(d.tangents, tangents, m->operands * sizeof *tangents);
	Ref *captured = d.args + m->operands;
	for (uint32_t k = 0; k < n; k++) {
		const Ref x = args[m->operands + k];
		const Ref dx = tangents[m->operands + k];
		for (at[k] = 0;
		     at[k] < kept && (captured[at[k]] != x || d.tangents[m->operands + at[k]] != dx);
		     at[k]++)
			continue;
		if (at[k] < kept) {
			moves_twice |= dx != REF_NONE;
			continue;
		}
		captured[kept] = x;
		d.tangents[m->operands + kept++] = dx;
	}
	const uint32_t from = m->operands + (moves_twice ? n : 0),
				   to = m->operands + (moves_twice ? kept : 0);
	memcpy(d.args + to, args + from, (nargs - from) * sizeof *args);
	memcpy(d.tangents + to, tangents + from, (nargs - from) * sizeof *tangents);
	if (!moves_twice) return d;
	Fn **fns = ARENA_ARRAY(scratch(b), Fn *, call->nfns);
	int64_t *options = ARENA_ARRAY(scratch(b), int64_t, call->noptions);
	memcpy(fns, call->fns, call->nfns * sizeof *fns);
	memcpy(options, call->options, call->noptions * sizeof *options);
	fns[FAMILY_F] = capturing_once(c, call->fns[FAMILY_F], n, at);
	options[1] = kept;
	d.call = host_call(c, host_call_intern(c, call->def, call->nfns, fns, call->noptions, options));
	fn_unref(fns[FAMILY_F]);
	return d;
}

void solver_jvp(Builder *b, const HostCall *given, uint32_t nargs, const Ref *given_args,
                const Ref *results, const Ref *given_tangents, Ref *result_tangents) {
	Ctx *c = build_ctx(b);
	const DerivedCall d = each_once(b, given, nargs, given_args, given_tangents);
	const HostCall *call = d.call;
	const Ref *args = d.args, *tangents = d.tangents;
	const Family *m = call->def->ud;
	const uint32_t ncaptured = (uint32_t)call->options[1], base = family_base(m, call),
				   nstates = m->implicit ? 2 : 1;
	Ref dy0 = tangents[m->y0], dt0 = tangents[m->t0], dt1 = tangents[m->t1],
		dt = tangents[m->saveat], dvalues = REF_NONE;
	result_tangents[0] = result_tangents[1] = result_tangents[2] = REF_NONE;
	if (m->implicit && dt0 != REF_NONE)
		refuse_derivative(b, call->def->name, "with respect to the first time");
	if (m->implicit && dt != REF_NONE)
		refuse_derivative(b, call->def->name,
		                  "with respect to the times at which the solution is wanted");
	if (dt0 != REF_NONE) {
		Ref back = build1(
			b, OP_NEG, times_number(b, rate_at(b, m, call, args, args[m->t0], args[m->y0]), dt0));
		dy0 = tangent_sum(b, dy0, back);
	}
	Active v = {.y0 = dy0 != REF_NONE};
	int64_t *which = ARENA_ARRAY(scratch(b), int64_t, ncaptured + 1);
	bool *active = ARENA_ARRAY(scratch(b), bool, ncaptured + 1 + nstates), changes;
	for (uint32_t k = 0; k < ncaptured; k++)
		if ((active[k] = moves(b, m, call, tangents, k))) which[v.ncaptured++] = k;
	v.captured = which;
	if (v.y0 || v.ncaptured) {
		for (uint32_t k = 0; k < nstates; k++) active[ncaptured + 1 + k] = true;
		Fn *fns[3] = {call->fns[0], call->fns[1],
		              ir_services(c)->jvp(c, call->fns[0], active, &changes)};
		uint32_t noptions, n = base;
		const int64_t *options = derived_options(b, m, call->options, v, &noptions);
		Ref *operands = ARENA_ARRAY(scratch(b), Ref, base + 2 + v.ncaptured);
		memcpy(operands, args, base * sizeof *operands);
		/* the same values, but not a result of this call */
		operands[n++] = whole_solution(b, m, args) ? results[0] : args[m->saveat];
		if (v.y0) operands[n++] = dy0;
		for (uint32_t k = 0; k < v.ncaptured; k++)
			operands[n++] = tangents[m->operands + (uint32_t)which[k]];
		build_host(b, host_call_intern(c, derived_host(b, m->tangent), 3, fns, noptions, options),
		           n, operands, &dvalues, 1);
	}
	if (whole_solution(b, m, args)) {
		if (!m->implicit)
			moved_ends(b, m, call, args, results, dt0, dt1, &result_tangents[0], &dvalues);
	} else if (dt != REF_NONE) {
		dvalues = tangent_sum(b, dvalues, moved_rows(b, m, call, args, results, dt));
		result_tangents[0] = dt;
	}
	result_tangents[1] = dvalues;
}

uint32_t tangent_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                       TypeId *out, uint32_t cap) {
	const Family *m = call->def->ud;
	const uint32_t base = family_base(m, call);
	const Active v = active_of(m, call);
	if (!cap || nargs != base + 1 + v.y0 + v.ncaptured)
		refuse_derivative(b, call->def->name, "from operands like these");
	const Dim rows = build_canon(b, ref_ty(build_fn(b), args[base])->dims[0]),
			  n = build_canon(b, ref_ty(build_fn(b), args[m->y0])->dims[0]);
	out[0] = type_tensor(build_ctx(b), DT_F64, 2, (Dim[]){rows, n});
	return 1;
}

uint32_t adjoint_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                       TypeId *out, uint32_t cap) {
	const Family *m = call->def->ud;
	const Active v = active_of(m, call);
	if (cap < v.y0 + v.ncaptured || nargs != family_base(m, call) + 2)
		refuse_derivative(b, call->def->name, "from operands like these");
	uint32_t n = 0;
	if (v.y0) out[n++] = ref_type(build_fn(b), args[m->y0]);
	for (uint32_t k = 0; k < v.ncaptured; k++)
		out[n++] = ref_type(build_fn(b), args[m->operands + (uint32_t)v.captured[k]]);
	return n;
}

/* A function (parameters of f, w) -> cotangents of the active parameters. NULL
 * when f does not depend on them. */
Fn *vjp_of(Ctx *c, Fn *f, const bool *active) {
	Fn *primal, *linear;
	uint32_t nresiduals;
	const bool *depends;
	ir_services(c)->linearise(c, f, active, &primal, &linear, &nresiduals, &depends);
	if (!depends[0]) return NULL;
	Fn *back = ir_services(c)->transpose(c, linear, nresiduals);
	const uint32_t n = fn_nparams(f);
	Builder *b = build_begin(c, atom_f(c, "%s vjp", atom_text(c, f->name)), f->span, f);
	build_derivative(b);
	Ref *args = ARENA_ARRAY(scratch(b), Ref, n + 1),
		*values = ARENA_ARRAY(scratch(b), Ref, nresiduals + 2);
	Ref *out = ARENA_ARRAY(scratch(b), Ref, fn_nresults(back) + 1);
	for (uint32_t k = 0; k < n; k++) args[k] = build_param(b, ref_type(f, fn_param(f, k)), 0);
	Ref w = build_param(b, ref_type(f, fn_result(f, 0)), 0);
	build_call(b, primal, n, args, values); /* the result of f, then the residuals */
	values[1 + nresiduals] = w;
	build_call(b, back, nresiduals + 1, values + 1, out);
	return build_end(b, fn_nresults(back), out);
}

void tangent_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                       const bool *linear, const Ref *result_cotangents, Ref *cotangents) {
	Ctx *c = build_ctx(b);
	const Family *m = call->def->ud;
	const uint32_t base = family_base(m, call), ncaptured = (uint32_t)call->options[1];
	Active v = active_of(m, call);
	Fn *fns[5] = {call->fns[0], call->fns[1], call->fns[2]}, *made[2] = {NULL, NULL};
	uint32_t nfns = 3, noptions;
	if (m->backward) {
		bool *active = ARENA_ARRAY(scratch(b), bool, 2 * (ncaptured + 2)),
			 *captured = active + ncaptured + 2;
		active[ncaptured + 1] = true;
		for (uint32_t k = 0; k < v.ncaptured; k++) captured[v.captured[k]] = true;
		made[0] = vjp_of(c, call->fns[0], active);
		if (v.ncaptured) made[1] = vjp_of(c, call->fns[0], captured);
		for (uint32_t k = 0; k < 2; k++)
			if (made[k]) fns[nfns++] = made[k];
		v.vjp_state = made[0] != NULL;
		v.vjp_captured = made[1] != NULL;
	}
	const int64_t *options = derived_options(b, m, call->options, v, &noptions);
	Ref *operands = ARENA_ARRAY(scratch(b), Ref, base + 2),
		*results = ARENA_ARRAY(scratch(b), Ref, v.ncaptured + 2);
	memcpy(operands, args, (base + 1) * sizeof *operands);
	operands[base + 1] = result_cotangents[0];
	HostId id = host_call_intern(c, derived_host(b, m->adjoint), nfns, fns, noptions, options);
	for (uint32_t k = 0; k < 2; k++)
		if (made[k]) fn_unref(made[k]);
	build_host(b, id, base + 2, operands, results, v.ncaptured + 1);
	for (uint32_t k = 0; k < nargs; k++) cotangents[k] = REF_NONE;
	for (uint32_t k = base + 1; k < nargs; k++)
		if (linear[k]) cotangents[k] = results[k - base - 1];
}
