/* map_vectorise.h - interface of the files that vectorise maps.
 *
 * Covers idioms across rows, legality, and the emission of one row's program.
 * map_vectorise.c describes the method.
 *
 * Contract: private to unit/map_*.c. lower/schedule.h has what others may call.
 */
#ifndef ATLED_BACKEND_NATIVE_UNIT_MAP_VECTORISE_H
#define ATLED_BACKEND_NATIVE_UNIT_MAP_VECTORISE_H

#include "backend/native/lower/schedule.h"

/* ---- regions ------------------------------------------------------------- */

/* The operand, or parameter of the body, that is the first carried value. */
static inline uint32_t first_of(const Inst *in) { return in->op == OP_FOR; }
static inline Ref region_result(const Lower *l, const Region *g, uint32_t k) {
	return l->f->args.at[g->results + k];
}
static inline const Inst *inst_in(const Lower *l, const Region *g, uint32_t i) {
	return &l->f->insts.at[l->f->inst_order.at[g->insts + i]];
}

/* ---- masks, idioms, tapes: map_idioms.c ---------------------------------- */

/* A boolean for each row, or its negation. */
typedef struct Mask {
	Ref r; /* REF_NONE: none */
	bool off;
} Mask;
static inline bool same_mask(Mask x, Mask y) { return x.r == y.r && x.off == y.off; }

/* Operations across the rows that are recognised. */
typedef enum CrossLane {
	CROSS_LANE_NONE,
	CROSS_LANE_COUNT,     /* number of rows in the mask */
	CROSS_LANE_ANY,       /* whether there is one */
	CROSS_LANE_FIRST,     /* index of the first */
	CROSS_LANE_BROADCAST, /* that index, for each row */
	/* Each row's own index if it is in the mask, else the first's. */
	CROSS_LANE_SAFE_INDEX
} CrossLane;
CrossLane cross_lane_idiom(const Lower *l, Ref r, Mask *mask);
/* Whether `in` is gather(x, i), where i feeds inactive rows. */
bool is_feed(const Lower *l, const Inst *in, Mask *mask);
/* Whether `next` equals `old` for rows outside a mask. Sets *mask; if it is set
 * already, the masks must be the same. */
bool keeps_outside(const Lower *l, Ref next, Ref old, Mask *mask);
/* The mask of the rows on which an iteration of the body has an effect. */
Mask body_mask(const Lower *l, const Inst *in, const Region *body);

/* Whether t is a tensor whose axes other than `row` have few fixed elements. */
bool row_type(Ctx *c, TypeId t, Dim row, bool *has_row);
/* Whether r is an array of rows with too many elements in a row for registers.
 * With a single vector of lanes it need not have rows. */
bool is_tape(const Lower *l, Ref r);
/* Whether `in` is a gather or scatter_set along an axis of a tape, at an index
 * that all rows share. The axes other than that and the row must have few
 * elements. */
bool at_iteration(const Lower *l, const Inst *in);
/* Whether the loop carries result k as a tape that an iteration only writes. */
bool carries_tape(const Lower *l, const Inst *in, uint32_t k);
/* Whether `in` reads elements of an array that all rows share and that is too
 * large for registers. It is in memory, since values computed by rows are
 * small. */
bool is_lookup(const Lower *l, const Inst *in);

/* ---- legality: map_legality.c -------------------------------------------- */

#define MASKS_MOST 8 /* nested */

typedef struct MapVectoriser {
	Lower l;        /* with in_rows */
	uint32_t depth; /* open regions */
	double work;
	/* Element-wise operations on rows, and sums over all rows: as emitted,
	 * without trip counts. */
	double along, joins;
	Mask masks[MASKS_MOST];
	uint32_t nmasks;
} MapVectoriser;

/* A check for rows of this extent; lanes as in Lower.row_lanes. */
MapVectoriser map_vectoriser(const Lower *l, Dim row, uint32_t lanes);
/* Can the instruction be done by rows? Adds to the work. */
bool map_takes(MapVectoriser *w, const Inst *in);
/* Emitted operations: loops count once. */
double written_work(const MapVectoriser *w, const Inst *in);
/* Whether `in` reduces over the axis in the lanes. */
bool reduces_lanes(const Lower *l, const Inst *in);

/* ---- emission: map_emit.c ------------------------------------------------ */

typedef struct RowsEmit {
	Lower *l;
	bool feeds; /* inactive rows could fail, or not terminate */
	KRef base;  /* row index of lane 0 */
} RowsEmit;

static inline KRef *room(Lower *l, uint32_t n) { return ARENA_ARRAY(l->scratch, KRef, n + 1); }
/* Number of kernel values of r. Tapes are not carried in kernel values. */
uint32_t register_count(const Lower *l, Ref r);
/* Writes the kernel values of r that a loop carries to `at`, and returns their
 * number. spreads: values with rows become varying. */
uint32_t flatten_rows(RowsEmit *e, Ref r, bool spreads, KRef *at);
/* Emits the instruction for the rows in the open lanes. */
void rows_emit_inst(RowsEmit *e, const Inst *in);

#endif
