/* smoothness.c - the smoothness of a function in some of its parameters.
 *
 * Method: a least fixed point through loops, branches and calls. It terminates,
 * because a value only becomes less smooth.
 *
 * Needs: smoothness.h, host.h.
 *
 * A value that depends on the parameters only through stop_gradient is `held`.
 * The library finds the interval of an interpolant in this way. A table lookup
 * with such an index is continuous although its pieces differ. A user's branch
 * on such a value is a jump like any other.
 */
#include "lang/passes/smoothness.h"

#include "lang/ir/host.h"

enum { CALLS_DEEP = 64, LOOP_ITERATIONS = 8 };

typedef struct Smoothing {
	uint8_t class; /* Smoothness; SMOOTH_ALWAYS when not active */
	bool active, held;
} Smoothing;

typedef struct Smooth {
	const Fn *f;
	Arena *arena;
	Smoothing *of; /* by value */
	uint32_t depth;
} Smooth;

static const Smoothing still = {SMOOTH_ALWAYS, false, true};

static Smoothing at_most(Smoothing s, Smoothness class) {
	if (s.active && s.class > class) s.class = (uint8_t) class;
	return s;
}

static Smoothing joined(Smoothing x, Smoothing y) {
	if (!x.active) return y;
	if (!y.active) return x;
	return (Smoothing){x.class < y.class ? x.class : y.class, true, x.held && y.held};
}

/* A value selected by another jumps where the selection changes. */
static Smoothing chosen_by(Smoothing what, Smoothing by) {
	return by.active ? at_most(joined(what, by), SMOOTH_JUMPS) : what;
}

static Smoothing state_of(const Smooth *p, Ref r) {
	return ref_is_value(r) ? p->of[REF_INDEX(r)] : still;
}

static Smoothing operands(const Smooth *p, const Inst *in) {
	Smoothing s = still;
	for (uint32_t k = 0; k < in->nargs; k++) s = joined(s, state_of(p, inst_arg(p->f, in, k)));
	return s;
}

static Smoothing region_result(const Smooth *p, const Region *g, uint32_t k) {
	return state_of(p, p->f->args.at[g->results + k]);
}

static void region(Smooth *p, const Region *g);
static void function(Arena *arena, const Fn *f, const Smoothing *args, Smoothing *results,
                     uint32_t depth);

static void branches(Smooth *p, const Inst *in) {
	const Smoothing by = in->op == OP_IF ? state_of(p, inst_arg(p->f, in, 0)) : still;
	const Region *a = inst_region(p->f, in, 0), *b = inst_region(p->f, in, 1);
	region(p, a);
	region(p, b);
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Smoothing s = joined(region_result(p, a, k), region_result(p, b, k));
		/* whether the body of a `try` fails may depend on anything in it */
		p->of[in->results + k] = in->op == OP_IF ? chosen_by(s, by) : at_most(s, SMOOTH_JUMPS);
	}
}

/* for: (n, init...), body (i, carried...); while: (init...), condition, body.
 */
static void loop(Smooth *p, const Inst *in) {
	const bool counted = in->op == OP_FOR;
	const Region *body = inst_region(p->f, in, counted ? 0 : 1),
				 *test = counted ? NULL : inst_region(p->f, in, 0);
	const uint32_t first = counted ? 1 : 0;
	Smoothing trip_count = counted ? state_of(p, inst_arg(p->f, in, 0)) : still;
	if (counted) p->of[body->params] = still;
	for (uint32_t k = 0; k < in->nresults; k++)
		p->of[body->params + first + k] = state_of(p, inst_arg(p->f, in, first + k));
	bool changed = true;
	for (uint32_t iteration = 0; changed; iteration++) {
		changed = false;
		if (test) {
			for (uint32_t k = 0; k < in->nresults; k++)
				p->of[test->params + k] = p->of[body->params + k];
			region(p, test);
			trip_count = joined(trip_count, region_result(p, test, 0));
		}
		region(p, body);
		for (uint32_t k = 0; k < in->nresults; k++) {
			Smoothing *was = &p->of[body->params + first + k],
					  now = joined(*was, region_result(p, body, k));
			if (iteration > LOOP_ITERATIONS) now = at_most(now, SMOOTH_JUMPS);
			changed |=
				now.class != was->class || now.active != was->active || now.held != was->held;
			*was = now;
		}
	}
	for (uint32_t k = 0; k < in->nresults; k++)
		p->of[in->results + k] = chosen_by(p->of[body->params + first + k], trip_count);
}

static void call(Smooth *p, const Inst *in) {
	const Fn *callee = inst_callee(p->f->ctx, in);
	Smoothing *args = ARENA_ARRAY(p->arena, Smoothing, in->nargs + in->nresults + 1),
			  *results = args + in->nargs;
	for (uint32_t k = 0; k < in->nargs; k++) args[k] = state_of(p, inst_arg(p->f, in, k));
	for (uint32_t k = 0; k < in->nresults; k++) results[k] = at_most(operands(p, in), SMOOTH_JUMPS);
	if (callee->finished && p->depth < CALLS_DEEP && operands(p, in).active)
		function(p->arena, callee, args, results, p->depth + 1);
	for (uint32_t k = 0; k < in->nresults; k++) p->of[in->results + k] = results[k];
}

/* A function with its own derivative rule is as smooth as the rule claims:
 * special functions, roots, integrals, functions with a `derivative`. */
static Smoothing host(const Smooth *p, const Inst *in) {
	const HostCall *h = host_call(p->f->ctx, (HostId)attr_int(p->f->ctx, OP_HOST, in->attr, 0));
	const bool ruled = h->def->pure || h->def->written || h->def->jvp;
	return ruled ? operands(p, in) : at_most(operands(p, in), SMOOTH_JUMPS);
}

/* x[i]: with an index of the library's kind, the pieces join continuously. */
static Smoothing read_at(Smoothing x, Smoothing index) {
	if (!index.active) return x;
	return at_most(joined(x, index), index.held ? SMOOTH_BENDS : SMOOTH_JUMPS);
}

static Smoothing piecewise(Smoothing index) {
	if (index.active && index.held) index.class = SMOOTH_BENDS;
	return index;
}

static void instruction(Smooth *p, const Inst *in) {
	const Ctx *c = p->f->ctx;
	Smoothing s = operands(p, in);
	switch ((Op)in->op) {
	case OP_IF:
	case OP_TRY: branches(p, in); return;
	case OP_FOR:
	case OP_WHILE: loop(p, in); return;
	case OP_CALL: call(p, in); return;
	case OP_HOST: s = host(p, in); break;
	case OP_ABS:
	case OP_MAX:
	case OP_MIN:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
	case OP_EIGH:
	case OP_EIG:
	case OP_SVD: s = at_most(s, SMOOTH_BENDS); break;
	case OP_SIGN:
	case OP_FLOOR:
	case OP_ROUND:
	case OP_MOD:
	case OP_ATAN2:
	case OP_FLOORDIV:
	case OP_BITAND:
	case OP_BITXOR:
	case OP_SHIFT:
	case OP_EQ:
	case OP_LT:
	case OP_LE:
	case OP_ARGMAX:
	case OP_ARGSORT:
	case OP_NONZERO:
	case OP_BOX:
	case OP_UNBOX:
	case OP_DYNAMIC:
	case OP_FORMAT: s = at_most(s, SMOOTH_JUMPS); break;
	case OP_SELECT:
		s = chosen_by(
			joined(state_of(p, inst_arg(p->f, in, 1)), state_of(p, inst_arg(p->f, in, 2))),
			state_of(p, inst_arg(p->f, in, 0)));
		break;
	case OP_CONVERT: {
		const Dtype to = (Dtype)attr_int(c, OP_CONVERT, in->attr, 0);
		if (to == DT_BOOL || dtype_is_int(to)) s = at_most(s, SMOOTH_JUMPS);
		break;
	}
	case OP_STOP: s.held = true; break;
	case OP_GATHER:
		s = read_at(state_of(p, inst_arg(p->f, in, 0)),
		            piecewise(state_of(p, inst_arg(p->f, in, 1))));
		break;
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET:
		s = read_at(joined(state_of(p, inst_arg(p->f, in, 0)), state_of(p, inst_arg(p->f, in, 2))),
		            piecewise(state_of(p, inst_arg(p->f, in, 1))));
		break;
	case OP_SOLVED:
		s = joined(state_of(p, inst_arg(p->f, in, 0)), state_of(p, inst_arg(p->f, in, 3)));
		break;
	default: break;
	}
	for (uint32_t k = 0; k < in->nresults; k++) p->of[in->results + k] = s;
}

static void region(Smooth *p, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		instruction(p, &p->f->insts.at[p->f->inst_order.at[g->insts + i]]);
}

static void function(Arena *arena, const Fn *f, const Smoothing *args, Smoothing *results,
                     uint32_t depth) {
	Smooth p = {.f = f,
	            .arena = arena,
	            .of = ARENA_ARRAY(arena, Smoothing, f->vals.n + 1u),
	            .depth = depth};
	for (uint32_t k = 0; k < f->vals.n; k++) p.of[k] = still;
	for (uint32_t k = 0; k < fn_nparams(f); k++) p.of[REF_INDEX(fn_param(f, k))] = args[k];
	region(&p, &f->regions.at[0]);
	for (uint32_t k = 0; k < fn_nresults(f); k++) results[k] = state_of(&p, fn_result(f, k));
}

Smoothness fn_smoothness(const Fn *f, const bool *active, bool *depends) {
	Arena *arena = ctx_arena(f->ctx);
	const uint32_t n = fn_nparams(f), m = fn_nresults(f);
	Smoothing *args = ARENA_ARRAY(arena, Smoothing, n + m + 1), *results = args + n, all = still;
	for (uint32_t k = 0; k < n; k++)
		args[k] = active[k] ? (Smoothing){SMOOTH_ALWAYS, true, false} : still;
	function(arena, f, args, results, 0);
	for (uint32_t k = 0; k < m; k++) all = joined(all, results[k]);
	if (depends) *depends = all.active;
	return (Smoothness)all.class;
}
