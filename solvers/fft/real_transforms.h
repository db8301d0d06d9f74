/* real_transforms.h - 1-D real transforms as the host function real_lines(x).
 *
 * Options: the transform, the axis, and how many consecutive pencils the axis
 * holds.
 *
 * Needs: host.h.
 *
 * Contract: the result has the operand's type. Machine code calls it on
 * vectors. Results do not depend on the number of threads.
 */
#ifndef ATLED_SOLVERS_FFT_REAL_TRANSFORMS_H
#define ATLED_SOLVERS_FFT_REAL_TRANSFORMS_H

#include "lang/ir/host.h"

extern const HostDef real_lines_host;

#endif
