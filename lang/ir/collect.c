/* collect.c - freeing of functions that only reference each other.
 *
 * Needs: state.h.
 *
 * Method: trial deletion (Bacon and Rajan). The references among the candidates
 * are subtracted from their counts. What has references left is in use, and so
 * is everything that it references. The other candidates are freed.
 *
 * Contract:
 * - A reference that is not enumerated here keeps its function: it is counted
 *   as one from outside.
 * - Older functions mention no younger host call, because a function is
 *   immutable once it is finished. The definition of an older call may gain
 *   younger functions.
 * - Nothing is freed when memory fails, or while a function is being built.
 */
#include "lang/ir/state.h"

typedef struct Collection {
	Ctx *c;
	IrState *st;
	FnId first;        /* functions from here on are candidates */
	Fn **fns;          /* they, each with its index in `candidate` */
	uint32_t nfns;     /* their number */
	HostId first_host; /* host calls from here on are candidates */
	uint32_t *outside; /* by candidate: references from elsewhere */
	bool *fn_used, *host_used;
	uint32_t *queue; /* used candidates */
	uint32_t n;
} Collection;

static bool candidate(const Collection *k, const Fn *f) { return f && f->id >= k->first; }

/* Visits the functions and host calls of which f holds a reference, once for
 * each reference. */
static void each_reference(const Collection *k, const Fn *f, const RefVisitor *v) {
	const FnHooks *hooks = &k->st->hooks;
	for (uint32_t i = 0; i < f->insts.n; i++) {
		const Inst *in = &f->insts.at[i];
		if (in->op == OP_CALL) {
			Fn *callee = inst_callee(k->c, in);
			if (callee && callee != f) v->fn(v->ud, callee);
		} else if (in->op == OP_HOST) {
			v->host(v->ud, (HostId)attr_int(k->c, OP_HOST, in->attr, 0));
		}
	}
	if (f->derived && hooks->each_derived) hooks->each_derived(f->derived, v);
	if (f->code && hooks->each_code) hooks->each_code(f->code, v);
}

static void host_references(const Collection *k, HostId id, const RefVisitor *v) {
	const HostCall *h = k->st->hosts.at[id];
	for (uint32_t i = 0; i < h->nfns; i++) v->fn(v->ud, h->fns[i]);
}

/* ---- counting ------------------------------------------------------------ */

static void subtract(void *ud, Fn *f) {
	const Collection *k = ud;
	if (candidate(k, f)) k->outside[f->candidate]--;
}

static void no_host(void *ud, HostId id) { (void)ud, (void)id; }

static void count(Collection *k) {
	const RefVisitor v = {.ud = k, .fn = subtract, .host = no_host};
	for (uint32_t i = 0; i < k->nfns; i++) {
		k->outside[i] += k->fns[i]->refs;
		each_reference(k, k->fns[i], &v);
	}
	for (HostId id = k->first_host; id < k->st->hosts.n; id++) {
		const HostCall *h = k->st->hosts.at[id];
		if (!h) continue;
		host_references(k, id, &v);
		/* A definition may be that of several calls. */
		if (h->def->each_ud && !host_def_visited(h->def, k->st->collections))
			h->def->each_ud(h->def->ud, &v);
	}
}

/* ---- marking ------------------------------------------------------------- */

static void use_fn(void *ud, Fn *f) {
	Collection *k = ud;
	if (!candidate(k, f) || k->fn_used[f->candidate]) return;
	k->fn_used[f->candidate] = true;
	k->queue[k->n++] = f->candidate;
}

static void use_host(void *ud, HostId id) {
	Collection *k = ud;
	if (id < k->first_host || k->host_used[id - k->first_host]) return;
	k->host_used[id - k->first_host] = true;
	const RefVisitor v = {.ud = k, .fn = use_fn, .host = use_host};
	host_references(k, id, &v);
	const HostDef *d = k->st->hosts.at[id]->def;
	if (d->each_ud) d->each_ud(d->ud, &v);
}

static void mark(Collection *k) {
	const RefVisitor v = {.ud = k, .fn = use_fn, .host = use_host};
	/* Definitions of older calls gain functions later: batched rules. */
	for (HostId id = 1; id < k->first_host && id < k->st->hosts.n; id++) {
		const HostDef *d = k->st->hosts.at[id] ? k->st->hosts.at[id]->def : NULL;
		if (d && d->each_ud) d->each_ud(d->ud, &v);
	}
	for (uint32_t i = 0; i < k->nfns; i++)
		if (k->outside[i]) use_fn(k, k->fns[i]);
	for (uint32_t i = 0; i < k->n; i++) each_reference(k, k->fns[k->queue[i]], &v);
}

/* ---- freeing ------------------------------------------------------------- */

static void sweep_hosts(Collection *k) {
	IrState *st = k->st;
	for (HostId id = k->first_host; id < st->hosts.n; id++)
		if (st->hosts.at[id] && !k->host_used[id - k->first_host]) host_call_forget(k->c, id);
}

static void sweep(Collection *k) {
	/* All are pinned first, so that none is freed while another releases it. */
	for (uint32_t i = 0; i < k->nfns; i++)
		if (!k->fn_used[i]) k->fns[i]->refs = UINT32_MAX / 2;
	sweep_hosts(k);
	for (uint32_t i = 0; i < k->nfns; i++)
		if (!k->fn_used[i]) fn_release_contents(k->fns[i]);
	for (uint32_t i = 0; i < k->nfns; i++) {
		if (k->fn_used[i]) continue;
		fn_forget(k->st, k->fns[i]->id);
		arena_free(k->fns[i]->arena);
	}
}

void fn_collect(Ctx *c, FnId first, HostId first_host) {
	IrState *st = ir_state(c);
	if (st->open) return;
	Collection k = {.c = c, .st = st, .first = first ? first : 1};
	k.first_host = first_host ? first_host : 1;
	size_t fns = 0;
	for (const Fn *f = fn_from(c, k.first); f; f = fn_from(c, f->id + 1)) fns++;
	const size_t hosts = st->hosts.n > k.first_host ? st->hosts.n - k.first_host : 0,
				 bytes = fns * (sizeof *k.fns + sizeof *k.outside + sizeof *k.queue + 1) + hosts;
	if (!bytes) return;
	char *block = heap_alloc(c, bytes);
	if (!block) return;
	memset(block, 0, bytes);
	k.fns = (Fn **)(void *)block;
	k.outside = (uint32_t *)(void *)(k.fns + fns);
	k.queue = k.outside + fns;
	k.fn_used = (bool *)(k.queue + fns);
	k.host_used = k.fn_used + fns;
	for (Fn *f = fn_from(c, k.first); f; f = fn_from(c, f->id + 1)) {
		f->candidate = k.nfns;
		k.fns[k.nfns++] = f;
	}
	st->collections++;
	count(&k);
	mark(&k);
	sweep(&k);
	heap_free(c, block, bytes);
}
