/* vmath.c - vectorised transcendental functions of one width, f64 and f32.
 *
 * Method: range reduction and polynomial approximation. There are no tables,
 * since gathers are slow. The only branches are at the end of some functions,
 * for rare arguments: in sin, cos and tan for huge angles, whose reduction
 * takes hundreds of bits of pi; in log and pow for zeros, infinities, denormals
 * and the like; in exp for results that are not normal. A rare lane sends the
 * whole vector there, and the other lanes keep their results.
 *
 * A loop with such functions is bound by latency: the processor overlaps only
 * few iterations. Polynomials are therefore evaluated in balanced form, and
 * corrections are added as late as possible.
 *
 * Contract:
 * - Needs clang and LANES64. Guarantees: vmath.h.
 * - vmath.mk compiles the file to bitcode once for each width; generated code
 *   takes the functions from there.
 * - Only the types depend on the number of lanes. A lane's result depends on
 *   that lane alone, so all widths agree to the bit.
 * - Fused multiply-adds are explicit and make many steps exact. On a machine
 *   without them the C library's fma serves, correctly and slowly.
 * - Errors: at most 2 units in the last place, at most 1 for pow (measured by
 *   tests/unit/codegen/test_vmath.c).
 */
#include "backend/vmath/vector_types.h"
#include "backend/vmath/coefficients.h"
#include "backend/vmath/payne_hanek.h"
#include "backend/vmath/vmath.h"

/* Declares every function with its type for this width. */
#define DECLARE1(name)                                                                             \
	vf64 atled_##name##_f64(vf64 x);                                                               \
	vf32 atled_##name##_f32(vf32 x);
#define DECLARE2(name)                                                                             \
	vf64 atled_##name##_f64(vf64 x, vf64 y);                                                       \
	vf32 atled_##name##_f32(vf32 x, vf32 y);
VMATH_FUNCTIONS(DECLARE1, DECLARE2)

#define BITS 64
#include "backend/vmath/precision.h"
#include "backend/vmath/exp_log.h"
#include "backend/vmath/trigonometric.h"
#include "backend/vmath/roots_erf.h"
#undef BITS

#define BITS 32
#include "backend/vmath/precision.h"
#include "backend/vmath/exp_log.h"
#include "backend/vmath/trigonometric.h"
#include "backend/vmath/roots_erf.h"
