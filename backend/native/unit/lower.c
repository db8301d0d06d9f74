/* lower.c - the frame of a unit: inputs, outputs, extents, memory, callees.
 *
 * Needs: schedule.h.
 *
 * Contract:
 * - The module passes the verifier.
 * - It reads only the inputs that the unit lists, and writes every output and
 *   result.
 * - Incoming scalars and small arrays are read once, at the entry. All memory
 *   is laid out there.
 */
#include "backend/native/unit/describe.h"
#include <stdio.h>
#include <stdlib.h>

#define CALLEE_RESULTS 16 /* KFn.result_types */
#define CALLEE_PARAMS 32

/* ---- instructions that a unit can contain -------------------------------- */

typedef struct FnStack { /* functions under examination, so that recursion ends */
	const Fn *fn[16];
	uint32_t n;
} FnStack;

static bool takes(const Fn *f, const Inst *in, FnStack *asked, bool small_only);

static bool takes_type(const Fn *f, TypeId t, bool small_only) {
	const Type *ty = type_of(f->ctx, t);
	return ty->kind == TY_TENSOR && !dtype_is_complex((Dtype)ty->dtype) &&
	       (!small_only || type_is_small(f->ctx, t, NULL));
}

/* Whether the loop passes carried value k on unchanged; its type does not
 * matter then. */
static bool passes(const Fn *f, const Inst *in, uint32_t k) {
	const Region *body = inst_region(f, in, in->op == OP_FOR ? 0 : 1);
	return f->args.at[body->results + k] == ref_value(body->params + (in->op == OP_FOR) + k);
}

/* Whether machine code can carry the loop's values, or the loop passes them
 * on. */
static bool takes_carried(const Fn *f, const Inst *in, bool small_only) {
	const uint32_t first = in->op == OP_FOR;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Type *t = ref_ty(f, inst_result(in, k));
		if (t->kind != TY_TENSOR
		        ? !passes(f, in, k) || small_only
		        : !takes_type(f, ref_type(f, inst_arg(f, in, first + k)), small_only))
			return false;
	}
	return true;
}

static bool takes_region(const Fn *f, const Region *g, FnStack *asked, bool small_only) {
	for (uint32_t k = 0; k < g->nparams; k++) {
		TypeId t = f->vals.at[g->params + k].type;
		/* For others see takes_carried. */
		if (type_of(f->ctx, t)->kind == TY_TENSOR && !takes_type(f, t, small_only)) return false;
	}
	for (uint32_t i = 0; i < g->ninsts; i++)
		if (!takes(f, &f->insts.at[f->inst_order.at[g->insts + i]], asked, small_only))
			return false;
	for (uint32_t k = 0; k < g->nresults; k++) {
		TypeId t = ref_type(f, f->args.at[g->results + k]);
		if (type_of(f->ctx, t)->kind == TY_TENSOR
		        ? !takes_type(f, t, small_only)
		        : g->owner == NO_INST || f->insts.at[g->owner].op == OP_IF)
			return false;
	}
	return true;
}

static uint32_t flat_types(const Fn *f, uint32_t n, Ref (*which)(const Fn *, uint32_t)) {
	uint32_t all = 0, count;
	for (uint32_t k = 0; k < n; k++) {
		if (!type_is_small(f->ctx, ref_type(f, which(f, k)), &count)) return UINT32_MAX;
		all += count;
	}
	return all;
}

static Ref param_of(const Fn *f, uint32_t k) { return fn_param(f, k); }
static Ref result_of(const Fn *f, uint32_t k) { return fn_result(f, k); }

/* Whether g, and everything it calls, works on small values. */
static bool takes_callee(const Fn *g, FnStack *asked) {
	if (!g || !g->finished || g->effects || g->syms.n) return false;
	for (uint32_t i = 0; i < asked->n; i++)
		if (asked->fn[i] == g) return true;
	if (asked->n == 16) return false;
	asked->fn[asked->n++] = g;
	return flat_types(g, fn_nparams(g), param_of) <= CALLEE_PARAMS &&
	       flat_types(g, fn_nresults(g), result_of) <= CALLEE_RESULTS &&
	       takes_region(g, &g->regions.at[0], asked, true);
}

/* A format that only wraps an existing string. */
static bool is_wrapper(const Fn *f, const Inst *in) {
	return in->op == OP_FORMAT && in->nargs == 1 && ref_ty(f, inst_arg(f, in, 0))->kind == TY_DYN &&
	       ref_inst(f, inst_arg(f, in, 0)) &&
	       !strcmp(atom_text(f->ctx, (Atom)attr_int(f->ctx, OP_FORMAT, in->attr, 0)), "{0}");
}

const Inst *message_text(const Fn *f, Ref r) {
	const Inst *in = ref_inst(f, r);
	while (in && is_wrapper(f, in)) in = ref_inst(f, inst_arg(f, in, 0));
	return in;
}

/* The callee's parameters are registers. An argument whose extent is equal only
 * by a guard, and not constant here, is in memory. The evaluator makes such
 * calls. */
static bool takes_call(const Fn *f, const Inst *in, FnStack *asked) {
	const Fn *g = inst_callee(f->ctx, in);
	if (!takes_callee(g, asked)) return false;
	for (uint32_t k = 0; k < in->nargs; k++)
		if (!type_is_small(f->ctx, ref_type(f, inst_arg(f, in, k)), NULL)) return false;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (!type_is_small(f->ctx, ref_type(f, inst_result(in, k)), NULL)) return false;
	return true;
}

/* Whether `in` makes a string that only failures use. The failure stores the
 * scalars in it. */
static bool is_message(const Fn *f, const Inst *in) {
	const Inst *text = in->op == OP_FORMAT ? message_text(f, inst_result(in, 0)) : NULL;
	if (!text || text->op != OP_FORMAT || text->parent != in->parent || text->nargs > 2)
		return false;
	for (uint32_t k = 0; k < text->nargs; k++) {
		const Type *t = ref_ty(f, inst_arg(f, text, k));
		if (t->kind != TY_TENSOR || t->rank || dtype_is_complex((Dtype)t->dtype)) return false;
	}
	const Region *g = &f->regions.at[in->parent];
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *u = &f->insts.at[f->inst_order.at[g->insts + i]];
		if (u->nregions) return false;
		for (uint32_t k = 0; u->op != OP_FAIL && k < u->nargs; k++)
			if (inst_arg(f, u, k) == inst_result(in, 0) && !(is_wrapper(f, u) && is_message(f, u)))
				return false;
	}
	for (uint32_t k = 0; k < g->nresults; k++)
		if (f->args.at[g->results + k] == inst_result(in, 0)) return false;
	return true;
}

static bool takes_message(const Fn *f, Ref r) {
	const Inst *in = ref_inst(f, r);
	return in ? is_message(f, in) : ref_is_const(r);
}

static bool takes(const Fn *f, const Inst *in, FnStack *asked, bool small_only) {
	Ctx *c = f->ctx;
	if (in->op == OP_FAIL) return takes_message(f, inst_arg(f, in, 0));
	if (in->op == OP_FORMAT) return is_message(f, in);
	if (in->op == OP_FOR || in->op == OP_WHILE) {
		if (!takes_carried(f, in, small_only)) return false;
		for (uint32_t k = 0; k < in->nregions; k++)
			if (!takes_region(f, inst_region(f, in, k), asked, small_only)) return false;
		return true;
	}
	for (uint32_t k = 0; k < in->nargs; k++)
		if (!takes_type(f, ref_type(f, inst_arg(f, in, k)), small_only)) return false;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (!takes_type(f, ref_type(f, inst_result(in, k)), small_only)) return false;
	if (prims[in->op].elementwise) return true;
	switch ((Op)in->op) {
	case OP_SELECT:
	case OP_CONVERT:
	case OP_STOP:
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_SLICE:
	case OP_PAD:
	case OP_CONCAT:
	case OP_UPDATE:
	case OP_GATHER:
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET:
	case OP_REDUCE_SUM:
	case OP_REDUCE_PROD:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
	case OP_ARGMAX:
	case OP_CUMSUM:
	case OP_CUMPROD:
	case OP_DOT:
	case OP_IOTA:
	case OP_EXTENT:
	case OP_GUARD:
	case OP_PROGRESS: return true;
	case OP_IF:
		/* A branch cannot define extents: they have no place. */
		return takes_region(f, inst_region(f, in, 0), asked, small_only) &&
		       takes_region(f, inst_region(f, in, 1), asked, small_only);
	case OP_LU:
	case OP_CHOLESKY:
	case OP_TRISOLVE: {
		Dim row;
		if (!small_only && (rows_take_factor(f, in, &row) || matrix_takes(f, in))) return true;
		for (uint32_t k = 0; k < in->nargs + in->nresults; k++) {
			Ref r = k < in->nargs ? inst_arg(f, in, k) : inst_result(in, k - in->nargs);
			if (!type_is_small(c, ref_type(f, r), NULL)) return false;
		}
		return factor_takes_type(c, in, ref_type(f, inst_arg(f, in, 0)));
	}
	case OP_HOST: return !small_only && matrix_takes(f, in);
	case OP_CALL: return takes_call(f, in, asked);
	default: return false;
	}
}

bool lower_takes(const Fn *f, const Inst *in) {
	FnStack asked = {.n = 0};
	return takes(f, in, &asked, false);
}

/* ---- extents ------------------------------------------------------------- */

KType lower_ktype(const Lower *l, Ref r) { return ktype_of((Dtype)ref_ty(l->f, r)->dtype); }

KRef lower_dim(Lower *l, Dim d) {
	int64_t v;
	SymId s;
	/* A large constant is a word like any extent, so that the same code serves
	 * other values. */
	if (dim_is_const(l->c, d, &v) && v <= DIM_SMALL) return k_int(&l->k, v);
	if (dim_is_sym(l->c, d, &s) && l->syms[s]) return l->syms[s];
	uint32_t k = 0;
	while (k < l->dims.n && l->dims.at[k].dim != d) k++;
	if (k == l->dims.n) {
		UnitDim fresh = {.dim = d};
		VEC_PUSH(l->scratch, &l->dims, fresh);
	}
	if (l->dims.at[k].value) return l->dims.at[k].value;
	return k_word(&l->k, KT_I64, l->unit->nwords + l->unit->nsyms + k);
}

int64_t lower_hint(const Lower *l, Dim d, int64_t fallback) {
	int64_t v;
	if (dim_is_const(l->c, d, &v)) return v;
	return l->hints && dim_eval(l->c, d, l->hints, l->f->syms.n, &v) && v >= 0 ? v : fallback;
}

KRef lower_count(Lower *l, TypeId t) {
	Type ty = *type_of(l->c, t);
	KRef n = k_int(&l->k, 1);
	for (uint32_t i = 0; i < ty.rank; i++) n = k_mul(&l->k, n, lower_dim(l, ty.dims[i]));
	return n;
}

static void note_dim(Lower *l, Dim d) {
	SymId s;
	int64_t v;
	if (dim_is_const(l->c, d, &v) && v <= DIM_SMALL) return;
	if (dim_is_sym(l->c, d, &s)) {
		Unit *u = l->unit;
		for (uint32_t i = 0; i < u->nsyms; i++)
			if (u->syms[i] == s) return;
		u->syms[u->nsyms++] = s;
		return;
	}
	for (uint32_t i = 0; i < l->dims.n; i++)
		if (l->dims.at[i].dim == d) return;
	UnitDim fresh = {.dim = d};
	VEC_PUSH(l->scratch, &l->dims, fresh);
}

static void note_type(Lower *l, TypeId t) {
	Type ty = *type_of(l->c, t);
	for (uint32_t i = 0; ty.kind == TY_TENSOR && i < ty.rank; i++) note_dim(l, ty.dims[i]);
}

/* Notes the words of the attribute that are extents. */
static void note_attr(Lower *l, const Inst *in) {
	uint32_t k = 0;
	for (const char *t = prims[in->op].attr; *t && in->attr; t++) {
		if (*t != ':') continue;
		uint32_t n;
		const int64_t *words = attr_field(l->c, (Op)in->op, in->attr, k++, &n);
		for (uint32_t i = 0; t[1] == 'D' && i < n; i++) note_dim(l, (Dim)words[i]);
	}
}

/* ---- places -------------------------------------------------------------- */

static const void *constant_element(const Tensor *t, uint32_t at) {
	int64_t offset = 0;
	for (uint32_t i = t->rank; i-- > 0;) {
		offset += at % t->shape[i] * t->stride[i];
		at = (uint32_t)(at / t->shape[i]);
	}
	return t->data + offset * (int64_t)dtype_size((Dtype)t->dtype);
}

static KRef number(Lower *l, Dtype d, const void *bytes) {
	uint64_t bits = 0;
	switch (d) {
	case DT_BOOL: bits = *(const bool *)bytes; break;
	case DT_I32: bits = (uint64_t)(int64_t) * (const int32_t *)bytes; break;
	case DT_F32: memcpy(&bits, bytes, 4); break;
	default: memcpy(&bits, bytes, 8);
	}
	return k_bits(&l->k, ktype_of(d), bits);
}

/* Constants are emitted where they are used. They cost nothing, and a value
 * belongs to its region. */
static const Storage *constant_place(Lower *l, Ref r, const Const *k) {
	Storage *p = ARENA_NEW(l->scratch, Storage);
	const Type *t = type_of(l->c, k->type);
	p->kind = PLACE_SMALL;
	type_is_small(l->c, k->type, &p->count);
	p->elements = ARENA_ARRAY(l->scratch, KRef, p->count + 1);
	(void)r;
	for (uint32_t i = 0; i < p->count; i++)
		p->elements[i] = number(l, (Dtype)t->dtype,
		                        k->value.kind == V_SCALAR ? value_scalar_bytes(&k->value)
		                                                  : constant_element(k->value.tensor, i));
	return p;
}

/* The index of r among the inputs; UINT32_MAX if it is none. */
static uint32_t input_of(const Lower *l, Ref r) {
	for (uint32_t k = 0; k < l->unit->ninputs; k++)
		if (l->unit->inputs[k].ref == r) return k;
	return UINT32_MAX;
}

/* The place of a value or a large constant; NULL for others. */
static Storage *kept_place(Lower *l, Ref r) {
	if (ref_is_value(r)) return &l->places[REF_INDEX(r)];
	const uint32_t input = input_of(l, r);
	return input == UINT32_MAX ? NULL : &l->places[l->f->vals.n + input];
}

const Storage *lower_place(Lower *l, Ref r) {
	static const Storage nowhere;
	const Const *k = ref_constant(l->f, r);
	if (k && type_is_small(l->c, k->type, NULL)) return constant_place(l, r, k);
	const Storage *p = kept_place(l, r);
	return p ? p : &nowhere;
}

void lower_set_place(Lower *l, Ref r, Storage place) {
	Storage *p = kept_place(l, r);
	if (p) *p = place;
	else l->failed = true;
}

void lower_set_memory(Lower *l, Ref r, KRef pointer) {
	l->places[REF_INDEX(r)] = (Storage){.kind = PLACE_MEMORY, .pointer = pointer};
}

void lower_set_small(Lower *l, Ref r, uint32_t count, const KRef *elements) {
	KRef *own = ARENA_ARRAY(l->scratch, KRef, count + 1);
	for (uint32_t i = 0; i < count; i++) own[i] = elements[i];
	lower_set_place(l, r, (Storage){.kind = PLACE_SMALL, .count = count, .elements = own});
}

void lower_slot(Lower *l, Ref r, uint32_t from, uint32_t to) {
	uint32_t v = REF_INDEX(r);
	/* Its class has memory. */
	if (l->flow->values[v].owned && l->needed[v] && !type_is_small(l->c, ref_type(l->f, r), NULL))
		return;
	if (l->slot_of[v]) {
		MemorySlot *s = &l->slots.at[l->slot_of[v] - 1];
		if (from < s->from) s->from = from;
		if (to > s->to) s->to = to;
		return;
	}
	Type t = *ref_ty(l->f, r);
	MemorySlot s = {.elements = dim_const(l->c, 1),
	                .element_bytes = (uint32_t)dtype_size((Dtype)t.dtype),
	                .from = from,
	                .to = to};
	for (uint32_t i = 0; i < t.rank; i++) s.elements = dim_mul(l->c, s.elements, t.dims[i]);
	VEC_PUSH(l->scratch, &l->slots, s);
	l->slot_of[v] = l->slots.n;
}

KRef lower_destination(Lower *l, Ref r) {
	uint32_t v = REF_INDEX(r);
	const ValueFlow *x = &l->flow->values[v];
	if (x->owned && l->needed[v] && !type_is_small(l->c, ref_type(l->f, r), NULL)) {
		const AliasClass *y = &l->flow->classes[flow_class(l, v)];
		if (y->is_dynamic) return y->dynamic;
		if (y->output) return l->places[l->f->vals.n + l->unit->ninputs + y->output - 1].pointer;
		return l->slots.at[y->slot - 1].pointer;
	}
	return l->slot_of[v] ? l->slots.at[l->slot_of[v] - 1].pointer : 0;
}

int64_t lower_site(Lower *l, SiteKind kind, const Inst *in) {
	Lower *root = l->root;
	InstId id = (InstId)(in - l->f->insts.at);
	for (uint32_t i = root->sites.n; i-- > 0;)
		if (root->sites.at[i].kind == kind && root->sites.at[i].inst == id &&
		    root->sites.at[i].fn == l->f)
			return i;
	UnitSite s = {.kind = kind, .inst = id, .fn = l->f};
	VEC_PUSH(l->scratch, &root->sites, s);
	l->k.m->nsites = root->sites.n;
	return root->sites.n - 1;
}

/* ---- inputs and outputs -------------------------------------------------- */

typedef struct UnitScan {
	Lower *l;
	Arena *keep;
	bool *inside; /* by value: defined in the unit */
	bool *met;    /* by value */
	bool *met_const;
	VEC(Ref) words;
	VEC(UnitArray) inputs;
	uint32_t *uses; /* by value: in the unit */
} UnitScan;

static void scan_ref(void *ud, Ref r) {
	UnitScan *s = ud;
	Lower *l = s->l;
	const Const *k = ref_constant(l->f, r);
	if (!k && !ref_is_value(r)) return;
	const Type *t = ref_ty(l->f, r);
	if (!k) s->uses[REF_INDEX(r)]++;
	if (t->kind != TY_TENSOR) return; /* a failure's message, or a value that a loop passes on */
	bool *met = k ? &s->met_const[REF_INDEX(r)] : &s->met[REF_INDEX(r)];
	if (*met || (!k && s->inside[REF_INDEX(r)])) return;
	*met = true;
	note_type(l, ref_type(l->f, r));
	UnitArray a = {.ref = r};
	if (k ? !type_is_small(l->c, k->type, NULL) : t->rank != 0) VEC_PUSH(s->keep, &s->inputs, a);
	else if (!k) VEC_PUSH(s->keep, &s->words, r);
}

static void scan_inside(UnitScan *s, const Inst *in) {
	Lower *l = s->l;
	note_attr(l, in);
	for (uint32_t k = 0; k < in->nresults; k++) {
		s->inside[in->results + k] = true;
		note_type(l, l->f->vals.at[in->results + k].type);
	}
	for (uint32_t r = 0; r < in->nregions; r++) {
		const Region *g = inst_region(l->f, in, r);
		for (uint32_t k = 0; k < g->nparams; k++) {
			s->inside[g->params + k] = true;
			note_type(l, l->f->vals.at[g->params + k].type);
		}
		for (uint32_t i = 0; i < g->ninsts; i++)
			scan_inside(s, &l->f->insts.at[l->f->inst_order.at[g->insts + i]]);
	}
}

static void scan(Lower *l, Arena *keep, const uint32_t *total_uses) {
	Unit *u = l->unit;
	const Fn *f = l->f;
	UnitScan s = {.l = l, .keep = keep};
	s.inside = ARENA_ARRAY(l->scratch, bool, f->vals.n + 1);
	s.met = ARENA_ARRAY(l->scratch, bool, f->vals.n + 1);
	s.met_const = ARENA_ARRAY(l->scratch, bool, f->consts.n + 1);
	s.uses = ARENA_ARRAY(l->scratch, uint32_t, f->vals.n + 1);
	u->syms = ARENA_ARRAY(keep, SymId, f->syms.n + 1);
	for (uint32_t i = 0; i < u->ninsts; i++) scan_inside(&s, &f->insts.at[u->insts[i]]);
	for (uint32_t i = 0; i < u->ninsts; i++) inst_refs(f, &f->insts.at[u->insts[i]], scan_ref, &s);
	u->inputs = s.inputs.at;
	u->ninputs = s.inputs.n;
	u->words = s.words.at;
	u->nwords = s.words.n;
	VEC(UnitArray) outputs = {0};
	VEC(Ref) results = {0};
	for (uint32_t i = 0; i < u->ninsts; i++) {
		const Inst *in = &f->insts.at[u->insts[i]];
		for (uint32_t k = 0; k < in->nresults; k++) {
			uint32_t v = in->results + k;
			if (total_uses[v] <= s.uses[v]) continue;
			l->flow->values[v].outside = true;
			l->failed |= type_of(l->c, f->vals.at[v].type)->kind != TY_TENSOR;
			UnitArray a = {.ref = ref_value(v)};
			if (type_of(l->c, f->vals.at[v].type)->rank) VEC_PUSH(keep, &outputs, a);
			else VEC_PUSH(keep, &results, ref_value(v));
		}
	}
	u->outputs = outputs.at;
	u->noutputs = outputs.n;
	u->results = results.at;
	u->nresults = results.n;
}

/* ---- memory -------------------------------------------------------------- */

/* A block of the arena, used by slots one after the other. */
typedef struct ArenaBlock {
	Dim elements;
	uint32_t element_bytes, free_from;
	KRef pointer;
} ArenaBlock;

/* Declares the buffer native_nowhere() where a pad or an update may need it.
 * The declaration is at the function's beginning, because code that contains
 * one is never outlined. */
static void find_nowhere(Lower *l) {
	for (uint32_t i = 0; i < l->f->insts.n && !l->nowhere; i++)
		if (l->f->insts.at[i].op == OP_PAD || l->f->insts.at[i].op == OP_UPDATE)
			l->nowhere = k_buffer(&l->k, l->unit->ninputs + l->unit->noutputs);
}

static void lay_out(Lower *l) {
	KBuilder *b = &l->k;
	uint32_t n = l->slots.n;
	uint32_t *order = ARENA_ARRAY(l->scratch, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++) { /* sorts by start of life; mostly sorted already */
		uint32_t k = i;
		for (; k > 0 && l->slots.at[order[k - 1]].from > l->slots.at[i].from; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	VEC(ArenaBlock) blocks = {0};
	for (uint32_t i = 0; i < n; i++) {
		MemorySlot *s = &l->slots.at[order[i]];
		uint32_t a = 0;
		for (; a < blocks.n; a++) {
			const ArenaBlock *x = &blocks.at[a];
			if (x->elements == s->elements && x->element_bytes == s->element_bytes &&
			    x->free_from <= s->from)
				break;
		}
		if (a == blocks.n) {
			KRef bytes = k_mul(b, lower_dim(l, s->elements), k_int(b, s->element_bytes));
			ArenaBlock fresh = {.elements = s->elements,
			                    .element_bytes = s->element_bytes,
			                    .pointer = k_arena(b, bytes)};
			VEC_PUSH(l->scratch, &blocks, fresh);
		}
		s->pointer = blocks.at[a].pointer;
		blocks.at[a].free_from = s->to == UINT32_MAX ? UINT32_MAX : s->to + 1;
	}
}

/* ---- internal functions -------------------------------------------------- */

static uint32_t callee_number(Lower *l, const Fn *g) {
	Lower *root = l->root;
	for (uint32_t i = 0; i < root->callees.n; i++)
		if (root->callees.at[i].fn == g) return root->callees.at[i].number;
	KType types[CALLEE_RESULTS];
	uint32_t n = 0;
	for (uint32_t k = 0; k < fn_nresults(g); k++) {
		uint32_t count;
		type_is_small(l->c, ref_type(g, fn_result(g, k)), &count);
		for (uint32_t i = 0; i < count; i++)
			types[n++] = ktype_of((Dtype)ref_ty(g, fn_result(g, k))->dtype);
	}
	UnitCallee y = {.fn = g, .number = k_declare(l->k.m, n, types)};
	/* Calls of it may be built first, and are checked against this. */
	l->k.m->fns.at[y.number]->nparams = 0;
	VEC_PUSH(l->scratch, &root->callees, y);
	return y.number;
}

void lower_call(Lower *l, const Inst *in) {
	const Fn *g = inst_callee(l->c, in);
	uint32_t number = callee_number(l, g), n = 0;
	KRef args[CALLEE_PARAMS], results[CALLEE_RESULTS];
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Storage *p = lower_place(l, inst_arg(l->f, in, k));
		for (uint32_t i = 0; i < p->count; i++) args[n++] = p->elements[i];
	}
	k_call_at(&l->k, lower_site(l, SITE_CALL, in), number, n, args, results);
	n = 0;
	for (uint32_t k = 0; k < in->nresults; k++) {
		uint32_t count;
		type_is_small(l->c, ref_type(l->f, inst_result(in, k)), &count);
		lower_set_small(l, inst_result(in, k), count, results + n);
		n += count;
	}
}

static void open_function(Lower *l, Lower *root, const Fn *f) {
	*l = (Lower){.c = root->c, .f = f, .unit = root->unit, .scratch = root->scratch, .root = root};
	l->syms = ARENA_ARRAY(l->scratch, KRef, f->syms.n + 1);
	l->needed = ARENA_ARRAY(l->scratch, bool, f->vals.n + 1);
	l->slot_of = ARENA_ARRAY(l->scratch, uint32_t, f->vals.n + 1);
	l->flow = ARENA_NEW(l->scratch, Flow);
	l->flow->values = ARENA_ARRAY(l->scratch, ValueFlow, f->vals.n + 1);
	uint32_t *uses = ARENA_ARRAY(l->scratch, uint32_t, f->vals.n + 1);
	fn_count_uses(f, uses);
	l->uses = uses;
}

/* The poll at the start of a function that calls functions. No argument limits
 * the time that calls of calls take. A poll at every call would cost too much,
 * so it does nothing unless the depth is a multiple of `levels`, a power of
 * two. Between two polls lie at most 256 calls of one function, and about a
 * million of functions that call each other. */
static void poll_calls(Lower *l) {
	uint32_t calls = 0;
	bool loops = false;
	for (uint32_t i = 0; i < l->f->insts.n; i++) {
		const Op op = (Op)l->f->insts.at[i].op;
		calls += op == OP_CALL;
		loops |= op == OP_FOR || op == OP_WHILE;
	}
	if (!calls) return;
	const int64_t levels = loops ? 1 : calls <= 2 ? 8 : calls <= 4 ? 4 : calls <= 16 ? 2 : 1;
	k_poll_by_depth(&l->k, k_int(&l->k, levels * flow_work(l, l->flow->top)), levels);
}

static void build_callee(Lower *root, const Fn *g, uint32_t number) {
	Lower l;
	open_function(&l, root, g);
	l.places = ARENA_ARRAY(l.scratch, Storage, g->vals.n + 1);
	k_function(&l.k, root->k.m, number);
	flow_make(&l, &g->regions.at[0], 0, NULL);
	flow_plan(&l);
	for (uint32_t k = 0; k < fn_nparams(g); k++) {
		KRef elements[SMALL_COUNT];
		uint32_t count;
		type_is_small(l.c, ref_type(g, fn_param(g, k)), &count);
		for (uint32_t i = 0; i < count; i++)
			elements[i] = k_param(&l.k, lower_ktype(&l, fn_param(g, k)));
		lower_set_small(&l, fn_param(g, k), count, elements);
	}
	find_nowhere(&l);
	lay_out(&l);
	if (!l.failed) {
		poll_calls(&l);
		lower_steps(&l, l.flow->top);
	}
	root->failed |= l.failed || l.dims.n;
	if (root->failed) return;
	KRef results[CALLEE_RESULTS];
	uint32_t n = 0;
	for (uint32_t k = 0; k < fn_nresults(g); k++) {
		const Storage *p = lower_place(&l, fn_result(g, k));
		for (uint32_t i = 0; i < p->count; i++) results[n++] = p->elements[i];
	}
	k_return(&l.k, n, results);
}

/* ---- the unit ------------------------------------------------------------ */

static void emit_entry(Lower *l) {
	KBuilder *b = &l->k;
	Unit *u = l->unit;
	for (uint32_t k = 0; k < u->nwords; k++) {
		KRef x = k_word(b, lower_ktype(l, u->words[k]), k);
		lower_set_small(l, u->words[k], 1, &x);
	}
	for (uint32_t k = 0; k < u->nsyms; k++) l->syms[u->syms[k]] = k_word(b, KT_I64, u->nwords + k);
	for (uint32_t k = 0; k < l->dims.n; k++)
		l->dims.at[k].value = k_word(b, KT_I64, u->nwords + u->nsyms + k);
	for (uint32_t k = 0; k < u->ninputs; k++) {
		KRef p = k_buffer(b, k);
		Ref r = u->inputs[k].ref;
		uint32_t count;
		l->places[l->f->vals.n + k] = (Storage){.kind = PLACE_MEMORY, .pointer = p};
		if (ref_is_const(r)) continue;
		if (!type_is_small(l->c, ref_type(l->f, r), &count)) {
			lower_set_memory(l, r, p);
			continue;
		}
		KRef elements[SMALL_COUNT];
		for (uint32_t i = 0; i < count; i++)
			elements[i] = k_load(b, lower_ktype(l, r), KM_UNIFORM, p, k_int(b, i), 0);
		lower_set_small(l, r, count, elements);
	}
	for (uint32_t k = 0; k < u->noutputs; k++)
		l->places[l->f->vals.n + u->ninputs + k] =
			(Storage){.kind = PLACE_MEMORY, .pointer = k_buffer(b, u->ninputs + k)};
	find_nowhere(l);
	lay_out(l);
}

static void emit_outputs(Lower *l) {
	KBuilder *b = &l->k;
	Unit *u = l->unit;
	for (uint32_t k = 0; k < u->noutputs; k++) {
		Ref r = u->outputs[k].ref;
		KRef to = l->places[l->f->vals.n + u->ninputs + k].pointer;
		const Storage *p = lower_place(l, r);
		if (p->kind == PLACE_NONE) {
			l->failed = true;
			return;
		}
		for (uint32_t i = 0; p->kind == PLACE_SMALL && i < p->count; i++)
			k_store(b, KM_UNIFORM, to, k_int(b, i), p->elements[i], 0);
		if (p->kind == PLACE_MEMORY) lower_copy(l, r, to, p->pointer);
	}
	for (uint32_t k = 0; k < u->nresults; k++) {
		const Storage *p = lower_place(l, u->results[k]);
		if (p->kind == PLACE_SMALL && p->count == 1) k_result(b, k, p->elements[0]);
		else if (p->kind == PLACE_MEMORY)
			k_result(
				b, k,
				k_load(b, lower_ktype(l, u->results[k]), KM_UNIFORM, p->pointer, k_int(b, 0), 0));
		else l->failed = true;
	}
}

/* Output `output` (plus 1; 0: none) may take the memory of input x, if it is a
 * modified copy of x. */
static void offer_reuse(Lower *l, Ref x, uint32_t output) {
	const uint32_t input = input_of(l, x);
	if (input == UINT32_MAX || !output || ref_is_const(x)) return;
	UnitArray *o = &l->unit->outputs[output - 1];
	bool taken = ref_type(l->f, o->ref) != ref_type(l->f, x);
	for (uint32_t j = 0; j < l->unit->noutputs; j++)
		taken |= l->unit->outputs[j].may_reuse && l->unit->outputs[j].reuse == input;
	if (taken) return;
	o->may_reuse = true;
	o->reuse = input;
}

bool lower_may_reuse(const Lower *l, Ref x, Ref r) {
	const uint32_t input = input_of(l, x),
				   output = l->flow->classes[flow_class(l, REF_INDEX(r))].output;
	return input != UINT32_MAX && output && l->unit->outputs[output - 1].may_reuse &&
	       l->unit->outputs[output - 1].reuse == input;
}

/* Finds inputs that are copied at once to an output and changed there in place.
 * If the input is not shared, the copy is not needed. */
static void find_reuse(Lower *l) {
	const Sched *top = l->flow->top;
	for (uint32_t i = 0; i < top->steps.n; i++) {
		const SchedStep *p = top->steps.at[i];
		for (uint32_t k = 0; p->kind == SCHED_LOOPS && k < p->n; k++) {
			const Inst *in = &l->f->insts.at[p->insts[k]];
			Ref x;
			if (run_changes(l, p, in, &x))
				offer_reuse(l, x, l->flow->classes[flow_class(l, in->results)].output);
		}
		if (p->kind != SCHED_ELEMENT && !p->carries) continue;
		const Inst *in = &l->f->insts.at[p->inst];
		uint32_t first = in->op == OP_FOR;
		for (uint32_t k = 0; k < in->nresults; k++) {
			bool inplace = p->carries ? p->carries[k].kind == CARRY_INPLACE : writes_elements(in);
			if (!inplace) continue;
			Ref x = inst_arg(l->f, in, p->carries ? first + k : 0), out = inst_result(in, k);
			if (flow_dies_at(l, x, p))
				offer_reuse(l, x, l->flow->classes[flow_class(l, REF_INDEX(out))].output);
		}
	}
}

typedef struct Lowering {
	const Fn *f;
	const KTarget *target;
	const int64_t *hints;
	Arena *scratch, *keep;
	Unit *unit;
	Text *notes; /* NULL: no notes */
	bool good;
} Lowering;

/* Verifies the module, because unsound code could write outside an array. On
 * false the evaluator runs the unit. With $ATLED_VERIFY the program is aborted
 * instead, so that tests find the fault. */
static bool is_sound(Ctx *c, const Fn *f, const KModule *m) {
	Text why;
	text_init(&why, c);
	const bool sound = kmodule_verify(m, &why);
	if (!sound && ctx_verifies(c)) {
		fprintf(stderr, "kernel code of '%s' is unsound: %.*s\n", atom_text(c, f->name), (int)why.n,
		        why.at);
		abort();
	}
	text_free(&why);
	return sound;
}

static void run_lower(Ctx *c, void *arg) {
	Lowering *w = arg;
	const Fn *f = w->f;
	Unit *u = w->unit;
	Arena *scratch = w->scratch = arena_new(c);
	u->module = kmodule_new(c, w->target);
	Lower root = {.c = c, .unit = u, .scratch = scratch}, l;
	open_function(&l, &root, f);
	l.root = &l;
	l.hints = w->hints;
	scan(&l, w->keep, l.uses);
	l.places = ARENA_ARRAY(scratch, Storage, f->vals.n + u->ninputs + u->noutputs + 1);
	k_function(&l.k, u->module, 0);
	if (!l.failed) flow_make(&l, NULL, u->ninsts, u->insts);
	if (!l.failed) flow_plan(&l);
	if (!l.failed) {
		for (uint32_t i = 0; i < l.slots.n; i++) note_dim(&l, l.slots.at[i].elements);
		find_reuse(&l);
		emit_entry(&l);
		lower_steps(&l, l.flow->top);
		emit_outputs(&l);
		k_return(&l.k, 0, NULL);
		for (uint32_t i = 0; i < l.callees.n && !l.failed; i++)
			build_callee(&l, l.callees.at[i].fn, l.callees.at[i].number);
	}
	u->ndims = l.dims.n;
	u->dims = ARENA_ARRAY(w->keep, Dim, l.dims.n + 1);
	for (uint32_t i = 0; i < l.dims.n; i++) u->dims[i] = l.dims.at[i].dim;
	u->sites = ARENA_ARRAY(w->keep, UnitSite, l.sites.n + 1);
	for (uint32_t i = 0; i < l.sites.n; i++) u->sites[i] = l.sites.at[i];
	u->module->nsites = l.sites.n;
	u->hosts = ARENA_ARRAY(w->keep, const void *, l.hosts.n + 1);
	for (uint32_t i = 0; i < l.hosts.n; i++) u->hosts[i] = l.hosts.at[i];
	w->good = !l.failed && is_sound(c, f, u->module);
	if (w->good && w->notes) {
		describe_unit(w->notes, &l);
		if (!w->notes->failed) u->notes = arena_copy(w->keep, w->notes->at, w->notes->n);
	}
}

Unit *lower_unit(Ctx *c, const Fn *f, uint32_t ninsts, const InstId *insts, const KTarget *target,
                 const int64_t *hints, Arena *keep, bool describe) {
	Unit *u = ARENA_NEW(keep, Unit);
	InstId *own = ARENA_ARRAY(keep, InstId, ninsts + 1);
	memcpy(own, insts, ninsts * sizeof *own);
	u->fn = f;
	u->ninsts = ninsts;
	u->insts = own;
	Lowering w = {.f = f, .target = target, .hints = hints, .keep = keep, .unit = u};
	Text notes;
	text_init(&notes, c);
	if (describe) w.notes = &notes;
	Status st = ctx_protect(c, run_lower, &w);
	arena_free(w.scratch);
	text_free(&notes);
	if (st == ST_OK && w.good) return u;
	kmodule_free(u->module);
	u->module = NULL;
	if (st == ST_NOMEM || (st != ST_OK && ctx_stops(c))) ctx_throw(c, st);
	return NULL;
}
