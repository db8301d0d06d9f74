/* engines.c - the table of engines.
 *
 * Needs: engines.h.
 *
 * Guarantees: an engine releases everything that it made for a run.
 */
#include "tests/random/engines.h"
#include "tests/random/derive.h"
#include <string.h>

static Status run_evaluator(Ctx *c, Fn *f, const Value *args, Value *results) {
	backend_set_native(c, NATIVE_OFF);
	Code *code = code_of(c, f);
	return code ? code_call(c, code, args, results) : ST_NOMEM;
}

/* Machine code for everything supported: compiled at the first call, the same
 * code for all arguments and numbers of threads. */
static Status run_native(Ctx *c, Fn *f, const Value *args, Value *results) {
	backend_set_native(c, NATIVE_ALWAYS);
	Code *code = code_of(c, f);
	Status st = code ? code_call(c, code, args, results) : ST_NOMEM;
	backend_set_native(c, NATIVE_OFF);
	return st;
}

/* Runs a function made for this run; NULL is an internal error. */
static Status run_copy(Ctx *c, Fn *g, const Value *args, Value *results) {
	if (!g) {
		if (!diag_total(c)) diag_error(c, E_INTERNAL, NO_SPAN, "the copy could not be made");
		return ST_INTERNAL;
	}
	Status st = run_reference(c, g, args, results);
	fn_unref(g);
	return st;
}

/* ---- text form and binary form ------------------------------------------- */

typedef struct Reading {
	SourceId source;
	Fn *out;
} Reading;

static void read_form(Ctx *c, void *arg) {
	Reading *r = arg;
	r->out = fn_read(c, r->source, NULL);
}

Fn *read_text_form(Ctx *c, const char *name, const Text *text) {
	Reading r = {.source = source_add(c, name, text->at ? text->at : "", text->n)};
	const uint32_t mark = build_mark(c);
	if (ctx_protect(c, read_form, &r) != ST_OK) build_unwind(c, mark);
	return r.out;
}

/* Returns whether the text of f is the same after writing and reading its
 * binary form. */
static bool survives(Ctx *c, const Fn *f, const Text *before) {
	Text bytes, after;
	text_init(&bytes, c);
	text_init(&after, c);
	Fn *g = fn_store(&bytes, f, value_none()) == ST_OK
	            ? fn_load(c, "random.air", bytes.at, bytes.n, NULL)
	            : NULL;
	if (g) fn_print(&after, g);
	bool same = g && before->n == after.n && !memcmp(before->at, after.at, after.n);
	if (g && !same)
		diag_error(c, E_INTERNAL, NO_SPAN,
		           "what was read back from the binary form prints otherwise");
	if (g) fn_unref(g);
	text_free(&bytes);
	text_free(&after);
	return same;
}

static Fn *reread(Ctx *c, const Fn *f) {
	Text before, after;
	text_init(&before, c);
	text_init(&after, c);
	fn_print(&before, f);
	Fn *g = read_text_form(c, "random.ir", &before);
	if (g && !survives(c, g, &before)) {
		fn_unref(g);
		g = NULL;
	}
	if (g) {
		fn_print(&after, g);
		if (before.n != after.n || memcmp(before.at, after.at, before.n)) {
			fn_unref(g);
			g = NULL;
			diag_error(c, E_INTERNAL, NO_SPAN, "what was read back prints otherwise");
		}
	}
	text_free(&before);
	text_free(&after);
	return g;
}

static Status run_text(Ctx *c, Fn *f, const Value *args, Value *results) {
	return run_copy(c, reread(c, f), args, results);
}

/* ---- optimised code ------------------------------------------------------ */

/* Works on a copy, because f itself was compiled without optimisation. */
static Status run_optimised(Ctx *c, Fn *f, const Value *args, Value *results) {
	Fn *g = reread(c, f);
	if (!g) return run_copy(c, NULL, args, results);
	backend_set_native(c, NATIVE_WELL);
	Code *code = code_of(c, g);
	Status st = code ? code_call(c, code, args, results) : ST_NOMEM;
	backend_set_native(c, NATIVE_OFF);
	fn_unref(g);
	return st;
}

/* ---- perturbed roundings ------------------------------------------------- */

/* Represents an engine that may round differently. If it fails, the programs
 * depend on roundings, and a comparison with native code would be
 * meaningless. */
static Status run_rounded(Ctx *c, Fn *f, const Value *args, Value *results) {
	return run_copy(c, with_other_roundings(c, f, 4711, 4e-16, 2e-7), args, results);
}

/* ---- captured data ------------------------------------------------------- */

/* The function as it appears in a program at top level, or as a closure: all
 * extents are constants, and every other array that is not small is a
 * constant. */
typedef struct Capturing {
	Fn *f, *out;
	const Value *args;
	uint32_t given[64]; /* indices of the remaining parameters */
	uint32_t ngiven;
} Capturing;

static void make_captured(Ctx *c, void *arg) {
	enum { SMALL = 32 };
	Capturing *k = arg;
	Fn *f = k->f;
	const uint32_t n = fn_nparams(f), nresults = fn_nresults(f);
	Builder *b = build_begin(c, f->name, f->span, NULL);
	Ref *params = ARENA_ARRAY(ctx_arena(c), Ref, n + 1),
		*results = ARENA_ARRAY(ctx_arena(c), Ref, nresults + 1);
	bool captures = true;
	for (uint32_t i = 0; i < n; i++) {
		const Value v = k->args[i];
		if (v.kind == V_TENSOR && v.tensor->count > SMALL && captures) {
			params[i] = build_const(b, v);
			captures = false;
			continue;
		}
		TypeId t = ref_type(f, fn_param(f, i));
		if (v.kind == V_TENSOR) {
			Dim dims[MAX_RANK];
			for (uint32_t a = 0; a < v.tensor->rank; a++)
				dims[a] = dim_const(c, v.tensor->shape[a]);
			t = type_tensor(c, (Dtype)v.tensor->dtype, v.tensor->rank, dims);
			captures = true;
		}
		params[i] = build_param(b, t, 0);
		k->given[k->ngiven++] = i;
	}
	build_inline(b, f, params, results);
	k->out = build_end(b, nresults, results);
}

static Status run_captured(Ctx *c, Fn *f, const Value *args, Value *results) {
	Capturing k = {.f = f, .args = args};
	Value given[sizeof k.given / sizeof *k.given];
	if (fn_nparams(f) > sizeof given / sizeof *given) return run_reference(c, f, args, results);
	const uint32_t mark = build_mark(c), told = diag_total(c);
	if (ctx_protect(c, make_captured, &k) != ST_OK) build_unwind(c, mark);
	/* A branch that does not run may have impossible extents; then the builder
	 * refuses such a function. */
	if (!k.out && diag_total(c) > told && diag_at(c, told)->code == E_SHAPE) {
		diag_truncate(c, told);
		return run_reference(c, f, args, results);
	}
	if (!k.out) return run_copy(c, NULL, args, results);
	for (uint32_t i = 0; i < k.ngiven; i++) given[i] = args[k.given[i]];
	Status st = run_native(c, k.out, given, results);
	fn_unref(k.out);
	return st;
}

/* ---- broken engine ------------------------------------------------------- */

typedef struct Breaking {
	Fn *f, *out;
} Breaking;

static void make_broken(Ctx *c, void *arg) {
	Breaking *k = arg;
	Fn *f = k->f;
	Builder *b = build_begin(c, f->name, f->span, f);
	RefMap m = refmap_new(b, f, true);
	const Region body = f->regions.at[0];
	for (uint32_t i = 0; i < body.nparams; i++)
		refmap_set(&m, fn_param(f, i), build_param(b, ref_type(f, fn_param(f, i)), 0));
	for (uint32_t i = 0; i < body.ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[body.insts + i]];
		if (in->op == OP_SUB) {
			Ref x = refmap_get(b, &m, inst_arg(f, in, 0)),
				y = refmap_get(b, &m, inst_arg(f, in, 1));
			refmap_set(&m, inst_result(in, 0), build2(b, OP_SUB, y, x));
		} else {
			build_copy_inst(b, &m, in);
		}
	}
	uint32_t n = fn_nresults(f);
	Ref *results = ARENA_ARRAY(ctx_arena(c), Ref, n + 1);
	for (uint32_t i = 0; i < n; i++) results[i] = refmap_get(b, &m, fn_result(f, i));
	k->out = build_end(b, n, results);
}

static Status run_broken(Ctx *c, Fn *f, const Value *args, Value *results) {
	Breaking k = {.f = f};
	uint32_t mark = build_mark(c);
	if (ctx_protect(c, make_broken, &k) != ST_OK) build_unwind(c, mark);
	return run_copy(c, k.out, args, results);
}

const Engine broken_engine = {"broken", run_broken, .exact = false, .once = true};

const Engine engines[] = {
	{"evaluator", run_evaluator, .exact = true, .threads = true},
	{"native", run_native, .exact = false, .threads = true, .derivatives_every = 2},
	{"text", run_text, .exact = true, .once = true},
	{"rounded", run_rounded, .exact = false, .once = true},
	{"captured", run_captured, .exact = false, .once = true, .every = 8},
	{"optimised", run_optimised, .exact = false, .once = true, .every = 24},
	{0},
};
