/* vmath.c - Atled's vector maths: every function of vmath.h for one width, in
 * both precisions.
 *
 * Needs: clang, LANES64. Guarantees: vmath.h. This file becomes bitcode
 * (vmath.mk), once for each width, and generated code takes the functions from
 * there. Nothing here depends on the number of lanes but the types, so that all
 * widths agree to the bit: a lane's result depends on that lane alone. There
 * are no tables, since gathers are slow, and no branches but one at the end of
 * a few functions: in sin, cos and tan for angles so huge that reducing them
 * takes hundreds of bits of pi, in log and pow for zeros, infinities, denormals
 * and the like, in exp for results that are not normal. Any lane that needs it
 * sends the whole vector there, and the other lanes keep theirs.
 *
 * What a loop with such functions costs is the length of the longest chain of
 * dependent steps times the number of steps, for a processor has room for a
 * hundred steps or so at once: so polynomials are balanced, and what is only
 * corrected late is corrected late.
 *
 * Fused multiply-adds are written out and make many steps exact; a machine
 * without them is served by its C library, correctly and slowly. Errors: at
 * most 2 units in the last place, at most 1 for pow
 * (tests/unit/codegen/test_vmath.c measures).
 */
#include "backend/vmath/vector_types.h"
#include "backend/vmath/coefficients.h"
#include "backend/vmath/payne_hanek.h"
#include "backend/vmath/vmath.h"

/* every function is declared, with its type for this width */
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
