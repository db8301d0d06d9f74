/* nan_trace_text.c - the wording of an origin: operation, operands, place.
 *
 * Needs: nan_trace.h.
 *
 * Contract: names and expressions are the user's, as in the source. Derivatives
 * name the operation that was differentiated.
 */
#include "backend/eval/nan_trace.h"
#include <ctype.h>

const char *word_of(const NanOrigin *o, const Ctx *c) {
	switch ((Op)o->op) {
	case OP_REDUCE_SUM: return "sum";
	case OP_REDUCE_PROD: return "prod";
	case OP_REDUCE_MAX: return "max";
	case OP_REDUCE_MIN: return "min";
	case OP_SCATTER_ADD: return "sum at indices";
	case OP_TRISOLVE: return "triangular solve";
	case OP_CONVERT: return "conversion";
	case OP_SELECT: return "where";
	case OP_UNBOX: return "dynamic value";
	case OP_HOST: {
		const char *name;
		return plain_name(c, o->host, &name) ? name : "host function";
	}
	case OP_NONE: return "";
	default: return prim_spelling((Op)o->op);
	}
}

Derivative origin_derivative(const Watch *w, const NanOrigin *o) {
	Derivative d = {.mode = ""};
	for (const char *t = own_transforms(w->c, o->chain); *t;) {
		const size_t n = strcspn(t, " ");
		if (n == 3 && !memcmp(t, "jvp", 3)) d.order++;
		d.rule |= n == 4 && !memcmp(t, "rule", 4);
		if (n == 3 && !memcmp(t, "jet", 3)) d.mode = "Taylor";
		t += n;
		t += *t == ' ';
	}
	if ((d.order || d.rule) && !*d.mode) d.mode = w->reverse ? "reverse" : "forward";
	return d;
}

static void put_number(Text *t, Value v) { value_print(t, v, "", 0); }

/* A scalar next to an operator. Complex ones are printed as sums. */
static void put_factor(Text *t, Value v) {
	const bool sum = dtype_is_complex((Dtype)v.dtype);
	if (sum) text_str(t, "(");
	put_number(t, v);
	if (sum) text_str(t, ")");
}

/* Prints "sqrt(-1.0)", "0.0 / 0.0". */
static void put_operation(Text *t, const NanOrigin *o, const Ctx *c) {
	const char *word = word_of(o, c);
	if (o->noperands == 2 && !isalpha((unsigned char)*word)) {
		put_factor(t, o->operands[0]);
		text_format(t, " %s ", word);
		put_factor(t, o->operands[1]);
		return;
	}
	text_str(t, word);
	for (uint32_t k = 0; k < o->noperands; k++) {
		text_str(t, k ? ", " : "(");
		put_number(t, o->operands[k]);
	}
	text_str(t, ")");
}

static void put_index(Text *t, const NanOrigin *o) {
	text_str(t, "[");
	for (uint32_t k = 0; k < o->rank; k++)
		text_format(t, "%s%lld", k ? ", " : "", (long long)o->index[k]);
	text_str(t, "]");
}

/* The source text at the place if it is short, else the operation. */
static void put_expression(Text *t, const Watch *w, const NanOrigin *o) {
	const Span at = span_of(w->c, o->span);
	size_t n;
	const char *text = at.source ? source_text(w->c, at.source, &n) : NULL;
	if (text && at.end > at.start && at.end - at.start <= 48 &&
	    !memchr(text + at.start, '\n', at.end - at.start))
		text_format(t, "`%.*s`", (int)(at.end - at.start), text + at.start);
	else text_format(t, "`%s`", word_of(o, w->c));
}

Atom library_call(const Watch *w, const NanOrigin *o) {
	if (o->inside) return o->inside;
	const Span at = span_of(w->c, o->span);
	size_t n, k = 0;
	const char *text = at.source ? source_text(w->c, at.source, &n) : NULL;
	if (!text || o->kind != FROM_OPERATION) return 0;
	text += at.start;
	while (k < at.end - at.start && (isalnum((unsigned char)text[k]) || text[k] == '_')) k++;
	if (!k || k >= at.end - at.start || text[k] != '(' || isdigit((unsigned char)*text)) return 0;
	const Atom name = atom_n(w->c, text, k);
	text = atom_text(w->c, name);
	if (o->op == OP_HOST || !strcmp(word_of(o, w->c), text) || prim_from_name(text) != OP_NONE ||
	    !strcmp(text, "sum") || !strcmp(text, "prod"))
		return 0;
	return name;
}

static void put_message(Text *t, const Watch *w, const NanOrigin *o, bool first) {
	const char *what = o->infinite ? "infinity" : "NaN";
	const Derivative d = origin_derivative(w, o);
	if (o->kind == FROM_ARGUMENT) {
		const HostCall *call = w->call;
		const char *name = o->parameter + 1 < call->noptions
		                       ? atom_text(w->c, (Atom)call->options[o->parameter + 1])
		                       : "an argument";
		text_format(t, "the %s is already in %s", what, name);
		if (o->rank) {
			text_str(t, ", at index ");
			put_index(t, o);
		}
		return;
	}
	if (o->kind == FROM_CONSTANT) {
		text_format(t, "the %s is a constant", what);
		if (o->op && span_of_user(w->c, o->span)) {
			text_str(t, " that ");
			put_expression(t, w, o);
			text_str(t, " takes in");
		}
		return;
	}
	const bool derived = d.order || *d.mode;
	if (d.rule) text_format(t, "in the rule of a derivative (%s), ", d.mode);
	else if (d.order > 1) text_format(t, "the derivative of order %u (%s) of ", d.order, d.mode);
	else if (derived) text_format(t, "the derivative (%s) of ", d.mode);
	put_expression(t, w, o);
	const Atom inside = library_call(w, o);
	text_format(t, " gives %s %s: ", first ? "the first" : "an", what);
	if (o->shown) put_operation(t, o, w->c);
	else {
		text_str(t, word_of(o, w->c));
		if (o->note.n) text_format(t, " of an array with %.*s", (int)o->note.n, o->note.at);
	}
	if (inside) text_format(t, ", in %s", atom_text(w->c, inside));
	if (o->rank) {
		text_str(t, ", at index ");
		put_index(t, o);
		if (strstr(own_transforms(w->c, o->chain), "map"))
			text_format(t, " (element %lld of a map)", (long long)o->index[0]);
	}
	bool some = false;
	for (uint32_t k = 0; k < o->noperands && o->op != OP_HOST; k++) {
		if (!o->names[k] || *atom_text(w->c, o->names[k]) == '_') continue;
		text_format(t, "%s%s = ", some ? ", " : ", where ", atom_text(w->c, o->names[k]));
		put_number(t, o->operands[k]);
		some = true;
	}
	if (derived && o->has_primal && !some) {
		if (o->primal_name && !inside)
			text_format(t, ", where %s = ", atom_text(w->c, o->primal_name));
		else text_format(t, ", from %s(", prim_spelling(o->primal_op));
		put_number(t, o->primal);
		if (!o->primal_name || inside) text_str(t, ")");
	}
}

static void to_text(void *ud, const char *text, size_t n) { text_add(ud, text, n); }

void report_origin(Text *out, Watch *w, const NanOrigin *o, bool first, const char *before) {
	Text message;
	text_init(&message, w->c);
	text_str(&message, before);
	put_message(&message, w, o, first);
	text_add(&message, "", 1);
	text_add((Text *)(uintptr_t)&o->trace, "", 1);
	out->failed |= message.failed || o->trace.failed;
	if (!out->failed) {
		const Span at = o->kind == FROM_ARGUMENT ? NO_SPAN : span_of(w->c, o->span);
		const Diag d = {.code = E_NAN,
		                .severity = SEV_ERROR,
		                .message = message.at,
		                .span = at,
		                .trace = o->trace.at[0] ? o->trace.at : NULL};
		diag_render(w->c, &d, false, to_text, out);
	}
	text_free(&message);
}
