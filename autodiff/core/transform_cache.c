/* transform_cache.c - the cache of transforms on each function.
 *
 * Needs: transform_cache.h.
 *
 * Contract:
 * - As in transform_cache.h. No globals: the stack of entries under
 *   construction is the context's autodiff slot.
 * - Entries and their arrays are in the arena of the function they belong to.
 *   Only references to functions have to be released.
 */
#include "autodiff/core/transform_cache.h"

typedef struct TransformSet { /* the target of Fn.derived */
	Transform *first;
	TransformInfo origin;
	Fn *unoptimised; /* one reference, or NULL */
	MixedPartials mixed_partials;
} TransformSet;

typedef struct AutodiffState {
	Transform *making; /* innermost entry under construction */
	/* finished while a `recursive` entry was under construction; the latest
	 * first */
	Transform *provisional;
	uint32_t serial;
} AutodiffState;

static AutodiffState *state_of(Ctx *c) {
	AutodiffState *st = ctx_slot(c, SLOT_AUTODIFF);
	if (st) return st;
	st = ARENA_NEW(ctx_arena(c), AutodiffState);
	ctx_set_slot(c, SLOT_AUTODIFF, st, NULL);
	return st;
}

static TransformSet *set_of(Ctx *c, Fn *f) {
	if (f->derived) return f->derived;
	TransformSet *set = ARENA_NEW(f->arena, TransformSet);
	fn_hooks(c)->free_derived = transforms_free;
	fn_hooks(c)->each_derived = transforms_each;
	f->derived = set;
	return set;
}

TransformInfo transform_info(const Fn *f) {
	const TransformSet *set = f->derived;
	return set ? set->origin : (TransformInfo){0};
}

void transform_info_set(Ctx *c, Fn *f, TransformInfo o) { set_of(c, f)->origin = o; }

Fn *unoptimised_of(Fn *f) {
	const TransformSet *set = f->derived;
	return set && set->unoptimised ? set->unoptimised : f;
}

void unoptimised_set(Ctx *c, Fn *optimised, Fn *unoptimised) {
	fn_ref(unoptimised);
	set_of(c, optimised)->unoptimised = unoptimised;
}

MixedPartials mixed_partials_of(const Fn *f) {
	const TransformSet *set = f->derived;
	return set ? set->mixed_partials : (MixedPartials){0};
}

void mixed_partials_set(Ctx *c, Fn *f, MixedPartials p) {
	TransformSet *set = set_of(c, f);
	fn_ref(p.other);
	if (set->mixed_partials.other) fn_unref(set->mixed_partials.other);
	set->mixed_partials = p;
}

/* Except for a batch, a mask omits parameters that have no tangent. */
static bool wanted(Ctx *c, const Fn *f, TransformKind transform, const bool *mask, uint32_t i) {
	return mask && mask[i] &&
	       (transform == TR_BATCH || type_has_tangent(c, ref_type(f, fn_param(f, i))));
}

/* The cached entry, or NULL. */
static Transform *find(Ctx *c, const Fn *f, TransformKind transform, uint32_t order,
                       const bool *mask) {
	const TransformSet *set = f->derived;
	for (Transform *d = set ? set->first : NULL; d; d = d->next) {
		if (d->transform != transform || d->order != order) continue;
		bool same = true;
		for (uint32_t i = 0; i < d->nmask && same; i++)
			same = d->mask[i] == wanted(c, f, transform, mask, i);
		if (same) return d;
	}
	return NULL;
}

Transform *transform_that_made(const Fn *f, const Fn *made) {
	const TransformSet *set = f->derived;
	for (Transform *d = set ? set->first : NULL; d; d = d->next)
		if (d->fn == made) return d;
	return NULL;
}

Fn *transform_own(Transform *d, Fn *fn) {
	VEC_PUSH(d->from->arena, &d->owned, fn);
	return fn;
}

void transform_wrap(Ctx *c, Transform *d) {
	Fn *f = d->from;
	const uint32_t n = fn_nparams(f);
	Ref *args = ARENA_ARRAY(d->scratch, Ref, n + 1u),
		*results = ARENA_ARRAY(d->scratch, Ref, fn_nresults(f) + 1u);
	Builder *b = build_begin(c, f->name, f->span, f);
	for (uint32_t k = 0; k < n; k++) {
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, k))];
		args[k] = build_param(b, v->type, v->name);
	}
	d->fn = build_fn(b);
	build_at(b, f->span);
	build_call(b, f, n, args, results);
	d->fn = transform_own(d, build_end(b, fn_nresults(f), results));
}

static void release(Transform *d) {
	uint32_t n = d->owned.n;
	d->owned.n = 0;
	for (uint32_t i = 0; i < n; i++) fn_unref(d->owned.at[i]);
}

void transforms_free(Ctx *c, void *derived) {
	(void)c;
	TransformSet *set = derived;
	for (Transform *d = set->first; d; d = d->next) release(d);
	if (set->unoptimised) fn_unref(set->unoptimised);
	if (set->mixed_partials.other) fn_unref(set->mixed_partials.other);
}

void transforms_each(const void *derived, const RefVisitor *v) {
	const TransformSet *set = derived;
	for (const Transform *d = set->first; d; d = d->next)
		for (uint32_t i = 0; i < d->owned.n; i++) v->fn(v->ud, d->owned.at[i]);
	if (set->unoptimised) v->fn(v->ud, set->unoptimised);
	if (set->mixed_partials.other) v->fn(v->ud, set->mixed_partials.other);
}

static void forget(Transform *d) {
	TransformSet *set = d->from->derived;
	for (Transform **at = &set->first; *at; at = &(*at)->next) {
		if (*at != d) continue;
		*at = d->next;
		break;
	}
	release(d);
}

/* ---- making -------------------------------------------------------------- */

typedef struct TransformBuild {
	Transform *d;
	void (*make)(Ctx *c, Transform *d);
} TransformBuild;

static void run_make(Ctx *c, void *arg) {
	TransformBuild *m = arg;
	m->make(c, m->d);
}

/* Finishes an entry. It stays provisional while an entry that was requested
 * during its own construction is still being made: if that one fails, calls to
 * it dangle. */
static void finish(AutodiffState *st, Transform *d) {
	d->done = true;
	bool open_call = false;
	for (const Transform *o = st->making; o; o = o->outer) open_call |= o->recursive;
	if (open_call) {
		d->provisional = st->provisional;
		st->provisional = d;
	}
	if (!st->making) st->provisional = NULL;
}

static void give_up(AutodiffState *st, Transform *d) {
	while (st->provisional && st->provisional->serial > d->serial) {
		Transform *p = st->provisional;
		st->provisional = p->provisional;
		forget(p);
	}
	forget(d);
}

Transform *transform_get(Ctx *c, Fn *f, TransformKind transform, uint32_t order, const bool *mask,
                         void (*make)(Ctx *c, Transform *d)) {
	uint32_t n = fn_nparams(f);
	TransformSet *set = set_of(c, f);
	AutodiffState *st = state_of(c);
	Transform *d = find(c, f, transform, order, mask);
	if (d) {
		if (!d->done) d->recursive = true;
		return d;
	}
	bool *kept = ARENA_ARRAY(f->arena, bool, n + 1u);
	for (uint32_t i = 0; i < n; i++) kept[i] = wanted(c, f, transform, mask, i);
	d = ARENA_NEW(f->arena, Transform);
	*d = (Transform){.next = set->first,
	                 .from = f,
	                 .transform = (uint8_t)transform,
	                 .order = order,
	                 .nmask = n,
	                 .mask = kept};
	d->result_active = ARENA_ARRAY(f->arena, bool, fn_nresults(f) + 1u);
	d->scratch = arena_new(c);
	d->serial = ++st->serial;
	d->outer = st->making;
	set->first = d;
	st->making = d;

	TransformBuild m = {.d = d, .make = make};
	uint32_t mark = build_mark(c);
	Status s = ctx_protect(c, run_make, &m);
	st->making = d->outer;
	d->outer = NULL;
	arena_free(d->scratch);
	d->scratch = NULL;
	if (s == ST_OK) {
		/* Derivatives, expansions and batches inherit the loop settings of the
		 * function. */
		const bool loops = transform == TR_JVP || transform == TR_JET || transform == TR_BATCH;
		if (loops && !transform_info(f).reverse_override) d->fn->checkpoint = f->checkpoint;
		if (transform == TR_JVP || transform == TR_JET)
			d->fn->batch_sequentially_by = f->batch_sequentially_by;
		finish(st, d);
		return d;
	}
	build_unwind(c, mark);
	give_up(st, d);
	ctx_throw(c, s);
}

/* ---- messages ------------------------------------------------------------ */

Atom transform_name(Ctx *c, const Fn *f, const char *transform) {
	return atom_f(c, "%s.%s", f->name ? atom_text(c, f->name) : "fn", transform);
}

typedef struct ResultSearch { /* a breadth-first search backward from the results of a function */
	const Fn *f;
	/* By value: the value nearer the results that uses it; NOWHERE: not
	 * visited; itself: a result. */
	uint32_t *towards;
	uint32_t *queue, n;
} ResultSearch;

enum { NOWHERE = UINT32_MAX, PATH_MOST = 8 };

static void meet(ResultSearch *w, Ref r, uint32_t towards) {
	if (!ref_is_value(r) || w->towards[REF_INDEX(r)] != NOWHERE) return;
	w->towards[REF_INDEX(r)] = towards == NOWHERE ? REF_INDEX(r) : towards;
	w->queue[w->n++] = REF_INDEX(r);
}

static void meet_region(ResultSearch *w, const Region *g, uint32_t towards) {
	for (uint32_t k = 0; k < g->nresults; k++) meet(w, w->f->args.at[g->results + k], towards);
}

static void meet_inst(ResultSearch *w, const Inst *in, uint32_t towards) {
	for (uint32_t k = 0; k < in->nargs; k++) meet(w, inst_arg(w->f, in, k), towards);
	for (uint32_t k = 0; k < in->nregions; k++) meet_region(w, inst_region(w->f, in, k), towards);
}

/* A result of the instruction that this function result depends on; NOWHERE:
 * none. */
static uint32_t find_way(ResultSearch *w, const Inst *in, Ref result) {
	const Fn *f = w->f;
	memset(w->towards, 0xff, (f->vals.n + 1u) * sizeof *w->towards);
	w->n = 0;
	meet(w, result, NOWHERE);
	for (uint32_t i = 0; i < w->n; i++) {
		const Val *v = &f->vals.at[w->queue[i]];
		InstId id = v->def != NO_INST ? v->def : f->regions.at[v->region].owner;
		if (v->def != NO_INST && &f->insts.at[id] == in) return w->queue[i];
		if (id != NO_INST) meet_inst(w, &f->insts.at[id], w->queue[i]);
	}
	return NOWHERE;
}

/* Adds "from the result: `*` at 3:11, `sum` at 2:12": how the result of f
 * depends on the instruction, the result first. Each location appears once.
 * Instructions without a location of their own, or in the library, are
 * skipped. */
static void trace_path(Ctx *c, Diag *d, const Fn *f, const Inst *in) {
	Arena *a = arena_new(c);
	ResultSearch w = {.f = f,
	                  .towards = ARENA_ARRAY(a, uint32_t, f->vals.n + 1u),
	                  .queue = ARENA_ARRAY(a, uint32_t, f->vals.n + 1u)};
	uint32_t at = NOWHERE;
	for (uint32_t k = 0; k < fn_nresults(f) && at == NOWHERE; k++)
		at = find_way(&w, in, fn_result(f, k));

	const char *path = "";
	Span last = span_of(c, in->span);
	uint32_t n = 0;
	while (at != NOWHERE && w.towards[at] != at && n < PATH_MOST) {
		at = w.towards[at];
		const Val *v = &f->vals.at[at];
		if (v->def == NO_INST) continue;
		const Inst *use = &f->insts.at[v->def];
		Span span = span_of(c, use->span);
		const char *source = source_name(c, span.source);
		if (!use->span || source[0] == '<' ||
		    (span.source == last.source && span.start == last.start && span.end == last.end))
			continue;
		uint32_t line, column;
		source_position(c, span, &line, &column);
		path = arena_printf(a, "`%s` at %u:%u%s%s", prim_spelling((Op)use->op), line, column,
		                    n ? ", " : "", path);
		last = span;
		n++;
	}
	if (n)
		diag_trace(c, d, "from the result%s: %s",
		           at != NOWHERE && w.towards[at] != at ? " (the last part)" : "", path);
	arena_free(a);
}

void no_rule(Ctx *c, const Fn *f, const Inst *in, const char *transform, const char *why) {
	const char *name = prim_spelling((Op)in->op);
	if (in->op == OP_HOST) {
		const HostCall *h = host_call(c, (HostId)attr_int(c, OP_HOST, in->attr, 0));
		if (h) name = h->def->name;
	}
	Diag *d = diag_error(c, E_NO_RULE, span_of(c, in->span), "`%s` %s", name, why);
	/* The part of the name before the first dot is the user's: f.jvp.linear is
	 * f. */
	const char *who = f->name ? atom_text(c, f->name) : "";
	if (who[0] && who[0] != '_')
		diag_trace(c, d, "in the %s of %.*s", transform, (int)strcspn(who, "."), who);
	char transforms[160];
	chain_transforms(c, in->chain, transforms, sizeof transforms);
	if (transforms[0]) diag_trace(c, d, "derived by: %s", transforms);
	trace_path(c, d, f, in);
	ctx_throw(c, ST_ERROR);
}
