/* code_owner.c - which function values depend on a program of the host. */
#include "lang/base/code_owner.h"
#include "lang/base/arena.h"
#include <stdatomic.h>

typedef struct OwnerState {
	VEC(CodeOwner *) owners; /* by their nodes */
	CodeOwner *unused;
	bool removed; /* some of `owners` have no nodes */
} OwnerState;

static void free_removed(OwnerState *st) {
	const uint32_t n = st->owners.n;
	st->owners.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		CodeOwner *o = st->owners.at[i];
		if (o->end) {
			st->owners.at[st->owners.n++] = o;
			continue;
		}
		o->next = st->unused;
		st->unused = o;
	}
	st->removed = false;
}

static OwnerState *state_of(Ctx *c) {
	OwnerState *st = ctx_slot(c, SLOT_CODE_OWNERS);
	if (st) return st;
	st = ARENA_NEW(ctx_arena(c), OwnerState);
	ctx_set_slot(c, SLOT_CODE_OWNERS, st, NULL);
	return st;
}

CodeOwner *code_owner_make(Ctx *c) {
	OwnerState *st = state_of(c);
	CodeOwner *o = st->unused;
	if (o) st->unused = o->next;
	else o = ARENA_NEW(ctx_arena(c), CodeOwner);
	o->first = o->end = 0;
	atomic_store(&o->values, 0);
	atomic_store(&o->others, 0);
	atomic_store(&o->records, 0);
	o->unused = false;
	return o;
}

void code_owner_give_back(Ctx *c, CodeOwner *o) {
	OwnerState *st = ctx_slot(c, SLOT_CODE_OWNERS);
	o->next = st->unused;
	st->unused = o;
}

CodeOwner *code_owner_add(Ctx *c, uint32_t first) {
	OwnerState *st = state_of(c);
	if (st->removed) free_removed(st);
	VEC_RESERVE(ctx_arena(c), &st->owners, st->owners.n + 1);
	CodeOwner *o = code_owner_make(c);
	o->first = first;
	o->end = UINT32_MAX;
	return st->owners.at[st->owners.n++] = o;
}

void code_owner_remove(Ctx *c, CodeOwner *o) {
	OwnerState *st = ctx_slot(c, SLOT_CODE_OWNERS);
	o->end = 0;
	st->removed = true;
}

CodeOwner *code_owner_of(const Ctx *c, uint32_t node) {
	const OwnerState *st = ctx_slot(c, SLOT_CODE_OWNERS);
	uint32_t low = 0, high = st ? st->owners.n : 0; /* the owners before `low` begin at most here */
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (st->owners.at[middle]->first <= node) low = middle + 1;
		else high = middle;
	}
	return low && node < st->owners.at[low - 1]->end ? st->owners.at[low - 1] : NULL;
}

CodeOwner *code_owner_last(const Ctx *c) {
	const OwnerState *st = ctx_slot(c, SLOT_CODE_OWNERS);
	uint32_t n = st ? st->owners.n : 0;
	while (n && !st->owners.at[n - 1]->end) n--;
	return n ? st->owners.at[n - 1] : NULL;
}
