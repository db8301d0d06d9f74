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

typedef struct KnownDef {
	HashLink link;
	uint32_t calls; /* calls that have this definition */
	uint32_t seen;  /* number of the last collection that visited it */
	HostDef def;
} KnownDef;

typedef struct KnownCall {
	HashLink link;
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

/* ---- keys ---------------------------------------------------------------- */

static uint32_t hash_def(const HostDef *d) {
	uint32_t h = hash_word(0, (uintptr_t)d->ud);
	for (const char *p = d->name; *p; p++) h = hash_word(h, (unsigned char)*p);
	return h;
}

static uint32_t hash_call(const HostDef *d, uint32_t nfns, Fn *const *fns, uint32_t noptions,
                          const int64_t *options) {
	uint32_t h = hash_word(nfns, (uintptr_t)d);
	for (uint32_t i = 0; i < nfns; i++) h = hash_word(h, (uintptr_t)fns[i]);
	for (uint32_t i = 0; i < noptions; i++) h = hash_word(h, (uint64_t)options[i]);
	return h;
}

static bool same_def(const HostDef *a, const HostDef *b) {
	return !strcmp(a->name, b->name) && a->ud == b->ud && a->types == b->types &&
	       a->eval == b->eval && a->jvp == b->jvp && a->transpose == b->transpose &&
	       a->batch == b->batch && a->free_ud == b->free_ud;
}

/* ---- definitions --------------------------------------------------------- */

static KnownDef *find_def(const HashChains *t, const HostDef *def) {
	const uint32_t hash = hash_def(def);
	for (HashLink *l = hash_chain(t, hash); l; l = l->next) {
		KnownDef *d = (KnownDef *)(void *)l;
		if (l->hash == hash && same_def(&d->def, def)) return d;
	}
	return NULL;
}

/* A copy that is not yet in the table. NULL when memory fails. */
static KnownDef *copy_def(Ctx *c, const HostDef *def) {
	const size_t named = strlen(def->name) + 1;
	KnownDef *d = heap_alloc(c, sizeof *d + named);
	if (!d) return NULL;
	*d = (KnownDef){.link.hash = hash_def(def), .def = *def};
	d->def.name = memcpy(d + 1, def->name, named);
	return d;
}

bool host_def_visited(const HostDef *def, uint32_t collection) {
	KnownDef *d = known_def(def);
	const bool before = d->seen == collection;
	d->seen = collection;
	return before;
}

/* ---- calls --------------------------------------------------------------- */

static KnownCall *find_call(const HashChains *t, uint32_t hash, const HostDef *def, uint32_t nfns,
                            Fn *const *fns, uint32_t noptions, const int64_t *options) {
	for (HashLink *l = hash_chain(t, hash); l; l = l->next) {
		KnownCall *k = (KnownCall *)(void *)l;
		const HostCall *h = &k->call;
		if (l->hash == hash && h->def == def && h->nfns == nfns && h->noptions == noptions &&
		    (!nfns || !memcmp(h->fns, fns, nfns * sizeof *fns)) &&
		    (!noptions || !memcmp(h->options, options, noptions * sizeof *options)))
			return k;
	}
	return NULL;
}

HostId host_call_intern(Ctx *c, const HostDef *def, uint32_t nfns, Fn *const *fns,
                        uint32_t noptions, const int64_t *options) {
	IrState *st = ir_state(c);
	KnownDef *d = find_def(&st->host_defs, def);
	if (d) {
		const uint32_t hash = hash_call(&d->def, nfns, fns, noptions, options);
		const KnownCall *k =
			find_call(&st->host_calls, hash, &d->def, nfns, fns, noptions, options);
		if (k) return k->call.id;
	}
	hash_reserve(c, &st->host_defs);
	hash_reserve(c, &st->host_calls);
	VEC_RESERVE(ctx_arena(c), &st->hosts, st->hosts.n + 1);
	KnownCall *k = heap_alloc(c, call_bytes(nfns, noptions));
	KnownDef *fresh = d || !k ? NULL : copy_def(c, def);
	if (!k || !(d || fresh)) {
		heap_free(c, k, call_bytes(nfns, noptions));
		ctx_throw(c, ST_NOMEM);
	}
	if (fresh) hash_put(&st->host_defs, &fresh->link);
	d = d ? d : fresh;
	int64_t *copy = (int64_t *)(void *)(k + 1);
	*k = (KnownCall){.link.hash = hash_call(&d->def, nfns, fns, noptions, options),
	                 .call = {.def = &d->def,
	                          .id = st->hosts.n,
	                          .nfns = nfns,
	                          .fns = (Fn **)(void *)(copy + noptions),
	                          .noptions = noptions,
	                          .options = copy}};
	if (nfns) memcpy(k->call.fns, fns, nfns * sizeof *fns);
	if (noptions) memcpy(copy, options, noptions * sizeof *options);
	hash_put(&st->host_calls, &k->link);
	st->hosts.at[st->hosts.n++] = &k->call;
	d->calls++;
	for (uint32_t i = 0; i < nfns; i++) fn_ref(fns[i]);
	return k->call.id;
}

void host_call_forget(Ctx *c, HostId id) {
	IrState *st = ir_state(c);
	KnownCall *k = known_call(st->hosts.at[id]);
	st->hosts.at[id] = NULL;
	while (st->hosts.n > 1 && !st->hosts.at[st->hosts.n - 1]) st->hosts.n--;
	hash_take(&st->host_calls, &k->link);
	KnownDef *d = known_def(k->call.def);
	if (!--d->calls) {
		hash_take(&st->host_defs, &d->link);
		if (d->def.free_ud) d->def.free_ud(c, d->def.ud);
		heap_free(c, d, def_bytes(d));
	}
	for (uint32_t i = 0; i < k->call.nfns; i++) fn_unref(k->call.fns[i]);
	heap_free(c, k, call_bytes(k->call.nfns, k->call.noptions));
}

void free_hosts(IrState *st) {
	HashChains *defs = &st->host_defs;
	for (uint32_t i = 0; i < defs->count; i++)
		for (const HashLink *l = defs->chains[i]; l; l = l->next) {
			const HostDef *d = &((const KnownDef *)(const void *)l)->def;
			if (d->free_ud) d->free_ud(st->ctx, d->ud);
		}
	for (uint32_t i = 0; i < defs->count; i++)
		for (HashLink *l = defs->chains[i], *next; l; l = next) {
			next = l->next;
			heap_free(st->ctx, l, def_bytes((KnownDef *)(void *)l));
		}
	for (HostId i = 1; i < st->hosts.n; i++) {
		const HostCall *h = st->hosts.at[i];
		if (h) heap_free(st->ctx, known_call(h), call_bytes(h->nfns, h->noptions));
	}
	hash_free(st->ctx, defs);
	hash_free(st->ctx, &st->host_calls);
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
