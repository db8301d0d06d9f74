/* mixed_partials.h - mixed derivatives by Taylor expansions in several
 * directions.
 *
 * Needs: transform_cache.h. Used only by autodiff/.
 */
#ifndef ATLED_AUTODIFF_TAYLOR_MIXED_PARTIALS_H
#define ATLED_AUTODIFF_TAYLOR_MIXED_PARTIALS_H

#include "autodiff/core/transform_cache.h"

/* f with nested expansions replaced by expansions along directions, where an
 * estimate of the products of coefficients is smaller. Its other calls are
 * inlined; the expansions remain calls. `note` receives the directions in
 * words. NULL: there are no nested expansions, or the replacement fails or does
 * not pay. Owned by the caller. */
Fn *expand_mixed_partials(Ctx *c, Fn *f, Arena *scratch, char *note, size_t cap);

#endif
