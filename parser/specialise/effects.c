/* effects.c - implicit parameters of a function: the random state and the
 * effect token.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - A function has them only when something in it needs them. It is then
 *   specialised again, with two more parameters and two more results.
 * - Printing and drawing random numbers need them. So does a call whose types
 *   are known only at run time, because it may print or draw.
 * - Where they are not available, the message gives the reason and its
 *   location.
 */
#include "parser/specialise/internal.h"

/* Functions already visited, so that shared callees are visited once. */
typedef struct VisitedFn {
	const Fn *f;
	struct VisitedFn *next;
} VisitedFn;

/* The location of a call in f, or in its callees, whose types are known only at
 * run time; NO_SPAN when there is none. */
static Span dynamic_place(Sp *sp, const Fn *f, VisitedFn **seen) {
	for (const VisitedFn *s = *seen; s; s = s->next)
		if (s->f == f) return NO_SPAN;
	VisitedFn *own = ARENA_NEW(sp->a, VisitedFn);
	*own = (VisitedFn){.f = f, .next = *seen};
	*seen = own;
	for (uint32_t i = 0; i < f->insts.n; i++) {
		const Inst *in = &f->insts.at[i];
		if (in->op == OP_DYNAMIC) return span_of(sp->c, in->span);
		const Fn *callee = in->op == OP_CALL ? inst_callee(sp->c, in) : NULL;
		const Span at = callee ? dynamic_place(sp, callee, seen) : NO_SPAN;
		if (at.source) return at;
	}
	return NO_SPAN;
}

static _Noreturn void refuse_dynamic(Sp *sp, DiagCode code, Span at, Span call) {
	Diag *d = diag_error(sp->c, code, at, "types must be known here before it runs");
	if (call.source && !source_is_library(sp->c, call.source))
		diag_second(sp->c, d, call,
		            "what this works with has a type that is known only when it runs");
	diag_hint(sp->c, d,
	          "branches that give one shape and dtype, or a function that declares them, "
	          "number(x: f64) = x, make types known");
	sp_throw(sp);
}

void sp_no_effects(Sp *sp, const Specialisation *s, DiagCode code, Span at, const char *message) {
	if (!s->effects) return;
	VisitedFn *seen = NULL;
	const Span call = s->promised ? NO_SPAN : dynamic_place(sp, s->fn, &seen);
	if (call.source) refuse_dynamic(sp, code, at, call);
	sp_fail(sp, code, at, "%s", message);
}

void sp_effects(Sp *sp, Ref *rng, Ref *io, Span at) {
	const Hidden *h = sp_hidden(sp);
	Av *r = env_find(sp->env, h->rng), *t = env_find(sp->env, h->io);
	if (!r || !t) {
		if (sp->frame && sp->frame->fixed)
			sp_fail(sp, E_RULE, at, "this cannot print or draw random numbers here");
		if (!sp->frame) sp_fail(sp, E_INTERNAL, at, "an effect outside a program");
		sp->frame->wants_effects = true;
		session_set_retry(sp->session, sp->frame);
		ctx_throw(sp->c, ST_ERROR);
	}
	*rng = r->ref;
	*io = t->ref;
}

void sp_effects_of_dynamic(Sp *sp, Ref *rng, Ref *io, Span at) {
	if (sp->frame && sp->frame->fixed && !env_find(sp->env, sp_hidden(sp)->io))
		refuse_dynamic(sp, E_NO_RULE, at, NO_SPAN);
	sp_effects(sp, rng, io, at);
}

void sp_set_effects(Sp *sp, Ref rng, Ref io) {
	const Hidden *h = sp_hidden(sp);
	if (rng != REF_NONE) env_set(sp, sp->env, h->rng, av_array(sp, rng));
	if (io != REF_NONE) env_set(sp, sp->env, h->io, av_array(sp, io));
}
