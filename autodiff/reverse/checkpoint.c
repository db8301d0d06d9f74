/* checkpoint.c - reverse mode of loops with binomial checkpointing: the
 * functions of a loop, and the schedule.
 *
 * Method: for iteration k = n-1 .. 0 of the reverse sweep, the latest
 * checkpoint is the state before some iteration p <= k. The iterations from p
 * up to k are run again; further checkpoints go to the free rows of the stack
 * where the schedule has them. Then iteration k is linearised and transposed,
 * and its checkpoint, if any, is released. The distance to the next checkpoint
 * follows from the remaining iterations, k + 1 - p, and the free rows alone, so
 * the stack is the only state.
 *
 * The forward sweep of a `for` does the same for k = n - 1, since the primal
 * part knows n. The primal part counts the iterations of a `while`, which then
 * starts again from its initial state: one more sweep, with an optimal
 * schedule. Online schedules, for unknown n, would save part of that sweep.
 * They either copy the state in every iteration or are optimal only up to C(s +
 * 2, s) iterations.
 *
 * Needs: checkpoint.h.
 *
 * Contract:
 * - As in checkpoint.h.
 * - Recomputation uses the same values as the first run, integers and random
 *   states included, so the derivative is that of the tape.
 * - The result consists of ordinary instructions, which can be differentiated
 *   and batched again.
 */
#include "autodiff/reverse/checkpoint.h"

static Ref *refs(Arena *a, uint32_t n) { return ARENA_ARRAY(a, Ref, n + 1u); }

static Ref add(Builder *b, Ref x, Ref y) { return build2(b, OP_ADD, x, y); }
static Ref sub(Builder *b, Ref x, Ref y) { return build2(b, OP_SUB, x, y); }
static Ref mul(Builder *b, Ref x, Ref y) { return build2(b, OP_MUL, x, y); }
static Ref quotient(Builder *b, Ref x, Ref y) { return build2(b, OP_FLOORDIV, x, y); }
static Ref least(Builder *b, Ref x, Ref y) { return build2(b, OP_MIN, x, y); }
static Ref most(Builder *b, Ref x, Ref y) { return build2(b, OP_MAX, x, y); }
static Ref number(Builder *b, int64_t x) { return build_i64(b, x); }

uint32_t snapshot_stack_size(const SnapshotLoop *loop) {
	return loop->nstate ? loop->nstate + 2 : 0;
}

/* ---- which loops --------------------------------------------------------- */

typedef struct Survey {
	LinearisePlan *p;
	RegionId body, outside;
	TapeReason refused;
	bool nested;
	VEC(SymId) syms; /* of outside, mentioned by types and attributes inside */
	VEC(Ref) captured;
} Survey;

static void note_sym(void *ud, SymId s) {
	Survey *v = ud;
	if (!known_outside(v->p, s, v->outside)) return;
	for (uint32_t i = 0; i < v->syms.n; i++)
		if (v->syms.at[i] == s) return;
	VEC_PUSH(v->p->a, &v->syms, s);
}

static void note_type(Survey *v, TypeId type) {
	Type t = *type_of(v->p->c, type);
	for (uint32_t k = 0; t.kind == TY_TENSOR && k < t.rank; k++)
		dim_each_sym(v->p->c, t.dims[k], note_sym, v);
}

static void note_attr(Survey *v, const Inst *in) {
	uint32_t k = 0;
	for (const char *s = strchr(prims[in->op].attr, ':'); s; s = strchr(s + 1, ':'), k++) {
		if (s[1] != 'D' && s[1] != 'y') continue;
		uint32_t n;
		const int64_t *words = attr_field(v->p->c, (Op)in->op, in->attr, k, &n);
		for (uint32_t i = 0; i < n; i++) {
			if (s[1] == 'y') note_type(v, (TypeId)words[i]);
			else dim_each_sym(v->p->c, (Dim)words[i], note_sym, v);
		}
	}
}

static void note_ref(Survey *v, Ref r) {
	if (!ref_is_value(r) || encloses(v->p, v->body, v->p->f->vals.at[REF_INDEX(r)].region)) return;
	for (uint32_t i = 0; i < v->captured.n; i++)
		if (v->captured.at[i] == r) return;
	VEC_PUSH(v->p->a, &v->captured, r);
	note_type(v, ref_type(v->p->f, r));
}

static void survey(Survey *v, const Region *g) {
	const Fn *f = v->p->f;
	for (uint32_t k = 0; k < g->nparams; k++) note_type(v, f->vals.at[g->params + k].type);
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = plan_inst(v->p, g, i);
		const Fn *callee = inst_callee(v->p->c, in);
		/* Recomputation would repeat effects, such as output. */
		if (prims[in->op].effect == EFFECT_EFFECT ||
		    (callee && callee->finished && callee->effects))
			v->refused = TAPE_EFFECTS;
		if (callee && !callee->finished) v->refused = TAPE_RECURSION;
		v->nested |= in->op == OP_FOR || in->op == OP_WHILE;
		note_attr(v, in);
		for (uint32_t k = 0; k < in->nargs; k++) note_ref(v, inst_arg(f, in, k));
		for (uint32_t k = 0; k < in->nresults; k++) note_type(v, f->vals.at[in->results + k].type);
		for (uint32_t k = 0; k < in->nregions; k++) survey(v, inst_region(f, in, k));
	}
	for (uint32_t k = 0; k < g->nresults; k++) note_ref(v, f->args.at[g->results + k]);
}

/* Whether a row of an array can hold the value in all iterations. */
static bool fits_rows(const LinearisePlan *p, TypeId type, RegionId body) {
	const Type *t = type_of(p->c, type);
	return t->kind == TY_TENSOR && t->rank < MAX_RANK && !type_varies_in(p, type, body);
}

/* Equalities of extents found before the loop hold inside it. Visits the guards
 * before instruction `before` in its region, and in the regions around it. */
static void each_guard_before(LinearisePlan *p, const Inst *before,
                              void (*visit)(void *ud, const Inst *guard), void *ud) {
	const Region *g = &p->f->regions.at[before->parent];
	if (g->owner != NO_INST) each_guard_before(p, &p->f->insts.at[g->owner], visit, ud);
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = plan_inst(p, g, i);
		if (in == before) return;
		if (in->op == OP_GUARD) visit(ud, in);
	}
}

typedef struct Linked {
	Survey *v;
	bool some;
} Linked;

static void visit_some(void *ud, SymId s) {
	Linked *l = ud;
	for (uint32_t i = 0; i < l->v->syms.n; i++) l->some |= l->v->syms.at[i] == s;
}

static void link_guard(void *ud, const Inst *in) {
	Linked l = {.v = ud};
	Ctx *c = l.v->p->c;
	Dim x = (Dim)attr_int(c, OP_GUARD, in->attr, 0), y = (Dim)attr_int(c, OP_GUARD, in->attr, 1);
	dim_each_sym(c, x, visit_some, &l);
	dim_each_sym(c, y, visit_some, &l);
	if (!l.some) return;
	dim_each_sym(c, x, note_sym, l.v);
	dim_each_sym(c, y, note_sym, l.v);
}

/* ---- the functions of a loop --------------------------------------------- */

typedef struct CheckpointBuild {
	LinearisePlan *p;
	Survey *v;
	SnapshotPlan *s;
	SnapshotLoop *loop;
	const Inst *in;
	Builder *b;
} CheckpointBuild;

static void copy_guard(void *ud, const Inst *in) {
	CheckpointBuild *m = ud;
	Ctx *c = m->p->c;
	Linked l = {.v = m->v};
	Dim x = (Dim)attr_int(c, OP_GUARD, in->attr, 0), y = (Dim)attr_int(c, OP_GUARD, in->attr, 1);
	dim_each_sym(c, x, visit_some, &l);
	dim_each_sym(c, y, visit_some, &l);
	if (l.some) build_unify(m->b, x, y, (Atom)attr_int(c, OP_GUARD, in->attr, 2));
}

static Ref param_like(CheckpointBuild *m, Ref r) {
	const Val *v = &m->p->f->vals.at[REF_INDEX(r)];
	return build_param(m->b, ref_type(m->p->f, r), ref_is_value(r) ? v->name : 0);
}

static void begin(CheckpointBuild *m, const char *name, Ref *fixed) {
	const SnapshotPlan *s = m->s;
	m->b = build_begin(m->p->c, transform_name(m->p->c, m->p->f, name), m->in->span, m->p->f);
	build_derivative(m->b);
	for (uint32_t k = 0; k < s->nwitnesses; k++) fixed[k] = build_param(m->b, s->witnesses[k], 0);
	for (uint32_t k = 0; k < s->ncaptured; k++)
		fixed[s->nwitnesses + k] = param_like(m, s->captured[k]);
}

static Fn *make_step(CheckpointBuild *m) {
	LinearisePlan *p = m->p;
	const SnapshotPlan *s = m->s;
	const SnapshotLoop *loop = m->loop;
	const Region *g = inst_region(p->f, m->in, m->in->op == OP_WHILE);
	uint32_t skip = m->in->op == OP_FOR, at = loop->nfixed + 1;
	Ref *params = refs(p->a, loop->nfixed + 1 + loop->nstate + loop->ncarried + loop->nheld);
	Ref *results = refs(p->a, m->in->nresults);
	begin(m, "step", params);
	RefMap map = refmap_new(m->b, p->f, true);
	for (uint32_t k = 0; k < s->ncaptured; k++)
		refmap_set(&map, s->captured[k], params[s->nwitnesses + k]);
	params[loop->nfixed] = build_param(m->b, type_scalar(p->c, DT_I64), 0);
	if (skip) refmap_set(&map, ref_value(g->params), params[loop->nfixed]);
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t k = 0; k < m->in->nresults; k++) {
			Ref r = ref_value(g->params + skip + k);
			if (is_linear(p, r) != (pass == 1)) continue;
			params[at] = param_like(m, r);
			refmap_set(&map, r, params[at++]);
		}
	}
	for (uint32_t k = 0; k < loop->nheld; k++) {
		params[at] = param_like(m, s->held[k]);
		refmap_set(&map, s->held[k], params[at++]);
	}
	each_guard_before(p, m->in, copy_guard, m);
	for (uint32_t i = 0; i < g->ninsts; i++) build_copy_inst(m->b, &map, plan_inst(p, g, i));
	uint32_t n = 0;
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t k = 0; k < m->in->nresults; k++)
			if (is_linear(p, ref_value(g->params + skip + k)) == (pass == 1))
				results[n++] = refmap_get(m->b, &map, plan_result(p, g, k));
	Fn *step = build_end(m->b, n, results);
	transform_info_set(p->c, step,
	                   (TransformInfo){.is_jvp = true,
	                                   .jvp_params = loop->nfixed + 1 + loop->nstate,
	                                   .jvp_results = loop->nstate});
	return step;
}

/* Builds a loop that runs `turn` (`step` or `advance`) on the values, with the
 * operands `behind` appended. */
static void run_turns(Builder *b, Arena *a, Fn *turn, uint32_t nfixed, const Ref *fixed, Ref first,
                      Ref turns, uint32_t n, Ref *values, uint32_t nbehind, const Ref *behind) {
	Ref *params = refs(a, n + 1), *args = refs(a, nfixed + 1 + n + nbehind), *out = refs(a, n);
	TypeId *types = ARENA_ARRAY(a, TypeId, n + 2u);
	types[0] = type_scalar(build_ctx(b), DT_I64);
	for (uint32_t k = 0; k < n; k++) types[k + 1] = type_id_in(b, values[k]);
	OpenRegion *open = build_region_begin(b, n + 1, types, params);
	memcpy(args, fixed, nfixed * sizeof *args);
	args[nfixed] = add(b, first, params[0]);
	memcpy(args + nfixed + 1, params + 1, n * sizeof *args);
	for (uint32_t k = 0; k < nbehind; k++) args[nfixed + 1 + n + k] = behind[k];
	build_inline(b, turn, args, out);
	build_for(b, turns, n, values, build_region_end(b, open, n, out), values);
}

static Fn *make_run(CheckpointBuild *m, Fn *step) {
	LinearisePlan *p = m->p;
	Ctx *c = p->c;
	const SnapshotPlan *s = m->s;
	const SnapshotLoop *loop = m->loop;
	uint32_t n = loop->nstate + loop->ncarried;
	Ref *fixed = refs(p->a, loop->nfixed), *values = refs(p->a, n), *held = refs(p->a, loop->nheld);
	begin(m, "run", fixed);
	Ref count = build_param(m->b, type_scalar(c, DT_I64), 0);
	for (uint32_t k = 0; k < loop->nstate; k++) values[k] = param_like(m, s->state[k]);
	if (loop->swept && loop->nstate) {
		Dim rows = build_fresh_dim(m->b, 0, m->in->span);
		for (uint32_t k = 0; k < loop->nstate; k++) {
			Type t = *ref_ty(p->f, s->state[k]);
			Dim dims[MAX_RANK] = {rows};
			memcpy(dims + 1, t.dims, t.rank * sizeof *dims);
			build_param(m->b, type_tensor(c, (Dtype)t.dtype, t.rank + 1u, dims), 0);
		}
		build_param(m->b, type_tensor(c, DT_I64, 1, &rows), 0);
		build_param(m->b, type_scalar(c, DT_I64), 0);
	}
	for (uint32_t k = 0; k < loop->ncarried; k++)
		values[loop->nstate + k] = param_like(m, s->carried[k]);
	for (uint32_t k = 0; k < loop->nheld; k++) held[k] = param_like(m, s->held[k]);
	each_guard_before(p, m->in, copy_guard, m);
	build_at(m->b, m->in->span);
	run_turns(m->b, p->a, step, loop->nfixed, fixed, number(m->b, 0), count, n, values, loop->nheld,
	          held);
	return build_end(m->b, loop->ncarried, values + loop->nstate);
}

static void make_kept(Ctx *c, Transform *d) {
	const SnapshotLoop *loop = transform_info(d->from).loop;
	(void)c;
	fn_ref(loop->step);
	d->fn = transform_own(d, loop->step);
}

/* Inner loops share the memory. */
static AttrId inner_policy(Ctx *c, AttrId policy, bool *halved) {
	uint32_t n;
	const int64_t *words = attr_words(c, policy, &n);
	int64_t inner[2] = {words[0], words[0] ? 0 : words[1] > 1 ? words[1] / 2 : 1};
	*halved = !words[0];
	return attr_intern(c, inner, 2);
}

static AttrId outer_policy(Ctx *c, AttrId policy) {
	uint32_t n;
	const int64_t *words = attr_words(c, policy, &n);
	int64_t outer[2] = {words[0], words[1] - words[1] / 2}; /* at least 1 of 1 */
	return attr_intern(c, outer, 2);
}

static void find_witnesses(LinearisePlan *p, const Survey *v, SnapshotPlan *s) {
	Dim dims[MAX_RANK];
	s->witnesses = ARENA_ARRAY(p->a, TypeId, v->syms.n + 1u);
	for (uint32_t i = 0, n = 0; i < v->syms.n; i++) {
		dims[n++] = dim_sym(p->c, v->syms.at[i]);
		if (n < MAX_RANK - 1 && i + 1 < v->syms.n) continue;
		dims[n++] = dim_const(p->c, 0);
		s->witnesses[s->nwitnesses++] = type_tensor(p->c, DT_BOOL, n, dims);
		n = 0;
	}
}

const SnapshotPlan *snapshot_plan(LinearisePlan *p, const Inst *in, bool swept, TapeReason *why) {
	const Fn *f = p->f;
	uint32_t skip = in->op == OP_FOR;
	RegionId body = f->region_ids.at[in->regions + !skip];
	const Region *g = &f->regions.at[body];
	Survey v = {.p = p, .body = body, .outside = in->parent};
	survey(&v, g);
	for (uint32_t k = 0; k < in->nresults; k++) {
		note_type(&v, ref_type(f, inst_arg(f, in, k + skip)));
		const TypeId type = f->vals.at[g->params + skip + k].type;
		if (!fits_rows(p, type, body))
			v.refused = type_is_tensor(p->c, type) ? TAPE_SHAPES : TAPE_VALUES;
	}
	*why = v.refused;
	if (v.refused) return NULL;
	for (uint32_t before = UINT32_MAX; before != v.syms.n;) {
		before = v.syms.n;
		each_guard_before(p, in, link_guard, &v);
	}

	SnapshotPlan *s = ARENA_NEW(p->a, SnapshotPlan);
	SnapshotLoop *loop = ARENA_NEW(p->d->from->arena, SnapshotLoop);
	s->loop = loop;
	s->captured = refs(p->a, v.captured.n);
	s->held = refs(p->a, v.captured.n);
	s->state = refs(p->a, in->nresults);
	s->carried = refs(p->a, in->nresults);
	find_witnesses(p, &v, s);
	for (uint32_t k = 0; k < v.captured.n; k++) {
		if (is_linear(p, v.captured.at[k])) s->held[loop->nheld++] = v.captured.at[k];
		else s->captured[s->ncaptured++] = v.captured.at[k];
	}
	for (uint32_t k = 0; k < in->nresults; k++) {
		Ref init = inst_arg(f, in, k + skip);
		if (is_linear(p, inst_result(in, k))) s->carried[loop->ncarried++] = init;
		else s->state[loop->nstate++] = init;
	}
	loop->nfixed = s->nwitnesses + s->ncaptured;
	loop->swept = swept;
	loop->policy = p->d->from->checkpoint;

	CheckpointBuild m = {.p = p, .v = &v, .s = s, .loop = loop, .in = in};
	Fn *step = transform_own(p->d, make_step(&m));
	bool halved, *linear = ARENA_ARRAY(p->a, bool, fn_nparams(step) + 1u);
	for (uint32_t k = loop->nfixed + 1 + loop->nstate; k < fn_nparams(step); k++) linear[k] = true;
	s->run = transform_own(p->d, make_run(&m, step));
	if (v.nested) {
		step->checkpoint = inner_policy(p->c, loop->policy, &halved);
		if (halved) loop->policy = outer_policy(p->c, loop->policy);
	}
	loop->step = step;
	loop->advance = plain_part(p->c, step, linear);
	SnapshotLoop *kept = ARENA_NEW(s->run->arena, SnapshotLoop);
	*kept = *loop;
	s->run->checkpoint = p->d->from->checkpoint;
	transform_info_set(
		p->c, s->run,
		(TransformInfo){.is_linear = true,
	                    .linear_from = fn_nparams(s->run) - loop->ncarried - loop->nheld,
	                    .loop = kept});
	transform_get(p->c, s->run, TR_LOOP, 0, NULL, make_kept);
	return s;
}

/* ---- the schedule -------------------------------------------------------- */

typedef struct Sweep {
	Builder *b;
	Arena *a;
	const SnapshotLoop *loop;
	const Ref *fixed;
	Ref slots; /* checkpoints available to the schedule */
} Sweep;

/* The distance from a checkpoint to the next one, when `turns` iterations are
 * to be reversed from there with `free` checkpoints, including this one. Let r
 * be the least integer with turns <= C(free + r, r). The distance is at most
 * C(free + r - 1, r - 1), the most that r - 1 repetitions can reverse. At least
 * C(free + r - 2, r - 1) iterations remain after it. */
static Ref next_stride(Sweep *w, Ref turns, Ref free) {
	Builder *b = w->b;
	Ref one = number(b, 1), zero = number(b, 0), p[3], out[3] = {zero, one, zero};
	free = least(b, free, most(b, turns, one));
	Ref many = build2(b, OP_LT, one, free);
	TypeId types[3] = {type_scalar(build_ctx(b), DT_I64), type_scalar(build_ctx(b), DT_I64),
	                   type_scalar(build_ctx(b), DT_I64)};
	/* The loop carries r, C(free + r, r), C(free + r - 1, r - 1). */
	OpenRegion *open = build_region_begin(b, 3, types, p);
	Ref more = build2(b, OP_MIN, many, build2(b, OP_LT, p[1], turns));
	RegionId cond = build_region_end(b, open, 1, &more);
	open = build_region_begin(b, 3, types, p);
	Ref r = add(b, p[0], one), next[3] = {r, quotient(b, mul(b, p[1], add(b, free, r)), r), p[1]};
	RegionId body = build_region_end(b, open, 3, next);
	build_while(b, 3, out, cond, body, out);
	Ref others = quotient(b, mul(b, out[2], free), most(b, sub(b, add(b, free, out[0]), one), one));
	return build_select(b, many, least(b, out[2], sub(b, turns, others)), sub(b, turns, one));
}

static void advance(Sweep *w, Ref first, Ref turns, Ref *state) {
	run_turns(w->b, w->a, w->loop->advance, w->loop->nfixed, w->fixed, first, turns,
	          w->loop->nstate, state, 0, NULL);
}

/* Advances from the state before iteration *at towards iteration `last`, as
 * long as there are checkpoints to store on the way. The stack holds the rows,
 * their iterations, and their number. */
static void take_snapshots(Sweep *w, Ref last, Ref *state, Ref *at, Ref *stack) {
	Builder *b = w->b;
	uint32_t n = w->loop->nstate, m = 2 * n + 4, turns_at = 2 * n + 2, count_at = 2 * n + 3;
	Ref *values = refs(w->a, m), *p = refs(w->a, m), one = number(b, 1);
	TypeId *types = ARENA_ARRAY(w->a, TypeId, m + 1u);
	Ref beyond = add(b, last, one);
	memcpy(values, state, n * sizeof *values);
	values[n] = *at;
	values[n + 1] =
		next_stride(w, sub(b, beyond, *at), add(b, sub(b, w->slots, stack[n + 1]), one));
	memcpy(values + n + 2, stack, (n + 2) * sizeof *values);
	for (uint32_t k = 0; k < m; k++) types[k] = type_id_in(b, values[k]);
	OpenRegion *open = build_region_begin(b, m, types, p);
	Ref more = build2(b, OP_LT, add(b, p[n], p[n + 1]), last);
	RegionId cond = build_region_end(b, open, 1, &more);
	open = build_region_begin(b, m, types, p);
	Ref to = add(b, p[n], p[n + 1]), count = p[count_at];
	advance(w, p[n], p[n + 1], p);
	for (uint32_t k = 0; k < n; k++)
		p[n + 2 + k] = build_scatter(b, OP_SCATTER_SET, p[n + 2 + k], count, p[k], 0, 0);
	p[turns_at] = build_scatter(b, OP_SCATTER_SET, p[turns_at], count, to, 0, 0);
	p[count_at] = add(b, count, one);
	p[n + 1] = next_stride(w, sub(b, beyond, to), sub(b, w->slots, count));
	p[n] = to;
	RegionId body = build_region_end(b, open, m, p);
	build_while(b, m, values, cond, body, values);
	memcpy(state, values, n * sizeof *values);
	*at = values[n];
	memcpy(stack, values + n + 2, (n + 2) * sizeof *values);
}

void snapshot_sizes(Builder *b, const SnapshotLoop *loop, Ref count, const Ref *state, Ref *rows,
                    Ref *bytes) {
	Ctx *c = build_ctx(b);
	uint32_t n;
	const int64_t *words = attr_words(c, loop->policy, &n);
	*bytes = number(b, 8); /* the iteration */
	for (uint32_t k = 0; k < loop->nstate; k++) {
		Type t = type_in(b, state[k]);
		Dim size = dim_const(c, 1);
		for (uint32_t i = 0; i < t.rank; i++) size = dim_mul(c, size, t.dims[i]);
		*bytes = add(b, *bytes,
		             mul(b, build_extent(b, build_canon(b, size)),
		                 number(b, (int64_t)dtype_size((Dtype)t.dtype))));
	}
	Ref fit = words[0]
	              ? number(b, words[0] + loop->swept)
	              : most(b, quotient(b, number(b, words[1]), *bytes), number(b, 1 + loop->swept));
	*rows = most(b, least(b, fit, count), number(b, 1));
}

/* In a stack filled by the primal part, one row is for the state before the
 * last iteration, where the reverse sweep begins. */
static Ref slots_of(Builder *b, const SnapshotLoop *loop, Ref rows) {
	return loop->swept ? most(b, sub(b, rows, number(b, 1)), number(b, 1)) : rows;
}

/* A stack that contains the state before the first iteration. */
static void open_stack(Sweep *w, Ref count, const Ref *state, Ref *stack) {
	Builder *b = w->b;
	Ctx *c = build_ctx(b);
	uint32_t n = w->loop->nstate;
	Ref length, bytes, zero = number(b, 0);
	snapshot_sizes(b, w->loop, count, state, &length, &bytes);
	w->slots = slots_of(b, w->loop, length);
	Dim rows = build_dim_of(b, length, 0);
	for (uint32_t k = 0; k < n; k++) {
		Type t = type_in(b, state[k]);
		Dim dims[MAX_RANK] = {rows};
		memcpy(dims + 1, t.dims, t.rank * sizeof *dims);
		Ref empty = build_zeros(b, type_tensor(c, (Dtype)t.dtype, t.rank + 1u, dims));
		stack[k] = build_scatter(b, OP_SCATTER_SET, empty, zero, state[k], 0, 0);
	}
	stack[n] = build_zeros(b, type_tensor(c, DT_I64, 1, &rows));
	stack[n + 1] = number(b, 1);
}

void snapshot_sweep(Builder *b, Arena *a, const SnapshotLoop *loop, Ref count, const Ref *fixed,
                    Ref *state, Ref *stack) {
	Sweep w = {.b = b, .a = a, .loop = loop, .fixed = fixed};
	if (!loop->nstate) return;
	uint32_t n = loop->nstate;
	Ref at = number(b, 0), last = sub(b, count, number(b, 1));
	open_stack(&w, count, state, stack);
	take_snapshots(&w, last, state, &at, stack);
	advance(&w, at, sub(b, last, at), state);
	/* Push the state before the last iteration, unless it is already on top. */
	Ref more = build_convert(b, build2(b, OP_LT, at, last), DT_I64),
		row = sub(b, add(b, stack[n + 1], more), number(b, 1));
	for (uint32_t k = 0; k < n; k++)
		stack[k] = build_scatter(b, OP_SCATTER_SET, stack[k], row, state[k], 0, 0);
	stack[n] = build_scatter(b, OP_SCATTER_SET, stack[n], row, most(b, at, last), 0, 0);
	stack[n + 1] = add(b, stack[n + 1], more);
	advance(&w, last, least(b, count, number(b, 1)), state);
}

void snapshot_transpose(Ctx *c, Transform *d) {
	Fn *run = d->from;
	Arena *a = d->scratch;
	const SnapshotLoop *loop = transform_info(run).loop;
	uint32_t nf = loop->nfixed, ns = loop->nstate, nstack = snapshot_stack_size(loop),
			 nc = loop->ncarried, nh = loop->nheld;
	bool *linear = ARENA_ARRAY(a, bool, fn_nparams(loop->step) + 1u);
	for (uint32_t k = nf + 1 + ns; k < fn_nparams(loop->step); k++) linear[k] = true;
	const LinearSplit *split = split_data(split_of(c, loop->step, linear));
	Fn *back = ad_transpose(c, split->linear, split->nresiduals);

	Builder *b = build_begin(c, transform_name(c, run, "transpose"), run->span, run);
	build_derivative(b);
	Sweep w = {.b = b, .a = a, .loop = loop};
	uint32_t nplain = fn_nparams(run) - nc - nh, m = nc + nh + nstack;
	Ref *plain = refs(a, nplain), *values = refs(a, m), *p = refs(a, m + 1), *state = refs(a, ns);
	TypeId *types = ARENA_ARRAY(a, TypeId, m + 2u);
	for (uint32_t k = 0; k < nplain; k++) {
		const Val *v = &run->vals.at[REF_INDEX(fn_param(run, k))];
		plain[k] = build_param(b, v->type, v->name);
	}
	for (uint32_t k = 0; k < nc; k++)
		values[k] = build_param(b, ref_type(run, fn_param(run, nplain + k)), 0);
	d->fn = build_fn(b);
	build_at(b, run->span);
	const Region *body = &run->regions.at[0];
	for (uint32_t i = 0; i < body->ninsts; i++) {
		const Inst *in = &run->insts.at[run->inst_order.at[body->insts + i]];
		if (in->op == OP_GUARD)
			build_unify(b, (Dim)attr_int(c, OP_GUARD, in->attr, 0),
			            (Dim)attr_int(c, OP_GUARD, in->attr, 1),
			            (Atom)attr_int(c, OP_GUARD, in->attr, 2));
	}
	for (uint32_t k = 0; k < nh; k++)
		values[nc + k] = build_zeros(b, ref_type(run, fn_param(run, nplain + nc + k)));
	w.fixed = plain;
	Ref count = plain[nf], one = number(b, 1);
	if (ns && loop->swept) {
		memcpy(values + nc + nh, plain + nf + 1 + ns, nstack * sizeof *values);
		w.slots = slots_of(b, loop, build_extent(b, type_in(b, values[nc + nh + ns]).dims[0]));
	} else if (ns) {
		open_stack(&w, count, plain + nf + 1, values + nc + nh);
	}

	types[0] = type_scalar(c, DT_I64);
	for (uint32_t k = 0; k < m; k++) types[k + 1] = type_id_in(b, values[k]);
	OpenRegion *open = build_region_begin(b, m + 1, types, p);
	Ref turn = sub(b, sub(b, count, one), p[0]), *stack = p + 1 + nc + nh;
	if (ns) {
		Ref top = sub(b, stack[ns + 1], one), at = row_of(b, stack[ns], top);
		for (uint32_t k = 0; k < ns; k++) state[k] = row_of(b, stack[k], top);
		take_snapshots(&w, turn, state, &at, stack);
		advance(&w, at, sub(b, turn, at), state);
		/* The last step of the reverse sweep leaves the stack as it is, so that
		 * a row always exists. */
		Ref latest = row_of(b, stack[ns], sub(b, stack[ns + 1], one));
		Ref given_up =
			build2(b, OP_MIN, build2(b, OP_EQ, latest, turn), build2(b, OP_LT, number(b, 0), turn));
		stack[ns + 1] = sub(b, stack[ns + 1], build_convert(b, given_up, DT_I64));
	}
	Ref *args = refs(a, nf + 1 + ns), *made = refs(a, fn_nresults(split->primal)),
		*back_args = refs(a, split->nresiduals + nc), *ct = refs(a, nc + nh);
	memcpy(args, plain, nf * sizeof *args);
	args[nf] = turn;
	memcpy(args + nf + 1, state, ns * sizeof *args);
	build_call(b, split->primal, nf + 1 + ns, args, made);
	memcpy(back_args, made + split->nplain_results, split->nresiduals * sizeof *args);
	memcpy(back_args + split->nresiduals, p + 1, nc * sizeof *args);
	build_call(b, back, split->nresiduals + nc, back_args, ct);
	for (uint32_t k = 0; k < nc; k++) p[1 + k] = ct[k];
	for (uint32_t k = 0; k < nh; k++) p[1 + nc + k] = add(b, p[1 + nc + k], ct[nc + k]);
	build_for(b, count, m, values, build_region_end(b, open, m, p + 1), values);
	d->fn = transform_own(d, build_end(b, nc + nh, values));
	/* The stack's extent depends on the trip count, parameter nf. */
	if (ns && !loop->swept) d->fn->batch_sequentially_by = nf + 1;
}

/* ---- entry point --------------------------------------------------------- */

static void make_checkpoint(Ctx *c, Transform *d) {
	transform_wrap(c, d);
	d->fn->checkpoint = d->order;
}

Fn *ad_checkpoint(Ctx *c, Fn *f, int64_t snapshots, int64_t bytes) {
	int64_t words[2] = {snapshots, bytes};
	return transform_get(c, f, TR_CHECKPOINT, attr_intern(c, words, 2), NULL, make_checkpoint)->fn;
}
