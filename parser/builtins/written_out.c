/* written_out.c - unrolling of loops that compare.
 *
 * Needs: written_out.h.
 *
 * Contract:
 * - The new function computes the same.
 * - A comparison of a loop occurs once for each iteration, outside of loops.
 */
#include "parser/builtins/written_out.h"

enum { MOST_READ = 4096 }; /* instructions of a loop over all its iterations */

bool is_real_number(const Fn *f, Ref r) {
	const Type *t = ref_ty(f, r);
	return t->kind == TY_TENSOR && dtype_is_inexact((Dtype)t->dtype) &&
	       !dtype_is_complex((Dtype)t->dtype);
}

bool is_own_text(Ctx *c, const Inst *in) {
	const Span at = span_of(c, in->span);
	return !at.inside && !source_is_library(c, at.source);
}

Builder *written_begin(Sp *sp, const Fn *f, RefMap *map) {
	Builder *b = build_begin(sp->c, atom(sp->c, "compared"), f->span, f);
	/* An instruction that may fail and is not needed for a comparison may not
	 * run in the program at all. It is removed when unused. */
	build_unasked(b, true);
	*map = refmap_new(b, f, true);
	for (uint32_t k = 0; k < fn_nparams(f); k++) {
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, k))];
		refmap_set(map, fn_param(f, k), build_param(b, v->type, v->name));
	}
	return b;
}

static bool compares(const Fn *f, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[g->insts + i]];
		switch ((Op)in->op) {
		case OP_LT:
		case OP_LE:
		case OP_SIGN:
		case OP_FLOOR:
		case OP_ROUND:
		case OP_FLOORDIV:
		case OP_MOD:
		case OP_ABS:
		case OP_MAX:
		case OP_MIN:
		case OP_CONVERT:
			if (is_real_number(f, inst_arg(f, in, 0))) return true;
			break;
		default: break;
		}
		for (uint32_t k = 0; k < in->nregions; k++)
			if (compares(f, inst_region(f, in, k))) return true;
	}
	return false;
}

static int64_t weight(const Fn *f, const Region *g);

static bool whole(const Fn *f, Ref r, int64_t *x) {
	Value v;
	return ref_splat(f, r, &v) && value_as_i64(v, x);
}

/* True when the condition c implies that the counter is less than *below, a
 * constant. */
static bool bounds(const Fn *f, Ref c, Ref counter, int64_t *below) {
	const Inst *in = ref_inst(f, c);
	if (!in) return false;
	if (in->op == OP_LT)
		return inst_arg(f, in, 0) == counter && whole(f, inst_arg(f, in, 1), below);
	if (in->op == OP_MIN)
		return bounds(f, inst_arg(f, in, 0), counter, below) ||
		       bounds(f, inst_arg(f, in, 1), counter, below);
	int64_t otherwise;
	if (in->op != OP_IF || in->nresults != 1) return false;
	if (!whole(f, f->args.at[inst_region(f, in, 1)->results], &otherwise) || otherwise)
		return false;
	return bounds(f, inst_arg(f, in, 0), counter, below);
}

/* The carried value of a `while` that counts its iterations: *turns at most,
 * from *first in steps of *step. -1: none. */
static int counter_of(const Fn *f, const Inst *in, int64_t *first, int64_t *step, int64_t *turns) {
	const Region *condition = inst_region(f, in, 0), *body = inst_region(f, in, 1);
	for (uint32_t k = 0; k < in->nresults; k++) {
		int64_t below;
		const Inst *next = ref_inst(f, f->args.at[body->results + k]);
		if (!next || next->op != OP_ADD || !whole(f, inst_arg(f, in, k), first)) continue;
		if (inst_arg(f, next, 0) != ref_value(body->params + k) ||
		    !whole(f, inst_arg(f, next, 1), step))
			continue;
		if (*step < 1 || *step > MOST_READ) continue;
		const Ref counter = ref_value(condition->params + k);
		if (!bounds(f, f->args.at[condition->results], counter, &below)) continue;
		if (below > MOST_READ || *first < -MOST_READ || *first > MOST_READ) continue;
		*turns = below > *first ? (below - *first + *step - 1) / *step : 0;
		return (int)k;
	}
	return -1;
}

/* The largest trip count of a loop of the text that compares; -1 for another
 * loop, or one that is too long. */
static int64_t turns_read(Sp *sp, const Fn *f, const Inst *in) {
	int64_t turns, first, step, size = 0;
	bool any = false;
	if ((in->op != OP_FOR && in->op != OP_WHILE) || !is_own_text(sp->c, in)) return -1;
	for (uint32_t k = 0; k < in->nregions; k++) {
		any = any || compares(f, inst_region(f, in, k));
		size += weight(f, inst_region(f, in, k));
	}
	if (!any) return -1;
	if (in->op == OP_FOR ? !whole(f, inst_arg(f, in, 0), &turns)
	                     : counter_of(f, in, &first, &step, &turns) < 0)
		return -1;
	return turns <= MOST_READ && turns * size <= MOST_READ ? turns : -1;
}

/* The number of instructions of a region over all iterations of its loops;
 * MOST_READ + 1: too many. */
static int64_t weight(const Fn *f, const Region *g) {
	int64_t n = 0;
	for (uint32_t i = 0; i < g->ninsts && n <= MOST_READ; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[g->insts + i]];
		int64_t turns = 1, first, step;
		bool known = true;
		if (in->op == OP_FOR) known = whole(f, inst_arg(f, in, 0), &turns);
		if (in->op == OP_WHILE) known = counter_of(f, in, &first, &step, &turns) >= 0;
		if (!known || turns > MOST_READ) turns = MOST_READ;
		n++;
		for (uint32_t k = 0; k < in->nregions; k++) n += turns * weight(f, inst_region(f, in, k));
	}
	return n <= MOST_READ ? n : MOST_READ + 1;
}

static void copy_turns(Sp *sp, Builder *b, RefMap *map, const Region *g);

static void set_parameters(RefMap *map, const Region *g, uint32_t skip, uint32_t n,
                           const Ref *carried) {
	for (uint32_t k = 0; k < n; k++) refmap_set(map, ref_value(g->params + skip + k), carried[k]);
}

/* Unrolls a counted loop; `carried` becomes its results. */
static void count_turns(Sp *sp, Builder *b, RefMap *map, const Inst *in, int64_t turns,
                        Ref *carried) {
	const Fn *f = map->from;
	const Region *body = inst_region(f, in, 0);
	for (int64_t turn = 0; turn < turns; turn++) {
		refmap_set(map, ref_value(body->params), build_i64(b, turn));
		set_parameters(map, body, 1, in->nresults, carried);
		copy_turns(sp, b, map, body);
		for (uint32_t k = 0; k < in->nresults; k++)
			carried[k] = refmap_get(b, map, f->args.at[body->results + k]);
	}
}

/* Unrolls a `while` with a counter. An iteration runs if the earlier ones did
 * and the condition holds. Its counter is a constant. */
static void go_on(Sp *sp, Builder *b, RefMap *map, const Inst *in, int64_t turns, Ref *carried) {
	const Fn *f = map->from;
	const Region *condition = inst_region(f, in, 0), *body = inst_region(f, in, 1);
	const uint32_t n = in->nresults;
	int64_t first = 0, step = 1, most;
	const uint32_t counter = (uint32_t)counter_of(f, in, &first, &step, &most);
	Ref *next = ARENA_ARRAY(sp->a, Ref, n + 1u), *here = ARENA_ARRAY(sp->a, Ref, n + 1u);
	Ref going = build_bool(b, true);
	for (int64_t turn = 0; turn < turns; turn++) {
		memcpy(here, carried, n * sizeof *here);
		here[counter] = build_i64(b, first + turn * step);
		OpenRegion *open = build_region_begin(b, 0, NULL, NULL);
		set_parameters(map, condition, 0, n, here);
		copy_turns(sp, b, map, condition);
		next[0] = refmap_get(b, map, f->args.at[condition->results]);
		RegionId on = build_region_end(b, open, 1, next);
		open = build_region_begin(b, 0, NULL, NULL);
		next[0] = build_bool(b, false);
		build_if(b, going, on, build_region_end(b, open, 1, next), &going);
		open = build_region_begin(b, 0, NULL, NULL);
		set_parameters(map, body, 0, n, here);
		copy_turns(sp, b, map, body);
		for (uint32_t k = 0; k < n; k++)
			next[k] = refmap_get(b, map, f->args.at[body->results + k]);
		on = build_region_end(b, open, n, next);
		open = build_region_begin(b, 0, NULL, NULL);
		build_if(b, going, on, build_region_end(b, open, n, carried), carried);
	}
}

static void copy_turns(Sp *sp, Builder *b, RefMap *map, const Region *g) {
	const Fn *f = map->from;
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[g->insts + i]];
		const int64_t turns = turns_read(sp, f, in);
		if (turns < 0) {
			build_copy_inst(b, map, in);
			continue;
		}
		const uint32_t skip = in->op == OP_FOR;
		Ref *carried = ARENA_ARRAY(sp->a, Ref, in->nresults + 1u);
		for (uint32_t k = 0; k < in->nresults; k++)
			carried[k] = refmap_get(b, map, inst_arg(f, in, k + skip));
		if (in->op == OP_FOR) count_turns(sp, b, map, in, turns, carried);
		else go_on(sp, b, map, in, turns, carried);
		for (uint32_t k = 0; k < in->nresults; k++) refmap_set(map, inst_result(in, k), carried[k]);
	}
}

Fn *written_out(Sp *sp, Fn *f) {
	Fn *flat = fn_inline_calls(sp->c, f);
	const Fn *from = flat ? flat : f;
	const Region *top = &from->regions.at[0];
	bool any = false;
	for (uint32_t i = 0; i < top->ninsts; i++)
		any =
			any || turns_read(sp, from, &from->insts.at[from->inst_order.at[top->insts + i]]) >= 0;
	if (!any) return flat;
	RefMap map;
	Builder *b = written_begin(sp, from, &map);
	copy_turns(sp, b, &map, top);
	Ref *results = ARENA_ARRAY(sp->a, Ref, fn_nresults(from) + 1u);
	for (uint32_t k = 0; k < fn_nresults(from); k++)
		results[k] = refmap_get(b, &map, fn_result(from, k));
	Fn *out = build_end(b, fn_nresults(from), results);
	if (flat) fn_unref(flat);
	return out;
}
