/* explain.c - the derivatives that a function takes, their modes and costs: the
 * derivatives section of `plan`.
 *
 * Needs: transform_cache.h.
 *
 * Contract:
 * - Emits nothing and never throws.
 * - Operations are counted as fn_cost does, for each derivative on its own.
 *   Work that several derivatives share after inlining is counted once, in the
 *   last line only.
 */
#include "autodiff/reverse/primal_linear.h"

/* A derivative is shown beside those it contains only if at least this share of
 * its operations is its own. */
#define SHARE_LEAST 0.1
#define SHOWN_MOST 24

typedef struct ReportedFn {
	const Fn *g;
	double cost;
	/* inside a function whose extents are unknown: its context in words; else
	 * NULL */
	const char *where;
	uint32_t times;
} ReportedFn;

typedef struct Explanation {
	Ctx *c;
	uint32_t n;
	bool more;
	ReportedFn at[SHOWN_MOST];
} Explanation;

static bool is_derivative(const Fn *g) {
	const TransformInfo o = transform_info(g);
	return o.is_jvp || o.is_jet || o.is_few || o.is_gradient || o.is_linear || o.is_primal ||
	       o.is_reverse;
}

static void show(Explanation *e, const Fn *g, double cost, const char *where) {
	for (uint32_t i = 0; i < e->n; i++) {
		if (e->at[i].g != g) continue;
		e->at[i].times++;
		return;
	}
	if (e->n == SHOWN_MOST) e->more = true;
	else e->at[e->n++] = (ReportedFn){g, cost, where, 1};
}

typedef struct CallWalk {
	Explanation *e;
	double within; /* operations of the derivatives found so far */
	const char *where;
	const Fn *of; /* the function whose calls are visited */
	const struct CallWalk *outer;
} CallWalk;

static void visit(void *ud, Fn *callee, const int64_t *syms, double cost) {
	CallWalk *w = ud, inner = {.e = w->e, .where = w->where, .of = callee, .outer = w};
	const TransformInfo o = transform_info(callee);
	const uint32_t before = w->e->n;
	for (const CallWalk *outer = w; outer; outer = outer->outer)
		if (outer->of == callee) return;
	fn_calls(unoptimised_of(callee), syms, visit, &inner);
	/* A library wrapper around another derivative gets no line of its own. */
	const bool wraps =
		w->e->n > before && callee->name && atom_text(w->e->c, callee->name)[0] == '_';
	if (o.is_few) w->e->n = before; /* the one derivative inside it is the gradient itself */
	const bool own =
		is_derivative(callee) && !wraps && (o.is_few || cost - inner.within > SHARE_LEAST * cost);
	if (own) show(w->e, callee, cost, w->where);
	w->within += own ? cost : inner.within;
	/* The derivatives inlined into a sweep of reverse mode, or into a batch. */
	Fn *source = o.has_source ? fn_get(w->e->c, o.source) : NULL;
	if (!source || !source->finished) return;
	CallWalk within = {.e = w->e,
	                   .where = o.is_primal ? "in the sweeps" : "in each row",
	                   .of = callee,
	                   .outer = w};
	if (w->where) within.where = w->where;
	fn_calls(unoptimised_of(source), NULL, visit, &within);
}

/* Prints "u by x: Taylor expansion to order 3", from the name that the
 * transforms gave: u.jet3s. */
static void print_derivative(Ctx *c, const Fn *g, Text *out) {
	const char *name = g->name ? atom_text(c, g->name) : "";
	const size_t n = strcspn(name, ".");
	const Span at = span_of(c, g->span);
	uint32_t line, column;
	if ((!n || !strncmp(name, "fn.", 3) || name[0] == '_') && at.source) {
		source_position(c, at, &line, &column);
		text_format(out, "the function at %s:%u", source_name(c, at.source), line);
	} else {
		text_add(out, name, n);
	}
	const TransformInfo o = transform_info(g);
	const Fn *f = o.nested_order ? fn_get(c, o.nested_of) : NULL;
	const Atom by = f ? f->vals.at[REF_INDEX(fn_param(f, o.nested_param))].name : 0;
	if (by) text_format(out, " by %s", atom_text(c, by));
	if (o.nested_order > 1) text_format(out, ": Taylor expansion to order %u", o.nested_order);
	else if (o.is_jet)
		text_str(out, strstr(name, ".batch") ? ": Taylor expansions along several directions"
		                                     : ": Taylor expansion");
	else if (o.is_few)
		text_str(out, ": gradient, forwards, which by so few numbers costs less than going back "
		              "through the steps of an integration");
	else if (o.is_gradient) text_str(out, ": gradient, backwards");
	else if (o.is_primal) text_str(out, ": forward sweep of reverse mode");
	else if (o.is_reverse) text_str(out, ": backward sweep");
	else if (o.is_jvp) text_str(out, ": forward derivative");
	else text_str(out, ": linear part");
	const Fn *source = o.has_source ? fn_get(c, o.source) : NULL,
			 *of = o.is_gradient ? fn_get(c, o.gradient_of) : NULL;
	if ((o.is_primal && source && transform_info(source).reversed) ||
	    (of && has_reverse_override(c, of)))
		text_str(out, ", by the steps of an integration once more: of many numbers that costs less "
		              "than forwards");
}

void ad_explain(Ctx *c, Fn *f, const int64_t *syms, Text *out) {
	Explanation e = {.c = c};
	CallWalk w = {.e = &e, .of = f};
	fn_calls(unoptimised_of(f), syms, visit, &w);
	if (!e.n) return;
	text_str(out, "derivatives\n");
	for (uint32_t i = 0; i < e.n; i++) {
		text_str(out, "  ");
		print_derivative(c, e.at[i].g, out);
		if (e.at[i].where) text_format(out, ", %s", e.at[i].where);
		else text_format(out, ", %.0f operations", e.at[i].cost);
		if (e.at[i].times > 1) text_format(out, ", %u times", e.at[i].times);
		text_str(out, "\n");
	}
	if (e.more) text_str(out, "  and more\n");
	const MixedPartials mixed = mixed_partials_of(f);
	if (mixed.taken)
		text_format(out,
		            "  mixed derivatives from expansions along %s; nested they would be %.0f "
		            "operations in all\n",
		            mixed.along, fn_cost(mixed.other, syms, syms ? f->syms.n : 0));
	else if (mixed.other)
		text_format(out,
		            "  mixed derivatives nested; from expansions along %s they would be %.0f "
		            "operations in all\n",
		            mixed.along, fn_cost(mixed.other, syms, syms ? f->syms.n : 0));
	text_format(
		out, "  with everything around them, and what they share taken once: %.0f operations\n\n",
		fn_cost(f, syms, f->syms.n));
}
