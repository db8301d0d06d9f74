/* ir.c - IR data that outlives one function: attributes, transform chains, the
 * registry of functions, services.
 *
 * Needs: state.h. Everything interned is stored in the context's
 * arena.
 *
 * Contract:
 * - Attribute and host ids are valid for the life of the context; function ids
 *   are never reused.
 * - A throw leaves the tables unchanged.
 * - When the context is freed, every function is freed, whatever its reference
 *   count (recursive functions reference each other), and open builders are
 *   abandoned.
 */
#include "lang/ir/state.h"
#include <stdio.h>

/* ---- state --------------------------------------------------------------- */

static size_t attr_bytes(uint32_t n) { return sizeof(KnownAttr) + n * sizeof(int64_t); }

/* Parses a schema such as "start:D* length:D*". */
static AttrSchema parse_schema(const char *text) {
	AttrSchema s = {0};
	for (const char *p = text; (p = strchr(p, ':'));) {
		s.letter[s.n] = *++p;
		s.list[s.n] = *++p == '*';
		s.n++;
	}
	return s;
}

static void free_arenas(IrState *st) {
	for (FnId i = 0; i < st->next_fn; i++) {
		Fn *f = fn_get(st->ctx, i);
		if (!f) continue;
		st->fn_pages.at[i / FN_PAGE]->at[i % FN_PAGE] = NULL;
		arena_free(f->arena);
	}
	for (uint32_t k = 0; k < st->fn_pages.n; k++)
		if (st->fn_pages.at[k]) heap_free(st->ctx, st->fn_pages.at[k], sizeof(FnPage));
}

void fn_release_contents(Fn *f) {
	Ctx *c = f->ctx;
	FnHooks *hooks = fn_hooks(c);
	void *derived = f->derived, *code = f->code;
	f->derived = f->code = NULL;
	if (derived && hooks->free_derived) hooks->free_derived(c, derived);
	if (code && hooks->free_code) hooks->free_code(c, code);
	for (uint32_t i = 0; i < f->consts.n; i++) value_unref(f->consts.at[i].value);
	f->consts.n = 0;
	uint32_t ninsts = f->insts.n;
	f->insts.n = 0;
	for (uint32_t i = 0; i < ninsts; i++) {
		const Inst *in = &f->insts.at[i];
		if (in->op != OP_CALL) continue;
		FnId callee = (FnId)attr_int(c, OP_CALL, in->attr, 0);
		if (callee != f->id) fn_unref(fn_get(c, callee));
	}
}

static void free_state(Ctx *c, void *state) {
	IrState *st = state;
	build_unwind(c, 0);
	/* Functions may reference each other in cycles and through host calls. All
	 * are pinned first, so that none is freed while another releases it. */
	for (FnId i = 0; i < st->next_fn; i++)
		if (fn_get(c, i)) fn_get(c, i)->refs++;
	for (FnId i = 0; i < st->next_fn; i++)
		if (fn_get(c, i)) fn_release_contents(fn_get(c, i));
	free_hosts(st);
	free_arenas(st);
	for (AttrId id = 1; id < st->attrs.n; id++)
		if (st->attrs.at[id]) heap_free(c, st->attrs.at[id], attr_bytes(st->attrs.at[id]->n));
	hash_free(c, &st->attrs_by_words);
}

static void print_code(Text *out, const void *code) { fn_print(out, *(const Fn *const *)code); }

IrState *ir_state(Ctx *c) {
	IrState *st = ctx_slot(c, SLOT_IR);
	if (st) return st;
	Arena *a = ctx_arena(c);
	st = ARENA_NEW(a, IrState);
	st->ctx = c;
	for (int op = 0; op < OP_COUNT; op++) st->schema[op] = parse_schema(prims[op].attr);
	VEC_PUSH(a, &st->attrs, NULL);
	st->next_fn = 1;
	VEC_PUSH(a, &st->hosts, NULL);
	ctx_set_slot(c, SLOT_IR, st, free_state);
	ctx_hooks(c)->print_code = print_code;
	return st;
}

FnHooks *fn_hooks(Ctx *c) { return &ir_state(c)->hooks; }

IrServices *ir_services(Ctx *c) { return &ir_state(c)->services; }

/* ---- attributes ---------------------------------------------------------- */

AttrId attr_intern(Ctx *c, const int64_t *words, uint32_t n) {
	if (!n) return 0;
	IrState *st = ir_state(c);
	Arena *a = ctx_arena(c);
	uint32_t hash = n;
	for (uint32_t i = 0; i < n; i++) hash = hash_word(hash, (uint64_t)words[i]);
	for (const HashLink *l = hash_chain(&st->attrs_by_words, hash); l; l = l->next) {
		const KnownAttr *k = (const KnownAttr *)l;
		if (l->hash == hash && k->n == n && !memcmp(k->words, words, n * sizeof *words))
			return k->id;
	}
	hash_reserve(c, &st->attrs_by_words);
	VEC_RESERVE(a, &st->attrs, st->attrs.n + 1);
	VEC_RESERVE(a, &st->free_attrs, st->attrs.n + 1);
	VEC_RESERVE(a, &st->newest_attrs, st->newest_attrs.n + 1);
	KnownAttr *k = heap_alloc(c, attr_bytes(n));
	if (!k) ctx_throw(c, ST_NOMEM);
	k->link.hash = hash;
	k->n = n;
	k->id = st->free_attrs.n ? st->free_attrs.at[--st->free_attrs.n] : st->attrs.n++;
	memcpy(k->words, words, n * sizeof *words);
	st->attrs.at[k->id] = k;
	hash_put(&st->attrs_by_words, &k->link);
	st->newest_attrs.at[st->newest_attrs.n++] = k->id;
	return k->id;
}

static void free_attr(IrState *st, KnownAttr *k) {
	hash_take(&st->attrs_by_words, &k->link);
	st->attrs.at[k->id] = NULL;
	st->free_attrs.at[st->free_attrs.n++] = k->id;
	heap_free(st->ctx, k, attr_bytes(k->n));
}

void attrs_mark(Ctx *c) { ir_state(c)->newest_attrs.n = 0; }

void attrs_release(Ctx *c) {
	IrState *st = ir_state(c);
	while (st->newest_attrs.n)
		free_attr(st, st->attrs.at[st->newest_attrs.at[--st->newest_attrs.n]]);
}

void attrs_keep(Ctx *c, const bool *used) {
	IrState *st = ir_state(c);
	st->newest_attrs.n = 0;
	for (AttrId id = 1; id < st->attrs.n; id++)
		if (st->attrs.at[id] && !used[id]) free_attr(st, st->attrs.at[id]);
}

const int64_t *attr_words(const Ctx *c, AttrId a, uint32_t *n) {
	const IrState *st = ctx_slot(c, SLOT_IR);
	const KnownAttr *k = a && st && a < st->attrs.n ? st->attrs.at[a] : NULL;
	*n = k ? k->n : 0;
	return k ? k->words : NULL;
}

const int64_t *attr_field(const Ctx *c, Op op, AttrId a, uint32_t k, uint32_t *count) {
	const IrState *st = ctx_slot(c, SLOT_IR);
	uint32_t n, at = 0;
	const int64_t *w = attr_words(c, a, &n);
	*count = 0;
	if (!w || k >= st->schema[op].n) return NULL;
	for (uint32_t i = 0; i < k && at < n; i++)
		at += st->schema[op].list[i] ? 1 + (uint32_t)w[at] : 1;
	if (at >= n) return NULL;
	if (!st->schema[op].list[k]) {
		*count = 1;
		return w + at;
	}
	*count = (uint32_t)w[at];
	return w + at + 1;
}

int64_t attr_int(const Ctx *c, Op op, AttrId a, uint32_t k) {
	uint32_t n;
	const int64_t *w = attr_field(c, op, a, k, &n);
	return w && n ? w[0] : 0;
}

AttrId attr_subst(Ctx *c, Op op, AttrId a, const Dim *map, uint32_t nmap) {
	uint32_t n;
	const int64_t *w = attr_words(c, a, &n);
	if (!w) return a;
	const AttrSchema *s = &ir_state(c)->schema[op];
	bool any = false;
	for (uint32_t i = 0; i < s->n; i++) any |= s->letter[i] == 'D' || s->letter[i] == 'y';
	if (!any) return a;
	int64_t small[64], *out = n <= 64 ? small : arena_alloc(ctx_arena(c), n * sizeof *out);
	memcpy(out, w, n * sizeof *out);
	bool changed = false;
	for (uint32_t i = 0, at = 0; i < s->n && at < n; i++) {
		uint32_t count = s->list[i] ? (uint32_t)w[at++] : 1;
		for (uint32_t k = 0; k < count && at < n; k++, at++) {
			if (s->letter[i] == 'D') out[at] = dim_subst(c, (Dim)w[at], map, nmap);
			else if (s->letter[i] == 'y') out[at] = type_subst(c, (TypeId)w[at], map, nmap);
			changed |= out[at] != w[at];
		}
	}
	return changed ? attr_intern(c, out, n) : a;
}

/* A chain is stored as its text, because atoms are interned already. */
ChainId chain_push(Ctx *c, ChainId outer, const char *transform) {
	if (!outer) return atom(c, transform);
	const size_t first = atom_length(c, outer), more = strlen(transform), n = first + 1 + more;
	char small[256], *text = n < sizeof small ? small : arena_alloc(ctx_arena(c), n);
	memcpy(text, atom_text(c, outer), first);
	text[first] = ' ';
	memcpy(text + first + 1, transform, more);
	return atom_n(c, text, n);
}

const char *chain_text(const Ctx *c, ChainId id) { return atom_text(c, id); }

/* ---- functions ----------------------------------------------------------- */

static void free_empty(IrState *st, uint32_t k) {
	FnPage **page = &st->fn_pages.at[k];
	if (!*page || (*page)->live) return;
	heap_free(st->ctx, *page, sizeof **page);
	*page = NULL;
}

void fn_register(Ctx *c, Fn *f) {
	IrState *st = ir_state(c);
	const uint32_t k = st->next_fn / FN_PAGE;
	if (k == st->fn_pages.n) {
		VEC_RESERVE(ctx_arena(c), &st->fn_pages, k + 1);
		FnPage *page = heap_alloc(c, sizeof *page);
		if (!page) ctx_throw(c, ST_NOMEM);
		memset(page, 0, sizeof *page);
		st->fn_pages.at[st->fn_pages.n++] = page;
		if (k) free_empty(st, k - 1);
	}
	f->id = st->next_fn++;
	st->fn_pages.at[k]->at[f->id % FN_PAGE] = f;
	st->fn_pages.at[k]->live++;
}

void fn_forget(IrState *st, FnId id) {
	const uint32_t k = id / FN_PAGE;
	FnPage *page = st->fn_pages.at[k];
	page->at[id % FN_PAGE] = NULL;
	page->live--;
	if (k + 1 < st->fn_pages.n) free_empty(st, k);
}

Fn *fn_get(const Ctx *c, FnId id) {
	const IrState *st = ctx_slot(c, SLOT_IR);
	if (!st || !id || id >= st->next_fn) return NULL;
	const FnPage *page = st->fn_pages.at[id / FN_PAGE];
	return page ? page->at[id % FN_PAGE] : NULL;
}

FnId fn_next(const Ctx *c) {
	const IrState *st = ctx_slot(c, SLOT_IR);
	return st ? st->next_fn : 1;
}

Fn *fn_from(const Ctx *c, FnId first) {
	const FnId end = fn_next(c);
	for (FnId id = first ? first : 1; id < end;) {
		const IrState *st = ctx_slot(c, SLOT_IR);
		const FnPage *page = st->fn_pages.at[id / FN_PAGE];
		if (page && page->at[id % FN_PAGE]) return page->at[id % FN_PAGE];
		id = page ? id + 1 : (id / FN_PAGE + 1) * FN_PAGE;
	}
	return NULL;
}

Fn *inst_callee(const Ctx *c, const Inst *in) {
	return in->op == OP_CALL ? fn_get(c, (FnId)attr_int(c, OP_CALL, in->attr, 0)) : NULL;
}

static bool region_reports(const Fn *f, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[g->insts + i]];
		if (in->op == OP_PROGRESS) return true;
		if (in->op != OP_IF && in->op != OP_TRY) continue;
		for (uint32_t r = 0; r < in->nregions; r++)
			if (region_reports(f, inst_region(f, in, r))) return true;
	}
	return false;
}

bool loop_reports(const Fn *f, const Inst *in) {
	return (in->op == OP_FOR || in->op == OP_WHILE) &&
	       region_reports(f, inst_region(f, in, in->op == OP_WHILE));
}

void fn_ref(Fn *f) { f->refs++; }

void fn_unref(Fn *f) {
	if (!f || --f->refs) return;
	/* Released objects may mention f; the count prevents a second free. */
	f->refs = UINT32_MAX / 2;
	fn_release_contents(f);
	IrState *st = ir_state(f->ctx);
	fn_forget(st, f->id);
	arena_free(f->arena);
}

const Const *ref_constant(const Fn *f, Ref r) {
	return ref_is_const(r) ? &f->consts.at[REF_INDEX(r)] : NULL;
}

const Inst *ref_inst(const Fn *f, Ref r) {
	if (!ref_is_value(r)) return NULL;
	InstId def = f->vals.at[REF_INDEX(r)].def;
	return def == NO_INST ? NULL : &f->insts.at[def];
}

static bool constant_splat(Value v, Value *scalar) {
	if (v.kind == V_SCALAR) {
		*scalar = v;
		return true;
	}
	if (v.kind != V_TENSOR || v.tensor->count < 1 || v.tensor->count > FOLD_LIMIT ||
	    !v.tensor->contiguous)
		return false;
	size_t size = dtype_size((Dtype)v.tensor->dtype);
	const char *first = v.tensor->data;
	for (int64_t i = 1; i < v.tensor->count; i++)
		if (memcmp(first, first + (size_t)i * size, size) != 0) return false;
	*scalar = value_scalar_from_bytes((Dtype)v.tensor->dtype, first);
	return true;
}

bool ref_splat(const Fn *f, Ref r, Value *scalar) {
	const Inst *in = ref_inst(f, r);
	if (in && in->op == OP_BROADCAST) r = inst_arg(f, in, 0);
	const Const *k = ref_constant(f, r);
	return k && constant_splat(k->value, scalar);
}

/* ---- extents in messages ------------------------------------------------- */

bool sym_text(const Ctx *c, SpanId span, const char *before, char *out, size_t cap) {
	const Span at = span_of(c, span);
	size_t n;
	const char *text = source_text(c, at.source, &n);
	if (!at.source || source_is_library(c, at.source) || at.end > n || at.end <= at.start ||
	    at.end - at.start > 28)
		return false;
	if (memchr(text + at.start, '\n', at.end - at.start)) return false;
	snprintf(out, cap, "%s%.*s", before, (int)(at.end - at.start), text + at.start);
	return true;
}

const char *sym_words(void *words, SymId s) {
	SymWords *w = words;
	const Fn *f = w->fn;
	if (s >= f->syms.n) return NULL;
	if (f->syms.at[s].name) return atom_text(f->ctx, f->syms.at[s].name);
	return sym_text(f->ctx, f->syms.at[s].span, "length of ", w->text, sizeof w->text) ? w->text
	                                                                                   : NULL;
}
