/* call_key.c - the key of a call: the structure and types of its arguments; and
 * whether an integer may be negative.
 *
 * Needs: call.h.
 *
 * Contract:
 * - Calls of the same structure, dtypes, ranks and small extents have the same
 *   key. The other extents are numbered in order of appearance, so that only
 *   their equality counts.
 * - Known integers inside structures and closures belong to the key. Integers
 *   passed directly to a named function do not.
 */
#include "parser/specialise/call.h"

static const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

uint32_t call_key_dim(CallKey *s, Dim d) {
	for (uint32_t i = 0; i < s->dims.n; i++)
		if (s->dims.at[i] == d) return i;
	VEC_PUSH(s->sp->a, &s->dims, d);
	return s->dims.n - 1;
}

bool sp_dim_is_small(Ctx *c, Dim d, int64_t *v) { return dim_is_const(c, d, v) && *v <= DIM_SMALL; }

#define MAX_FOLLOWED 8 /* operations followed from an integer back to its operands */

static bool may_be_negative(const Sp *sp, Ref r, uint32_t depth) {
	const Fn *f = build_fn(sp->b);
	const Const *k = ref_constant(f, r);
	int64_t number;
	if (k) return !(value_as_i64(k->value, &number) && number >= 0);
	if (ref_ty(f, r)->kind != TY_TENSOR || ref_ty(f, r)->dtype == DT_BOOL ||
	    build_is_length(sp->b, r))
		return ref_ty(f, r)->kind != TY_TENSOR;
	for (const Counter *c = sp->counters; c; c = c->outer)
		if (c->b == sp->b && c->index == r) return false;
	const FunctionFrame *fr = sp->frame;
	for (uint32_t i = 0; fr && fr->b == sp->b && i < fr->nleaves; i++)
		if (!fr->baked[i] && fr->params[i] == r) {
			if (!fr->signs[i] && !fr->fixed) {
				fr->asked[i] = true;
				session_set_retry(sp->session, sp->frame);
				ctx_throw(sp->c, ST_ERROR);
			}
			return !fr->signs[i] || fr->negative[i];
		}
	const Inst *in = ref_inst(f, r);
	if (!in || depth > MAX_FOLLOWED) return true;
	const bool first = in->nargs && may_be_negative(sp, inst_arg(f, in, 0), depth + 1);
	switch ((Op)in->op) {
	case OP_ARGMAX:
	case OP_ARGSORT:
	case OP_NONZERO:
	case OP_IOTA:
	case OP_ABS: return false;
	case OP_ADD:
	case OP_MUL:
	case OP_MIN:
	case OP_FLOORDIV: return first || may_be_negative(sp, inst_arg(f, in, 1), depth + 1);
	case OP_MAX: return first && may_be_negative(sp, inst_arg(f, in, 1), depth + 1);
	case OP_MOD: return may_be_negative(sp, inst_arg(f, in, 1), depth + 1);
	case OP_SELECT:
		return may_be_negative(sp, inst_arg(f, in, 1), depth + 1) ||
		       may_be_negative(sp, inst_arg(f, in, 2), depth + 1);
	case OP_CONVERT: return first || dtype_is_inexact((Dtype)ref_ty(f, inst_arg(f, in, 0))->dtype);
	case OP_GATHER:
	case OP_SLICE:
	case OP_RESHAPE:
	case OP_BROADCAST:
	case OP_REDUCE_SUM:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN: return first;
	default: return true;
	}
}

bool sp_may_be_negative(const Sp *sp, Ref r) { return may_be_negative(sp, r, 0); }

/* Adds a character for the kind and then a number, so that adjacent numbers
 * cannot merge. */
static void tag(CallKey *s, char what, uint64_t number) {
	text_add(&s->text, &what, 1);
	text_number(&s->text, number);
}

static void sign_code(CallKey *s, const Av *f) {
	if (f->code_kind == CODE_AST && f->code_id > s->newest) s->newest = f->code_id;
	if (f->code_kind == CODE_AST && f->code_id < s->oldest && code_owner_of(s->sp->c, f->code_id))
		s->oldest = f->code_id;
	if (f->code_kind == CODE_IR) {
		const IrCode *piece = f->code;
		VEC_PUSH(s->sp->a, &s->pieces, piece->owner);
		if (piece->newest > s->newest) s->newest = piece->newest;
	}
	tag(s, 'f', f->code_kind);
	tag(s, '.', f->code_id);
	tag(s, '.', (uint64_t)(uintptr_t)f->code);
}

static void sign(CallKey *s, const Av *v) {
	Sp *sp = s->sp;
	switch ((AvKind)v->kind) {
	case AV_ARRAY: {
		Type t = *ty(sp, v->ref);
		const Const *k = s->fix_numbers && t.rank == 0 && !dtype_is_inexact((Dtype)t.dtype)
		                     ? ref_constant(build_fn(sp->b), v->ref)
		                     : NULL;
		int64_t number = 0;
		bool truth = false;
		if (k && (value_as_bool(k->value, &truth) || value_as_i64(k->value, &number))) {
			s->fixed[s->leaf++] = true;
			text_str(&s->text, dtype_name((Dtype)t.dtype));
			tag(s, '=', t.dtype == DT_BOOL ? truth : (uint64_t)number);
			return;
		}
		const bool whole = t.kind == TY_TENSOR && t.rank == 0 && dtype_is_int((Dtype)t.dtype);
		s->negative[s->leaf] = !whole || s->any_row;
		s->leaf++;
		text_str(&s->text, t.kind == TY_TOKEN ? "token" : dtype_name((Dtype)t.dtype));
		if (v->weak && dtype_is_inexact((Dtype)t.dtype)) text_str(&s->text, "w");
		text_str(&s->text, "[");
		for (uint32_t i = 0; i < t.rank; i++) {
			int64_t k;
			Dim d = build_canon(sp->b, t.dims[i]);
			if (sp_dim_is_small(sp->c, d, &k)) tag(s, ',', (uint64_t)k);
			else tag(s, 'n', call_key_dim(s, d));
		}
		text_str(&s->text, "]");
		return;
	}
	case AV_DYN:
	case AV_HOST:
		s->leaf++;
		text_str(&s->text, v->kind == AV_DYN ? "?" : "!");
		return;
	case AV_STRING: tag(s, '"', v->text); return;
	case AV_FUNCTION:
	case AV_PROBLEM: sign_code(s, v); break;
	default: tag(s, 'k', v->kind); break;
	}
	text_str(&s->text, "(");
	for (uint32_t i = 0; i < v->n; i++) {
		if (v->names) tag(s, '=', v->names[i]);
		sign(s, v->items[i]);
		text_str(&s->text, ",");
	}
	text_str(&s->text, ")");
}

typedef struct KeyJob {
	CallKey *sig;
	const Av *f;
	const CallArguments *call;
	uint32_t n;
	Av *const *items;
	const char *key;
} KeyJob;

static void write_key(Ctx *c, void *arg) {
	KeyJob *k = arg;
	CallKey *sig = k->sig;
	const Av *f = k->f;
	const CallArguments *call = k->call;
	sign_code(sig, f);
	tag(sig, '/', call->n);
	for (uint32_t i = 0; i < f->n; i++) tag(sig, ',', f->names[i]);
	for (uint32_t i = 0; i < call->nnamed; i++) tag(sig, '=', call->names[i]);
	text_str(&sig->text, ";");
	/* Integers inside structures and closures are sizes, orders and choices:
	 * known ones belong to the key. Integers passed directly to a named
	 * function are data until a shape depends on them. */
	bool named = f->code_kind == CODE_AST && ((const Ast *)f->code)->kind == A_DEF;
	for (uint32_t i = 0; i < k->n; i++) {
		bool row = call->rows && i >= f->n && i < f->n + call->n;
		sig->any_row = row;
		sig->fix_numbers = !row && !(named && i >= f->n && k->items[i]->kind == AV_ARRAY);
		sign(sig, k->items[i]);
		text_str(&sig->text, ";");
	}
	if (sig->text.failed) ctx_throw(c, ST_NOMEM);
	k->key = arena_copy(sig->sp->a, sig->text.at, sig->text.n);
}

const char *call_key_write(CallKey *sig, const Av *f, const CallArguments *call, uint32_t n,
                           Av *const *items) {
	KeyJob k = {.sig = sig, .f = f, .call = call, .n = n, .items = items};
	text_init(&sig->text, sig->sp->c);
	Status made = ctx_protect(sig->sp->c, write_key, &k);
	text_free(&sig->text);
	if (made != ST_OK) ctx_throw(sig->sp->c, made);
	return k.key;
}
