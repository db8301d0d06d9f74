/* value_tree.c - any value as records whose leaves are arrays and strings, for
 * npz and HDF5.
 *
 * Needs: data/internal.h.
 *
 * Contract: tree_in(tree_out(v)) equals v. Functions and problems need the
 * context's hooks.
 */
#include "data/internal.h"

#include <stdio.h>
#include <string.h>

static const char KIND[] = ".kind";

void data_set_hooks(Ctx *c, const DataHooks *hooks) {
	ctx_set_slot(c, SLOT_DATA, (void *)hooks, NULL);
}
const DataHooks *data_hooks(const Ctx *c) { return ctx_slot(c, SLOT_DATA); }

const char *tree_kind(Ctx *c, Value record) {
	if (record.kind != V_RECORD || !record.object->n) return NULL;
	const RecordObject *r = (const RecordObject *)record.object;
	for (uint32_t i = 0; i < r->head.n; i++)
		if (r->fields[i].value.kind == V_STRING && !strcmp(atom_text(c, r->fields[i].name), KIND))
			return string_text(r->fields[i].value, NULL);
	return NULL;
}

static Status cannot(Ctx *c, const char *path, const char *what) {
	diag_error(c, E_FILE, NO_SPAN, "%s: %s", path, what);
	return ST_ERROR;
}

static Status add_kind(Ctx *c, Fields *f, const char *kind) {
	fields_add(f, KIND, sizeof KIND - 1, value_string(c, kind, strlen(kind)));
	return f->failed ? ST_NOMEM : ST_OK;
}

/* Whether a nonempty list holds only strings, which the formats support. */
static bool all_texts(Value v) {
	for (uint32_t i = 0; i < v.object->n; i++)
		if (((const SeqObject *)v.object)->items[i].kind != V_STRING) return false;
	return v.object->n > 0;
}

static Status out_value(Ctx *c, const char *path, Value v, Value *out, int depth);

static Status out_items(Ctx *c, const char *path, Value v, Fields *f, int depth) {
	Status st = ST_OK;
	for (uint32_t i = 0; i < v.object->n && st == ST_OK; i++) {
		char number[16];
		const char *name = number;
		Value item, made = {.kind = V_UNSET};
		if (v.kind == V_RECORD) {
			const RecordObject *r = (const RecordObject *)v.object;
			name = atom_text(c, r->fields[i].name);
			item = r->fields[i].value;
		} else {
			snprintf(number, sizeof number, "%u", i);
			item = ((const SeqObject *)v.object)->items[i];
		}
		st = out_value(c, path, item, &made, depth + 1);
		if (st == ST_OK) fields_add(f, name, strlen(name), made);
		if (st == ST_OK && f->failed) st = ST_NOMEM;
	}
	return st;
}

static Status out_value(Ctx *c, const char *path, Value v, Value *out, int depth) {
	if (depth > DEEPEST) return cannot(c, path, "this is nested too deeply for a file");
	if (v.kind == V_SCALAR || v.kind == V_TENSOR || v.kind == V_STRING ||
	    (v.kind == V_LIST && all_texts(v))) {
		*out = value_ref(v);
		return ST_OK;
	}
	Fields f;
	fields_init(&f, c);
	Status st = ST_OK;
	switch ((ValueKind)v.kind) {
	case V_RECORD:
		if (!v.object->n) st = add_kind(c, &f, "record");
		if (st == ST_OK) st = out_items(c, path, v, &f, depth);
		break;
	case V_LIST:
	case V_TUPLE:
		st = add_kind(c, &f, v.kind == V_LIST ? "list" : "tuple");
		if (st == ST_OK) st = out_items(c, path, v, &f, depth);
		break;
	case V_RANGE: {
		const RangeObject *r = (const RangeObject *)v.object;
		int64_t three = 3;
		Tensor *t = tensor_new(c, DT_I64, 1, &three);
		st = t ? add_kind(c, &f, "range") : ST_NOMEM;
		if (t) memcpy(t->data, (int64_t[]){r->start, r->stop, r->step}, 24);
		if (st == ST_OK) fields_add(&f, "ends", 4, value_tensor(t));
		else tensor_unref(t);
		break;
	}
	case V_FUNCTION:
	case V_PROBLEM: {
		const DataHooks *h = data_hooks(c);
		Value record = {.kind = V_UNSET};
		if (!h) st = cannot(c, path, "functions cannot be saved here");
		if (st == ST_OK) st = h->function_out(c, v, &record);
		if (st == ST_OK) st = add_kind(c, &f, v.kind == V_FUNCTION ? "function" : "problem");
		if (st == ST_OK) st = out_items(c, path, record, &f, depth);
		value_unref(record);
		break;
	}
	case V_HOST:
		st = cannot(c, path, "a host value, which exists in this process only, cannot be saved");
		break;
	default: st = add_kind(c, &f, "none");
	}
	if (st != ST_OK) {
		fields_free(&f);
		return st;
	}
	*out = fields_record(&f);
	return out->kind == V_UNSET ? ST_NOMEM : ST_OK;
}

Status tree_out(Ctx *c, const char *path, Value v, Value *out) {
	return out_value(c, path, v, out, 0);
}

static Status in_value(Ctx *c, const char *path, Value v, Value *out, int depth) {
	if (v.kind != V_RECORD) {
		*out = value_ref(v);
		return ST_OK;
	}
	if (depth > DEEPEST) return cannot(c, path, "this is nested too deeply");
	const char *kind = tree_kind(c, v);
	const RecordObject *r = (const RecordObject *)v.object;
	if (kind && !strcmp(kind, "none")) {
		*out = value_none();
		return ST_OK;
	}
	Fields f;
	fields_init(&f, c);
	Status st = ST_OK;
	for (uint32_t i = 0; i < r->head.n && st == ST_OK; i++) {
		const char *name = atom_text(c, r->fields[i].name);
		if (kind && !strcmp(name, KIND)) continue;
		Value item = {.kind = V_UNSET};
		st = in_value(c, path, r->fields[i].value, &item, depth + 1);
		if (st == ST_OK) fields_add(&f, name, strlen(name), item);
		if (st == ST_OK && f.failed) st = ST_NOMEM;
	}
	if (st == ST_OK && kind && (!strcmp(kind, "list") || !strcmp(kind, "tuple"))) {
		Value *items = heap_alloc(c, (f.n + 1) * sizeof *items);
		if (!items) st = ST_NOMEM;
		for (uint32_t i = 0; i < f.n && st == ST_OK; i++) {
			char number[16];
			snprintf(number, sizeof number, "%u", i);
			/* the fields are usually in order */
			int64_t k = !strcmp(atom_text(c, f.names[i]), number)
			                ? i
			                : fields_find(&f, number, strlen(number));
			if (i % 1024 == 1023) st = ctx_poll(c, 1024);
			if (st != ST_OK) break;
			if (k < 0) st = cannot(c, path, "a list lacks one of its items");
			else items[i] = f.values[k];
		}
		if (st == ST_OK) {
			*out = value_seq(c, kind[0] == 'l' ? V_LIST : V_TUPLE, f.n, items);
			if (out->kind == V_UNSET) st = ST_NOMEM;
		}
		heap_free(c, items, (f.n + 1) * sizeof *items);
		fields_free(&f);
		return st;
	}
	if (st == ST_OK && kind && !strcmp(kind, "range")) {
		int64_t k = fields_find(&f, "ends", 4);
		Tensor *t = k >= 0 && f.values[k].kind == V_TENSOR ? f.values[k].tensor : NULL;
		if (!t || t->dtype != DT_I64 || t->rank != 1 || t->shape[0] != 3 || !t->contiguous ||
		    !((int64_t *)(void *)t->data)[2])
			st = cannot(c, path, "a range lacks its ends");
		else {
			const int64_t *ends = (const int64_t *)(const void *)t->data;
			*out = value_range(c, ends[0], ends[1], ends[2]);
			if (out->kind == V_UNSET) st = ST_NOMEM;
		}
		fields_free(&f);
		return st;
	}
	if (st != ST_OK) {
		fields_free(&f);
		return st;
	}
	Value record = fields_record(&f);
	if (record.kind == V_UNSET) return ST_NOMEM;
	if (kind && (!strcmp(kind, "function") || !strcmp(kind, "problem"))) {
		const DataHooks *h = data_hooks(c);
		st =
			h ? h->function_in(c, record, out) : cannot(c, path, "functions cannot be loaded here");
		value_unref(record);
		return st;
	}
	*out = record;
	return ST_OK;
}

Status tree_in(Ctx *c, const char *path, Value v, Value *out) {
	return in_value(c, path, v, out, 0);
}
