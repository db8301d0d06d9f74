/* storable.c - checks which solver calls can be serialised.
 *
 * Needs: ode.h, dae.h.
 *
 * Contract: a call is checked when it is written, and again when it is read
 * from an untrusted file. A call that passes is valid for the solver: its
 * functions take the captured operands, times and states, and its options are
 * in range. Extents are compared at run time.
 */
#include "solvers/sundials/dae.h"
#include "solvers/sundials/ivp.h"
#include "solvers/sundials/ode.h"
#include "solvers/linear/sparse.h"
#include <string.h>

enum { CAPTURED_MOST = 1 << 20 };

static bool is_array(Ctx *c, TypeId id, Dtype d, uint32_t rank) {
	const Type *t = type_of(c, id);
	return t->kind == TY_TENSOR && t->dtype == d && t->rank == rank;
}

static bool same_kind(Ctx *c, TypeId x, TypeId y) {
	const Type *t = type_of(c, y);
	return t->kind == TY_TENSOR && is_array(c, x, (Dtype)t->dtype, t->rank);
}

/* kinds: "s" a scalar, "v" a vector of f64, "i" a vector of i64. */
static bool operands_are(Builder *b, const Ref *args, const char *kinds) {
	for (; *kinds; kinds++, args++)
		if (!is_array(build_ctx(b), ref_type(build_fn(b), *args), *kinds == 'i' ? DT_I64 : DT_F64,
		              *kinds != 's'))
			return false;
	return true;
}

/* Whether f maps (captured..., operands of these kinds) to a vector or matrix,
 * whose extents are checked at run time. */
static bool takes(Builder *b, const Fn *f, uint32_t ncaptured, const Ref *captured,
                  const char *kinds) {
	Ctx *c = build_ctx(b);
	const uint32_t own = (uint32_t)strlen(kinds);
	if (fn_nparams(f) != ncaptured + own || fn_nresults(f) != 1) return false;
	for (uint32_t i = 0; i < ncaptured; i++)
		if (!same_kind(c, ref_type(build_fn(b), captured[i]), ref_type(f, fn_param(f, i))))
			return false;
	for (uint32_t i = 0; i < own; i++)
		if (!is_array(c, ref_type(f, fn_param(f, ncaptured + i)), DT_F64, kinds[i] == 'v'))
			return false;
	const TypeId result = ref_type(f, fn_result(f, 0));
	return is_array(c, result, DT_F64, 1) || is_array(c, result, DT_F64, 2);
}

/* Times, states, statistics. */
static bool gives_solution(Builder *b, uint32_t nresults, const TypeId *stated) {
	Ctx *c = build_ctx(b);
	int64_t n;
	return nresults == 3 && is_array(c, stated[0], DT_F64, 1) &&
	       is_array(c, stated[1], DT_F64, 2) && is_array(c, stated[2], DT_I64, 1) &&
	       dim_is_const(c, type_of(c, stated[2])->dims[0], &n) && n == SOLVER_COUNTS;
}

typedef struct SolverParams {
	uint32_t operands, least_options, degree; /* degree: index of that option */
	const char *kinds, *f, *jac;
} SolverParams;

static bool solver_may(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                       uint32_t nresults, const TypeId *stated, const SolverParams *s) {
	enum { FNS = 2, DEGREE_MOST = 100 };
	const int64_t *w = call->options;
	if (call->nfns != FNS || call->noptions < s->least_options || w[0] != FNS) return false;
	if (w[1] < 0 || w[2] < 0 || w[1] > CAPTURED_MOST || w[2] > CAPTURED_MOST ||
	    nargs != s->operands + w[1] + w[2])
		return false;
	if (w[s->degree] < 0 || w[s->degree] > DEGREE_MOST) return false;
	const Ref *captured = args + s->operands;
	return operands_are(b, args, s->kinds) &&
	       takes(b, call->fns[0], (uint32_t)w[1], captured, s->f) &&
	       takes(b, call->fns[1], (uint32_t)w[2], captured + w[1], s->jac) &&
	       gives_solution(b, nresults, stated);
}

static const SolverParams ode_shape = {ODE_OPERANDS, ODE_OPTIONS, ODE_DEGREE,
                                       "vsssviivs",  "sv",        "sv"};
static const SolverParams dae_shape = {DAE_OPERANDS,  DAE_OPTIONS, DAE_DEGREE,
                                       "vvvsssviivs", "svv",       "svvs"};

bool ode_may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                   uint32_t nresults, const TypeId *stated) {
	return solver_may(b, call, nargs, args, nresults, stated, &ode_shape);
}

bool dae_may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                   uint32_t nresults, const TypeId *stated) {
	return solver_may(b, call, nargs, args, nresults, stated, &dae_shape);
}

/* After the solver's operands: times, the tangents of y0 and of the captured
 * values that the options select, and the jvp of f with respect to these and
 * its states. */
static bool tangent_may(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                        uint32_t nresults, const TypeId *stated, const Family *m,
                        const SolverParams *s) {
	enum { FNS = 3, ACTIVE = 4 };
	Ctx *c = build_ctx(b);
	const Fn *here = build_fn(b);
	if (call->nfns != FNS || call->noptions < m->noptions + ACTIVE) return false;
	if (nresults != 1 || !is_array(c, stated[0], DT_F64, 2)) return false;
	HostCall primal = *call;
	primal.nfns = FAMILY_NFNS;
	primal.noptions = m->noptions;
	const int64_t *w = call->options;
	if (w[1] < 0 || w[2] < 0 || w[1] > CAPTURED_MOST || w[2] > CAPTURED_MOST) return false;
	if (nargs < m->operands + w[1] + w[2]) return false;
	const uint32_t base = family_base(m, call);
	const TypeId solution[3] = {type_tensor(c, DT_F64, 1, (Dim[]){dim_const(c, 1)}), stated[0],
	                            type_tensor(c, DT_I64, 1, (Dim[]){dim_const(c, SOLVER_COUNTS)})};
	if (!solver_may(b, &primal, base, args, 3, solution, s)) return false;
	const Active v = active_of(m, call);
	const int64_t *flags = w + m->noptions;
	if (flags[0] < 0 || flags[0] > 1 || flags[3] < 0 || flags[3] > w[1]) return false;
	if (call->noptions != m->noptions + ACTIVE + flags[3]) return false;
	if (nargs != base + 1 + v.y0 + v.ncaptured ||
	    !is_array(c, ref_type(here, args[base]), DT_F64, 1))
		return false;
	if (v.y0 && !is_array(c, ref_type(here, args[base + 1]), DT_F64, 1)) return false;
	const Fn *f = call->fns[FAMILY_F], *jvp = call->fns[FAMILY_NFNS];
	const uint32_t nstates = m->implicit ? 2 : 1, own = (uint32_t)w[1] + 1 + nstates,
				   n = fn_nresults(jvp);
	if (fn_nparams(jvp) != own + v.ncaptured + nstates || n < 1 || n > 2) return false;
	for (uint32_t i = 0; i < own; i++)
		if (!same_kind(c, ref_type(f, fn_param(f, i)), ref_type(jvp, fn_param(jvp, i))))
			return false;
	for (uint32_t i = 0; i < v.ncaptured; i++) {
		if (v.captured[i] < 0 || v.captured[i] >= w[1] || (i && v.captured[i] <= v.captured[i - 1]))
			return false;
		const TypeId of = ref_type(here, args[m->operands + v.captured[i]]);
		if (!dtype_is_real((Dtype)type_of(c, of)->dtype)) return false;
		if (!same_kind(c, of, ref_type(here, args[base + 1 + v.y0 + i]))) return false;
		if (!same_kind(c, of, ref_type(jvp, fn_param(jvp, own + i)))) return false;
	}
	for (uint32_t i = 0; i < nstates; i++)
		if (!is_array(c, ref_type(jvp, fn_param(jvp, own + v.ncaptured + i)), DT_F64, 1))
			return false;
	for (uint32_t i = 0; i < n; i++)
		if (!is_array(c, ref_type(jvp, fn_result(jvp, i)), DT_F64, 1)) return false;
	return true;
}

bool ode_tangent_may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                           uint32_t nresults, const TypeId *stated) {
	return tangent_may(b, call, nargs, args, nresults, stated, &ode_family, &ode_shape);
}

bool dae_tangent_may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                           uint32_t nresults, const TypeId *stated) {
	return tangent_may(b, call, nargs, args, nresults, stated, &dae_family, &dae_shape);
}

/* Column starts, rows, columns, values, right-hand sides. The pattern is
 * checked at run time. */
bool sparse_may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                      uint32_t nresults, const TypeId *stated) {
	enum { RIGHT = 4, OPERANDS, OPTIONS = 3 };
	Ctx *c = build_ctx(b);
	if (call->nfns || call->noptions != OPTIONS || nargs != OPERANDS || nresults != 1 ||
	    !operands_are(b, args, "iiiv"))
		return false;
	const TypeId right = ref_type(build_fn(b), args[RIGHT]);
	return (is_array(c, right, DT_F64, 1) || is_array(c, right, DT_F64, 2)) &&
	       same_kind(c, stated[0], right);
}
