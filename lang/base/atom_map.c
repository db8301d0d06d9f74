/* atom_map.c - open addressing of names in a list.
 *
 * Needs: atom_map.h.
 *
 * Contract: an entry holds where the name stood when it was entered. It counts
 * only while the list has the name there, so items that the list lost need no
 * removal.
 */
#include "lang/base/atom_map.h"

enum { SHORT = 16 }; /* items that are searched one by one */

static Atom name_at(const void *items, size_t item_bytes, uint32_t i) {
	return *(const Atom *)((const char *)items + i * item_bytes);
}

/* The slot of the name, or the free one where it belongs. */
static uint64_t *slot_of(const AtomMap *m, Atom name) {
	uint32_t i = name * 0x9e3779b1u;
	for (i ^= i >> 16;; i++) {
		uint64_t *slot = &m->slots[i & (m->size - 1)];
		if (!*slot || (Atom)(*slot >> 32) == name) return slot;
	}
}

void atom_map_cover(Arena *a, AtomMap *m, const void *items, size_t item_bytes, uint32_t n) {
	if (m->n > n) m->n = n;
	if (n <= SHORT) return;
	/* Names that the list has lost keep their slots, so a full table may hold
	 * fewer than n items of the list. */
	if (m->used + (n - m->n) > m->size / 2) {
		m->size = 64;
		while (m->size < 4 * (uint64_t)n) m->size *= 2;
		m->slots = ARENA_ARRAY(a, uint64_t, m->size);
		m->n = m->used = 0;
	}
	for (; m->n < n; m->n++) {
		const Atom name = name_at(items, item_bytes, m->n);
		uint64_t *slot = slot_of(m, name);
		m->used += !*slot;
		*slot = (uint64_t)name << 32 | (m->n + 1);
	}
}

uint32_t atom_map_find(const AtomMap *m, const void *items, size_t item_bytes, uint32_t n,
                       Atom name) {
	if (n <= SHORT || m->n != n) {
		for (uint32_t i = n; i-- > 0;)
			if (name_at(items, item_bytes, i) == name) return i;
		return ATOM_MAP_NONE;
	}
	const uint32_t place = (uint32_t)*slot_of(m, name);
	if (!place || place > n || name_at(items, item_bytes, place - 1) != name) return ATOM_MAP_NONE;
	return place - 1;
}
