/* mixed_partials.h - mixed derivatives by Taylor expansions in several
 * directions.
 *
 * Needs: transform_cache.h. Guarantees: used only by autodiff/.
 */
#ifndef ATLED_AUTODIFF_TAYLOR_MIXED_PARTIALS_H
#define ATLED_AUTODIFF_TAYLOR_MIXED_PARTIALS_H

#include "autodiff/core/transform_cache.h"

/* f with its expansions of expansions replaced by expansions along directions,
 * where fewer products of coefficients are to be expected of that; its other
 * calls written out, the expansions called. `note` gets the directions in
 * words. NULL: there is nothing of the kind, or it fails. Owned. */
Fn *polarise(Ctx *c, Fn *f, Arena *scratch, char *note, size_t cap);

#endif
