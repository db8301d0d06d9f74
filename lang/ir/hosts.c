/* hosts.c - the host calls of a context, each of which exists once.
 *
 * Needs: state.h.
 *
 * Contract:
 * - Equal calls have one id, and equal definitions one copy. Both are found in
 *   constant time.
 * - A throw leaves the tables unchanged.
 */
#include "lang/ir/state.h"

#ifdef ATLED_STRESS
#define BUCKETS_FIRST 2u
#else
#define BUCKETS_FIRST 64u
#endif

typedef struct KnownDef {
	HostLink link;
	uint32_t calls; /* calls that have this definition */
	uint32_t seen;  /* number of the last collection that visited it */
	HostDef def;
} KnownDef;

typedef struct KnownCall {
	HostLink link;
	HostCall call;
} KnownCall;

static KnownDef *known_def(const HostDef *d) {
	return (KnownDef *)(void *)((char *)(uintptr_t)d - offsetof(KnownDef, def));
}
static KnownCall *known_call(const HostCall *h) {
	return (KnownCall *)(void *)((char *)(uintptr_t)h - offsetof(KnownCall, call));
}

static size_t def_bytes(const KnownDef *d) { return sizeof *d + strlen(d->def.name) + 1; }
static size_t call_bytes(uint32_t nfns, uint32_t noptions) {
	return sizeof(KnownCall) + nfns * sizeof(Fn *) + noptions * sizeof(int64_t);
}

/* ---- tables -------------------------------------------------------------- */

static HostLink **bucket_of(const HostTable *t, uint32_t hash) {
	return &t->buckets[hash & (t->count - 1)];
}

static void put(HostTable *t, HostLink *l) {
	HostLink **bucket = bucket_of(t, l->hash);
	l->next = *bucket;
	*bucket = l;
	t->n++;
}

static void take(HostTable *t, const HostLink *l) {
	HostLink **at = bucket_of(t, l->hash);
	while (*at != l) at = &(*at)->next;
	*at = l->next;
	t->n--;
}

/* Makes room for one more. */
static void reserve(Ctx *c, HostTable *t) {
	if (t->n < t->count) return;
	HostTable more = {.count = t->count ? 2 * t->count : BUCKETS_FIRST};
	more.buckets = heap_alloc(c, more.count * sizeof *more.buckets);
	if (!more.buckets) ctx_throw(c, ST_NOMEM);
	memset(more.buckets, 0, more.count * sizeof *more.buckets);
	for (uint32_t i = 0; i < t->count; i++)
		for (HostLink *l = t->buckets[i], *next; l; l = next) {
			next = l->next;
			put(&more, l);
		}
	heap_free(c, t->buckets, t->count * sizeof *t->buckets);
	*t = more;
}

/* ---- keys ---------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t word) {
	h = (h ^ word) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint32_t hash_def(const HostDef *d) {
	uint64_t h = mix(0, (uintptr_t)d->ud);
	for (const char *p = d->name; *p; p++) h = mix(h, (unsigned char)*p);
	return (uint32_t)h;
}

static uint32_t hash_call(const HostDef *d, uint32_t nfns, Fn *const *fns, uint32_t noptions,
                          const int64_t *options) {
	uint64_t h = mix(nfns, (uintptr_t)d);
	for (uint32_t i = 0; i < nfns; i++) h = mix(h, (uintptr_t)fns[i]);
	for (uint32_t i = 0; i < noptions; i++) h = mix(h, (uint64_t)options[i]);
	return (uint32_t)h;
}

static bool same_def(const HostDef *a, const HostDef *b) {
	return !strcmp(a->name, b->name) && a->ud == b->ud && a->types == b->types &&
	       a->eval == b->eval && a->jvp == b->jvp && a->transpose == b->transpose &&
	       a->batch == b->batch && a->free_ud == b->free_ud;
}

/* ---- definitions --------------------------------------------------------- */

static KnownDef *intern_def(Ctx *c, HostTable *t, const HostDef *def) {
	reserve(c, t);
	const uint32_t hash = hash_def(def);
	for (HostLink *l = *bucket_of(t, hash); l; l = l->next) {
		KnownDef *d = (KnownDef *)(void *)l;
		if (l->hash == hash && same_def(&d->def, def)) return d;
	}
	const size_t named = strlen(def->name) + 1;
	KnownDef *d = heap_alloc(c, sizeof *d + named);
	if (!d) ctx_throw(c, ST_NOMEM);
	*d = (KnownDef){.link.hash = hash, .def = *def};
	d->def.name = memcpy(d + 1, def->name, named);
	put(t, &d->link);
	return d;
}

bool host_def_visited(const HostDef *def, uint32_t collection) {
	KnownDef *d = known_def(def);
	const bool before = d->seen == collection;
	d->seen = collection;
	return before;
}

/* ---- calls --------------------------------------------------------------- */

HostId host_call_intern(Ctx *c, const HostDef *def, uint32_t nfns, Fn *const *fns,
                        uint32_t noptions, const int64_t *options) {
	IrState *st = ir_state(c);
	KnownDef *known = intern_def(c, &st->host_defs, def);
	HostTable *t = &st->host_calls;
	reserve(c, t);
	const uint32_t hash = hash_call(&known->def, nfns, fns, noptions, options);
	for (const HostLink *l = *bucket_of(t, hash); l; l = l->next) {
		const HostCall *h = &((const KnownCall *)(const void *)l)->call;
		if (l->hash == hash && h->def == &known->def && h->nfns == nfns &&
		    h->noptions == noptions && (!nfns || !memcmp(h->fns, fns, nfns * sizeof *fns)) &&
		    (!noptions || !memcmp(h->options, options, noptions * sizeof *options)))
			return h->id;
	}
	VEC_RESERVE(ctx_arena(c), &st->hosts, st->hosts.n + 1);
	KnownCall *k = heap_alloc(c, call_bytes(nfns, noptions));
	if (!k) ctx_throw(c, ST_NOMEM);
	int64_t *copy = (int64_t *)(void *)(k + 1);
	*k = (KnownCall){.link.hash = hash,
	                 .call = {.def = &known->def,
	                          .id = st->hosts.n,
	                          .nfns = nfns,
	                          .fns = (Fn **)(void *)(copy + noptions),
	                          .noptions = noptions,
	                          .options = copy}};
	if (nfns) memcpy(k->call.fns, fns, nfns * sizeof *fns);
	if (noptions) memcpy(copy, options, noptions * sizeof *options);
	put(t, &k->link);
	st->hosts.at[st->hosts.n++] = &k->call;
	known->calls++;
	for (uint32_t i = 0; i < nfns; i++) fn_ref(fns[i]);
	return k->call.id;
}

void host_call_forget(Ctx *c, HostId id) {
	IrState *st = ir_state(c);
	KnownCall *k = known_call(st->hosts.at[id]);
	st->hosts.at[id] = NULL;
	while (st->hosts.n > 1 && !st->hosts.at[st->hosts.n - 1]) st->hosts.n--;
	take(&st->host_calls, &k->link);
	KnownDef *d = known_def(k->call.def);
	if (!--d->calls) {
		take(&st->host_defs, &d->link);
		if (d->def.free_ud) d->def.free_ud(c, d->def.ud);
		heap_free(c, d, def_bytes(d));
	}
	for (uint32_t i = 0; i < k->call.nfns; i++) fn_unref(k->call.fns[i]);
	heap_free(c, k, call_bytes(k->call.nfns, k->call.noptions));
}

void free_hosts(IrState *st) {
	HostTable *defs = &st->host_defs, *calls = &st->host_calls;
	for (uint32_t i = 0; i < defs->count; i++)
		for (const HostLink *l = defs->buckets[i]; l; l = l->next) {
			const HostDef *d = &((const KnownDef *)(const void *)l)->def;
			if (d->free_ud) d->free_ud(st->ctx, d->ud);
		}
	for (uint32_t i = 0; i < defs->count; i++)
		for (HostLink *l = defs->buckets[i], *next; l; l = next) {
			next = l->next;
			heap_free(st->ctx, l, def_bytes((KnownDef *)(void *)l));
		}
	for (HostId i = 1; i < st->hosts.n; i++) {
		const HostCall *h = st->hosts.at[i];
		if (h) heap_free(st->ctx, known_call(h), call_bytes(h->nfns, h->noptions));
	}
	heap_free(st->ctx, defs->buckets, defs->count * sizeof *defs->buckets);
	heap_free(st->ctx, calls->buckets, calls->count * sizeof *calls->buckets);
}

HostId host_next(const Ctx *c) {
	const IrState *st = ctx_slot(c, SLOT_IR);
	return st ? st->hosts.n : 1;
}

bool host_is_pure(const HostCall *call) {
	if (!call->def->written) return call->def->pure;
	const Fn *f = call->fns[0];
	return f->finished && !f->effects && !f->has_side_effects;
}

const HostCall *host_call(const Ctx *c, HostId id) {
	const IrState *st = ctx_slot(c, SLOT_IR);
	return st && id < st->hosts.n ? st->hosts.at[id] : NULL;
}
