/* write.c - the writer of the binary form: functions, and a value that belongs
 * to them.
 *
 * Needs: format.h, syntax.h, print.h, host.h. docs/internals/binary.md
 * describes the form; read.c reads it.
 *
 * Contract:
 * - Functions read back print the same text, value numbers included.
 * - Equal functions give equal bytes. The bytes do not depend on the ids that a
 *   session assigned to names, locations and types.
 * - Sources are included, so that messages show the right line wherever the
 *   file is read.
 */
#include "lang/builder/internal.h"
#include "lang/binary/format.h"
#include "lang/text/syntax.h"
#include "lang/text/print.h"
#include "lang/binary/stored_rule.h"
#include <stdio.h>

typedef struct RecordTable {
	Text bytes;
	uint32_t n;
	uint32_t *number; /* by id: 1 + its index; 0: not in it */
	uint32_t cap;
} RecordTable;

typedef struct Array { /* an array stored after the code */
	const Tensor *tensor;
	uint64_t at;
} Array;

typedef struct StoredFnRules { /* a function with rules of its own */
	const HostCall *call;
	uint32_t order; /* 0: the function calls it; else the order of the derivative that does */
	StoredRule parts;
} StoredFnRules;

typedef struct Store {
	Ctx *c;
	const Fn *f;
	Value about;
	Arena *a;
	RecordTable table[TABLE_COUNT];
	Text code, arrays;
	Callees callees;
	VEC(StoredFnRules) rules;
	uint32_t order; /* the order of the rules found now */
	VEC(Array) kept;
	/* Records made from functions, kept until the end, because arrays after the
	 * code are distinguished by address. */
	VEC(Value) owned;
	uint32_t depth;
} Store;

static _Noreturn void __attribute__((format(printf, 2, 3)))
refuse(Store *w, const char *format, ...) {
	va_list args;
	char text[300];
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	diag_error(w->c, E_FILE, NO_SPAN, "%s", text);
	ctx_throw(w->c, ST_ERROR);
}

static void enter(Store *w) {
	if (++w->depth > FORM_DEPTH) refuse(w, "this is nested too deeply for a file");
}

/* ---- integers and bytes -------------------------------------------------- */

static void put_u(Text *out, uint64_t v) {
	char bytes[10];
	size_t n = 0;
	for (; v >= 0x80; v >>= 7) bytes[n++] = (char)(v | 0x80);
	bytes[n++] = (char)v;
	text_add(out, bytes, n);
}

static void put_s(Text *out, int64_t v) { put_u(out, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0)); }

static void put_bytes(Text *out, const char *s, size_t n) {
	put_u(out, n);
	text_add(out, s, n);
}

/* ---- tables -------------------------------------------------------------- */

static uint32_t *number_in(Store *w, BinaryTable which, uint32_t id) {
	RecordTable *t = &w->table[which];
	if (id >= t->cap) {
		uint32_t cap = t->cap ? t->cap : 256;
		while (cap <= id) cap *= 2;
		uint32_t *number = ARENA_ARRAY(w->a, uint32_t, cap);
		if (t->cap) memcpy(number, t->number, t->cap * sizeof *number);
		t->number = number;
		t->cap = cap;
	}
	return &t->number[id];
}

/* Registers the entry whose bytes have just been appended. */
static uint32_t added(Store *w, BinaryTable which, uint32_t id) {
	return *number_in(w, which, id) = ++w->table[which].n;
}

static uint32_t op_number(Store *w, Op op) {
	const uint32_t known = *number_in(w, TABLE_OPS, op);
	if (known) return known;
	Text *out = &w->table[TABLE_OPS].bytes;
	put_bytes(out, prims[op].name, strlen(prims[op].name));
	put_bytes(out, prims[op].attr, strlen(prims[op].attr));
	return added(w, TABLE_OPS, op);
}

static uint32_t word_number(Store *w, Atom a) {
	if (!a) return 0;
	const uint32_t known = *number_in(w, TABLE_WORDS, a);
	if (known) return known;
	put_bytes(&w->table[TABLE_WORDS].bytes, atom_text(w->c, a), atom_length(w->c, a));
	return added(w, TABLE_WORDS, a);
}

static uint32_t source_number(Store *w, SourceId id) {
	if (!source_known(w->c, id)) return 0;
	const uint32_t known = *number_in(w, TABLE_SOURCES, id);
	if (known) return known;
	Text *out = &w->table[TABLE_SOURCES].bytes;
	size_t n;
	const char *text = source_text(w->c, id, &n);
	put_bytes(out, source_name(w->c, id), strlen(source_name(w->c, id)));
	put_u(out, source_is_library(w->c, id));
	put_bytes(out, text, n);
	return added(w, TABLE_SOURCES, id);
}

static uint32_t span_number(Store *w, SpanId id) {
	const Span s = span_of(w->c, id);
	if (!id || (!s.source && !s.start && !s.end)) return 0;
	const uint32_t known = *number_in(w, TABLE_SPANS, id);
	if (known) return known;
	const uint32_t source = source_number(w, s.source);
	Text *out = &w->table[TABLE_SPANS].bytes;
	put_u(out, source);
	put_u(out, s.start);
	put_u(out, s.end);
	return added(w, TABLE_SPANS, id);
}

/* Writes a chain as words. Words for calls have ids of this session (see
 * inline.c), so they are translated. */
static uint32_t chain_number(Store *w, ChainId id) {
	if (!id) return 0;
	const uint32_t known = *number_in(w, TABLE_CHAINS, id);
	if (known) return known;
	Text entry;
	text_init(&entry, w->c);
	uint32_t n = 0;
	for (const char *s = chain_text(w->c, id); *s; n++) {
		const size_t length = strcspn(s, " ");
		Atom callee;
		SpanId defined, at;
		const bool call = chain_word_call(s, length, &callee, &defined, &at);
		put_u(&entry, call);
		put_u(&entry, word_number(w, call ? callee : atom_n(w->c, s, length)));
		if (call) {
			put_u(&entry, span_number(w, defined));
			put_u(&entry, span_number(w, at));
		}
		s += length + (s[length] == ' ');
	}
	Text *out = &w->table[TABLE_CHAINS].bytes;
	put_u(out, n);
	text_add(out, entry.at, entry.n);
	if (entry.failed) out->failed = true;
	text_free(&entry);
	return added(w, TABLE_CHAINS, id);
}

static uint32_t dim_number(Store *w, Dim d) {
	const uint32_t known = *number_in(w, TABLE_DIMS, d), n = dim_term_count(w->c, d);
	if (known) return known;
	DimPart part[DIM_DEGREE];
	uint32_t parts;
	enter(w);
	for (uint32_t i = 0; i < n; i++) {
		dim_term(w->c, d, i, part, &parts);
		for (uint32_t k = 0; k < parts; k++)
			if (part[k].by > 0) dim_number(w, part[k].inner);
	}
	w->depth--;
	Text *out = &w->table[TABLE_DIMS].bytes;
	put_u(out, n);
	for (uint32_t i = 0; i < n; i++) {
		put_s(out, dim_term(w->c, d, i, part, &parts));
		put_u(out, parts);
		for (uint32_t k = 0; k < parts; k++) {
			const bool floor = part[k].by > 0;
			put_u(out, (uint64_t)(floor ? dim_number(w, part[k].inner) : part[k].sym) << 1 | floor);
			if (floor) put_u(out, (uint64_t)part[k].by);
		}
	}
	return added(w, TABLE_DIMS, d);
}

static uint32_t type_number(Store *w, TypeId id) {
	const uint32_t known = *number_in(w, TABLE_TYPES, id);
	if (known) return known;
	const Type t = *type_of(w->c, id);
	uint32_t dims[MAX_RANK];
	for (uint32_t i = 0; t.kind == TY_TENSOR && i < t.rank; i++) dims[i] = dim_number(w, t.dims[i]);
	Text *out = &w->table[TABLE_TYPES].bytes;
	put_u(out, t.kind);
	if (t.kind == TY_TENSOR) {
		put_u(out, t.dtype);
		put_u(out, t.rank);
		for (uint32_t i = 0; i < t.rank; i++) put_u(out, dims[i]);
	}
	return added(w, TABLE_TYPES, id);
}

/* ---- values -------------------------------------------------------------- */

static void put_elements(Text *out, Dtype d, const void *at, int64_t n) {
	const size_t start = out->n;
	text_add(out, at, (size_t)n * dtype_size(d));
	if (!out->failed) binary_elements(d, out->at + start, n);
}

static void put_tensor(Store *w, Text *out, Tensor *t) {
	put_u(out, t->dtype);
	put_u(out, t->rank);
	for (uint32_t i = 0; i < t->rank; i++) put_u(out, (uint64_t)t->shape[i]);
	const uint64_t bytes = (uint64_t)t->count * dtype_size((Dtype)t->dtype);
	uint32_t k = 0;
	while (k < w->kept.n && w->kept.at[k].tensor != t) k++;
	if (bytes < ARRAY_ALIGN) put_u(out, 0);
	else if (k < w->kept.n) put_u(out, 1 + w->kept.at[k].at / ARRAY_ALIGN);
	else put_u(out, 1 + w->arrays.n / ARRAY_ALIGN);
	if (bytes >= ARRAY_ALIGN && k < w->kept.n) return;
	Tensor *plain = tensor_contiguous(w->c, t);
	if (!plain) ctx_throw(w->c, ST_NOMEM);
	Text *to = bytes < ARRAY_ALIGN ? out : &w->arrays;
	if (to == &w->arrays) VEC_PUSH(w->a, &w->kept, ((Array){t, to->n}));
	put_elements(to, (Dtype)t->dtype, plain->data, t->count);
	tensor_unref(plain);
	static const char zeros[ARRAY_ALIGN];
	if (to == &w->arrays) text_add(to, zeros, (ARRAY_ALIGN - bytes % ARRAY_ALIGN) % ARRAY_ALIGN);
}

static void put_value(Store *w, Text *out, Value v) {
	enter(w);
	switch ((ValueKind)v.kind) {
	case V_UNSET: put_u(out, TAG_UNSET); break;
	case V_NONE: put_u(out, TAG_NONE); break;
	case V_TOKEN: put_u(out, TAG_TOKEN); break;
	case V_SCALAR:
		put_u(out, TAG_SCALAR);
		put_u(out, v.dtype);
		put_elements(out, (Dtype)v.dtype, value_scalar_bytes(&v), 1);
		break;
	case V_TENSOR:
		put_u(out, TAG_TENSOR);
		put_tensor(w, out, v.tensor);
		break;
	case V_STRING:
		put_u(out, TAG_STRING);
		put_bytes(out, ((const StringObject *)v.object)->text, v.object->n);
		break;
	case V_RANGE: {
		const RangeObject *r = (const RangeObject *)v.object;
		put_u(out, TAG_RANGE);
		put_s(out, r->start);
		put_s(out, r->stop);
		put_s(out, r->step);
		break;
	}
	case V_TUPLE:
	case V_LIST:
		put_u(out, v.kind == V_TUPLE ? TAG_TUPLE : TAG_LIST);
		put_u(out, v.object->n);
		for (uint32_t i = 0; i < v.object->n; i++)
			put_value(w, out, ((const SeqObject *)v.object)->items[i]);
		break;
	case V_RECORD:
		put_u(out, TAG_RECORD);
		put_u(out, v.object->n);
		for (uint32_t i = 0; i < v.object->n; i++) {
			put_u(out, word_number(w, ((const RecordObject *)v.object)->fields[i].name));
			put_value(w, out, ((const RecordObject *)v.object)->fields[i].value);
		}
		break;
	case V_FUNCTION:
	case V_PROBLEM: {
		Value record = {.kind = V_UNSET};
		const IrServices *s = ir_services(w->c);
		if (!s->function_out) refuse(w, "functions as values cannot be written here");
		const Status st = s->function_out(w->c, v, &record);
		if (st != ST_OK) ctx_throw(w->c, st);
		VEC_RESERVE(w->a, &w->owned, w->owned.n + 1u);
		w->owned.at[w->owned.n++] = record;
		put_u(out, v.kind == V_FUNCTION ? TAG_FUNCTION : TAG_PROBLEM);
		put_value(w, out, record);
		break;
	}
	case V_HOST: refuse(w, "a host value, which exists in this process only, cannot be written");
	}
	w->depth--;
}

/* ---- functions ----------------------------------------------------------- */

static uint32_t function_number(Store *w, const Fn *f) {
	for (uint32_t i = 0; i < w->callees.n; i++)
		if (w->callees.at[i].fn == f) return w->callees.at[i].place + 1;
	refuse(w, "a function that `%s` calls is nested too deeply for a file",
	       atom_text(w->c, w->f->name));
}

static void put_host(Store *w, Text *out, const Fn *f, const Inst *in, const HostCall *call) {
	const char *name = call && call->def->name ? call->def->name : "";
	const HostDef *known = host_find(w->c, name);
	bool may =
		known && known->may_store && known->eval == call->def->eval && known->ud == call->def->ud;
	if (may) {
		Builder *b = checker_begin(f);
		TypeId *types = ARENA_ARRAY(w->a, TypeId, in->nresults + 1u);
		for (uint32_t k = 0; k < in->nresults; k++) types[k] = f->vals.at[in->results + k].type;
		may = known->may_store(b, call, in->nargs, in->nargs ? &f->args.at[in->args] : NULL,
		                       in->nresults, types);
		checker_end(b);
	}
	if (!may && rule_is_storable(call)) {
		uint32_t rule = 0;
		while (rule < w->rules.n && w->rules.at[rule].call != call) rule++;
		if (rule == w->rules.n)
			refuse(w, "a function with a rule that `%s` calls is nested too deeply for a file",
			       atom_text(w->c, w->f->name));
		put_bytes(out, "", 0);
		put_u(out, 1);
		put_s(out, rule);
		put_u(out, 1);
		put_u(out, function_number(w, call->fns[0]));
		return;
	}
	if (!may)
		refuse(w,
		       "`%s`, which this piece of IR calls, is a solver or a function of the program "
		       "around, which a file cannot hold; a function that calls ode, dae or a sparse solve "
		       "can be saved itself, and what is loaded be differentiated",
		       name);
	put_bytes(out, name, strlen(name));
	put_u(out, call->noptions);
	for (uint32_t i = 0; i < call->noptions; i++) put_s(out, call->options[i]);
	put_u(out, call->nfns);
	for (uint32_t i = 0; i < call->nfns; i++) put_u(out, function_number(w, call->fns[i]));
}

static void put_attr_word(Store *w, Text *out, const Fn *f, const Inst *in, char letter,
                          int64_t word) {
	switch (letter) {
	case 'D': put_u(out, dim_number(w, (Dim)word)); break;
	case 'y': put_u(out, type_number(w, (TypeId)word)); break;
	case 't': put_u(out, (uint64_t)word); break;
	case 'a': put_u(out, word_number(w, (Atom)word)); break;
	case 'f': put_u(out, function_number(w, fn_get(w->c, (FnId)word))); break;
	case 'h': put_host(w, out, f, in, host_call(w->c, (HostId)word)); break;
	default: put_s(out, word); break;
	}
}

static void put_attrs(Store *w, Text *out, const Fn *f, const Inst *in) {
	const char *schema = prims[in->op].attr;
	FormField field;
	uint32_t total = 0, at = 0;
	const int64_t *words = attr_words(w->c, in->attr, &total);
	while (form_next_field(&schema, &field)) {
		const uint64_t count = field.list ? (uint64_t)words[at++] : 1;
		if (field.list) put_u(out, count);
		for (uint64_t i = 0; i < count; i++)
			put_attr_word(w, out, f, in, field.letter, words[at++]);
	}
}

static void put_operand(Store *w, Text *out, const FnPrinter *p, Ref r) {
	if (!ref_is_const(r)) {
		put_u(out, OPERAND_VALUE + (uint64_t)OPERAND_KINDS * p->number[REF_INDEX(r)]);
		return;
	}
	const Const *k = ref_constant(p->f, r);
	put_u(out, type_of(w->c, k->type)->kind == TY_TENSOR ? OPERAND_CONST : OPERAND_DYN);
	put_value(w, out, k->value);
}

static void put_defs(Store *w, Text *out, const Fn *f, uint32_t n, uint32_t first) {
	put_u(out, n);
	for (uint32_t i = 0; i < n; i++) {
		put_u(out, word_number(w, f->vals.at[first + i].name));
		put_u(out, type_number(w, f->vals.at[first + i].type));
	}
}

static void put_region(Store *w, Text *out, const FnPrinter *p, RegionId id) {
	const Fn *f = p->f;
	const Region *r = &f->regions.at[id];
	enter(w);
	if (id) put_defs(w, out, f, r->nparams, r->params);
	put_u(out, r->ninsts);
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[r->insts + i]];
		put_u(out, op_number(w, (Op)in->op));
		put_defs(w, out, f, in->nresults, in->results);
		put_u(out, in->nargs);
		for (uint32_t k = 0; k < in->nargs; k++) put_operand(w, out, p, inst_arg(f, in, k));
		put_attrs(w, out, f, in);
		put_u(out, in->nregions);
		for (uint32_t k = 0; k < in->nregions; k++)
			put_region(w, out, p, f->region_ids.at[in->regions + k]);
		put_u(out, chain_number(w, in->chain));
		put_u(out, span_number(w, in->span));
	}
	put_u(out, r->nresults);
	for (uint32_t i = 0; i < r->nresults; i++) put_operand(w, out, p, f->args.at[r->results + i]);
	w->depth--;
}

static void put_function(Store *w, Text *out, const FnPrinter *p) {
	const Fn *f = p->f;
	put_u(out, word_number(w, f->name));
	put_u(out, span_number(w, f->span));
	put_u(out, f->syms.n);
	for (SymId s = 0; s < f->syms.n; s++) {
		put_u(out, word_number(w, f->syms.at[s].name));
		put_u(out, span_number(w, f->syms.at[s].span));
	}
	put_defs(w, out, f, fn_nparams(f), f->regions.at[0].params);
	put_u(out, (f->checkpoint ? HAS_SNAPSHOTS : 0) |
	               (f->batch_sequentially_by ? HAS_BATCH_SEQUENTIALLY : 0));
	if (f->checkpoint) {
		uint32_t n;
		const int64_t *words = attr_words(w->c, f->checkpoint, &n);
		put_s(out, words[0]);
		put_s(out, words[1]);
	}
	if (f->batch_sequentially_by) put_u(out, f->batch_sequentially_by - 1);
	put_region(w, out, p, 0);
}

/* ---- the whole file ------------------------------------------------------ */

uint64_t binary_checksum(const unsigned char *file, size_t n) {
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = HEAD_BYTES; i < n; i += 8) {
		h = (h ^ binary_load(file + i, 8)) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h;
}

typedef struct Printing {
	Store *w;
	FnPrinter p;
	Text body;
} Printing;

static void store_function(Ctx *c, void *arg) {
	(void)c;
	Printing *g = arg;
	put_function(g->w, &g->body, &g->p);
}

static void put_part(Store *w, Text *out, const RulePart *part) {
	put_u(out, part->fn ? function_number(w, part->fn) : 0);
	if (!part->fn) return;
	put_u(out, part->nresults);
	for (uint32_t i = 0; i < part->nresults; i++) put_u(out, part->results[i]);
}

static void put_rules(Store *w, Text *out) {
	put_u(out, w->rules.n);
	for (uint32_t i = 0; i < w->rules.n; i++) {
		const StoredRule *r = &w->rules.at[i].parts;
		put_bytes(out, r->name, strlen(r->name));
		put_u(out, r->nargs);
		for (uint32_t k = 0; k < r->nargs; k++) put_part(w, out, &r->tangents[k]);
		put_u(out, r->from);
		put_part(w, out, &r->transpose);
	}
}

/* Like callees_collect, but includes the functions passed to host functions,
 * and records functions with rules of their own. The main function gets the
 * last place. */
static void collect(Store *w, const Fn *f, uint32_t depth, uint32_t *done) {
	for (uint32_t i = 0; i < w->callees.n; i++)
		if (w->callees.at[i].fn == f) return;
	const uint32_t self = callees_add(&w->callees, f);
	for (uint32_t i = 0; i < f->inst_order.n && depth < FORM_DEPTH && !w->callees.failed; i++) {
		if (f->inst_order.at[i] >= f->insts.n) continue;
		const Inst *in = &f->insts.at[f->inst_order.at[i]];
		const Fn *callee = inst_callee(w->c, in);
		if (callee) collect(w, callee, depth + 1, done);
		const HostCall *call = in->op == OP_HOST
		                           ? host_call(w->c, (HostId)attr_int(w->c, OP_HOST, in->attr, 0))
		                           : NULL;
		for (uint32_t k = 0; call && k < call->nfns; k++) collect(w, call->fns[k], depth + 1, done);
		if (!rule_is_storable(call)) continue;
		uint32_t k = 0;
		while (k < w->rules.n && w->rules.at[k].call != call) k++;
		if (k == w->rules.n)
			VEC_PUSH(w->a, &w->rules, ((StoredFnRules){.call = call, .order = w->order}));
	}
	if (f != w->f && !w->callees.failed) w->callees.at[self].place = (*done)++;
}

/* Functions of rules may call functions with rules, possibly without end: the
 * derivative of an integral is another integral. So the order and the number of
 * rules are limited. */
static void collect_all(Store *w) {
	enum { ORDER_MOST = 3, RULES_MOST = 500 };
	uint32_t done = 0, self = 0;
	w->callees = (Callees){.ctx = w->c};
	collect(w, w->f, 0, &done);
	for (uint32_t i = 0; i < w->rules.n; i++) {
		const StoredFnRules r = w->rules.at[i];
		StoredRule parts;
		w->order = r.order + 1;
		rule_take_apart(w->c, w->a, r.call, r.order < ORDER_MOST && i < RULES_MOST, &parts);
		w->rules.at[i].parts = parts;
		for (uint32_t k = 0; k < parts.nargs; k++)
			if (parts.tangents[k].fn) collect(w, parts.tangents[k].fn, 0, &done);
		if (parts.transpose.fn) collect(w, parts.transpose.fn, 0, &done);
	}
	if (w->callees.failed) return;
	while (w->callees.at[self].fn != w->f) self++;
	w->callees.at[self].place = done;
}

static void store(Ctx *c, void *arg) {
	Store *w = arg;
	ir_state(c);
	w->a = arena_new(c);
	collect_all(w);
	if (w->callees.failed) ctx_throw(c, ST_NOMEM);
	Text functions;
	text_init(&functions, c);
	put_u(&functions, w->callees.n);
	Status st = ST_OK;
	for (uint32_t place = 0; place < w->callees.n && st == ST_OK; place++) {
		uint32_t i = 0;
		while (w->callees.at[i].place != place) i++;
		Printing g = {.w = w};
		text_init(&g.body, c);
		st = printer_open(&g.p, &g.body, w->callees.at[i].fn, &w->callees)
		         ? ctx_protect(c, store_function, &g)
		         : ST_NOMEM;
		printer_close(&g.p);
		put_bytes(&functions, g.body.at ? g.body.at : "", g.body.n);
		functions.failed |= g.body.failed;
		text_free(&g.body);
	}
	text_add(&w->code, functions.at, functions.n);
	w->code.failed |= functions.failed;
	text_free(&functions);
	if (st != ST_OK) ctx_throw(c, st);
	if (w->rules.n) put_rules(w, &w->code);
	put_value(w, &w->code, w->about);
}

Status fn_store(Text *out, const Fn *f, Value about) {
	Ctx *c = f->ctx;
	Store w = {.c = c, .f = f, .about = about};
	for (int k = 0; k < TABLE_COUNT; k++) text_init(&w.table[k].bytes, c);
	text_init(&w.code, c);
	text_init(&w.arrays, c);
	Status st = ctx_protect(c, store, &w);
	if (st == ST_OK) {
		static const char zeros[ARRAY_ALIGN];
		const size_t start = out->n;
		unsigned char head[HEAD_BYTES] = {0};
		memcpy(head, BINARY_MAGIC, 8);
		binary_put(head + AT_VERSION, 4, w.rules.n ? BINARY_RULES : BINARY_FIRST);
		text_add(out, (const char *)head, sizeof head);
		for (int k = 0; k < TABLE_COUNT; k++) {
			put_u(out, w.table[k].n);
			text_add(out, w.table[k].bytes.at, w.table[k].bytes.n);
			out->failed |= w.table[k].bytes.failed;
		}
		text_add(out, w.code.at, w.code.n);
		const size_t n = out->n - start, boundary = w.arrays.n ? ARRAY_ALIGN : 8;
		text_add(out, zeros, (boundary - n % boundary) % boundary);
		const size_t arrays = out->n - start;
		text_add(out, w.arrays.at, w.arrays.n);
		out->failed |= w.code.failed | w.arrays.failed;
		if (!out->failed) {
			unsigned char *file = (unsigned char *)out->at + start;
			const size_t bytes = out->n - start;
			binary_put(file + AT_LENGTH, 8, bytes);
			binary_put(file + AT_ARRAYS, 8, arrays);
			binary_put(file + AT_CHECKSUM, 8, binary_checksum(file, bytes));
		}
		if (out->failed) st = ST_NOMEM;
	}
	for (uint32_t i = 0; i < w.owned.n; i++) value_unref(w.owned.at[i]);
	for (uint32_t i = 0; i < w.rules.n; i++) {
		const StoredRule *r = &w.rules.at[i].parts;
		for (uint32_t k = 0; k < r->nargs; k++)
			if (r->tangents[k].fn) fn_unref(r->tangents[k].fn);
		if (r->transpose.fn) fn_unref(r->transpose.fn);
	}
	callees_free(&w.callees);
	for (int k = 0; k < TABLE_COUNT; k++) text_free(&w.table[k].bytes);
	text_free(&w.code);
	text_free(&w.arrays);
	if (w.a) arena_free(w.a);
	if (st == ST_NOMEM)
		diag_error(c, E_MEMORY, NO_SPAN,
		           "out of memory while writing the binary form of a function");
	return st;
}
