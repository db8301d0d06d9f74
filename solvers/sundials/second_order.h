/* second_order.h - derivatives of the derivatives of "ode" and "dae".
 *
 * Needs: rules.h. Contract: see second_order.c.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_SECOND_ORDER_H
#define ATLED_SOLVERS_SUNDIALS_SECOND_ORDER_H

#include "solvers/sundials/rules.h"

/* "ode_curvature" and "dae_curvature": the Hessian-vector product of <w, Y>,
 * for a solution Y and fixed cotangents w
 *   operands   those of "ode" or "dae", times, w, the direction in y0 (if
 *              active) and in the active captured values; linear in these
 *   functions  of the doubled system: f, its Jacobian, its jvp, and if they
 *              exist the vjp with respect to y and to the captured values
 *   options    those of the doubled system, and the active parameters of the
 *              original one
 *   results    for y0 (if active) and the active captured values */
void tangent_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                 const Ref *results, const Ref *tangents, Ref *result_tangents);
void adjoint_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                 const Ref *results, const Ref *tangents, Ref *result_tangents);
void adjoint_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                       const bool *linear, const Ref *result_cotangents, Ref *cotangents);
void curvature_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                   const Ref *results, const Ref *tangents, Ref *result_tangents);
Status curvature_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                      uint32_t nresults, Value *results);
uint32_t curvature_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                         TypeId *out, uint32_t cap);
void curvature_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                         const bool *linear, const Ref *result_cotangents, Ref *cotangents);

#endif
