/* copy.c - copying of instructions and whole bodies into a function under
 * construction.
 *
 * Needs: builder/internal.h.
 *
 * Contract:
 * - A copy is rebuilt, not cloned: each instruction goes through the builder
 *   again, so that operands that became constant or equal are folded.
 * - Spans, transform chains and value names are copied.
 * - Symbols defined by an instruction (loop parameters, data-dependent extents)
 *   are mapped too: refmap_set learns them from the types of the copies.
 */
#include "lang/builder/internal.h"

RefMap refmap_new(Builder *b, const Fn *from, bool same_symbols) {
	RefMap m = {.to = b, .from = from, .ndims = from->syms.n, .same_symbols = same_symbols};
	m.values = ARENA_ARRAY(b->scratch, Ref, from->vals.n + 1u);
	m.dims = ARENA_ARRAY(b->scratch, Dim, m.ndims + 1u);
	for (SymId s = 0; s < m.ndims; s++) m.dims[s] = same_symbols ? dim_sym(b->ctx, s) : NO_DIM;
	return m;
}

static _Noreturn void copy_breach(const RefMap *m, const char *what) {
	const char *name = atom_text(m->to->ctx, m->from->name);
	diag_error(m->to->ctx, E_INTERNAL, span_of(m->to->ctx, m->to->span), "copying from `%s`: %s",
	           name, what);
	ctx_throw(m->to->ctx, ST_INTERNAL);
}

Ref refmap_get(Builder *b, RefMap *m, Ref r) {
	if (ref_is_const(r))
		return m->from == b->fn ? r : build_const(b, m->from->consts.at[REF_INDEX(r)].value);
	return ref_is_value(r) && REF_INDEX(r) < m->from->vals.n ? m->values[REF_INDEX(r)] : REF_NONE;
}

void refmap_set(RefMap *m, Ref from, Ref to) {
	if (!ref_is_value(from) || REF_INDEX(from) >= m->from->vals.n)
		copy_breach(m, "a value that it does not have is mapped");
	m->values[REF_INDEX(from)] = to;
	if (to == REF_NONE) return;
	Builder *b = m->to;
	const Type old = *type_of(b->ctx, ref_type(m->from, from)),
			   new = *type_of(b->ctx, ref_type(b->fn, to));
	if (old.kind != TY_TENSOR || new.kind != TY_TENSOR || old.rank != new.rank) return;
	for (uint32_t i = 0; i < old.rank; i++) {
		SymId s;
		if (!dim_is_sym(b->ctx, old.dims[i], &s) || s >= m->ndims) continue;
		/* A rebuilt `if` or loop creates symbols of its own for extents that
		 * vary; from here on they replace the old ones. */
		if (m->dims[s] != NO_DIM && build_same_dim(b, m->dims[s], new.dims[i])) continue;
		if (m->dims[s] != NO_DIM)
			VEC_PUSH(b->scratch, &b->meant, ((Meant){&m->dims[s], m->dims[s]}));
		m->dims[s] = new.dims[i];
	}
}

static void map_symbol(void *ud, SymId s) {
	RefMap *m = ud;
	if (s < m->ndims && m->dims[s] == NO_DIM) m->dims[s] = NO_DIM - 1u;
}

/* Maps the unmapped symbols of d to fresh ones. Interning during the walk could
 * move the dim's storage, so the symbols are marked first. */
static void map_dim(Builder *b, RefMap *m, Dim d) {
	if (dim_is_const(b->ctx, d, NULL)) return;
	SymId lone;
	if (dim_is_sym(b->ctx, d, &lone)) {
		if (lone >= m->ndims || m->dims[lone] != NO_DIM) return;
		m->dims[lone] =
			build_fresh_dim(b, m->from->syms.at[lone].name, m->from->syms.at[lone].span);
		return;
	}
	dim_each_sym(b->ctx, d, map_symbol, m);
	for (SymId s = 0; s < m->ndims; s++)
		if (m->dims[s] == NO_DIM - 1u)
			m->dims[s] = build_fresh_dim(b, m->from->syms.at[s].name, m->from->syms.at[s].span);
}

static Dim refmap_dim(Builder *b, RefMap *m, Dim d) {
	map_dim(b, m, d);
	return build_canon(b, dim_subst(b->ctx, d, m->dims, m->ndims));
}

TypeId refmap_type(Builder *b, RefMap *m, TypeId t) {
	const Type old = *type_of(b->ctx, t);
	for (uint32_t i = 0; i < old.rank; i++) map_dim(b, m, old.dims[i]);
	return build_canon_type(b, type_subst(b->ctx, t, m->dims, m->ndims));
}

static AttrId refmap_attr(Builder *b, RefMap *m, Op op, AttrId attr) {
	const AttrSchema *schema = &ir_state(b->ctx)->schema[op];
	for (uint32_t k = 0; k < schema->n; k++) {
		char letter = schema->letter[k];
		if (letter != 'D' && letter != 'y') continue;
		uint32_t count;
		const int64_t *words = attr_field(b->ctx, op, attr, k, &count);
		for (uint32_t i = 0; i < count; i++) {
			if (letter == 'D') map_dim(b, m, (Dim)words[i]);
			else refmap_type(b, m, (TypeId)words[i]);
		}
	}
	return attr_subst(b->ctx, op, attr, m->dims, m->ndims);
}

static ChainId chain_join(Ctx *c, RefMap *m, ChainId outer, ChainId inner) {
	if (!outer || !inner) return outer ? outer : inner;
	if (m->joined.outer != outer || m->joined.inner != inner) {
		m->joined.both = chain_push(c, outer, chain_text(c, inner));
		m->joined.outer = outer;
		m->joined.inner = inner;
	}
	return m->joined.both;
}

static void copy_inst(Builder *b, RefMap *m, const Inst *in, ChainId prefix);

static Ref operand(Builder *b, RefMap *m, Ref from) {
	Ref r = refmap_get(b, m, from);
	if (r == REF_NONE) copy_breach(m, "an operand that has not been copied");
	return r;
}

/* An `if` whose condition has become known: copies only the taken branch, since
 * extents that are now known may be invalid in the other. */
static bool copy_taken(Builder *b, RefMap *m, const Inst *in, Ref cond, ChainId prefix,
                       Ref *results) {
	const Const *k = ref_constant(b->fn, cond);
	if (b->verbatim || !k || k->value.kind != V_SCALAR || k->value.dtype != DT_BOOL) return false;
	const Region from = m->from->regions.at[m->from->region_ids.at[in->regions + !k->value.b]];
	for (uint32_t i = 0; i < from.ninsts; i++)
		copy_inst(b, m, &m->from->insts.at[m->from->inst_order.at[from.insts + i]], prefix);
	for (uint32_t i = 0; i < from.nresults; i++)
		results[i] = operand(b, m, m->from->args.at[from.results + i]);
	return true;
}

static RegionId copy_region(Builder *b, RefMap *m, RegionId id, ChainId prefix) {
	const Region from = m->from->regions.at[id];
	TypeId *types = ARENA_ARRAY(b->scratch, TypeId, from.nparams + 1u);
	Ref *params = ARENA_ARRAY(b->scratch, Ref, from.nparams + 1u);
	for (uint32_t i = 0; i < from.nparams; i++)
		types[i] = refmap_type(b, m, m->from->vals.at[from.params + i].type);
	OpenRegion *open = build_region_begin(b, from.nparams, types, params);
	for (uint32_t i = 0; i < from.nparams; i++) {
		refmap_set(m, ref_value(from.params + i), params[i]);
		build_name(b, params[i], m->from->vals.at[from.params + i].name);
	}
	for (uint32_t i = 0; i < from.ninsts; i++)
		copy_inst(b, m, &m->from->insts.at[m->from->inst_order.at[from.insts + i]], prefix);
	Ref *results = ARENA_ARRAY(b->scratch, Ref, from.nresults + 1u);
	for (uint32_t i = 0; i < from.nresults; i++)
		results[i] = operand(b, m, m->from->args.at[from.results + i]);
	return build_region_end(b, open, from.nresults, results);
}

/* Compares the extents again in the new context: there they may be known to be
 * equal, or known to differ. */
static void copy_guard(Builder *b, RefMap *m, const Inst *in) {
	Dim x = refmap_dim(b, m, (Dim)attr_int(b->ctx, OP_GUARD, in->attr, 0));
	Dim y = refmap_dim(b, m, (Dim)attr_int(b->ctx, OP_GUARD, in->attr, 1));
	Atom what = (Atom)attr_int(b->ctx, OP_GUARD, in->attr, 2);
	if (build_unify(b, x, y, what)) return;
	diag_error(b->ctx, E_SHAPE, span_of(b->ctx, b->span), "%s: the lengths %s and %s differ",
	           atom_text(b->ctx, what), dim_words(b, x), dim_words(b, y));
	ctx_throw(b->ctx, ST_ERROR);
}

static void copy_bind(Builder *b, RefMap *m, const Inst *in, Ref scalar) {
	Dim d = (Dim)attr_int(b->ctx, OP_BIND, in->attr, 0), known = dim_known(b, scalar);
	SymId s;
	int64_t length = 0;
	bool open =
		!m->same_symbols && dim_is_sym(b->ctx, d, &s) && s < m->ndims && m->dims[s] == NO_DIM;
	/* A negative extent is not substituted; it fails at run time. */
	if (open && known != NO_DIM && (!dim_is_const(b->ctx, known, &length) || length >= 0))
		m->dims[s] = known;
	else build(b, OP_BIND, 1, &scalar, refmap_attr(b, m, OP_BIND, in->attr), NULL);
}

/* With same_symbols, an instruction that defines symbols is copied with the
 * same symbols, instead of fresh ones for each copy. types: the types of the
 * results. Returns false when the instruction must be built normally. */
static bool redefine_extents(Builder *b, RefMap *m, const Inst *in, const Ref *args,
                             const RegionId *regions, TypeId *types, Ref *results) {
	bool defines_syms = false;
	if (!m->same_symbols) return false;
	for (uint32_t k = 0; k < in->nresults; k++) {
		types[k] = refmap_type(b, m, m->from->vals.at[in->results + k].type);
		const Type t = *type_of(b->ctx, types[k]);
		for (uint32_t i = 0; i < t.rank; i++)
			defines_syms |= !dim_visible(b, t.dims[i], b->region->id);
	}
	TypeQuery q = {.b = b,
	               .op = (Op)in->op,
	               .nargs = in->nargs,
	               .args = args,
	               .attr = in->attr,
	               .here = b->region->id};
	q.nregions = in->nregions;
	q.regions = regions;
	q.stated = types;
	q.nstated = in->nresults;
	if (!defines_syms || !infer_types(&q)) return false;
	if (in->nregions)
		build_owner(b, (Op)in->op, in->nargs, args, in->attr, in->nregions, regions, in->nresults,
		            types, results);
	else build_typed(b, (Op)in->op, in->nargs, args, in->attr, in->nresults, types, results);
	return true;
}

/* Whether no value before the instruction has the symbol. */
static bool is_defined_by(const Fn *f, const Inst *in, SymId s) {
	for (uint32_t v = 0; v < in->results; v++) {
		const Type t = *type_of(f->ctx, f->vals.at[v].type);
		for (uint32_t a = 0; t.kind == TY_TENSOR && a < t.rank; a++)
			if (dim_mentions(f->ctx, t.dims[a], s)) return false;
	}
	return true;
}

static void renew_symbol(Builder *b, RefMap *m, const Inst *in, Dim d) {
	SymId s, now;
	if (!dim_is_sym(b->ctx, d, &s) || s >= m->ndims || m->dims[s] == NO_DIM) return;
	if (!dim_is_sym(b->ctx, m->dims[s], &now) || !sym_visible(b, now, b->region->id)) return;
	const bool certain = in->op == OP_NONZERO || in->op == OP_BIND;
	if (!certain && !is_defined_by(m->from, in, s)) return;
	m->dims[s] = build_fresh_dim(b, m->from->syms.at[s].name, m->from->syms.at[s].span);
}

/* The second copy of an instruction, as of an unrolled loop, defines other
 * extents than the first. */
static void renew_symbols(Builder *b, RefMap *m, const Inst *in) {
	if (in->op == OP_NONZERO || in->op == OP_BIND)
		renew_symbol(b, m, in, (Dim)attr_int(b->ctx, (Op)in->op, in->attr, 0));
	if (in->op != OP_HOST && in->op != OP_UNBOX) return;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Type t = *type_of(b->ctx, m->from->vals.at[in->results + k].type);
		for (uint32_t a = 0; t.kind == TY_TENSOR && a < t.rank; a++)
			renew_symbol(b, m, in, t.dims[a]);
	}
}

static void copy_inst(Builder *b, RefMap *m, const Inst *source, ChainId prefix) {
	Inst in = *source; /* a copy: `source` may be in the function that grows */
	const SpanId span = b->span;
	const ChainId chain = b->chain;
	const bool unasked = b->unasked;
	b->unasked |= in.unasked;
	if (in.span) build_at(b, in.span);
	build_chain(b, chain_join(b->ctx, m, prefix, in.chain));

	Ref *args = ARENA_ARRAY(b->scratch, Ref, in.nargs + 1u);
	Ref *results = ARENA_ARRAY(b->scratch, Ref, in.nresults + 1u);
	RegionId regions[2] = {0, 0};
	for (uint32_t k = 0; k < in.nargs; k++) args[k] = operand(b, m, m->from->args.at[in.args + k]);
	if (in.nregions > 2) copy_breach(m, "an instruction with more than two regions");
	bool taken = in.op == OP_IF && copy_taken(b, m, &in, args[0], prefix, results);
	for (uint32_t k = 0; !taken && k < in.nregions; k++)
		regions[k] = copy_region(b, m, m->from->region_ids.at[in.regions + k], prefix);

	renew_symbols(b, m, &in);
	TypeId *types = ARENA_ARRAY(b->scratch, TypeId, in.nresults + 1u);
	bool bears = in.nregions || in.op == OP_CALL || in.op == OP_SVD;
	if (taken) in.op = OP_NONE;
	else if ((in.op == OP_CALL || in.op == OP_HOST || in.op == OP_SOLVED) && m->call &&
	         m->call(b, m, &in, args, results))
		in.op = OP_NONE;
	else if (bears && redefine_extents(b, m, &in, args, regions, types, results)) in.op = OP_NONE;
	switch ((Op)in.op) {
	case OP_NONE: break;
	case OP_IF: build_if(b, args[0], regions[0], regions[1], results); break;
	case OP_FOR: build_for(b, args[0], in.nargs - 1, args + 1, regions[0], results); break;
	case OP_WHILE: build_while(b, in.nargs, args, regions[0], regions[1], results); break;
	case OP_TRY: build_try(b, regions[0], regions[1], results); break;
	case OP_CALL: build_call(b, inst_callee(b->ctx, &in), in.nargs, args, results); break;
	case OP_GUARD: copy_guard(b, m, &in); break;
	case OP_BIND: copy_bind(b, m, &in, args[0]); break;
	case OP_EXTENT:
		results[0] =
			build_extent(b, refmap_dim(b, m, (Dim)attr_int(b->ctx, OP_EXTENT, in.attr, 0)));
		break;
	case OP_HOST:
		for (uint32_t k = 0; k < in.nresults; k++)
			types[k] = refmap_type(b, m, m->from->vals.at[in.results + k].type);
		build_typed(b, OP_HOST, in.nargs, args, in.attr, in.nresults, types, results);
		break;
	default:
		build(b, (Op)in.op, in.nargs, args, refmap_attr(b, m, (Op)in.op, in.attr), results);
		break;
	}

	for (uint32_t k = 0; k < in.nresults; k++) {
		refmap_set(m, ref_value(in.results + k), results[k]);
		if (ref_is_value(results[k]))
			build_name(b, results[k], m->from->vals.at[in.results + k].name);
	}
	if (m->copied) m->copied(b, m, source);
	build_at(b, span);
	build_chain(b, chain);
	b->unasked = unasked;
}

void build_copy_inst(Builder *b, RefMap *m, const Inst *in) { copy_inst(b, m, in, 0); }

void build_inline(Builder *b, const Fn *f, const Ref *args, Ref *results) {
	RefMap m = refmap_new(b, f, false);
	const Region body = f->regions.at[0];
	dims_bind_params(b, f, body.nparams, args, m.dims);
	for (uint32_t i = 0; i < body.nparams; i++) m.values[body.params + i] = args[i];
	for (uint32_t i = 0; i < body.ninsts; i++)
		copy_inst(b, &m, &f->insts.at[f->inst_order.at[body.insts + i]], b->chain);
	for (uint32_t i = 0; i < body.nresults; i++) results[i] = operand(b, &m, fn_result(f, i));
}

/* ---- walking ------------------------------------------------------------- */

static void count_region(const Fn *f, RegionId id, uint32_t *uses) {
	const Region *r = &f->regions.at[id];
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[r->insts + i]];
		for (uint32_t k = 0; k < in->nargs; k++) {
			Ref a = inst_arg(f, in, k);
			if (ref_is_value(a)) uses[REF_INDEX(a)]++;
		}
		for (uint32_t k = 0; k < in->nregions; k++)
			count_region(f, f->region_ids.at[in->regions + k], uses);
	}
	for (uint32_t i = 0; i < r->nresults; i++) {
		Ref a = f->args.at[r->results + i];
		if (ref_is_value(a)) uses[REF_INDEX(a)]++;
	}
}

void fn_count_uses(const Fn *f, uint32_t *uses) {
	if (f->vals.n) memset(uses, 0, f->vals.n * sizeof *uses);
	count_region(f, 0, uses);
}
