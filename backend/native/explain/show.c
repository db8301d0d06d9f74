/* show.c - plan(f, x) and native(f, x): machine code in words or assembly.
 *
 * Needs: describe.h, tier.h, compile_service.h.
 *
 * Contract:
 * - Changes nothing and runs nothing.
 * - Describes what the tiers would compile, whether or not they have.
 * - Needs the code generator's library only for assembly; without it the text
 *   states the reason.
 */
#include "backend/native/explain/show.h"
#include "backend/native/unit/describe.h"
#include "backend/native/kir/cpu.h"
#include "backend/native/jit/tier.h"
#include <stdio.h>
#include <stdlib.h>

/* Shown functions: the given one, and those it calls or passes to solvers. */
#define FUNCTIONS_MOST 16u

typedef struct ExplainedFn {
	Fn *f;
	const char *role;
	const int64_t *syms; /* NULL: unknown */
} ExplainedFn;

typedef struct NativeExplanation {
	Ctx *c;
	Fn *f;
	const int64_t *lengths;
	uint32_t nlengths;
	bool assembly;
	Text *out;
	Arena *keep;
	uint32_t n;
	ExplainedFn list[FUNCTIONS_MOST];
	/* Of the function that is being shown. */
	const Fn *flat;
	const int64_t *syms;
	NativePlan *plan;
	Fn *owned;
	uint32_t units, steps;
} NativeExplanation;

/* ---- reasons for evaluator steps ----------------------------------------- */

static bool has_complex(const Fn *f, const Inst *in) {
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Type *t = ref_ty(f, inst_arg(f, in, k));
		if (t->kind == TY_TENSOR && dtype_is_complex((Dtype)t->dtype)) return true;
	}
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Type *t = ref_ty(f, inst_result(in, k));
		if (t->kind == TY_TENSOR && dtype_is_complex((Dtype)t->dtype)) return true;
	}
	return false;
}

static const char *reason(const Fn *f, const Inst *in) {
	switch ((Op)in->op) {
	case OP_HOST: return "a solver, or a function of the host";
	case OP_PRINT:
	case OP_FORMAT:
	case OP_START: return "printing";
	case OP_BOX:
	case OP_UNBOX:
	case OP_DYNAMIC: return "values whose types are known when it runs";
	case OP_FAIL: return "an error whose message is made when it happens";
	case OP_CHOLESKY:
	case OP_LU:
	case OP_QR:
	case OP_EIGH:
	case OP_EIG:
	case OP_SVD:
	case OP_TRISOLVE: return "a library routine of linear algebra";
	case OP_FFT: return "a library routine for Fourier transforms";
	case OP_ARGSORT: return "sorting";
	case OP_RANDOM: return "random numbers";
	case OP_NONZERO:
	case OP_BIND: return "it gives a length that is known when it runs";
	case OP_PUSH: return "an array that grows";
	case OP_TRY: return "try";
	case OP_CALL: return "a call of a function that is recursive or large, compiled by itself";
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_SLICE:
	case OP_STOP:
		if (!has_complex(f, in)) return "views, which cost nothing";
		break;
	case OP_EXTENT:
	case OP_GUARD: return "lengths and checks";
	case OP_DOT:
		if (!has_complex(f, in)) return "a matrix product, through BLAS";
		break;
	default: break;
	}
	if (has_complex(f, in)) return "complex numbers";
	for (uint32_t k = 0; k < in->nregions; k++) {
		const Region *g = inst_region(f, in, k);
		for (uint32_t i = 0; i < g->ninsts; i++) {
			const Inst *x = &f->insts.at[f->inst_order.at[g->insts + i]];
			if (!lower_takes(f, x)) return reason(f, x);
		}
	}
	if (!lower_takes(f, in)) return "it gives a length that is known when it runs";
	const bool small =
		!in->nresults || type_is_small(f->ctx, ref_type(f, inst_result(in, 0)), NULL);
	return small ? "too little work for machine code" : "one loop, with nothing to fuse it with";
}

/* ---- functions to be shown ----------------------------------------------- */

static void add_function(NativeExplanation *s, Fn *f, const char *role, const int64_t *syms) {
	if (!f || !f->finished || s->n == FUNCTIONS_MOST) return;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->list[i].f == f) return;
	s->list[s->n++] = (ExplainedFn){.f = f, .role = role, .syms = syms};
}

static void add_handed(NativeExplanation *s, const Inst *in) {
	Ctx *c = s->c;
	if (in->op == OP_CALL) {
		Fn *g = inst_callee(c, in);
		if (g == s->f || g == s->flat) return;
		add_function(s, g, "called", NULL);
	} else if (in->op == OP_HOST) {
		const HostCall *h = host_call(c, (HostId)attr_int(c, OP_HOST, in->attr, 0));
		const char *role = arena_printf(s->keep, "handed to `%s`", h->def->name);
		for (uint32_t k = 0; k < h->nfns; k++) add_function(s, h->fns[k], role, NULL);
	}
}

/* ---- the text ------------------------------------------------------------ */

static void show_assembly(NativeExplanation *s, const Unit *u, uint32_t number) {
	char why[256];
	CodegenFn codegen = native_codegen(why, sizeof why);
	const char *name = s->flat->name ? atom_text(s->c, s->flat->name) : "unnamed";
	text_format(s->out, "%s; unit %u of %s\n", number > 1 ? "\n" : "", number, name);
	if (!codegen) {
		text_format(s->out, "; %s\n", why);
		return;
	}
	const CodegenOptions o = {.entry = arena_printf(s->keep, "atled_unit_%u", number),
	                          .level = native_level(u->module),
	                          .assembly = true};
	CodegenOutput out = {0};
	if (codegen(u->module, &o, &out) || !out.bytes) text_format(s->out, "; %.255s\n", out.error);
	else text_add(s->out, out.bytes, out.n);
	free(out.bytes);
}

/* Adjacent steps of the evaluator with the same reason. */
typedef struct EvaluatorSteps {
	const char *why;
	uint32_t n;
	SourceLines lines;
} EvaluatorSteps;

static void flush(NativeExplanation *s, EvaluatorSteps *k, uint32_t depth) {
	if (k->n && !s->assembly) {
		describe_margin(s->out, depth, &k->lines);
		text_format(s->out, "%u step%s of the evaluator: %s\n", k->n, k->n == 1 ? "" : "s", k->why);
	}
	*k = (EvaluatorSteps){0};
}

static void show_region(NativeExplanation *s, RegionId id, uint32_t depth) {
	const Fn *f = s->flat;
	const NativeItems items = s->plan->regions[id];
	EvaluatorSteps kept = {0};
	for (uint32_t i = 0; i < items.n; i++) {
		const NativeItem *item = &items.at[i];
		if (item->unit) {
			const Unit *u = item->unit->unit;
			flush(s, &kept, depth);
			s->units++;
			if (s->assembly) {
				show_assembly(s, u, s->units);
				continue;
			}
			SourceLines lines = {0};
			for (uint32_t k = 0; k < u->ninsts; k++)
				lines_add(&lines, f, &f->insts.at[u->insts[k]]);
			describe_margin(s->out, depth, &lines);
			text_format(s->out, "unit %u of machine code\n", s->units);
			for (const char *p = u->notes; p && *p; p++) {
				if (*p != '\t') text_add(s->out, p, 1);
				else
					for (uint32_t k = 0; k < depth; k++) text_str(s->out, "  ");
			}
			continue;
		}
		const Inst *in = &f->insts.at[item->inst];
		const char *why = reason(f, in);
		s->steps++;
		add_handed(s, in);
		const bool inner = in->nregions > 0;
		if (inner || !kept.why || strcmp(kept.why, why)) flush(s, &kept, depth);
		kept.why = why;
		kept.n++;
		lines_add(&kept.lines, f, in);
		if (!inner) continue;
		if (!s->assembly) {
			describe_margin(s->out, depth, &kept.lines);
			text_format(s->out, "`%s` by the evaluator: %s\n", prims[in->op].name, why);
		}
		kept = (EvaluatorSteps){0};
		for (uint32_t k = 0; k < in->nregions; k++)
			show_region(s, f->region_ids.at[in->regions + k], depth + 1);
	}
	flush(s, &kept, depth);
}

static double bytes_of(const NativeExplanation *s, Ref r, bool *known) {
	const Type *t = ref_ty(s->flat, r);
	if (t->kind != TY_TENSOR) return 0;
	double n = (double)dtype_size((Dtype)t->dtype);
	for (uint32_t i = 0; i < t->rank; i++) {
		int64_t v;
		if (dim_eval(s->c, t->dims[i], s->syms, s->flat->syms.n, &v)) n *= (double)v;
		else *known = false;
	}
	return n;
}

static void show_heading(NativeExplanation *s, const ExplainedFn *w) {
	Text *out = s->out;
	double in = 0, res = 0;
	bool known = true;
	for (uint32_t k = 0; k < fn_nparams(s->flat); k++)
		in += bytes_of(s, fn_param(s->flat, k), &known);
	for (uint32_t k = 0; k < fn_nresults(s->flat); k++)
		res += bytes_of(s, fn_result(s->flat, k), &known);
	text_format(out, "%s", w->f->name ? atom_text(s->c, w->f->name) : "a function");
	if (w->role) text_format(out, ", %s", w->role);
	text_format(out, ": %u unit%s of machine code", s->plan->units.n,
	            s->plan->units.n == 1 ? "" : "s");
	if (known) {
		text_str(out, "; arguments ");
		describe_amount(out, in, "B");
		text_str(out, ", results ");
		describe_amount(out, res, "B");
	}
	text_str(out, "\n");
}

static void show_one(NativeExplanation *s, ExplainedFn w) {
	s->owned = fn_inline_for_execution(s->c, w.f);
	s->flat = s->owned ? s->owned : w.f;
	const uint32_t n = s->flat->syms.n;
	int64_t *syms = ARENA_ARRAY(s->keep, int64_t, n + 1);
	for (uint32_t i = 0; i < n; i++) syms[i] = w.syms && i < s->nlengths ? w.syms[i] : -1;
	s->syms = syms;
	s->plan = native_plan(s->c, s->flat, syms, s->keep, true, NULL);
	s->units = s->steps = 0;
	if (!s->assembly) show_heading(s, &w);
	show_region(s, 0, 0);
	if (!s->units && !s->steps && !s->assembly) text_str(s->out, "  nothing is left to compute\n");
}

static void end_one(NativeExplanation *s) {
	if (s->plan) native_plan_drop(s->plan);
	if (s->owned) fn_unref(s->owned);
	s->plan = NULL;
	s->owned = NULL;
}

static void run_show(Ctx *c, void *arg) {
	NativeExplanation *s = arg;
	s->keep = arena_new(c);
	add_function(s, s->f, NULL, s->lengths);
	for (uint32_t i = 0; i < s->n; i++) {
		if (i && s->assembly) break;
		if (i) text_str(s->out, "\n");
		show_one(s, s->list[i]);
		if (s->assembly && !s->units)
			text_str(s->out, "; no machine code: the evaluator runs all of it\n");
		end_one(s);
	}
}

Status native_show(Ctx *c, Fn *f, const int64_t *lengths, uint32_t nlengths, bool assembly,
                   Text *out) {
	if (!native_target()->vector_bytes) {
		text_format(out, "%snative code is off: there is none for this machine\n",
		            assembly ? "; " : "");
		return out->failed ? ST_NOMEM : ST_OK;
	}
	NativeExplanation s = {
		.c = c, .f = f, .lengths = lengths, .nlengths = nlengths, .assembly = assembly, .out = out};
	const uint32_t mark = build_mark(c);
	Status st = ctx_protect(c, run_show, &s);
	if (st != ST_OK) build_unwind(c, mark);
	end_one(&s);
	arena_free(s.keep);
	return st == ST_OK && out->failed ? ST_NOMEM : st;
}
