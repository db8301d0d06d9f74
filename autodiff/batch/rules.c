/* rules.c - batching rules of the structural primitives without regions.
 *
 * Needs: batch.h.
 *
 * Contract:
 * - There is one rule for each, bound through prims.def. A primitive without
 *   one does not link.
 * - A rule is called only when an operand or result is batched. The batch axis
 *   of its results is the first.
 * - Operands shared by all batch elements stay unbatched where the primitive
 *   allows it: weights are not copied, and a shared index is used once.
 */
#include "autodiff/batch/batch.h"

#define ST(ID, ...) [OP_##ID] = batch_##ID,
static const BatchRule rules[OP_COUNT] = {
#include "lang/ir/prims.def"
};

BatchRule batch_rule(Op op) { return rules[op]; }

/* ---- attributes and axes ------------------------------------------------- */

static Type type_at(Batcher *s, Ref x) { return *ref_ty(build_fn(s->b), x); }

static bool arg_lanes(const Batcher *s, const Inst *in, uint32_t k) {
	return batch_lanes(s, inst_arg(s->f, in, k));
}

/* A list of axes, each shifted by `shift`. */
static uint32_t axes_field(Batcher *s, const Inst *in, uint32_t k, int shift, int *out) {
	uint32_t n;
	const int64_t *words = attr_field(s->c, (Op)in->op, in->attr, k, &n);
	for (uint32_t i = 0; i < n; i++) out[i] = (int)words[i] + shift;
	return n;
}

/* A list of dims with another in front. */
static uint32_t dims_field(Batcher *s, const Inst *in, uint32_t k, Dim first, Dim *out) {
	uint32_t n;
	const int64_t *words = attr_field(s->c, (Op)in->op, batch_attr(s, in), k, &n);
	if (n >= MAX_RANK) batch_no_rule(s, in, "would need more than 8 axes under map");
	out[0] = first;
	for (uint32_t i = 0; i < n; i++) out[i + 1] = (Dim)words[i];
	return n + 1;
}

/* Moves an axis to another position; the others keep their order. */
static Ref move_axis(Batcher *s, Ref x, int from, int to) {
	int perm[MAX_RANK], rank = type_at(s, x).rank;
	if (from == to) return x;
	for (int i = 0, k = 0; i < rank; i++) {
		if (i == to) {
			perm[i] = from;
			continue;
		}
		if (k == from) k++;
		perm[i] = k++;
	}
	return build_transpose(s->b, x, perm);
}

static void set1(Batcher *s, const Inst *in, Ref x) { batch_set(s, inst_result(in, 0), x); }

/* The same primitive along the axis shifted by one. Its attribute is `axis:i`
 * first; other words are unchanged. */
static void along_axis(Batcher *s, const Inst *in) {
	uint32_t n;
	const int64_t *old = attr_words(s->c, in->attr, &n);
	int64_t words[3] = {old[0] + 1, n > 1 ? old[1] : 0, n > 2 ? old[2] : 0};
	Ref x = batch_get(s, inst_arg(s->f, in, 0));
	set1(s, in, build(s->b, (Op)in->op, 1, &x, attr_intern(s->c, words, n), NULL));
}

/* All operands with the batch axis, the attribute unchanged. */
static void all_lanes(Batcher *s, const Inst *in) {
	Ref *args = ARENA_ARRAY(s->scratch, Ref, in->nargs + 1), results[3];
	for (uint32_t k = 0; k < in->nargs; k++) args[k] = batch_full_arg(s, in, k);
	build(s->b, (Op)in->op, in->nargs, args, batch_attr(s, in), results);
	for (uint32_t k = 0; k < in->nresults; k++) batch_set(s, inst_result(in, k), results[k]);
}

/* ---- selection and shape ------------------------------------------------- */

void batch_SELECT(Batcher *s, const Inst *in) { all_lanes(s, in); }
void batch_CONVERT(Batcher *s, const Inst *in) { all_lanes(s, in); }
void batch_STOP(Batcher *s, const Inst *in) { all_lanes(s, in); }

void batch_BROADCAST(Batcher *s, const Inst *in) {
	Dim shape[MAX_RANK];
	int axes[MAX_RANK] = {0};
	uint32_t rank = dims_field(s, in, 0, s->n, shape);
	axes_field(s, in, 1, 1, axes + 1);
	set1(s, in, build_broadcast(s->b, batch_arg(s, in, 0), rank, shape, axes));
}

void batch_RESHAPE(Batcher *s, const Inst *in) {
	Dim shape[MAX_RANK];
	uint32_t rank = dims_field(s, in, 0, s->n, shape);
	set1(s, in, build_reshape(s->b, batch_arg(s, in, 0), rank, shape));
}

void batch_TRANSPOSE(Batcher *s, const Inst *in) {
	int perm[MAX_RANK] = {0};
	axes_field(s, in, 0, 1, perm + 1);
	set1(s, in, build_transpose(s->b, batch_arg(s, in, 0), perm));
}

static void strided(Batcher *s, const Inst *in) {
	Dim start[MAX_RANK], length[MAX_RANK];
	int64_t stride[MAX_RANK] = {1};
	int words[MAX_RANK];
	dims_field(s, in, 0, dim_const(s->c, 0), start);
	dims_field(s, in, 1, s->n, length);
	uint32_t n = axes_field(s, in, 2, 0, words);
	for (uint32_t i = 0; i < n; i++) stride[i + 1] = words[i];
	Ref x = batch_arg(s, in, 0);
	set1(s, in,
	     in->op == OP_SLICE ? build_slice(s->b, x, start, length, stride)
	                        : build_pad(s->b, x, start, length, stride));
}

void batch_SLICE(Batcher *s, const Inst *in) { strided(s, in); }
void batch_PAD(Batcher *s, const Inst *in) { strided(s, in); }

void batch_UPDATE(Batcher *s, const Inst *in) {
	Dim start[MAX_RANK];
	int64_t stride[MAX_RANK] = {1};
	int words[MAX_RANK];
	dims_field(s, in, 0, dim_const(s->c, 0), start);
	uint32_t n = axes_field(s, in, 1, 0, words);
	for (uint32_t i = 0; i < n; i++) stride[i + 1] = words[i];
	set1(s, in,
	     build_update(s->b, batch_full_arg(s, in, 0), batch_full_arg(s, in, 1), start, stride));
}

void batch_CONCAT(Batcher *s, const Inst *in) {
	Ref *parts = ARENA_ARRAY(s->scratch, Ref, in->nargs);
	for (uint32_t k = 0; k < in->nargs; k++) parts[k] = batch_full_arg(s, in, k);
	set1(s, in,
	     build_concat(s->b, in->nargs, parts, 1 + (int)attr_int(s->c, OP_CONCAT, in->attr, 0)));
}

/* Rows are along axis 1 of the batch, where an array cannot grow in place. */
void batch_PUSH(Batcher *s, const Inst *in) {
	Ref x = batch_full_arg(s, in, 0), row = batch_full_arg(s, in, 1);
	Type t = type_at(s, row);
	Dim shape[MAX_RANK] = {s->n, dim_const(s->c, 1)};
	for (uint32_t i = 1; i < t.rank; i++) shape[i + 1] = t.dims[i];
	set1(s, in, build_concat(s->b, 2, (Ref[]){x, build_reshape(s->b, row, t.rank + 1u, shape)}, 1));
}

/* ---- indexing ------------------------------------------------------------ */

/* The result axes of gather are x[..axis), i[batch..), x(axis..]. Where only
 * one operand is batched, its batch axis is moved behind the shared axes. In
 * the result it is there, or at `axis`, and is moved to the front. */
void batch_GATHER(Batcher *s, const Inst *in) {
	int axis = (int)attr_int(s->c, OP_GATHER, in->attr, 0),
		together = (int)attr_int(s->c, OP_GATHER, in->attr, 1);
	Ref x = batch_get(s, inst_arg(s->f, in, 0)), index = batch_get(s, inst_arg(s->f, in, 1));
	if (type_at(s, x).rank + type_at(s, index).rank - 1 - together >
	    MAX_RANK + (arg_lanes(s, in, 0) && arg_lanes(s, in, 1)))
		batch_no_rule(s, in, "would need more than 8 axes under map");
	Ref y;
	if (arg_lanes(s, in, 0) && arg_lanes(s, in, 1)) {
		y = build_gather(s->b, x, index, axis + 1, together + 1);
	} else if (arg_lanes(s, in, 0)) {
		y = build_gather(s->b, move_axis(s, x, 0, together), index, axis + 1, together);
		y = move_axis(s, y, together, 0);
	} else {
		y = build_gather(s->b, x, move_axis(s, index, 0, together), axis, together);
		y = move_axis(s, y, axis, 0);
	}
	set1(s, in, y);
}

static void scatter(Batcher *s, const Inst *in) {
	Op op = (Op)in->op;
	int axis = (int)attr_int(s->c, op, in->attr, 0),
		together = (int)attr_int(s->c, op, in->attr, 1);
	Ref x = batch_full_arg(s, in, 0), update = batch_full_arg(s, in, 2), y;
	if (arg_lanes(s, in, 1)) {
		y = build_scatter(s->b, op, x, batch_arg(s, in, 1), update, axis + 1, together + 1);
	} else {
		x = move_axis(s, x, 0, together);
		update = move_axis(s, update, 0, together);
		y = build_scatter(s->b, op, x, batch_get(s, inst_arg(s->f, in, 1)), update, axis + 1,
		                  together);
		y = move_axis(s, y, together, 0);
	}
	set1(s, in, y);
}

void batch_SCATTER_ADD(Batcher *s, const Inst *in) { scatter(s, in); }
void batch_SCATTER_SET(Batcher *s, const Inst *in) { scatter(s, in); }

/* ---- reductions and scans ------------------------------------------------ */

static void reduce(Batcher *s, const Inst *in) {
	int axes[MAX_RANK];
	uint32_t n = axes_field(s, in, 0, 1, axes);
	set1(s, in, build_reduce(s->b, (Op)in->op, batch_arg(s, in, 0), n, axes));
}

void batch_REDUCE_SUM(Batcher *s, const Inst *in) { reduce(s, in); }
void batch_REDUCE_PROD(Batcher *s, const Inst *in) { reduce(s, in); }
void batch_REDUCE_MAX(Batcher *s, const Inst *in) { reduce(s, in); }
void batch_REDUCE_MIN(Batcher *s, const Inst *in) { reduce(s, in); }
void batch_ARGMAX(Batcher *s, const Inst *in) { along_axis(s, in); }
void batch_CUMSUM(Batcher *s, const Inst *in) { along_axis(s, in); }
void batch_CUMPROD(Batcher *s, const Inst *in) { along_axis(s, in); }
void batch_ARGSORT(Batcher *s, const Inst *in) { along_axis(s, in); }
void batch_FFT(Batcher *s, const Inst *in) { along_axis(s, in); }

/* ---- contraction --------------------------------------------------------- */

/* With both operands batched the batch axis is a shared axis. With one batched,
 * that operand comes first, so that the batch axis is the first of its free
 * axes. One contraction over all batch elements then uses the other operand as
 * it is. */
void batch_DOT(Batcher *s, const Inst *in) {
	Builder *b = s->b;
	bool left = arg_lanes(s, in, 0), right = arg_lanes(s, in, 1);
	uint32_t first = left ? 0 : 1, second = 1 - first;
	int c1[MAX_RANK], c2[MAX_RANK], b1[MAX_RANK] = {0}, b2[MAX_RANK] = {0};
	uint32_t both = left && right, nc = axes_field(s, in, first, 1, c1);
	axes_field(s, in, second, (int)both, c2);
	uint32_t nb = axes_field(s, in, 2 + first, 1, b1 + both);
	axes_field(s, in, 2 + second, (int)both, b2 + both);
	Ref x = batch_get(s, inst_arg(s->f, in, first)), y = batch_get(s, inst_arg(s->f, in, second));
	uint32_t xfree = type_at(s, x).rank - nc - nb - both,
			 yfree = type_at(s, y).rank - nc - nb - both;
	if (nb + both + xfree + yfree > MAX_RANK)
		batch_no_rule(s, in, "would need more than 8 axes under map");
	Ref z = build_dot(b, x, y, nc, c1, c2, nb + both, b1, b2);
	if (both) {
		set1(s, in, z);
		return;
	}
	/* Now: shared, n, the other free axes of x, those of y. Required: n,
	 * shared, the left operand's free axes, the right one's. */
	int perm[MAX_RANK];
	uint32_t at = 0;
	perm[at++] = (int)nb;
	for (uint32_t i = 0; i < nb; i++) perm[at++] = (int)i;
	uint32_t x_at = nb + 1, y_at = nb + xfree;
	for (uint32_t i = 0; !left && i < yfree; i++) perm[at++] = (int)(y_at + i);
	for (uint32_t i = 1; i < xfree; i++) perm[at++] = (int)(x_at + i - 1);
	for (uint32_t i = 0; left && i < yfree; i++) perm[at++] = (int)(y_at + i);
	set1(s, in, build_transpose(b, z, perm));
}

/* ---- constructors of arrays ---------------------------------------------- */

void batch_NONZERO(Batcher *s, const Inst *in) {
	batch_no_rule(s, in,
	              "gives as many indices as there are true elements: under map each lane would "
	              "have a length of its own");
}

void batch_RANDOM(Batcher *s, const Inst *in) {
	if (arg_lanes(s, in, 0))
		batch_no_rule(
			s, in,
			"draws from a random state that differs from lane to lane: all lanes share one state");
	Dim shape[MAX_RANK];
	int64_t words[MAX_RANK + 1];
	uint32_t rank = dims_field(s, in, 0, s->n, shape);
	words[0] = rank;
	for (uint32_t i = 0; i < rank; i++) words[i + 1] = shape[i];
	Ref state = batch_get(s, inst_arg(s->f, in, 0)), results[2];
	build(s->b, OP_RANDOM, 1, &state, attr_intern(s->c, words, rank + 1), results);
	batch_set(s, inst_result(in, 0), results[0]);
	batch_set(s, inst_result(in, 1), results[1]);
}

/* These have no operands and are never batched: they are copied before a rule
 * is called. */
static _Noreturn void no_lanes(const Batcher *s, const Inst *in) {
	batch_no_rule(s, in, "cannot differ from lane to lane");
}

void batch_IOTA(Batcher *s, const Inst *in) { no_lanes(s, in); }
void batch_EXTENT(Batcher *s, const Inst *in) { no_lanes(s, in); }
void batch_GUARD(Batcher *s, const Inst *in) { no_lanes(s, in); }
void batch_START(Batcher *s, const Inst *in) { no_lanes(s, in); }

void batch_BIND(Batcher *s, const Inst *in) {
	SymId sym;
	if (dim_is_sym(s->c, (Dim)attr_int(s->c, OP_BIND, in->attr, 0), &sym) && sym < s->f->syms.n &&
	    s->tape_extent[sym]) {
		Dim one = dim_const(s->c, 1);
		Ref zero = build_zeros(s->b, type_tensor(s->c, DT_I64, 1, &one)),
			counts = build_concat(s->b, 2, (Ref[]){zero, batch_arg(s, in, 0)}, 0);
		Ref longest = build_reduce(s->b, OP_REDUCE_MAX, counts, 1, (int[]){0});
		build(s->b, OP_BIND, 1, &longest, batch_attr(s, in), NULL);
		return;
	}
	batch_no_rule(
		s, in,
		"makes a length of a number that differs from lane to lane: all lanes have one shape");
}

/* ---- linear algebra: leading axes already are batch axes ----------------- */

void batch_CHOLESKY(Batcher *s, const Inst *in) { all_lanes(s, in); }
void batch_LU(Batcher *s, const Inst *in) { all_lanes(s, in); }
void batch_QR(Batcher *s, const Inst *in) { all_lanes(s, in); }
void batch_EIGH(Batcher *s, const Inst *in) { all_lanes(s, in); }
void batch_EIG(Batcher *s, const Inst *in) { all_lanes(s, in); }
void batch_SVD(Batcher *s, const Inst *in) { all_lanes(s, in); }

/* A matrix shared by all batch elements solves for all their columns
 * together. */
void batch_TRISOLVE(Batcher *s, const Inst *in) {
	Ref t = batch_get(s, inst_arg(s->f, in, 0)), x = batch_get(s, inst_arg(s->f, in, 1));
	if (arg_lanes(s, in, 0)) {
		all_lanes(s, in);
		return;
	}
	Type own = type_at(s, x); /* n, leading..., rows, columns */
	int last = own.rank - 2;
	Ref moved = move_axis(s, x, 0, last); /* leading..., rows, n, columns */
	Type wide = type_at(s, moved);
	Dim shape[MAX_RANK];
	memcpy(shape, wide.dims, sizeof shape);
	shape[last] = dim_mul(s->c, wide.dims[last], wide.dims[last + 1]);
	Ref args[2] = {t, build_reshape(s->b, moved, wide.rank - 1u, shape)};
	Ref y = build(s->b, OP_TRISOLVE, 2, args, in->attr, NULL);
	set1(s, in, move_axis(s, build_reshape(s->b, y, wide.rank, wide.dims), last, 0));
}

void batch_SOLVED(Batcher *s, const Inst *in) {
	if (arg_lanes(s, in, 0) || arg_lanes(s, in, 1) || arg_lanes(s, in, 2)) {
		all_lanes(s, in);
		return;
	}
	Ref args[5];
	Type wide = {0};
	int last = 0;
	for (uint32_t k = 0; k < 5; k++) {
		args[k] = k < 3 ? batch_get(s, inst_arg(s->f, in, k)) : batch_full_arg(s, in, k);
		if (k < 3) continue;
		last = type_at(s, args[k]).rank - 2;
		Ref moved = move_axis(s, args[k], 0, last);
		wide = type_at(s, moved);
		Dim shape[MAX_RANK];
		memcpy(shape, wide.dims, sizeof shape);
		shape[last] = dim_mul(s->c, wide.dims[last], wide.dims[last + 1]);
		args[k] = build_reshape(s->b, moved, wide.rank - 1u, shape);
	}
	Ref y = build(s->b, OP_SOLVED, 5, args, in->attr, NULL);
	set1(s, in, move_axis(s, build_reshape(s->b, y, wide.rank, wide.dims), last, 0));
}

/* ---- dynamic values and effects: they hold the arrays of the whole batch - */

static Ref array_or_dyn(Batcher *s, const Inst *in, uint32_t k) {
	bool array = type_is_tensor(s->c, ref_type(s->f, inst_arg(s->f, in, k)));
	return array ? batch_full_arg(s, in, k) : batch_get(s, inst_arg(s->f, in, k));
}

void batch_BOX(Batcher *s, const Inst *in) {
	Ref *args = ARENA_ARRAY(s->scratch, Ref, in->nargs);
	for (uint32_t k = 0; k < in->nargs; k++) args[k] = array_or_dyn(s, in, k);
	set1(s, in, build(s->b, OP_BOX, in->nargs, args, 0, NULL));
}

void batch_UNBOX(Batcher *s, const Inst *in) {
	int64_t word = batch_type(s, (TypeId)attr_int(s->c, OP_UNBOX, in->attr, 0), true);
	Ref x = batch_get(s, inst_arg(s->f, in, 0));
	set1(s, in, build(s->b, OP_UNBOX, 1, &x, attr_intern(s->c, &word, 1), NULL));
}

void batch_DYNAMIC(Batcher *s, const Inst *in) {
	batch_no_rule(s, in,
	              "calls a function that is known only when it runs, on values that differ from "
	              "lane to lane");
}

static void as_it_is(Batcher *s, const Inst *in) {
	Ref *args = ARENA_ARRAY(s->scratch, Ref, in->nargs + 1), results[3];
	for (uint32_t k = 0; k < in->nargs; k++) args[k] = batch_get(s, inst_arg(s->f, in, k));
	build(s->b, (Op)in->op, in->nargs, args, in->attr, results);
	for (uint32_t k = 0; k < in->nresults; k++) batch_set(s, inst_result(in, k), results[k]);
}

void batch_FORMAT(Batcher *s, const Inst *in) { as_it_is(s, in); }
/* A batch has no single value to report; the loop may still report its
 * count. */
void batch_PROGRESS(Batcher *s, const Inst *in) {
	Ref args[2] = {inst_arg(s->f, in, 0), inst_arg(s->f, in, 1)};
	for (uint32_t k = 0; k < 2; k++) {
		if (batch_lanes(s, args[k])) return;
		args[k] = batch_get(s, args[k]);
	}
	build(s->b, OP_PROGRESS, 2, args, attr_intern(s->c, (int64_t[]){0}, 1), NULL);
}

void batch_PRINT(Batcher *s, const Inst *in) { as_it_is(s, in); }
void batch_FAIL(Batcher *s, const Inst *in) { as_it_is(s, in); }
void batch_WARN(Batcher *s, const Inst *in) { as_it_is(s, in); }
