/* print.c - the writer of the text form that text/parse.c reads.
 *
 * Needs: ir.h, host.h.
 *
 * Contract:
 * - Only the numbering of values is lost: the text numbers them densely in
 *   reading order, without gaps for dead values. Scalars keep their bits,
 *   symbols their ids, instructions their span and chain.
 * - Broken functions are printed too, because the verifier shows them.
 * - Never throws: when memory fails, the Text is marked as failed.
 *
 *   fn @f[n, m.1](%0 x: f64[n, 3], %1: i64) -> (f64[n]) @1:0:40 {
 *     %2: f64[n] = reduce_sum %0 {axes: [1]} !jvp !transpose @1:10:14
 *     %3: f64[n] = for %1, %2 {
 *       (%4: i64, %5: f64[n]):
 *       %6: f64[n] = mul %5, %5
 *       yield %6
 *     }
 *     return %3
 *   }
 */
#include "lang/ir/host.h"
#include "lang/text/syntax.h"
#include "lang/text/print.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NO_NUMBER UINT32_MAX

/* ---- names and numbers --------------------------------------------------- */

bool form_is_ident(const char *s, size_t n) {
	for (size_t i = 0; i < n; i++)
		if (!form_ident_byte((unsigned char)s[i], i == 0)) return false;
	return n > 0;
}

static void put_quoted(Text *out, const char *s, size_t n) {
	text_str(out, "\"");
	for (size_t i = 0; i < n; i++) {
		unsigned char ch = (unsigned char)s[i];
		if (ch == '"' || ch == '\\') text_format(out, "\\%c", ch);
		else if (ch == '\n') text_str(out, "\\n");
		else if (ch < 0x20 || ch == 0x7f) text_format(out, "\\x%02x", ch);
		else text_add(out, s + i, 1);
	}
	text_str(out, "\"");
}

static void put_name(const Ctx *c, Text *out, Atom name) {
	const char *s = atom_text(c, name);
	size_t n = atom_length(c, name);
	if (form_is_ident(s, n)) text_add(out, s, n);
	else put_quoted(out, s, n);
}

static void put_span(const Ctx *c, Text *out, SpanId id) {
	Span s = span_of(c, id);
	if (s.source || s.start || s.end) text_format(out, " @%u:%u:%u", s.source, s.start, s.end);
}

/* The shortest decimal that reads back to the same bits, always with a point or
 * an exponent. */
static void put_real(Text *out, double x, bool single) {
	uint64_t bits = 0;
	if (single) {
		float narrow = (float)x;
		uint32_t b32;
		memcpy(&b32, &narrow, sizeof b32);
		bits = b32;
	} else memcpy(&bits, &x, sizeof bits);
	if (isnan(x)) {
		if (bits == (single ? 0x7fc00000u : 0x7ff8000000000000u)) text_str(out, "nan");
		else text_format(out, "nan(0x%llx)", (unsigned long long)bits);
		return;
	}
	if (isinf(x)) {
		text_str(out, x < 0 ? "-inf" : "inf");
		return;
	}
	char buf[40];
	for (int digits = single ? 6 : 15; digits <= 17; digits++) {
		snprintf(buf, sizeof buf, "%.*g", digits, x);
		if (single ? strtof(buf, NULL) == (float)x : strtod(buf, NULL) == x) break;
	}
	text_str(out, buf);
	if (!strpbrk(buf, ".e")) text_str(out, ".0");
}

/* Converting an f32 NaN to double makes it quiet and changes its bits, so f32
 * parts are passed by address. */
static void put_float_at(Text *out, const float *p) {
	uint32_t bits;
	memcpy(&bits, p, sizeof bits);
	if ((bits & 0x7fffffffu) <= 0x7f800000u) put_real(out, (double)*p, true);
	else if (bits == 0x7fc00000u) text_str(out, "nan");
	else text_format(out, "nan(0x%x)", bits);
}

/* An element of dtype d without its dtype. */
static void put_element(Text *out, Dtype d, const void *p) {
	switch (d) {
	case DT_BOOL: text_str(out, *(const bool *)p ? "true" : "false"); break;
	case DT_I32: text_format(out, "%d", *(const int32_t *)p); break;
	case DT_I64: text_format(out, "%lld", (long long)*(const int64_t *)p); break;
	case DT_F32: put_float_at(out, p); break;
	case DT_F64: put_real(out, *(const double *)p, false); break;
	case DT_C64:
		text_str(out, "complex(");
		put_float_at(out, (const float *)p);
		text_str(out, ", ");
		put_float_at(out, (const float *)p + 1);
		text_str(out, ")");
		break;
	case DT_C128:
		text_str(out, "complex(");
		put_real(out, ((const double *)p)[0], false);
		text_str(out, ", ");
		put_real(out, ((const double *)p)[1], false);
		text_str(out, ")");
		break;
	default: text_str(out, "?"); break;
	}
}

static void put_scalar(Text *out, Dtype d, const void *p) {
	put_element(out, d, p);
	if (d == DT_I32 || d == DT_F32 || d == DT_C64) text_format(out, ":%s", dtype_name(d));
}

static void put_elements(Text *out, const Tensor *t, uint32_t axis, const char *data, bool *first) {
	if (axis == t->rank) {
		if (!*first) text_str(out, ", ");
		*first = false;
		put_element(out, (Dtype)t->dtype, data);
		return;
	}
	ptrdiff_t step = (ptrdiff_t)t->stride[axis] * (ptrdiff_t)dtype_size((Dtype)t->dtype);
	for (int64_t i = 0; i < t->shape[axis] && !out->failed; i++)
		put_elements(out, t, axis + 1, data + i * step, first);
}

static void put_tensor(Text *out, const Tensor *t) {
	if (!t->rank) {
		put_scalar(out, (Dtype)t->dtype, t->data);
		return;
	}
	text_format(out, "%s[", dtype_name((Dtype)t->dtype));
	for (uint32_t i = 0; i < t->rank; i++)
		text_format(out, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
	text_str(out, "]{");
	bool first = true;
	if (t->count) put_elements(out, t, 0, t->data, &first);
	text_str(out, "}");
}

static void put_value(const Ctx *c, Text *out, Value v) {
	switch (v.kind) {
	case V_UNSET: text_str(out, "_"); break;
	case V_NONE: text_str(out, "none"); break;
	case V_SCALAR: put_scalar(out, (Dtype)v.dtype, value_scalar_bytes(&v)); break;
	case V_TENSOR: put_tensor(out, v.tensor); break;
	case V_STRING: put_quoted(out, ((const StringObject *)v.object)->text, v.object->n); break;
	case V_RANGE: {
		const RangeObject *r = (const RangeObject *)v.object;
		text_format(out, "range(%lld, %lld, %lld)", (long long)r->start, (long long)r->stop,
		            (long long)r->step);
		break;
	}
	case V_TUPLE:
	case V_LIST:
		text_str(out, v.kind == V_TUPLE ? "(" : "[");
		for (uint32_t i = 0; i < v.object->n; i++) {
			if (i) text_str(out, ", ");
			put_value(c, out, ((const SeqObject *)v.object)->items[i]);
		}
		text_str(out, v.kind == V_TUPLE ? ")" : "]");
		break;
	case V_RECORD:
		text_str(out, "{");
		for (uint32_t i = 0; i < v.object->n; i++) {
			if (i) text_str(out, ", ");
			put_name(c, out, ((const RecordObject *)v.object)->fields[i].name);
			text_str(out, ": ");
			put_value(c, out, ((const RecordObject *)v.object)->fields[i].value);
		}
		text_str(out, "}");
		break;
	case V_FUNCTION:
	case V_PROBLEM:
		text_str(out, v.kind == V_FUNCTION ? "<function " : "<problem ");
		put_name(c, out, ((const FunctionObject *)v.object)->name);
		text_str(out, ">");
		break;
	case V_HOST:
		text_str(out, "<host ");
		put_name(c, out, ((const HostObject *)v.object)->type);
		text_str(out, ">");
		break;
	case V_TOKEN: text_str(out, "token"); break;
	default: text_str(out, "<?>"); break;
	}
}

/* ---- symbols, dims, types ------------------------------------------------ */

/* `n`; `n.3` when another symbol has the same name; `_.3` for a symbol without
 * a name. The suffix is the symbol's id. */
static bool make_labels(FnPrinter *p) {
	const Fn *f = p->f;
	text_init(&p->labels, p->c);
	if (!f->syms.n) return true;
	p->label = heap_alloc(p->c, f->syms.n * sizeof *p->label);
	if (!p->label) return false;
	for (SymId s = 0; s < f->syms.n; s++) {
		Atom name = f->syms.at[s].name;
		const char *text = atom_text(p->c, name);
		size_t n = atom_length(p->c, name);
		bool plain = form_is_ident(text, n) && strcmp(text, "_") != 0,
			 taken = !plain || !strcmp(text, "floor");
		for (SymId t = 0; t < s && !taken; t++) taken = f->syms.at[t].name == name;
		p->label[s] = p->labels.n;
		if (plain) text_add(&p->labels, text, n);
		else text_str(&p->labels, "_");
		if (taken) text_format(&p->labels, ".%u", s);
		text_add(&p->labels, "", 1);
	}
	return !p->labels.failed;
}

static const char *label_of(void *ud, SymId s) {
	FnPrinter *p = ud;
	return s < p->f->syms.n ? p->labels.at + p->label[s] : "_.unknown";
}

/* dim_print and type_print truncate: repeat with a larger buffer until the text
 * fits. */
static void put_interned(FnPrinter *p, bool is_type, uint32_t id) {
	char small[200];
	size_t cap = sizeof small;
	char *buf = small;
	for (;;) {
		size_t n = is_type ? type_print(p->c, id, label_of, p, buf, cap)
		                   : dim_print(p->c, id, label_of, p, buf, cap);
		if (n + 1 < cap) {
			text_add(p->out, buf, n);
			break;
		}
		if (buf != small) heap_free(p->c, buf, cap);
		cap *= 4;
		buf = heap_alloc(p->c, cap);
		if (!buf) {
			p->out->failed = true;
			return;
		}
	}
	if (buf != small) heap_free(p->c, buf, cap);
}
static void put_dim(FnPrinter *p, Dim d) { put_interned(p, false, d); }
void print_type(FnPrinter *p, TypeId t) { put_interned(p, true, t); }

/* ---- references, attributes ---------------------------------------------- */

static void number_value(FnPrinter *p, uint32_t v) {
	if (v < p->f->vals.n && p->number[v] == NO_NUMBER) p->number[v] = p->next++;
}

/* A broken function may own a region twice or in a cycle: each value is
 * numbered only once, and depth is bounded. */
static void number_region(FnPrinter *p, RegionId id, uint32_t depth) {
	const Fn *f = p->f;
	if (id >= f->regions.n || depth > FORM_DEPTH) return;
	const Region *r = &f->regions.at[id];
	for (uint32_t i = 0; i < r->nparams; i++) number_value(p, r->params + i);
	for (uint32_t i = 0; i < r->ninsts; i++) {
		if (r->insts + i >= f->inst_order.n || f->inst_order.at[r->insts + i] >= f->insts.n) return;
		const Inst *in = &f->insts.at[f->inst_order.at[r->insts + i]];
		for (uint32_t k = 0; k < in->nresults; k++) number_value(p, in->results + k);
		for (uint32_t k = 0; k < in->nregions; k++)
			if (in->regions + k < f->region_ids.n)
				number_region(p, f->region_ids.at[in->regions + k], depth + 1);
	}
}

static void put_value_ref(FnPrinter *p, uint32_t v) {
	if (v >= p->f->vals.n || p->number[v] == NO_NUMBER) text_format(p->out, "%%unknown.%u", v);
	else text_format(p->out, "%%%u", p->number[v]);
}

void print_ref(FnPrinter *p, Ref r) {
	if (ref_is_value(r)) put_value_ref(p, REF_INDEX(r));
	else if (ref_is_const(r) && REF_INDEX(r) < p->f->consts.n) {
		const Const *k = &p->f->consts.at[REF_INDEX(r)];
		if (type_of(p->c, k->type)->kind != TY_TENSOR) text_str(p->out, "dyn ");
		put_value(p->c, p->out, k->value);
	} else text_format(p->out, "%%none");
}

static void put_def(FnPrinter *p, uint32_t v) {
	put_value_ref(p, v);
	if (v >= p->f->vals.n) return;
	const Val *val = &p->f->vals.at[v];
	if (val->name) {
		text_str(p->out, " ");
		put_name(p->c, p->out, val->name);
	}
	text_str(p->out, ": ");
	print_type(p, val->type);
}

static void put_callee_label(const Ctx *c, Text *out, const Callees *all, const Fn *callee) {
	text_str(out, "@");
	put_name(c, out, callee->name);
	for (uint32_t i = 0; all && i < all->n; i++)
		if (all->at[i].fn == callee && all->at[i].suffix)
			text_format(out, ".%u", all->at[i].suffix);
}

void print_attr_word(FnPrinter *p, char letter, int64_t word) {
	switch (letter) {
	case 'D': put_dim(p, (Dim)word); break;
	case 'y': print_type(p, (TypeId)word); break;
	case 't': text_str(p->out, word >= 0 && word < DT_COUNT ? dtype_name((Dtype)word) : "?"); break;
	case 'a': put_quoted(p->out, atom_text(p->c, (Atom)word), atom_length(p->c, (Atom)word)); break;
	case 'f': {
		const Fn *callee = fn_get(p->c, (FnId)word);
		if (callee) put_callee_label(p->c, p->out, p->callees, callee);
		else text_format(p->out, "@unknown.%lld", (long long)word);
		break;
	}
	case 'h': {
		const HostCall *call = host_call(p->c, (HostId)word);
		if (call && call->def->name) put_quoted(p->out, call->def->name, strlen(call->def->name));
		else text_str(p->out, "\"\"");
		text_format(p->out, "#%lld", (long long)word);
		break;
	}
	default: text_format(p->out, "%lld", (long long)word); break;
	}
}

bool form_next_field(const char **schema, FormField *field) {
	const char *s = *schema;
	while (*s == ' ') s++;
	const char *colon = strchr(s, ':');
	if (!*s || !colon || !colon[1]) return false;
	*field = (FormField){
		.name = s, .name_length = (size_t)(colon - s), .letter = colon[1], .list = colon[2] == '*'};
	*schema = colon + 2 + field->list;
	return true;
}

static void put_attrs(FnPrinter *p, Op op, AttrId attr) {
	const char *schema = prims[op].attr;
	FormField field;
	uint32_t total = 0, at = 0;
	const int64_t *words = attr_words(p->c, attr, &total);
	for (const char *comma = " {"; form_next_field(&schema, &field); comma = ", ") {
		text_str(p->out, comma);
		text_add(p->out, field.name, field.name_length);
		text_str(p->out, ": ");
		uint64_t count = 1;
		if (field.list) count = at < total && words[at] >= 0 ? (uint64_t)words[at++] : 0;
		if (count > total - at) count = total - at;
		if (field.list) text_str(p->out, "[");
		for (uint64_t i = 0; i < count; i++) {
			if (i) text_str(p->out, ", ");
			print_attr_word(p, field.letter, words[at++]);
		}
		if (field.list) text_str(p->out, "]");
	}
	if (*prims[op].attr) text_str(p->out, "}");
}

/* ---- instructions -------------------------------------------------------- */

static void put_region(FnPrinter *p, RegionId id, uint32_t depth);

static void put_indent(FnPrinter *p, uint32_t depth) {
	for (uint32_t i = 0; i < depth; i++) text_str(p->out, "  ");
}

static void put_inst(FnPrinter *p, const Inst *in, uint32_t depth, bool with_regions) {
	const Fn *f = p->f;
	for (uint32_t k = 0; k < in->nresults; k++) {
		if (k) text_str(p->out, ", ");
		put_def(p, in->results + k);
	}
	if (in->nresults) text_str(p->out, " = ");
	bool known = in->op > OP_NONE && in->op < OP_COUNT;
	text_str(p->out, known ? prims[in->op].name : "unknown");
	for (uint32_t k = 0; k < in->nargs; k++) {
		text_str(p->out, k ? ", " : " ");
		print_ref(p, in->args + k < f->args.n ? inst_arg(f, in, k) : REF_NONE);
	}
	if (known) put_attrs(p, (Op)in->op, in->attr);
	for (uint32_t k = 0; with_regions && k < in->nregions; k++) {
		text_str(p->out, " {\n");
		if (in->regions + k < f->region_ids.n)
			put_region(p, f->region_ids.at[in->regions + k], depth + 1);
		put_indent(p, depth);
		text_str(p->out, "}");
	}
	/* A chain is words separated by blanks. */
	for (const char *s = in->chain ? chain_text(p->c, in->chain) : ""; *s;) {
		size_t n = strcspn(s, " ");
		if (n) {
			text_str(p->out, " !");
			text_add(p->out, s, n);
		}
		s += n + (s[n] == ' ');
	}
	put_span(p->c, p->out, in->span);
}

static void put_region(FnPrinter *p, RegionId id, uint32_t depth) {
	const Fn *f = p->f;
	if (id >= f->regions.n || depth > FORM_DEPTH) return;
	const Region *r = &f->regions.at[id];
	if (r->nparams && id) {
		put_indent(p, depth);
		for (uint32_t i = 0; i < r->nparams; i++) {
			text_str(p->out, i ? ", " : "(");
			put_def(p, r->params + i);
		}
		text_str(p->out, "):\n");
	}
	for (uint32_t i = 0; i < r->ninsts; i++) {
		if (r->insts + i >= f->inst_order.n || f->inst_order.at[r->insts + i] >= f->insts.n) break;
		put_indent(p, depth);
		put_inst(p, &f->insts.at[f->inst_order.at[r->insts + i]], depth, true);
		text_str(p->out, "\n");
	}
	put_indent(p, depth);
	text_str(p->out, id ? "yield" : "return");
	for (uint32_t i = 0; i < r->nresults; i++) {
		text_str(p->out, i ? ", " : " ");
		print_ref(p, r->results + i < f->args.n ? f->args.at[r->results + i] : REF_NONE);
	}
	text_str(p->out, "\n");
}

bool printer_open(FnPrinter *p, Text *out, const Fn *f, const Callees *callees) {
	*p = (FnPrinter){.out = out, .c = f->ctx, .f = f, .callees = callees};
	bool ok = make_labels(p);
	p->number = heap_alloc(p->c, (f->vals.n + 1u) * sizeof *p->number);
	if (!ok || !p->number) {
		out->failed = true;
		return false;
	}
	for (uint32_t i = 0; i <= f->vals.n; i++) p->number[i] = NO_NUMBER;
	number_region(p, 0, 0);
	return true;
}

void printer_close(FnPrinter *p) {
	if (p->number) heap_free(p->c, p->number, (p->f->vals.n + 1u) * sizeof *p->number);
	if (p->label) heap_free(p->c, p->label, p->f->syms.n * sizeof *p->label);
	text_free(&p->labels);
}

static void put_function(Text *out, const Fn *f, const Callees *callees) {
	FnPrinter p;
	if (printer_open(&p, out, f, callees) && f->regions.n) {
		text_str(out, "fn ");
		put_callee_label(p.c, out, callees, f);
		for (SymId s = 0; s < f->syms.n; s++) {
			const Sym *sym = &f->syms.at[s];
			const char *label = label_of(&p, s);
			text_format(out, "%s%s", s ? ", " : "[", label);
			if (sym->name && label[0] == '_' && label[1] == '.') {
				text_str(out, " = ");
				put_quoted(out, atom_text(p.c, sym->name), atom_length(p.c, sym->name));
			}
			put_span(p.c, out, sym->span);
		}
		text_str(out, f->syms.n ? "](" : "(");
		const Region *body = &f->regions.at[0];
		for (uint32_t i = 0; i < body->nparams; i++) {
			if (i) text_str(out, ", ");
			put_def(&p, body->params + i);
		}
		text_str(out, ") -> (");
		for (uint32_t i = 0; i < body->nresults && body->results + i < f->args.n; i++) {
			Ref r = fn_result(f, i);
			bool good = REF_INDEX(r) < (ref_is_const(r)   ? f->consts.n
			                            : ref_is_value(r) ? f->vals.n
			                                              : 0);
			if (i) text_str(out, ", ");
			if (good) print_type(&p, ref_type(f, r));
			else text_str(out, "?");
		}
		text_str(out, ")");
		put_span(p.c, out, f->span);
		if (f->checkpoint) {
			uint32_t n;
			const int64_t *words = attr_words(p.c, f->checkpoint, &n);
			text_format(out, " snapshots(%lld, %lld)", (long long)words[0], (long long)words[1]);
		}
		if (f->batch_sequentially_by)
			text_format(out, " by_lane(%u)", f->batch_sequentially_by - 1);
		text_str(out, " {\n");
		put_region(&p, 0, 1);
		text_str(out, "}\n");
	}
	printer_close(&p);
}

/* ---- order of callees ---------------------------------------------------- */

uint32_t callees_add(Callees *all, const Fn *f) {
	if (all->n == all->cap) {
		uint32_t cap = all->cap ? all->cap * 2 : 8;
		Callee *at = heap_resize(all->ctx, all->at, all->cap * sizeof *at, cap * sizeof *at);
		if (!at) {
			all->failed = true;
			return 0;
		}
		all->at = at;
		all->cap = cap;
	}
	all->at[all->n] = (Callee){.fn = f};
	return all->n++;
}

/* Post-order over calls; recursive functions call functions that are still
 * open. `done` counts the functions that have a place. */
static void collect_callees(Callees *all, const Fn *f, uint32_t depth, uint32_t *done) {
	for (uint32_t i = 0; i < all->n; i++)
		if (all->at[i].fn == f) return;
	uint32_t self = callees_add(all, f);
	for (uint32_t i = 0; i < f->inst_order.n && depth < FORM_DEPTH && !all->failed; i++) {
		if (f->inst_order.at[i] >= f->insts.n) continue;
		const Inst *in = &f->insts.at[f->inst_order.at[i]];
		if (in->op != OP_CALL) continue;
		const Fn *callee = inst_callee(f->ctx, in);
		if (callee) collect_callees(all, callee, depth + 1, done);
	}
	if (!all->failed) all->at[self].place = (*done)++;
}

void callees_collect(Callees *all, const Fn *f) {
	uint32_t done = 0;
	*all = (Callees){.ctx = f->ctx};
	collect_callees(all, f, 0, &done);
	for (uint32_t i = 0; i < all->n && !all->failed; i++)
		for (uint32_t k = 0; k < all->n; k++)
			all->at[i].suffix +=
				all->at[k].fn->name == all->at[i].fn->name && all->at[k].place < all->at[i].place;
}

void callees_free(Callees *all) { heap_free(all->ctx, all->at, all->cap * sizeof *all->at); }

void fn_print(Text *out, const Fn *f) {
	Callees all;
	callees_collect(&all, f);
	if (all.failed) out->failed = true;
	for (uint32_t place = 0; place < all.n && !out->failed; place++) {
		uint32_t i = 0;
		while (all.at[i].place != place) i++;
		if (place) text_str(out, "\n");
		put_function(out, all.at[i].fn, &all);
	}
	callees_free(&all);
}

void fn_print_inst(Text *out, const Fn *f, InstId id) {
	FnPrinter p;
	if (printer_open(&p, out, f, NULL) && id < f->insts.n) put_inst(&p, &f->insts.at[id], 0, false);
	printer_close(&p);
}
