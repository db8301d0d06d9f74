/* errors.c - the specialiser's messages: locations in the user's text, call
 * paths.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - A message from inside the library points at the user's call of it and
 *   reports the arguments of that call.
 */
#include "parser/specialise/internal.h"

#include <stdio.h>

static bool in_library(Sp *sp, Span s) { return s.source && source_is_library(sp->c, s.source); }

/* Visits the enclosing calls, innermost first; `visit` returns false to
 * stop. */
static void each_call(const Sp *sp, bool (*visit)(void *ud, Span call), void *ud) {
	const Inlined *i = sp->inlined;
	for (const FunctionFrame *f = sp->frame;; f = f->outer) {
		for (; i; i = i->outer)
			if (i->call.source && !visit(ud, i->call)) return;
		if (!f || (f->call.source && !visit(ud, f->call))) return;
		i = f->inlined;
	}
}

struct user_call {
	Sp *sp;
	Span found;
};

static bool find_user_call(void *ud, Span call) {
	struct user_call *u = ud;
	if (in_library(u->sp, call)) return true;
	u->found = call;
	return false;
}

/* The user's call that led to the code being specialised, or to the code that a
 * library rule differentiates. Returns `at` itself when there is none. */
Span sp_user_place(Sp *sp, Span at) {
	struct user_call u = {sp, NO_SPAN};
	if (!in_library(sp, at)) return at;
	each_call(sp, find_user_call, &u);
	return u.found.source ? u.found : sp->place.source ? sp->place : at;
}

struct call_trace {
	Sp *sp;
	Diag *d;
	Span last;
};

static bool within(Span inner, Span outer) {
	return inner.source == outer.source && inner.start >= outer.start && inner.end <= outer.end;
}

static bool add_call(void *ud, Span call) {
	struct call_trace *t = ud;
	/* The message points into this call already. */
	if (in_library(t->sp, call) || within(t->d->span, call) || within(t->last, call)) return true;
	t->last = call;
	uint32_t line, column;
	source_position(t->sp->c, call, &line, &column);
	diag_trace(t->sp->c, t->d, "called by %s:%u:%u", source_name(t->sp->c, call.source), line,
	           column);
	return true;
}

/* An argument in a few words: its type, or what kind of thing it is. */
static const char *argument_text(Sp *sp, const Av *v) {
	if (v->kind == AV_ARRAY && ref_ty(build_fn(sp->b), v->ref)->rank == 0) return "a number";
	return v->kind == AV_ARRAY ? sp_type_text(sp, v) : av_kind_text(v);
}

/* Adds the arguments that the user passed to a failing library function. The
 * parameter names show what it takes. */
static void add_arguments(Sp *sp, Diag *d, Span user) {
	/* The values of other frames are not available here. */
	const Inlined *i = sp->inlined;
	while (i && memcmp(&i->call, &user, sizeof user)) i = i->outer;
	if (!i || !i->name || !i->asked->n || atom_text(sp->c, i->name)[0] == '_' ||
	    !source_is_library(sp->c, i->function->span.source))
		return;
	const Param *param = i->function->function.params;
	const char *text = "";
	uint32_t n = 0, most = i->function->function.nparams;
	if (most > i->asked->n) most = i->asked->n;
	for (; n < most && !param[n].named && !param[n].rest && !param[n].pattern; n++) {
		const char *between = n == 0 ? "" : n + 1 < most ? ", " : " and ";
		text = arena_printf(sp->a, "%s%s%s is %s", text, between, atom_text(sp->c, param[n].name),
		                    argument_text(sp, i->asked->args[n]));
	}
	if (n) diag_trace(sp->c, d, "in %s, where %s", atom_text(sp->c, i->name), text);
}

void sp_left_library(Sp *sp, uint32_t mark, Span call) {
	const uint32_t total = diag_total(sp->c);
	Diag *d = total > mark ? (Diag *)diag_at(sp->c, total - 1) : NULL;
	const Span user = sp_user_place(sp, call);
	if (d && in_library(sp, d->span) && !in_library(sp, user)) d->span = user;
}

/* A message is about the user's text: one from inside the library points at the
 * user's call of it. */
_Noreturn void sp_throw(Sp *sp) {
	uint32_t total = diag_total(sp->c);
	Diag *d = total ? (Diag *)diag_at(sp->c, total - 1) : NULL;
	if (d) {
		if (in_library(sp, d->span)) {
			uint32_t line, column;
			source_position(sp->c, d->span, &line, &column);
			const char *source = source_name(sp->c, d->span.source);
			Span user = sp_user_place(sp, d->span);
			if (d->code == E_INTERNAL && memcmp(&user, &d->span, sizeof user))
				diag_trace(sp->c, d, "in %s:%u:%u", source, line, column);
			d->span = user;
			if (in_library(sp, d->second)) d->second = NO_SPAN;
		}
		if (d->code != E_INTERNAL && d->code != E_METHOD) add_arguments(sp, d, d->span);
		each_call(sp, add_call, &(struct call_trace){sp, d, NO_SPAN});
	}
	ctx_throw(sp->c, ST_ERROR);
}

void sp_at(Sp *sp, Span at) {
	if (sp->place.source && in_library(sp, at)) {
		at = sp->place;
		at.inside = true;
	}
	build_at(sp->b, span_intern(sp->c, at));
}

_Noreturn void sp_fail(Sp *sp, DiagCode code, Span at, const char *format, ...) {
	char text[600];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	diag_error(sp->c, code, at, "%s", text);
	sp_throw(sp);
}

const char *av_kind_text(const Av *v) {
	switch ((AvKind)v->kind) {
	case AV_UNSET: return "nothing";
	case AV_NONE: return "none";
	case AV_ARRAY: return "an array";
	case AV_DYN: return "a value of unknown type";
	case AV_STRING: return "a string";
	case AV_RANGE: return "a range";
	case AV_TUPLE: return "a tuple";
	case AV_LIST: return "a list";
	case AV_RECORD: return "a record";
	case AV_FUNCTION: return "a function";
	case AV_PROBLEM: return "a problem";
	case AV_HOST: return "a host value";
	}
	return "a value";
}

Atom sp_words(Sp *sp, const char *before, Span at, const char *after) {
	char text[48];
	return sym_text(sp->c, span_intern(sp->c, at), before, text, sizeof text)
	           ? atom_f(sp->c, "%s%s", text, after)
	           : 0;
}

const char *sp_type_text(Sp *sp, const Av *v) {
	if (v->kind == AV_ARRAY) {
		char text[256];
		Fn *f = build_fn(sp->b);
		type_print(sp->c, build_canon_type(sp->b, ref_type(f, v->ref)), sym_words,
		           &(SymWords){.fn = f}, text, sizeof text);
		return arena_copy(sp->a, text, strlen(text));
	}
	if (av_is_sparse(sp->c, v)) return "a sparse matrix";
	if (v->kind == AV_RECORD) {
		const char *text = "record (";
		for (uint32_t i = 0; i < v->n; i++)
			text = arena_printf(sp->a, "%s%s%s: %s", text, i ? ", " : "",
			                    atom_text(sp->c, v->names[i]), sp_type_text(sp, v->items[i]));
		return arena_printf(sp->a, "%s)", text);
	}
	return av_kind_text(v);
}
