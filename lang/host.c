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

/* ---- functions whose value is that of another --------------------------------------------------------------------------------------------------------------- */

/* The function's result types in terms of the operands' lengths; lengths that are born inside are fresh. */
uint32_t host_value_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs, TypeId *out, uint32_t cap) {
	Ctx *c = build_ctx(b);
	const Fn *fn = call->fns[0];
	uint32_t nsyms = fn->syms.n, n = fn_nresults(fn);
	Arena *a = arena_new(c);
	Dim *map = ARENA_ARRAY(a, Dim, nsyms + 1);
	for (uint32_t s = 0; s < nsyms; s++) map[s] = UINT32_MAX;
	for (uint32_t i = 0; i < nargs && i < fn_nparams(fn); i++) {
		const Type *p = ref_ty(fn, fn_param(fn, i)), *q = ref_ty(build_fn(b), args[i]);
		for (uint32_t k = 0; p->kind == TY_TENSOR && k < p->rank; k++) {
			SymId s;
			if (dim_is_sym(c, p->dims[k], &s) && s < nsyms && map[s] == UINT32_MAX) map[s] = build_canon(b, q->dims[k]);
		}
	}
	for (uint32_t s = 0; s < nsyms; s++)
		if (map[s] == UINT32_MAX) map[s] = build_fresh_dim(b, 0, build_span(b));
	for (uint32_t i = 0; i < n && i < cap; i++) out[i] = type_subst(c, ref_type(fn, fn_result(fn, i)), map, nsyms);
	arena_free(a);
	return n;
}

Status host_value_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args, uint32_t nresults, Value *results) {
	(void)nargs;
	for (uint32_t i = 0; i < nresults; i++) results[i].kind = V_UNSET;
	return ir_services(c)->run(c, call->fns[0], args, results);
}
