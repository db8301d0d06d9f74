/* costs.h - what primitives cost: to run, and to compile.
 *
 * Needs: ir.h. Guarantees: the one home of such numbers. They choose (what is computed again rather than kept, where chains are cut, whether the compiler is worth its while) and never change a result.
 */
#ifndef ATLED_NATIVE_COSTS_H
#define ATLED_NATIVE_COSTS_H

#include "lang/ir.h"

/* Work of one element of the operation's result; that of an addition is 1. */
uint32_t op_cost(Op op);
/* The compiler's work for it where it is compiled well, in ordinary instructions of kernel code: an element-wise function is some dozens of the machine's, written out at each place. */
uint32_t op_compile_cost(Op op);

#endif
