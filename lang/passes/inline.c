/* inline.c - the call graph, inlining, and the call paths of inlined
 * instructions.
 *
 * Needs: ir.h.
 *
 * Contract:
 * - The flat function computes the same as the original, with the same
 *   parameters and results.
 * - Calls of recursive functions, and calls that would make the function too
 *   large, stay.
 * - The chain of an inlined instruction begins with its call path, as words
 *   "@callee:span:at", outermost first: the callee's name, where it is defined,
 *   and where it was called.
 */
#include "lang/builder/internal.h"
#include "lang/ir/host.h"
#include <stdio.h>
#include <stdlib.h>

#define FLAT_MOST 20000u /* number of instructions */

typedef struct Flat {
	Fn *from, *to; /* to: one reference */
} Flat;

typedef struct Recursion {
	const Fn *fn;
	bool recursive;
} Recursion;

typedef struct Inlining {
	Ctx *c;
	Fn *f;
	Fn *(*instead)(void *ud, Fn *g);
	void *ud;
	bool to_run;
	Arena *scratch;
	VEC(Flat) done;
	VEC(Recursion) asked;
	Fn *result;
} Inlining;

/* ---- call graph ---------------------------------------------------------- */

Fn *inst_callee_to_run(const Fn *f, const Inst *in) {
	if (in->op != OP_HOST) return inst_callee(f->ctx, in);
	const HostCall *h = host_call(f->ctx, (HostId)attr_int(f->ctx, OP_HOST, in->attr, 0));
	return h->def->written ? h->fns[0] : NULL;
}

static Fn *callee_of(const Fn *f, const Inst *in, bool to_run) {
	return to_run ? inst_callee_to_run(f, in) : inst_callee(f->ctx, in);
}

const Fn **fn_callees(Arena *a, const Fn *f, bool to_run, uint32_t *n) {
	VEC(const Fn *) all = {0};
	VEC_PUSH(a, &all, f);
	for (uint32_t k = 0; k < all.n; k++) {
		const Fn *g = all.at[k];
		for (uint32_t i = 0; (g == f || g->finished) && i < g->insts.n; i++) {
			const Fn *called = callee_of(g, &g->insts.at[i], to_run);
			bool known = !called;
			for (uint32_t j = 0; j < all.n && !known; j++) known = all.at[j] == called;
			if (!known) VEC_PUSH(a, &all, called);
		}
	}
	*n = all.n;
	return all.at;
}

/* Whether a function calls itself, directly or indirectly. */
static bool is_recursive(Arena *scratch, const Fn *g, bool to_run) {
	uint32_t n;
	const Fn **all = fn_callees(scratch, g, to_run, &n);
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; all[k]->finished && i < all[k]->insts.n; i++)
			if (callee_of(all[k], &all[k]->insts.at[i], to_run) == g) return true;
	return false;
}

static bool asked_recursive(Inlining *w, const Fn *g) {
	for (uint32_t i = 0; i < w->asked.n; i++)
		if (w->asked.at[i].fn == g) return w->asked.at[i].recursive;
	const Recursion r = {g, is_recursive(w->scratch, g, w->to_run)};
	VEC_PUSH(w->scratch, &w->asked, r);
	return r.recursive;
}

static bool has_calls(const Fn *f, bool to_run) {
	for (uint32_t i = 0; i < f->insts.n; i++)
		if (callee_of(f, &f->insts.at[i], to_run) || (to_run && f->insts.at[i].op == OP_SOLVED))
			return true;
	return false;
}

/* ---- inlining ------------------------------------------------------------ */

static Fn *flat_of(Inlining *w, Fn *f);

static bool write_out(Builder *b, RefMap *m, const Inst *in, const Ref *args, Ref *results) {
	Inlining *w = m->call_ud;
	if (in->op == OP_SOLVED) {
		if (w->to_run) results[0] = args[4];
		return w->to_run;
	}
	Fn *g = callee_of(m->from, in, w->to_run);
	if (g && w->instead) g = w->instead(w->ud, g);
	if (!g || !g->finished || ((g->checkpoint || g->batch_sequentially_by) && !w->to_run) ||
	    asked_recursive(w, g))
		return false;
	const Fn *flat = flat_of(w, g);
	if (build_fn(b)->insts.n + flat->insts.n > FLAT_MOST) return false;
	ChainId outer = build_get_chain(b);
	SpanId at = build_span(b);
	build_chain(b, chain_push_call(w->c, outer, g->name, g->span, at));
	build_inline(b, flat, args, results);
	build_chain(b, outer);
	build_at(b, at);
	return true;
}

static Fn *flat_of(Inlining *w, Fn *f) {
	if (!has_calls(f, w->to_run)) return f;
	for (uint32_t i = 0; i < w->done.n; i++)
		if (w->done.at[i].from == f) return w->done.at[i].to;
	Builder *b = build_begin(w->c, f->name, f->span, f);
	RefMap m = refmap_new(b, f, true);
	m.call = write_out;
	m.call_ud = w;
	for (uint32_t k = 0; k < fn_nparams(f); k++) {
		Atom name = f->vals.at[REF_INDEX(fn_param(f, k))].name;
		refmap_set(&m, fn_param(f, k), build_param(b, ref_type(f, fn_param(f, k)), name));
	}
	const Region body = f->regions.at[0];
	for (uint32_t i = 0; i < body.ninsts; i++)
		build_copy_inst(b, &m, &f->insts.at[f->inst_order.at[body.insts + i]]);
	Ref *results = ARENA_ARRAY(w->scratch, Ref, fn_nresults(f) + 1);
	for (uint32_t k = 0; k < fn_nresults(f); k++) results[k] = refmap_get(b, &m, fn_result(f, k));
	Flat made = {.from = f, .to = build_end(b, fn_nresults(f), results)};
	made.to->checkpoint = f->checkpoint;
	made.to->batch_sequentially_by = f->batch_sequentially_by;
	VEC_PUSH(w->scratch, &w->done, made);
	return made.to;
}

static void run_flatten(Ctx *c, void *arg) {
	Inlining *w = arg;
	w->scratch = arena_new(c);
	w->result = flat_of(w, w->f);
}

static Fn *inline_calls(Ctx *c, Fn *f, Inlining w) {
	if (!has_calls(f, w.to_run)) return NULL;
	w.c = c;
	w.f = f;
	const uint32_t mark = build_mark(c), diags = diag_total(c), broken = ir_state(c)->broken;
	Status st = ctx_protect(c, run_flatten, &w);
	if (st != ST_OK) {
		build_unwind(c, mark);
		w.result = NULL;
		/* Without inlining, the calls would still work, which would hide an
		 * invalid function: in a build without verification, it would run and
		 * compute wrong results. A transform must not take another way because
		 * it was interrupted or short of memory, since its result is kept. */
		if (ir_state(c)->broken != broken || (!w.to_run && (st == ST_NOMEM || ctx_stops(c)))) {
			arena_free(w.scratch);
			ctx_throw(c, st);
		}
		diag_truncate(c, diags);
	}
	if (w.result == f) w.result = NULL;
	if (w.result) fn_ref(w.result);
	for (uint32_t i = 0; i < w.done.n; i++) fn_unref(w.done.at[i].to);
	arena_free(w.scratch);
	return w.result;
}

Fn *fn_inline_calls(Ctx *c, Fn *f) { return inline_calls(c, f, (Inlining){0}); }

Fn *fn_inline_for_execution(Ctx *c, Fn *f) {
	return inline_calls(c, f, (Inlining){.to_run = true});
}

Fn *fn_inline_calls_with(Ctx *c, Fn *f, Fn *(*instead)(void *ud, Fn *g), void *ud) {
	return inline_calls(c, f, (Inlining){.instead = instead, .ud = ud});
}

/* ---- chains -------------------------------------------------------------- */

void chain_transforms(const Ctx *c, ChainId chain, char *out, size_t cap) {
	size_t n = 0;
	for (const char *t = chain_text(c, chain); *t;) {
		size_t word = strcspn(t, " ");
		if (*t != '@')
			n += (size_t)snprintf(out + n, cap - n, "%s%.*s", n ? " " : "", (int)word, t);
		if (n >= cap) n = cap - 1;
		t += word;
		t += *t == ' ';
	}
	out[n] = 0;
}

/* The word is "@" and three integers separated by colons. */
bool chain_word_call(const char *word, size_t n, Atom *callee, SpanId *defined, SpanId *at) {
	uint32_t part[3];
	size_t k = 1;
	if (!n || *word != '@') return false;
	for (int i = 0; i < 3; i++) {
		if (i && (k == n || word[k++] != ':')) return false;
		uint64_t v = 0;
		const size_t first = k;
		for (; k < n && word[k] >= '0' && word[k] <= '9' && v <= UINT32_MAX; k++)
			v = v * 10 + (uint64_t)(word[k] - '0');
		if (k == first || v > UINT32_MAX) return false;
		part[i] = (uint32_t)v;
	}
	*callee = part[0];
	*defined = part[1];
	*at = part[2];
	return k == n;
}

ChainId chain_push_call(Ctx *c, ChainId outer, Atom callee, SpanId defined, SpanId at) {
	char word[80];
	snprintf(word, sizeof word, "@%u:%u:%u", (unsigned)callee, (unsigned)defined, (unsigned)at);
	return chain_push(c, outer, word);
}

void chain_calls(const Ctx *c, ChainId chain,
                 void (*visit)(void *ud, Atom callee, SpanId defined, SpanId at), void *ud) {
	const char *text = chain_text(c, chain), *end = text + strlen(text);
	while (end > text) {
		const char *t = end;
		while (t > text && t[-1] != ' ') t--;
		Atom callee;
		SpanId defined, at;
		if (chain_word_call(t, (size_t)(end - t), &callee, &defined, &at))
			visit(ud, callee, defined, at);
		end = t > text ? t - 1 : text;
	}
}
