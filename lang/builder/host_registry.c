/* host_registry.c - the registry of a context's host functions by name.
 *
 * Needs: host.h.
 *
 * Contract:
 * - A registered definition lives as long as the context.
 * - Registering a name again replaces it.
 * - The registrant owns what `ud` points to; it must outlive the context's
 *   calls.
 */
#include "lang/ir/host.h"

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

/* ---- host functions defined by an IR function ---------------------------- */

typedef struct FreshSyms {
	/* the caller's dims of the function's symbols; UINT32_MAX: no operand
	 * determines it */
	const Dim *map;
	uint32_t nsyms;
	bool unknown;
	VEC(Dim) from, to;
} FreshSyms;

static void see_symbol(void *ud, SymId s) {
	FreshSyms *w = ud;
	w->unknown |= s >= w->nsyms || w->map[s] == UINT32_MAX;
}

static Dim fresh_dim(Builder *b, Arena *a, FreshSyms *w, Dim d) {
	w->unknown = false;
	dim_each_sym(build_ctx(b), d, see_symbol, w);
	if (!w->unknown) return dim_subst(build_ctx(b), d, w->map, w->nsyms);
	for (uint32_t k = 0; k < w->from.n; k++)
		if (w->from.at[k] == d) return w->to.at[k];
	Dim fresh = build_fresh_dim(b, 0, build_span(b));
	VEC_PUSH(a, &w->from, d);
	VEC_PUSH(a, &w->to, fresh);
	return fresh;
}

/* The function's result types in terms of the operands' extents; extents
 * defined inside the function become fresh symbols. */
uint32_t host_value_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                          TypeId *out, uint32_t cap) {
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
			if (dim_is_sym(c, p->dims[k], &s) && s < nsyms && map[s] == UINT32_MAX)
				map[s] = build_canon(b, q->dims[k]);
		}
	}
	/* A result extent that the operands do not determine gets one fresh symbol
	 * for the whole dim, even for a compound one. */
	FreshSyms fresh = {.map = map, .nsyms = nsyms};
	for (uint32_t i = 0; i < n && i < cap; i++) {
		Type t = *ref_ty(fn, fn_result(fn, i));
		for (uint32_t k = 0; t.kind == TY_TENSOR && k < t.rank; k++)
			t.dims[k] = fresh_dim(b, a, &fresh, t.dims[k]);
		out[i] = t.kind == TY_TENSOR ? type_tensor(c, (Dtype)t.dtype, t.rank, t.dims)
		                             : ref_type(fn, fn_result(fn, i));
	}
	arena_free(a);
	return n;
}

Status host_value_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                       uint32_t nresults, Value *results) {
	(void)nargs;
	for (uint32_t i = 0; i < nresults; i++) results[i].kind = V_UNSET;
	return ir_services(c)->run(c, call->fns[0], args, results);
}
