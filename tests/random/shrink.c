/* shrink.c - implementation of shrink.h.
 *
 * Needs: shrink.h, derive.h for the reference.
 *
 * Guarantees: functions made here are released. A reduction that fails to build
 * or verify counts as one that does not differ.
 */
#include "tests/random/shrink.h"
#include "tests/random/derive.h"
#include "lang/base/parallel.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- plans --------------------------------------------------------------- */

enum { TRIES_MOST = 400 };

void shrink_plan(Plan *plan, uint64_t *skipped, bool (*fails)(void *ud, Plan *plan), void *ud) {
	uint32_t tries = 0;
	plan->skipped = skipped;
	plan->small = true;
	if (!fails(ud, plan)) plan->small = false;
	for (int32_t k = 0; k < RESULTS_MOST; k++) {
		plan->result = k;
		if (fails(ud, plan)) break;
		plan->result = -1;
	}
	uint64_t *visited = malloc(sizeof plan->visited);
	if (!visited) abort();
	/* Larger runs of steps first, the last ones first: few steps use their
	 * values. */
	for (bool again = true; again && tries < TRIES_MOST;) {
		again = false;
		fails(ud, plan);
		uint32_t n = plan->nvisited, size = n / 2 ? n / 2 : 1;
		memcpy(visited, plan->visited, sizeof plan->visited);
		for (; size && tries < TRIES_MOST; size /= 2) {
			for (uint32_t end = n; end > 0 && tries<TRIES_MOST; end = end> size ? end - size : 0) {
				uint32_t from = end > size ? end - size : 0, before = plan->nskipped;
				for (uint32_t i = from; i < end && plan->nskipped < STEPS_MOST; i++) {
					bool gone = false;
					for (uint32_t j = 0; j < before && !gone; j++) gone = skipped[j] == visited[i];
					if (!gone) skipped[plan->nskipped++] = visited[i];
				}
				if (plan->nskipped == before) continue;
				tries++;
				if (fails(ud, plan)) again = true;
				else plan->nskipped = before;
			}
		}
	}
	free(visited);
	fails(ud, plan);
}

/* ---- scenes -------------------------------------------------------------- */

bool scene_differs(const Scene *s, Verdict *v) {
	Outcome want = outcome_of(s->c, run_reference, s->fn, s->args);
	parallel_set_threads(s->c, s->threads);
	Outcome got = outcome_of(s->c, s->engine->run, s->fn, s->args);
	*v = compare_outcomes(s->c, s->fn, s->args, &want, &got, s->engine->exact, 1);
	outcome_free(&want);
	outcome_free(&got);
	return !v->same;
}

/* ---- reduction ----------------------------------------------------------- */

/* A function made from another one: results of some instructions of the body
 * become parameters, and `results` are its results. */
typedef struct Cut {
	Fn *from, *out;
	const bool *cut; /* by position in the body */
	/* by value of `from`: its parameters, and results of cut instructions, that
	 * are dropped; NULL: none */
	const bool *drop;
	uint32_t nresults;
	const Ref *results; /* of `from` */
	/* out: the value of `from` that each parameter of `out` replaces; room for
	 * all values */
	Ref *params;
	uint32_t nparams;
} Cut;

static void make_cut(Ctx *c, void *arg) {
	Cut *k = arg;
	Fn *f = k->from;
	Builder *b = build_begin(c, f->name, f->span, f);
	RefMap m = refmap_new(b, f, true);
	const Region body = f->regions.at[0];
	k->nparams = 0;
	for (uint32_t i = 0; i < body.nparams; i++) {
		Ref p = fn_param(f, i);
		if (k->drop && k->drop[REF_INDEX(p)]) continue;
		refmap_set(&m, p, build_param(b, ref_type(f, p), f->vals.at[REF_INDEX(p)].name));
		k->params[k->nparams++] = p;
	}
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < body.ninsts; i++) {
			const Inst *in = &f->insts.at[f->inst_order.at[body.insts + i]];
			if (k->cut[i] == (pass == 1)) continue;
			if (pass) {
				build_copy_inst(b, &m, in);
				continue;
			}
			for (uint32_t r = 0; r < in->nresults; r++) {
				Ref v = inst_result(in, r);
				if (k->drop && k->drop[REF_INDEX(v)]) continue;
				refmap_set(&m, v, build_param(b, ref_type(f, v), f->vals.at[REF_INDEX(v)].name));
				k->params[k->nparams++] = v;
			}
		}
	Ref *results = ARENA_ARRAY(ctx_arena(c), Ref, k->nresults + 1);
	for (uint32_t i = 0; i < k->nresults; i++) {
		results[i] = refmap_get(b, &m, k->results[i]);
		if (results[i] == REF_NONE) ctx_throw(c, ST_INTERNAL);
	}
	k->out = build_end(b, k->nresults, results);
}

static bool run_cut(Ctx *c, Cut *k) {
	uint32_t mark = build_mark(c);
	k->out = NULL;
	if (ctx_protect(c, make_cut, k) != ST_OK) {
		build_unwind(c, mark);
		diag_clear(c);
		return false;
	}
	if (!fn_verify(k->out, "a cut")) {
		diag_clear(c);
		fn_unref(k->out);
		return false;
	}
	return true;
}

/* Returns the values of all tensors of the body, by value of the function;
 * V_UNSET for others. The caller owns them. */
static Value *values_of(const Scene *s) {
	Fn *f = s->fn;
	const Region body = f->regions.at[0];
	Value *values = room(f->vals.n, sizeof *values);
	Ref *results = room(f->vals.n, sizeof *results), *params = room(f->vals.n, sizeof *params);
	bool *none = room(body.ninsts, sizeof *none);
	uint32_t n = 0;
	for (uint32_t i = 0; i < body.ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[body.insts + i]];
		for (uint32_t r = 0; r < in->nresults; r++)
			if (type_is_tensor(s->c, ref_type(f, inst_result(in, r))))
				results[n++] = inst_result(in, r);
	}
	for (uint32_t i = 0; i < body.nparams; i++)
		values[REF_INDEX(fn_param(f, i))] = value_ref(s->args[i]);
	Cut all = {.from = f, .cut = none, .nresults = n, .results = results, .params = params};
	if (run_cut(s->c, &all)) {
		Outcome o = outcome_of(s->c, run_reference, all.out, s->args);
		for (uint32_t k = 0; k < n && o.status == ST_OK; k++)
			values[REF_INDEX(results[k])] = value_ref(o.results[k]);
		outcome_free(&o);
		fn_unref(all.out);
	}
	free(none);
	free(results);
	free(params);
	return values;
}

static Value *args_of_cut(const Cut *k, const Value *values) {
	Value *args = room(k->nparams, sizeof *args);
	for (uint32_t i = 0; i < k->nparams; i++) args[i] = values[REF_INDEX(k->params[i])];
	return args;
}

static bool have_all(const Cut *k, const Value *values) {
	for (uint32_t i = 0; i < k->nparams; i++)
		if (values[REF_INDEX(k->params[i])].kind == V_UNSET) return false;
	return true;
}

/* Returns whether the reduction can be made and still differs; then k->out is
 * the function. */
static bool cut_differs(const Scene *s, Cut *k, const Value *values, Verdict *v) {
	if (!run_cut(s->c, k)) return false;
	bool differs = false;
	if (have_all(k, values)) {
		Value *args = args_of_cut(k, values);
		Scene inner = *s;
		inner.fn = k->out;
		inner.args = args;
		differs = scene_differs(&inner, v);
		free(args);
	}
	if (!differs) fn_unref(k->out);
	return differs;
}

/* ---- messages ------------------------------------------------------------ */

static void put_value(Text *out, const char *name, uint32_t k, Value v) {
	text_format(out, "%s %u: ", name, k);
	value_type_print(out, v);
	text_str(out, " = ");
	value_print(out, v, value_is_array(v) && dtype_is_inexact(value_dtype(v)) ? ".17g" : "", 4);
	text_str(out, "\n");
}

static void put_first_difference(const Scene *s, Text *out, Ref *result) {
	Fn *f = s->fn;
	const Region body = f->regions.at[0];
	Ref *results = room(f->vals.n, sizeof *results), *params = room(f->vals.n, sizeof *params);
	bool *none = room(body.ninsts, sizeof *none);
	uint32_t n = 0;
	*result = REF_NONE;
	for (uint32_t i = 0; i < body.ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[body.insts + i]];
		for (uint32_t r = 0; r < in->nresults; r++)
			if (type_is_tensor(s->c, ref_type(f, inst_result(in, r))))
				results[n++] = inst_result(in, r);
	}
	Cut all = {.from = f, .cut = none, .nresults = n, .results = results, .params = params};
	if (run_cut(s->c, &all)) {
		Scene inner = *s;
		Verdict v;
		inner.fn = all.out;
		if (!scene_differs(&inner, &v)) {
			text_str(out, "with every value of the body as a result nothing differs\n");
		} else {
			Ref first = results[v.result];
			const Inst *in = ref_inst(f, first);
			text_str(out, "first value that differs: ");
			if (in) fn_print_inst(out, f, (InstId)(in - f->insts.at));
			text_format(out, "\n  %s\n", v.why);
			*result = first;
		}
		fn_unref(all.out);
	}
	free(none);
	free(results);
	free(params);
}

/* Drops parameters that are unused and define no extent. `drop` has room for
 * all values. */
static void drop_params(const Scene *s, Cut *k, bool *drop, const Value *values, Verdict *v) {
	uint32_t n = k->nparams;
	Ref *all = room(n, sizeof *all);
	memcpy(all, k->params, n * sizeof *all);
	for (uint32_t i = 0; i < n; i++) {
		Cut less = *k;
		less.drop = drop;
		drop[REF_INDEX(all[i])] = true;
		if (!cut_differs(s, &less, values, v)) {
			drop[REF_INDEX(all[i])] = false;
			continue;
		}
		fn_unref(k->out);
		*k = less;
	}
	free(all);
}

void explain_scene(const Scene *s, Text *out) {
	Fn *f = s->fn;
	const Region body = f->regions.at[0];
	Ref only, *results = room(fn_nresults(f), sizeof *results),
			  *params = room(f->vals.n, sizeof *params);
	put_first_difference(s, out, &only);
	bool *cut = room(body.ninsts, sizeof *cut), *drop = room(f->vals.n, sizeof *drop);
	Value *values = values_of(s);
	for (uint32_t k = 0; k < fn_nresults(f); k++) results[k] = fn_result(f, k);
	Verdict v = {.same = true};
	Cut best = {.from = f,
	            .cut = cut,
	            .nresults = fn_nresults(f),
	            .results = results,
	            .params = params},
		single = best;
	bool have = false;
	if (only != REF_NONE) {
		single.nresults = 1;
		single.results = &only;
		have = cut_differs(s, &single, values, &v);
		if (have) best = single;
	}
	if (!have) have = cut_differs(s, &best, values, &v);
	for (uint32_t i = body.ninsts; i-- > 0 && have;) {
		Cut next = best;
		cut[i] = true;
		if (cut_differs(s, &next, values, &v)) {
			fn_unref(best.out);
			best = next;
		} else {
			cut[i] = false;
		}
	}
	if (have) {
		drop_params(s, &best, drop, values, &v);
		text_str(out, "cut down to\n");
		fn_print(out, best.out);
		fn_unref(best.out);
		/* the last attempt overwrote `params` and `v` */
		if (cut_differs(s, &best, values, &v)) {
			for (uint32_t i = 0; i < best.nparams; i++)
				put_value(out, "argument", i, values[REF_INDEX(best.params[i])]);
			text_format(out, "result %u: %s\n", v.result, v.why);
			fn_unref(best.out);
		}
	}
	for (uint32_t i = 0; i < f->vals.n; i++) value_unref(values[i]);
	free(values);
	free(drop);
	free(cut);
	free(results);
	free(params);
}
