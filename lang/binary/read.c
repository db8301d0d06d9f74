/* read.c - the reader of the binary form: functions with their callees, and a
 * value.
 *
 * Needs: builder/internal.h, format.h, syntax.h. docs/internals/binary.md
 * describes the form; text/parse.c reads the text form.
 *
 * Contract:
 * - For any bytes, the result is verified functions and a value, or NULL and a
 *   diagnostic with the byte offset.
 * - Nothing outside the bytes is read, and memory use is bounded by a small
 *   multiple of their size.
 * - Nothing is folded, shared or removed.
 * - Nesting is bounded by FORM_DEPTH.
 * - The file's names and schemas must agree with prims.def.
 */
#include "lang/builder/internal.h"
#include "lang/binary/format.h"
#include "lang/binary/stored_rule.h"
#include "lang/text/syntax.h"
#include <stdio.h>

typedef enum StoredFnState { FN_UNREAD, FN_OPEN, FN_READ } StoredFnState;

typedef struct StoredFn {
	StoredFnState state;
	size_t start, end;
	FnId id; /* valid once it is open */
	Fn *fn;  /* owned, valid once it has been read */
} StoredFn;

/* A dim or a type, and the number of symbols that its function must have. */
typedef struct Sized {
	uint32_t id, nsyms;
} Sized;

typedef struct StoredArray { /* an array that has been read already */
	uint64_t place;
	Value value; /* the reference is in `owned` */
} StoredArray;

typedef struct RuleEntry {
	size_t at;
	StoredRule *rule;
	uint32_t *fns;   /* by operand, then of the transpose: 1 + the function, 0 for none */
	const Fn *value; /* the function with this rule; NULL until it is called */
} RuleEntry;

typedef struct BinaryReader {
	Ctx *c;
	Arena *arena;
	const char *name;
	const unsigned char *bytes;
	size_t n, at, end; /* end: of the bytes that may be read now */
	size_t arrays;     /* offset of the arrays */
	VEC(Op) ops;
	VEC(Atom) words;
	VEC(SourceId) sources;
	VEC(SpanId) spans;
	VEC(ChainId) chains;
	VEC(Sized) dims;
	VEC(Sized) types;
	VEC(StoredFn) fns;
	bool recursive; /* a function calls one that is being read */
	bool has_rules;
	VEC(RuleEntry) rules;
	VEC(Value) owned;
	VEC(StoredArray) placed;
	Value about;
	uint32_t depth;
	/* The function being read: */
	Builder *b;
	VEC(Ref) numbered; /* by number; REF_NONE: out of scope */
} BinaryReader;

/* ---- errors, integers, bytes --------------------------------------------- */

static _Noreturn void __attribute__((format(printf, 3, 4)))
wrong(BinaryReader *l, size_t at, const char *format, ...) {
	va_list args;
	char text[400];
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	diag_error(l->c, E_FILE, NO_SPAN, "%s: byte %zu: %s", l->name, at, text);
	ctx_throw(l->c, ST_ERROR);
}

static void enter(BinaryReader *l) {
	if (++l->depth > FORM_DEPTH) wrong(l, l->at, "nested deeper than %d", FORM_DEPTH);
}
static void leave(BinaryReader *l) { l->depth--; }

static uint64_t get_u(BinaryReader *l) {
	uint64_t v = 0;
	const size_t start = l->at;
	for (int shift = 0;; shift += 7) {
		if (l->at >= l->end) wrong(l, l->at, "it ends inside a number");
		const unsigned char byte = l->bytes[l->at++];
		if (shift == 63 && byte > 1) wrong(l, start, "a number of more than 64 bits");
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) return v;
	}
}

static int64_t get_s(BinaryReader *l) {
	const uint64_t v = get_u(l);
	return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

/* An integer below `limit`. */
static uint32_t get_below(BinaryReader *l, uint64_t limit, const char *what) {
	const size_t start = l->at;
	const uint64_t v = get_u(l);
	if (v >= limit || v > UINT32_MAX)
		wrong(l, start, "there is no %s %llu", what, (unsigned long long)v);
	return (uint32_t)v;
}

/* The number of items that follow. Each takes at least one byte, which bounds
 * the allocation that a few bytes can cause. */
static uint32_t get_count(BinaryReader *l, const char *what) {
	const size_t start = l->at;
	const uint64_t v = get_u(l);
	if (v > l->end - l->at || v > UINT32_MAX / 2)
		wrong(l, start, "%llu %s are announced, and %zu bytes are left", (unsigned long long)v,
		      what, l->end - l->at);
	return (uint32_t)v;
}

static const char *get_bytes(BinaryReader *l, size_t *n, const char *what) {
	*n = get_count(l, what);
	l->at += *n;
	return (const char *)l->bytes + l->at - *n;
}

/* ---- tables -------------------------------------------------------------- */

/* The number of a table entry: 0 is none, else 1 + its index. */
#define ENTRY(l, table, what) entry_number((l), (l)->table.n, what)
static uint32_t entry_number(BinaryReader *l, uint32_t n, const char *what) {
	return get_below(l, (uint64_t)n + 1, what);
}

static Atom get_word(BinaryReader *l) {
	const uint32_t k = ENTRY(l, words, "word");
	return k ? l->words.at[k - 1] : 0;
}
static SpanId get_span(BinaryReader *l) {
	const uint32_t k = ENTRY(l, spans, "place");
	return k ? l->spans.at[k - 1] : 0;
}

/* A dim or a type; the function being read must have all of its symbols. */
static uint32_t get_sized(BinaryReader *l, bool is_type, uint32_t nsyms) {
	const size_t start = l->at;
	const uint32_t k = is_type ? ENTRY(l, types, "type") : ENTRY(l, dims, "length");
	if (!k) wrong(l, start, "%s is missing", is_type ? "a type" : "a length");
	const Sized s = is_type ? l->types.at[k - 1] : l->dims.at[k - 1];
	if (s.nsyms > nsyms) wrong(l, start, "a symbol is used that the function does not have");
	return s.id;
}
static TypeId get_type(BinaryReader *l) { return get_sized(l, true, l->b->fn->syms.n); }

static void read_op(BinaryReader *l) {
	const size_t start = l->at;
	size_t n, m;
	const char *name = get_bytes(l, &n, "letters"), *schema = get_bytes(l, &m, "letters");
	const Op op = prim_from_name(arena_copy(l->arena, name, n));
	if (op == OP_NONE || strlen(prims[op].name) != n)
		wrong(l, start, "`%.*s` is not a primitive of this version", n < 60 ? (int)n : 60, name);
	if (strlen(prims[op].attr) != m || memcmp(prims[op].attr, schema, m) != 0)
		wrong(l, start, "`%s` has the attributes \"%.*s\" here, and \"%s\" in this version",
		      prims[op].name, m < 100 ? (int)m : 100, schema, prims[op].attr);
	VEC_PUSH(l->arena, &l->ops, op);
}

static void read_word(BinaryReader *l) {
	size_t n;
	const char *text = get_bytes(l, &n, "letters");
	VEC_PUSH(l->arena, &l->words, atom_n(l->c, text, n));
}

static void read_source(BinaryReader *l) {
	size_t n, m;
	const char *name = get_bytes(l, &n, "letters");
	const bool library = get_below(l, 2, "boolean");
	const char *text = get_bytes(l, &m, "letters");
	const char *called = arena_copy(l->arena, name, n);
	SourceId id = source_find(l->c, called, text, m);
	if (!id) {
		id = source_add(l->c, called, text, m);
		if (library) source_set_library(l->c, id);
	}
	VEC_PUSH(l->arena, &l->sources, id);
}

static void read_span(BinaryReader *l) {
	const uint32_t k = ENTRY(l, sources, "source");
	Span s = {.source = k ? l->sources.at[k - 1] : 0};
	s.start = get_below(l, UINT32_MAX, "letter");
	s.end = get_below(l, UINT32_MAX, "letter");
	if (s.end < s.start) s.end = s.start;
	VEC_PUSH(l->arena, &l->spans, span_intern(l->c, s));
}

static void read_chain(BinaryReader *l) {
	ChainId chain = 0;
	for (uint32_t n = get_count(l, "transforms"); n; n--) {
		const bool call = get_below(l, 2, "kind of transform");
		const size_t start = l->at;
		const Atom word = get_word(l);
		const char *text = atom_text(l->c, word);
		if (!call && (!word || strlen(text) != atom_length(l->c, word) || strchr(text, ' ')))
			wrong(l, start, "this is not the name of a transform");
		if (call) {
			const SpanId defined = get_span(l), at = get_span(l);
			chain = chain_push_call(l->c, chain, word, defined, at);
		} else chain = chain_push(l->c, chain, text);
	}
	VEC_PUSH(l->arena, &l->chains, chain);
}

static void read_dim(BinaryReader *l) {
	Dim sum = dim_const(l->c, 0);
	Sized s = {0};
	for (uint32_t n = get_count(l, "terms"); n; n--) {
		Dim term = dim_const(l->c, get_s(l));
		for (uint32_t parts = get_below(l, DIM_DEGREE + 1, "power"); parts; parts--) {
			const size_t start = l->at;
			const uint64_t part = get_u(l);
			if (part & 1) {
				const uint64_t inner = part >> 1, by = get_u(l);
				if (!inner || inner > l->dims.n || !by || by > INT64_MAX)
					wrong(l, start, "this is not a quotient of a length");
				const Sized of = l->dims.at[inner - 1];
				if (of.nsyms > s.nsyms) s.nsyms = of.nsyms;
				term = dim_mul(l->c, term, dim_floordiv(l->c, of.id, (int64_t)by));
			} else {
				/* each symbol takes bytes, so there are fewer than l->n */
				if (part >> 1 >= l->n)
					wrong(l, start, "there is no symbol %llu", (unsigned long long)(part >> 1));
				if ((part >> 1) + 1 > s.nsyms) s.nsyms = (uint32_t)(part >> 1) + 1;
				term = dim_mul(l->c, term, dim_sym(l->c, (SymId)(part >> 1)));
			}
		}
		sum = dim_add(l->c, sum, term);
	}
	s.id = sum;
	VEC_PUSH(l->arena, &l->dims, s);
}

static void read_type(BinaryReader *l) {
	const uint32_t kind = get_below(l, TY_TOKEN + 1, "kind of type");
	Sized s = {.id = kind == TY_DYN ? type_dyn(l->c) : type_token(l->c)};
	if (kind == TY_TENSOR) {
		const Dtype dtype = (Dtype)get_below(l, DT_COUNT, "dtype");
		const uint32_t rank = get_below(l, MAX_RANK + 1, "number of axes");
		Dim dims[MAX_RANK];
		for (uint32_t i = 0; i < rank; i++) {
			const size_t start = l->at;
			const uint32_t k = ENTRY(l, dims, "length");
			int64_t length;
			if (!k) wrong(l, start, "a length is missing");
			dims[i] = l->dims.at[k - 1].id;
			if (dim_is_const(l->c, dims[i], &length) && length < 0)
				wrong(l, start, "a negative length");
			if (l->dims.at[k - 1].nsyms > s.nsyms) s.nsyms = l->dims.at[k - 1].nsyms;
		}
		s.id = type_tensor(l->c, dtype, rank, dims);
	}
	VEC_PUSH(l->arena, &l->types, s);
}

static void (*const read_entry[TABLE_COUNT])(BinaryReader *l) = {
	[TABLE_OPS] = read_op,     [TABLE_WORDS] = read_word,   [TABLE_SOURCES] = read_source,
	[TABLE_SPANS] = read_span, [TABLE_CHAINS] = read_chain, [TABLE_DIMS] = read_dim,
	[TABLE_TYPES] = read_type,
};

/* ---- values -------------------------------------------------------------- */

static Value own(BinaryReader *l, Value v) {
	if (v.kind == V_UNSET || (v.kind == V_TENSOR && !v.tensor)) ctx_throw(l->c, ST_NOMEM);
	l->owned.at[l->owned.n++] = v;
	return v;
}
static void make_room(BinaryReader *l) { VEC_RESERVE(l->arena, &l->owned, l->owned.n + 1u); }
#define OWN(l, make) (make_room(l), own((l), (make)))

/* Copies n elements at byte `at` to `to`. Booleans must be 0 or 1. */
static void copy_elements(BinaryReader *l, Dtype d, size_t at, uint64_t n, void *to) {
	memcpy(to, l->bytes + at, n * dtype_size(d));
	for (uint64_t i = 0; d == DT_BOOL && i < n; i++)
		if (l->bytes[at + i] > 1) wrong(l, at + i, "a boolean that is neither 0 nor 1");
	binary_elements(d, to, (int64_t)n);
}

static Value get_tensor(BinaryReader *l) {
	const size_t start = l->at;
	const Dtype d = (Dtype)get_below(l, DT_COUNT, "dtype");
	const uint32_t rank = get_below(l, MAX_RANK + 1, "number of axes");
	int64_t shape[MAX_RANK];
	uint64_t count = 1;
	bool empty = false;
	if (!rank) wrong(l, start, "an array without axes");
	for (uint32_t i = 0; i < rank; i++) {
		const uint64_t length = get_u(l);
		if (length > INT64_MAX / 64) wrong(l, start, "an array that is longer than any memory");
		shape[i] = (int64_t)length;
		empty |= !length;
		if (length && __builtin_mul_overflow(count, length, &count))
			wrong(l, start, "an array that is longer than any memory");
	}
	if (empty) count = 0;
	const uint64_t place = get_u(l);
	size_t at = l->at, room = l->end - l->at;
	if (place) {
		const uint64_t most = (l->n - l->arrays) / ARRAY_ALIGN;
		if (place > most) wrong(l, start, "an array that stands behind the end");
		at = l->arrays + (place - 1) * ARRAY_ALIGN;
		room = l->n - at;
	}
	if (count > room / dtype_size(d))
		wrong(l, start, "an array of %llu elements, and %zu bytes for them",
		      (unsigned long long)count, room);
	for (uint32_t k = 0; place && k < l->placed.n; k++) {
		const Tensor *t = l->placed.at[k].value.tensor;
		if (l->placed.at[k].place == place && t->dtype == d && t->rank == rank &&
		    !memcmp(t->shape, shape, rank * sizeof *shape))
			return l->placed.at[k].value;
	}
	Value v = OWN(l, value_tensor(tensor_new(l->c, d, rank, shape)));
	copy_elements(l, d, at, count, v.tensor->data);
	if (place) VEC_PUSH(l->arena, &l->placed, ((StoredArray){place, v}));
	else l->at += count * dtype_size(d);
	return v;
}

static Value get_value(BinaryReader *l);

static Value get_items(BinaryReader *l, ValueKind kind) {
	const uint32_t n = get_count(l, "items");
	Value *items = ARENA_ARRAY(l->arena, Value, n + 1u);
	Atom *names = ARENA_ARRAY(l->arena, Atom, n + 1u);
	for (uint32_t i = 0; i < n; i++) {
		if (kind == V_RECORD) names[i] = get_word(l);
		items[i] = get_value(l);
	}
	return kind == V_RECORD ? OWN(l, value_record(l->c, n, names, items))
	                        : OWN(l, value_seq(l->c, kind, n, items));
}

static Value get_function(BinaryReader *l) {
	const size_t start = l->at;
	const IrServices *s = ir_services(l->c);
	const Value record = get_value(l);
	if (!s->function_in) wrong(l, start, "functions as values cannot be read here");
	make_room(l);
	Value f = {.kind = V_UNSET};
	const Status st = record.kind == V_RECORD ? s->function_in(l->c, record, &f) : ST_ERROR;
	if (record.kind != V_RECORD) wrong(l, start, "this is not what a function is written as");
	if (st != ST_OK) ctx_throw(l->c, st);
	return own(l, f);
}

/* The value is borrowed from `owned`. */
static Value get_value(BinaryReader *l) {
	const size_t start = l->at;
	Value v = {.kind = V_UNSET};
	enter(l);
	switch (get_below(l, TAG_TOKEN + 1, "kind of value")) {
	case TAG_UNSET: break;
	case TAG_NONE: v = value_none(); break;
	case TAG_TOKEN: v.kind = V_TOKEN; break;
	case TAG_SCALAR: {
		const Dtype d = (Dtype)get_below(l, DT_COUNT, "dtype");
		union {
			double _Complex aligned;
			unsigned char bytes[16];
		} one = {0};
		if (l->end - l->at < dtype_size(d)) wrong(l, start, "it ends inside a number");
		copy_elements(l, d, l->at, 1, one.bytes);
		l->at += dtype_size(d);
		v = value_scalar_from_bytes(d, one.bytes);
		break;
	}
	case TAG_TENSOR: v = get_tensor(l); break;
	case TAG_STRING: {
		size_t n;
		const char *text = get_bytes(l, &n, "letters");
		v = OWN(l, value_string(l->c, text, n));
		break;
	}
	case TAG_RANGE: {
		const int64_t from = get_s(l), to = get_s(l), step = get_s(l);
		if (!step) wrong(l, start, "a range whose step is 0");
		v = OWN(l, value_range(l->c, from, to, step));
		break;
	}
	case TAG_TUPLE: v = get_items(l, V_TUPLE); break;
	case TAG_LIST: v = get_items(l, V_LIST); break;
	case TAG_RECORD: v = get_items(l, V_RECORD); break;
	case TAG_FUNCTION:
	case TAG_PROBLEM: v = get_function(l); break;
	}
	leave(l);
	return v;
}

/* ---- functions ----------------------------------------------------------- */

static void read_function(BinaryReader *l, uint32_t entry);

typedef struct Defs {
	uint32_t n;
	Atom *names;
	TypeId *types;
} Defs;

static Defs get_defs(BinaryReader *l) {
	Defs d = {.n = get_count(l, "values")};
	d.names = ARENA_ARRAY(l->arena, Atom, d.n + 1u);
	d.types = ARENA_ARRAY(l->arena, TypeId, d.n + 1u);
	for (uint32_t i = 0; i < d.n; i++) {
		d.names[i] = get_word(l);
		d.types[i] = get_type(l);
	}
	return d;
}

/* Values are numbered in the order in which they are read. */
static void define(BinaryReader *l, uint32_t number, Atom name, Ref ref) {
	l->numbered.at[number] = ref;
	l->b->fn->vals.at[REF_INDEX(ref)].name = name;
}
static uint32_t take_numbers(BinaryReader *l, uint32_t n) {
	const uint32_t first = l->numbered.n;
	for (uint32_t i = 0; i < n; i++) VEC_PUSH(l->arena, &l->numbered, REF_NONE);
	return first;
}

static Ref get_operand(BinaryReader *l) {
	const size_t start = l->at;
	const uint64_t word = get_u(l), number = word / OPERAND_KINDS;
	if (word % OPERAND_KINDS == OPERAND_VALUE) {
		if (number >= l->numbered.n || l->numbered.at[number] == REF_NONE)
			wrong(l, start, "the value %llu is not defined here", (unsigned long long)number);
		return l->numbered.at[number];
	}
	if (number) wrong(l, start, "this is not an operand");
	const bool dyn = word == OPERAND_DYN;
	const Value v = get_value(l);
	if (value_is_array(v) == dyn)
		wrong(l, start,
		      dyn ? "a number or an array is marked as a value of another kind"
		          : "a constant that is neither a number nor an array");
	return build_const(l->b, v);
}

static Ref *get_operands(BinaryReader *l, uint32_t *n) {
	*n = get_count(l, "operands");
	Ref *refs = ARENA_ARRAY(l->arena, Ref, *n + 1u);
	for (uint32_t i = 0; i < *n; i++) refs[i] = get_operand(l);
	return refs;
}

static uint32_t get_function_number(BinaryReader *l) {
	const uint32_t k = get_below(l, (uint64_t)l->fns.n + 1, "function");
	if (!k) wrong(l, l->at - 1, "a function is missing");
	if (l->fns.at[k - 1].state == FN_UNREAD) read_function(l, k - 1);
	l->recursive = l->recursive || l->fns.at[k - 1].state == FN_OPEN;
	return k - 1;
}

static HostId get_host(BinaryReader *l) {
	const size_t start = l->at;
	size_t n;
	const char *name = get_bytes(l, &n, "letters");
	const HostDef *def = host_find(l->c, arena_copy(l->arena, name, n));
	const uint32_t noptions = get_count(l, "options");
	int64_t *options = ARENA_ARRAY(l->arena, int64_t, noptions + 1u);
	for (uint32_t i = 0; i < noptions; i++) options[i] = get_s(l);
	const uint32_t nfns = get_count(l, "functions");
	Fn **fns = ARENA_ARRAY(l->arena, Fn *, nfns + 1u);
	for (uint32_t i = 0; i < nfns; i++) {
		const StoredFn *e = &l->fns.at[get_function_number(l)];
		if (!e->fn) wrong(l, start, "a function is handed to a solver inside itself");
		fns[i] = e->fn;
	}
	if (!n) {
		if (nfns != 1 || noptions != 1 || options[0] < 0 || options[0] >= (int64_t)l->rules.n)
			wrong(l, start, "there is no such rule");
		RuleEntry *r = &l->rules.at[options[0]];
		if (r->value && r->value != fns[0]) wrong(l, start, "a rule is that of two functions");
		if (r->rule->nargs != fn_nparams(fns[0]))
			wrong(l, start, "a rule is that of a function with other arguments");
		r->value = fns[0];
		return rule_call(l->c, r->rule, fns[0]);
	}
	if (!def || !def->may_store)
		wrong(l, start, "the function `%.*s` of the program around is not known here",
		      n < 60 ? (int)n : 60, name);
	return host_call_intern(l->c, def, nfns, fns, noptions, options);
}

static int64_t get_attr_word(BinaryReader *l, char letter) {
	switch (letter) {
	case 'D': return get_sized(l, false, l->b->fn->syms.n);
	case 'y': return get_type(l);
	case 't': return get_below(l, DT_COUNT, "dtype");
	case 'a': return get_word(l);
	case 'f': return l->fns.at[get_function_number(l)].id;
	case 'h': return get_host(l);
	default: return get_s(l);
	}
}

static AttrId get_attrs(BinaryReader *l, Op op) {
	const char *schema = prims[op].attr;
	VEC(int64_t) words = {0};
	FormField field;
	while (form_next_field(&schema, &field)) {
		uint32_t count = 1;
		if (field.list) {
			count = get_count(l, "numbers");
			VEC_PUSH(l->arena, &words, count);
		}
		for (uint32_t i = 0; i < count; i++) {
			const int64_t w = get_attr_word(l, field.letter);
			VEC_PUSH(l->arena, &words, w);
		}
	}
	return attr_intern(l->c, words.at, words.n);
}

static RegionId get_region(BinaryReader *l);

static void read_inst(BinaryReader *l) {
	const size_t start = l->at;
	Builder *b = l->b;
	const uint32_t k = ENTRY(l, ops, "operation");
	if (!k) wrong(l, start, "an operation is missing");
	const Op op = l->ops.at[k - 1];
	const Defs defs = get_defs(l);
	const uint32_t first = take_numbers(l, defs.n);
	uint32_t nargs;
	const Ref *args = get_operands(l, &nargs);
	const AttrId attr = get_attrs(l, op);
	RegionId regions[2] = {0};
	const uint32_t nregions = get_below(l, 3, "region");
	for (uint32_t i = 0; i < nregions; i++) regions[i] = get_region(l);
	const uint32_t chain = ENTRY(l, chains, "chain of transforms");
	const SpanId span = get_span(l);

	const HostCall *host =
		op == OP_HOST ? host_call(l->c, (HostId)attr_int(l->c, OP_HOST, attr, 0)) : NULL;
	if (host && !host->def->may_store(b, host, nargs, args, defs.n, defs.types))
		wrong(l, start, "a call of `%s` that such a function does not take", host->def->name);
	TypeQuery q = {
		.b = b, .op = op, .nargs = nargs, .args = args, .attr = attr, .here = b->region->id};
	q.nregions = nregions;
	q.regions = regions;
	q.stated = defs.types;
	q.nstated = defs.n;
	if (!infer_types(&q))
		wrong(l, start, "%s: %s", prims[op].name, q.why ? q.why : "operands that do not fit");
	build_at(b, span);
	build_chain(b, chain ? l->chains.at[chain - 1] : 0);
	const InstId id = emit_inst(b, op, nargs, args, attr, nregions, regions, defs.n, defs.types);
	for (uint32_t i = 0; i < defs.n; i++)
		define(l, first + i, defs.names[i], ref_value(b->fn->insts.at[id].results + i));
}

static Ref *get_region_body(BinaryReader *l, uint32_t *nresults) {
	for (uint32_t n = get_count(l, "instructions"); n; n--) read_inst(l);
	return get_operands(l, nresults);
}

static RegionId get_region(BinaryReader *l) {
	enter(l);
	const Defs defs = get_defs(l);
	Ref *params = ARENA_ARRAY(l->arena, Ref, defs.n + 1u);
	OpenRegion *open = build_region_begin(l->b, defs.n, defs.types, params);
	const uint32_t first = take_numbers(l, defs.n);
	for (uint32_t i = 0; i < defs.n; i++) define(l, first + i, defs.names[i], params[i]);
	uint32_t n;
	const Ref *results = get_region_body(l, &n);
	const RegionId id = build_region_end(l->b, open, n, results);
	/* out of scope now */
	for (uint32_t i = first; i < l->numbered.n; i++) l->numbered.at[i] = REF_NONE;
	leave(l);
	return id;
}

static void read_function(BinaryReader *l, uint32_t entry) {
	/* A function may be read while its caller is only partly read. */
	const BinaryReader caller = *l;
	memset(&l->numbered, 0, sizeof l->numbered);
	enter(l);
	l->at = l->fns.at[entry].start;
	l->end = l->fns.at[entry].end;
	const Atom name = get_word(l);
	const SpanId span = get_span(l);
	Builder *b = l->b = build_begin(l->c, name, 0, NULL);
	b->verbatim = true;
	b->fn->span = span;
	l->fns.at[entry].state = FN_OPEN;
	l->fns.at[entry].id = b->fn->id;
	for (uint32_t n = get_count(l, "symbols"); n; n--) {
		const Atom symbol = get_word(l);
		build_sym(b, symbol, get_span(l));
	}
	const Defs params = get_defs(l);
	take_numbers(l, params.n);
	for (uint32_t i = 0; i < params.n; i++)
		define(l, i, params.names[i], build_param(b, params.types[i], params.names[i]));
	const size_t flags_at = l->at;
	const uint32_t flags =
		get_below(l, (HAS_SNAPSHOTS | HAS_BATCH_SEQUENTIALLY) + 1, "mark of functions");
	if (flags & HAS_SNAPSHOTS) {
		const int64_t words[2] = {get_s(l), get_s(l)};
		if ((words[0] > 0) == (words[1] > 0) || words[0] < 0 || words[1] < 0)
			wrong(l, flags_at, "a number of snapshots or of bytes is wanted, and 0 for the other");
		b->fn->checkpoint = attr_intern(l->c, words, 2);
	}
	if (flags & HAS_BATCH_SEQUENTIALLY)
		b->fn->batch_sequentially_by = get_below(l, params.n, "parameter") + 1;
	uint32_t n;
	const Ref *results = get_region_body(l, &n);
	if (l->at != l->end) wrong(l, l->at, "a function ends before its bytes do");
	Fn *f = build_end(b, n, results);
	l->fns.at[entry].fn = f;
	l->fns.at[entry].state = FN_READ;
	if (!fn_verify(f, "reading")) ctx_throw(l->c, ST_INTERNAL);
	l->b = caller.b;
	l->numbered = caller.numbered;
	l->depth = caller.depth;
	l->at = caller.at;
	l->end = caller.end;
}

/* ---- rules --------------------------------------------------------------- */

static void get_part(BinaryReader *l, uint32_t *fn, RulePart *part) {
	*fn = get_below(l, (uint64_t)l->fns.n + 1, "function");
	if (!*fn) return;
	part->nresults = get_count(l, "results");
	part->results = ARENA_ARRAY(ctx_arena(l->c), uint32_t, part->nresults + 1u);
	for (uint32_t i = 0; i < part->nresults; i++)
		part->results[i] = get_below(l, UINT32_MAX, "result");
}

/* A rule's functions may call the function with that rule, so they are resolved
 * after all functions have been read. */
static void read_rules(BinaryReader *l) {
	for (uint32_t n = get_count(l, "rules"); n; n--) {
		size_t letters;
		const char *name = get_bytes(l, &letters, "letters");
		const uint32_t nargs = get_count(l, "arguments");
		Arena *a = ctx_arena(l->c);
		RuleEntry e = {.at = l->at,
		               .rule = ARENA_NEW(a, StoredRule),
		               .fns = ARENA_ARRAY(l->arena, uint32_t, nargs + 1u)};
		*e.rule = (StoredRule){.name = arena_copy(a, name, letters),
		                       .nargs = nargs,
		                       .tangents = ARENA_ARRAY(a, RulePart, nargs + 1u)};
		for (uint32_t k = 0; k <= nargs; k++) e.rule->tangents[k] = (RulePart){0};
		for (uint32_t k = 0; k < nargs; k++) get_part(l, &e.fns[k], &e.rule->tangents[k]);
		e.rule->from = get_below(l, (uint64_t)nargs + 1, "argument");
		get_part(l, &e.fns[nargs], &e.rule->transpose);
		VEC_PUSH(l->arena, &l->rules, e);
	}
}

static void resolve_rules(BinaryReader *l) {
	for (uint32_t i = 0; i < l->rules.n; i++) {
		RuleEntry *e = &l->rules.at[i];
		StoredRule found = *e->rule;
		if (!e->value) continue; /* nobody calls its function */
		found.tangents = ARENA_ARRAY(l->arena, RulePart, found.nargs + 1u);
		for (uint32_t k = 0; k < found.nargs; k++) {
			found.tangents[k] = e->rule->tangents[k];
			found.tangents[k].fn = e->fns[k] ? l->fns.at[e->fns[k] - 1].fn : NULL;
		}
		found.transpose.fn = e->fns[found.nargs] ? l->fns.at[e->fns[found.nargs] - 1].fn : NULL;
		if (!rule_fits(l->arena, &found, e->value))
			wrong(l, e->at, "a rule of `%s` does not fit it", found.name);
		for (uint32_t k = 0; k < found.nargs; k++)
			if ((e->rule->tangents[k].fn = found.tangents[k].fn)) fn_ref(found.tangents[k].fn);
		if ((e->rule->transpose.fn = found.transpose.fn)) fn_ref(found.transpose.fn);
	}
}

/* ---- the whole file ------------------------------------------------------ */

static void read_head(BinaryReader *l) {
	const unsigned char *p = l->bytes;
	if (l->n < 8 || memcmp(p, BINARY_MAGIC, 8) != 0)
		wrong(l, 0, "this is not the binary form of a function");
	if (l->n < HEAD_BYTES) wrong(l, l->n, "it ends inside the head");
	const uint64_t version = binary_load(p + AT_VERSION, 4), length = binary_load(p + AT_LENGTH, 8),
				   arrays = binary_load(p + AT_ARRAYS, 8);
	if (version != BINARY_FIRST && version != BINARY_RULES)
		wrong(l, AT_VERSION,
		      "this is version %llu of the form, and versions %d and %d are read here",
		      (unsigned long long)version, BINARY_FIRST, BINARY_RULES);
	l->has_rules = version == BINARY_RULES;
	if (binary_load(p + AT_ZERO, 4)) wrong(l, AT_ZERO, "0 is wanted here");
	if (length != l->n || length % 8)
		wrong(l, AT_LENGTH, "%llu bytes are announced, and there are %zu",
		      (unsigned long long)length, l->n);
	if (arrays < HEAD_BYTES || arrays > l->n ||
	    (arrays != l->n && (arrays % ARRAY_ALIGN || l->n % ARRAY_ALIGN)))
		wrong(l, AT_ARRAYS, "arrays cannot begin at byte %llu", (unsigned long long)arrays);
	if (binary_load(p + AT_CHECKSUM, 8) != binary_checksum(p, l->n))
		wrong(l, AT_CHECKSUM,
		      "the checksum is another: these bytes are not those that were written");
	l->arrays = l->end = (size_t)arrays;
	l->at = HEAD_BYTES;
}

static void read_all(Ctx *c, void *arg) {
	BinaryReader *l = arg;
	(void)c;
	read_head(l);
	for (int k = 0; k < TABLE_COUNT; k++)
		for (uint32_t n = get_count(l, "entries"); n; n--) read_entry[k](l);
	const size_t start = l->at;
	for (uint32_t n = get_count(l, "functions"); n; n--) {
		size_t size;
		get_bytes(l, &size, "bytes");
		VEC_PUSH(l->arena, &l->fns, ((StoredFn){.start = l->at - size, .end = l->at}));
	}
	if (!l->fns.n) wrong(l, start, "there is no function in it");
	if (l->has_rules) read_rules(l);
	const size_t behind = l->at;
	for (uint32_t i = 0; i < l->fns.n; i++)
		if (l->fns.at[i].state == FN_UNREAD) read_function(l, i);
	/* What an open function gives was not known to its callers. */
	for (uint32_t i = 0; l->recursive && i < l->fns.n; i++)
		if (!fn_verify(l->fns.at[i].fn, "reading")) ctx_throw(l->c, ST_INTERNAL);
	l->at = behind;
	resolve_rules(l);
	l->about = get_value(l);
	while (l->at < l->end)
		if (l->bytes[l->at++]) wrong(l, l->at - 1, "something stands behind the end");
}

static void set_up(Ctx *c, void *arg) {
	BinaryReader *l = arg;
	ir_state(c);
	l->arena = arena_new(c);
}

/* A fault that the builder or the verifier finds in a function from a file is
 * the file's fault, not an internal error. */
static void blame_file(BinaryReader *l, uint32_t total) {
	char message[400] = "";
	if (diag_total(l->c) > total && diag_at(l->c, total)->code == E_FILE) return;
	if (diag_total(l->c) > total && diag_at(l->c, total)->message)
		snprintf(message, sizeof message, "%s", diag_at(l->c, total)->message);
	diag_truncate(l->c, total);
	diag_error(l->c, E_FILE, NO_SPAN, "%s: byte %zu: %s", l->name, l->at, message);
}

Fn *fn_load(Ctx *c, const char *name, const void *bytes, size_t n, Value *about) {
	BinaryReader l = {.c = c, .name = name, .bytes = bytes, .n = n, .end = n};
	const uint32_t total = diag_total(c);
	Status st = ctx_protect(c, set_up, &l);
	if (st == ST_OK) {
		const uint32_t mark = build_mark(c);
		st = ctx_protect(c, read_all, &l);
		if (st != ST_OK) build_unwind(c, mark);
		if (st == ST_INTERNAL || st == ST_ERROR) blame_file(&l, total);
	}
	Fn *result = NULL;
	for (uint32_t i = 0; i < l.fns.n; i++) {
		Fn *f = l.fns.at[i].fn;
		if (st == ST_OK && i + 1 == l.fns.n) result = f;
		else if (f) fn_unref(f);
	}
	if (about) *about = result ? value_ref(l.about) : (Value){.kind = V_UNSET};
	while (l.owned.n) value_unref(l.owned.at[--l.owned.n]);
	if (l.arena) arena_free(l.arena);
	if (st == ST_NOMEM)
		diag_error(c, E_MEMORY, NO_SPAN,
		           "out of memory while reading the binary form of a function");
	return result;
}
