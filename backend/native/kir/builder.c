/* builder.c - construction of kernel IR, one function for each instruction.
 *
 * Contract:
 * - kir.h. The functions built pass the verifier (kir/text.c).
 * - Types and lanes are inferred; constants and index arithmetic are folded.
 * - Everything is allocated in the module's arena; building throws when out of
 *   memory.
 */
#include "backend/native/kir/kir.h"
#include "backend/native/kir/abi.h"

#ifdef ATLED_STRESS
#define BUCKETS_FIRST 1u
#else
#define BUCKETS_FIRST 64u
#endif

KModule *kmodule_new(Ctx *c, const KTarget *target) {
	Arena *a = arena_new(c);
	KModule *m = ARENA_NEW(a, KModule);
	m->arena = a;
	m->target = *target;
	k_declare(m, 0, NULL);
	return m;
}

void kmodule_free(KModule *m) {
	if (m) arena_free(m->arena);
}

uint32_t k_declare(KModule *m, uint32_t nresults, const KType *result_types) {
	KFn *f = ARENA_NEW(m->arena, KFn);
	f->nresults = nresults;
	for (uint32_t i = 0; i < nresults; i++) f->result_types[i] = (uint8_t)result_types[i];
	KVal none = {0};
	VEC_PUSH(m->arena, &f->vals, none);
	VEC_PUSH(m->arena, &m->fns, f);
	return m->fns.n - 1;
}

void k_function(KBuilder *b, KModule *m, uint32_t k) {
	*b = (KBuilder){.m = m,
	                .f = m->fns.at[k],
	                .fn = k,
	                .nbuckets = BUCKETS_FIRST,
	                .buckets = ARENA_ARRAY(m->arena, uint32_t, BUCKETS_FIRST)};
}

KType k_type(const KBuilder *b, KRef x) { return (KType)b->f->vals.at[x].type; }

uint32_t k_lanes_of(const KBuilder *b, KRef x) { return b->f->vals.at[x].lanes; }

/* ---- emission ------------------------------------------------------------ */

static KRef new_value(KBuilder *b, KType t, uint32_t lanes) {
	KVal v = {.type = (uint8_t)t, .lanes = (uint16_t)lanes, .def = b->f->insts.n - 1};
	VEC_PUSH(b->m->arena, &b->f->vals, v);
	return b->f->vals.n - 1;
}

static KInst *emit(KBuilder *b, KOp op, KType t, uint32_t nargs, const KRef *args) {
	KInst in = {.op = (uint8_t)op,
	            .type = (uint8_t)t,
	            .nargs = nargs,
	            .args = b->f->refs.n,
	            .span = b->span,
	            .origin = b->origin};
	for (uint32_t i = 0; i < nargs; i++) VEC_PUSH(b->m->arena, &b->f->refs, args[i]);
	VEC_PUSH(b->m->arena, &b->f->insts, in);
	return &b->f->insts.at[b->f->insts.n - 1];
}

static uint32_t widest(const KBuilder *b, uint32_t n, const KRef *args) {
	uint32_t lanes = 0;
	for (uint32_t i = 0; i < n; i++)
		if (args[i] && k_lanes_of(b, args[i]) > lanes) lanes = k_lanes_of(b, args[i]);
	return lanes;
}

static uint32_t hash_inst(const KBuilder *b, const KInst *in) {
	uint64_t h =
		(in->op | (uint64_t)in->type << 8 | (uint64_t)in->prim << 16 | (uint64_t)in->lanes << 32) *
			0x9e3779b97f4a7c15ull +
		(uint64_t)in->imm;
	for (uint32_t i = 0; i < in->nargs; i++)
		h = (h ^ b->f->refs.at[in->args + i]) * 0xd6e8feb86659fd93ull;
	return (uint32_t)(h >> 32);
}

static void add_to_bucket(KBuilder *b, uint32_t k) {
	KKnown *known = &b->known.at[k];
	uint32_t *head = &b->buckets[known->hash & (b->nbuckets - 1)];
	known->before = *head;
	*head = k + 1;
}

static void know(KBuilder *b, uint32_t inst, uint32_t hash) {
	VEC_PUSH(b->m->arena, &b->known, ((KKnown){.inst = inst, .hash = hash}));
	if (b->known.n <= b->nbuckets) {
		add_to_bucket(b, b->known.n - 1);
		return;
	}
	b->nbuckets *= 4;
	b->buckets = ARENA_ARRAY(b->m->arena, uint32_t, b->nbuckets);
	for (uint32_t k = 0; k < b->known.n; k++) add_to_bucket(b, k);
}

void k_forget_known(KBuilder *b, uint32_t n) {
	while (b->known.n > n) {
		const KKnown *k = &b->known.at[--b->known.n];
		b->buckets[k->hash & (b->nbuckets - 1)] = k->before;
	}
}

static bool same_inst(const KBuilder *b, const KInst *x, const KInst *y) {
	return x->op == y->op && x->type == y->type && x->prim == y->prim && x->lanes == y->lanes &&
	       x->imm == y->imm && x->nargs == y->nargs &&
	       (!x->nargs ||
	        !memcmp(b->f->refs.at + x->args, b->f->refs.at + y->args, x->nargs * sizeof(KRef)));
}

/* Emits an instruction with one result; `wanted` is complete but for its
 * operands. If it is pure and an equal one is in scope, returns that one's
 * result. */
static KRef finish1(KBuilder *b, KInst wanted, uint32_t nargs, const KRef *args) {
	KFn *f = b->f;
	wanted.args = f->refs.n;
	wanted.nargs = nargs;
	for (uint32_t i = 0; i < nargs; i++) VEC_PUSH(b->m->arena, &f->refs, args[i]);
	uint32_t hash = 0;
	bool pure = kop_is_pure((KOp)wanted.op);
	if (pure) {
		hash = hash_inst(b, &wanted);
		const KKnown *k;
		for (uint32_t e = b->buckets[hash & (b->nbuckets - 1)]; e; e = k->before) {
			k = &b->known.at[e - 1];
			const KInst *have = &f->insts.at[k->inst];
			if (k->hash != hash || !same_inst(b, have, &wanted)) continue;
			f->refs.n = wanted.args;
			return have->results;
		}
	}
	wanted.span = b->span;
	wanted.origin = b->origin;
	wanted.nresults = 1;
	VEC_PUSH(b->m->arena, &f->insts, wanted);
	KRef result = new_value(b, (KType)wanted.type, wanted.lanes);
	f->insts.at[f->insts.n - 1].results = result;
	if (pure) know(b, f->insts.n - 1, hash);
	return result;
}

static KRef simple1(KBuilder *b, KOp op, KType t, uint32_t lanes, int64_t imm, uint32_t nargs,
                    const KRef *args) {
	return finish1(
		b, (KInst){.op = (uint8_t)op, .type = (uint8_t)t, .lanes = (uint16_t)lanes, .imm = imm},
		nargs, args);
}

static KRef prim1(KBuilder *b, Op prim, KType t, uint32_t lanes, uint32_t nargs, const KRef *args) {
	return finish1(
		b,
		(KInst){.op = K_PRIM, .type = (uint8_t)t, .lanes = (uint16_t)lanes, .prim = (uint16_t)prim},
		nargs, args);
}

/* ---- constants ----------------------------------------------------------- */

KRef k_bits(KBuilder *b, KType t, uint64_t bits) {
	return simple1(b, K_CONST, t, 0, (int64_t)bits, 0, NULL);
}

KRef k_const(KBuilder *b, KType t, double x) {
	uint64_t bits = 0;
	float narrow = (float)x;
	int32_t i32;
	int64_t i64;
	switch (t) {
	case KT_BOOL: bits = x != 0; break;
	case KT_I32:
		i32 = (int32_t)x;
		bits = (uint64_t)(int64_t)i32;
		break;
	case KT_F32: {
		uint32_t low;
		memcpy(&low, &narrow, sizeof low);
		bits = low;
		break;
	}
	case KT_F64: memcpy(&bits, &x, sizeof bits); break;
	default: i64 = (int64_t)x; bits = (uint64_t)i64;
	}
	return k_bits(b, t, bits);
}

KRef k_int(KBuilder *b, int64_t x) { return k_bits(b, KT_I64, (uint64_t)x); }

bool k_is_int(const KBuilder *b, KRef x, int64_t *v) {
	if (!x || k_type(b, x) != KT_I64 || k_lanes_of(b, x)) return false;
	const KInst *in = &b->f->insts.at[b->f->vals.at[x].def];
	if (in->op != K_CONST || in->results != x) return false;
	*v = in->imm;
	return true;
}

bool k_is_bool(const KBuilder *b, KRef x, bool *v) {
	if (!x || k_type(b, x) != KT_BOOL || k_lanes_of(b, x)) return false;
	const KInst *in = &b->f->insts.at[b->f->vals.at[x].def];
	if (in->op != K_CONST || in->results != x) return false;
	*v = in->imm != 0;
	return true;
}

static KRef k_bool(KBuilder *b, bool v) { return k_bits(b, KT_BOOL, v); }

KRef k_param(KBuilder *b, KType t) { return simple1(b, K_PARAM, t, 0, b->f->nparams++, 0, NULL); }

KRef k_buffer(KBuilder *b, uint32_t k) { return simple1(b, K_BUFFER, KT_PTR, 0, k, 0, NULL); }

KRef k_word(KBuilder *b, KType t, uint32_t k) { return simple1(b, K_WORD, t, 0, k, 0, NULL); }

void k_result(KBuilder *b, uint32_t k, KRef x) { emit(b, K_RESULT, k_type(b, x), 1, &x)->imm = k; }

/* ---- arithmetic ---------------------------------------------------------- */

KRef k_prim1(KBuilder *b, Op prim, KRef x) {
	KType t = prims[prim].result == RESULT_BOOL ? KT_BOOL : k_type(b, x);
	return prim1(b, prim, t, k_lanes_of(b, x), 1, &x);
}

static bool bounds(const KBuilder *b, KRef x, int64_t *lo, int64_t *hi) {
	const KVal *v = &b->f->vals.at[x];
	if (k_is_int(b, x, lo)) {
		*hi = *lo;
		return true;
	}
	*lo = v->lo;
	*hi = v->hi;
	return v->bounded;
}

void k_bound(KBuilder *b, KRef x, int64_t lo, int64_t hi) {
	int64_t v;
	if (k_is_int(b, x, &v)) return;
	KVal *at = &b->f->vals.at[x];
	at->bounded = true;
	at->lo = lo;
	at->hi = hi;
}

static KRef fold_compare(KBuilder *b, Op prim, KRef x, KRef y) {
	int64_t lo, hi, from, to;
	if (!bounds(b, x, &lo, &hi) || !bounds(b, y, &from, &to)) return 0;
	bool strict = prim == OP_LT;
	if (strict ? hi < from : hi <= from) return k_bits(b, KT_BOOL, 1);
	if (strict ? lo >= to : lo > to) return k_bits(b, KT_BOOL, 0);
	return 0;
}

/* Folds i64 arithmetic; 0 when there is nothing to fold. */
static KRef fold_int(KBuilder *b, Op prim, KRef x, KRef y) {
	int64_t p, q;
	bool cp = k_is_int(b, x, &p), cq = k_is_int(b, y, &q);
	if (cp && cq) {
		switch (prim) {
		case OP_ADD: return k_int(b, (int64_t)((uint64_t)p + (uint64_t)q));
		case OP_SUB: return k_int(b, (int64_t)((uint64_t)p - (uint64_t)q));
		case OP_MUL: return k_int(b, (int64_t)((uint64_t)p * (uint64_t)q));
		case OP_MIN: return p < q ? x : y;
		case OP_MAX: return p > q ? x : y;
		case OP_EQ: return k_bool(b, p == q);
		case OP_LT: return k_bool(b, p < q);
		case OP_LE: return k_bool(b, p <= q);
		default: return 0;
		}
	}
	if (prim == OP_ADD && cp && p == 0) return y;
	if ((prim == OP_ADD || prim == OP_SUB) && cq && q == 0) return x;
	if (prim == OP_MUL && cp && p == 1) return y;
	if (prim == OP_MUL && cq && q == 1) return x;
	if (prim == OP_MUL && ((cp && p == 0) || (cq && q == 0)) && !k_lanes_of(b, x) &&
	    !k_lanes_of(b, y))
		return k_int(b, 0);
	if (prim == OP_LT || prim == OP_LE) return fold_compare(b, prim, x, y);
	return 0;
}

KRef k_prim2(KBuilder *b, Op prim, KRef x, KRef y) {
	KType t = prims[prim].result == RESULT_BOOL ? KT_BOOL : k_type(b, x);
	if (k_type(b, x) == KT_I64) {
		KRef folded = fold_int(b, prim, x, y);
		if (folded) return folded;
	}
	KRef args[2] = {x, y};
	return prim1(b, prim, t, widest(b, 2, args), 2, args);
}

static KRef choose(KBuilder *b, KRef c, KRef x, KRef y, int64_t imm) {
	bool known;
	KRef all[3] = {c, x, y};
	if (k_is_bool(b, c, &known) && k_lanes_of(b, known ? x : y) == widest(b, 3, all))
		return known ? x : y;
	int64_t lo, hi, from, to;
	KRef z = simple1(b, K_SELECT, k_type(b, x), widest(b, 3, all), imm, 3, all);
	if (k_type(b, x) == KT_I64 && bounds(b, x, &lo, &hi) && bounds(b, y, &from, &to))
		k_bound(b, z, lo < from ? lo : from, hi > to ? hi : to);
	return z;
}

KRef k_select(KBuilder *b, KRef c, KRef x, KRef y) { return choose(b, c, x, y, 0); }

KRef k_clamp_index(KBuilder *b, KRef outside, KRef index) {
	return choose(b, outside, k_int(b, 0), index, 1);
}

KRef k_convert(KBuilder *b, KRef x, KType to) {
	if (k_type(b, x) == to) return x;
	return simple1(b, K_CONVERT, to, k_lanes_of(b, x), 0, 1, &x);
}

KRef k_bitcast(KBuilder *b, KRef x, KType to) {
	if (k_type(b, x) == to) return x;
	return simple1(b, K_BITS, to, k_lanes_of(b, x), 0, 1, &x);
}

KRef k_logic(KBuilder *b, int which, KRef x, KRef y) {
	KRef args[2] = {x, y};
	for (uint32_t k = 0; k < 2; k++) {
		bool known;
		if (!k_is_bool(b, args[k], &known)) continue;
		if (which == 2 && !known) return args[1 - k];
		if (which < 2) return known == (which == 0) ? args[1 - k] : args[k];
	}
	return simple1(b, K_LOGIC, k_type(b, x), widest(b, 2, args), which, 2, args);
}

KRef k_not(KBuilder *b, KRef x) { return k_logic(b, 2, x, k_bits(b, KT_BOOL, 1)); }

KRef k_shift(KBuilder *b, int which, KRef x, KRef n) {
	KRef args[2] = {x, n};
	return simple1(b, K_SHIFT, k_type(b, x), widest(b, 2, args), which, 2, args);
}

KRef k_muladd(KBuilder *b, KRef x, KRef y, KRef z) {
	KRef args[3] = {x, y, z};
	return simple1(b, K_MULADD, k_type(b, x), widest(b, 3, args), 0, 3, args);
}

KRef k_lane(KBuilder *b) { return simple1(b, K_LANE, KT_I64, b->lanes, 0, 0, NULL); }

KRef k_mask(KBuilder *b) { return simple1(b, K_MASK, KT_BOOL, b->lanes, 0, 0, NULL); }

KRef k_reduce_lanes(KBuilder *b, Op prim, KRef x) {
	return finish1(
		b, (KInst){.op = K_REDUCE_LANES, .type = (uint8_t)k_type(b, x), .prim = (uint16_t)prim}, 1,
		&x);
}

/* ---- memory -------------------------------------------------------------- */

KRef k_load(KBuilder *b, KType t, KMode mode, KRef pointer, KRef index, KRef stride) {
	KRef args[3] = {pointer, index, stride};
	KInst in = {.op = K_LOAD,
	            .type = (uint8_t)t,
	            .mode = (uint8_t)mode,
	            .lanes = (uint16_t)(mode == KM_UNIFORM ? 0 : b->lanes)};
	return finish1(b, in, mode == KM_STRIDED ? 3 : 2, args);
}

void k_store(KBuilder *b, KMode mode, KRef pointer, KRef index, KRef value, KRef stride) {
	KRef args[4] = {pointer, index, value, stride};
	KInst *in = emit(b, K_STORE, k_type(b, value), mode == KM_STRIDED ? 4 : 3, args);
	in->mode = (uint8_t)mode;
	in->lanes = (uint16_t)(mode == KM_UNIFORM ? 0 : b->lanes);
}

void k_store_exact(KBuilder *b, KRef pointer, KRef index, KRef value, KRef streaming) {
	KRef args[4] = {pointer, index, value, streaming};
	KInst *in = emit(b, K_STORE, k_type(b, value), streaming ? 4 : 3, args);
	in->mode = KM_UNIT;
	in->flags = KF_MASK_TAIL;
	in->lanes = (uint16_t)b->lanes;
}

void k_prefetch(KBuilder *b, KType t, KRef pointer, KRef index) {
	KRef args[2] = {pointer, index};
	emit(b, K_PREFETCH, t, 2, args);
}

KRef k_ptradd(KBuilder *b, KRef pointer, KRef index, uint32_t element_bytes) {
	int64_t v;
	if (k_is_int(b, index, &v) && v == 0) return pointer;
	KRef args[2] = {pointer, index};
	return simple1(b, K_PTRADD, KT_PTR, 0, element_bytes, 2, args);
}

KRef k_stack(KBuilder *b, int64_t bytes) { return simple1(b, K_STACK, KT_PTR, 0, bytes, 0, NULL); }

KRef k_arena(KBuilder *b, KRef bytes) { return simple1(b, K_ARENA, KT_PTR, 0, 0, 1, &bytes); }

KRef k_scratch(KBuilder *b, KRef bytes) { return simple1(b, K_SCRATCH, KT_PTR, 0, 0, 1, &bytes); }

void k_copy(KBuilder *b, KRef to, KRef from, KRef bytes) {
	KRef args[3] = {to, from, bytes};
	emit(b, K_COPY, KT_NONE, 3, args);
}

void k_zero(KBuilder *b, KRef at, KRef bytes) {
	KRef args[2] = {at, bytes};
	emit(b, K_ZERO, KT_NONE, 2, args);
}

void k_fail_if(KBuilder *b, KRef c, int64_t site, KRef fail_a, KRef fail_b) {
	bool fails;
	if (k_is_bool(b, c, &fails) && !fails) return;
	KRef args[3] = {c, fail_a, fail_b};
	KInst *in = emit(b, K_FAIL_IF, KT_NONE, 3, args);
	in->imm = site;
	in->lanes = (uint16_t)widest(b, 3, args);
}

void k_poll(KBuilder *b, KRef work) { emit(b, K_POLL, KT_NONE, 1, &work); }

void k_poll_by_depth(KBuilder *b, KRef work, int64_t levels) {
	emit(b, K_POLL, KT_NONE, 1, &work)->imm = levels;
}

void k_progress(KBuilder *b, int64_t site, uint32_t n, const KRef *operands) {
	emit(b, K_PROGRESS, KT_NONE, n, operands)->imm = site;
}

void k_iteration(KBuilder *b, KRef iteration, KRef trip_count) {
	k_progress(b, PROGRESS_ITERATION, 2, (KRef[]){iteration, trip_count});
}

void k_contract(KBuilder *b, KOp op, KType t, uint32_t flags, uint32_t n, const KRef *operands) {
	emit(b, op, t, n, operands)->flags = (uint8_t)flags;
}

void k_host(KBuilder *b, uint32_t number, uint32_t n, const KRef *pairs) {
	enum { MOST = 6 };
	KRef operands[2 * MOST];
	for (uint32_t k = 0; k < MOST; k++) {
		operands[2 * k] = k < n ? pairs[2 * k] : k_const(b, KT_PTR, 0);
		operands[2 * k + 1] = k < n ? pairs[2 * k + 1] : k_int(b, 0);
	}
	emit(b, K_HOST, KT_NONE, 2 * MOST, operands)->imm = number;
}

KRef k_factor(KBuilder *b, Op which, KType t, int64_t flags, const KRef operands[4]) {
	KInst *in = emit(b, K_FACTOR, t, 4, operands);
	in->prim = (uint16_t)which;
	in->imm = flags;
	in->nresults = 1;
	in->results = b->f->vals.n;
	return new_value(b, KT_I64, 0);
}

void k_call(KBuilder *b, uint32_t fn, uint32_t nargs, const KRef *args, KRef *results) {
	KInst *in = emit(b, K_CALL, KT_NONE, nargs, args);
	in->imm = fn;
	const KFn *callee = b->m->fns.at[fn];
	in->nresults = callee->nresults;
	in->results = b->f->vals.n;
	for (uint32_t i = 0; i < callee->nresults; i++)
		results[i] = new_value(b, (KType)callee->result_types[i], 0);
}

void k_call_at(KBuilder *b, uint32_t site, uint32_t fn, uint32_t nargs, const KRef *args,
               KRef *results) {
	k_call(b, fn, nargs, args, results);
	b->f->insts.at[b->f->insts.n - 1].params = site + 1;
}

void k_return(KBuilder *b, uint32_t nresults, const KRef *results) {
	emit(b, K_RETURN, KT_NONE, nresults, results);
}

/* ---- regions ------------------------------------------------------------- */

static void open_region(KBuilder *b, uint32_t inst, uint32_t region) {
	KOpen o = {.inst = inst,
	           .region = (uint16_t)region,
	           .outer_lanes = (uint16_t)b->lanes,
	           .known = b->known.n};
	VEC_PUSH(b->m->arena, &b->open, o);
}

/* Closes the innermost region and returns the index of its owner. */
static uint32_t close_region(KBuilder *b, uint32_t nresults, const KRef *results) {
	emit(b, K_END, KT_NONE, nresults, results);
	KOpen o = b->open.at[--b->open.n];
	b->lanes = o.outer_lanes;
	k_forget_known(b, o.known);
	return o.inst;
}

/* Numbers the results of an instruction with regions when its last region
 * closes. */
static void region_results(KBuilder *b, uint32_t inst, uint32_t n, const KRef *like,
                           KRef *results) {
	uint32_t first = b->f->vals.n;
	for (uint32_t i = 0; i < n; i++) {
		KVal v = b->f->vals.at[like[i]];
		v.bounded = false; /* bounds of one branch do not hold for the result */
		VEC_PUSH(b->m->arena, &b->f->vals, v);
		if (results) results[i] = first + i;
	}
	KInst *in = &b->f->insts.at[inst];
	in->nresults = n;
	in->results = first;
}

void k_loop_begin(KBuilder *b, KRef lo, KRef hi, int64_t step, uint32_t ncarried, const KRef *init,
                  KRef *params) {
	KRef head[2] = {lo, hi};
	uint32_t at = b->f->insts.n;
	emit(b, K_LOOP, KT_NONE, 2, head)->imm = step;
	for (uint32_t i = 0; i < ncarried; i++) VEC_PUSH(b->m->arena, &b->f->refs, init[i]);
	KInst *in = &b->f->insts.at[at];
	in->nargs = 2 + ncarried;
	in->nparams = 1 + ncarried;
	in->params = b->f->vals.n;
	params[0] = new_value(b, KT_I64, 0);
	for (uint32_t i = 0; i < ncarried; i++)
		params[1 + i] = new_value(b, k_type(b, init[i]), k_lanes_of(b, init[i]));
	open_region(b, at, 0);
}

void k_loop_end(KBuilder *b, const KRef *carried, KRef *results) {
	uint32_t owner = b->open.at[b->open.n - 1].inst, n = b->f->insts.at[owner].nparams - 1;
	uint32_t params = b->f->insts.at[owner].params;
	close_region(b, n, carried);
	uint32_t first = b->f->vals.n;
	for (uint32_t i = 0; i < n; i++) {
		KVal v = b->f->vals.at[params + 1 + i];
		VEC_PUSH(b->m->arena, &b->f->vals, v);
		if (results) results[i] = first + i;
	}
	b->f->insts.at[owner].nresults = n;
	b->f->insts.at[owner].results = first;
}

void k_vloop_begin(KBuilder *b, uint32_t lanes, uint32_t flags, KRef n, uint32_t ncarried,
                   const KRef *init, const bool *varying, KRef *params) {
	uint32_t at = b->f->insts.n;
	KInst *in = emit(b, K_VLOOP, KT_NONE, 1, &n);
	in->lanes = (uint16_t)lanes;
	in->flags = (uint8_t)flags;
	for (uint32_t i = 0; i < ncarried; i++) VEC_PUSH(b->m->arena, &b->f->refs, init[i]);
	in = &b->f->insts.at[at];
	in->nargs = 1 + ncarried;
	in->nparams = 1 + ncarried;
	in->params = b->f->vals.n;
	params[0] = new_value(b, KT_I64, 0);
	for (uint32_t i = 0; i < ncarried; i++) {
		bool varies = (varying && varying[i]) || k_lanes_of(b, init[i]);
		params[1 + i] = new_value(b, k_type(b, init[i]), varies ? lanes : 0);
	}
	open_region(b, at, 0);
	b->lanes = lanes;
}

void k_vloop_end(KBuilder *b, const KRef *carried, KRef *results) {
	k_loop_end(b, carried, results);
}

void k_while_begin(KBuilder *b, uint32_t ncarried, const KRef *init, KRef *params) {
	uint32_t at = b->f->insts.n;
	emit(b, K_WHILE, KT_NONE, ncarried, init);
	KInst *in = &b->f->insts.at[at];
	in->nparams = ncarried;
	in->params = b->f->vals.n;
	for (uint32_t i = 0; i < ncarried; i++)
		params[i] = new_value(b, k_type(b, init[i]), k_lanes_of(b, init[i]));
	/* parameters of the second region */
	for (uint32_t i = 0; i < ncarried; i++)
		new_value(b, k_type(b, init[i]), k_lanes_of(b, init[i]));
	open_region(b, at, 0);
}

void k_while_body(KBuilder *b, KRef condition, KRef *params) {
	uint32_t owner = close_region(b, 1, &condition);
	const KInst *in = &b->f->insts.at[owner];
	for (uint32_t i = 0; i < in->nparams; i++) params[i] = in->params + in->nparams + i;
	open_region(b, owner, 1);
}

void k_while_end(KBuilder *b, const KRef *carried, KRef *results) {
	uint32_t owner = b->open.at[b->open.n - 1].inst, n = b->f->insts.at[owner].nparams;
	uint32_t params = b->f->insts.at[owner].params;
	close_region(b, n, carried);
	uint32_t first = b->f->vals.n;
	for (uint32_t i = 0; i < n; i++) {
		KVal v = b->f->vals.at[params + i];
		VEC_PUSH(b->m->arena, &b->f->vals, v);
		if (results) results[i] = first + i;
	}
	b->f->insts.at[owner].nresults = n;
	b->f->insts.at[owner].results = first;
}

void k_if_begin(KBuilder *b, KRef c, uint32_t flags) {
	uint32_t at = b->f->insts.n;
	emit(b, K_IF, KT_NONE, 1, &c)->flags = (uint8_t)flags;
	open_region(b, at, 0);
}

void k_if_else(KBuilder *b, uint32_t nresults, const KRef *results) {
	uint32_t owner = close_region(b, nresults, results);
	open_region(b, owner, 1);
}

void k_if_end(KBuilder *b, const KRef *else_results, KRef *results) {
	/* The first region's END gives the number and types of the results. */
	uint32_t owner = b->open.at[b->open.n - 1].inst;
	uint32_t depth = 0, n = 0;
	const KRef *first = NULL;
	for (uint32_t i = owner + 1; i < b->f->insts.n; i++) {
		const KInst *in = &b->f->insts.at[i];
		depth += kinst_regions(in);
		if (in->op == K_END) {
			if (depth--) continue;
			n = in->nargs;
			first = b->f->refs.at + in->args;
			break;
		}
	}
	KRef *like = arena_alloc(b->m->arena, (n + 1) * sizeof *like);
	for (uint32_t i = 0; i < n; i++)
		like[i] =
			k_lanes_of(b, else_results[i]) > k_lanes_of(b, first[i]) ? else_results[i] : first[i];
	close_region(b, n, else_results);
	region_results(b, owner, n, like, results);
}

KRef k_parallel_begin(KBuilder *b, KRef nparts) {
	uint32_t at = b->f->insts.n;
	emit(b, K_PARALLEL, KT_NONE, 1, &nparts);
	KInst *in = &b->f->insts.at[at];
	in->nparams = 1;
	in->params = b->f->vals.n;
	KRef part = new_value(b, KT_I64, 0);
	open_region(b, at, 0);
	return part;
}

void k_parallel_end(KBuilder *b) { close_region(b, 0, NULL); }
