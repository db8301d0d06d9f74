/* host.c - the host functions of a context by name.
 *
 * Needs: host.h. Guarantees: a registered definition lives as long as the context; registering a name again replaces it;
 * what `ud` points to is the registrant's, who outlives the context's calls.
 */
#include "lang/host.h"

typedef struct HostEntry {
	HostDef def;
	struct HostEntry *next;
} HostEntry;

void host_register(Ctx *c, const HostDef *def) {
	Arena *a = ctx_arena(c);
	HostEntry **head = ctx_slot(c, SLOT_HOSTS);
	if (!head) {
		head = ARENA_NEW(a, HostEntry *);
		ctx_set_slot(c, SLOT_HOSTS, head, NULL);
	}
	HostEntry *e = ARENA_NEW(a, HostEntry);
	e->def = *def;
	e->def.name = arena_copy(a, def->name, strlen(def->name));
	e->next = *head;
	*head = e;
}

const HostDef *host_find(const Ctx *c, const char *name) {
	HostEntry **head = ctx_slot(c, SLOT_HOSTS);
	for (HostEntry *e = head ? *head : NULL; e; e = e->next)
		if (!strcmp(e->def.name, name)) return &e->def;
	return NULL;
}
