/* hash_chains.h - a hash table of entries that begin with a link.
 *
 * Needs: context.h.
 *
 * Contract:
 * - The table does not own its entries. Its chains are on the context's heap.
 * - An entry is found in constant time: the caller compares those of a chain.
 */
#ifndef ATLED_LANG_BASE_HASH_CHAINS_H
#define ATLED_LANG_BASE_HASH_CHAINS_H

#include "lang/base/context.h"

typedef struct HashLink {
	struct HashLink *next;
	uint32_t hash;
} HashLink;

typedef struct HashChains {
	HashLink **chains;
	uint32_t count, n; /* chains, a power of two or 0; entries */
} HashChains;

/* Adds a word to a hash; begin with any number. */
static inline uint32_t hash_word(uint32_t hash, uint64_t word) {
	const uint64_t h = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32 ^ h);
}

/* The first link of the chain for the hash, or NULL. */
HashLink *hash_chain(const HashChains *t, uint32_t hash);
/* Makes room for one more entry. Throws ST_NOMEM, with the table unchanged. */
void hash_reserve(Ctx *c, HashChains *t);
void hash_put(HashChains *t, HashLink *l); /* after hash_reserve */
void hash_take(HashChains *t, const HashLink *l);
void hash_free(Ctx *c, HashChains *t); /* empties it */

#endif
