/* stored_rule.c - derivative rules of functions as IR: their decomposition for
 * a file, and functions with rules read from a file.
 *
 * Needs: stored_rule.h, host.h, ir.h.
 *
 * Contract:
 * - A rule becomes one function for each inexact operand: (operands, results,
 *   that operand's tangent) -> tangents of results. A rule is linear in the
 *   tangents, so the sum of these is the rule.
 * - An operand without a rule has no function; requesting its derivative is an
 *   error.
 */
#include "lang/binary/stored_rule.h"
#include "lang/base/arena.h"
#include "lang/base/diag.h"

#include <string.h>

bool rule_is_storable(const HostCall *call) {
	return call && call->def->written && call->def->jvp && call->nfns == 1;
}

static bool moves(const Fn *f, Ref r) {
	const Type *t = ref_ty(f, r);
	return t->kind == TY_TENSOR && dtype_is_inexact((Dtype)t->dtype);
}

/* ---- decomposition of a rule --------------------------------------------- */

typedef struct RuleBuilder {
	Arena *a;
	const HostCall *call;
	uint32_t operand; /* the operand of the tangent; for a transpose, the first linear operand */
	RulePart *out;
} RuleBuilder;

static void end_part(RuleBuilder *t, Builder *b, uint32_t n, const Ref *all) {
	uint32_t m = 0;
	Ref *some = ARENA_ARRAY(t->a, Ref, n + 1u);
	t->out->results = ARENA_ARRAY(t->a, uint32_t, n + 1u);
	for (uint32_t i = 0; i < n; i++) {
		if (all[i] == REF_NONE) continue;
		t->out->results[m] = i;
		some[m++] = all[i];
	}
	t->out->nresults = m;
	t->out->fn = build_end(b, m, some);
}

static void take_tangent(Ctx *c, void *arg) {
	RuleBuilder *t = arg;
	const HostCall *call = t->call;
	const Fn *f = call->fns[0];
	const uint32_t nargs = fn_nparams(f), nres = fn_nresults(f);
	Builder *b = build_begin(c, atom_f(c, "%s.jvp", call->def->name), 0, f);
	Ref *x = ARENA_ARRAY(t->a, Ref, nargs + 1u), *dx = ARENA_ARRAY(t->a, Ref, nargs + 1u),
		*y = ARENA_ARRAY(t->a, Ref, nres + 1u), *dy = ARENA_ARRAY(t->a, Ref, nres + 1u);
	for (uint32_t i = 0; i < nargs; i++) {
		x[i] = build_param(b, ref_type(f, fn_param(f, i)), 0);
		dx[i] = REF_NONE;
	}
	for (uint32_t i = 0; i < nres; i++) {
		y[i] = build_param(b, ref_type(f, fn_result(f, i)), 0);
		dy[i] = REF_NONE;
	}
	dx[t->operand] = build_param(b, ref_type(f, fn_param(f, t->operand)), 0);
	call->def->jvp(b, call, nargs, x, y, dx, dy);
	end_part(t, b, nres, dy);
}

static void take_transpose(Ctx *c, void *arg) {
	RuleBuilder *t = arg;
	const HostCall *call = t->call;
	const Fn *f = call->fns[0];
	const uint32_t nargs = fn_nparams(f), nres = fn_nresults(f);
	Builder *b = build_begin(c, atom_f(c, "%s.transpose", call->def->name), 0, f);
	Ref *x = ARENA_ARRAY(t->a, Ref, nargs + 1u), *ct = ARENA_ARRAY(t->a, Ref, nargs + 1u),
		*w = ARENA_ARRAY(t->a, Ref, nres + 1u);
	bool *linear = ARENA_ARRAY(t->a, bool, nargs + 1u);
	for (uint32_t i = 0; i < nargs; i++) {
		linear[i] = i >= t->operand && moves(f, fn_param(f, i));
		x[i] = linear[i] ? REF_NONE : build_param(b, ref_type(f, fn_param(f, i)), 0);
		ct[i] = REF_NONE;
	}
	for (uint32_t i = 0; i < nres; i++) w[i] = build_param(b, ref_type(f, fn_result(f, i)), 0);
	call->def->transpose(b, call, nargs, x, linear, w, ct);
	for (uint32_t i = 0; i < nargs; i++)
		if (!linear[i]) ct[i] = REF_NONE;
	end_part(t, b, nargs, ct);
}

/* Tries one decomposition. A rule that does not support an operand is no error
 * here. */
static bool attempt(Ctx *c, void (*take)(Ctx *c, void *arg), RuleBuilder *t) {
	const uint32_t total = diag_total(c), mark = build_mark(c);
	const Status st = ctx_protect(c, take, t);
	if (st == ST_OK) return true;
	build_unwind(c, mark);
	*t->out = (RulePart){0};
	if (st != ST_ERROR) ctx_throw(c, st);
	diag_truncate(c, total);
	return false;
}

void rule_take_apart(Ctx *c, Arena *a, const HostCall *call, bool derivatives, StoredRule *out) {
	const Fn *f = call->fns[0];
	*out = (StoredRule){.name = call->def->name, .nargs = fn_nparams(f), .from = fn_nparams(f)};
	out->tangents = ARENA_ARRAY(a, RulePart, out->nargs + 1u);
	for (uint32_t i = 0; i <= out->nargs; i++) out->tangents[i] = (RulePart){0};
	RuleBuilder t = {.a = a, .call = call};
	for (t.operand = 0; derivatives && t.operand < out->nargs; t.operand++) {
		t.out = &out->tangents[t.operand];
		if (moves(f, fn_param(f, t.operand))) attempt(c, take_tangent, &t);
	}
	/* for linear_map, which is linear in its last operands */
	t.out = &out->transpose;
	for (t.operand = 0; call->def->transpose && t.operand < out->nargs; t.operand++) {
		if (!moves(f, fn_param(f, t.operand)) || !attempt(c, take_transpose, &t)) continue;
		out->from = t.operand;
		break;
	}
}

/* ---- functions with rules from a file ------------------------------------ */

static void add(Builder *b, Ref *sum, Ref x) {
	*sum = *sum == REF_NONE ? x : build2(b, OP_ADD, *sum, x);
}

static _Noreturn void no_rule(Builder *b, const char *name, const char *what, uint32_t operand) {
	Ctx *c = build_ctx(b);
	diag_error(
		c, E_NO_RULE, span_of(c, build_span(b)),
		"the file that `%s` came from holds no %s of this order with respect to its argument %u",
		name, what, operand);
	ctx_throw(c, ST_ERROR);
}

static void stored_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                       const Ref *results, const Ref *tangents, Ref *out) {
	const StoredRule *r = call->def->ud;
	const uint32_t nres = fn_nresults(call->fns[0]);
	Arena *a = arena_new(build_ctx(b));
	Ref *all = ARENA_ARRAY(a, Ref, nargs + nres + 1u), *dy = ARENA_ARRAY(a, Ref, nres + 1u);
	for (uint32_t i = 0; i < nargs; i++) all[i] = args[i];
	for (uint32_t i = 0; i < nres; i++) {
		all[nargs + i] = results[i];
		out[i] = REF_NONE;
	}
	for (uint32_t k = 0; k < nargs; k++) {
		const RulePart *t = &r->tangents[k];
		if (tangents[k] == REF_NONE) continue;
		if (!t->fn) {
			arena_free(a);
			no_rule(b, r->name, "derivative", k);
		}
		all[nargs + nres] = tangents[k];
		build_call(b, t->fn, nargs + nres + 1, all, dy);
		for (uint32_t i = 0; i < t->nresults; i++) add(b, &out[t->results[i]], dy[i]);
	}
	arena_free(a);
}

static void stored_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                             const bool *linear, const Ref *result_cotangents, Ref *cotangents) {
	const StoredRule *r = call->def->ud;
	const Fn *f = call->fns[0];
	const uint32_t nres = fn_nresults(f);
	Arena *a = arena_new(build_ctx(b));
	Ref *all = ARENA_ARRAY(a, Ref, nargs + nres + 1u), *ct = ARENA_ARRAY(a, Ref, nargs + 1u);
	uint32_t n = 0;
	for (uint32_t i = 0; i < nargs; i++) {
		cotangents[i] = REF_NONE;
		if (linear[i] && i < r->from) {
			arena_free(a);
			no_rule(b, r->name, "transpose", i);
		}
		if (i < r->from || !moves(f, fn_param(f, i))) all[n++] = args[i];
	}
	for (uint32_t i = 0; i < nres; i++) all[n++] = result_cotangents[i];
	build_call(b, r->transpose.fn, n, all, ct);
	for (uint32_t i = 0; i < r->transpose.nresults; i++)
		if (linear[r->transpose.results[i]]) cotangents[r->transpose.results[i]] = ct[i];
	arena_free(a);
}

static bool like(const Type *x, const Type *y) {
	return x->kind == y->kind &&
	       (x->kind != TY_TENSOR || (x->dtype == y->dtype && x->rank == y->rank));
}

/* Checks that operands and results match those of the value. */
static bool stored_may(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                       uint32_t nresults, const TypeId *stated) {
	const Fn *f = call->fns[0];
	bool fits = nargs == fn_nparams(f) && nresults == fn_nresults(f);
	for (uint32_t i = 0; i < nargs && fits; i++)
		fits = like(ref_ty(build_fn(b), args[i]), ref_ty(f, fn_param(f, i)));
	for (uint32_t i = 0; i < nresults && fits; i++)
		fits = like(type_of(build_ctx(b), stated[i]), ref_ty(f, fn_result(f, i)));
	return fits;
}

static bool part_fits(const Fn *f, const RulePart *t, uint32_t nparams, const TypeId *params,
                      uint32_t ninto, const TypeId *into) {
	if (fn_nparams(t->fn) != nparams || fn_nresults(t->fn) != t->nresults) return false;
	for (uint32_t i = 0; i < nparams; i++)
		if (!like(ref_ty(t->fn, fn_param(t->fn, i)), type_of(f->ctx, params[i]))) return false;
	for (uint32_t i = 0; i < t->nresults; i++)
		if (t->results[i] >= ninto || (i && t->results[i] <= t->results[i - 1]) ||
		    !like(ref_ty(t->fn, fn_result(t->fn, i)), type_of(f->ctx, into[t->results[i]])))
			return false;
	return true;
}

bool rule_fits(Arena *a, const StoredRule *r, const Fn *f) {
	const uint32_t nargs = fn_nparams(f), nres = fn_nresults(f);
	if (r->nargs != nargs || r->from > nargs || (r->from < nargs) != (r->transpose.fn != NULL))
		return false;
	TypeId *params = ARENA_ARRAY(a, TypeId, nargs + nres + 1u),
		   *into = ARENA_ARRAY(a, TypeId, nargs + nres + 1u);
	uint32_t n = 0;
	for (uint32_t i = 0; i < nargs; i++) params[i] = ref_type(f, fn_param(f, i));
	for (uint32_t i = 0; i < nres; i++) into[i] = params[nargs + i] = ref_type(f, fn_result(f, i));
	for (uint32_t k = 0; k < nargs; k++) {
		params[nargs + nres] = params[k];
		if (r->tangents[k].fn &&
		    (!moves(f, fn_param(f, k)) ||
		     !part_fits(f, &r->tangents[k], nargs + nres + 1, params, nres, into)))
			return false;
	}
	if (!r->transpose.fn) return true;
	for (uint32_t i = 0; i < nargs; i++) {
		into[i] = params[i];
		if (i < r->from || !moves(f, fn_param(f, i))) params[n++] = params[i];
	}
	for (uint32_t i = 0; i < nres; i++) params[n++] = ref_type(f, fn_result(f, i));
	for (uint32_t i = 0; i < r->transpose.nresults; i++)
		if (r->transpose.results[i] >= nargs || !moves(f, fn_param(f, r->transpose.results[i])))
			return false;
	return part_fits(f, &r->transpose, n, params, nargs, into);
}

static void free_rule(Ctx *c, void *ud) {
	(void)c;
	StoredRule *r = ud;
	for (uint32_t k = 0; k < r->nargs; k++)
		if (r->tangents[k].fn) fn_unref(r->tangents[k].fn);
	if (r->transpose.fn) fn_unref(r->transpose.fn);
}

HostId rule_call(Ctx *c, StoredRule *r, Fn *value) {
	HostDef def = {.name = r->name,
	               .ud = r,
	               .types = host_value_types,
	               .eval = host_value_eval,
	               .jvp = stored_jvp,
	               .may_store = stored_may,
	               .written = true,
	               .free_ud = free_rule};
	if (r->from < r->nargs) def.transpose = stored_transpose;
	return host_call_intern(c, &def, 1, &value, 0, NULL);
}
