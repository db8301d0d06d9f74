/* solvers.h - the bridges to SUNDIALS: initial value problems as host functions
 * of the language.
 *
 * Needs: lang/ir/host.h, and autodiff/ and backend/ for the functions that are
 * handed over. Guarantees: solvers_init only registers; the libraries are bound
 * when a problem is first solved. The standard library calls these through
 * `_host(name, functions, operands, options)`; the operands are followed by
 * what each function captures, and the options preceded by the number of
 * functions and, for each, how many values it captures. A function's parameters
 * are its captured values, then its arguments.
 *
 * Times are f64 scalars; n is the number of unknowns; a matrix is f64[n, n]
 * where linear = 0, else the nnz values on a pattern in compressed column form
 * (colptr i64[n+1], rowind i64[nnz]; both empty where dense). Its systems are
 * solved as shifted_system.h chooses (linear = 1), as a band (2) or by sparse
 * factors (3).
 *
 * "ode": y' = f(t, y), by CVODES
 *   functions  f(t, y) -> f64[n];  jac(t, y) -> df/dy
 *   operands   y0 f64[n], t0, t1 (may be less than t0), rtol, atol f64[n], colptr, rowind, saveat f64[m],
 *              max_step (0: none)
 *   options    method (0 BDF, 1 Adams), linear, degree d, max_steps (0: 500,000)
 *   results    times f64[K], values f64[K, n], stats i64[8]
 * "dae": F(t, y, y') = 0, by IDAS
 *   functions  F(t, y, yp) -> f64[n];  jac(t, y, yp, cj) -> dF/dy + cj dF/dy'
 *   operands   y0 f64[n], yp0 f64[n], id f64[n] (1: differential, 0: algebraic), t0, t1, rtol, atol, colptr, rowind,
 *              saveat, max_step
 *   options    linear, degree d, max_steps, fix_initial (1: correct yp0 and the algebraic part of y0 first)
 *   results    as of "ode"
 *
 * "kinsol": f(x) = 0, or x = f(x), by KINSOL
 *   functions  f(x) -> f64[n];  jac(x) -> df/dx, or with linear = 2 jac(x, v) -> df/dx v
 *   operands   x0 f64[n], scales of x and of f f64[n] (by which they are multiplied), tol, colptr, rowind
 *   options    method (0 Newton, 1 with a line search, 2 Picard, 3 x = f(x)), linear (2: Krylov), max_steps, memory of Anderson's acceleration, how many steps
 *              a Jacobian is kept for
 *   results    x f64[n], stats i64[4]: steps, evaluations of f, of the Jacobian, linear iterations
 *
 * With an empty saveat, K = 1 + d*steps: the start, and in each step [a, b] the
 * points a + c_j (b - a), j = 1..d, c_j = (1 - cos(pi j/d))/2, of the
 * integrator's own interpolant, which is a polynomial of degree at most 5 (BDF
 * and IDAS) or 12 (Adams): with d no less than that it can be had back exactly.
 * Otherwise the values at saveat, which runs from t0 towards t1, and K = m.
 * stats: steps, evaluations of f, of the Jacobian, factorisations, failed error
 * tests, nonlinear iterations, their failures, last order.
 *
 * Derivatives, of any order: with respect to y0, t0, t1, saveat and whatever f
 * captures (of "dae": y0 and what F captures), forward through "ode_tangent"
 * and "dae_tangent" (sensitivity equations), backward through "ode_adjoint" and
 * "dae_adjoint"; their own derivatives are in second_order.c. A row of values
 * moves with its time: with saveat, with an empty saveat the first row with t0
 * and the last with t1 (of "dae" it does not: the library sees to it). The
 * times between those two, chosen by the integrator, are fixed points for a
 * derivative. The tolerances have none.
 */
#ifndef ATLED_SOLVERS_SOLVERS_H
#define ATLED_SOLVERS_SOLVERS_H

#include "lang/ir/host.h"

/* Registers the host functions. Throws nothing: ST_NOMEM when memory fails. */
Status solvers_init(Ctx *c);

#endif
