/* value.c - values: scalars, tensors and reference-counted objects.
 *
 * Needs: value.h, tensor.h; the context's heap.
 *
 * Contract:
 * - Constructors return V_UNSET when memory fails, and then have taken no
 *   reference.
 * - Releasing and comparing use bounded C stack, however deeply a program nests
 *   its lists. Release is a loop over a list threaded through the dead objects.
 */
#include "lang/base/value.h"

_Static_assert(sizeof(Value) == 24, "a Value is passed by value everywhere");

/* ---- references ---------------------------------------------------------- */

static bool is_object(uint8_t kind) { return kind >= V_STRING && kind <= V_HOST; }

/* Strings and lists that grow by one item at a time are seldom moved: a block
 * has room for up to an eighth more than its n items. */
static size_t room_for(size_t n) {
	const size_t step = n < 64 ? 1 : (size_t)1 << (60 - __builtin_clzll(n));
	return (n + step - 1) / step * step;
}

/* The size of an object's block follows from kind and n. This frees the `bytes`
 * field for the list of dead objects. */
static size_t object_bytes(uint8_t kind, uint32_t n) {
	switch ((ValueKind)kind) {
	case V_STRING: return sizeof(StringObject) + room_for((size_t)n + 1);
	case V_RANGE: return sizeof(RangeObject);
	case V_TUPLE:
	case V_LIST: return sizeof(SeqObject) + room_for(n) * sizeof(Value);
	case V_RECORD: return sizeof(RecordObject) + (size_t)n * sizeof *((RecordObject *)0)->fields;
	case V_FUNCTION:
	case V_PROBLEM:
		return sizeof(FunctionObject) + (size_t)n * sizeof *((FunctionObject *)0)->captured;
	case V_HOST: return sizeof(HostObject);
	default: return sizeof(Object);
	}
}

/* The i-th value in an object; NULL for objects without values. */
static Value *object_item(Object *o, uint32_t i) {
	switch ((ValueKind)o->kind) {
	case V_TUPLE:
	case V_LIST: return &((SeqObject *)o)->items[i];
	case V_RECORD: return &((RecordObject *)o)->fields[i].value;
	case V_FUNCTION:
	case V_PROBLEM: return &((FunctionObject *)o)->captured[i].value;
	default: return NULL;
	}
}

static Object *object_new(Ctx *c, ValueKind kind, uint32_t n) {
	size_t bytes = object_bytes((uint8_t)kind, n);
	Object *o = heap_alloc(c, bytes);
	if (!o) return NULL;
	atomic_init(&o->refs, 1);
	o->kind = (uint8_t)kind;
	o->n = n;
	o->ctx = c;
	o->bytes = bytes;
	return o;
}

Value value_ref(Value v) {
	if (v.kind == V_TENSOR) tensor_ref(v.tensor);
	else if (is_object(v.kind)) atomic_fetch_add_explicit(&v.object->refs, 1, memory_order_relaxed);
	return v;
}

/* The count that includes an object; NULL: none. */
static _Atomic uint32_t *count_of(const Object *o) {
	if (o->kind != V_FUNCTION && o->kind != V_PROBLEM) return NULL;
	const FunctionObject *f = (const FunctionObject *)o;
	if (!f->owner) return NULL;
	const bool code = f->code_kind == CODE_KIND_AST || f->code_kind == CODE_KIND_IR;
	return code ? &f->owner->values : &f->owner->others;
}

/* Drops one reference; returns the object when that was the last. */
static Object *drop(Object *o) {
	if (atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1) return NULL;
	_Atomic uint32_t *count = count_of(o);
	if (count) atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
	return o;
}

void value_unref(Value v) {
	if (v.kind == V_TENSOR) {
		tensor_unref(v.tensor);
		return;
	}
	if (!is_object(v.kind)) return;
	Object *dead = drop(v.object); /* head of a list, linked through `bytes` */
	if (dead) dead->bytes = 0;
	while (dead) {
		Object *o = dead;
		dead = (Object *)(uintptr_t)o->bytes;
		for (uint32_t i = 0; i < o->n; i++) {
			Value *item = object_item(o, i);
			if (!item) break;
			if (item->kind == V_TENSOR) tensor_unref(item->tensor);
			Object *also = is_object(item->kind) ? drop(item->object) : NULL;
			if (!also) continue;
			also->bytes = (size_t)(uintptr_t)dead;
			dead = also;
		}
		const HostObject *host = o->kind == V_HOST ? (const HostObject *)o : NULL;
		if (host && host->finalise) host->finalise(host->pointer);
		heap_free(o->ctx, o, object_bytes(o->kind, o->n));
	}
}

/* ---- constructors -------------------------------------------------------- */

static const Value unset = {.kind = V_UNSET};

static Value of_object(Object *o) { return (Value){.kind = o->kind, .object = o}; }

Value value_string(Ctx *c, const char *text, size_t n) {
	if (n >= UINT32_MAX) return unset;
	StringObject *s = (StringObject *)object_new(c, V_STRING, (uint32_t)n);
	if (!s) return unset;
	if (n) memcpy(s->text, text, n);
	s->text[n] = 0;
	return of_object(&s->head);
}

Value value_range(Ctx *c, int64_t start, int64_t stop, int64_t step) {
	RangeObject *r = (RangeObject *)object_new(c, V_RANGE, 0);
	if (!r) return unset;
	r->start = start;
	r->stop = stop;
	r->step = step;
	return of_object(&r->head);
}

Value value_host(Ctx *c, Atom type, void *pointer) {
	HostObject *h = (HostObject *)object_new(c, V_HOST, 0);
	if (!h) return unset;
	h->pointer = pointer;
	h->type = type;
	h->finalise = NULL;
	return of_object(&h->head);
}

Value value_seq(Ctx *c, ValueKind kind, uint32_t n, const Value *items) {
	SeqObject *s = (SeqObject *)object_new(c, kind, n);
	if (!s) return unset;
	for (uint32_t i = 0; i < n; i++) s->items[i] = value_ref(items[i]);
	return of_object(&s->head);
}

/* The object itself, moved to a block for n items, when this is its only
 * reference; else a new object whose items the caller fills in. NULL when
 * memory fails. */
static Object *object_for_more(Object *o, uint32_t n, bool *moved) {
	*moved = atomic_load_explicit(&o->refs, memory_order_acquire) == 1;
	if (!*moved) return object_new(o->ctx, (ValueKind)o->kind, n);
	const size_t before = object_bytes(o->kind, o->n), bytes = object_bytes(o->kind, n);
	Object *same = bytes == before ? o : heap_resize(o->ctx, o, before, bytes);
	if (!same) return NULL;
	same->n = n;
	same->bytes = bytes;
	return same;
}

Value value_seq_with(Value *seq, Value item) {
	const uint32_t n = seq->object->n;
	bool moved;
	SeqObject *s = n < UINT32_MAX ? (SeqObject *)object_for_more(seq->object, n + 1, &moved) : NULL;
	if (!s) return unset;
	if (!moved) {
		const SeqObject *from = (const SeqObject *)seq->object;
		for (uint32_t i = 0; i < n; i++) s->items[i] = value_ref(from->items[i]);
		value_unref(*seq);
	}
	s->items[n] = value_ref(item);
	seq->kind = V_UNSET;
	return of_object(&s->head);
}

Value value_seq_replaced(Value *seq, uint32_t i, Value item) {
	const uint32_t n = seq->object->n;
	Value out = *seq;
	if (atomic_load_explicit(&seq->object->refs, memory_order_acquire) != 1) {
		out = value_seq(seq->object->ctx, (ValueKind)seq->kind, n,
		                ((const SeqObject *)seq->object)->items);
		if (out.kind == V_UNSET) return unset;
		value_unref(*seq);
	}
	Value *at = &((SeqObject *)out.object)->items[i];
	const Value before = *at;
	*at = value_ref(item);
	value_unref(before);
	seq->kind = V_UNSET;
	return out;
}

Value value_string_with(Value *string, const char *more, size_t bytes) {
	const uint32_t n = string->object->n;
	bool moved;
	if (bytes >= UINT32_MAX - n) return unset;
	StringObject *s = (StringObject *)object_for_more(string->object, n + (uint32_t)bytes, &moved);
	if (!s) return unset;
	if (!moved) {
		memcpy(s->text, ((const StringObject *)string->object)->text, n);
		value_unref(*string);
	}
	if (bytes) memcpy(s->text + n, more, bytes);
	s->text[s->head.n] = 0;
	string->kind = V_UNSET;
	return of_object(&s->head);
}

void value_list_add(ValueList *l, Value v) {
	if (v.kind == V_UNSET) l->failed = true;
	if (!l->failed && l->n == l->cap) {
		const uint32_t cap = l->cap ? 2 * l->cap : 16;
		Value *more = cap > l->cap
		                  ? heap_resize(l->c, l->at, l->cap * sizeof *more, cap * sizeof *more)
		                  : NULL;
		if (more) {
			l->at = more;
			l->cap = cap;
		} else l->failed = true;
	}
	if (l->failed) value_unref(v);
	else l->at[l->n++] = v;
}

void value_list_drop(ValueList *l) {
	for (uint32_t i = 0; i < l->n; i++) value_unref(l->at[i]);
	heap_free(l->c, l->at, l->cap * sizeof *l->at);
	*l = (ValueList){.c = l->c};
}

Value value_list_end(ValueList *l) {
	Value v = {.kind = V_UNSET};
	if (!l->failed) v = value_seq(l->c, V_LIST, l->n, l->at);
	value_list_drop(l);
	return v;
}

Value value_record(Ctx *c, uint32_t n, const Atom *names, const Value *items) {
	RecordObject *r = (RecordObject *)object_new(c, V_RECORD, n);
	if (!r) return unset;
	for (uint32_t i = 0; i < n; i++) {
		r->fields[i].name = names[i];
		r->fields[i].value = value_ref(items[i]);
	}
	return of_object(&r->head);
}

Value value_function(Ctx *c, ValueKind kind, uint32_t code_kind, uint32_t code_id, const void *code,
                     Atom name, uint32_t n, const Atom *names, const Value *items) {
	FunctionObject *f = (FunctionObject *)object_new(c, kind, n);
	if (!f) return unset;
	f->code_kind = code_kind;
	f->code_id = code_id;
	f->code = code;
	f->name = name;
	f->owner = code_kind == CODE_KIND_AST  ? code_owner_of(c, code_id)
	           : code_kind == CODE_KIND_IR ? ((const IrCode *)code)->owner
	                                       : code_owner_last(c);
	_Atomic uint32_t *count = count_of(&f->head);
	if (count) atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
	for (uint32_t i = 0; i < n; i++) {
		f->captured[i].name = names[i];
		f->captured[i].value = value_ref(items[i]);
	}
	return of_object(&f->head);
}

Value value_field(Value record, Atom name) {
	if (record.kind != V_RECORD) return unset;
	const RecordObject *r = (const RecordObject *)record.object;
	for (uint32_t i = 0; i < r->head.n; i++) {
		if (r->fields[i].name == name) return r->fields[i].value;
	}
	return unset;
}

/* ---- scalars and tensors ------------------------------------------------- */

Dtype value_dtype(Value v) {
	return v.kind == V_TENSOR   ? (Dtype)v.tensor->dtype
	       : v.kind == V_SCALAR ? (Dtype)v.dtype
	                            : DT_COUNT;
}

uint32_t value_rank(Value v) { return v.kind == V_TENSOR ? v.tensor->rank : 0; }

Value value_scalar_from_bytes(Dtype d, const void *bytes) {
	Value v = {.kind = V_SCALAR, .dtype = (uint8_t)d};
	/* Copies whole members: a byte copy of variable size would go through
	 * memory. */
	switch (d) {
	case DT_BOOL: v.b = *(const unsigned char *)bytes != 0; break;
	case DT_I32:
	case DT_F32: memcpy(&v.i32, bytes, sizeof v.i32); break;
	case DT_C128: memcpy(&v.c, bytes, sizeof v.c); break;
	default: memcpy(&v.i, bytes, sizeof v.i); break;
	}
	return v;
}

Tensor *value_to_tensor(Ctx *c, Value v) {
	if (v.kind == V_TENSOR) return tensor_ref(v.tensor);
	if (v.kind != V_SCALAR) return NULL;
	Tensor *t = tensor_new(c, (Dtype)v.dtype, 0, NULL);
	if (t) memcpy(t->data, value_scalar_bytes(&v), dtype_size((Dtype)v.dtype));
	return t;
}

Value value_from_tensor(Tensor *t) {
	if (!t) return unset;
	if (t->rank) return value_tensor(t);
	Value v = value_scalar_from_bytes((Dtype)t->dtype, t->data);
	tensor_unref(t);
	return v;
}

/* Reads a rank-0 tensor that was never unboxed as a scalar. */
static bool as_scalar(Value *v) {
	if (v->kind == V_TENSOR && !v->tensor->rank)
		*v = value_scalar_from_bytes((Dtype)v->tensor->dtype, v->tensor->data);
	return v->kind == V_SCALAR;
}

bool value_as_f64(Value v, double *out) {
	if (!as_scalar(&v)) return false;
	switch ((Dtype)v.dtype) {
	case DT_BOOL: *out = v.b; return true;
	case DT_I32: *out = v.i32; return true;
	case DT_I64: *out = (double)v.i; return true;
	case DT_F32: *out = v.f32; return true;
	case DT_F64: *out = v.f; return true;
	default: return false;
	}
}

/* Floats are accepted when they are integers. */
bool value_as_i64(Value v, int64_t *out) {
	if (!as_scalar(&v)) return false;
	double x;
	switch ((Dtype)v.dtype) {
	case DT_BOOL: *out = v.b; return true;
	case DT_I32: *out = v.i32; return true;
	case DT_I64: *out = v.i; return true;
	case DT_F32: x = v.f32; break;
	case DT_F64: x = v.f; break;
	default: return false;
	}
	if (!(x >= -0x1p63 && x < 0x1p63) || (double)(int64_t)x != x) return false;
	*out = (int64_t)x;
	return true;
}

/* Accepts only a bool: `if 2` is an error in a program. */
bool value_as_bool(Value v, bool *out) {
	if (!as_scalar(&v) || v.dtype != DT_BOOL) return false;
	*out = v.b;
	return true;
}

/* ---- comparison ---------------------------------------------------------- */

#define BITS_BODY(name, T, real, parts)                                                            \
	static void same_##name(void *ud, int64_t n, char **ptr, const int64_t *stride) {              \
		const char *a = ptr[0], *b = ptr[1];                                                       \
		bool same = true;                                                                          \
		for (; n > 0 && same; n--, a += stride[0], b += stride[1]) {                               \
			if (!memcmp(a, b, sizeof(T) * parts)) continue;                                        \
			T x[parts], y[parts];                                                                  \
			memcpy(x, a, sizeof x);                                                                \
			memcpy(y, b, sizeof y);                                                                \
			for (int k = 0; k < parts; k++)                                                        \
				same = same && (!memcmp(&x[k], &y[k], sizeof(T)) ||                                \
				                (real && x[k] != x[k] && y[k] != y[k]));                           \
		}                                                                                          \
		if (!same) *(bool *)ud = false;                                                            \
	}
BITS_BODY(bool, uint8_t, 0, 1)
BITS_BODY(i32, int32_t, 0, 1)
BITS_BODY(i64, int64_t, 0, 1)
BITS_BODY(f32, float, 1, 1)
BITS_BODY(f64, double, 1, 1)
BITS_BODY(c64, float, 1, 2)
BITS_BODY(c128, double, 1, 2)

static const StridedBody same_bodies[DT_COUNT] = {same_bool, same_i32, same_i64, same_f32,
                                                  same_f64,  same_c64, same_c128};

static bool tensor_identical(Tensor *a, Tensor *b) {
	if (a == b) return true;
	if (a->dtype != b->dtype || !tensor_same_shape(a, b)) return false;
	Tensor *both[2] = {a, b};
	bool same = true;
	tensor_walk(2, both, same_bodies[a->dtype], &same);
	return same;
}

static bool scalar_identical(Value a, Value b) {
	if (a.dtype != b.dtype) return false;
	char *ptr[2] = {(char *)&a.b, (char *)&b.b};
	static const int64_t stride[2];
	bool same = true;
	same_bodies[a.dtype](&same, 1, ptr, stride);
	return same;
}

/* Compares the parts of two objects that are not values. */
static bool heads_identical(const Object *a, const Object *b) {
	if (a->n != b->n) return false;
	switch ((ValueKind)a->kind) {
	case V_STRING:
		return !memcmp(((const StringObject *)a)->text, ((const StringObject *)b)->text, a->n);
	case V_RANGE: {
		const RangeObject *x = (const RangeObject *)a, *y = (const RangeObject *)b;
		return x->start == y->start && x->stop == y->stop && x->step == y->step;
	}
	case V_RECORD: {
		const RecordObject *x = (const RecordObject *)a, *y = (const RecordObject *)b;
		for (uint32_t i = 0; i < a->n; i++) {
			if (x->fields[i].name != y->fields[i].name) return false;
		}
		return true;
	}
	case V_FUNCTION:
	case V_PROBLEM: {
		const FunctionObject *x = (const FunctionObject *)a, *y = (const FunctionObject *)b;
		return x->code_kind == y->code_kind && x->code_id == y->code_id && x->code == y->code;
	}
	case V_HOST: return false; /* another object */
	default: return true;
	}
}

/* Values nested deeper, or with more parts, are identical only when they are
 * the same object. A list that contains a list twice, sixty levels deep, has
 * too many parts to visit. */
#define COMPARE_DEPTH_MOST 2000
#define COMPARE_PARTS_MOST (1 << 24)

static bool identical(Value a, Value b, int depth, int *parts) {
	for (;;) {
		if (a.kind != b.kind) return false;
		if (a.kind == V_SCALAR) return scalar_identical(a, b);
		if (a.kind == V_TENSOR) return tensor_identical(a.tensor, b.tensor);
		if (!is_object(a.kind) || a.object == b.object) return true;
		if (!heads_identical(a.object, b.object)) return false;
		uint32_t n = object_item(a.object, 0) ? a.object->n : 0;
		if (!n) return true;
		for (uint32_t i = 0; i + 1 < n; i++) {
			if (depth == 0 || *parts == 0) return false;
			--*parts;
			if (!identical(*object_item(a.object, i), *object_item(b.object, i), depth - 1, parts))
				return false;
		}
		/* the last item without recursion: linked lists may be long */
		a = *object_item(a.object, n - 1);
		b = *object_item(b.object, n - 1);
	}
}

bool value_identical(Value a, Value b) {
	int parts = COMPARE_PARTS_MOST;
	return identical(a, b, COMPARE_DEPTH_MOST, &parts);
}
