/* schedule.c - order of a unit's instructions, lifetimes, shared memory.
 *
 * Needs: schedule.h.
 *
 * Contract:
 * - As in schedule.h.
 * - Array instructions stay together, so that one plan covers as many as
 *   possible. Instructions that do not depend on the run being collected go
 *   before it.
 * - Checks keep their order among each other.
 *
 * Memory. A loop changes an array in place if it changes only elements or boxes
 * of it, or passes it through branches and loops that do. The function chain()
 * follows the loop's result back to the parameter, and the values on the way
 * become one class. Any other array that a loop carries alternates between two
 * buffers.
 */
#include "backend/native/lower/schedule.h"

#define FOREVER UINT32_MAX

static bool is_small(const Lower *l, Ref r) { return type_is_small(l->c, ref_type(l->f, r), NULL); }

static const Inst *inst_at(const Lower *l, InstId i) { return &l->f->insts.at[i]; }

static bool is_run(const SchedStep *p) {
	return p->kind == SCHED_LOOPS || p->kind == SCHED_VECTOR_MAP;
}

static void region_refs(const Fn *f, const Region *g, RefVisit visit, void *ud) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		inst_refs(f, &f->insts.at[f->inst_order.at[g->insts + i]], visit, ud);
	for (uint32_t k = 0; k < g->nresults; k++) visit(ud, f->args.at[g->results + k]);
}

void inst_refs(const Fn *f, const Inst *in, RefVisit visit, void *ud) {
	for (uint32_t k = 0; k < in->nargs; k++) visit(ud, inst_arg(f, in, k));
	for (uint32_t r = 0; r < in->nregions; r++) region_refs(f, inst_region(f, in, r), visit, ud);
}

/* ---- classification of instructions -------------------------------------- */

bool flow_may_fail(const Fn *f, const Inst *in) {
	switch ((Op)in->op) {
	case OP_GATHER:
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET:
	case OP_GUARD:
	case OP_FAIL:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
	case OP_ARGMAX:
	case OP_LU:
	case OP_CHOLESKY:
	case OP_TRISOLVE:
	case OP_CALL:
	case OP_HOST: return true;
	case OP_MOD:
	case OP_FLOORDIV:
	case OP_POW: {
		const Type *t = ref_ty(f, inst_arg(f, in, 1));
		return dtype_is_int((Dtype)t->dtype) && !ref_is_const(inst_arg(f, in, 1));
	}
	default: break;
	}
	for (uint32_t r = 0; r < in->nregions; r++) {
		const Region *g = inst_region(f, in, r);
		for (uint32_t i = 0; i < g->ninsts; i++)
			if (flow_may_fail(f, &f->insts.at[f->inst_order.at[g->insts + i]])) return true;
	}
	return false;
}

bool tape_needs_fill(const Lower *l, const Inst *in, uint32_t k) {
	Value v;
	if (in->op != OP_FOR || is_small(l, inst_result(in, k)) ||
	    !ref_splat(l->f, inst_arg(l->f, in, 1 + k), &v) || dtype_is_complex((Dtype)v.dtype))
		return false;
	const Region *body = inst_region(l->f, in, 0);
	const Ref param = ref_value(body->params + 1 + k), next = l->f->args.at[body->results + k];
	const Inst *write = ref_inst(l->f, next);
	return write && write->op == OP_SCATTER_SET && inst_arg(l->f, write, 0) == param &&
	       direct_takes(l, write) && l->uses[REF_INDEX(param)] == 1 &&
	       l->uses[REF_INDEX(next)] == 1 && !ref_ty(l->f, inst_arg(l->f, write, 1))->rank;
}

bool writes_elements(const Inst *in) {
	return in->op == OP_SCATTER_SET || in->op == OP_SCATTER_ADD || in->op == OP_UPDATE;
}

bool direct_takes(const Lower *l, const Inst *in) {
	switch ((Op)in->op) {
	case OP_GATHER:
		return is_small(l, inst_arg(l->f, in, 1)) && is_small(l, inst_result(in, 0)) &&
		       !is_small(l, inst_arg(l->f, in, 0));
	case OP_SLICE: return is_small(l, inst_result(in, 0)) && !is_small(l, inst_arg(l->f, in, 0));
	case OP_UPDATE: return is_small(l, inst_arg(l->f, in, 1)) && !is_small(l, inst_result(in, 0));
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET: {
		uint32_t count;
		if (is_small(l, inst_arg(l->f, in, 0)) ||
		    !type_is_small(l->c, ref_type(l->f, inst_arg(l->f, in, 1)), &count))
			return false;
		/* One index: whole rows. A loop writes its tape this way, one row in
		 * each iteration. */
		return is_small(l, inst_arg(l->f, in, 2)) ||
		       (count == 1 && !attr_int(l->c, (Op)in->op, in->attr, 1));
	}
	default: return false;
	}
}

static bool alias_takes(const Lower *l, const Inst *in) {
	return (in->op == OP_RESHAPE || in->op == OP_STOP) && !is_small(l, inst_result(in, 0)) &&
	       !is_small(l, inst_arg(l->f, in, 0));
}

/* ---- uses ---------------------------------------------------------------- */

static ValueFlow *flow_of(const Lower *l, Ref r) { return &l->flow->values[REF_INDEX(r)]; }

typedef struct Using {
	Lower *l;
	Sched *s;     /* the schedule that contains the using step */
	SchedStep *p; /* NULL: the region's results */
	uint32_t at;
} Using;

static void note_use(void *ud, Ref r) {
	Using *u = ud;
	if (!ref_is_value(r)) return;
	Lower *l = u->l;
	ValueFlow *v = flow_of(l, r);
	VEC_PUSH(l->scratch, &v->uses, u->at);
	SchedStep *p = u->p;
	Sched *s = u->s;
	/* Find the step at the value's own level that contains the use. */
	while (s && s != v->home) {
		p = s->owner;
		s = s->outer;
	}
	if (!v->home) { /* from outside: use the top level */
		s = u->s;
		p = u->p;
		for (; s->outer; s = s->outer) p = s->owner;
	}
	if (p) v->last = p;
	else v->at_end = true;
	if (p != v->step || !p || !is_run(p)) l->needed[REF_INDEX(r)] = true;
}

static void define(Lower *l, Sched *s, SchedStep *p, Ref r) {
	ValueFlow *v = flow_of(l, r);
	v->home = s;
	v->step = p;
}

/* ---- order --------------------------------------------------------------- */

static void schedule(Lower *l, Sched *s);

static SchedStep *new_sched_step(Lower *l, Sched *s, SchedStepKind kind) {
	SchedStep *p = ARENA_NEW(l->scratch, SchedStep);
	p->kind = kind;
	VEC_PUSH(l->scratch, &s->steps, p);
	return p;
}

static void put_rows(Lower *l, Sched *s, SchedStepKind kind, uint32_t n, const InstId *insts,
                     Dim row, uint32_t lanes) {
	Flow *w = l->flow;
	if (!n) return;
	SchedStep *p = new_sched_step(l, s, kind);
	p->n = n;
	p->insts = insts;
	p->row = row;
	p->lanes = lanes;
	p->from = w->next;
	p->to = p->from + p->n;
	w->next = p->to + 1;
	for (uint32_t i = 0; i < p->n; i++) {
		const Inst *in = inst_at(l, insts[i]);
		for (uint32_t k = 0; k < in->nresults; k++) {
			define(l, s, p, inst_result(in, k));
			w->in_run[in->results + k] = false;
			if (kind == SCHED_VECTOR_MAP && value_is_tape(l, inst_result(in, k), p))
				l->needed[in->results + k] = true;
		}
	}
	for (uint32_t i = 0; i < p->n; i++) {
		Using u = {l, s, p, p->from};
		const Inst *in = inst_at(l, insts[i]);
		for (uint32_t k = 0; k < in->nargs; k++)
			if (kind != SCHED_VECTOR_MAP || !operand_fills_tape(l, in, k, p))
				note_use(&u, inst_arg(l->f, in, k));
		for (uint32_t r = 0; r < in->nregions; r++)
			region_refs(l->f, inst_region(l->f, in, r), note_use, &u);
	}
}

static void put_run(Lower *l, Sched *s, SchedStepKind kind, uint32_t n, const InstId *insts) {
	put_rows(l, s, kind, n, insts, l->flow->row, 0);
}

/* A run in which some instructions must be done row by row. By position in the
 * run: */
typedef struct RowSplit {
	uint32_t *at;     /* by value: 1 plus the position of the instruction that computes it */
	bool *rows;       /* done by rows */
	bool *for_rows;   /* read by an instruction done by rows */
	bool *for_arrays; /* read by another instruction */
	uint32_t *inside; /* uses of the first result within the run */
	bool reads_rows, reads_arrays; /* of the instruction whose operands are being visited */
	uint32_t *stage, now;
	uint32_t *latest; /* latest stage that its users allow */
	bool mark;        /* visits mark the operands; otherwise they inspect them */
} RowSplit;

static void split_ref(void *ud, Ref r) {
	RowSplit *x = ud;
	const uint32_t k = ref_is_value(r) ? x->at[REF_INDEX(r)] : 0;
	if (!k || k - 1 == x->now) return;
	if (x->mark) {
		(x->rows[x->now] ? x->for_rows : x->for_arrays)[k - 1] = true;
		x->inside[k - 1]++;
		return;
	}
	if (x->rows[k - 1]) x->reads_rows = true;
	else x->reads_arrays = true;
	const uint32_t after = x->stage[k - 1] + (x->rows[k - 1] && !x->rows[x->now]);
	if (after > x->stage[x->now]) x->stage[x->now] = after;
}

static void delay_ref(void *ud, Ref r) {
	RowSplit *x = ud;
	const uint32_t k = ref_is_value(r) ? x->at[REF_INDEX(r)] : 0;
	if (!k || k - 1 == x->now) return;
	const uint32_t by = x->stage[x->now] - (x->rows[k - 1] && !x->rows[x->now]);
	if (by < x->latest[k - 1]) x->latest[k - 1] = by;
}

/* Moves instructions that cannot fail to the latest stage that their users
 * allow, so that they join as many others as possible. */
static void delay(Lower *l, RowSplit *x, uint32_t n, const InstId *insts, uint32_t last) {
	x->latest = ARENA_ARRAY(l->scratch, uint32_t, n);
	for (uint32_t i = 0; i < n; i++) x->latest[i] = last;
	for (uint32_t i = n; i-- > 0;) {
		const Inst *in = inst_at(l, insts[i]);
		if (!x->rows[i] && !flow_may_fail(l->f, in)) x->stage[i] = x->latest[i];
		x->now = i;
		inst_refs(l->f, in, delay_ref, x);
	}
}

static void visit_operands(Lower *l, RowSplit *x, uint32_t i, bool mark) {
	x->now = i;
	x->mark = mark;
	x->reads_rows = x->reads_arrays = false;
	inst_refs(l->f, inst_at(l, l->flow->run.at[i]), split_ref, x);
}

/* Splits a run. Done by rows are: instructions that must be, those that lead
 * only to them, and those that follow from them and lead to nothing else. Then
 * stages: in each, array instructions precede those done by rows. */
static void put_split(Lower *l, Sched *s, uint32_t n, const InstId *insts) {
	const Flow *w = l->flow;
	Arena *a = l->scratch;
	RowSplit x = {.at = ARENA_ARRAY(a, uint32_t, l->f->vals.n + 1),
	              .rows = ARENA_ARRAY(a, bool, n),
	              .for_rows = ARENA_ARRAY(a, bool, n)};
	x.for_arrays = ARENA_ARRAY(a, bool, n);
	x.stage = ARENA_ARRAY(a, uint32_t, n);
	x.inside = ARENA_ARRAY(a, uint32_t, n);
	bool *able = ARENA_ARRAY(a, bool, n), *across = ARENA_ARRAY(a, bool, n);
	Dim row;
	for (uint32_t i = 0; i < n; i++) {
		const Inst *in = inst_at(l, insts[i]);
		for (uint32_t k = 0; k < in->nresults; k++) x.at[in->results + k] = i + 1;
		x.rows[i] = map_needs_vector(l, in, &row);
		across[i] = is_cross_row_idiom(l, in, w->row);
		able[i] = x.rows[i] || map_is_vectorisable(l, in, w->row);
	}
	for (uint32_t i = n; i-- > 0;) {
		if (able[i] && x.for_rows[i]) x.rows[i] = true;
		if (across[i] && !x.for_arrays[i] && x.for_rows[i] &&
		    x.inside[i] == l->uses[inst_at(l, insts[i])->results])
			x.rows[i] = true;
		visit_operands(l, &x, i, true);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (x.rows[i]) continue;
		visit_operands(l, &x, i, false);
		if (able[i] && x.reads_rows && !x.reads_arrays) x.rows[i] = true;
	}
	memset(x.for_arrays, 0, n * sizeof *x.for_arrays);
	memset(x.for_rows, 0, n * sizeof *x.for_rows);
	for (uint32_t i = n; i-- > 0;) {
		if (x.rows[i] && x.for_arrays[i] && !x.for_rows[i] && !across[i] &&
		    !map_needs_vector(l, inst_at(l, insts[i]), &row))
			x.rows[i] = false;
		visit_operands(l, &x, i, true);
	}
	uint32_t last = 0, m = 0;
	memset(x.stage, 0, n * sizeof *x.stage);
	for (uint32_t i = 0; i < n; i++) {
		visit_operands(l, &x, i, false);
		if (x.stage[i] > last) last = x.stage[i];
	}
	delay(l, &x, n, insts, last);
	InstId *sorted = ARENA_ARRAY(a, InstId, n);
	for (uint32_t t = 0; t < 2 * (last + 1); t++) {
		const uint32_t first = m;
		for (uint32_t i = 0; i < n; i++)
			if (2 * x.stage[i] + x.rows[i] == t) sorted[m++] = insts[i];
		put_run(l, s, t & 1 ? SCHED_VECTOR_MAP : SCHED_LOOPS, m - first, sorted + first);
	}
}

static void flush(Lower *l, Sched *s) {
	Flow *w = l->flow;
	if (!w->run.n) return;
	const uint32_t n = w->run.n;
	InstId *insts = ARENA_ARRAY(l->scratch, InstId, n);
	memcpy(insts, w->run.at, n * sizeof *insts);
	if (w->by_rows) put_split(l, s, n, insts);
	else put_run(l, s, SCHED_LOOPS, n, insts);
	w->run.n = 0;
	w->run_fails = false;
	w->by_rows = false;
}

static void append(Lower *l, InstId i) {
	const Inst *in = inst_at(l, i);
	VEC_PUSH(l->scratch, &l->flow->run, i);
	for (uint32_t k = 0; k < in->nresults; k++) l->flow->in_run[in->results + k] = true;
	l->flow->run_fails |= flow_may_fail(l->f, in);
}

typedef struct Wanting {
	bool *wanted; /* by value */
} Wanting;

static void want_ref(void *ud, Ref r) {
	if (ref_is_value(r)) ((Wanting *)ud)->wanted[REF_INDEX(r)] = true;
}

/* Emits the part of the run that the instruction needs. The remainder stays, to
 * be done with later instructions. Emits the whole run where the order of
 * instructions that may fail would change. */
static void flush_for(Lower *l, Sched *s, const Inst *in) {
	Flow *w = l->flow;
	const uint32_t n = w->run.n;
	Wanting x = {ARENA_ARRAY(l->scratch, bool, l->f->vals.n + 1)};
	InstId *first = ARENA_ARRAY(l->scratch, InstId, n), *rest = ARENA_ARRAY(l->scratch, InstId, n);
	uint32_t nfirst = 0, nrest = 0;
	bool first_fails = false, rest_fails = false;
	inst_refs(l->f, in, want_ref, &x);
	for (uint32_t i = n; i-- > 0;) {
		const Inst *r = inst_at(l, w->run.at[i]);
		bool needed = false;
		for (uint32_t k = 0; k < r->nresults; k++) needed |= x.wanted[r->results + k];
		if (needed) {
			inst_refs(l->f, r, want_ref, &x);
			first[n - ++nfirst] = w->run.at[i];
			first_fails |= flow_may_fail(l->f, r);
		} else {
			rest[n - ++nrest] = w->run.at[i];
			rest_fails |= flow_may_fail(l->f, r);
		}
	}
	if (w->by_rows || !nrest || (first_fails && rest_fails)) {
		flush(l, s);
		return;
	}
	put_run(l, s, SCHED_LOOPS, nfirst, first + (n - nfirst));
	memcpy(w->run.at, rest + (n - nrest), nrest * sizeof *rest);
	w->run.n = nrest;
	w->run_fails = rest_fails;
}

static Sched *new_sched(Lower *l, Sched *outer, SchedStep *owner, const Region *region) {
	Sched *s = ARENA_NEW(l->scratch, Sched);
	s->outer = outer;
	s->owner = owner;
	s->region = region;
	if (region) {
		s->ninsts = region->ninsts;
		s->insts = l->f->inst_order.at + region->insts;
	}
	return s;
}

static void place(Lower *l, Sched *s, SchedStepKind kind, InstId i) {
	const Inst *in = inst_at(l, i);
	SchedStep *p = new_sched_step(l, s, kind);
	p->inst = i;
	p->from = p->to = l->flow->next++;
	/* The operands are read at the beginning. Reads inside regions are noted
	 * while these are scheduled. */
	Using u = {l, s, p, p->from};
	for (uint32_t k = 0; k < in->nargs; k++) note_use(&u, inst_arg(l->f, in, k));
	if (kind == SCHED_ALIAS && ref_is_value(inst_arg(l->f, in, 0)))
		flow_of(l, inst_arg(l->f, in, 0))->shared++;
	if (kind == SCHED_CONTROL) {
		Flow *w = l->flow;
		/* A run being collected outside continues after this step. */
		VEC(InstId) held = {.at = w->run.at, .n = w->run.n, .cap = w->run.cap};
		const bool held_fails = w->run_fails, held_rows = w->by_rows;
		const Dim held_row = w->row;
		memset(&w->run, 0, sizeof w->run);
		w->run_fails = w->by_rows = false;
		for (uint32_t r = 0; r < in->nregions; r++) {
			p->regions[r] = new_sched(l, s, p, inst_region(l->f, in, r));
			schedule(l, p->regions[r]);
		}
		w->run.at = held.at;
		w->run.n = held.n;
		w->run.cap = held.cap;
		w->run_fails = held_fails;
		w->by_rows = held_rows;
		w->row = held_row;
		p->to = w->next++;
	}
	for (uint32_t k = 0; k < in->nresults; k++) define(l, s, p, inst_result(in, k));
}

typedef struct DependenceQuery {
	const Flow *w;
	bool found;
} DependenceQuery;

static void look_for_run(void *ud, Ref r) {
	DependenceQuery *d = ud;
	if (ref_is_value(r) && d->w->in_run[REF_INDEX(r)]) d->found = true;
}

static bool depends_on_run(const Lower *l, const Inst *in) {
	DependenceQuery d = {.w = l->flow};
	inst_refs(l->f, in, look_for_run, &d);
	return d.found;
}

/* The array whose memory r may share under another shape. */
static Ref alias_root(const Lower *l, Ref r) {
	for (const Inst *in = ref_inst(l->f, r); in && (in->op == OP_RESHAPE || in->op == OP_STOP);
	     in = ref_inst(l->f, r))
		r = inst_arg(l->f, in, 0);
	return r;
}

/* Whether the run reads an array that this instruction may overwrite. */
static bool run_reads_operands(const Lower *l, const Inst *in) {
	const Flow *w = l->flow;
	for (uint32_t i = 0; i < w->run.n; i++) {
		const Inst *r = inst_at(l, w->run.at[i]);
		for (uint32_t k = 0; k < r->nargs; k++)
			for (uint32_t j = 0; j < in->nargs; j++)
				if (alias_root(l, inst_arg(l->f, r, k)) == alias_root(l, inst_arg(l->f, in, j)) &&
				    !is_small(l, inst_arg(l->f, in, j)))
					return true;
	}
	return false;
}

/* Whether all instructions of the run that may fail can be done by rows, in
 * their order. */
static bool run_fails_by_rows(const Lower *l, Dim row) {
	for (uint32_t i = 0; i < l->flow->run.n; i++) {
		const Inst *in = inst_at(l, l->flow->run.at[i]);
		if (flow_may_fail(l->f, in) && !map_is_vectorisable(l, in, row)) return false;
	}
	return true;
}

static void schedule(Lower *l, Sched *s) {
	if (s->region)
		for (uint32_t k = 0; k < s->region->nparams; k++)
			define(l, s, NULL, ref_value(s->region->params + k));
	for (uint32_t n = 0; n < s->ninsts; n++) {
		InstId i = s->insts[n];
		const Inst *in = inst_at(l, i);
		if (in->op == OP_PROGRESS) continue; /* at the end, so that it does not split a run */
		bool dependent = depends_on_run(l, in);
		bool ordered = l->flow->run_fails && flow_may_fail(l->f, in);
		Dim row;
		uint32_t lanes;
		/* The first failure must be reported. Instructions done by rows run
		 * together, so others that may fail go before or after them. */
		if (l->flow->by_rows && ordered && !map_is_vectorisable(l, in, l->flow->row)) flush(l, s);
		dependent = depends_on_run(l, in);
		if (map_needs_vector(l, in, &row)) {
			if (l->flow->by_rows ? l->flow->row != row : ordered && !run_fails_by_rows(l, row))
				flush(l, s);
			l->flow->by_rows = true;
			l->flow->row = row;
			append(l, i);
		} else if (axis_is_vectorisable(l, in, &row, &lanes)) {
			flush(l, s);
			put_rows(l, s, SCHED_VECTOR_MAP, 1, &s->insts[n], row, lanes);
		} else if (in->nregions) {
			if (ordered || run_reads_operands(l, in)) flush(l, s);
			else if (dependent) flush_for(l, s, in);
			place(l, s, SCHED_CONTROL, i);
		} else if (in->op == OP_CALL || in->op == OP_FAIL || in->op == OP_FORMAT) {
			if (ordered) flush(l, s);
			else if (dependent) flush_for(l, s, in);
			place(l, s, SCHED_SCALAR, i);
		} else if (small_takes(l, in)) {
			/* Factorisations: every element depends on all others. */
			const bool whole = in->op == OP_LU || in->op == OP_CHOLESKY || in->op == OP_TRISOLVE;
			if (dependent && !whole) {
				append(l, i);
				continue;
			}
			if (ordered) flush(l, s);
			else if (dependent) flush_for(l, s, in);
			place(l, s, SCHED_SCALAR, i);
		} else if (matrix_takes(l->f, in)) {
			if (ordered) flush(l, s);
			else if (dependent) flush_for(l, s, in);
			place(l, s, SCHED_MATRIX, i);
			/* The runtime writes all of them. */
			for (uint32_t k = 0; k < in->nresults; k++) l->needed[in->results + k] = true;
		} else if (direct_takes(l, in) &&
		           (writes_elements(in) || !(ref_is_value(inst_arg(l->f, in, 0)) &&
		                                     l->flow->in_run[REF_INDEX(inst_arg(l->f, in, 0))]))) {
			if (ordered || (in->op != OP_SLICE && in->op != OP_GATHER && run_reads_operands(l, in)))
				flush(l, s);
			else if (dependent) flush_for(l, s, in);
			place(l, s, SCHED_ELEMENT, i);
		} else if (alias_takes(l, in) && !dependent) {
			place(l, s, SCHED_ALIAS, i);
		} else {
			append(l, i);
		}
	}
	flush(l, s);
	for (uint32_t n = 0; n < s->ninsts; n++)
		if (inst_at(l, s->insts[n])->op == OP_PROGRESS) place(l, s, SCHED_SCALAR, s->insts[n]);
	s->end = l->flow->next++;
	if (!s->region) return;
	Using u = {l, s, NULL, s->end};
	for (uint32_t k = 0; k < s->region->nresults; k++)
		note_use(&u, l->f->args.at[s->region->results + k]);
}

/* ---- classes ------------------------------------------------------------- */

uint32_t flow_class(const Lower *l, uint32_t v) {
	while (l->flow->values[v].parent) v = l->flow->values[v].parent - 1;
	return v;
}

static void unite(Lower *l, Ref x, Ref y) {
	uint32_t a = flow_class(l, REF_INDEX(x)), b = flow_class(l, REF_INDEX(y));
	if (a != b) l->flow->values[b].parent = a + 1;
	flow_of(l, x)->owned = flow_of(l, y)->owned = true;
}

static uint32_t uses_at(const ValueFlow *v, uint32_t at) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < v->uses.n; i++) n += v->uses.at[i] == at;
	return n;
}

static bool used_between(const ValueFlow *v, uint32_t after, uint32_t to) {
	for (uint32_t i = 0; i < v->uses.n; i++)
		if (v->uses.at[i] > after && v->uses.at[i] <= to) return true;
	return false;
}

/* Whether nothing in region s reads r after the beginning of p. */
static bool dead_after(const Lower *l, Ref r, const SchedStep *p, const Sched *s) {
	const ValueFlow *v = flow_of(l, r);
	return uses_at(v, p->from) == 1 && !used_between(v, p->from, s->end) && !v->outside &&
	       !v->shared;
}

bool flow_dies_at(const Lower *l, Ref x, const SchedStep *p) {
	if (!ref_is_value(x)) return false;
	const ValueFlow *v = flow_of(l, x);
	return v->last == p && !v->at_end && !v->outside && !v->shared && uses_at(v, p->from) == 1 &&
	       !used_between(v, p->from, p->to);
}

/* ---- box updates in place ------------------------------------------------ */

/* The elements of the updated array that a value is computed from: its own, or
 * elements outside the box. */
enum { FROM_OWN = 1, FROM_BESIDE = 2 };

static const Inst *run_def(const Lower *l, const SchedStep *p, Ref r, uint32_t *at) {
	const Inst *in = ref_inst(l->f, r);
	for (uint32_t i = 0; in && i < p->n; i++)
		if (inst_at(l, p->insts[i]) == in) {
			*at = i;
			return in;
		}
	return NULL;
}

/* Converts an integer made of constants, extents and sums to a Dim; false for
 * others. */
static bool number_as_dim(const Lower *l, Ref r, Dim *out) {
	const Const *k = ref_constant(l->f, r);
	int64_t v;
	if (k) {
		if (k->value.kind != V_SCALAR || !value_as_i64(k->value, &v)) return false;
		*out = dim_const(l->c, v);
		return true;
	}
	const Inst *in = ref_inst(l->f, r);
	Dim x, y;
	if (in && in->op == OP_EXTENT) {
		*out = (Dim)attr_int(l->c, OP_EXTENT, in->attr, 0);
		return true;
	}
	if (!in || in->op != OP_ADD || !number_as_dim(l, inst_arg(l->f, in, 0), &x) ||
	    !number_as_dim(l, inst_arg(l->f, in, 1), &y))
		return false;
	*out = dim_add(l->c, x, y);
	return true;
}

/* The range that a read covers along an axis: a slice, or a gather of one index
 * that number_as_dim converts. False for other reads. */
static bool read_side(const Lower *l, const Inst *in, uint32_t axis, AxisRange *out) {
	if (in->op == OP_SLICE) {
		*out = inst_side(l->f, in, axis);
		return true;
	}
	if (in->op != OP_GATHER || ref_ty(l->f, inst_arg(l->f, in, 1))->rank) return false;
	const Dim whole = ref_ty(l->f, inst_arg(l->f, in, 0))->dims[axis];
	*out = (AxisRange){dim_const(l->c, 0), whole, whole, 1};
	if (attr_int(l->c, OP_GATHER, in->attr, 0) != axis) return true;
	out->length = dim_const(l->c, 1);
	return number_as_dim(l, inst_arg(l->f, in, 1), &out->start);
}

/* Compares a read of the updated array with the box. FROM_OWN: it reads exactly
 * the box. FROM_BESIDE: it reads only elements outside. 0: unknown. */
static uint8_t read_against(const Lower *l, const Inst *read, const Inst *update) {
	bool own = read->op == OP_SLICE, beside = false;
	for (uint32_t i = 0; i < ref_ty(l->f, inst_result(update, 0))->rank; i++) {
		AxisRange s, u = inst_side(l->f, update, i);
		if (!read_side(l, read, i, &s)) return 0;
		own = own && s.start == u.start && s.length == u.length && s.stride == u.stride;
		beside = beside || sides_apart(l->c, s, u);
	}
	return own ? FROM_OWN : beside ? FROM_BESIDE : 0;
}

static bool keeps_index(const Inst *in) {
	return prims[in->op].elementwise || in->op == OP_SELECT || in->op == OP_CONVERT ||
	       in->op == OP_STOP;
}

bool run_updates_in_place(const Lower *l, const SchedStep *p, const Inst *in) {
	if (in->op != OP_UPDATE || !update_by_box(l->f, in)) return false;
	Ref x = inst_arg(l->f, in, 0);
	if (!ref_is_value(x) || inst_arg(l->f, in, 1) == x) return false;
	uint8_t *from = ARENA_ARRAY(l->scratch, uint8_t, p->n + 1);
	for (uint32_t i = 0; i < p->n; i++) {
		const Inst *u = inst_at(l, p->insts[i]);
		if (u == in) continue;
		for (uint32_t k = 0; k < u->nargs; k++) {
			Ref r = inst_arg(l->f, u, k);
			uint32_t d;
			if (r == x) {
				uint8_t part = k == 0 ? read_against(l, u, in) : 0;
				if (!part) return false;
				from[i] |= part;
			} else if (ref_is_value(r) && l->flow->values[REF_INDEX(r)].step == p &&
			           run_def(l, p, r, &d) && from[d]) {
				if ((from[d] & FROM_OWN) && !keeps_index(u)) return false;
				from[i] |= from[d];
			}
		}
		if (from[i] && (!u->nresults || l->needed[u->results])) return false;
	}
	return true;
}

bool run_takes_memory(const Lower *l, const SchedStep *p, const Inst *in) {
	if (!run_updates_in_place(l, p, in)) return false;
	Ref x = inst_arg(l->f, in, 0);
	const ValueFlow *v = flow_of(l, x);
	if (v->step == p) return !l->needed[REF_INDEX(x)];
	return v->last == p && !v->at_end && !v->outside && !v->shared &&
	       !used_between(v, p->from, p->to);
}

/* Within a run: the origin of r's array before the updates in place. */
static Ref run_source(const Lower *l, const SchedStep *p, Ref r) {
	uint32_t at;
	for (;;) {
		const Inst *in = run_def(l, p, r, &at);
		if (!in || !run_updates_in_place(l, p, in)) return r;
		Ref x = inst_arg(l->f, in, 0);
		if (flow_of(l, x)->step == p && l->needed[REF_INDEX(x)]) return r;
		r = x;
	}
}

static uint32_t first_init(const Inst *in) { return in->op == OP_FOR ? 1 : 0; }
static const Sched *body_of(const Inst *in, const SchedStep *p) {
	return p->regions[in->op == OP_FOR ? 0 : 1];
}
static Ref body_param(const Inst *in, const SchedStep *p, uint32_t k) {
	return ref_value(body_of(in, p)->region->params + first_init(in) + k);
}
static Ref body_result(const Lower *l, const Inst *in, const SchedStep *p, uint32_t k) {
	return l->f->args.at[body_of(in, p)->region->results + k];
}

typedef struct InPlaceChain {
	VEC(Ref) members;
} InPlaceChain;

/* Whether r, a value visible at the end of s, results from changes in place of
 * the array `from`. That array belongs to s or an outer region. Collects the
 * values on the way in `out`. */
static bool chain(Lower *l, const Sched *s, Ref r, Ref from, InPlaceChain *out);

static bool chain_if(Lower *l, const SchedStep *p, uint32_t result, Ref from, InPlaceChain *out) {
	for (uint32_t k = 0; k < 2; k++)
		if (!chain(l, p->regions[k], l->f->args.at[p->regions[k]->region->results + result], from,
		           out))
			return false;
	return true;
}

static bool is_within(const Sched *s, const Sched *region) {
	for (; s; s = s->outer)
		if (s == region) return true;
	return false;
}

/* Sets *source to the operand whose array step p changes in place to make
 * `result`. Returns false when it does not. written: the position where the
 * result is changed next. */
static bool chain_step(Lower *l, const Sched *s, const SchedStep *p, Ref result, Ref from,
                       uint32_t written, Ref *source, InPlaceChain *out) {
	const Inst *in = p->kind == SCHED_LOOPS ? ref_inst(l->f, result) : inst_at(l, p->inst);
	const uint32_t which = REF_INDEX(result) - in->results;
	switch (p->kind) {
	case SCHED_LOOPS: {
		Ref r = inst_result(in, 0);
		*source = run_source(l, p, r);
		if (*source == r || !ref_is_value(*source)) return false;
		const ValueFlow *v = flow_of(l, *source);
		return v->step != p && !used_between(v, p->from, s->end) && !v->outside && !v->shared;
	}
	case SCHED_ALIAS: {
		*source = inst_arg(l->f, in, 0);
		if (!ref_is_value(*source)) return false;
		const ValueFlow *v = flow_of(l, *source);
		return uses_at(v, p->from) == 1 && !used_between(v, written, s->end) &&
		       uses_at(v, written) == (written == p->from) && !v->outside && v->shared == 1;
	}
	case SCHED_ELEMENT:
		if (!writes_elements(in)) return false;
		*source = inst_arg(l->f, in, 0);
		return ref_is_value(*source) && dead_after(l, *source, p, s);
	case SCHED_CONTROL:
		if (in->op == OP_IF) {
			/* Both branches must lead to the same array: `from` itself, or a
			 * value that the region made of it before. */
			Ref r = l->f->args.at[p->regions[0]->region->results + which];
			for (uint32_t tries = 0; tries < 64 && ref_is_value(r); tries++) {
				const ValueFlow *v = flow_of(l, r);
				/* Also in a nested branch. */
				if (!is_within(v->home, p->regions[0]) || !v->step) break;
				const Inst *d = ref_inst(l->f, r);
				if (v->step->kind == SCHED_VECTOR_MAP ||
				    (v->step->kind == SCHED_LOOPS && d->op != OP_UPDATE))
					return false;
				if (writes_elements(d) || v->step->kind == SCHED_ALIAS) r = inst_arg(l->f, d, 0);
				else if (d->op == OP_FOR || d->op == OP_WHILE)
					r = inst_arg(l->f, d, first_init(d) + REF_INDEX(r) - d->results);
				else if (d->op == OP_IF)
					r = l->f->args
					        .at[v->step->regions[0]->region->results + REF_INDEX(r) - d->results];
				else return false;
			}
			if (!ref_is_value(r)) return false;
			*source = r;
			(void)from;
			const ValueFlow *v = flow_of(l, r);
			if (used_between(v, p->to, s->end) || v->outside || v->shared) return false;
			return chain_if(l, p, which, r, out);
		}
		*source = inst_arg(l->f, in, first_init(in) + which);
		if (!ref_is_value(*source) || !dead_after(l, *source, p, s)) return false;
		VEC_PUSH(l->scratch, &out->members, body_param(in, p, which));
		return chain(l, body_of(in, p), body_result(l, in, p, which), body_param(in, p, which),
		             out);
	default: return false;
	}
}

static bool chain(Lower *l, const Sched *s, Ref r, Ref from, InPlaceChain *out) {
	uint32_t written = s->end;
	while (r != from) {
		if (!ref_is_value(r)) return false;
		const ValueFlow *v = flow_of(l, r);
		/* The result is read once: by the end of the region, or by the step
		 * that changes it next. */
		if (v->home != s || !v->step || v->step->kind == SCHED_VECTOR_MAP || v->outside)
			return false;
		VEC_PUSH(l->scratch, &out->members, r);
		Ref source;
		if (!chain_step(l, s, v->step, r, from, written, &source, out)) return false;
		if (v->step->kind != SCHED_ALIAS) written = v->step->from;
		r = source;
	}
	return true;
}

static void join_chain(Lower *l, Ref with, const InPlaceChain *c) {
	for (uint32_t i = 0; i < c->members.n; i++) unite(l, with, c->members.at[i]);
}

/* Whether step p may take over the memory of x, which has a class of its own,
 * for its result. */
static bool gives_memory(const Lower *l, const Sched *s, const SchedStep *p, Ref x) {
	if (!ref_is_value(x)) return false;
	const ValueFlow *v = flow_of(l, x);
	return v->home == s && v->owned && !v->alias && flow_dies_at(l, x, p);
}

static void link_loop(Lower *l, Sched *s, SchedStep *p, const Inst *in) {
	uint32_t n = in->nresults, first = first_init(in);
	p->carries = ARENA_ARRAY(l->scratch, Carry, n + 1);
	for (uint32_t k = 0; k < n; k++) {
		Ref init = inst_arg(l->f, in, first + k), param = body_param(in, p, k),
			result = body_result(l, in, p, k), out = inst_result(in, k);
		Carry *y = &p->carries[k];
		if (is_small(l, param)) continue;
		l->needed[REF_INDEX(out)] = true; /* the loop itself uses its memory */
		ValueFlow *end = ref_is_value(result) ? flow_of(l, result) : NULL;
		InPlaceChain c = {{0}};
		if (result == param) {
			y->kind = CARRY_INVARIANT;
			flow_of(l, param)->alias = true;
			if (in->op == OP_WHILE)
				flow_of(l, ref_value(p->regions[0]->region->params + k))->alias = true;
			if (gives_memory(l, s, p, init)) unite(l, init, out);
			else {
				flow_of(l, out)->alias = true;
				if (ref_is_value(init)) flow_of(l, init)->shared++;
			}
			continue;
		}
		bool once = end && uses_at(end, body_of(in, p)->end) == 1;
		if (once && chain(l, body_of(in, p), result, param, &c)) {
			y->kind = CARRY_INPLACE;
			unite(l, out, param);
			join_chain(l, out, &c);
			if (in->op == OP_WHILE)
				flow_of(l, ref_value(p->regions[0]->region->params + k))->alias = true;
			if (gives_memory(l, s, p, init)) unite(l, init, out);
			continue;
		}
		y->kind = CARRY_DOUBLE_BUFFER;
		flow_of(l, param)->alias = true;
		if (in->op == OP_WHILE)
			flow_of(l, ref_value(p->regions[0]->region->params + k))->alias = true;
		flow_of(l, out)->owned = true;
		y->direct =
			once && end->home == body_of(in, p) && end->step && end->step->kind != SCHED_ALIAS;
	}
}

bool run_changes(const Lower *l, const SchedStep *p, const Inst *in, Ref *x) {
	Ref r = in->nresults ? inst_result(in, 0) : REF_NONE;
	if (in->op != OP_UPDATE || !l->needed[REF_INDEX(r)] || !run_takes_memory(l, p, in))
		return false;
	*x = run_source(l, p, r);
	if (*x == r || !ref_is_value(*x)) return false;
	const ValueFlow *v = flow_of(l, *x);
	return v->step != p && v->last == p && !v->at_end && !v->outside && !v->shared &&
	       !used_between(v, p->from, p->to);
}

static void link_run(Lower *l, Sched *s, SchedStep *p) {
	for (uint32_t k = 0; k < p->n; k++) {
		const Inst *in = inst_at(l, p->insts[k]);
		Ref x;
		for (uint32_t i = 0; i < in->nresults; i++) flow_of(l, inst_result(in, i))->owned = true;
		if (!run_changes(l, p, in, &x)) continue;
		const ValueFlow *v = flow_of(l, x);
		if (v->home == s && v->owned && !v->alias) unite(l, x, inst_result(in, 0));
	}
}

/* A value that a branch computes for one result of its `if`, and for nothing
 * else after it, is computed in that result's memory. */
static void link_branch_result(Lower *l, const Sched *branch, uint32_t k, Ref out) {
	const Ref r = l->f->args.at[branch->region->results + k];
	if (!ref_is_value(r)) return;
	const ValueFlow *v = flow_of(l, r);
	if (v->home != branch || !v->step ||
	    (v->step->kind != SCHED_LOOPS && v->step->kind != SCHED_VECTOR_MAP) || v->parent ||
	    v->owned || uses_at(v, branch->end) != 1)
		return;
	unite(l, out, r);
}

static void link(Lower *l, Sched *s) {
	for (uint32_t i = 0; i < s->steps.n; i++) {
		SchedStep *p = s->steps.at[i];
		if (p->kind == SCHED_LOOPS) {
			link_run(l, s, p);
			continue;
		}
		if (p->kind == SCHED_VECTOR_MAP) {
			for (uint32_t k = 0; k < p->n; k++) {
				const Inst *in = inst_at(l, p->insts[k]);
				for (uint32_t r = 0; r < in->nresults; r++)
					flow_of(l, inst_result(in, r))->owned = true;
				/* A tape stays in its memory. */
				for (uint32_t r = 0; in->op == OP_FOR && r < in->nresults; r++) {
					Ref init = inst_arg(l->f, in, 1 + r), out = inst_result(in, r);
					if (value_is_tape(l, out, p) && gives_memory(l, s, p, init))
						unite(l, init, out);
				}
			}
			continue;
		}
		const Inst *in = inst_at(l, p->inst);
		if (p->kind == SCHED_ALIAS) {
			flow_of(l, inst_result(in, 0))->alias = true;
		} else if (p->kind == SCHED_MATRIX) {
			for (uint32_t k = 0; k < in->nresults; k++)
				flow_of(l, inst_result(in, k))->owned = true;
			if (in->op == OP_HOST) continue; /* does not compute in place */
			const Ref x = inst_arg(l->f, in, in->op == OP_TRISOLVE);
			if (!is_small(l, x) && gives_memory(l, s, p, x)) unite(l, x, inst_result(in, 0));
		} else if (p->kind == SCHED_ELEMENT && writes_elements(in)) {
			flow_of(l, inst_result(in, 0))->owned = true;
			if (gives_memory(l, s, p, inst_arg(l->f, in, 0)))
				unite(l, inst_arg(l->f, in, 0), inst_result(in, 0));
		} else if (p->kind == SCHED_CONTROL) {
			if (in->op != OP_IF) link_loop(l, s, p, in);
			for (uint32_t k = 0; in->op == OP_IF && k < in->nresults; k++) {
				InPlaceChain c = {{0}};
				Ref out = inst_result(in, k), source;
				if (is_small(l, out)) continue;
				flow_of(l, out)->owned = true;
				const ValueFlow *v = chain_step(l, s, p, out, REF_NONE, s->end, &source, &c)
				                         ? flow_of(l, source)
				                         : NULL;
				if (!v || v->home != s || !v->owned || v->alias || v->last != p || v->at_end ||
				    v->outside) {
					for (uint32_t r = 0; r < 2; r++) link_branch_result(l, p->regions[r], k, out);
					continue;
				}
				join_chain(l, out, &c);
				unite(l, out, source);
			}
			for (uint32_t r = 0; r < in->nregions; r++) link(l, p->regions[r]);
		}
	}
}

/* ---- lifetimes ----------------------------------------------------------- */

static void live_to(ValueFlow *v) {
	v->lives_to = v->outside             ? FOREVER
	              : v->at_end && v->home ? v->home->end
	              : v->last              ? v->last->to
	              : v->step              ? v->step->to
	                                     : 0;
}

/* A value that shares another's memory without owning it extends that value's
 * life. Later steps come first. */
static void extend(Lower *l, const Sched *s) {
	for (uint32_t i = s->steps.n; i-- > 0;) {
		const SchedStep *p = s->steps.at[i];
		if (is_run(p)) continue;
		const Inst *in = inst_at(l, p->inst);
		for (uint32_t k = 0; k < in->nresults; k++) {
			const ValueFlow *out = flow_of(l, inst_result(in, k));
			if (!out->alias) continue;
			Ref source = inst_arg(l->f, in, p->kind == SCHED_ALIAS ? 0 : first_init(in) + k);
			if (!ref_is_value(source)) continue;
			ValueFlow *v = flow_of(l, source);
			/* A source of an outer level lives until the end of the enclosing
			 * step anyway. */
			if (v->home == s && out->lives_to > v->lives_to) v->lives_to = out->lives_to;
		}
		for (uint32_t r = 0; r < in->nregions; r++) extend(l, p->regions[r]);
	}
}

static void lifetimes(Lower *l) {
	Flow *w = l->flow;
	for (uint32_t v = 0; v < l->f->vals.n; v++) live_to(&w->values[v]);
	extend(l, w->top);
	for (uint32_t v = 0; v < l->f->vals.n; v++) w->classes[v] = (AliasClass){.from = FOREVER};
	for (uint32_t v = 0; v < l->f->vals.n; v++) {
		const ValueFlow *x = &w->values[v];
		if (!x->owned) continue;
		AliasClass *y = &w->classes[flow_class(l, v)];
		uint32_t from = x->step                     ? x->step->from
		                : x->home && x->home->owner ? x->home->owner->from
		                                            : 0;
		if (from < y->from) y->from = from;
		if (x->lives_to > y->to) y->to = x->lives_to;
		/* A branch writes its results before the step ends. */
		if (x->step && x->step->to > y->to) y->to = x->step->to;
	}
}

static Dim count_of(Ctx *c, TypeId t) {
	Type ty = *type_of(c, t);
	Dim n = dim_const(c, 1);
	for (uint32_t i = 0; i < ty.rank; i++) n = dim_mul(c, n, ty.dims[i]);
	return n;
}

static uint32_t add_slot(Lower *l, Ref r, uint32_t from, uint32_t to) {
	MemorySlot s = {.elements = count_of(l->c, ref_type(l->f, r)),
	                .element_bytes = (uint32_t)dtype_size((Dtype)ref_ty(l->f, r)->dtype),
	                .from = from,
	                .to = to};
	VEC_PUSH(l->scratch, &l->slots, s);
	return l->slots.n;
}

/* Outputs have buffers. The value that a body computes for its next iteration
 * has the loop's memory. Others get slots. */
static void assign(Lower *l, Sched *s) {
	Flow *w = l->flow;
	for (uint32_t i = 0; i < s->steps.n; i++) {
		SchedStep *p = s->steps.at[i];
		uint32_t n = is_run(p) ? p->n : 1;
		for (uint32_t k = 0; k < n; k++) {
			const Inst *in = inst_at(l, is_run(p) ? p->insts[k] : p->inst);
			for (uint32_t r = 0; r < in->nresults; r++) {
				Ref out = inst_result(in, r);
				const ValueFlow *v = flow_of(l, out);
				if (!v->owned || v->alias || is_small(l, out) || !l->needed[REF_INDEX(out)])
					continue;
				AliasClass *y = &w->classes[flow_class(l, REF_INDEX(out))];
				if (y->slot || y->output || y->is_dynamic) continue;
				y->slot = add_slot(l, out, y->from, y->to);
			}
			for (uint32_t r = 0; p->carries && r < in->nresults; r++) {
				Carry *y = &p->carries[r];
				if (y->kind != CARRY_DOUBLE_BUFFER) continue;
				y->other = add_slot(l, inst_result(in, r), p->from, p->to);
				Ref result = body_result(l, in, p, r);
				AliasClass *body = y->direct ? &w->classes[flow_class(l, REF_INDEX(result))] : NULL;
				if (body &&
				    (body->slot || body->output || body->is_dynamic || !flow_of(l, result)->owned))
					y->direct = false;
				else if (body) body->is_dynamic = true;
			}
			for (uint32_t r = 0; r < in->nregions && !is_run(p); r++) assign(l, p->regions[r]);
		}
	}
}

static void outputs(Lower *l) {
	Flow *w = l->flow;
	for (uint32_t v = 0; v < l->f->vals.n; v++) {
		const ValueFlow *x = &w->values[v];
		if (!x->outside || !x->home || is_small(l, ref_value(v))) continue;
		uint32_t k = 0;
		while (k < l->unit->noutputs && l->unit->outputs[k].ref != ref_value(v)) k++;
		if (!x->owned || x->alias) continue;
		AliasClass *y = &w->classes[flow_class(l, v)];
		if (!y->output) y->output = k + 1;
	}
}

void flow_make(Lower *l, const Region *region, uint32_t ninsts, const InstId *insts) {
	Flow *w = l->flow;
	w->in_run = ARENA_ARRAY(l->scratch, bool, l->f->vals.n + 1);
	w->classes = ARENA_ARRAY(l->scratch, AliasClass, l->f->vals.n + 1);
	w->top = new_sched(l, NULL, NULL, region);
	if (!region) {
		w->top->ninsts = ninsts;
		w->top->insts = insts;
	}
	schedule(l, w->top);
	for (uint32_t v = 0; v < l->f->vals.n; v++)
		if (w->values[v].outside && w->values[v].home) l->needed[v] = true;
	link(l, w->top);
	lifetimes(l);
	outputs(l);
	assign(l, w->top);
}

/* ---- plans of runs ------------------------------------------------------- */

static void plan_runs(Lower *l, Sched *s) {
	for (uint32_t i = 0; i < s->steps.n && !l->failed; i++) {
		SchedStep *p = s->steps.at[i];
		if (p->kind == SCHED_LOOPS) {
			l->position = p->from;
			p->plan = arrays_plan(l, p);
			if (!p->plan) l->failed = true;
		}
		for (uint32_t r = 0; r < 2; r++)
			if (p->regions[r]) plan_runs(l, p->regions[r]);
		if (p->kind == SCHED_CONTROL && inst_at(l, p->inst)->op == OP_FOR && !l->failed)
			p->tiling = time_tiling_plan(l, p, inst_at(l, p->inst));
	}
}

void flow_plan(Lower *l) { plan_runs(l, l->flow->top); }

uint32_t flow_work(const Lower *l, const Sched *s) {
	double work = 1;
	for (uint32_t i = 0; i < s->steps.n; i++) {
		const SchedStep *p = s->steps.at[i];
		for (uint32_t k = 0; k < (is_run(p) ? p->n : 1); k++) {
			const Inst *in = inst_at(l, is_run(p) ? p->insts[k] : p->inst);
			double n = 1;
			if (in->nresults) {
				const Type *t = ref_ty(l->f, inst_result(in, 0));
				for (uint32_t a = 0; is_run(p) && a < t->rank; a++)
					n *= (double)lower_hint(l, t->dims[a], 100);
			}
			work += n;
		}
		if (p->kind == SCHED_CONTROL && inst_at(l, p->inst)->op == OP_IF)
			for (uint32_t r = 0; r < 2; r++) work += flow_work(l, p->regions[r]) / 2.0;
	}
	return work < 1e6 ? (uint32_t)work : 1000000;
}
