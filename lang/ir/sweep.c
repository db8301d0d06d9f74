/* sweep.c - freeing of attributes and spans that no function mentions. */
#include "lang/ir/state.h"

typedef struct Used {
	bool *attrs, *spans; /* by id */
} Used;

static void use_call(void *ud, Atom callee, SpanId defined, SpanId at) {
	const Used *u = ud;
	(void)callee;
	u->spans[defined] = u->spans[at] = true;
}

static void use_all_of(Ctx *c, const Fn *f, Used *u) {
	ChainId last = 0; /* neighbours have the same chain */
	u->spans[f->span] = true;
	u->attrs[f->checkpoint] = true;
	for (uint32_t i = 0; i < f->syms.n; i++) u->spans[f->syms.at[i].span] = true;
	for (uint32_t i = 0; i < f->insts.n; i++) {
		const Inst *in = &f->insts.at[i];
		u->spans[in->span] = true;
		u->attrs[in->attr] = true;
		if (in->chain && in->chain != last) chain_calls(c, in->chain, use_call, u);
		last = in->chain;
	}
}

void ir_sweep(Ctx *c) {
	const IrState *st = ir_state(c);
	if (st->open) return;
	const size_t bytes = st->attrs.n + spans_end(c);
	bool *block = heap_alloc(c, bytes);
	if (!block) return;
	memset(block, 0, bytes);
	Used u = {.attrs = block, .spans = block + st->attrs.n};
	for (const Fn *f = fn_from(c, 1); f; f = fn_from(c, f->id + 1)) use_all_of(c, f, &u);
	attrs_keep(c, u.attrs);
	spans_keep(c, u.spans);
	heap_free(c, block, bytes);
}
