/* function_record.c - functions and problems as records of strings and values,
 * for files.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - A function of the library is found again by its text in its module or the
 *   module's parts, and rejected when the library has changed it.
 * - A function of the program is parsed again from its text. It looks up other
 *   functions by name when it is called, like any function.
 * - The record contains the captured values.
 * - A piece of IR is stored in its binary form.
 */
#include "parser/session/session.h"
#include "parser/specialise/internal.h"

#include <stdio.h>
#include <string.h>

typedef struct RecordOutput {
	Value f, result;
} RecordOutput;

static Value text_value(Ctx *c, const char *s, size_t n) {
	Value v = value_string(c, s, n);
	if (v.kind == V_UNSET) ctx_throw(c, ST_NOMEM);
	return v;
}

static void give_record(Ctx *c, uint32_t n, const char *const *names, Value *values, Value *out) {
	Atom atoms[8];
	for (uint32_t i = 0; i < n; i++) atoms[i] = atom(c, names[i]);
	*out = value_record(c, n, atoms, values);
	for (uint32_t i = 0; i < n; i++) value_unref(values[i]);
	if (out->kind == V_UNSET) ctx_throw(c, ST_NOMEM);
}

/* The binary form is a multiple of eight bytes and is stored as integers, the
 * first byte lowest. */
static Value ir_words(Ctx *c, Value f) {
	Text bytes;
	text_init(&bytes, c);
	Status st = session_ir_out(c, f, &bytes);
	const int64_t n = (int64_t)(bytes.n / 8);
	Tensor *t = st == ST_OK ? tensor_new(c, DT_I64, 1, &n) : NULL;
	for (int64_t i = 0; t && i < n; i++) {
		uint64_t w = 0;
		for (int k = 0; k < 8; k++) w |= (uint64_t)(unsigned char)bytes.at[8 * i + k] << 8 * k;
		((int64_t *)(void *)t->data)[i] = (int64_t)w;
	}
	text_free(&bytes);
	if (!t) ctx_throw(c, st == ST_OK ? ST_NOMEM : st);
	return value_tensor(t);
}

static void function_out(Ctx *c, void *arg) {
	RecordOutput *o = arg;
	const FunctionObject *f = (const FunctionObject *)o->f.object;
	const char *name = atom_text(c, f->name);
	static const char *const names[] = {"module", "name", "text", "captured"};
	static const char *const ir_names[] = {"module", "name", "code"};
	const char *module = "builtin", *text = "";
	size_t bytes = 0;
	if (f->code_kind == CODE_IR) {
		Value values[3] = {text_value(c, "ir", 2), text_value(c, name, strlen(name)),
		                   ir_words(c, o->f)};
		give_record(c, 3, ir_names, values, &o->result);
		return;
	}
	if (f->code_kind == CODE_FN) {
		Diag *d = diag_error(c, E_FILE, NO_SPAN,
		                     "a linear map that vjp or linearize returned cannot be saved");
		diag_hint(c, d, "save the function and the place where it was linearized");
		ctx_throw(c, ST_ERROR);
	}
	if (f->code_kind == CODE_BUILTIN) {
		name = ((const Builtin *)f->code)->name;
		if (builtin_find(name) != f->code) {
			diag_error(c, E_FILE, NO_SPAN,
			           "`%s` is a function of the program around and cannot be saved", name);
			ctx_throw(c, ST_ERROR);
		}
	} else if (f->code_kind != CODE_AST) {
		diag_error(c, E_FILE, NO_SPAN,
		           "`%s` is a function of the program around and cannot be saved", name);
		ctx_throw(c, ST_ERROR);
	} else {
		const Ast *e = f->code;
		const Module *m = session_module_of(session_of(c), e->span.source);
		module = m->library ? atom_text(c, m->name) : "";
		text = source_text(c, e->span.source, &bytes) + e->span.start;
		bytes = e->span.end - e->span.start;
	}
	const uint32_t n = f->head.n;
	Atom *keys = ARENA_ARRAY(ctx_arena(c), Atom, n + 1);
	Value *items = ARENA_ARRAY(ctx_arena(c), Value, n + 1), values[4];
	for (uint32_t i = 0; i < n; i++) {
		keys[i] = f->code_kind == CODE_BUILTIN || !f->captured[i].name ? atom_f(c, "%u", i)
		                                                               : f->captured[i].name;
		items[i] = f->captured[i].value;
	}
	values[0] = text_value(c, module, strlen(module));
	values[1] = text_value(c, name, strlen(name));
	values[2] = text_value(c, text, bytes);
	values[3] = value_record(c, n, keys, items);
	if (values[3].kind == V_UNSET) ctx_throw(c, ST_NOMEM);
	give_record(c, 4, names, values, &o->result);
}

Status session_function_out(Ctx *c, Value f, Value *record) {
	RecordOutput o = {.f = f, .result = {.kind = V_UNSET}};
	Status st = ctx_protect(c, function_out, &o);
	*record = o.result;
	return st;
}

/* ---- reading ------------------------------------------------------------- */

typedef struct AstSearch {
	Ctx *c;
	const char *text;
	size_t n;
	AstKind a, b;
	const Ast *found;
} AstSearch;

static void search(void *ud, const Ast *e) {
	AstSearch *s = ud;
	if (s->found) return;
	if ((e->kind == s->a || e->kind == s->b) && e->span.source &&
	    e->span.end - e->span.start == s->n) {
		size_t size;
		const char *text = source_text(s->c, e->span.source, &size);
		if (!memcmp(text + e->span.start, s->text, s->n)) {
			s->found = e;
			return;
		}
	}
	ast_children(e, search, s);
}

static void search_module(AstSearch *s, const Module *m) {
	for (uint32_t i = 0; i < m->globals.n && !s->found; i++) {
		const Value g = m->globals.at[i].value;
		const FunctionObject *f = g.kind == V_FUNCTION ? (const FunctionObject *)g.object : NULL;
		if (f && f->code_kind == CODE_AST) search(s, f->code);
	}
}

typedef struct RecordInput {
	Value record, result;
} RecordInput;

static _Noreturn void refuse(Ctx *c, const char *name, const char *why) {
	diag_error(c, E_FILE, NO_SPAN, "the function `%.60s` in this file %s", name, why);
	ctx_throw(c, ST_ERROR);
}

static Value of_words(Ctx *c, Value words, const char *called) {
	Value f = {.kind = V_UNSET};
	if (words.kind != V_TENSOR || words.tensor->dtype != DT_I64 || words.tensor->rank != 1 ||
	    !words.tensor->contiguous)
		refuse(c, called, "lacks its code");
	Text bytes;
	text_init(&bytes, c);
	for (int64_t i = 0; i < words.tensor->count; i++) {
		const uint64_t w = (uint64_t)((const int64_t *)(const void *)words.tensor->data)[i];
		char eight[8];
		for (int k = 0; k < 8; k++) eight[k] = (char)(w >> 8 * k);
		text_add(&bytes, eight, 8);
	}
	const Status st =
		bytes.failed ? ST_NOMEM : session_ir_in(c, called, bytes.at ? bytes.at : "", bytes.n, &f);
	text_free(&bytes);
	if (st != ST_OK) ctx_throw(c, st);
	return f;
}

static void function_in(Ctx *c, void *arg) {
	RecordInput *in = arg;
	Session *s = session_of(c);
	Value module = value_field(in->record, atom(c, "module")),
		  name = value_field(in->record, atom(c, "name")),
		  text = value_field(in->record, atom(c, "text")),
		  captured = value_field(in->record, atom(c, "captured"));
	const char *called = name.kind == V_STRING ? ((const StringObject *)name.object)->text : "";
	if (module.kind == V_STRING && name.kind == V_STRING &&
	    !strcmp(((const StringObject *)module.object)->text, "ir")) {
		in->result = of_words(c, value_field(in->record, atom(c, "code")), called);
		return;
	}
	if (module.kind != V_STRING || name.kind != V_STRING || text.kind != V_STRING ||
	    captured.kind != V_RECORD)
		refuse(c, called, "lacks its parts");
	const char *from = ((const StringObject *)module.object)->text;
	const StringObject *code = (const StringObject *)text.object;
	const RecordObject *kept = (const RecordObject *)captured.object;
	const uint32_t n = kept->head.n;
	Atom *names = ARENA_ARRAY(ctx_arena(c), Atom, n + 1);
	Value *items = ARENA_ARRAY(ctx_arena(c), Value, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		/* The captured values of builtins have no names. */
		names[i] = !strcmp(from, "builtin") ? 0 : kept->fields[i].name;
		items[i] = kept->fields[i].value;
	}
	if (!strcmp(from, "builtin")) {
		const Builtin *b = builtin_find(called);
		if (!b) refuse(c, called, "is not in this version of the language");
		in->result = value_function(c, V_FUNCTION, CODE_BUILTIN, atom(c, b->name), b,
		                            atom(c, b->name), n, names, items);
	} else {
		const Ast *e = NULL;
		if (*from) {
			Module *m = session_library_module(s, from);
			AstSearch look = {c, code->text, code->head.n, A_LAMBDA, A_DEF, NULL};
			uint32_t k = 0;
			for (const Module *part = m; part && !look.found; part = session_module_part(s, m, ++k))
				search_module(&look, part);
			e = look.found;
			if (!e) refuse(c, *called ? called : from, "is not in this version of the library");
		} else {
			SourceId source = source_add(c, "<file>", code->text, code->head.n);
			bool ok;
			const uint32_t before = diag_total(c);
			Program p = parse_program(c, ctx_arena(c), source, &ok);
			if (!ok) {
				diag_truncate(c, before);
				refuse(c, called, "cannot be read");
			}
			if (p.n == 1 && (p.items[0]->kind == A_LAMBDA || p.items[0]->kind == A_DEF ||
			                 p.items[0]->kind == A_PROBLEM))
				e = p.items[0];
			if (!e) refuse(c, called, "is no function");
		}
		in->result = value_function(c, e->kind == A_PROBLEM ? V_PROBLEM : V_FUNCTION, CODE_AST,
		                            e->id, e, atom(c, called), n, names, items);
	}
	if (in->result.kind == V_UNSET) ctx_throw(c, ST_NOMEM);
}

Status session_function_in(Ctx *c, Value record, Value *f) {
	RecordInput in = {.record = record, .result = {.kind = V_UNSET}};
	Status st = ctx_protect(c, function_in, &in);
	*f = in.result;
	return st;
}
