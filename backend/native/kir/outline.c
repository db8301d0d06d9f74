/* outline.c - outlining of instructions, with sharing of equal functions.
 *
 * The loops of one layer of a network are those of the next with other
 * pointers. Emitted once and called many times, they let a deep network compile
 * as fast as a shallow one.
 *
 * Method: values from outside become parameters in order of first use,
 * constants are copied in, and values are renumbered. Equal work thus gives
 * equal functions in any context.
 *
 * Contract: kir.h.
 */
#include "backend/native/kir/kir.h"

KMark k_mark(const KBuilder *b) {
	return (KMark){
		.insts = b->f->insts.n, .vals = b->f->vals.n, .refs = b->f->refs.n, .known = b->known.n};
}

typedef struct Outline {
	KBuilder *b;
	const KFn *from;
	KMark mark;
	KFn *to;
	KRef *map;          /* by value of `from` */
	bool *unused;       /* by instruction from the mark on: the result is unused */
	VEC(KRef) captured; /* in order of first use */
} Outline;

static KRef add_value(Outline *o, KVal like, uint32_t def) {
	like.def = def;
	VEC_PUSH(o->b->m->arena, &o->to->vals, like);
	return o->to->vals.n - 1;
}

static void add_leaf(Outline *o, KInst in, KRef old) {
	in.args = o->to->refs.n;
	in.nargs = 0;
	in.nresults = 1;
	in.span = in.origin = 0;
	VEC_PUSH(o->b->m->arena, &o->to->insts, in);
	KRef fresh = add_value(o, o->from->vals.at[old], o->to->insts.n - 1);
	o->to->insts.at[o->to->insts.n - 1].results = fresh;
	o->map[old] = fresh;
}

/* May the instruction be removed when its result is unused? */
static bool may_go(KOp op) { return kop_is_pure(op) || op == K_LOAD || op == K_REDUCE_LANES; }

/* Finds unused instructions. Left in, they would make equal work unequal. Uses
 * follow definitions, so one backward pass suffices. */
static void find_unused(Outline *o) {
	Arena *a = o->b->m->arena;
	bool *used = ARENA_ARRAY(a, bool, o->from->vals.n);
	o->unused = ARENA_ARRAY(a, bool, o->from->insts.n - o->mark.insts);
	for (uint32_t i = o->from->insts.n; i-- > o->mark.insts;) {
		const KInst *in = &o->from->insts.at[i];
		o->unused[i - o->mark.insts] = may_go((KOp)in->op) && !used[in->results];
		for (uint32_t k = 0; k < in->nargs && !o->unused[i - o->mark.insts]; k++)
			used[o->from->refs.at[in->args + k]] = true;
	}
}

/* Adds the parameters and constants: every outside value that is used. */
static void take_captured(Outline *o) {
	for (uint32_t i = o->mark.insts; i < o->from->insts.n; i++) {
		const KInst *in = &o->from->insts.at[i];
		for (uint32_t k = 0; k < in->nargs && !o->unused[i - o->mark.insts]; k++) {
			KRef x = o->from->refs.at[in->args + k];
			if (x >= o->mark.vals || o->map[x]) continue;
			const KInst *def = &o->from->insts.at[o->from->vals.at[x].def];
			if (def->op == K_CONST && def->results == x) {
				add_leaf(o, *def, x);
				continue;
			}
			KInst param = {
				.op = K_PARAM, .type = o->from->vals.at[x].type, .imm = o->to->nparams++};
			add_leaf(o, param, x);
			VEC_PUSH(o->b->m->arena, &o->captured, x);
		}
	}
}

static void map_range(Outline *o, uint32_t first, uint32_t n, uint32_t *fresh) {
	for (uint32_t i = 0; i < n; i++) {
		KRef x = add_value(o, o->from->vals.at[first + i], o->to->insts.n - 1);
		if (!i) *fresh = x;
		o->map[first + i] = x;
	}
}

typedef struct OpenInst {
	uint32_t inst, old; /* in the new function, in the old one */
	uint32_t left;      /* regions still to close */
} OpenInst;

static void copy_insts(Outline *o) {
	Arena *a = o->b->m->arena;
	VEC(OpenInst) open = {0};
	for (uint32_t i = o->mark.insts; i < o->from->insts.n; i++) {
		KInst in = o->from->insts.at[i];
		if (o->unused[i - o->mark.insts]) continue;
		uint32_t regions = kinst_regions(&in), args = in.args;
		in.args = o->to->refs.n;
		in.span = in.origin = 0;
		for (uint32_t k = 0; k < in.nargs; k++)
			VEC_PUSH(a, &o->to->refs, o->map[o->from->refs.at[args + k]]);
		VEC_PUSH(a, &o->to->insts, in);
		uint32_t at = o->to->insts.n - 1;
		KInst *copy = &o->to->insts.at[at];
		/* Fields without new values must not keep the old function's
		 * numbering. */
		copy->results = copy->params = 0;
		if (regions) {
			uint32_t params = in.nparams * (in.op == K_WHILE ? 2 : 1), fresh = 0;
			map_range(o, in.params, params, &fresh);
			o->to->insts.at[at].params = fresh;
			OpenInst opened = {.inst = at, .old = i, .left = regions};
			VEC_PUSH(a, &open, opened);
		} else if (in.nresults) {
			uint32_t fresh = 0;
			map_range(o, in.results, in.nresults, &fresh);
			copy->results = fresh;
		}
		if (in.op != K_END || !open.n) continue;
		OpenInst *last = &open.at[open.n - 1];
		if (--last->left) continue;
		const KInst *owner = &o->from->insts.at[last->old];
		if (owner->nresults) {
			uint32_t fresh = 0;
			map_range(o, owner->results, owner->nresults, &fresh);
			o->to->insts.at[last->inst].results = fresh;
		}
		open.n--;
	}
	KInst end = {.op = K_RETURN, .args = o->to->refs.n};
	VEC_PUSH(a, &o->to->insts, end);
}

static bool same_function(const KFn *x, const KFn *y) {
	if (x->insts.n != y->insts.n || x->vals.n != y->vals.n || x->refs.n != y->refs.n ||
	    x->nparams != y->nparams || x->nresults != y->nresults)
		return false;
	if (memcmp(x->refs.at, y->refs.at, x->refs.n * sizeof(KRef))) return false;
	for (uint32_t i = 0; i < x->insts.n; i++) {
		const KInst *p = &x->insts.at[i], *q = &y->insts.at[i];
		if (p->op != q->op || p->type != q->type || p->mode != q->mode || p->flags != q->flags ||
		    p->prim != q->prim || p->lanes != q->lanes || p->nargs != q->nargs ||
		    p->nresults != q->nresults || p->results != q->results || p->nparams != q->nparams ||
		    p->imm != q->imm)
			return false;
	}
	for (uint32_t i = 1; i < x->vals.n; i++)
		if (x->vals.at[i].type != y->vals.at[i].type || x->vals.at[i].lanes != y->vals.at[i].lanes)
			return false;
	return true;
}

/* Operations bound to their function: its memory, the entry's words and
 * results. */
static bool stays(uint8_t op) {
	switch (op) {
	case K_SCRATCH:
	case K_STACK:
	case K_WORD:
	case K_BUFFER:
	case K_RESULT:
	case K_PARALLEL: return true;
	default: return false;
	}
}

void k_outline(KBuilder *b, KMark mark) {
	enum { WORTH = 6 }; /* instructions below which a call costs more than it saves */
	KModule *m = b->m;
	if (b->f->insts.n - mark.insts < WORTH || b->lanes) return;
	Outline o = {.b = b, .from = b->f, .mark = mark};
	for (uint32_t i = mark.insts; i < b->f->insts.n; i++)
		if (stays(b->f->insts.at[i].op)) return;
	o.map = ARENA_ARRAY(m->arena, KRef, b->f->vals.n);
	uint32_t number = k_declare(m, 0, NULL);
	o.to = m->fns.at[number];
	find_unused(&o);
	take_captured(&o);
	copy_insts(&o);
	for (uint32_t k = 1; k < number; k++) {
		if (!same_function(m->fns.at[k], o.to)) continue;
		m->fns.n--;
		number = k;
		break;
	}
	/* Replace the instructions by a call. */
	b->f->insts.n = mark.insts;
	b->f->vals.n = mark.vals;
	b->f->refs.n = mark.refs;
	k_forget_known(b, mark.known);
	k_call(b, number, o.captured.n, o.captured.at, NULL);
	b->f->insts.at[b->f->insts.n - 1].flags = KF_NO_DEPTH_CHECK;
}
