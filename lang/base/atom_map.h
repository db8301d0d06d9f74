/* atom_map.h - finds a name in a list of items that begin with an Atom.
 *
 * Needs: context.h, arena.h.
 *
 * Contract:
 * - The list belongs to the caller and has no name twice. It may lose items at
 *   its end, and gain others there.
 * - After atom_map_cover, a search takes constant time. Without it, or for a
 *   short list, it takes linear time and needs no memory.
 * - The table is in the caller's arena.
 */
#ifndef ATLED_LANG_BASE_ATOM_MAP_H
#define ATLED_LANG_BASE_ATOM_MAP_H

#include "lang/base/arena.h"
#include "lang/base/context.h"

#define ATOM_MAP_NONE UINT32_MAX

typedef struct AtomMap {
	uint64_t *slots; /* name and place plus 1; 0 is free */
	uint32_t size;   /* a power of two */
	uint32_t used;   /* slots that are not free */
	uint32_t n;      /* the items that are in the table: the first n */
} AtomMap;

/* Enters the items that are not yet in the table. To be called after each
 * change of the list. */
void atom_map_cover(Arena *a, AtomMap *m, const void *items, size_t item_bytes, uint32_t n);

/* The place of the item with this name, or ATOM_MAP_NONE. */
uint32_t atom_map_find(const AtomMap *m, const void *items, size_t item_bytes, uint32_t n,
                       Atom name);

/* The same for a VEC. */
#define ATOM_MAP_COVER(arena, map, vec)                                                            \
	atom_map_cover(arena, map, (vec)->at, sizeof *(vec)->at, (vec)->n)
#define ATOM_MAP_FIND(map, vec, name)                                                              \
	atom_map_find(map, (vec)->at, sizeof *(vec)->at, (vec)->n, name)

#endif
