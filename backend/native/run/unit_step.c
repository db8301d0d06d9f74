/* unit_step.c - a unit as one step of a prepared block.
 *
 * Passes operands to machine code, stores its results, and reports failures.
 *
 * Needs: tier.h, runtime.h.
 *
 * Contract:
 * - Allocates only the outputs, and copies of operands that machine code cannot
 *   read in place.
 * - An operand that dies here and is not shared may give its memory to an
 *   output.
 * - A failed check is reported in the evaluator's words, at the failed
 *   instruction.
 */
#include "backend/native/run/unit_step.h"
#include "backend/native/lower/context.h"
#include "backend/native/run/runtime.h"
#include "lang/base/clock.h"

enum { FEW = 32 }; /* arrays and words that fit on the C stack */

/* ---- failures ------------------------------------------------------------ */

static DimRef general_dim(Ctx *c, Dim d) {
	DimRef r = {.sym = DIM_GENERAL, .dim = d};
	SymId s;
	if (dim_is_const(c, d, &r.value)) r.sym = DIM_CONST;
	else if (dim_is_sym(c, d, &s)) r.sym = s;
	return r;
}

static Status slice_failed(Frame *f, const Step *s, const Fn *fn, const Inst *in, uint32_t axis) {
	AxisRange side = inst_side(fn, in, axis);
	DimRef start = general_dim(f->ctx, side.start), length = general_dim(f->ctx, side.length),
		   whole = general_dim(f->ctx, side.whole);
	int64_t at = 0, count = 0, of = 0;
	if (!dim_position(f, s, &start, &at) || !dim_length(f, s, &length, &count) ||
	    !dim_length(f, s, &whole, &of))
		return ST_ERROR;
	return fail_slice(f, s, count, at, side.stride, of);
}

/* ---- operands ------------------------------------------------------------ */

int64_t unit_word(const Value *v) {
	int64_t w = 0;
	switch ((Dtype)v->dtype) {
	case DT_BOOL: return v->b;
	case DT_I32: return v->i32;
	case DT_F32: memcpy(&w, &v->f32, sizeof v->f32); return w;
	default: return v->i;
	}
}

Value unit_number(Dtype d, int64_t w) {
	Value v = {.kind = V_SCALAR, .dtype = (uint8_t)d};
	switch (d) {
	case DT_BOOL: v.b = w != 0; break;
	case DT_I32: v.i32 = (int32_t)w; break;
	case DT_F32: memcpy(&v.f32, &w, sizeof v.f32); break;
	default: v.i = w;
	}
	return v;
}

/* The user's error. Its message may contain the scalars a and b. */
static Status message_failed(Frame *f, const Step *s, const Fn *fn, const Inst *in, int64_t a,
                             int64_t b) {
	const Const *k = ref_constant(fn, inst_arg(fn, in, 0));
	const int64_t code = in->attr ? attr_int(f->ctx, OP_FAIL, in->attr, 0) : E_USER;
	if (k) return fail_user(f, s, code, &k->value);
	const Inst *text = message_text(fn, inst_arg(fn, in, 0));
	Value numbers[2], made = {.kind = V_UNSET};
	int32_t args[2] = {~0, ~1};
	for (uint32_t i = 0; i < text->nargs; i++) {
		const Const *x = ref_constant(fn, inst_arg(fn, text, i));
		numbers[i] =
			x ? x->value : unit_number((Dtype)ref_ty(fn, inst_arg(fn, text, i))->dtype, i ? b : a);
	}
	uint32_t n;
	AttrField template = {.n = 1, .words = attr_field(f->ctx, OP_FORMAT, text->attr, 0, &n)};
	Step t = *s;
	t.op = OP_FORMAT;
	t.nargs = text->nargs;
	t.args = args;
	t.fields = &template;
	t.d = 0;
	Frame small = *f;
	small.consts = numbers;
	small.slots = &made;
	Status st = eval_FORMAT(&small, &t);
	if (st != ST_OK) return st;
	st = fail_user(f, s, code, &made);
	value_unref(made);
	return st;
}

static Status site_failed(Frame *f, const Step *unit, const UnitSite *site, int64_t a, int64_t b) {
	const Inst *in = &site->fn->insts.at[site->inst];
	Step s = *unit;
	s.op = in->op;
	s.span = in->span;
	s.chain = in->chain;
	Status st = ST_ERROR;
	switch (site->kind) {
	case SITE_INDEX: st = fail_index(f, &s, a, b); break;
	case SITE_DIVIDE:
	case SITE_POWER: st = fail_arithmetic(f, &s, a); break;
	case SITE_EMPTY:
		st = fail_at(f, &s, E_VALUE,
		             in->op == OP_REDUCE_MIN ? "the smallest element of nothing"
		                                     : "the largest element of nothing");
		break;
	case SITE_FAIL: st = message_failed(f, &s, site->fn, in, a, b); break;
	case SITE_GUARD: {
		DimRef left = general_dim(f->ctx, (Dim)attr_int(f->ctx, OP_GUARD, in->attr, 0));
		DimRef right = general_dim(f->ctx, (Dim)attr_int(f->ctx, OP_GUARD, in->attr, 1));
		st = fail_guard(f, &s, &left, &right, a, b, (Atom)attr_int(f->ctx, OP_GUARD, in->attr, 2));
		break;
	}
	case SITE_SINGULAR: {
		const Type *t = ref_ty(site->fn, inst_arg(site->fn, in, 0));
		int64_t rows = 0;
		dim_is_const(f->ctx, t->dims[t->rank - 1], &rows);
		st = fail_matrix(f, &s, a, rows, b);
		break;
	}
	case SITE_MATRIX: st = fail_matrix(f, &s, a, b, -1); break;
	case SITE_SLICE: st = slice_failed(f, &s, site->fn, in, (uint32_t)a); break;
	default: return fail_internal(f, &s, "native code stopped");
	}
	return report_failure(f, &s, st);
}

/* Reports a failure with its place and the calls around it, as the evaluator
 * does. */
static __attribute__((cold, noinline)) Status unit_failed(Frame *f, const Step *s, const Unit *u,
                                                          const NativeCall *call, Status st) {
	const NativeTrace t = *native_trace(f->be);
	uint32_t k = 0;
	if (call->site >= 0) {
		st = site_failed(f, s, &u->sites[call->site], call->fail_a, call->fail_b);
	} else if (st == ST_LIMIT && t.n && diag_total(f->ctx) &&
	           diag_at(f->ctx, diag_total(f->ctx) - 1)->code == E_DEPTH) {
		const UnitSite *site = &u->sites[t.sites[k++]];
		Step refused = *s;
		refused.span = site->fn->insts.at[site->inst].span;
		refused.chain = site->fn->insts.at[site->inst].chain;
		st = step_failed(f, &refused, st);
	} else {
		return st;
	}
	for (; k < t.n; k++) {
		const UnitSite *site = &u->sites[t.sites[k]];
		const Inst *in = &site->fn->insts.at[site->inst];
		report_call_failure(f->be, inst_callee(f->ctx, in), in);
	}
	return st;
}

bool unit_length(Frame *f, const Step *s, const DimRef *d, int64_t *out) {
	if (d->sym < DIM_GENERAL && (*out = f->syms[d->sym]) >= 0) return true;
	return dim_position(f, s, d, out); /* a polynomial may be a position, and negative */
}

/* Machine code reads whole vectors: up to the next multiple of 64 bytes from
 * the first element on. Reading past the end of foreign memory (a host's array)
 * is harmless within the page of the last element. */
bool unit_reads(const Tensor *t) {
	enum { PAGE = 4096 }; /* the smallest page size */
	const Buffer *b = t->buffer;
	if (!t->contiguous) return false;
	const size_t bytes = (size_t)t->count * dtype_size((Dtype)t->dtype);
	const char *end = t->data + (bytes + 63) / 64 * 64;
	if (b->block && end <= (const char *)b->block + b->block_bytes) return true;
	return !bytes || ((uintptr_t)end - 1) / PAGE == ((uintptr_t)t->data + bytes - 1) / PAGE;
}

/* The array's elements in a form that machine code reads; *copy owns a copy
 * when one was needed. */
static void *array_of(Frame *f, const Value *v, Tensor **copy) {
	if (LIKELY(v->kind == V_TENSOR && unit_reads(v->tensor))) return v->tensor->data;
	*copy = v->kind == V_TENSOR ? tensor_copy(f->ctx, v->tensor) : value_to_tensor(f->ctx, *v);
	return *copy ? (*copy)->data : NULL;
}

/* The caller's memory for output k, if machine code can write to it. It must
 * not overlap the unit's inputs. The caller guarantees this for arguments only,
 * so constants are checked here. */
static Tensor *usable_place(const Frame *f, const NativeUnit *u, uint32_t k, void *const *buffers,
                            const int64_t *shape) {
	const TypeRef *t = &u->outputs[k];
	Tensor *p = place_of(f, REF_INDEX(u->unit->outputs[k].ref));
	if (!p || p->dtype != t->dtype || p->rank != t->rank ||
	    memcmp(p->shape, shape, t->rank * sizeof *shape) || !unit_reads(p))
		return NULL;
	const char *end = p->data + (size_t)p->count * dtype_size((Dtype)p->dtype);
	for (uint32_t i = 0; i < u->unit->ninputs; i++) {
		const Tensor *x = u->constants[i];
		const char *from = buffers[i];
		if (x && from < end && p->data < from + (size_t)x->count * dtype_size((Dtype)x->dtype))
			return NULL;
	}
	return p;
}

static Tensor *output_of(Frame *f, const Step *s, const NativeUnit *u, uint32_t k, void **buffers,
                         Status *st) {
	const UnitArray *a = &u->unit->outputs[k];
	const TypeRef *t = &u->outputs[k];
	if (a->may_reuse && operand_is_free(f, s, a->reuse) &&
	    buffers[a->reuse] == operand(f, s, a->reuse)->tensor->data)
		return take_operand(f, s, a->reuse).tensor;
	int64_t shape[MAX_RANK];
	for (uint32_t i = 0; i < t->rank; i++) {
		if (dim_length(f, s, &t->dims[i], &shape[i])) continue;
		*st = ST_ERROR;
		return NULL;
	}
	Tensor *place = UNLIKELY(f->places != NULL) ? usable_place(f, u, k, buffers, shape) : NULL;
	if (place) return tensor_ref(place);
	Tensor *made = tensor_new(f->ctx, (Dtype)t->dtype, t->rank, shape);
	if (!made) *st = ST_NOMEM;
	return made;
}

Status eval_native(Frame *f, const Step *s) {
	NativeUnit *nu = s->site;
	const Unit *u = nu->unit;
	const uint32_t nwords = u->nwords + u->nsyms + u->ndims, narrays = u->ninputs + u->noutputs + 1;
	void *few_buffers[FEW];
	Tensor *few_made[FEW];
	int64_t few_words[2 * FEW];
	void **buffers = few_buffers;
	Tensor **made = few_made;
	int64_t *words = few_words;
	void *block = NULL;
	const size_t block_bytes =
		narrays * (sizeof *buffers + sizeof *made) + (nwords + u->nresults) * sizeof *words;
	if (UNLIKELY(narrays > FEW || nwords + u->nresults > 2 * FEW)) {
		block = heap_alloc(f->ctx, block_bytes);
		if (!block) return ST_NOMEM;
		buffers = block;
		made = (Tensor **)(buffers + narrays);
		words = (int64_t *)(made + narrays);
	}
	Status st = ST_OK;
	for (uint32_t i = 0; i < narrays; i++) made[i] = NULL;
	for (uint32_t i = 0; i < u->nwords; i++) words[i] = unit_word(operand_at(f, nu->words[i]));
	for (uint32_t i = 0; i < u->nsyms + u->ndims && st == ST_OK; i++)
		if (!unit_length(f, s, &nu->lengths[i], &words[u->nwords + i])) st = ST_ERROR;
	for (uint32_t i = 0; i < u->ninputs && st == ST_OK; i++) {
		buffers[i] =
			nu->constants[i] ? nu->constants[i]->data : array_of(f, operand(f, s, i), &made[i]);
		if (UNLIKELY(!buffers[i])) st = ST_NOMEM;
	}
	for (uint32_t k = 0; k < u->noutputs && st == ST_OK; k++) {
		Tensor *t = made[u->ninputs + k] = output_of(f, s, nu, k, buffers, &st);
		if (t) buffers[u->ninputs + k] = t->data;
	}
	buffers[narrays - 1] = native_nowhere();
	if (LIKELY(st == ST_OK)) {
		NativeCall call = {.buffers = buffers,
		                   .words = words,
		                   .results = words + nwords,
		                   .hosts = u->hosts,
		                   .unit = u};
		const double from = UNLIKELY(f->be->profile != NULL) ? clock_seconds() : 0;
		st = native_run(f->be, nu->entry, &call);
		if (UNLIKELY(f->be->profile != NULL)) profile_add(f->be, nu, clock_seconds() - from);
		f->be->counters.native_calls++;
		if (UNLIKELY(st != ST_OK)) st = unit_failed(f, s, u, &call, st);
	}
	for (uint32_t i = 0; i < u->ninputs; i++) tensor_unref(made[i]);
	if (LIKELY(st == ST_OK)) {
		for (uint32_t k = 0; k < u->noutputs; k++)
			f->slots[REF_INDEX(u->outputs[k].ref)] = value_tensor(made[u->ninputs + k]);
		for (uint32_t k = 0; k < u->nresults; k++) {
			const uint32_t slot = REF_INDEX(u->results[k]);
			f->slots[slot] = unit_number(nu->result_dtypes[k], words[nwords + k]);
		}
	} else {
		for (uint32_t k = 0; k < u->noutputs; k++) tensor_unref(made[u->ninputs + k]);
	}
	if (block) heap_free(f->ctx, block, block_bytes);
	return st;
}
