/* hash_chains.c - a hash table of entries that begin with a link. */
#include "lang/base/hash_chains.h"

#include <string.h>

#ifdef ATLED_STRESS
#define CHAINS_FIRST 2u
#else
#define CHAINS_FIRST 16u
#endif

static HashLink **chain_at(const HashChains *t, uint32_t hash) {
	return &t->chains[hash & (t->count - 1)];
}

HashLink *hash_chain(const HashChains *t, uint32_t hash) {
	return t->count ? *chain_at(t, hash) : NULL;
}

void hash_reserve(Ctx *c, HashChains *t) {
	if (t->n < t->count) return;
	HashChains more = {.count = t->count ? 2 * t->count : CHAINS_FIRST};
	more.chains = heap_alloc(c, more.count * sizeof *more.chains);
	if (!more.chains) ctx_throw(c, ST_NOMEM);
	memset(more.chains, 0, more.count * sizeof *more.chains);
	for (uint32_t i = 0; i < t->count; i++)
		for (HashLink *l = t->chains[i], *next; l; l = next) {
			next = l->next;
			hash_put(&more, l);
		}
	heap_free(c, t->chains, t->count * sizeof *t->chains);
	*t = more;
}

void hash_put(HashChains *t, HashLink *l) {
	HashLink **chain = chain_at(t, l->hash);
	l->next = *chain;
	*chain = l;
	t->n++;
}

void hash_take(HashChains *t, const HashLink *l) {
	HashLink **at = chain_at(t, l->hash);
	while (*at != l) at = &(*at)->next;
	*at = l->next;
	t->n--;
}

void hash_free(Ctx *c, HashChains *t) {
	heap_free(c, t->chains, t->count * sizeof *t->chains);
	*t = (HashChains){.n = 0};
}
