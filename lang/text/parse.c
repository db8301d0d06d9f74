/* parse.c - the reader of the text form that print.c writes.
 *
 * Method: recursive descent; each function has its production above it. `;`
 * starts a comment to the end of the line.
 *
 * Needs: reader.h. binary/read.c reads the binary form.
 *
 * Contract:
 * - For any bytes, the result is a verified function, or NULL and a diagnostic
 *   at the faulty location.
 * - Nothing is folded, shared or removed, so that the function prints as it was
 *   written.
 * - Nesting is bounded by FORM_DEPTH.
 */
#include "lang/text/reader.h"
#include <stdio.h>

/* ---- spans, chains, definitions, operands -------------------------------- */

/* span := '@' int ':' int ':' int, none unless the context has such a text */
static SpanId read_span(IrReader *r) {
	if (!form_accept(r, "@")) return 0;
	Span s = {.source = form_read_u32(r)};
	form_expect(r, ":");
	s.start = form_read_u32(r);
	form_expect(r, ":");
	s.end = form_read_u32(r);
	const bool known = s.source < sources_end(r->c) && source_text(r->c, s.source, NULL);
	return known && s.start <= s.end ? span_intern(r->c, s) : 0;
}

static SpanId known_span(const IrReader *r, SpanId id) { return span_of(r->c, id).source ? id : 0; }

/* chain := { '!' word }. A word for a call has ids of this session; those that
 * it does not have are left out. */
static ChainId read_chain(IrReader *r) {
	ChainId chain = 0;
	while (form_accept(r, "!")) {
		size_t start = r->at;
		while (r->at < r->n && (unsigned char)r->text[r->at] > ' ') r->at++;
		if (r->at == start) form_wrong(r, start, start + 1, "expected the name of a transform");
		const char *word = r->text + start;
		const size_t n = r->at - start;
		Atom callee;
		SpanId defined, at;
		chain =
			chain_word_call(word, n, &callee, &defined, &at)
				? chain_push_call(r->c, chain, callee, known_span(r, defined), known_span(r, at))
				: chain_push(r->c, chain, atom_text(r->c, atom_n(r->c, word, n)));
	}
	return chain;
}

typedef struct Def {
	uint32_t number;
	Atom name;
	TypeId type;
	size_t start, end;
} Def;
typedef VEC(Def) Defs;

/* def := '%' int [name] ':' type */
static Def read_def(IrReader *r) {
	Def d = {.start = (form_skip_blanks(r), r->at)};
	form_expect(r, "%");
	d.number = form_read_u32(r);
	if (d.number > r->n)
		form_wrong(r, d.start, r->at, "a number of a value that is larger than the text is long");
	d.end = r->at;
	if (form_peek(r) != ':') d.name = form_read_name(r, "the name of a value, or `:`");
	form_expect(r, ":");
	d.type = form_read_type(r);
	return d;
}

static void define(IrReader *r, const Def *d, Ref ref) {
	while (r->numbered.n <= d->number) VEC_PUSH(r->arena, &r->numbered, REF_NONE);
	if (r->numbered.at[d->number] != REF_NONE)
		form_wrong(r, d->start, d->end, "%%%u is defined twice", d->number);
	r->numbered.at[d->number] = ref;
	VEC_PUSH(r->arena, &r->trail, d->number);
	r->b->fn->vals.at[REF_INDEX(ref)].name = d->name;
}

static void forget(IrReader *r, uint32_t mark) {
	while (r->trail.n > mark) r->numbered.at[r->trail.at[--r->trail.n]] = REF_NONE;
}

/* operand := '%' int | 'dyn' value | tensor | scalar */
static Ref read_operand(IrReader *r) {
	size_t start = (form_skip_blanks(r), r->at);
	if (form_accept(r, "%")) {
		uint32_t k = form_read_u32(r);
		if (k >= r->numbered.n || r->numbered.at[k] == REF_NONE)
			form_wrong(r, start, r->at, "%%%u is not defined here", k);
		return r->numbered.at[k];
	}
	if (form_accept_word(r, "dyn")) {
		Value v = form_read_value(r);
		if (value_is_array(v))
			form_wrong(r, start, r->at,
			           "an array is not a dyn constant: without `dyn` it is one of its own type");
		return build_const(r->b, v);
	}
	Value v = form_at_tensor(r) ? form_read_tensor(r) : form_read_scalar(r);
	return build_const(r->b, v);
}

typedef VEC(Ref) Refs;

static Refs read_operands(IrReader *r) {
	Refs refs = {0};
	do {
		Ref ref = read_operand(r);
		VEC_PUSH(r->arena, &refs, ref);
	} while (form_accept(r, ","));
	return refs;
}

/* ---- attributes ---------------------------------------------------------- */

static FnId resolve_callee(IrReader *r);

static int64_t read_attr_word(IrReader *r, char letter) {
	size_t start = (form_skip_blanks(r), r->at);
	switch (letter) {
	case 'D': return form_read_dim(r);
	case 'y': return form_read_type(r);
	case 't': return form_read_dtype(r);
	case 'a': {
		size_t n;
		const char *s = form_read_string(r, &n);
		return atom_n(r->c, s, n);
	}
	case 'f': return resolve_callee(r);
	case 'h': {
		size_t n;
		const char *s = form_read_string(r, &n);
		form_expect(r, "#");
		uint32_t id = form_read_u32(r);
		const HostCall *call = host_call(r->c, id);
		if (!call || strcmp(call->def->name, s) != 0)
			form_wrong(
				r, start, r->at,
				"the host function \"%s\" is not known here: host calls cannot be read from text "
				"alone",
				s);
		return id;
	}
	default: return form_read_int(r);
	}
}

/* attributes := '{' name ':' (word | '[' [word {',' word}] ']') {',' ...} '}',
 * in the order of the primitive's schema */
static AttrId read_attrs(IrReader *r, Op op) {
	const char *schema = prims[op].attr;
	VEC(int64_t) words = {0};
	FormField field;
	bool any = false;
	while (form_next_field(&schema, &field)) {
		form_expect(r, any ? "," : "{");
		any = true;
		size_t start = (form_skip_blanks(r), r->at), n = form_ident_length(r);
		if (n != field.name_length || memcmp(r->text + r->at, field.name, n) != 0)
			form_wrong(r, start, r->at + n, "expected the attribute `%.*s` of %s",
			           (int)field.name_length, field.name, prims[op].name);
		r->at += n;
		form_expect(r, ":");
		if (!field.list) {
			int64_t w = read_attr_word(r, field.letter);
			VEC_PUSH(r->arena, &words, w);
			continue;
		}
		uint32_t count_at = words.n;
		VEC_PUSH(r->arena, &words, 0);
		form_expect(r, "[");
		while (!form_accept(r, "]")) {
			if (words.at[count_at]) form_expect(r, ",");
			int64_t w = read_attr_word(r, field.letter);
			VEC_PUSH(r->arena, &words, w);
			words.at[count_at]++;
		}
	}
	if (!any) return 0;
	form_expect(r, "}");
	return attr_intern(r->c, words.at, words.n);
}

/* ---- instructions and regions -------------------------------------------- */

static Refs read_region_body(IrReader *r, const char *end);

/* region := '{' ['(' def {',' def} ')' ':'] {instruction}
 *           'yield' [operand {',' operand}] '}' */
static RegionId read_region(IrReader *r) {
	form_enter(r);
	uint32_t mark = r->trail.n;
	form_expect(r, "{");
	Defs defs = {0};
	VEC(TypeId) types = {0};
	if (form_accept(r, "(")) {
		do {
			Def d = read_def(r);
			VEC_PUSH(r->arena, &defs, d);
			VEC_PUSH(r->arena, &types, d.type);
		} while (form_accept(r, ","));
		form_expect(r, ")");
		form_expect(r, ":");
	}
	Ref *params = ARENA_ARRAY(r->arena, Ref, defs.n + 1u);
	OpenRegion *open = build_region_begin(r->b, defs.n, types.at, params);
	for (uint32_t i = 0; i < defs.n; i++) define(r, &defs.at[i], params[i]);
	Refs results = read_region_body(r, "yield");
	form_expect(r, "}");
	RegionId id = build_region_end(r->b, open, results.n, results.at);
	forget(r, mark);
	form_leave(r);
	return id;
}

/* instruction := [def {',' def} '='] op [operand {',' operand}] [attributes]
 *                {region} chain [span] */
static void read_inst(IrReader *r) {
	Builder *b = r->b;
	Defs defs = {0};
	VEC(TypeId) types = {0};
	if (form_peek(r) == '%') {
		do {
			Def d = read_def(r);
			VEC_PUSH(r->arena, &defs, d);
			VEC_PUSH(r->arena, &types, d.type);
		} while (form_accept(r, ","));
		form_expect(r, "=");
	}
	size_t start = (form_skip_blanks(r), r->at);
	Atom name = form_read_ident(r, "the name of a primitive");
	size_t end = r->at;
	Op op = prim_from_name(atom_text(r->c, name));
	if (op == OP_NONE) form_wrong(r, start, end, "`%s` is not a primitive", atom_text(r->c, name));
	Refs args = {0};
	if (prims[op].nargs != 0 && form_peek(r) != '{') args = read_operands(r);
	AttrId attr = read_attrs(r, op);
	RegionId regions[2];
	uint32_t nregions = 0;
	while (nregions < 2 && form_peek(r) == '{') regions[nregions++] = read_region(r);
	ChainId chain = read_chain(r);
	SpanId span = read_span(r);

	const TypeId none = 0;
	TypeQuery q = {
		.b = b, .op = op, .nargs = args.n, .args = args.at, .attr = attr, .here = b->region->id};
	q.nregions = nregions;
	q.regions = regions;
	q.stated = types.n ? types.at : &none;
	q.nstated = types.n;
	if (!infer_types(&q))
		form_wrong(r, start, end, "%s: %s", prims[op].name,
		           q.why ? q.why : "operands that do not fit");
	build_at(b, span);
	build_chain(b, chain);
	InstId id = emit_inst(b, op, args.n, args.at, attr, nregions, regions, types.n, types.at);
	for (uint32_t k = 0; k < defs.n; k++)
		define(r, &defs.at[k], ref_value(b->fn->insts.at[id].results + k));
}

static Refs read_region_body(IrReader *r, const char *end) {
	Refs results = {0};
	while (!form_accept_word(r, end)) {
		if (form_peek(r) < 0)
			form_wrong(r, r->at, r->at, "the text ends inside a region: expected `%s`", end);
		read_inst(r);
	}
	if (form_peek(r) != '}') results = read_operands(r);
	return results;
}

/* ---- functions ----------------------------------------------------------- */

/* label := '@' name ['.' int] */
static Label read_label(IrReader *r) {
	form_expect(r, "@");
	Label l = {.name = form_read_name(r, "the name of a function")};
	if (form_peek_raw(r) == '.') {
		r->at++;
		l.suffix = form_read_u32(r);
	}
	return l;
}

/* Finds every `fn @label` at the start of a line, so that functions can call
 * others defined further down. */
static void find_functions(IrReader *r) {
	for (size_t line = 0; line < r->n;) {
		r->at = line;
		while (form_peek_raw(r) == ' ' || form_peek_raw(r) == '\t') r->at++;
		size_t start = r->at;
		if (form_peek_raw(r) == 'f' && form_accept_word(r, "fn")) {
			ParsedFn e = {.label = read_label(r), .start = start};
			for (uint32_t i = 0; i < r->fns.n; i++)
				if (r->fns.at[i].label.name == e.label.name &&
				    r->fns.at[i].label.suffix == e.label.suffix)
					form_wrong(r, start, r->at, "two functions of one name");
			VEC_PUSH(r->arena, &r->fns, e);
		}
		const char *next = memchr(r->text + line, '\n', r->n - line);
		line = next ? (size_t)(next - r->text) + 1 : r->n;
	}
}

/* symbols := '[' symlabel ['=' string] [span] {',' ...} ']' */
static void read_symbols(IrReader *r) {
	if (!form_accept(r, "[")) return;
	do {
		size_t start = (form_skip_blanks(r), r->at);
		SymLabel s = form_read_sym_label(r);
		for (uint32_t i = 0; i < r->syms.n; i++)
			if (r->syms.at[i].name == s.name && r->syms.at[i].suffix == s.suffix)
				form_wrong(r, start, r->at, "a symbol listed twice");
		Atom name = s.suffix != NO_SUFFIX && !strcmp(atom_text(r->c, s.name), "_") ? 0 : s.name;
		if (form_accept(r, "=")) {
			size_t n;
			const char *text = form_read_string(r, &n);
			name = atom_n(r->c, text, n);
		}
		VEC_PUSH(r->arena, &r->syms, s);
		build_sym(r->b, name, read_span(r));
	} while (form_accept(r, ","));
	form_expect(r, "]");
}

/* function := 'fn' label [symbols] '(' [def {',' def}] ')'
 *             '->' '(' [type {',' type}] ')' [span]
 *             ['snapshots' '(' int ',' int ')'] ['by_lane' '(' int ')'] body
 * body := '{' {instruction} 'return' [operand {',' operand}] '}' */
static void read_function(IrReader *r, uint32_t entry) {
	/* A function may be read while its caller is only partly read. */
	const IrReader caller = *r;
	memset(&r->syms, 0, sizeof r->syms);
	memset(&r->numbered, 0, sizeof r->numbered);
	memset(&r->trail, 0, sizeof r->trail);
	form_enter(r);
	r->at = r->fns.at[entry].start;
	if (!form_accept_word(r, "fn")) form_wrong(r, r->at, r->at + 1, "expected `fn`");
	Label label = read_label(r);
	r->b = build_begin(r->c, label.name, 0, NULL);
	r->b->verbatim = true;
	r->fns.at[entry].state = FN_OPEN;
	r->fns.at[entry].id = r->b->fn->id;
	read_symbols(r);
	form_expect(r, "(");
	for (bool more = form_peek(r) != ')'; more; more = form_accept(r, ",")) {
		Def d = read_def(r);
		define(r, &d, build_param(r->b, d.type, d.name));
	}
	form_expect(r, ")");
	form_expect(r, "->");
	form_expect(r, "(");
	VEC(TypeId) stated = {0};
	for (bool more = form_peek(r) != ')'; more; more = form_accept(r, ","))
		VEC_PUSH(r->arena, &stated, form_read_type(r));
	form_expect(r, ")");
	r->b->fn->span = read_span(r);
	if (form_accept_word(r, "snapshots")) {
		int64_t words[2];
		form_expect(r, "(");
		words[0] = form_read_int(r);
		form_expect(r, ",");
		words[1] = form_read_int(r);
		if ((words[0] > 0) == (words[1] > 0) || words[0] < 0 || words[1] < 0)
			form_wrong(r, r->at, r->at + 1,
			           "a number of snapshots or of bytes is wanted, and 0 for the other");
		form_expect(r, ")");
		r->b->fn->checkpoint = attr_intern(r->c, words, 2);
	}
	if (form_accept_word(r, "by_lane")) {
		form_expect(r, "(");
		int64_t k = form_read_int(r);
		if (k < 0 || k >= fn_nparams(r->b->fn))
			form_wrong(r, r->at, r->at + 1, "there is no such parameter");
		r->b->fn->batch_sequentially_by = (uint32_t)k + 1;
		form_expect(r, ")");
	}
	form_expect(r, "{");
	Refs results = read_region_body(r, "return");
	size_t start = (form_skip_blanks(r), r->at);
	form_expect(r, "}");
	bool same = results.n == stated.n;
	for (uint32_t i = 0; same && i < results.n; i++)
		same = ref_type(r->b->fn, results.at[i]) == stated.at[i];
	if (!same)
		form_wrong(r, start, r->at, "what is returned is not what the header of @%s says",
		           atom_text(r->c, label.name));
	ParsedFn *e = &r->fns.at[entry];
	e->fn = build_end(r->b, results.n, results.at);
	e->state = FN_READ;
	e->end = r->at;
	if (!fn_verify(e->fn, "reading")) ctx_throw(r->c, ST_INTERNAL);
	r->b = caller.b;
	r->syms = caller.syms;
	r->numbered = caller.numbered;
	r->trail = caller.trail;
	r->depth = caller.depth;
}

static FnId resolve_callee(IrReader *r) {
	size_t start = (form_skip_blanks(r), r->at);
	Label label = read_label(r);
	size_t after = r->at;
	for (uint32_t i = 0; i < r->fns.n; i++) {
		const ParsedFn *e = &r->fns.at[i];
		if (e->label.name != label.name || e->label.suffix != label.suffix) continue;
		if (e->state == FN_UNREAD) read_function(r, i);
		r->recursive = r->recursive || e->state == FN_OPEN;
		r->at = after;
		return r->fns.at[i].id;
	}
	form_wrong(r, start, after, "there is no function @%s in this text",
	           atom_text(r->c, label.name));
}

static void read_all(Ctx *c, void *arg) {
	IrReader *r = arg;
	(void)c;
	find_functions(r);
	r->at = 0;
	while (form_peek(r) >= 0) {
		uint32_t i = 0;
		while (i < r->fns.n && r->fns.at[i].start != r->at) i++;
		if (i == r->fns.n)
			form_wrong(r, r->at, r->at + 1, "expected `fn @name` at the start of a line");
		if (r->fns.at[i].state == FN_UNREAD) read_function(r, i);
		r->at = r->fns.at[i].end;
		r->last = i;
	}
	if (!r->fns.n) form_wrong(r, 0, r->n, "there is no function in this text");
	/* What an open function gives was not known to its callers. */
	for (uint32_t i = 0; r->recursive && i < r->fns.n; i++)
		if (!fn_verify(r->fns.at[i].fn, "reading")) ctx_throw(r->c, ST_INTERNAL);
}

static void set_up(Ctx *c, void *arg) {
	IrReader *r = arg;
	ir_state(c);
	r->arena = arena_new(c);
}

/* A fault that the verifier finds in a function from text is the text's fault,
 * not an internal error. */
static void blame_text(IrReader *r, uint32_t total) {
	if (diag_total(r->c) <= total) return;
	const Diag *d = diag_at(r->c, total);
	char message[400];
	snprintf(message, sizeof message, "%s", d->message ? d->message : "");
	diag_truncate(r->c, total);
	size_t at = r->at < r->n ? r->at : r->n;
	diag_error(r->c, E_SYNTAX, span_made(r->source, (uint32_t)at, (uint32_t)at), "%s", message);
}

Fn *fn_read(Ctx *c, SourceId source, Status *why) {
	IrReader r = {.c = c, .source = source};
	uint32_t total = diag_total(c);
	r.text = source_text(c, source, &r.n);
	Status status = ctx_protect(c, set_up, &r);
	if (status == ST_OK) {
		uint32_t mark = build_mark(c);
		status = ctx_protect(c, read_all, &r);
		if (status != ST_OK) build_unwind(c, mark);
		if (status == ST_INTERNAL) {
			blame_text(&r, total);
			status = ST_ERROR;
		}
		form_release_owned(&r);
	}
	Fn *result = NULL;
	for (uint32_t i = 0; i < r.fns.n; i++) {
		Fn *f = r.fns.at[i].fn;
		if (status == ST_OK && i == r.last) result = f;
		else if (f) fn_unref(f);
	}
	if (r.arena) arena_free(r.arena);
	if (status == ST_NOMEM)
		diag_error(c, E_MEMORY, NO_SPAN, "out of memory while reading the text form of a function");
	if (why) *why = status == ST_OK && !result ? ST_ERROR : status;
	return result;
}
