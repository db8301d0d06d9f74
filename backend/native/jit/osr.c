/* osr.c - on-stack replacement of long loops by machine code.
 *
 * The remainder of a running loop becomes a function of its own.
 *
 * Needs: tier.h.
 *
 * Contract:
 * - The function runs the remaining iterations from the current carried values.
 *   Everything else that the loop reads is passed as an argument.
 * - When this is impossible, the evaluator continues with the loop.
 */
#include "backend/native/jit/tier.h"

typedef struct Osr {
	const Fn *f;
	const Inst *in;
	Arena *keep;
	Builder *b;
	RefMap map;
	OsrLoop *made;
	Arena *scratch;
	VEC(uint32_t) free; /* values defined outside the loop */
	VEC(SymId) syms;    /* extents that no argument determines */
	bool *inside, *met, *shown, *wanted, *known;
} Osr;

static const Region *region_of(const Osr *o, uint32_t k) { return inst_region(o->f, o->in, k); }

static void want_sym(void *ud, SymId s) { ((Osr *)ud)->wanted[s] = true; }

static void want_type(Osr *o, TypeId t) {
	Type ty = *type_of(o->f->ctx, t);
	for (uint32_t i = 0; ty.kind == TY_TENSOR && i < ty.rank; i++)
		dim_each_sym(o->f->ctx, ty.dims[i], want_sym, o);
}

static void meet_ref(Osr *o, Ref r) {
	if (!ref_is_value(r)) return;
	uint32_t v = REF_INDEX(r);
	if (o->inside[v] || o->met[v]) return;
	o->met[v] = true;
	VEC_PUSH(o->scratch, &o->free, v);
}

static void look_inside(Osr *o, const Region *g, bool mark) {
	const Fn *f = o->f;
	for (uint32_t k = 0; k < g->nparams; k++) {
		o->inside[g->params + k] = true;
		want_type(o, f->vals.at[g->params + k].type);
	}
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[g->insts + i]];
		for (uint32_t k = 0; k < in->nresults; k++) {
			o->inside[in->results + k] = true;
			want_type(o, f->vals.at[in->results + k].type);
		}
		for (uint32_t k = 0; !mark && k < in->nargs; k++) meet_ref(o, inst_arg(f, in, k));
		uint32_t field = 0;
		for (const char *t = prims[in->op].attr; *t && in->attr; t++) {
			if (*t != ':') continue;
			uint32_t n;
			const int64_t *words = attr_field(f->ctx, (Op)in->op, in->attr, field++, &n);
			for (uint32_t k = 0; k < n && t[1] == 'D'; k++)
				dim_each_sym(f->ctx, (Dim)words[k], want_sym, o);
			for (uint32_t k = 0; k < n && t[1] == 'y'; k++) want_type(o, (TypeId)words[k]);
		}
		for (uint32_t k = 0; k < in->nregions; k++) look_inside(o, inst_region(f, in, k), mark);
	}
	for (uint32_t k = 0; !mark && k < g->nresults; k++) meet_ref(o, f->args.at[g->results + k]);
}

/* Marks the symbols that are an extent of the type by themselves. */
static void show_type(Osr *o, TypeId t) {
	Type ty = *type_of(o->f->ctx, t);
	SymId s;
	for (uint32_t i = 0; ty.kind == TY_TENSOR && i < ty.rank; i++)
		if (dim_is_sym(o->f->ctx, ty.dims[i], &s)) o->shown[s] = true;
}

/* Symbols defined inside the loop need no argument. */
static void show_definitions(Osr *o, const Region *g) {
	const Fn *f = o->f;
	for (uint32_t k = 0; k < g->nparams; k++) show_type(o, f->vals.at[g->params + k].type);
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[g->insts + i]];
		SymId s;
		if (in->op == OP_BIND &&
		    dim_is_sym(f->ctx, (Dim)attr_int(f->ctx, OP_BIND, in->attr, 0), &s))
			o->shown[s] = true;
		for (uint32_t k = 0; k < in->nregions; k++) show_definitions(o, inst_region(f, in, k));
	}
}

static void know_type(Osr *o, TypeId t) {
	Type ty = *type_of(o->f->ctx, t);
	SymId s;
	for (uint32_t i = 0; ty.kind == TY_TENSOR && i < ty.rank; i++)
		if (dim_is_sym(o->f->ctx, ty.dims[i], &s)) o->known[s] = true;
}

/* Marks the symbols defined before the loop and returns whether the loop was
 * reached. Results inside the loop define the others. */
static bool know_before(Osr *o, const Region *g) {
	const Fn *f = o->f;
	for (uint32_t k = 0; k < g->nparams; k++) know_type(o, f->vals.at[g->params + k].type);
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[g->insts + i]];
		SymId s;
		if (in == o->in) return true;
		for (uint32_t k = 0; k < in->nregions; k++)
			if (know_before(o, inst_region(f, in, k))) return true;
		if (in->op == OP_BIND &&
		    dim_is_sym(f->ctx, (Dim)attr_int(f->ctx, OP_BIND, in->attr, 0), &s))
			o->known[s] = true;
		for (uint32_t k = 0; k < in->nresults; k++) know_type(o, f->vals.at[in->results + k].type);
	}
	return false;
}

static Ref mapped(Osr *o, Ref r) { return refmap_get(o->b, &o->map, r); }

static RegionId copy_region(Osr *o, uint32_t k, Ref from) {
	const Region g = *region_of(o, k);
	Builder *b = o->b;
	TypeId *types = ARENA_ARRAY(o->scratch, TypeId, g.nparams + 1);
	Ref *params = ARENA_ARRAY(o->scratch, Ref, g.nparams + 1),
		*results = ARENA_ARRAY(o->scratch, Ref, g.nresults + 1);
	for (uint32_t i = 0; i < g.nparams; i++) types[i] = o->f->vals.at[g.params + i].type;
	OpenRegion *open = build_region_begin(b, g.nparams, types, params);
	for (uint32_t i = 0; i < g.nparams; i++)
		refmap_set(&o->map, ref_value(g.params + i), params[i]);
	if (from) refmap_set(&o->map, ref_value(g.params), build2(b, OP_ADD, params[0], from));
	for (uint32_t i = 0; i < g.ninsts; i++)
		build_copy_inst(b, &o->map, &o->f->insts.at[o->f->inst_order.at[g.insts + i]]);
	for (uint32_t i = 0; i < g.nresults; i++) results[i] = mapped(o, o->f->args.at[g.results + i]);
	return build_region_end(b, open, g.nresults, results);
}

static void run_osr(Ctx *c, void *arg) {
	Osr *o = arg;
	const Fn *f = o->f;
	const Inst *in = o->in;
	const bool counted = in->op == OP_FOR;
	o->scratch = arena_new(c);
	o->inside = ARENA_ARRAY(o->scratch, bool, f->vals.n + 1);
	o->met = ARENA_ARRAY(o->scratch, bool, f->vals.n + 1);
	o->shown = ARENA_ARRAY(o->scratch, bool, f->syms.n + 1);
	o->wanted = ARENA_ARRAY(o->scratch, bool, f->syms.n + 1);
	for (uint32_t k = 0; k < in->nregions; k++) look_inside(o, region_of(o, k), true);
	for (uint32_t k = 0; k < in->nregions; k++) look_inside(o, region_of(o, k), false);
	const uint32_t first = counted ? 1 : 0;
	for (uint32_t k = 0; k < in->nresults; k++)
		show_type(o, ref_type(f, inst_arg(f, in, first + k)));
	for (uint32_t i = 0; i < o->free.n; i++) {
		/* An extent that occurs only in a product: machine code needs it to
		 * read the array. */
		want_type(o, f->vals.at[o->free.at[i]].type);
		show_type(o, f->vals.at[o->free.at[i]].type);
	}
	for (uint32_t k = 0; k < in->nregions; k++) show_definitions(o, region_of(o, k));
	o->known = ARENA_ARRAY(o->scratch, bool, f->syms.n + 1);
	know_before(o, &f->regions.at[0]);
	for (SymId s = 0; s < f->syms.n; s++)
		if (o->wanted[s] && !o->shown[s] && o->known[s]) VEC_PUSH(o->scratch, &o->syms, s);

	Builder *b = o->b = build_begin(c, 0, in->span, f);
	build_at(b, in->span);
	o->map = refmap_new(b, f, true);
	TypeId i64 = type_scalar(c, DT_I64);
	Ref from = counted ? build_param(b, i64, 0) : REF_NONE,
		to = counted ? build_param(b, i64, 0) : REF_NONE;
	Ref *carried = ARENA_ARRAY(o->scratch, Ref, in->nresults + 1),
		*results = ARENA_ARRAY(o->scratch, Ref, in->nresults + 1);
	for (uint32_t k = 0; k < in->nresults; k++)
		carried[k] = build_param(b, ref_type(f, inst_arg(f, in, first + k)), 0);
	for (uint32_t i = 0; i < o->free.n; i++) {
		const Val *v = &f->vals.at[o->free.at[i]];
		refmap_set(&o->map, ref_value(o->free.at[i]), build_param(b, v->type, v->name));
	}
	Ref *lengths = ARENA_ARRAY(o->scratch, Ref, o->syms.n + 1);
	for (uint32_t i = 0; i < o->syms.n; i++) lengths[i] = build_param(b, i64, 0);
	for (uint32_t i = 0; i < o->syms.n; i++)
		build(b, OP_BIND, 1, &lengths[i], attr_intern(c, (int64_t[]){dim_sym(c, o->syms.at[i])}, 1),
		      NULL);
	if (counted)
		build_for(b, build2(b, OP_SUB, to, from), in->nresults, carried, copy_region(o, 0, from),
		          results);
	else {
		RegionId cond = copy_region(o, 0, REF_NONE), body = copy_region(o, 1, REF_NONE);
		build_while(b, in->nresults, carried, cond, body, results);
	}
	OsrLoop *made = arena_alloc(o->keep, sizeof *made);
	uint32_t *values = arena_alloc(o->keep, (o->free.n + o->syms.n + 1) * sizeof *values);
	for (uint32_t i = 0; i < o->free.n; i++) values[i] = o->free.at[i];
	for (uint32_t i = 0; i < o->syms.n; i++) values[o->free.n + i] = o->syms.at[i];
	*made = (OsrLoop){
		.nfree = o->free.n, .nsyms = o->syms.n, .free = values, .syms = values + o->free.n};
	made->fn = build_end(b, in->nresults, results);
	o->made = made;
}

/* Whether the carried types stay the same in all iterations. Others would need
 * extents of their own. */
static bool steady(const Fn *f, const Inst *in) {
	const uint32_t first = in->op == OP_FOR ? 1 : 0;
	for (uint32_t k = 0; k < in->nresults; k++) {
		TypeId t = ref_type(f, inst_arg(f, in, first + k));
		if (t != ref_type(f, inst_result(in, k))) return false;
		for (uint32_t r = 0; r < in->nregions; r++)
			if (t != f->vals.at[inst_region(f, in, r)->params + (in->op == OP_FOR) + k].type)
				return false;
	}
	return true;
}

OsrLoop *native_osr(Ctx *c, const Fn *f, InstId inst, Arena *keep) {
	Osr o = {.f = f, .in = &f->insts.at[inst], .keep = keep};
	if (!steady(f, o.in)) return NULL;
	const uint32_t mark = build_mark(c), diags = diag_total(c);
	if (ctx_protect(c, run_osr, &o) != ST_OK) {
		build_unwind(c, mark);
		diag_truncate(c, diags);
	}
	arena_free(o.scratch);
	return o.made;
}
