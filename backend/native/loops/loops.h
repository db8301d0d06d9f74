/* loops.h - array instructions as loop nests: what planning decides and
 * emission follows.
 *
 * Needs: lower/context.h. The method. A value is either *kept* (in memory, or
 * for a block of rows in scratch) or *inlined*: computed, element by element,
 * inside the loops that use it, by following the index from the user back to
 * what is kept (`pull` in pull.c). All shape changes are arithmetic on indices
 * and cost nothing. What is kept:
 *
 *     results that are wanted afterwards; reductions and contractions; operands
 *     of contractions; what several loops would compute again at a cost
 *
 * Each kept value has a *nest*: loops over its axes and those it reduces. Nests
 * that agree on one length, the *row*, and that read each other only at their
 * own row form a *region*: one parallel loop over blocks of rows, inside which
 * values that nobody else needs live in scratch that stays in the cache,
 * whatever the number of rows. Sums over the rows are kept per part of the loop
 * and joined in order afterwards, so results do not depend on the number of
 * threads. Inside a region, nests over the same axes are *groups*: one loop.
 *
 * Two layouts of a region. Lanes along the rows (LANES_ROWS): scratch is [inner
 * axes][row in block], every operation works on whole vectors whatever the
 * inner lengths are: networks, jets, maps of small things, and plain vectors.
 * Lanes along the last inner axis (LANES_INNER): one row (or a few) at a time:
 * stencils, softmax, wide matrices.
 */
#ifndef ATLED_BACKEND_NATIVE_LOOPS_LOOPS_H
#define ATLED_BACKEND_NATIVE_LOOPS_LOOPS_H

#include "backend/native/lower/context.h"

#define MAX_AXES (2 * MAX_RANK) /* of a nest: results' and reduced ones */
#define NO_NODE UINT32_MAX
/* a nest's axes of fixed length are unrolled while their product is at most
 * this */
#define UNROLL_COUNT 64

/* One component of an index: an axis of the nest, a number, or something
 * computed. */
typedef struct Index {
	enum { IX_AXIS, IX_NUMBER, IX_OTHER } kind;
	uint32_t axis;
	int64_t number; /* of an axis: see IndexContext.shifts */
	/* IX_OTHER, in emission: base + lane * (lane number), or one value for each
	 * lane */
	KRef base, lane; /* 0: nothing */
	KRef varying;
} Index;

typedef enum NodeKind {
	NODE_POINT,   /* an element follows from elements of the operands */
	NODE_REDUCE,  /* reduce_*, dot as the sum of products, argmax */
	NODE_SCAN,    /* cumsum, cumprod */
	NODE_UPDATE,  /* update: the nest is the box's, the frame around it is copied beside */
	NODE_SCATTER, /* scatter_add, scatter_set */
	NODE_JOIN,    /* concat along an axis of unknown length: each part's nest by itself */
	NODE_GUARD    /* a check of two lengths */
} NodeKind;

typedef enum Macro {
	MACRO_NONE,
	MACRO_ROWS,  /* row of one operand times a matrix that is the same for all rows */
	MACRO_OUTER, /* summed over the rows: columns times columns */
	MACRO_WHOLE, /* whole matrices, through BLAS */
	MACRO_EACH   /* a product of matrices for each row */
} Macro;

/* A nest reads a kept value: axis_of[k] is the nest's axis that runs along the
 * value's axis k, or -1. */
typedef struct Access {
	uint32_t node;
	int8_t axis_of[MAX_RANK];
} Access;

typedef struct Node {
	InstId inst;
	Ref ref;
	NodeKind kind;
	Macro macro;
	bool swapped;      /* MACRO_ROWS: the row is in the second operand */
	bool kept, wanted; /* wanted: l->needed */
	bool memory;       /* kept in memory: wanted, or read by another region or not at its own row */
	/* in the memory of that node (plus 1), an update that changes it where
	 * it lies, or a join that it is a part of */
	uint32_t lies_in;
	bool scratch;        /* kept in the region's scratch */
	bool strip;          /* of its memory there are only some rows at a time, see strip_mining.c */
	bool windowed;       /* of its memory each part has a window of rows, see sliding_window.c */
	bool row_sum;        /* reduced over the region's row */
	uint32_t into;       /* a term of the contraction of that node (plus 1), which does it */
	VEC(uint32_t) terms; /* that this one does besides its own */
	uint32_t cost;       /* operations for one element when inlined, with what is inlined into it */
	uint32_t uses;
	/* its nest, when kept */
	uint32_t naxes;
	Dim axes[MAX_AXES];     /* result axes, then reduced ones */
	uint32_t nresult;       /* how many are result axes */
	int row;                /* which is the region's row; -1: none */
	uint32_t region, group; /* group within the region */
	uint32_t stage;         /* nests of different stages share no loop, see loop_fission.c */
	VEC(Access) reads;
	uint32_t last_group; /* that reads it in scratch */
	/* emission */
	KRef scratch_at; /* pointer, in the present part */
	/* its rows in scratch follow each other without gaps: a group goes along
	 * all of them as one, see loop_collapse.c */
	bool dense;
	KRef window;   /* where its row 0 would be, while the window is open */
	KRef past;     /* bool: its memory is written past the caches; 0: never */
	uint32_t area; /* of the region's scratch */
	/* its scratch has no slab axis: only one turn of a slab's loop needs it,
	 * see outer_loop_fusion.c */
	bool slab_local;
	uint32_t copy_area[2]; /* plus 1: where a contraction's operand is copied to */
	uint32_t partial;      /* slot of the parts' sums plus 1 */
	/* MACRO_ROWS: the node (plus 1) that adds `bias` to each of its rows and
	 * is made by the contraction's tiles, see choose_biased */
	uint32_t sum;
	Ref bias;
	bool biased; /* is such a sum: its own loop is only for where it goes past the caches */
	/* of rows times a matrix: the part's turned copy of that and elements
	 * from one of its rows to the next; 0: none */
	KRef weights, weights_step;
} Node;

typedef enum Lanes { LANES_ROWS, LANES_INNER } Lanes;

typedef struct Group {
	uint32_t naxes; /* inner axes: without the row */
	Dim axes[MAX_AXES];
	bool reduces; /* over inner axes: the loop over lanes is outermost */
	bool alone;   /* contractions, scans, scatters: nothing is fused with it */
	bool wide;    /* 8-byte elements occur */
	bool joined;  /* emission: one loop along all rows of the block */
	uint32_t stage;
	VEC(uint32_t) nodes;
} Group;

/* An array from outside of the region that has its row, though not as the last
 * axis: a block's rows of it, turned so that lanes along the rows are
 * neighbours. See transposed_copy.c. */
typedef struct Turned {
	Ref ref;
	uint32_t row;  /* which axis it is */
	uint32_t area; /* of the region's scratch */
} Turned;

/* Neighbouring groups that are done turn by turn of their first inner axis. See
 * outer_loop_fusion.c. */
typedef struct Slab {
	uint32_t from, to; /* groups, both within */
	Dim axis;
	VEC(uint32_t) again; /* nodes of an earlier slab that each turn makes anew */
} Slab;

typedef struct RowRegion {
	bool has_row, whole; /* whole: one node that is emitted without a loop over rows */
	/* the node of the next region (plus 1) that is done with this one, strip
	 * by strip; that region is `within` */
	uint32_t product;
	bool within;
	Dim row;
	Lanes lanes;
	VEC(Group) groups;
	VEC(uint32_t) nodes;
	VEC(Dim) area_elements;  /* scratch areas: elements per row */
	VEC(uint32_t) area_free; /* the group after which the area may be taken again */
	VEC(Turned) turned;
	VEC(Slab) slabs;
	KRef block; /* emission: rows in a block; 0: no loop over rows. For descriptions */
	/* so many regions behind this one are done with it, in one stream; see
	 * sliding_window.c */
	uint32_t stream;
	bool streamed; /* done with one before */
	/* in a stream: rows that a part does before those of the stream's last
	 * region, and after them */
	int64_t before, ahead;
} RowRegion;

struct ArrayPlan {
	Lower *l;
	Arena *a;
	uint32_t n;
	const InstId *insts;
	VEC(Node) nodes;
	uint32_t *node_of; /* by value of the function: node plus 1 */
	VEC(RowRegion) regions;
	VEC(Dim) rows; /* lengths that may be rows, the most work first */
};

/* Parts of a region's parallel loop: fixed by the lengths alone. */
#define MAX_PARTS 16

/* ---- planning (fusion.c, loop_fission.c, transposed_copy.c) -------------- */

/* What a nest reads of values that it does not keep itself: plan_reads fills
 * `reads` of the node with the kept ones and gives those from outside of the
 * plan. */
typedef struct Outside {
	Ref ref;
	int8_t axis_of[MAX_RANK];
} Outside;
typedef struct OutsideList {
	uint32_t n;
	const Outside *at;
} OutsideList;
OutsideList plan_reads(ArrayPlan *p, uint32_t node);
/* the nest's axes that a value with this axis_of runs along, as bits */
uint32_t axes_along(const int8_t *axis_of);
/* Chooses what a region turns, once it is known what is kept where. */
void choose_turned(ArrayPlan *p, uint32_t region);
/* Which of a region's groups share a loop over an inner axis, and what need not
 * be kept for all of its turns. After the storage is chosen. */
void choose_slabs(ArrayPlan *p, uint32_t region);
/* The slab of a group; NULL: none. */
const Slab *slab_of(const RowRegion *r, uint32_t group);
/* The nest's first axis but for the row: the one that a slab's loop goes along;
 * -1: none. */
int slab_axis(const Node *n);
/* The axis of a contraction's operand that runs along it; -1: none. */
int slab_operand_axis(const ArrayPlan *p, const Node *n, uint32_t operand);
/* An area of so many elements for each row, from group g until after group
 * `last`. */
uint32_t take_area(ArrayPlan *p, RowRegion *r, Dim elements, uint32_t g, uint32_t last);

/* Cuts long chains over vectors; true when more is kept now. */
bool plan_stages(ArrayPlan *p);

/* ---- what planning and emission share (index_map.c) ---------------------- */

static inline const Inst *node_inst(const ArrayPlan *p, const Node *n) {
	return &p->l->f->insts.at[n->inst];
}
static inline Node *plan_node(const ArrayPlan *p, Ref r) {
	uint32_t k = ref_is_value(r) ? p->node_of[REF_INDEX(r)] : 0;
	return k ? &p->nodes.at[k - 1] : NULL;
}
/* A small fixed length, whose axis may be written out. Larger numbers are
 * treated as lengths that are known when the code runs. */
bool dim_number(const ArrayPlan *p, Dim d, int64_t *v);
/* An operand of a contraction without the transposes in front of it, which are
 * but strides. */
Ref matrix_operand(const ArrayPlan *p, Ref r);
/* Must the rows of operand r of contraction n be copied into scratch first? */
bool needs_copy(const ArrayPlan *p, const Node *n, Ref r);
/* The product of lengths. */
Dim dims_product(Ctx *c, uint32_t n, const Dim *dims);
uint32_t join_place(const ArrayPlan *p, const Node *join, Ref part);
/* A join along the axis that is its row: parts of it are parts of the region's
 * rows. */
bool joins_rows(const ArrayPlan *p, const Node *n);

/* The index arithmetic of shape changes. `emitting` false: only what follows an
 * axis and what does not is worked out. axes: the open loops'. */
typedef struct Axis {
	KRef base, lane; /* index = base + lane * (lane number); lane 0: uniform */
} Axis;
typedef struct IndexContext {
	const ArrayPlan *p;
	bool emitting;
	/* not emitting: an axis that is moved by a number stays that axis, and
	 * its `number` says how far */
	bool shifts;
	const Axis *axes;
} IndexContext;

/* The index at which operand k of a NODE_POINT instruction is read for its
 * result at `at`; not for gather's x, concat and pad, which pull treats itself.
 */
void operand_index(IndexContext *ix, const Inst *in, uint32_t k, const Index *at, Index *out);
Index index_number(int64_t v);
Index index_axis(uint32_t axis);
/* start + stride * i */
Index index_affine(IndexContext *ix, Index i, Dim start, int64_t stride);
bool index_equal(Index a, Index b);
/* Parts of an index while emitting. */
KRef index_base(IndexContext *ix, Index i);
KRef index_lane(IndexContext *ix, Index i);  /* 0: uniform */
KRef index_value(IndexContext *ix, Index i); /* the number itself, perhaps varying */
/* The axes of a dot's operands: for result axis or contracted axis k of the
 * nest, the operand's index. */
void dot_indices(const ArrayPlan *p, const Inst *in, const Index *at, Index *x, Index *y);
/* The operand's index of a reduction or scan from result axes and reduced axes.
 */
void reduce_index(const ArrayPlan *p, const Inst *in, const Index *at, Index *x);

/* ---- where a nest reads (access_analysis.c) ------------------------------ */

/* no farther; through what is inlined; that is not to be */
typedef enum Reached { REACHED, REACHED_THROUGH, REACHED_ASTRAY } Reached;
typedef struct ReachSeen {
	Ref ref;
	Index at[MAX_RANK];
} ReachSeen;
typedef struct Reach Reach;
struct Reach {
	ArrayPlan *p;
	void *ud;
	/* Asked for each value that is read; n: NULL for what comes from outside of
	 * the plan. THROUGH: only where the node is not kept. */
	Reached (*leaf)(Reach *w, Ref r, const Node *n, const Index *at);
	uint32_t row; /* the nest's axis that is the region's row */
	IndexContext ix;
	VEC(ReachSeen) seen;
};
/* Follows all that the node's nest reads; false: something cannot be followed,
 * or went astray. */
bool reach_nest(Reach *w, const Node *n);

/* ---- emission (pull.c, loops/emit.c, loops/contraction.c) ---------------- */

/* the number that the region's row has among the open axes; inner axes of
 * the group are 0, 1 ... */
#define ROW_AXIS (MAX_AXES - 1u)

typedef struct Memo {
	Ref ref;
	uint32_t rank;
	Index at[MAX_RANK];
	KRef value;
} Memo;

/* An array that a group read row by row, at an index of its own axes. */
typedef struct RowRead {
	Ref ref;
	uint32_t rank;
	Index at[MAX_RANK];
} RowRead;

/* An array that a joined group reads along the inner axis and not along the
 * rows: a copy that goes on with its beginning for another vector. */
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
	VEC(Memo) memo;         /* values of the open loops; truncated when one closes */
	VEC(RowRead) row_reads; /* of the groups so far, with lanes along inner axes */
	VEC(Period) periods;
	bool turned; /* the block's turned arrays are there */
	/* inside a loop's tiles: what lies around the updates' boxes is there;
	 * nothing that is written is read before the next turn */
	bool tiled;
	bool slab;  /* inside a slab's loop: inner axis 0 is open */
	KRef phase; /* in a joined group: the first lane's index on the inner axis; 0 elsewhere */
	/* by value: small outside values put in memory because a computed index
	 * reads them */
	KRef *spilled;
	KRef nonempty; /* a uniform bool, 0 for true: the array that is pulled from has elements */
	/* the open region */
	const RowRegion *r;
	KRef *areas;                 /* pointers to its scratch areas */
	uint32_t element_bytes;      /* of scratch */
	KRef rows, block, row_start; /* rows in this block, rows in a full one, the first of this one */
	KRef row_local;              /* of the open loop over rows: the first lane's row in the block */
	KRef part;
} ArrayEmit;

/* The element of a value at an index: kept ones are loaded, others computed
 * here. */
KRef pull(ArrayEmit *e, Ref r, const Index *at);
/* The element of an instruction's result, computed whether it is kept or not;
 * it is remembered for what else the loop pulls. */
KRef pull_computed(ArrayEmit *e, Node *n, const Index *at);
/* Inside a vector loop over the region's inner axis: what the groups before it
 * read of this row is asked for of the next one. */
void ask_for_next_row(ArrayEmit *e, uint32_t lanes);
/* Where a value in memory begins; false when it is not in memory. */
bool in_memory(ArrayEmit *e, Ref r, KRef *pointer);
/* The memory of a node's value. */
KRef node_memory(ArrayEmit *e, const Node *n);
/* Row-major strides, in elements. */
void memory_strides(ArrayEmit *e, const Type *t, KRef *stride);
/* Strides of a node's value in the region's scratch; *row: of the row. */
void scratch_strides(ArrayEmit *e, const Node *n, KRef *stride);
bool uses_scratch(const ArrayEmit *e, const Node *n);
void store_memory(ArrayEmit *e, const Node *n, const Index *at, KRef value);
void store_scratch(ArrayEmit *e, const Node *n, const Index *at, KRef value);
KRef identity_of(ArrayEmit *e, Op op, KType t); /* of a reduction */
Op fold_prim(Op reduction);
KType node_type_of(const ArrayEmit *e, const Node *n);
/* Where this part's sums of a node that is summed over the rows are. */
KRef partial_of(ArrayEmit *e, const Node *n);
/* A value made in scratch, also to where it lies in memory. */
void copy_to_memory(ArrayEmit *e, Node *n);
void emit_contraction(ArrayEmit *e, Node *n);
/* In each part: matrices that its products would turn for each block. */
void copy_weights(ArrayEmit *e);
/* before choose_joined, and when it is known what goes past the caches */
void choose_biased(ArrayEmit *e);
/* A whole product of so many terms (0: all) from where its operands lie; how:
 * GEMM_ADD, GEMM_STRIPS, GEMM_MORE, 0: none. */
void emit_whole_product(ArrayEmit *e, const Node *n, KRef terms, KRef how);

/* ---- triangular.c -------------------------------------------------------- */

/* Element `at` of an array can be other than 0 only where (place along axis k)
 * < (place along axis j) + high, and >= (place along axis j) + low. */
typedef struct Band {
	bool has_low, has_high;
	int64_t low, high;
} Band;
Band band_of(const ArrayPlan *p, Ref r, const Index *at, uint32_t k, uint32_t j);

/* ---- the pieces of a region's loop (loops/emit.c), for time_tiling.c and sliding_window.c ---- */

typedef struct RowLoop {
	/* rows; bytes of scratch for a row; blocks of rows; parts of the
	 * parallel loop */
	KRef n, row_bytes, nblocks, nparts;
	KRef work;    /* operations for one row, roughly */
	bool cleared; /* the parts' sums have been, before the loop */
} RowLoop;
void emit_begin(ArrayEmit *e, Lower *l, ArrayPlan *p);
void spill_outside(ArrayEmit *e);
void rows_elements(ArrayEmit *e); /* of scratch: how wide they are */
/* what the region's updates leave as it was, but for what is copied row by
 * row */
void rows_frames(ArrayEmit *e);
void rows_sizes(ArrayEmit *e, RowLoop *w);
void rows_part(ArrayEmit *e, const RowLoop *w); /* at the beginning of a part: its scratch */
void rows_clear(ArrayEmit *e);                  /* the part's sums over the rows */
/* All of the region's groups for e->rows rows from e->row_start on, at most
 * e->block where there is scratch. */
void rows_block(ArrayEmit *e, const RowLoop *w);
/* After the loop: the parts' sums are joined. */
void rows_join(ArrayEmit *e, KRef nparts);
/* May the node's memory be written past the caches? 0: never. */
KRef goes_past(ArrayEmit *e, const Node *n);
/* About so many parts for a parallel loop, at least one, MAX_PARTS at most. */
KRef even_parts(KBuilder *k, KRef n);
/* The parallel loop over blocks from .. to-1. */
void emit_row_blocks(ArrayEmit *e, const RowLoop *w, KRef from, KRef to);

/* ---- sliding_window.c ---------------------------------------------------- */

/* Which regions are done block by block, one after the other; once it is known
 * what lies where. */
void choose_streams(ArrayPlan *p);
/* The region and those that go with it. */
void emit_stream(ArrayEmit *e, uint32_t region);

/* ---- strip_mining.c ------------------------------------------------------ */

enum { STRIP_ROWS = 1024 }; /* of a strip, at most; blocks are no longer there */
/* Which regions are done in strips with the product behind them; once it is
 * known what lies in memory. */
void choose_strips(ArrayPlan *p);
/* Elements of memory for a node made in strips. */
Dim strip_elements(const ArrayPlan *p, const Node *n);
/* The region's loop and the product. */
void emit_strips(ArrayEmit *e, RowLoop *w);

/* ---- transposed_copy.c --------------------------------------------------- */

/* Is this array, which lies in memory, turned in the open region? NULL when
 * not. */
const Turned *turned_array(const ArrayEmit *e, Ref r);
/* At the beginning of a block: the copies. */
void copy_turned(ArrayEmit *e);
/* Strides in the copy. */
void turned_strides(ArrayEmit *e, const Turned *t, KRef *stride);

/* ---- loop_collapse.c ----------------------------------------------------- */

/* Before the region's parts: which groups go along all rows of a block as one,
 * and what of the scratch has no gaps then. */
void choose_joined(ArrayEmit *e);
/* In each part: the copies that they read. */
void copy_periods(ArrayEmit *e);
/* The loop of such a group; `keep` puts an element where it belongs. */
void emit_joined_group(ArrayEmit *e, const Group *g,
                       void (*keep)(ArrayEmit *e, Node *n, const Index *at, KRef value));
/* What a joined group reads of such an array; 0: it is none. */
KRef pull_period(ArrayEmit *e, Ref r);

/* ---- box_update.c -------------------------------------------------------- */

bool side_takes_all(Ctx *c, Side s);
/* At the beginning of a run: what its slices, pads and updates reach lies on
 * their axes. */
void check_run(ArrayEmit *e);
/* Where element `at` of the box of an update lies in the array. */
void box_index(ArrayEmit *e, const Node *n, const Index *at, Index *out);
/* Copies what an update leaves as it was, before its nest: all of it, or with
 * emit_row_frame in each of the box's rows what lies between its rows. */
void emit_frame(ArrayEmit *e, const Node *n);
void emit_row_frame(ArrayEmit *e, const Node *n);
bool frame_by_rows(ArrayEmit *e, const Node *n);

#endif
