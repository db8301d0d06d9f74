/* spec_effects.c - what a function needs besides its arguments: the state of the random numbers and the token of effects.
 *
 * Needs: spec.h. Guarantees: a function gets them only when something in it asks for them, and is then specialised anew with two parameters
 * and two results more. Printing and drawing ask, and so does a call whose types are known only when it runs, as that may print or draw.
 * Where none can be had, the message says which of the two it was, and where.
 */
#include "parser/spec.h"

/* A call within f, or within what f calls, whose types are known only when it runs; NO_SPAN when there is none. */
static Span dynamic_place(Ctx *c, const Fn *f, uint32_t depth) {
	enum { DEEP = 64 }; /* functions that call each other */
	for (uint32_t i = 0; i < f->insts.n; i++) {
		const Inst *in = &f->insts.at[i];
		if (in->op == OP_DYNAMIC) return span_of(c, in->span);
		if (in->op != OP_CALL || depth == DEEP) continue;
		const Fn *callee = inst_callee(c, in);
		const Span at = callee && callee != f ? dynamic_place(c, callee, depth + 1) : NO_SPAN;
		if (at.source) return at;
	}
	return NO_SPAN;
}

static _Noreturn void refuse_dynamic(Sp *sp, DiagCode code, Span at, Span call) {
	Diag *d = diag_error(sp->c, code, at, "types must be known here before it runs");
	if (call.source && !source_is_library(sp->c, call.source)) diag_second(sp->c, d, call, "what this works with has a type that is known only when it runs");
	diag_hint(sp->c, d, "branches that give one shape and dtype, or a function that declares them, number(x: f64) = x, make types known");
	sp_throw(sp);
}

void sp_no_effects(Sp *sp, const Spec *s, DiagCode code, Span at, const char *message) {
	if (!s->effects) return;
	const Span call = s->promised ? NO_SPAN : dynamic_place(sp->c, s->fn, 0);
	if (call.source) refuse_dynamic(sp, code, at, call);
	sp_fail(sp, code, at, "%s", message);
}

void sp_effects(Sp *sp, Ref *rng, Ref *io, Span at) {
	const Hidden *h = sp_hidden(sp);
	Av *r = env_find(sp->env, h->rng), *t = env_find(sp->env, h->io);
	if (!r || !t) {
		if (sp->frame && sp->frame->fixed) sp_fail(sp, E_RULE, at, "this cannot print or draw random numbers here");
		if (!sp->frame) sp_fail(sp, E_INTERNAL, at, "an effect outside a program");
		sp->frame->wants_effects = true;
		session_set_retry(sp->session, sp->frame);
		ctx_throw(sp->c, ST_ERROR);
	}
	*rng = r->ref;
	*io = t->ref;
}

void sp_effects_of_dynamic(Sp *sp, Ref *rng, Ref *io, Span at) {
	if (sp->frame && sp->frame->fixed && !env_find(sp->env, sp_hidden(sp)->io)) refuse_dynamic(sp, E_NO_RULE, at, NO_SPAN);
	sp_effects(sp, rng, io, at);
}

void sp_set_effects(Sp *sp, Ref rng, Ref io) {
	const Hidden *h = sp_hidden(sp);
	if (rng != REF_NONE) env_set(sp, sp->env, h->rng, av_array(sp, rng));
	if (io != REF_NONE) env_set(sp, sp->env, h->io, av_array(sp, io));
}
