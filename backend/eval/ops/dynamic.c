/* dynamic.c - dynamic values: box, unbox, and string formatting.
 *
 * Needs: frame.h.
 *
 * Contract:
 * - Templates are constants and are never changed.
 * - A box shares its leaves.
 */
#include "backend/eval/core/frame.h"
#include <limits.h>
#include <stdlib.h>

/* ---- box ----------------------------------------------------------------- */

typedef struct Filling {
	Frame *f;
	const Step *s;
	uint32_t next; /* operand for the next hole */
	bool failed;
} Filling;

static Value fill(Filling *w, Value t);

static bool has_holes(Value t);

static bool any_holes(const Value *items, uint32_t n) {
	for (uint32_t i = 0; i < n; i++)
		if (has_holes(items[i])) return true;
	return false;
}

static bool has_holes(Value t) {
	switch (t.kind) {
	case V_UNSET: return true;
	case V_TUPLE:
	case V_LIST: return any_holes(((const SeqObject *)t.object)->items, t.object->n);
	case V_RECORD: {
		const RecordObject *r = (const RecordObject *)t.object;
		for (uint32_t i = 0; i < r->head.n; i++)
			if (has_holes(r->fields[i].value)) return true;
		return false;
	}
	case V_FUNCTION:
	case V_PROBLEM: {
		const FunctionObject *fn = (const FunctionObject *)t.object;
		for (uint32_t i = 0; i < fn->head.n; i++)
			if (has_holes(fn->captured[i].value)) return true;
		return false;
	}
	default: return false;
	}
}

/* Rebuilds the object from its filled items. */
static Value fill_items(Filling *w, Value t) {
	const uint32_t n = t.object->n;
	const size_t bytes = n * (sizeof(Value) + sizeof(Atom));
	Ctx *c = w->f->ctx;
	Value *items = heap_alloc(c, bytes), made = {.kind = V_UNSET};
	if (!items) return made;
	Atom *names = (Atom *)(items + n);
	uint32_t k = 0;
	bool complete = true;
	for (; k < n && complete; k++) {
		Value item;
		if (t.kind == V_TUPLE || t.kind == V_LIST) {
			item = ((const SeqObject *)t.object)->items[k];
		} else if (t.kind == V_RECORD) {
			item = ((const RecordObject *)t.object)->fields[k].value;
			names[k] = ((const RecordObject *)t.object)->fields[k].name;
		} else {
			item = ((const FunctionObject *)t.object)->captured[k].value;
			names[k] = ((const FunctionObject *)t.object)->captured[k].name;
		}
		items[k] = fill(w, item);
		complete = items[k].kind != V_UNSET;
	}
	if (complete) {
		if (t.kind == V_TUPLE || t.kind == V_LIST) {
			made = value_seq(c, (ValueKind)t.kind, n, items);
		} else if (t.kind == V_RECORD) {
			made = value_record(c, n, names, items);
		} else {
			const FunctionObject *fn = (const FunctionObject *)t.object;
			made = value_function(c, (ValueKind)t.kind, fn->code_kind, fn->code_id, fn->code,
			                      fn->name, n, names, items);
		}
	}
	for (uint32_t i = 0; i < k; i++) value_unref(items[i]);
	heap_free(c, items, bytes);
	return made;
}

static Value fill(Filling *w, Value t) {
	if (t.kind == V_UNSET)
		return w->next < w->s->nargs ? take_operand(w->f, w->s, w->next++) : value_none();
	return has_holes(t) ? fill_items(w, t) : value_ref(t);
}

Status eval_BOX(Frame *f, const Step *s) {
	Filling w = {.f = f, .s = s, .next = 1};
	return put_object(f, s, 0, fill(&w, *operand_at(f, s->a)));
}

Status eval_UNBOX(Frame *f, const Step *s) {
	const Value *v = operand_at(f, s->a);
	if (UNLIKELY(!has_type(f, *v, &s->types[0])))
		return fail_type(f, *v, &s->types[0], s->span, "this value");
	f->slots[s->d] = take_operand(f, s, 0);
	return ST_OK;
}

/* ---- format -------------------------------------------------------------- */

enum { SHOW_ALL = 1000, EDGE = 3 }; /* larger tensors show EDGE elements at each end */

static void print_operand(Text *out, const Value *v, const char *spec) {
	value_print(out, *v, spec, v->kind == V_TENSOR && v->tensor->count > SHOW_ALL ? EDGE : 0);
}

Status eval_FORMAT(Frame *f, const Step *s) {
	const Atom template = (Atom)s->fields[0].words[0];
	const char *t = atom_text(f->ctx, template), *const end = t + atom_length(f->ctx, template);
	Text out;
	text_init(&out, f->ctx);
	for (;;) {
		const char *stop = t;
		while (stop < end && *stop != '{' && *stop != '}') stop++;
		text_add(&out, t, (size_t)(stop - t));
		t = stop;
		if (t == end) break;
		char *after;
		unsigned long k =
			t[0] == '{' && t[1] >= '0' && t[1] <= '9' ? strtoul(t + 1, &after, 10) : ULONG_MAX;
		const char *close =
			k < s->nargs && (*after == ':' || *after == '}') ? strchr(after, '}') : NULL;
		char spec[64];
		if (!close || (size_t)(close - after) > sizeof spec) { /* doubled braces print as one */
			text_add(&out, t, 1);
			t += t[1] == t[0] ? 2 : 1;
			continue;
		}
		size_t n = *after == ':' ? (size_t)(close - after - 1) : 0;
		memcpy(spec, after + 1, n);
		spec[n] = 0;
		print_operand(&out, operand(f, s, (uint32_t)k), spec);
		t = close + 1;
	}
	Value v =
		out.failed ? (Value){.kind = V_UNSET} : value_string(f->ctx, out.n ? out.at : "", out.n);
	size_t n = out.n;
	text_free(&out);
	if (v.kind == V_UNSET) return ST_NOMEM;
	put_value(f, s, 0, v);
	return spend(f->be, n);
}
