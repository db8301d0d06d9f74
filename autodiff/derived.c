/* derived.c - the cache of transforms that hangs on each function.
 *
 * Needs: derived.h. Guarantees: as derived.h says; no globals: the stack of entries being made is the context's autodiff slot. Entries and
 * their arrays are in the arena of the function they belong to; only references to functions have to be given back.
 */
#include "autodiff/derived.h"

typedef struct DerivedSet { /* what Fn.derived points to */
	Derived *first;
	Origin origin;
} DerivedSet;

typedef struct AutodiffState {
	Derived *making;      /* innermost entry being made */
	Derived *provisional; /* finished while a `recursive` entry was being made, the latest first */
	uint32_t serial;
} AutodiffState;

static AutodiffState *state_of(Ctx *c) {
	AutodiffState *st = ctx_slot(c, SLOT_AUTODIFF);
	if (st) return st;
	st = ARENA_NEW(ctx_arena(c), AutodiffState);
	ctx_set_slot(c, SLOT_AUTODIFF, st, NULL);
	return st;
}

static DerivedSet *set_of(Ctx *c, Fn *f) {
	if (f->derived) return f->derived;
	DerivedSet *set = ARENA_NEW(f->arena, DerivedSet);
	fn_hooks(c)->free_derived = derived_free;
	f->derived = set;
	return set;
}

Origin origin_of(const Fn *f) {
	const DerivedSet *set = f->derived;
	return set ? set->origin : (Origin){0};
}

void origin_set(Ctx *c, Fn *f, Origin o) {
	set_of(c, f)->origin = o;
}

Derived *derived_find(const Fn *f, Transform transform, uint32_t order, const bool *mask) {
	const DerivedSet *set = f->derived;
	uint32_t n = fn_nparams(f);
	for (Derived *d = set ? set->first : NULL; d; d = d->next) {
		if (d->transform != transform || d->order != order) continue;
		bool same = true;
		for (uint32_t i = 0; i < n && same; i++) same = d->mask[i] == (mask && mask[i]);
		if (same) return d;
	}
	return NULL;
}

Derived *derived_that_made(const Fn *f, const Fn *made) {
	const DerivedSet *set = f->derived;
	for (Derived *d = set ? set->first : NULL; d; d = d->next)
		if (d->fn == made) return d;
	return NULL;
}

Fn *derived_own(Derived *d, Fn *fn) {
	VEC_PUSH(d->from->arena, &d->owned, fn);
	return fn;
}

static void release(Derived *d) {
	uint32_t n = d->owned.n;
	d->owned.n = 0;
	for (uint32_t i = 0; i < n; i++) fn_unref(d->owned.at[i]);
}

void derived_free(Ctx *c, void *derived) {
	(void)c;
	DerivedSet *set = derived;
	for (Derived *d = set->first; d; d = d->next) release(d);
}

static void forget(Derived *d) {
	DerivedSet *set = d->from->derived;
	for (Derived **at = &set->first; *at; at = &(*at)->next) {
		if (*at != d) continue;
		*at = d->next;
		break;
	}
	release(d);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

typedef struct Making {
	Derived *d;
	void (*make)(Ctx *c, Derived *d);
} Making;

static void run_make(Ctx *c, void *arg) {
	Making *m = arg;
	m->make(c, m->d);
}

/* A finished entry stays provisional as long as an entry that was met unfinished is still being made: if that one fails, the calls
 * to it lead nowhere. */
static void finish(AutodiffState *st, Derived *d) {
	d->done = true;
	bool open_call = false;
	for (const Derived *o = st->making; o; o = o->outer) open_call |= o->recursive;
	if (open_call) {
		d->provisional = st->provisional;
		st->provisional = d;
	}
	if (!st->making) st->provisional = NULL;
}

static void give_up(AutodiffState *st, Derived *d) {
	while (st->provisional && st->provisional->serial > d->serial) {
		Derived *p = st->provisional;
		st->provisional = p->provisional;
		forget(p);
	}
	forget(d);
}

Derived *derived_of(Ctx *c, Fn *f, Transform transform, uint32_t order, const bool *mask, void (*make)(Ctx *c, Derived *d)) {
	uint32_t n = fn_nparams(f);
	DerivedSet *set = set_of(c, f);
	AutodiffState *st = state_of(c);
	bool *wanted = ARENA_ARRAY(f->arena, bool, n + 1u);
	for (uint32_t i = 0; i < n; i++)
		wanted[i] = mask && mask[i] && (transform == TR_BATCH || type_has_tangent(c, ref_type(f, fn_param(f, i))));
	Derived *d = derived_find(f, transform, order, wanted);
	if (d) {
		if (!d->done) d->recursive = true;
		return d;
	}
	d = ARENA_NEW(f->arena, Derived);
	*d = (Derived){.next = set->first, .from = f, .transform = (uint8_t)transform, .order = order, .nmask = n, .mask = wanted};
	d->result_active = ARENA_ARRAY(f->arena, bool, fn_nresults(f) + 1u);
	d->scratch = arena_new(c);
	d->serial = ++st->serial;
	d->outer = st->making;
	set->first = d;
	st->making = d;

	Making m = {.d = d, .make = make};
	uint32_t mark = build_mark(c);
	Status s = ctx_protect(c, run_make, &m);
	st->making = d->outer;
	d->outer = NULL;
	arena_free(d->scratch);
	d->scratch = NULL;
	if (s == ST_OK) {
		finish(st, d);
		return d;
	}
	build_unwind(c, mark);
	give_up(st, d);
	ctx_throw(c, s);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

Atom derived_name(Ctx *c, const Fn *f, const char *transform) {
	return atom_f(c, "%s.%s", f->name ? atom_text(c, f->name) : "fn", transform);
}

void no_rule(Ctx *c, const Fn *f, const Inst *in, const char *transform, const char *why) {
	const char *name = prim_spelling((Op)in->op);
	if (in->op == OP_HOST) {
		const HostCall *h = host_call(c, (HostId)attr_int(c, OP_HOST, in->attr, 0));
		if (h) name = h->def->name;
	}
	Diag *d = diag_error(c, E_NO_RULE, span_of(c, in->span), "`%s` %s", name, why);
	/* f.jvp.linear is the user's f */
	const char *who = f->name ? atom_text(c, f->name) : "";
	if (who[0] && who[0] != '_') diag_trace(c, d, "in the %s of %.*s", transform, (int)strcspn(who, "."), who);
	if (in->chain) diag_trace(c, d, "derived by: %s", chain_text(c, in->chain));
	ctx_throw(c, ST_ERROR);
}
