/* text.c - textual form, hash and verifier of kernel IR.
 *
 * Contract:
 * - kir.h.
 * - The hash covers everything that determines the generated code and nothing
 *   else (no spans, no addresses).
 * - In a module that verifies, every operand is defined before its use, in
 *   scope, with the type and lanes that its instruction requires.
 */
#include "backend/native/kir/kir.h"
#include "backend/native/kir/abi.h"
#include <inttypes.h>

static const char *const op_names[K_COUNT] = {
#define K(ID, name, doc) name,
	KIR_OPS(K)
#undef K
};
static const char *const type_names[] = {"-", "bool", "i32", "i64", "f32", "f64", "ptr"};
static const char *const mode_names[] = {"uniform", "unit", "strided", "indexed"};

/* ---- text ---------------------------------------------------------------- */

static void print_const(Text *out, const KInst *in) {
	double d;
	float f;
	uint32_t low = (uint32_t)in->imm;
	switch (in->type) {
	case KT_F64:
		memcpy(&d, &in->imm, sizeof d);
		text_format(out, " %.17g", d);
		break;
	case KT_F32:
		memcpy(&f, &low, sizeof f);
		text_format(out, " %.9g", (double)f);
		break;
	default: text_format(out, " %" PRId64, in->imm);
	}
}

static void print_inst(Text *out, const KFn *f, const KInst *in) {
	uint32_t nresults = kinst_regions(in) ? 0 : in->nresults;
	for (uint32_t i = 0; i < nresults; i++) {
		const KVal *v = &f->vals.at[in->results + i];
		text_format(out, "%s%%%u:%s", i ? ", " : "", in->results + i, type_names[v->type]);
		if (v->lanes) text_format(out, "x%u", v->lanes);
	}
	if (nresults) text_str(out, " = ");
	text_str(out, in->op == K_PRIM ? prims[in->prim].name : op_names[in->op]);
	if (in->op == K_REDUCE_LANES) text_format(out, ".%s", prims[in->prim].name);
	if (in->op == K_LOAD || in->op == K_STORE) text_format(out, ".%s", mode_names[in->mode]);
	if (in->op == K_CONST) print_const(out, in);
	for (uint32_t i = 0; i < in->nargs; i++)
		text_format(out, "%s%%%u", i ? ", " : " ", f->refs.at[in->args + i]);
	switch (in->op) {
	case K_PARAM:
	case K_BUFFER:
	case K_WORD:
	case K_RESULT:
	case K_SHIFT:
	case K_LOGIC:
	case K_STACK:
	case K_CALL:
		text_format(out, " #%" PRId64, in->imm);
		if (in->params) text_format(out, " site %u", in->params - 1);
		break;
	case K_POLL:
		if (in->imm) text_format(out, " by depth %" PRId64, in->imm);
		break;
	case K_FAIL_IF:
	case K_PROGRESS:
	case K_PTRADD: text_format(out, " #%" PRId64, in->imm); break;
	case K_LOOP: text_format(out, " step %" PRId64, in->imm); break;
	case K_VLOOP: text_format(out, " lanes %u", in->lanes); break;
	default: break;
	}
	static const char *const flag_names[] = {"padded", "accumulate", "b_col_unit", "k_unit",
	                                         "cold",   "alone",      "uncounted",  "exact"};
	for (uint32_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++) {
		/* Some bits have other meanings for some instructions. */
		const bool contract = in->op == K_CONTRACT;
		const char *name = contract && 1u << i == KF_TILE_5                 ? "fives"
		                   : contract && 1u << i == KF_TRANSPOSE_B          ? "turn"
		                   : contract && 1u << i == KF_BIAS                 ? "bias"
		                   : contract && 1u << i == KF_IN_REGISTERS         ? "held"
		                   : in->op == K_VLOOP && 1u << i == KF_SINGLE_TRIP ? "once"
		                                                                    : flag_names[i];
		if (in->flags >> i & 1) text_format(out, " %s", name);
	}
}

static void indent(Text *out, uint32_t depth) {
	for (uint32_t i = 0; i < depth; i++) text_str(out, "  ");
}

static void print_params(Text *out, const KFn *f, uint32_t first, uint32_t n) {
	text_str(out, " (");
	for (uint32_t i = 0; i < n; i++) {
		const KVal *v = &f->vals.at[first + i];
		text_format(out, "%s%%%u:%s", i ? ", " : "", first + i, type_names[v->type]);
		if (v->lanes) text_format(out, "x%u", v->lanes);
	}
	text_str(out, ") {\n");
}

/* Prints the region that begins at instruction `at`. Returns the index after
 * its END. */
static uint32_t print_region(Text *out, const KFn *f, uint32_t at, uint32_t depth) {
	while (at < f->insts.n) {
		const KInst *in = &f->insts.at[at++];
		indent(out, depth);
		if (in->op == K_END) {
			text_str(out, "end");
			for (uint32_t i = 0; i < in->nargs; i++)
				text_format(out, "%s%%%u", i ? ", " : " ", f->refs.at[in->args + i]);
			text_str(out, "\n");
			return at;
		}
		uint32_t nregions = kinst_regions(in);
		print_inst(out, f, in);
		for (uint32_t k = 0; k < nregions; k++) {
			if (k) {
				indent(out, depth);
				text_str(out, "}");
			}
			print_params(out, f, in->params + (in->op == K_WHILE ? k * in->nparams : 0),
			             in->nparams);
			at = print_region(out, f, at, depth + 1);
		}
		if (nregions) {
			indent(out, depth);
			text_str(out, "}");
			for (uint32_t i = 0; i < in->nresults; i++)
				text_format(out, "%s%%%u", i ? ", " : " -> ", in->results + i);
		}
		text_str(out, "\n");
	}
	return at;
}

void kmodule_print(Text *out, const KModule *m) {
	text_format(out, "module for %s, %u-byte vectors\n", m->target.cpu, m->target.vector_bytes);
	for (uint32_t k = 0; k < m->fns.n; k++) {
		text_format(out, k ? "function %u {\n" : "entry {\n", k);
		print_region(out, m->fns.at[k], 0, 1);
		text_str(out, "}\n");
	}
}

/* ---- hash ---------------------------------------------------------------- */

/* Two independent 64-bit multiply-and-fold hashes. They guard against accidents
 * only: the cache directory belongs to the user. */
static void mix(KHash *h, uint64_t x) {
	__uint128_t p = (__uint128_t)(h->lo ^ x) * 0x9e3779b97f4a7c15ull;
	h->lo = (uint64_t)p ^ (uint64_t)(p >> 64);
	__uint128_t q = (__uint128_t)(h->hi + x) * 0xd6e8feb86659fd93ull;
	h->hi = ((uint64_t)q ^ (uint64_t)(q >> 64)) + h->lo;
}

KHash kmodule_hash(const KModule *m) {
	KHash h = {0x243f6a8885a308d3ull, 0x13198a2e03707344ull};
	for (const char *t = m->target.cpu; *t; t++) mix(&h, (unsigned char)*t);
	mix(&h, m->target.vector_bytes);
	mix(&h, m->target.registers);
	mix(&h, m->target.has_fma | (uint64_t)m->target.has_masks << 1);
	mix(&h, m->target.l2_bytes); /* determines panels */
	for (uint32_t k = 0; k < m->fns.n; k++) {
		const KFn *f = m->fns.at[k];
		mix(&h, f->nparams | (uint64_t)f->nresults << 32);
		for (uint32_t i = 0; i < f->nresults; i++) mix(&h, f->result_types[i]);
		mix(&h, f->insts.n);
		for (uint32_t i = 0; i < f->insts.n; i++) {
			const KInst *in = &f->insts.at[i];
			mix(&h, in->op | (uint64_t)in->type << 8 | (uint64_t)in->mode << 16 |
			            (uint64_t)in->flags << 24 | (uint64_t)in->prim << 32 |
			            (uint64_t)in->lanes << 48);
			mix(&h, in->nargs | (uint64_t)in->nresults << 32);
			mix(&h, in->results | (uint64_t)in->params << 32);
			mix(&h, in->nparams);
			mix(&h, (uint64_t)in->imm);
			for (uint32_t j = 0; j < in->nargs; j++) mix(&h, f->refs.at[in->args + j]);
		}
		mix(&h, f->vals.n);
		for (uint32_t i = 0; i < f->vals.n; i++)
			mix(&h, f->vals.at[i].type | (uint64_t)f->vals.at[i].lanes << 8);
	}
	return h;
}

/* ---- verification -------------------------------------------------------- */

typedef struct Verify {
	const KModule *m;
	const KFn *f;
	uint32_t fn, at;
	Text *why;
	bool ok;
	bool *visible; /* by value */
} Verify;

static void complain(Verify *v, const char *what) {
	if (v->ok) {
		text_format(v->why, "function %u, instruction %u: %s: ", v->fn, v->at, what);
		if (v->at < v->f->insts.n) print_inst(v->why, v->f, &v->f->insts.at[v->at]);
	}
	v->ok = false;
}

static KVal value_of(Verify *v, KRef x) {
	return x && x < v->f->vals.n ? v->f->vals.at[x] : (KVal){0};
}

static KRef operand_of(const Verify *v, const KInst *in, uint32_t k) {
	return v->f->refs.at[in->args + k];
}

static void want(Verify *v, bool condition, const char *what) {
	if (!condition) complain(v, what);
}

static void want_uniform(Verify *v, const KInst *in, uint32_t from, uint32_t to, KType t) {
	for (uint32_t i = from; i < to && i < in->nargs; i++) {
		KVal x = value_of(v, operand_of(v, in, i));
		want(v, !x.lanes, "a varying operand where a uniform one belongs");
		want(v, t == KT_NONE || x.type == t, "an operand of another type");
	}
}

static void verify_memory(Verify *v, const KInst *in, uint32_t lanes) {
	bool store = in->op == K_STORE;
	uint32_t stride = store ? 3 : 2;
	bool streaming = store && in->mode == KM_UNIT && in->nargs == 4;
	want(v, in->nargs == stride + (in->mode == KM_STRIDED) + streaming, "operands");
	if (!v->ok) return;
	if (streaming) want_uniform(v, in, 3, 4, KT_BOOL);
	want(v, value_of(v, operand_of(v, in, 0)).type == KT_PTR, "not a pointer");
	KVal index = value_of(v, operand_of(v, in, 1));
	want(v, index.type == KT_I64, "the index is not i64");
	want(v, in->mode == KM_INDEXED || !index.lanes, "a varying index without mode indexed");
	if (in->mode == KM_STRIDED) want_uniform(v, in, stride, stride + 1, KT_I64);
	want(v, in->mode == KM_UNIFORM || lanes, "a vector access outside of a vector loop");
	if (store) {
		KVal x = value_of(v, operand_of(v, in, 2));
		want(v, in->mode != KM_UNIFORM || !x.lanes, "a varying value stored as one element");
		want(v, x.type == in->type, "type of the stored value");
	}
}

static void verify_inst(Verify *v, const KInst *in, uint32_t lanes) {
	for (uint32_t i = 0; i < in->nargs; i++) {
		KRef x = operand_of(v, in, i);
		want(v, x && x < v->f->vals.n && v->visible[x], "an operand that is not in scope");
		KVal val = value_of(v, x);
		want(v,
		     !val.lanes || val.lanes == lanes || in->op == K_REDUCE_LANES || in->op == K_VLOOP ||
		         in->op == K_END,
		     "an operand of another number of lanes");
	}
	if (!v->ok) return;
	switch (in->op) {
	case K_PRIM: {
		const Prim *p = &prims[in->prim];
		want(v, p->elementwise && in->nargs == (uint32_t)p->nargs, "operands of the primitive");
		for (uint32_t i = 1; i < in->nargs; i++)
			want(v,
			     value_of(v, operand_of(v, in, i)).type == value_of(v, operand_of(v, in, 0)).type,
			     "operands of different types");
		break;
	}
	case K_SELECT:
		want(v, in->nargs == 3 && value_of(v, operand_of(v, in, 0)).type == KT_BOOL,
		     "the condition");
		want(v, value_of(v, operand_of(v, in, 1)).type == value_of(v, operand_of(v, in, 2)).type,
		     "operands of different types");
		break;
	case K_LANE:
	case K_MASK: want(v, lanes, "outside of a vector loop"); break;
	case K_LOAD:
	case K_STORE: verify_memory(v, in, lanes); break;
	case K_PREFETCH:
		want(v, in->nargs == 2, "operands");
		want_uniform(v, in, 0, 1, KT_PTR);
		want_uniform(v, in, 1, 2, KT_I64);
		break;
	case K_LOOP: want_uniform(v, in, 0, 2, KT_I64); break;
	case K_VLOOP:
		want_uniform(v, in, 0, 1, KT_I64);
		want(v, !lanes, "a vector loop in a vector loop");
		break;
	case K_PARALLEL:
		want_uniform(v, in, 0, 1, KT_I64);
		want(v, !lanes, "a parallel loop in a vector loop");
		break;
	case K_IF: want_uniform(v, in, 0, 1, KT_BOOL); break;
	case K_CONTRACT:
	case K_GEMM:
		if (in->op == K_CONTRACT && in->flags & KF_BIAS)
			want(v, in->nargs == 13 && in->flags & (KF_B_COL_UNIT | KF_TRANSPOSE_B), "bias");
		else
			want(v,
			     in->nargs == 12 || (in->op == K_CONTRACT ? in->nargs > 12 && in->nargs % 2 == 0
			                                              : in->nargs == 13),
			     "operands");
		want_uniform(v, in, 0, in->nargs, KT_NONE);
		want(v, in->type == KT_F32 || in->type == KT_F64, "type");
		break;
	case K_FACTOR:
		want(v,
		     in->nargs == 4 &&
		         (in->prim == OP_LU || in->prim == OP_CHOLESKY || in->prim == OP_TRISOLVE),
		     "operands");
		want_uniform(v, in, 0, 2, KT_PTR);
		want_uniform(v, in, 2, 4, KT_I64);
		want(v, in->type == KT_F32 || in->type == KT_F64, "type");
		break;
	case K_HOST:
		want(v, in->nargs == 12, "operands");
		for (uint32_t k = 0; k < in->nargs && k < 12; k++)
			want_uniform(v, in, k, k + 1, k % 2 ? KT_I64 : KT_PTR);
		break;
	case K_CALL:
		want(v,
		     (uint64_t)in->imm < v->m->fns.n && in->nargs == v->m->fns.at[in->imm]->nparams &&
		         in->params <= v->m->nsites,
		     "the callee");
		break;
	case K_PROGRESS:
		want(v,
		     !in->nargs ? in->imm == PROGRESS_ENTER || in->imm == PROGRESS_LEAVE
		                : in->imm == PROGRESS_ITERATION || (uint64_t)in->imm < v->m->nsites,
		     "no such site");
		want(v, in->nargs != 1 && in->nargs <= 10, "operands");
		want_uniform(v, in, 0, in->nargs < 2 ? in->nargs : 2, KT_I64);
		if (in->nargs > 2) want_uniform(v, in, 2, in->nargs, KT_F64);
		break;
	case K_FAIL_IF: want(v, (uint64_t)in->imm < v->m->nsites, "no such site"); break;
	case K_POLL:
		want(v, in->imm >= 0 && !(in->imm & (in->imm - 1)), "levels that are no power of two");
		break;
	default: break;
	}
}

static uint32_t verify_region(Verify *v, uint32_t at, uint32_t lanes, const KInst *owner,
                              uint32_t which) {
	VEC(KRef) mine = {0};
	Arena *scratch = v->m->arena;
	for (uint32_t i = 0; owner && i < owner->nparams; i++) {
		KRef p = owner->params + i + (owner->op == K_WHILE ? which * owner->nparams : 0);
		v->visible[p] = true;
		VEC_PUSH(scratch, &mine, p);
	}
	bool closed = false;
	while (v->ok && at < v->f->insts.n) {
		const KInst *in = &v->f->insts.at[at];
		v->at = at++;
		verify_inst(v, in, lanes);
		if (in->op == K_END) {
			closed = true;
			if (owner && (owner->op == K_LOOP || owner->op == K_VLOOP))
				want(v, in->nargs + 1 == owner->nparams, "carried values");
			if (owner && owner->op == K_WHILE)
				want(v, in->nargs == (which ? owner->nparams : 1), "carried values");
			break;
		}
		for (uint32_t k = 0; k < kinst_regions(in) && v->ok; k++)
			at = verify_region(v, at, in->op == K_VLOOP ? in->lanes : lanes, in, k);
		for (uint32_t i = 0; i < in->nresults && v->ok; i++) {
			want(v, in->results && in->results + i < v->f->vals.n && !v->visible[in->results + i],
			     "a value defined twice");
			if (!v->ok) break;
			v->visible[in->results + i] = true;
			VEC_PUSH(scratch, &mine, in->results + i);
		}
	}
	if (owner) want(v, closed || !v->ok, "a region that is not closed");
	for (uint32_t i = 0; i < mine.n; i++) v->visible[mine.at[i]] = false;
	return at;
}

bool kmodule_verify(const KModule *m, Text *why) {
	bool ok = true;
	for (uint32_t k = 0; k < m->fns.n && ok; k++) {
		Verify v = {.m = m, .f = m->fns.at[k], .fn = k, .why = why, .ok = true};
		v.visible = ARENA_ARRAY(m->arena, bool, v.f->vals.n + 1);
		verify_region(&v, 0, 0, NULL, 0);
		ok = v.ok;
	}
	return ok;
}
