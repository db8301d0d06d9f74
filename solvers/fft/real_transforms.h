/* real_transforms.h - transforms of real lines as a host function:
 * real_lines(x) with the options (which transform, axis, how many lines stand
 * behind each other along it).
 *
 * Needs: host.h. Guarantees: a result of the operand's type; machine code calls
 * it on vectors; results do not depend on the number of threads.
 */
#ifndef ATLED_SOLVERS_FFT_REAL_TRANSFORMS_H
#define ATLED_SOLVERS_FFT_REAL_TRANSFORMS_H

#include "lang/ir/host.h"

extern const HostDef real_lines_host;

#endif
