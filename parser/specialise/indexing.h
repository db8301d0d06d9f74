/* indexing.h - the items of an index, as positions along the axes of an array.
 *
 * Needs: specialise/internal.h. Private to indexing.c and index_update.c.
 */
#ifndef ATLED_PARSER_SPECIALISE_INDEXING_H
#define ATLED_PARSER_SPECIALISE_INDEXING_H

#include "parser/specialise/internal.h"

_Noreturn void index_out_of_range(Sp *sp, int64_t i, int64_t n, Span at);
/* Whether an index into a tuple or list is known only when the program runs.
 * Does not return where it can become a constant. */
bool index_is_late(Sp *sp, Av *item, Span at);
/* The items as arguments of a dynamic call: open ends of ranges are `none`. */
void index_box_items(Sp *sp, uint32_t n, Av *const *items, Av **boxed);
/* Assigns the items to the axes: one entry for each axis, NULL where there is
 * no item. The callers handle masks of several axes. */
uint32_t index_align_items(Sp *sp, const Av *base, uint32_t rank, uint32_t n, Av *const *items,
                           const Span *spans, Av **axis_item, Span *axis_span, Span at);

/* One axis of a slice: start, length, stride. */
typedef struct AxisSlice {
	Dim start, length;
	int64_t stride;
} AxisSlice;
/* A range on an axis of extent n. */
AxisSlice index_resolve_slice(Sp *sp, const Av *range, Dim n, Span at);

/* An item as an array of integers, or with *mask a mask. */
Ref index_ref(Sp *sp, Av *item, Span at, bool *mask);
/* Counts an index that may be negative from the front; gather and scatter
 * accept no others. */
Ref index_from_the_front(Sp *sp, Ref i, Dim length);
/* The positions where a mask along one axis of this extent is true. */
Ref index_axis_mask(Sp *sp, const Av *base, Ref mask, Dim length, Span at);
/* The positions where a mask is true. */
Ref index_mask_positions(Sp *sp, Ref mask, Span at);
/* Index i, checked to be in 0..n-1 by a gather from an iota. */
Ref index_normalised(Sp *sp, Ref i, Dim n);
/* Broadcasts index arrays to one shape, which is stored in *shape and *rank. */
void index_pair(Sp *sp, uint32_t n, Ref *index, Span at, uint32_t *rank, Dim *shape);
/* The shape with its first `axes` axes merged into one; returns its rank. */
uint32_t index_join_leading(Sp *sp, const Type *t, uint32_t axes, Dim *shape);

#endif
