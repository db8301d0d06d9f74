/* rules.h - derivative rules of "ode" and "dae" as IR.
 *
 * Needs: lang/ir/host.h, and the transforms through ir_services.
 *
 * Contract: a rule only emits host calls. The active parameters are appended to
 * the options of the original call, so the solver finds its operands unchanged.
 *
 *     y = S(y0, p) ──jvp──▶ dy = tangent(operands of S, times; dy0, dp)
 *                               └──transpose──▶ (wy0, wp) =
 *                                   adjoint(operands of S, times, w)
 *
 *     tangent   operands:  those of the primal call, times, tangents of y0
 *                          (if active) and of the active captured values of f
 *               functions: f, its Jacobian, the jvp of f
 *               result:    f64[K, n]
 *     adjoint   operands:  those of the primal call, times, w f64[K, n]
 *               functions: f, its Jacobian, the jvp of f, and if they exist the
 *                          vjp with respect to y and to the captured values
 *               results:   cotangents of y0 (if active) and of the active
 *                          captured values
 */
#ifndef ATLED_SOLVERS_SUNDIALS_RULES_H
#define ATLED_SOLVERS_SUNDIALS_RULES_H

#include "lang/ir/host.h"

/* The functions of a solver's call; f and its Jacobian come first. */
enum { FAMILY_F, FAMILY_JAC, FAMILY_NFNS };

/* The layout of a solver's call. */
typedef struct Family {
	const char *name, *tangent, *adjoint, *curvature;
	const struct Integrator *by;
	uint32_t operands; /* number of operands; captured values follow them */
	uint32_t noptions;
	uint32_t y0, t0, t1, saveat, rtol, atol, colptr, rowind;
	uint32_t yp0, id; /* of an implicit system */
	uint32_t linear;  /* option: 0 when the Jacobian is dense */
	bool implicit;    /* f(t, y, y') = 0 instead of y' = f(t, y) */
	bool backward;    /* the adjoint needs vjps */
} Family;

/* Which of y0 and f's captured values have tangents. */
typedef struct Active {
	bool y0;
	uint32_t ncaptured;
	const int64_t *captured;      /* ascending */
	bool vjp_state, vjp_captured; /* adjoint: whether those functions exist */
} Active;
Active active_of(const Family *m, const HostCall *call);
/* Index of the first operand that a derived call appends. */
static inline uint32_t family_base(const Family *m, const HostCall *call) {
	return m->operands + (uint32_t)(call->options[1] + call->options[2]);
}

/* The three rules; HostDef.ud is the Family. */
void solver_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                const Ref *results, const Ref *tangents, Ref *result_tangents);
void tangent_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                       const bool *linear, const Ref *result_cotangents, Ref *cotangents);
uint32_t tangent_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                       TypeId *out, uint32_t cap);
uint32_t adjoint_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                       TypeId *out, uint32_t cap);

/* Parts of the rules that second_order.c also uses. */
/* A function (parameters of f, w) -> cotangents of the active parameters, with
 * one reference. NULL when f does not depend on them. */
Fn *vjp_of(Ctx *c, Fn *f, const bool *active);
/* m->noptions options and the words that active_of reads. They live as long as
 * the function under construction. */
int64_t *derived_options(Builder *b, const Family *m, const int64_t *options, Active v,
                         uint32_t *n);
/* The arguments of f in a call of the family: the captured values, t and y. */
Ref *f_args(Builder *b, const Family *m, const HostCall *call, const Ref *args, Ref t, Ref y);
/* y' */
Ref rate_at(Builder *b, const Family *m, const HostCall *call, const Ref *args, Ref t, Ref y);
Fn *rows_of_f(Builder *b, const HostCall *call); /* f vectorised over rows of t and y */
Ref tangent_sum(Builder *b, Ref x, Ref y);       /* x + y; if one is REF_NONE, the other */
/* "SOLVER has no derivative WHY" */
_Noreturn void refuse_derivative(Builder *b, const char *solver, const char *why);

#endif
