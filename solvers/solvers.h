/* solvers.h - host functions for initial value problems and nonlinear systems,
 * by SUNDIALS.
 *
 * Needs: lang/ir/host.h; autodiff/ and backend/ for function arguments.
 *
 * Contract:
 * - solvers_init only registers; the libraries are loaded when a problem is
 *   first solved.
 * - The standard library calls `_host(name, functions, operands, options)`. The
 *   operands are followed by the values that each function captures. The
 *   options are preceded by the number of functions and the number of captured
 *   values of each.
 * - A function's parameters are its captured values, then its arguments.
 *
 * Times are f64 scalars; n is the number of unknowns. A matrix is f64[n, n] if
 * linear = 0. Otherwise it is the nnz values of a pattern in compressed column
 * form (colptr i64[n+1], rowind i64[nnz]; both empty if dense). Its systems are
 * solved as shifted_system.h chooses (linear = 1), as a band (2) or by sparse
 * factors (3).
 *
 * "ode": y' = f(t, y), by CVODES
 *   functions  f(t, y) -> f64[n];  jac(t, y) -> df/dy
 *   operands   y0 f64[n], t0, t1 (may be less than t0), rtol, atol f64[n],
 *              colptr, rowind, saveat f64[m], max_step (0: none)
 *   options    method (0 BDF, 1 Adams), linear, degree d,
 *              max_steps (0: 500,000)
 *   results    times f64[K], values f64[K, n], stats i64[8]
 * "dae": F(t, y, y') = 0, by IDAS
 *   functions  F(t, y, yp) -> f64[n];  jac(t, y, yp, cj) -> dF/dy + cj dF/dy'
 *   operands   y0 f64[n], yp0 f64[n], id f64[n] (1: differential,
 *              0: algebraic), t0, t1, rtol, atol, colptr, rowind, saveat,
 *              max_step
 *   options    linear, degree d, max_steps, fix_initial (1: correct yp0 and the
 *              algebraic part of y0 first)
 *   results    as of "ode"
 * "kinsol": f(x) = 0, or x = f(x), by KINSOL
 *   functions  f(x) -> f64[n];  jac(x) -> df/dx, or with linear = 2
 *              jac(x, v) -> df/dx v
 *   operands   x0 f64[n], scaling factors of x and of f f64[n], tol, colptr,
 *              rowind
 *   options    method (0 Newton, 1 with a line search, 2 Picard, 3 x = f(x)),
 *              linear (2: Krylov), max_steps, depth of Anderson acceleration,
 *              steps for which a Jacobian is reused
 *   results    x f64[n], stats i64[4]: steps, evaluations of f, of the
 *              Jacobian, linear iterations
 *
 * Output of "ode" and "dae":
 * - With saveat: the values at saveat, which runs from t0 towards t1; K = m.
 * - With an empty saveat: K = 1 + d*steps. The rows are the start and, in each
 *   step [a, b], the points a + c_j (b - a), j = 1..d, c_j = (1 - cos(pi
 *   j/d))/2 of the integrator's interpolant. That is a polynomial of degree at
 *   most 5 (BDF and IDAS) or 12 (Adams), so d of at least that degree
 *   reproduces it exactly.
 * - stats: steps, evaluations of f, of the Jacobian, factorisations, failed
 *   error tests, nonlinear iterations, their failures, last order.
 *
 * Derivatives of any order:
 * - They are with respect to y0, t0, t1, saveat and the values that f captures
 *   ("dae": y0 and the values that F captures).
 * - Forward: "ode_tangent" and "dae_tangent" (sensitivity equations). Backward:
 *   "ode_adjoint" and "dae_adjoint". Their own derivatives are in
 *   second_order.c.
 * - A row of values moves with its time: with saveat or, if that is empty, the
 *   first row with t0 and the last with t1. ("dae" keeps them fixed; the
 *   library adds the terms.) Other times are chosen by the integrator and have
 *   no derivative, and neither do the tolerances.
 */
#ifndef ATLED_SOLVERS_SOLVERS_H
#define ATLED_SOLVERS_SOLVERS_H

#include "lang/ir/host.h"

/* Registers the host functions. Does not throw; returns ST_NOMEM when memory
 * fails. */
Status solvers_init(Ctx *c);

#endif
