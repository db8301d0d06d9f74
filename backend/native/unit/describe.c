/* describe.c - the loops of a unit, in words.
 *
 * For each loop: what is computed together, over which extents, where results
 * are stored, and how many operations it takes.
 *
 * Needs: describe.h, loops/loops.h, op_counter.h.
 *
 * Contract:
 * - Only reads the data of the lowering.
 * - Operations are counted as the kernel IR performs them: recomputed values
 *   count again.
 */
#include "backend/native/unit/describe.h"
#include "backend/native/loops/loops.h"
#include "backend/native/kir/op_counter.h"
#include "backend/eval/core/unit.h"
#include <stdio.h>

#define MARGIN 14u /* width of the column of line numbers */
#define WORDS_MOST 10u

/* ---- parts of the text --------------------------------------------------- */

typedef struct UserPlace {
	const Ctx *c;
	Span span;
} UserPlace;

static void see_call(void *ud, Atom callee, SpanId defined, SpanId at) {
	UserPlace *u = ud;
	(void)callee;
	(void)defined;
	if (u->span.source && !source_is_library(u->c, u->span.source)) return;
	const Span s = span_of(u->c, at);
	if (s.source) u->span = s;
}

void lines_add(SourceLines *lines, const Fn *f, const Inst *in) {
	UserPlace u = {.c = f->ctx, .span = span_of(f->ctx, in->span)};
	chain_calls(f->ctx, in->chain, see_call, &u);
	if (!u.span.source || source_is_library(f->ctx, u.span.source)) return;
	if (!lines->n) lines->source = u.span.source;
	/* Statements are separate sources with the same name. */
	if (u.span.source != lines->source &&
	    strcmp(source_name(f->ctx, u.span.source), source_name(f->ctx, lines->source))) {
		lines->more = true;
		return;
	}
	uint32_t line, column, k = 0;
	source_position(f->ctx, u.span, &line, &column);
	while (k < lines->n && lines->at[k] < line) k++;
	if (k < lines->n && lines->at[k] == line) return;
	if (lines->n == sizeof lines->at / sizeof *lines->at) {
		lines->more = true;
		return;
	}
	memmove(lines->at + k + 1, lines->at + k, (lines->n - k) * sizeof *lines->at);
	lines->at[k] = line;
	lines->n++;
}

void lines_print(Text *out, const SourceLines *lines) {
	for (uint32_t i = 0; i < lines->n;) {
		uint32_t j = i;
		while (j + 1 < lines->n && lines->at[j + 1] == lines->at[j] + 1) j++;
		text_format(out, i ? ", %u" : "%u", lines->at[i]);
		if (j > i) text_format(out, "-%u", lines->at[j]);
		i = j + 1;
	}
	if (lines->more) text_str(out, " ...");
}

void describe_margin(Text *out, uint32_t depth, const SourceLines *lines) {
	const size_t from = out->n;
	text_str(out, "  ");
	lines_print(out, lines);
	while (!out->failed && out->n - from < MARGIN - 2) text_str(out, " ");
	text_str(out, "  ");
	for (uint32_t i = 0; i < depth; i++) text_str(out, "  ");
}

static const char *symbol_name(void *ud, SymId s) {
	const Fn *f = ud;
	return s < f->syms.n && f->syms.at[s].name ? atom_text(f->ctx, f->syms.at[s].name) : NULL;
}

static void print_length(Text *out, const Fn *f, Dim d, const int64_t *syms) {
	int64_t v;
	char text[96];
	if (dim_eval(f->ctx, d, syms, syms ? f->syms.n : 0, &v)) {
		text_format(out, "%lld", (long long)v);
		return;
	}
	dim_print(f->ctx, d, symbol_name, (void *)(uintptr_t)f, text, sizeof text);
	text_str(out, text);
}

/* Prints "1000 x 3"; unknown extents by their names. syms: by symbol, -1
 * unknown. */
static void describe_shape(Text *out, const Fn *f, uint32_t n, const Dim *dims,
                           const int64_t *syms) {
	for (uint32_t i = 0; i < n; i++) {
		if (i) text_str(out, " x ");
		print_length(out, f, dims[i], syms);
	}
}

void describe_amount(Text *out, double n, const char *unit) {
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
	uint32_t k = 0;
	while (n >= 999.5 && k < 5) {
		n /= 1000;
		k++;
	}
	text_format(out, n < 99.95 && k ? "%.2g %s%s" : "%.0f %s%s", n, prefixes[k], unit);
}

/* Begins a line of notes. The unit's own indentation is not known yet and is
 * inserted at the tab. */
static void margin(Text *out, uint32_t depth, const SourceLines *lines) {
	describe_margin(out, 0, lines);
	text_str(out, "\t");
	for (uint32_t i = 0; i < depth; i++) text_str(out, "  ");
}

/* ---- fused instructions -------------------------------------------------- */

/* The instructions that one loop computes. */
typedef struct Fused {
	const Lower *l;
	const ArrayPlan *p;
	bool *seen;         /* by node */
	VEC(uint32_t) list; /* entries to clear in `seen` */
	SourceLines lines;
	uint32_t nwords;
	Op words[WORDS_MOST];
	uint32_t counts[WORDS_MOST];
	bool more;
	double flops;
	bool known; /* all extents are known */
} Fused;

static bool moves_only(Op op) {
	switch (op) {
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_SLICE:
	case OP_STOP:
	case OP_EXTENT:
	case OP_CONVERT:
	case OP_IOTA: return true;
	default: return false;
	}
}

static void add_word(Fused *u, Op op) {
	if (moves_only(op)) return;
	for (uint32_t k = 0; k < u->nwords; k++) {
		if (u->words[k] != op) continue;
		u->counts[k]++;
		return;
	}
	if (u->nwords == WORDS_MOST) {
		u->more = true;
		return;
	}
	u->words[u->nwords] = op;
	u->counts[u->nwords++] = 1;
}

static double volume(Fused *u, uint32_t n, const Dim *dims) {
	double all = 1;
	for (uint32_t i = 0; i < n; i++) {
		const int64_t v = lower_hint(u->l, dims[i], -1);
		if (v < 0) u->known = false;
		else all *= (double)v;
	}
	return all;
}

static double operations(const ArrayPlan *p, const Inst *in) {
	if (!in->nresults || moves_only((Op)in->op)) return 0;
	const Type *t =
		ref_ty(p->l->f, in->nargs ? inst_arg(p->l->f, in, in->nargs - 1) : inst_result(in, 0));
	if (!dtype_is_real((Dtype)t->dtype)) return 0;
	switch ((Op)in->op) {
	case OP_DOT: return 2;
	case OP_REDUCE_SUM:
	case OP_REDUCE_PROD:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
	case OP_ARGMAX:
	case OP_CUMSUM:
	case OP_CUMPROD:
	case OP_SCATTER_ADD: return 1;
	default: return prims[in->op].elementwise ? 1 : 0;
	}
}

/* Adds n and the nodes inlined into it, each once. `times` elements of its
 * result are computed. */
static void gather(Fused *u, const LoopNode *n, double times, bool top) {
	const uint32_t id = (uint32_t)(n - u->p->nodes.at);
	if (u->seen[id] || (n->materialised && !top)) return;
	u->seen[id] = true;
	VEC_PUSH(u->p->a, &u->list, id);
	const Inst *in = node_inst(u->p, n);
	const bool reduces = n->naxes > n->nresult;
	if (reduces) times *= volume(u, n->naxes - n->nresult, n->axes + n->nresult);
	lines_add(&u->lines, u->l->f, in);
	add_word(u, (Op)in->op);
	u->flops += operations(u->p, in) * times;
	for (uint32_t k = 0; k < in->nargs; k++) {
		const LoopNode *x = plan_node(u->p, inst_arg(u->l->f, in, k));
		if (!x || x->materialised) continue;
		/* A contraction's operand is copied once, not computed for each
		 * column. */
		gather(u, x, n->contraction != CONTRACTION_NONE ? volume(u, x->nresult, x->axes) : times,
		       false);
	}
}

static void clear(Fused *u) {
	for (uint32_t i = 0; i < u->list.n; i++) u->seen[u->list.at[i]] = false;
	u->list.n = 0;
}

static const char *word_of(Op op) {
	switch (op) {
	case OP_DOT: return "sum of products";
	case OP_REDUCE_SUM: return "sum";
	case OP_REDUCE_PROD: return "product";
	case OP_REDUCE_MAX: return "largest";
	case OP_REDUCE_MIN: return "smallest";
	default: return prims[op].name;
	}
}

static void print_words(Text *out, const Fused *u, uint32_t from) {
	uint32_t k = 0, ops = 0;
	for (uint32_t i = from; i < u->nwords; i++) ops += u->counts[i];
	if (ops > 1) text_format(out, "%u fused: ", ops);
	for (uint32_t i = from; i < u->nwords; i++) {
		if (k++) text_str(out, ", ");
		if (u->counts[i] > 1) text_format(out, "%u ", u->counts[i]);
		text_str(out, word_of(u->words[i]));
	}
	if (u->more) text_str(out, " ...");
	if (!k) text_str(out, "copy");
}

/* ---- a plan's loops ------------------------------------------------------ */

typedef struct Describe {
	const Lower *l;
	Text *out;
	const int64_t *syms;
	const KNumber *values; /* of the entry's kernel IR */
} Describe;

static void print_operand_shape(const Describe *d, Ref r) {
	const Type *t = ref_ty(d->l->f, r);
	text_str(d->out, "[");
	describe_shape(d->out, d->l->f, t->rank, t->dims, d->syms);
	text_str(d->out, "]");
}

static void print_contraction(const Describe *d, const LoopNode *n, const Fused *u,
                              const Inst *in) {
	const char *const how[] = {
		"", "matrix product of the rows", "matrix product summed over the rows",
		ktarget_has_large_tiles(&d->l->k.m->target) ? "matrix product by tiles"
													: "matrix product through BLAS",
		"matrix product of each row"};
	text_format(d->out, "%s: ", how[n->contraction]);
	print_operand_shape(d, inst_arg(d->l->f, in, 0));
	text_str(d->out, " by ");
	print_operand_shape(d, inst_arg(d->l->f, in, 1));
	if (n->terms.n) text_format(d->out, ", %u such products in one sum", n->terms.n + 1);
	uint32_t dots = n->terms.n + 1;
	Fused rest = *u;
	for (uint32_t i = 0; i < rest.nwords; i++)
		if (rest.words[i] == OP_DOT) { /* remaining ones were computed for its operands */
			rest.counts[i] -= dots < rest.counts[i] ? dots : rest.counts[i];
			if (rest.counts[i]) continue;
			rest.nwords--;
			memmove(rest.words + i, rest.words + i + 1, (rest.nwords - i) * sizeof *rest.words);
			memmove(rest.counts + i, rest.counts + i + 1, (rest.nwords - i) * sizeof *rest.counts);
			break;
		}
	if (!rest.nwords) return;
	text_str(d->out, "; operand: ");
	print_words(d->out, &rest, 0);
}

static void print_place(const Describe *d, const ArrayPlan *p, const LoopGroup *g) {
	uint32_t memory = 0, scratch = 0, sums = 0;
	for (uint32_t k = 0; k < g->nodes.n; k++) {
		const LoopNode *n = &p->nodes.at[g->nodes.at[k]];
		memory += n->memory && n->nresult > 0 && !n->row_sum;
		scratch += n->scratch && !n->memory;
		sums += n->row_sum;
	}
	const char *sep = " -> ";
	if (scratch) {
		text_format(d->out, "%sscratch", sep);
		sep = ", ";
	}
	if (memory) {
		text_format(d->out, "%smemory", sep);
		sep = ", ";
	}
	if (sums) text_format(d->out, "%ssum over the rows", sep);
}

static void describe_group(const Describe *d, const ArrayPlan *p, const LoopGroup *g, bool *seen,
                           uint32_t depth) {
	Text *out = d->out;
	const Fn *f = d->l->f;
	Fused u = {.l = d->l, .p = p, .seen = seen, .known = true};
	const LoopNode *n = &p->nodes.at[g->nodes.at[0]];
	if (n->kind == NODE_GUARD) return;
	for (uint32_t k = 0; k < g->nodes.n; k++) {
		const LoopNode *m = &p->nodes.at[g->nodes.at[k]];
		gather(&u, m, volume(&u, m->nresult, m->axes), true);
		for (uint32_t t = 0; t < m->terms.n; t++) {
			const LoopNode *x = &p->nodes.at[m->terms.at[t]];
			gather(&u, x, volume(&u, x->nresult, x->axes), true);
		}
	}
	clear(&u);
	margin(out, depth, &u.lines);
	uint32_t named = 0;
	for (uint32_t k = 0; k < g->nodes.n && named < 4; k++) {
		const LoopNode *m = &p->nodes.at[g->nodes.at[k]];
		const Atom name = ref_is_value(m->ref) ? f->vals.at[REF_INDEX(m->ref)].name : 0;
		if (name) text_format(out, "%s%s", named++ ? ", " : "", atom_text(f->ctx, name));
	}
	if (named) text_str(out, " = ");
	if (n->contraction != CONTRACTION_NONE) {
		print_contraction(d, n, &u, node_inst(p, n));
	} else {
		print_words(out, &u, 0);
		if (n->naxes) {
			text_str(out, " over ");
			describe_shape(out, f, n->naxes, n->axes, d->syms);
		}
	}
	if (u.known && u.flops > 0) {
		text_str(out, ", ");
		describe_amount(out, u.flops, "flop");
	}
	if (g->collapsed) text_str(out, ", rows one after the other in one loop");
	print_place(d, p, g);
	text_str(out, "\n");
}

static void describe_region(const Describe *d, const ArrayPlan *p, const FusedRegion *r, bool *seen,
                            uint32_t depth) {
	Text *out = d->out;
	const SourceLines none = {0};
	if (r->has_row) {
		margin(out, depth, &none);
		text_str(out, "parallel over ");
		print_length(out, d->l->f, r->row, d->syms);
		text_str(out, " rows");
		if (r->block && d->values && d->values[r->block].known)
			text_format(out, ", %lld at a time", (long long)d->values[r->block].v);
		text_format(
			out, ", vectors along %s%s", r->lanes == LANES_ROWS ? "the rows" : "the last axis",
			r->product ? ", in strips, each followed by its part of the product behind" : "");
		if (r->nfollowing)
			text_format(out, ", block by block in one stream with the next %u", r->nfollowing);
		text_str(out, "\n");
		depth++;
	}
	for (uint32_t g = 0; g < r->groups.n; g++) {
		const OuterFusion *outer_fusion = outer_fusion_of(r, g);
		if (outer_fusion && outer_fusion->from == g) {
			margin(out, depth, &none);
			text_str(out, "turn by turn over ");
			print_length(out, d->l->f, outer_fusion->axis, d->syms);
			text_str(out, "\n");
		}
		if (r->groups.at[g].nodes.n)
			describe_group(d, p, &r->groups.at[g], seen, depth + (outer_fusion != NULL));
	}
}

/* ---- control flow and small values --------------------------------------- */

/* Adjacent instructions on registers are reported together. */
typedef struct Registers {
	uint32_t n;
	SourceLines lines;
} Registers;

static void flush(const Describe *d, Registers *s, uint32_t depth) {
	if (s->n) {
		margin(d->out, depth, &s->lines);
		text_format(d->out, "%u operation%s in registers\n", s->n, s->n == 1 ? "" : "s");
	}
	*s = (Registers){0};
}

static void describe_carries(const Describe *d, const SchedStep *p, uint32_t n) {
	uint32_t kinds[4] = {0};
	for (uint32_t k = 0; p->carries && k < n; k++) kinds[p->carries[k].kind]++;
	const char *sep = "; carries ";
	if (kinds[CARRY_SMALL]) {
		text_format(d->out, "%s%u in registers", sep, kinds[CARRY_SMALL]);
		sep = ", ";
	}
	if (kinds[CARRY_INPLACE]) {
		text_format(d->out, "%s%u changed in place", sep, kinds[CARRY_INPLACE]);
		sep = ", ";
	}
	if (kinds[CARRY_DOUBLE_BUFFER])
		text_format(d->out, "%s%u in two places that are swapped", sep, kinds[CARRY_DOUBLE_BUFFER]);
}

static void describe_sched(const Describe *d, const Sched *s, uint32_t depth);

static void describe_control(const Describe *d, const SchedStep *p, const Inst *in,
                             uint32_t depth) {
	const Fn *f = d->l->f;
	SourceLines lines = {0};
	lines_add(&lines, f, in);
	margin(d->out, depth, &lines);
	if (in->op == OP_IF) {
		text_str(d->out, "if\n");
		describe_sched(d, p->regions[0], depth + 1);
		if (p->regions[1]->steps.n) {
			margin(d->out, depth, &(SourceLines){0});
			text_str(d->out, "else\n");
			describe_sched(d, p->regions[1], depth + 1);
		}
		return;
	}
	text_str(d->out, in->op == OP_FOR ? "for" : "while");
	const Const *k = in->op == OP_FOR ? ref_constant(f, inst_arg(f, in, 0)) : NULL;
	int64_t trip_count;
	if (k && value_as_i64(k->value, &trip_count))
		text_format(d->out, " %lld turns", (long long)trip_count);
	describe_carries(d, p, in->nresults);
	if (p->tiling) text_str(d->out, "; several turns at once, tile by tile");
	text_str(d->out, "\n");
	for (uint32_t r = 0; r < in->nregions; r++) describe_sched(d, p->regions[r], depth + 1);
}

static void describe_row_insts(const Describe *d, uint32_t n, const InstId *insts, uint32_t depth);

/* A loop or branch of the original program for one row. */
static void describe_row_control(const Describe *d, const Inst *in, uint32_t depth) {
	const Fn *f = d->l->f;
	SourceLines lines = {0};
	lines_add(&lines, f, in);
	margin(d->out, depth, &lines);
	text_str(d->out, in->op == OP_IF ? "if" : in->op == OP_FOR ? "for" : "while");
	const Const *k = in->op == OP_FOR ? ref_constant(f, inst_arg(f, in, 0)) : NULL;
	int64_t trip_count;
	if (k && value_as_i64(k->value, &trip_count))
		text_format(d->out, " %lld turns", (long long)trip_count);
	text_str(d->out, in->op == OP_IF ? "\n" : "; carries registers\n");
	for (uint32_t r = 0; r < in->nregions; r++) {
		const Region *g = inst_region(f, in, r);
		describe_row_insts(d, g->ninsts, f->inst_order.at + g->insts, depth + 1);
	}
}

static void describe_row_insts(const Describe *d, uint32_t n, const InstId *insts, uint32_t depth) {
	Registers small = {0};
	for (uint32_t i = 0; i < n; i++) {
		const Inst *in = &d->l->f->insts.at[insts[i]];
		if (in->nregions) {
			flush(d, &small, depth);
			describe_row_control(d, in, depth);
			continue;
		}
		if (moves_only((Op)in->op) || in->op == OP_GUARD) continue;
		small.n++;
		lines_add(&small.lines, d->l->f, in);
	}
	flush(d, &small, depth);
}

static void describe_rows(const Describe *d, const SchedStep *p, uint32_t depth) {
	margin(d->out, depth, &(SourceLines){0});
	if (!p->lanes) text_str(d->out, "parallel over ");
	print_length(d->out, d->l->f, p->row, d->syms);
	text_str(d->out, p->lanes ? " elements in one vector, which the loop has in registers\n"
	                          : " rows, each in registers, vectors along the rows\n");
	describe_row_insts(d, p->n, p->insts, depth + 1);
}

static void describe_sched(const Describe *d, const Sched *s, uint32_t depth) {
	const Lower *l = d->l;
	Registers small = {0};
	for (uint32_t i = 0; i < s->steps.n; i++) {
		const SchedStep *p = s->steps.at[i];
		if (p->kind == SCHED_LOOPS) {
			flush(d, &small, depth);
			bool *seen = ARENA_ARRAY(l->scratch, bool, p->plan->nodes.n + 1);
			for (uint32_t r = 0; r < p->plan->regions.n; r++)
				describe_region(d, p->plan, &p->plan->regions.at[r], seen, depth);
			continue;
		}
		if (p->kind == SCHED_VECTOR_MAP) {
			flush(d, &small, depth);
			describe_rows(d, p, depth);
			continue;
		}
		const Inst *in = &l->f->insts.at[p->inst];
		if (p->kind == SCHED_ALIAS || in->op == OP_GUARD) continue;
		if (p->kind == SCHED_CONTROL) {
			flush(d, &small, depth);
			describe_control(d, p, in, depth);
			continue;
		}
		if (p->kind == SCHED_MATRIX) {
			flush(d, &small, depth);
			SourceLines lines = {0};
			lines_add(&lines, l->f, in);
			margin(d->out, depth, &lines);
			text_str(d->out, in->op == OP_HOST       ? "function of the host\n"
			                 : in->op == OP_TRISOLVE ? "triangular system in memory\n"
			                                         : "matrix factorised in memory\n");
			continue;
		}
		if (p->kind == SCHED_ELEMENT && writes_elements(in)) {
			flush(d, &small, depth);
			SourceLines lines = {0};
			lines_add(&lines, l->f, in);
			margin(d->out, depth, &lines);
			text_str(d->out, "elements changed where they lie\n");
			continue;
		}
		if (in->op == OP_EXTENT) continue;
		small.n++;
		lines_add(&small.lines, l->f, in);
	}
	flush(d, &small, depth);
}

/* ---- the unit ------------------------------------------------------------ */

static void describe_costs(const Describe *d, const KCost *cost) {
	Text *out = d->out;
	const Unit *u = d->l->unit;
	margin(out, 1, &(SourceLines){0});
	text_format(out, "reads %u array%s and %u number%s, gives %u and %u; ", u->ninputs,
	            u->ninputs == 1 ? "" : "s", u->nwords, u->nwords == 1 ? "" : "s", u->noutputs,
	            u->nresults);
	describe_amount(out, cost->flops, "flop");
	if (!cost->exact) text_str(out, " (loops of unknown length counted once)");
	text_str(out, "; memory ");
	describe_amount(out, cost->arena_bytes, "B");
	text_str(out, ", scratch ");
	describe_amount(out, cost->scratch_bytes, "B");
	text_str(out, " for each thread\n");
}

void describe_unit(Text *out, const Lower *l) {
	const Unit *u = l->unit;
	const uint32_t nwords = u->nwords + u->nsyms + u->ndims;
	KNumber *words = ARENA_ARRAY(l->scratch, KNumber, nwords + 1);
	for (uint32_t k = 0; k < u->nsyms + u->ndims; k++) {
		const Dim dim = k < u->nsyms ? dim_sym(l->c, u->syms[k]) : u->dims[k - u->nsyms];
		KNumber *w = &words[u->nwords + k];
		w->known = l->hints && dim_eval(l->c, dim, l->hints, l->f->syms.n, &w->v);
	}
	const KCost cost = kmodule_count_ops(u->module, nwords, words, l->scratch);
	const Describe d = {.l = l, .out = out, .syms = l->hints, .values = cost.values};
	describe_costs(&d, &cost);
	describe_sched(&d, l->flow->top, 1);
	for (uint32_t i = 0; i < l->callees.n; i++) {
		const Atom name = l->callees.at[i].fn->name;
		margin(out, 1, &(SourceLines){0});
		text_format(out, "calls `%s`, a recursive function on registers\n",
		            name ? atom_text(l->c, name) : "a function");
	}
}
