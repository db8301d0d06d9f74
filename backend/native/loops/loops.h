/* loops.h - array instructions as loop nests: the plan and its emission.
 *
 * Needs: lower/context.h.
 *
 * Method: fusion by recomputation. A value is either *materialised* (field
 * `materialised`; in memory, or for a block of rows in scratch) or *inlined*.
 * An inlined value is computed, element by element, in the loops that use it:
 * `element_at` (pull.c) follows the index from the user back to materialised
 * values. Shape changes are arithmetic on indices and cost nothing. These
 * values are materialised:
 *
 * - results needed afterwards;
 * - reductions and contractions, and operands of contractions;
 * - costly values that several loops would otherwise recompute.
 *
 * Each materialised value has a *nest*: loops over its axes and those it
 * reduces.
 *
 * - Region: nests that agree on one extent, the *row*, and read each other only
 *   at their own row. A region is one parallel loop over blocks of rows. Values
 *   that nothing outside needs are in scratch, which stays in the cache for any
 *   number of rows.
 * - Sums over the rows are stored for each chunk of the loop and combined in
 *   order afterwards, so results do not depend on the number of threads.
 * - LoopGroup: nests of a region over the same axes. A group is one loop.
 *
 * A region has one of two layouts:
 *
 * - LANES_ROWS, lanes along the rows. Scratch is [inner axes][row in block],
 *   and every operation uses whole vectors, whatever the inner extents. For
 *   networks, jets, maps of small values and plain vectors.
 * - LANES_INNER, lanes along the last inner axis, one row (or a few) at a time.
 *   For stencils, softmax and wide matrices.
 */
#ifndef ATLED_BACKEND_NATIVE_LOOPS_LOOPS_H
#define ATLED_BACKEND_NATIVE_LOOPS_LOOPS_H

#include "backend/native/lower/context.h"

#define MAX_AXES (2 * MAX_RANK) /* of a nest: result axes and reduced ones */
#define NO_NODE UINT32_MAX
/* Axes of fixed extent of a nest are unrolled while their product is at most
 * this. */
#define UNROLL_COUNT 64

/* One component of an index: an axis of the nest, a known integer, or something
 * computed. */
typedef struct Index {
	enum { IX_AXIS, IX_NUMBER, IX_OTHER } kind;
	uint32_t axis;
	int64_t number; /* of an axis: an offset, see IndexContext.shifts */
	/* IX_OTHER, in emission: base + lane * (lane number), or one value for each
	 * lane. */
	KRef base, lane; /* 0: nothing */
	KRef varying;
} Index;

typedef enum NodeKind {
	NODE_POINT,   /* each element follows from elements of the operands */
	NODE_REDUCE,  /* reduce_*, dot as the sum of products, argmax */
	NODE_SCAN,    /* cumsum, cumprod */
	NODE_UPDATE,  /* update: the nest is the box's; the unmodified border is copied separately */
	NODE_SCATTER, /* scatter_add, scatter_set */
	NODE_JOIN,    /* concat along an axis of unknown extent: a nest for each operand */
	NODE_GUARD    /* a check that two extents are equal */
} NodeKind;

typedef enum ContractionKind {
	CONTRACTION_NONE,
	CONTRACTION_SHARED_MATRIX, /* rows of one operand times a matrix that all rows share */
	CONTRACTION_REDUCED_ROWS,  /* summed over the rows: columns times columns */
	CONTRACTION_GEMM,          /* a product of whole matrices, by the runtime */
	CONTRACTION_BATCHED        /* a product of each row's own matrices */
} ContractionKind;

/* A read of a materialised value by a nest. axis_of[k] is the nest's axis that
 * runs along the value's axis k, or -1. */
typedef struct Access {
	uint32_t node;
	int8_t axis_of[MAX_RANK];
} Access;

typedef struct LoopNode {
	InstId inst;
	Ref ref;
	NodeKind kind;
	ContractionKind contraction;
	bool swapped; /* CONTRACTION_SHARED_MATRIX: the row belongs to the second operand */
	bool materialised, live_out; /* live_out: needed after the run (l->needed) */
	/* Materialised in memory: live-out, or read by another region or not at the
	 * reader's own row. */
	bool memory;
	/* The node (plus 1) in whose memory this one is stored: an update that
	 * changes it in place, or a concat of which it is an operand. 0: none. */
	uint32_t stored_in;
	bool scratch; /* materialised in the region's scratch */
	/* Only some rows of its memory exist at a time, see strip_mining.c. */
	bool strip;
	/* In a circular buffer of rows, one for each chunk, see
	 * sliding_window.c. */
	bool circular;
	bool row_sum; /* reduced over the region's row */
	/* The contraction (plus 1) that also computes this one, as one of its
	 * terms. 0: none. */
	uint32_t into;
	/* Further terms of this contraction. */
	VEC(uint32_t) terms;
	/* Operations for one element when inlined, including those of inlined
	 * operands. */
	uint32_t cost;
	uint32_t uses;
	/* Its nest, when materialised. */
	uint32_t naxes;
	Dim axes[MAX_AXES];     /* result axes, then reduced ones */
	uint32_t nresult;       /* number of result axes */
	int row;                /* the nest's axis that is the region's row; -1: none */
	uint32_t region, group; /* group: index within the region */
	uint32_t stage;         /* nests of different stages share no loop, see loop_fission.c */
	VEC(Access) reads;
	uint32_t last_group; /* the last group that reads it in scratch */
	/* For emission. */
	KRef scratch_at; /* pointer, in the current chunk */
	/* Its rows in scratch are contiguous, so a collapsed loop can run over
	 * them, see loop_collapse.c. */
	bool dense;
	KRef circular_row0;    /* address of its row 0, were it there, in the current circular buffer */
	KRef stream_store;     /* bool: store it with non-temporal stores; 0: never */
	uint32_t scratch_slot; /* its scratch slot in the region */
	/* Its scratch has no axis for the fused outer loop, because only one
	 * iteration needs it, see outer_loop_fusion.c. */
	bool fused_local;
	uint32_t copy_slot[2]; /* plus 1: scratch slots for copies of a contraction's operands */
	uint32_t partial;      /* plus 1: memory slot of the chunks' partial sums */
	/* CONTRACTION_SHARED_MATRIX: the node (plus 1) that adds `bias` to each
	 * row, fused into the contraction's tiles, see fuse_bias. 0: none. */
	uint32_t sum;
	Ref bias;
	/* Is such a sum. Its own loop is emitted only for non-temporal stores. */
	bool bias_fused;
	/* CONTRACTION_SHARED_MATRIX: the chunk's packed (transposed) copy of the
	 * matrix, and the distance between its rows in elements; 0: none. */
	KRef weights, weights_step;
} LoopNode;

typedef enum Lanes { LANES_ROWS, LANES_INNER } Lanes;

typedef struct LoopGroup {
	uint32_t naxes; /* inner axes: all but the row */
	Dim axes[MAX_AXES];
	bool reduces;   /* it reduces inner axes: the loop over lanes is outermost */
	bool alone;     /* contractions, scans, scatters: no other nest shares the loop */
	bool wide;      /* 8-byte elements occur */
	bool collapsed; /* emission: one collapsed loop over all rows of the block */
	uint32_t stage;
	VEC(uint32_t) nodes;
} LoopGroup;

/* Packing: an array from outside the region that has the row, but not as its
 * last axis. A block's rows of it are copied transposed, so that lanes along
 * the rows are contiguous. See transposed_copy.c. */
typedef struct TransposedCopy {
	Ref ref;
	uint32_t row;          /* the axis that is the row */
	uint32_t scratch_slot; /* its scratch slot in the region */
} TransposedCopy;

/* Outer-loop fusion: adjacent groups that share the loop over their first inner
 * axis. See outer_loop_fusion.c. */
typedef struct OuterFusion {
	uint32_t from, to; /* first and last group */
	Dim axis;
	/* Nodes of an earlier fused loop, recomputed in each iteration. */
	VEC(uint32_t) again;
} OuterFusion;

typedef struct FusedRegion {
	/* A whole region is one node, emitted without a loop over rows. */
	bool has_row, whole;
	/* Strip mining: the node (plus 1) of the next region, a product that is
	 * emitted with this region. `within` marks that next region. */
	uint32_t product;
	bool within;
	Dim row;
	Lanes lanes;
	VEC(LoopGroup) groups;
	VEC(uint32_t) nodes;
	VEC(Dim) slot_elements;       /* scratch slots: elements per row */
	VEC(uint32_t) slot_free_from; /* the first group at which the slot is free again */
	VEC(TransposedCopy) transposed;
	VEC(OuterFusion) outer_fusions;
	/* Emission: rows in a block; 0: no loop over rows. For descriptions. */
	KRef block;
	/* The number of following regions that share this one's sliding-window
	 * loop, see sliding_window.c. */
	uint32_t nfollowing;
	bool in_sliding_window; /* shares the loop of an earlier region */
	/* In a sliding-window loop: halo rows that a chunk computes before the
	 * first and after the last row of the loop's last region. */
	int64_t halo_before, halo_after;
} FusedRegion;

struct ArrayPlan {
	Lower *l;
	Arena *a;
	uint32_t n;
	const InstId *insts;
	VEC(LoopNode) nodes;
	uint32_t *node_of; /* by value of the function: node plus 1 */
	VEC(FusedRegion) regions;
	VEC(Dim) rows; /* candidate row extents, in order of preference */
};

/* ---- planning (fusion.c, storage.c, transposed_copy.c, loop_fission.c) --- */

/* Chooses the arrays that a region packs, after storage is chosen. */
void choose_transposed(ArrayPlan *p, uint32_t region);
/* Chooses the groups of a region that share a loop over an inner axis, and the
 * values that need scratch for one iteration only. Called after storage is
 * chosen. */
void choose_outer_fusions(ArrayPlan *p, uint32_t region);
/* The fused outer loop that contains a group; NULL: none. */
const OuterFusion *outer_fusion_of(const FusedRegion *r, uint32_t group);
/* The nest's first axis other than the row, which a fused outer loop runs
 * along; -1: none. */
int fused_axis(const LoopNode *n);
/* The axis of a contraction's operand that runs along that axis; -1: none. */
int fused_operand_axis(const ArrayPlan *p, const LoopNode *n, uint32_t operand);
/* Allocates a scratch slot with `elements` for each row, live from group g to
 * group `last`. Returns its index. */
uint32_t scratch_alloc(ArrayPlan *p, FusedRegion *r, Dim elements, uint32_t g, uint32_t last);

/* Decides which values are in memory, which in scratch, and for how long, for a
 * plan whose regions and groups are final. Requests the memory. */
void plan_storage(ArrayPlan *p, const struct SchedStep *run);

/* Loop fission: cuts long dependency chains over vectors. Returns true when it
 * materialised more values. */
bool plan_fission(ArrayPlan *p);

/* ---- shared by planning and emission (index_map.c) ----------------------- */

static inline const Inst *node_inst(const ArrayPlan *p, const LoopNode *n) {
	return &p->l->f->insts.at[n->inst];
}
static inline LoopNode *plan_node(const ArrayPlan *p, Ref r) {
	uint32_t k = ref_is_value(r) ? p->node_of[REF_INDEX(r)] : 0;
	return k ? &p->nodes.at[k - 1] : NULL;
}
static inline Type result_type(const ArrayPlan *p, const Inst *in) {
	return *type_of(p->l->c, p->l->f->vals.at[in->results].type);
}
/* Reports whether d is a small constant extent, whose axis may be unrolled, and
 * returns it in *v. Larger constants are treated like extents known only at run
 * time. */
bool dim_number(const ArrayPlan *p, Dim d, int64_t *v);
static inline bool long_axis(const ArrayPlan *p, Dim d) {
	int64_t v;
	return !dim_number(p, d, &v);
}
/* An operand of a contraction without the transposes applied to it, which
 * become strides. */
Ref matrix_operand(const ArrayPlan *p, Ref r);
/* Must the rows of operand r of contraction n be copied into scratch first? */
bool needs_copy(const ArrayPlan *p, const LoopNode *n, Ref r);
/* The product of extents. */
Dim dims_product(Ctx *c, uint32_t n, const Dim *dims);
uint32_t join_place(const ArrayPlan *p, const LoopNode *join, Ref part);
/* A concat along the axis that is its row: its operands are ranges of the
 * region's rows. */
bool joins_rows(const ArrayPlan *p, const LoopNode *n);

/* Index arithmetic of shape changes. `emitting` false: only finds which axes
 * the index follows. `axes` describes the open loops. */
typedef struct Axis {
	KRef base, lane; /* index = base + lane * (lane number); lane 0: uniform */
} Axis;
typedef struct IndexContext {
	const ArrayPlan *p;
	bool emitting;
	/* Not emitting: an index that is an axis plus a constant stays IX_AXIS,
	 * with the constant in `number`. */
	bool shifts;
	const Axis *axes;
} IndexContext;

/* The index at which operand k of a NODE_POINT instruction is read for its
 * result at `at`. Not for gather's x, concat and pad, which `element_at`
 * handles itself. */
void operand_index(IndexContext *ix, const Inst *in, uint32_t k, const Index *at, Index *out);
Index index_number(int64_t v);
Index index_axis(uint32_t axis);
/* start + stride * i. */
Index index_affine(IndexContext *ix, Index i, Dim start, int64_t stride);
bool index_equal(Index a, Index b);
/* Components of an index, in emission. */
KRef index_base(IndexContext *ix, Index i);
KRef index_lane(IndexContext *ix, Index i);  /* 0: uniform */
KRef index_value(IndexContext *ix, Index i); /* the index itself, perhaps varying */
/* The operand indices of a dot, from the nest's index: result axes, then
 * contracted axes. */
void dot_indices(const ArrayPlan *p, const Inst *in, const Index *at, Index *x, Index *y);
/* The operand index of a reduction or scan, from result axes and reduced
 * axes. */
void reduce_index(const ArrayPlan *p, const Inst *in, const Index *at, Index *x);

/* ---- access analysis (access_analysis.c) --------------------------------- */

/* plan_reads fills `reads` of the node with the materialised values that its
 * nest reads. It returns the reads of values from outside the plan. */
typedef struct Outside {
	Ref ref;
	int8_t axis_of[MAX_RANK];
} Outside;
typedef struct OutsideList {
	uint32_t n;
	const Outside *at;
} OutsideList;
OutsideList plan_reads(ArrayPlan *p, uint32_t node);
/* The same with the inlined values on the way, and where they are read. */
typedef struct InlinedRead {
	uint32_t node;
	int8_t axis_of[MAX_RANK];
} InlinedRead;
typedef struct NestVisit {
	ArrayPlan *p;
	IndexContext ix;
	uint32_t nest; /* the node whose nest is visited */
	VEC(InlinedRead) inlined_reads;
	VEC(Outside) outside;
} NestVisit;
NestVisit visit_nest(ArrayPlan *p, uint32_t node);
/* The nest's axes that a value with this axis_of runs along, as bits. */
uint32_t axes_along(const int8_t *axis_of);

/* Stop here; continue through an inlined value; give up. */
typedef enum AccessKind { ACCESS_LEAF, ACCESS_DESCEND, ACCESS_UNKNOWN } AccessKind;
typedef struct ReachSeen {
	Ref ref;
	Index at[MAX_RANK];
} ReachSeen;
typedef struct Reach Reach;
struct Reach {
	ArrayPlan *p;
	void *ud;
	/* Called for each value that is read. n is NULL for values from outside the
	 * plan. ACCESS_DESCEND is allowed only for nodes that are not
	 * materialised. */
	AccessKind (*leaf)(Reach *w, Ref r, const LoopNode *n, const Index *at);
	uint32_t row; /* the nest's axis that is the region's row */
	IndexContext ix;
	VEC(ReachSeen) seen;
};
/* Visits every value that the node's nest reads. Returns false when an index
 * cannot be followed, or `leaf` returned ACCESS_UNKNOWN. */
bool reach_nest(Reach *w, const LoopNode *n);

/* ---- emission (pull.c, emit_*.c, contraction.c) -------------------------- */

/* The region's row among the open axes. Inner axes of the group are 0, 1 ... */
#define ROW_AXIS (MAX_AXES - 1u)

typedef struct Memo {
	Ref ref;
	uint32_t rank;
	Index at[MAX_RANK];
	KRef value;
	uint32_t before; /* the previous with its hash, plus 1 */
} Memo;

/* An array that a group read row by row, at an index of its own axes. */
typedef struct RowRead {
	Ref ref;
	uint32_t rank;
	Index at[MAX_RANK];
} RowRead;

/* An array that a collapsed group reads along the inner axis and not along the
 * rows. `copy` repeats its beginning for one more vector. */
typedef struct Period {
	Ref ref;
	KRef copy;
} Period;

typedef struct ArrayEmit {
	ArrayPlan *p;
	Lower *l;
	KBuilder *k;
	IndexContext ix;
	Axis axes[MAX_AXES];
	VEC(Memo) memo;         /* values of the open loops; memo_cut when a loop closes */
	uint32_t *memo_heads;   /* by hash: the last, plus 1 */
	uint32_t nmemo_heads;   /* a power of two, or 0 */
	const LoopGroup *group; /* being emitted, or NULL */
	/* By the groups so far, with lanes along inner axes. */
	VEC(RowRead) row_reads;
	VEC(Period) periods;
	bool transposed; /* the block's packed copies are valid */
	/* In the tiles of a time-tiled loop: the borders of updates are already in
	 * place, and nothing written is read before the next iteration. */
	bool tiled;
	bool outer_fusion; /* in a fused outer loop: inner axis 0 is open */
	/* In a collapsed group: the first lane's index on the inner axis; 0
	 * elsewhere. */
	KRef phase;
	/* By value: small values from outside that were put in memory because a
	 * computed index reads them. */
	KRef *spilled;
	/* A uniform bool: the array that is read has elements. 0: known to
	 * be true. */
	KRef nonempty;
	/* The open region. */
	const FusedRegion *r;
	KRef *scratch_slots;    /* pointers to its scratch slots */
	uint32_t element_bytes; /* of scratch */
	/* Rows in this block, rows in a full block, the first row of this block. */
	KRef rows, block, row_start;
	/* In an open loop over rows: the first lane's row in the block. */
	KRef row_local;
	KRef part;
} ArrayEmit;

/* The element of a value at an index. Materialised values are loaded; others
 * are computed here. */
KRef element_at(ArrayEmit *e, Ref r, const Index *at);
/* Drops the values computed since there were n of them. */
void memo_cut(ArrayEmit *e, uint32_t n);
/* The element of an instruction's result, computed even where it is
 * materialised. It is memoised for other reads in the loop. */
KRef element_recomputed(ArrayEmit *e, LoopNode *n, const Index *at);
/* True when the group is one loop along the same axis as the region's first. */
bool goes_along_row(const ArrayEmit *e, const LoopGroup *g);
/* In a vector loop over the region's inner axis: prefetches, for the next row,
 * the data that the earlier groups read of this row. */
void prefetch_next_row(ArrayEmit *e, uint32_t lanes);
/* Sets *pointer to the start of a value in memory; false when it is not in
 * memory. */
bool in_memory(ArrayEmit *e, Ref r, KRef *pointer);
/* The memory of a node's value. */
KRef node_memory(ArrayEmit *e, const LoopNode *n);
/* Row-major strides, in elements. */
void memory_strides(ArrayEmit *e, const Type *t, KRef *stride);
/* Strides of a node's value in the region's scratch, indexed by its axes,
 * including the row. */
void scratch_strides(ArrayEmit *e, const LoopNode *n, KRef *stride);
bool uses_scratch(const ArrayEmit *e, const LoopNode *n);
void store_memory(ArrayEmit *e, const LoopNode *n, const Index *at, KRef value);
void store_scratch(ArrayEmit *e, const LoopNode *n, const Index *at, KRef value);
KRef identity_of(ArrayEmit *e, Op op, KType t); /* of a reduction */
Op fold_prim(Op reduction);
KType node_type_of(const ArrayEmit *e, const LoopNode *n);
/* Address of this chunk's partial sums of a node that is summed over the
 * rows. */
KRef partial_of(ArrayEmit *e, const LoopNode *n);
/* Copies a value from scratch to its memory. */
void copy_to_memory(ArrayEmit *e, LoopNode *n);
void emit_contraction(ArrayEmit *e, LoopNode *n);
/* In each chunk: packs the matrices that its products would otherwise pack for
 * each block. */
void copy_weights(ArrayEmit *e);
/* Finds bias additions to fuse into contractions. Call before choose_collapsed,
 * and after `stream_store` is set for all nodes. */
void fuse_bias(ArrayEmit *e);
/* A whole product of `terms` terms (0: all), with operands and result in
 * memory. how: GEMM_ADD, GEMM_STRIPS, GEMM_MORE, or 0. */
void emit_whole_product(ArrayEmit *e, const LoopNode *n, KRef terms, KRef how);

/* ---- triangular.c -------------------------------------------------------- */

/* Banded structure: element `at` of an array can be nonzero only where
 * (position along axis k) < (position along axis j) + high, and >= (position
 * along axis j) + low. Each bound holds where has_high or has_low is set. */
typedef struct BandBounds {
	bool has_low, has_high;
	int64_t low, high;
} BandBounds;
BandBounds band_of(const ArrayPlan *p, Ref r, const Index *at, uint32_t k, uint32_t j);

/* ---- the pieces of a region's loop (emit_region.c) ----------------------- */

typedef struct RowLoop {
	/* Rows; bytes of scratch for a row; blocks of rows; chunks of the parallel
	 * loop. */
	KRef n, row_bytes, nblocks, nparts;
	KRef work;    /* approximate operations for one row */
	bool cleared; /* the chunks' sums were initialised before the loop */
} RowLoop;
void emit_begin(ArrayEmit *e, Lower *l, ArrayPlan *p);
void spill_live_ins(ArrayEmit *e);
void rows_elements(ArrayEmit *e); /* sets the element size of scratch */
/* Copies the unmodified borders of the region's updates, except those copied
 * row by row. */
void emit_row_borders(ArrayEmit *e);
void rows_sizes(ArrayEmit *e, RowLoop *w);
void rows_part(ArrayEmit *e, const RowLoop *w); /* at the start of a chunk: scratch, sums, copies */
void rows_clear(ArrayEmit *e);                  /* initialises the chunk's sums over the rows */
/* Emits all groups of the region for e->rows rows from e->row_start on, at most
 * e->block where there is scratch. */
void rows_block(ArrayEmit *e, const RowLoop *w);
/* After the loop: combines the chunks' sums. */
void rows_join(ArrayEmit *e, KRef nparts);
/* A bool for emitted code: use non-temporal stores for the node? 0: never. */
KRef can_stream_store(ArrayEmit *e, const LoopNode *n);
/* Chunks of a parallel loop: n rounded up to a power of two, from 1 to
 * MAX_PARTS. */
KRef chunk_count(KBuilder *k, KRef n);
/* The parallel loop over blocks from .. to-1. */
void emit_row_blocks(ArrayEmit *e, const RowLoop *w, KRef from, KRef to);

/* ---- sliding_window.c ---------------------------------------------------- */

/* Chooses the regions that share a sliding-window loop. Called after storage is
 * chosen. */
void choose_sliding_windows(ArrayPlan *p);
/* Emits the region and those that share its loop. */
void emit_sliding_window(ArrayEmit *e, uint32_t region);

/* ---- strip_mining.c ------------------------------------------------------ */

/* Rows of a strip, and of a block of such a region, at most. */
enum { STRIP_ROWS = 1024 };
/* Chooses the regions that are strip-mined with the product that follows them.
 * Called after storage is chosen. */
void choose_strips(ArrayPlan *p);
/* Elements of memory for a node that is computed strip by strip. */
Dim strip_elements(const ArrayPlan *p, const LoopNode *n);
/* Emits the region's loop and the product. */
void emit_strips(ArrayEmit *e, RowLoop *w);

/* ---- transposed_copy.c --------------------------------------------------- */

/* The packed copy of this array in the open region; NULL: none. */
const TransposedCopy *transposed_copy_of(const ArrayEmit *e, Ref r);
/* At the start of a block: makes the copies. */
void emit_transposed_copies(ArrayEmit *e);
/* Strides in the copy. */
void transposed_strides(ArrayEmit *e, const TransposedCopy *t, KRef *stride);

/* ---- loop_collapse.c ----------------------------------------------------- */

/* Before the region's chunks: chooses the groups with a collapsed loop, and the
 * scratch values that must be contiguous for it. */
void choose_collapsed(ArrayEmit *e);
/* In each chunk: makes the periodic copies that the groups read. */
void copy_periods(ArrayEmit *e);
/* Emits the loop of such a group; `keep` stores an element. */
void emit_collapsed_group(ArrayEmit *e, const LoopGroup *g,
                          void (*keep)(ArrayEmit *e, LoopNode *n, const Index *at, KRef value));
/* The load of such an array in a collapsed group; 0: it has no periodic
 * copy. */
KRef periodic_element(ArrayEmit *e, Ref r);

/* ---- box_update.c -------------------------------------------------------- */

bool side_takes_all(Ctx *c, AxisRange s);
/* At the start of a run: checks that its slices, pads and updates are inside
 * their axes. */
void check_run(ArrayEmit *e);
/* The position in the array of element `at` of an update's box. */
void box_index(ArrayEmit *e, const LoopNode *n, const Index *at, Index *out);
/* Copy the unmodified border of an update before its nest is emitted.
 * emit_border copies all of it, or the whole rows only where border_by_rows
 * holds. emit_row_border then copies the border within each of the box's
 * rows. */
void emit_border(ArrayEmit *e, const LoopNode *n);
void emit_row_border(ArrayEmit *e, const LoopNode *n);
bool border_by_rows(ArrayEmit *e, const LoopNode *n);

#endif
