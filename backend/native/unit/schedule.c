/* schedule.c - order of a unit's instructions: runs of array instructions, and
 * steps between them.
 *
 * Needs: flow.h.
 *
 * Contract:
 * - As in lower/schedule.h.
 * - Array instructions stay together, so that one plan covers as many as
 *   possible. Instructions that do not depend on the run being collected go
 *   before it.
 * - Checks keep their order among each other.
 */
#include "backend/native/unit/flow.h"

#include <math.h>

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

/* ---- runs that are partly done by rows ----------------------------------- */

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

/* ---- the run being collected --------------------------------------------- */

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

/* ---- steps --------------------------------------------------------------- */

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

/* ---- the flow of a unit -------------------------------------------------- */

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
	flow_memory(l);
}

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
		if (p->kind != SCHED_CONTROL) continue;
		const Inst *in = inst_at(l, p->inst);
		if (in->op == OP_IF) work += fmax(flow_work(l, p->regions[0]), flow_work(l, p->regions[1]));
		if (in->op == OP_FOR) work += lower_unpolled(l, in, flow_work(l, p->regions[0]));
	}
	return work < 1e6 ? (uint32_t)work : 1000000;
}
