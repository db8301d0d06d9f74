/* pattern_rules.c - the effect of each linear operation on the sets of its
 * operands.
 *
 * Needs: pattern.h.
 *
 * Contract:
 * - A resulting set contains every input on which the element depends. It
 *   contains no other, as far as the operation and its known operands show.
 * - Operations that move elements move the ids of their sets; the others unite
 *   the sets.
 * - Zeros of a known operand (a constant matrix, a mask) contribute nothing.
 * - An operation without a rule makes every element of its results depend on
 *   everything that its operands depend on.
 */
#include "autodiff/sparse/pattern.h"

static const Type *type_at(const Sparsity *p, const Inst *in, uint32_t k) {
	return ref_ty(p->f, inst_arg(p->f, in, k));
}

TypeId sparsity_type(Sparsity *p, TypeId t) {
	const InstId lost = sparsity_lost(p, t);
	if (lost)
		no_rule(
			p->c, p->f, &p->f->insts.at[lost - 1], "sparsity pattern",
			"gives a length that only the point decides, so that no pattern holds at every point");
	return refmap_type(p->b, &p->map, t);
}

TypeId sparsity_sets_type(Sparsity *p, Ref r) {
	return type_with_dtype(p->c, sparsity_type(p, ref_type(p->f, r)), DT_I32);
}

Ref sparsity_sets(const Sparsity *p, Ref r) {
	return sparsity_binding_time(p, r) == BT_ACTIVE ? p->map.values[REF_INDEX(r)] : REF_NONE;
}

Ref sparsity_full(Sparsity *p, Ref r) {
	const Ref s = sparsity_sets(p, r);
	return s != REF_NONE ? s : build_zeros(p->b, sparsity_sets_type(p, r));
}

Ref sparsity_join(Sparsity *p, Ref a, Ref b) {
	if (a == REF_NONE || a == b) return b;
	return b == REF_NONE ? a : index_sets_build(p->b, SETS_UNION, 2, (Ref[]){a, b});
}

/* ---- axes ---------------------------------------------------------------- */

static Type type_in(Sparsity *p, Ref r) { return *ref_ty(build_fn(p->b), r); }

static Dim product(Sparsity *p, const Dim *dims, uint32_t n) {
	Dim d = dim_const(p->c, 1);
	for (uint32_t k = 0; k < n; k++) d = dim_mul(p->c, d, dims[k]);
	return d;
}

static bool among(int64_t axis, uint32_t n, const int64_t *axes) {
	for (uint32_t k = 0; k < n; k++)
		if (axes[k] == axis) return true;
	return false;
}

/* The permutation that moves the given axes after all others, in their
 * order. */
static void last_axes(uint32_t rank, uint32_t n, const int64_t *axes, int *perm) {
	uint32_t at = 0;
	for (uint32_t k = 0; k < rank; k++)
		if (!among(k, n, axes)) perm[at++] = (int)k;
	for (uint32_t k = 0; k < n; k++) perm[at++] = (int)axes[k];
}

static Ref reshaped(Sparsity *p, Ref x, uint32_t n, const Dim *dims) {
	return build_reshape(p->b, x, n, dims);
}

/* The union over some axes, which are removed. */
static Ref any_over(Sparsity *p, Ref s, uint32_t n, const int64_t *axes) {
	int perm[MAX_RANK];
	const uint32_t rank = type_in(p, s).rank;
	if (!n) return s;
	last_axes(rank, n, axes, perm);
	s = build_transpose(p->b, s, perm);
	const Type t = type_in(p, s);
	s = reshaped(p, s, 2,
	             (Dim[]){product(p, t.dims, rank - n), product(p, t.dims + (rank - n), n)});
	return reshaped(p, index_sets_build(p->b, SETS_ANY, 1, &s), rank - n, t.dims);
}

static Ref any_at_all(Sparsity *p, Ref s) {
	const int64_t axes[MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
	return any_over(p, s, type_in(p, s).rank, axes);
}

static Ref spread(Sparsity *p, Ref s, const Inst *in, const int *axes) {
	const Type t = *type_of(p->c, sparsity_sets_type(p, inst_result(in, 0)));
	return build_broadcast(p->b, s, t.rank, t.dims, axes);
}

static Ref cumulated(Sparsity *p, Ref s, int64_t axis, bool back) {
	int perm[MAX_RANK], undo[MAX_RANK];
	const uint32_t rank = type_in(p, s).rank;
	last_axes(rank, 1, &axis, perm);
	for (uint32_t k = 0; k < rank; k++) undo[perm[k]] = (int)k;
	s = build_transpose(p->b, s, perm);
	const Type t = type_in(p, s);
	s = reshaped(p, s, 2, (Dim[]){product(p, t.dims, rank - 1), t.dims[rank - 1]});
	s = index_sets_build(p->b, back ? SETS_CUMULATE_BACK : SETS_CUMULATE, 1, &s);
	return build_transpose(p->b, reshaped(p, s, rank, t.dims), undo);
}

/* ---- known operands ------------------------------------------------------ */

static Ref computed(Sparsity *p, Ref r) { return refmap_get(p->b, &p->map, r); }

/* Whether no zero of r is structural. */
static bool weightless(const Sparsity *p, Ref r) {
	Value v;
	double x;
	if (sparsity_binding_time(p, r) != BT_STATIC) return true;
	return ref_splat(p->f, r, &v) && !(value_as_f64(v, &x) && x == 0);
}

/* Whether each element is nonzero; REF_NONE: all may be. */
static Ref weights(Sparsity *p, Ref r) {
	if (weightless(p, r)) return REF_NONE;
	Ref w = computed(p, r);
	const Ref same = build2(p->b, OP_EQ, w, build_zeros(p->b, ref_type(build_fn(p->b), w)));
	return build2(p->b, OP_EQ, same, build_zeros(p->b, ref_type(build_fn(p->b), same)));
}

static bool usable(const Sparsity *p, Ref r) { return sparsity_binding_time(p, r) < BT_DYNAMIC; }

/* ---- rules --------------------------------------------------------------- */

/* Nested unions are merged into one, since nothing else uses the intermediate
 * sets. A deferred union is stored as the list of its terms. */
static bool only_unites(const Sparsity *p, const Inst *in) {
	if (in->op == OP_MUL)
		return weightless(p, inst_arg(p->f, in, 0)) && weightless(p, inst_arg(p->f, in, 1));
	return prims[in->op].elementwise;
}

static bool may_wait(const Sparsity *p, const Inst *in) {
	const uint32_t value = in->results;
	if (p->uses[value] != 1 || p->user[value] == NO_INST) return false;
	const Inst *user = &p->f->insts.at[p->user[value]];
	return user->parent == in->parent && only_unites(p, user);
}

static Ref united(Sparsity *p, const UnionOperands *t) {
	return !t->n       ? REF_NONE
	       : t->n == 1 ? t->at[0]
	                   : index_sets_build(p->b, SETS_UNION, t->n, t->at);
}

static void add_term(Sparsity *p, UnionOperands *t, Ref s) {
	for (uint32_t i = 0; i < t->n; i++)
		if (t->at[i] == s) return;
	if (t->n == SETS_TERMS) {
		t->at[0] = united(p, t);
		t->n = 1;
	}
	t->at[t->n++] = s;
}

static void add_operand(Sparsity *p, UnionOperands *t, Ref r) {
	const UnionOperands *waiting = ref_is_value(r) ? p->waiting[REF_INDEX(r)] : NULL;
	if (!waiting) {
		const Ref s = sparsity_sets(p, r);
		if (s != REF_NONE) add_term(p, t, s);
		return;
	}
	for (uint32_t i = 0; i < waiting->n; i++) add_term(p, t, waiting->at[i]);
}

static Ref rule_union(Sparsity *p, const Inst *in) {
	UnionOperands t = {0};
	for (uint32_t k = 0; k < in->nargs; k++) add_operand(p, &t, inst_arg(p->f, in, k));
	if (t.n > 1 && may_wait(p, in)) {
		p->waiting[in->results] = ARENA_NEW(p->a, UnionOperands);
		*p->waiting[in->results] = t;
		return REF_NONE;
	}
	return united(p, &t);
}

static Ref rule_mul(Sparsity *p, const Inst *in) {
	Ref s[2], w[2];
	if (only_unites(p, in)) return rule_union(p, in);
	for (uint32_t k = 0; k < 2; k++) {
		s[k] = sparsity_sets(p, inst_arg(p->f, in, k));
		w[k] = s[k] == REF_NONE ? REF_NONE : weights(p, inst_arg(p->f, in, !k));
		if (w[k] != REF_NONE)
			s[k] =
				build_select(p->b, w[k], s[k], build_zeros(p->b, ref_type(build_fn(p->b), s[k])));
	}
	return sparsity_join(p, s[0], s[1]);
}

static Ref rule_select(Sparsity *p, const Inst *in) {
	const Ref c = inst_arg(p->f, in, 0), x = inst_arg(p->f, in, 1), y = inst_arg(p->f, in, 2);
	if (!usable(p, c)) return sparsity_join(p, sparsity_sets(p, x), sparsity_sets(p, y));
	return build_select(p->b, computed(p, c), sparsity_full(p, x), sparsity_full(p, y));
}

/* Applies the operation itself to the ids. */
static Ref rule_moves(Sparsity *p, const Inst *in) {
	Ref *s = ARENA_ARRAY(p->a, Ref, in->nargs + 1u);
	for (uint32_t k = 0; k < in->nargs; k++) s[k] = sparsity_full(p, inst_arg(p->f, in, k));
	sparsity_type(p, ref_type(p->f, inst_result(in, 0)));
	return build(p->b, (Op)in->op, in->nargs, s,
	             attr_subst(p->c, (Op)in->op, in->attr, p->map.dims, p->map.ndims), NULL);
}

/* The result axes are x[..axis], i[batch..], x[axis+1..]. `others` are the
 * positions of the axes of x without `axis`, `indexed` those of i. */
typedef struct GatherAxes {
	int64_t axis, batch;
	uint32_t nx, ni;
	int others[MAX_RANK];
	int64_t indexed[MAX_RANK];
} GatherAxes;

static GatherAxes places(const Sparsity *p, const Inst *in) {
	GatherAxes q = {.axis = attr_int(p->c, (Op)in->op, in->attr, 0),
	                .batch = attr_int(p->c, (Op)in->op, in->attr, 1)};
	q.nx = type_at(p, in, 0)->rank;
	q.ni = type_at(p, in, 1)->rank - (uint32_t)q.batch;
	for (uint32_t k = 0; k + 1 < q.nx; k++) q.others[k] = (int)(k < q.axis ? k : k + q.ni);
	for (uint32_t k = 0; k < q.ni; k++) q.indexed[k] = q.axis + k;
	return q;
}

static Ref rule_gather(Sparsity *p, const Inst *in) {
	const GatherAxes q = places(p, in);
	const Ref s = sparsity_sets(p, inst_arg(p->f, in, 0)), i = inst_arg(p->f, in, 1);
	if (s == REF_NONE) return s;
	if (usable(p, i)) return build_gather(p->b, s, computed(p, i), (int)q.axis, (int)q.batch);
	return spread(p, any_over(p, s, 1, &q.axis), in, q.others);
}

static Ref rule_scatter(Sparsity *p, const Inst *in) {
	const GatherAxes q = places(p, in);
	const Ref x = inst_arg(p->f, in, 0), i = inst_arg(p->f, in, 1), u = inst_arg(p->f, in, 2);
	if (!usable(p, i)) {
		const Ref all = sparsity_sets(p, u);
		if (all == REF_NONE) return sparsity_sets(p, x);
		int axes[MAX_RANK];
		for (uint32_t k = 0; k + 1 < q.nx; k++) axes[k] = (int)(k < q.axis ? k : k + 1);
		return sparsity_join(p, sparsity_sets(p, x),
		                     spread(p, any_over(p, all, q.ni, q.indexed), in, axes));
	}
	if (in->op == OP_SCATTER_SET)
		return build_scatter(p->b, OP_SCATTER_SET, sparsity_full(p, x), computed(p, i),
		                     sparsity_full(p, u), (int)q.axis, (int)q.batch);
	if (sparsity_sets(p, u) == REF_NONE) return sparsity_sets(p, x);
	const Ref sx = sparsity_full(p, x), su = sparsity_full(p, u),
			  index = build_convert(p->b, computed(p, i), DT_I64);
	const Type tx = type_in(p, sx), ti = type_in(p, index);
	const uint32_t batch = (uint32_t)q.batch, axis = (uint32_t)q.axis;
	const Dim a = product(p, tx.dims, batch), o = product(p, tx.dims + batch, axis - batch),
			  n = tx.dims[axis];
	const Dim r = product(p, tx.dims + axis + 1, q.nx - axis - 1),
			  m = product(p, ti.dims + batch, q.ni);
	Ref args[3] = {reshaped(p, sx, 4, (Dim[]){a, o, n, r}), reshaped(p, index, 2, (Dim[]){a, m}),
	               reshaped(p, su, 4, (Dim[]){a, o, m, r})};
	return reshaped(p, index_sets_build(p->b, SETS_SCATTER, 3, args), q.nx, tx.dims);
}

static Ref rule_reduce(Sparsity *p, const Inst *in) {
	uint32_t n;
	const int64_t *axes = attr_field(p->c, (Op)in->op, in->attr, 0, &n);
	const Ref s = sparsity_sets(p, inst_arg(p->f, in, 0));
	return s == REF_NONE ? s : any_over(p, s, n, axes);
}

static Ref rule_cumulate(Sparsity *p, const Inst *in) {
	const Ref s = sparsity_sets(p, inst_arg(p->f, in, 0));
	return s == REF_NONE ? s
	                     : cumulated(p, s, attr_int(p->c, (Op)in->op, in->attr, 0),
	                                 attr_int(p->c, (Op)in->op, in->attr, 1));
}

static Ref rule_fft(Sparsity *p, const Inst *in) {
	const Ref s = sparsity_sets(p, inst_arg(p->f, in, 0));
	if (s == REF_NONE) return s;
	const int64_t axis = attr_int(p->c, OP_FFT, in->attr, 0);
	int others[MAX_RANK];
	for (uint32_t k = 0; k + 1 < type_at(p, in, 0)->rank; k++) others[k] = (int)k + (k >= axis);
	return spread(p, any_over(p, s, 1, &axis), in, others);
}

/* One operand of a contraction, with its axes in the order batch, free,
 * contracted. */
typedef struct ContractOperand {
	uint32_t nbatch, nfree, ncontract;
	int perm[MAX_RANK];
	int64_t contract[MAX_RANK];
} ContractOperand;

static ContractOperand side_of(const Sparsity *p, const Inst *in, uint32_t which) {
	ContractOperand s = {0};
	uint32_t at = 0;
	const int64_t *contract = attr_field(p->c, OP_DOT, in->attr, which, &s.ncontract);
	memcpy(s.contract, contract, s.ncontract * sizeof *contract);
	const int64_t *batch = attr_field(p->c, OP_DOT, in->attr, 2 + which, &s.nbatch);
	const uint32_t rank = type_at(p, in, which)->rank;
	for (uint32_t k = 0; k < s.nbatch; k++) s.perm[at++] = (int)batch[k];
	for (uint32_t k = 0; k < rank; k++)
		if (!among(k, s.nbatch, batch) && !among(k, s.ncontract, s.contract)) s.perm[at++] = (int)k;
	s.nfree = at - s.nbatch;
	for (uint32_t k = 0; k < s.ncontract; k++) s.perm[at++] = (int)s.contract[k];
	return s;
}

static Ref as_matrices(Sparsity *p, Ref x, const ContractOperand *s) {
	x = build_transpose(p->b, x, s->perm);
	const Type t = type_in(p, x);
	const Dim *d = t.dims;
	return reshaped(p, x, 3,
	                (Dim[]){product(p, d, s->nbatch), product(p, d + s->nbatch, s->nfree),
	                        product(p, d + s->nbatch + s->nfree, s->ncontract)});
}

/* The contribution of the tangent of one operand to a contraction. */
static Ref contract(Sparsity *p, const Inst *in, uint32_t which) {
	const Ref s = sparsity_sets(p, inst_arg(p->f, in, which));
	if (s == REF_NONE) return s;
	const ContractOperand mine = side_of(p, in, which), other = side_of(p, in, !which);
	const Ref w = weights(p, inst_arg(p->f, in, !which));
	const Type result = *type_of(p->c, sparsity_sets_type(p, inst_result(in, 0)));
	const uint32_t first = mine.nbatch + (which ? other.nfree : 0);
	if (w == REF_NONE) { /* batch, free of the first, free of the second */
		int axes[MAX_RANK], perm[MAX_RANK];
		Ref any = any_over(p, s, mine.ncontract, mine.contract);
		/* the same order, without the contracted axes */
		for (uint32_t k = 0; k < mine.nbatch + mine.nfree; k++) {
			perm[k] = mine.perm[k];
			for (uint32_t i = 0; i < mine.ncontract; i++)
				perm[k] -= mine.contract[i] < mine.perm[k];
			axes[k] = (int)(k < mine.nbatch ? k : first + k - mine.nbatch);
		}
		return build_broadcast(p->b, build_transpose(p->b, any, perm), result.rank, result.dims,
		                       axes);
	}
	Ref x = index_sets_build(p->b, SETS_DOT, 2,
	                         (Ref[]){as_matrices(p, s, &mine), as_matrices(p, w, &other)});
	if (which) x = build_transpose(p->b, x, (int[]){0, 2, 1});
	return reshaped(p, x, result.rank, result.dims);
}

static Ref rule_trisolve(Sparsity *p, const Inst *in) {
	const Ref s = sparsity_sets(p, inst_arg(p->f, in, 1));
	const bool lower = attr_int(p->c, OP_TRISOLVE, in->attr, 0),
			   adjoint = attr_int(p->c, OP_TRISOLVE, in->attr, 1);
	return cumulated(p, s, (int64_t)type_at(p, in, 1)->rank - 2, lower == adjoint);
}

static Ref everything(Sparsity *p, const Inst *in) {
	Ref all = REF_NONE;
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Ref s = sparsity_sets(p, inst_arg(p->f, in, k));
		if (s != REF_NONE) all = sparsity_join(p, all, any_at_all(p, s));
	}
	return all;
}

void sparsity_rule(Sparsity *p, const Inst *in) {
	const Op op = (Op)in->op;
	Ref s = REF_NONE;
	switch (op) {
	case OP_CONVERT: s = rule_union(p, in); break;
	case OP_MUL: s = rule_mul(p, in); break;
	case OP_SELECT: s = rule_select(p, in); break;
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_SLICE:
	case OP_PAD:
	case OP_UPDATE:
	case OP_CONCAT:
	case OP_PUSH: s = rule_moves(p, in); break;
	case OP_GATHER: s = rule_gather(p, in); break;
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET: s = rule_scatter(p, in); break;
	case OP_REDUCE_SUM: s = rule_reduce(p, in); break;
	case OP_CUMSUM: s = rule_cumulate(p, in); break;
	case OP_FFT: s = rule_fft(p, in); break;
	case OP_DOT: s = sparsity_join(p, contract(p, in, 0), contract(p, in, 1)); break;
	default:
		if (prims[op].elementwise) s = rule_union(p, in);
		else if (op == OP_TRISOLVE && sparsity_sets(p, inst_arg(p->f, in, 0)) == REF_NONE &&
		         sparsity_sets(p, inst_arg(p->f, in, 1)) != REF_NONE)
			s = rule_trisolve(p, in);
		else {
			const Ref all = everything(p, in);
			for (uint32_t k = 0; all != REF_NONE && k < in->nresults; k++) {
				const Ref r = inst_result(in, k);
				if (sparsity_binding_time(p, r) == BT_ACTIVE)
					refmap_set(&p->map, r,
					           build_broadcast_scalar(p->b, all, sparsity_sets_type(p, r)));
			}
			return;
		}
	}
	if (s != REF_NONE) refmap_set(&p->map, inst_result(in, 0), s);
}
