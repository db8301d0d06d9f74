/* emit.c - kernel IR to an LLVM module: functions, values, instructions.
 *
 * Contract:
 * - Needs emit.h and a verified KModule.
 * - The entry is the only exported symbol.
 * - A function is emitted when something calls it, so one that is only inlined
 *   costs nothing.
 * - Equal modules give equal LLVM modules.
 */
#include "backend/codegen/emit.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- leaving, memory ----------------------------------------------------- */

struct EmitBlock {
	struct EmitBlock *next;
	max_align_t at[];
};

void emit_stop(Emitter *e, const char *format, ...) {
	va_list args;
	va_start(args, format);
	vsnprintf(e->error, e->error_size, format, args);
	va_end(args);
	longjmp(e->stop, 1);
}

void *emit_alloc(Emitter *e, size_t bytes) {
	struct EmitBlock *block = calloc(1, sizeof *block + (bytes ? bytes : 1));
	if (!block) emit_stop(e, "out of memory");
	block->next = e->memory;
	e->memory = block;
	return block->at;
}

void emit_free(Emitter *e) {
	while (e->memory) {
		struct EmitBlock *next = e->memory->next;
		free(e->memory);
		e->memory = next;
	}
}

/* ---- types --------------------------------------------------------------- */

LLVMTypeRef emit_type(Emitter *e, KType t, uint32_t lanes) {
	LLVMTypeRef types[] = {NULL, e->i1, e->i32, e->i64, e->f32, e->f64, e->ptr};
	LLVMTypeRef scalar = types[t];
	if (!scalar) emit_stop(e, "a value without a type");
	return lanes > 1 ? LLVMVectorType(scalar, lanes) : scalar;
}

LLVMTypeRef emit_memory_type(Emitter *e, KType t, uint32_t lanes) {
	if (t != KT_BOOL) return emit_type(e, t, lanes);
	return lanes > 1 ? LLVMVectorType(e->i8, lanes) : e->i8;
}

uint32_t emit_lanes(LLVMValueRef x) {
	LLVMTypeRef t = LLVMTypeOf(x);
	return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetVectorSize(t) : 1;
}

/* ---- values -------------------------------------------------------------- */

LLVMValueRef emit_i32(Emitter *e, int32_t x) { return LLVMConstInt(e->i32, (uint32_t)x, 0); }

LLVMValueRef emit_i64(Emitter *e, int64_t x) { return LLVMConstInt(e->i64, (uint64_t)x, 0); }

LLVMValueRef emit_number(Emitter *e, KType t, uint32_t lanes, double x) {
	LLVMTypeRef type = emit_type(e, t, 0);
	bool real = t == KT_F32 || t == KT_F64;
	return emit_spread(
		e, real ? LLVMConstReal(type, x) : LLVMConstInt(type, (uint64_t)(int64_t)x, 1), lanes);
}

LLVMValueRef emit_value(Emitter *e, KRef x) {
	LLVMValueRef v = x && x < e->fn->f->vals.n ? e->fn->vals[x] : NULL;
	if (!v) emit_stop(e, "function %u: value %u is not there", e->fn->fn, x);
	return v;
}

LLVMValueRef emit_spread(Emitter *e, LLVMValueRef x, uint32_t lanes) {
	uint32_t has = emit_lanes(x);
	if (lanes <= 1 || has == lanes) return x;
	if (has != 1) emit_stop(e, "%u lanes where %u belong", has, lanes);
	LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(x), lanes);
	if (LLVMIsConstant(x)) {
		LLVMValueRef same[256];
		if (lanes > 256) emit_stop(e, "vectors of %u lanes", lanes);
		for (uint32_t i = 0; i < lanes; i++) same[i] = x;
		return LLVMConstVector(same, lanes);
	}
	LLVMValueRef first = LLVMBuildInsertElement(e->b, LLVMGetPoison(type), x, emit_i64(e, 0), "");
	return LLVMBuildShuffleVector(e->b, first, LLVMGetPoison(type),
	                              LLVMConstNull(LLVMVectorType(e->i32, lanes)), "");
}

LLVMValueRef emit_value_in(Emitter *e, KRef x, uint32_t lanes) {
	return emit_spread(e, emit_value(e, x), lanes);
}

LLVMValueRef emit_shuffle(Emitter *e, LLVMValueRef x, LLVMValueRef y, uint32_t n,
                          const int *lanes) {
	LLVMValueRef index[256];
	if (n > 256) emit_stop(e, "vectors of %u lanes", n);
	for (uint32_t i = 0; i < n; i++)
		index[i] = lanes[i] < 0 ? LLVMGetPoison(e->i32) : emit_i32(e, lanes[i]);
	return LLVMBuildShuffleVector(e->b, x, y ? y : LLVMGetPoison(LLVMTypeOf(x)),
	                              LLVMConstVector(index, n), "");
}

LLVMValueRef emit_part(Emitter *e, LLVMValueRef x, uint32_t first, uint32_t n) {
	uint32_t has = emit_lanes(x);
	if (first == 0 && n == has) return x;
	if (n == 1) return LLVMBuildExtractElement(e->b, x, emit_i64(e, first), "");
	int lanes[256];
	if (n > 256) emit_stop(e, "vectors of %u lanes", n);
	for (uint32_t i = 0; i < n; i++) lanes[i] = first + i < has ? (int)(first + i) : -1;
	return emit_shuffle(e, x, NULL, n, lanes);
}

LLVMValueRef emit_join(Emitter *e, uint32_t n, LLVMValueRef *parts) {
	if (emit_lanes(parts[0]) == 1) {
		if (n == 1) return parts[0];
		LLVMValueRef all = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(parts[0]), n));
		for (uint32_t i = 0; i < n; i++)
			all = LLVMBuildInsertElement(e->b, all, parts[i], emit_i64(e, i), "");
		return all;
	}
	/* Concatenates pairs. An odd one out is padded with undefined lanes, which
	 * the end cuts off. */
	uint32_t width = emit_lanes(parts[0]), total = n * width;
	int lanes[256];
	for (; n > 1; n = (n + 1) / 2, width *= 2) {
		if (2 * width > 256) emit_stop(e, "vectors of %u lanes", 2 * width);
		for (uint32_t i = 0; i < 2 * width; i++) lanes[i] = (int)i;
		for (uint32_t i = 0; i < n; i += 2)
			parts[i / 2] =
				emit_shuffle(e, parts[i], i + 1 < n ? parts[i + 1] : NULL, 2 * width, lanes);
	}
	return emit_part(e, parts[0], 0, total);
}

/* ---- intrinsics, runtime ------------------------------------------------- */

LLVMValueRef emit_intrinsic(Emitter *e, const char *name, unsigned ntypes, LLVMTypeRef *types,
                            unsigned nargs, LLVMValueRef *args) {
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	if (!id) emit_stop(e, "LLVM has no %s", name);
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, types, ntypes);
	return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, types, ntypes), f, args, nargs,
	                      "");
}

LLVMValueRef emit_intrinsic1(Emitter *e, const char *name, LLVMValueRef x) {
	LLVMTypeRef t = LLVMTypeOf(x);
	return emit_intrinsic(e, name, 1, &t, 1, &x);
}

LLVMValueRef emit_intrinsic2(Emitter *e, const char *name, LLVMValueRef x, LLVMValueRef y) {
	LLVMTypeRef t = LLVMTypeOf(x);
	return emit_intrinsic(e, name, 1, &t, 2, (LLVMValueRef[]){x, y});
}

LLVMValueRef emit_muladd(Emitter *e, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z) {
	if (!e->m->target.has_fma) return LLVMBuildFAdd(e->b, LLVMBuildFMul(e->b, x, y, ""), z, "");
	LLVMTypeRef t = LLVMTypeOf(x);
	return emit_intrinsic(e, "llvm.fma", 1, &t, 3, (LLVMValueRef[]){x, y, z});
}

LLVMValueRef emit_runtime(Emitter *e, const char *name, const char *types, LLVMValueRef *args) {
	LLVMTypeRef of[32];
	uint32_t n = 0;
	for (; types[n]; n++) {
		switch (types[n]) {
		case 'p': of[n] = e->ptr; break;
		case 'l': of[n] = e->i64; break;
		case 'i': of[n] = e->i32; break;
		default: of[n] = LLVMVoidTypeInContext(e->context);
		}
	}
	LLVMTypeRef type = LLVMFunctionType(of[0], of + 1, n - 1, 0);
	LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
	if (!f) {
		f = LLVMAddFunction(e->module, name, type);
		unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8),
				 noalias = LLVMGetEnumAttributeKindForName("noalias", 7);
		LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
		                        LLVMCreateEnumAttribute(e->context, nounwind, 0));
		if (types[0] == 'p')
			LLVMAddAttributeAtIndex(f, LLVMAttributeReturnIndex,
			                        LLVMCreateEnumAttribute(e->context, noalias, 0));
	}
	return LLVMBuildCall2(e->b, type, f, args, n - 1, "");
}

/* ---- single instructions ------------------------------------------------- */

static void define(Emitter *e, const KInst *in, LLVMValueRef x) { e->fn->vals[in->results] = x; }

/* Converts between values and the 64-bit words of K_CONST and of call
 * records. */
static LLVMValueRef from_word(Emitter *e, KType t, LLVMValueRef word) {
	switch (t) {
	case KT_BOOL: return LLVMBuildICmp(e->b, LLVMIntNE, word, emit_i64(e, 0), "");
	case KT_I32: return LLVMBuildTrunc(e->b, word, e->i32, "");
	case KT_F32: return LLVMBuildBitCast(e->b, LLVMBuildTrunc(e->b, word, e->i32, ""), e->f32, "");
	case KT_F64: return LLVMBuildBitCast(e->b, word, e->f64, "");
	case KT_PTR: return LLVMBuildIntToPtr(e->b, word, e->ptr, "");
	default: return word;
	}
}

static LLVMValueRef to_word(Emitter *e, KType t, LLVMValueRef x) {
	switch (t) {
	case KT_BOOL: return LLVMBuildZExt(e->b, x, e->i64, "");
	case KT_I32: return LLVMBuildSExt(e->b, x, e->i64, "");
	case KT_F32: return LLVMBuildZExt(e->b, LLVMBuildBitCast(e->b, x, e->i32, ""), e->i64, "");
	case KT_F64: return LLVMBuildBitCast(e->b, x, e->i64, "");
	case KT_PTR: return LLVMBuildPtrToInt(e->b, x, e->i64, "");
	default: return x;
	}
}

/* Entry `k` of the table in this field of the call record: the loaded value, or
 * its address when `type` is NULL. The tables are constant during the call. */
static LLVMValueRef table_entry(Emitter *e, unsigned field, int64_t k, LLVMTypeRef type) {
	LLVMValueRef at = LLVMBuildStructGEP2(e->b, e->call_type, e->call, field, "");
	LLVMValueRef table = LLVMBuildLoad2(e->b, e->ptr, at, "");
	LLVMValueRef index = emit_i64(e, k);
	LLVMValueRef entry = LLVMBuildGEP2(e->b, e->i64, table, &index, 1, "");
	unsigned invariant = LLVMGetMDKindIDInContext(e->context, "invariant.load", 14);
	LLVMValueRef none = LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, NULL, 0));
	LLVMSetMetadata(table, invariant, none);
	if (!type) return entry;
	LLVMValueRef x = LLVMBuildLoad2(e->b, type, entry, "");
	LLVMSetMetadata(x, invariant, none);
	return x;
}

static void emit_SHIFT(Emitter *e, const KInst *in) {
	LLVMTypeRef type = emit_type(e, (KType)in->type, in->lanes);
	LLVMValueRef x = emit_value_in(e, emit_operand(e, in, 0), in->lanes),
				 n = emit_value_in(e, emit_operand(e, in, 1), in->lanes);
	n = LLVMBuildIntCast2(e->b, n, type, 0, "");
	n = LLVMBuildAnd(
		e->b, n, emit_number(e, (KType)in->type, in->lanes, 8.0 * ktype_size((KType)in->type) - 1),
		"");
	define(e, in,
	       in->imm == 0   ? LLVMBuildShl(e->b, x, n, "")
	       : in->imm == 1 ? LLVMBuildLShr(e->b, x, n, "")
	                      : LLVMBuildAShr(e->b, x, n, ""));
}

static void emit_LOGIC(Emitter *e, const KInst *in) {
	LLVMValueRef x = emit_value_in(e, emit_operand(e, in, 0), in->lanes),
				 y = emit_value_in(e, emit_operand(e, in, 1), in->lanes);
	define(e, in,
	       in->imm == 0   ? LLVMBuildAnd(e->b, x, y, "")
	       : in->imm == 1 ? LLVMBuildOr(e->b, x, y, "")
	                      : LLVMBuildXor(e->b, x, y, ""));
}

static void emit_SELECT(Emitter *e, const KInst *in) {
	LLVMValueRef c = emit_value(e, emit_operand(e, in, 0));
	LLVMValueRef x = emit_value_in(e, emit_operand(e, in, 1), in->lanes),
				 y = emit_value_in(e, emit_operand(e, in, 2), in->lanes);
	define(e, in, LLVMBuildSelect(e->b, c, x, y, ""));
}

static void emit_LANE(Emitter *e, const KInst *in) {
	LLVMValueRef lanes[256];
	if (in->lanes > 256) emit_stop(e, "vectors of %u lanes", in->lanes);
	for (uint32_t i = 0; i < in->lanes; i++) lanes[i] = emit_i64(e, i);
	define(e, in, in->lanes > 1 ? LLVMConstVector(lanes, in->lanes) : emit_i64(e, 0));
}

static void emit_MASK(Emitter *e, const KInst *in) {
	const EmitVector *v = e->vector;
	if (!v) emit_stop(e, "a mask outside of vector loops");
	if (v->lanes <= 1 || !v->partial) define(e, in, emit_number(e, KT_BOOL, in->lanes, 1));
	else
		define(e, in,
		       v->mask ? v->mask
		               : emit_first_lanes(e, v->lanes, LLVMBuildSub(e->b, v->n, v->base, "")));
}

static void emit_PTRADD(Emitter *e, const KInst *in) {
	LLVMValueRef index = emit_value(e, emit_operand(e, in, 1));
	LLVMTypeRef element = LLVMArrayType2(e->i8, (uint64_t)in->imm);
	define(e, in,
	       LLVMBuildGEP2(e->b, element, emit_value(e, emit_operand(e, in, 0)), &index, 1, ""));
}

static void emit_allocation(Emitter *e, const KInst *in, const char *name) {
	LLVMValueRef at = emit_runtime(
		e, name, "ppl", (LLVMValueRef[]){e->call, emit_value(e, emit_operand(e, in, 0))});
	emit_fail(e, LLVMBuildIsNull(e->b, at, ""), emit_i32(e, 2)); /* ST_NOMEM */
	define(e, in, at);
}

static void emit_GEMM(Emitter *e, const KInst *in) {
	LLVMValueRef args[15] = {e->call};
	for (uint32_t i = 0; i < 12; i++) args[1 + i] = emit_value(e, emit_operand(e, in, i));
	args[13] = in->nargs == 13
	               ? LLVMBuildTrunc(e->b, emit_value(e, emit_operand(e, in, 12)), e->i32, "")
	               : emit_i32(e, 0);
	args[14] = emit_large_tiles(e, (KType)in->type);
	emit_check(e, emit_runtime(e, in->type == KT_F32 ? "atled_rt_gemm_f32" : "atled_rt_gemm_f64",
	                           "ippllpllpllllli"
	                           "p",
	                           args));
}

static void emit_FACTOR(Emitter *e, const KInst *in) {
	LLVMValueRef args[6] = {e->call};
	for (uint32_t i = 0; i < 4; i++) args[1 + i] = emit_value(e, emit_operand(e, in, i));
	const int64_t which = in->prim == OP_LU         ? FACTOR_LU
	                      : in->prim == OP_CHOLESKY ? FACTOR_CHOLESKY
	                                                : FACTOR_SOLVE;
	args[5] =
		emit_i64(e, which | (in->type == KT_F32 ? FACTOR_SINGLE : 0) | in->imm * FACTOR_LOWER);
	LLVMValueRef result = emit_runtime(e, "atled_rt_factor",
	                                   "lpppll"
	                                   "l",
	                                   args);
	LLVMValueRef negative = LLVMBuildICmp(e->b, LLVMIntSLT, result, emit_i64(e, 0), "");
	emit_fail(e, negative, LLVMBuildTrunc(e->b, LLVMBuildNeg(e->b, result, ""), e->i32, ""));
	define(e, in, result);
}

static void emit_HOST(Emitter *e, const KInst *in) {
	LLVMValueRef args[14] = {e->call, emit_i64(e, in->imm)};
	for (uint32_t i = 0; i < 12; i++) args[2 + i] = emit_value(e, emit_operand(e, in, i));
	emit_check(e, emit_runtime(e, "atled_rt_host", "iplplplplplplpl", args));
}

void emit_plain(Emitter *e, const KInst *in) {
	KType t = (KType)in->type;
	switch (in->op) {
	case K_CONST: {
		LLVMValueRef word = emit_i64(e, in->imm);
		define(e, in, t == KT_PTR && !in->imm ? LLVMConstNull(e->ptr) : from_word(e, t, word));
		return;
	}
	case K_PARAM: define(e, in, e->fn->args[in->imm]); return;
	case K_BUFFER: define(e, in, table_entry(e, 0, in->imm, e->ptr)); return;
	case K_WORD: define(e, in, from_word(e, t, table_entry(e, 1, in->imm, e->i64))); return;
	case K_RESULT: {
		KRef x = emit_operand(e, in, 0);
		LLVMValueRef word = to_word(e, emit_ref_type(e, x), emit_value(e, x));
		emit_tag_call_record(e, LLVMBuildStore(e->b, word, table_entry(e, 2, in->imm, NULL)));
		return;
	}
	case K_PRIM: {
		KRef x = emit_operand(e, in, 0), y = in->nargs > 1 ? emit_operand(e, in, 1) : 0;
		define(e, in,
		       emit_prim(e, (Op)in->prim, emit_ref_type(e, x), emit_value_in(e, x, in->lanes),
		                 y ? emit_value_in(e, y, in->lanes) : NULL));
		return;
	}
	case K_SELECT: emit_SELECT(e, in); return;
	case K_CONVERT: {
		KRef x = emit_operand(e, in, 0);
		define(e, in, emit_convert(e, emit_ref_type(e, x), t, emit_value_in(e, x, in->lanes)));
		return;
	}
	case K_BITS:
		define(e, in,
		       LLVMBuildBitCast(e->b, emit_value_in(e, emit_operand(e, in, 0), in->lanes),
		                        emit_type(e, t, in->lanes), ""));
		return;
	case K_SHIFT: emit_SHIFT(e, in); return;
	case K_LOGIC: emit_LOGIC(e, in); return;
	case K_MULADD:
		define(e, in,
		       emit_muladd(e, emit_value_in(e, emit_operand(e, in, 0), in->lanes),
		                   emit_value_in(e, emit_operand(e, in, 1), in->lanes),
		                   emit_value_in(e, emit_operand(e, in, 2), in->lanes)));
		return;
	case K_LANE: emit_LANE(e, in); return;
	case K_MASK: emit_MASK(e, in); return;
	case K_LOAD: emit_LOAD(e, in); return;
	case K_STORE: emit_STORE(e, in); return;
	case K_PREFETCH: emit_AHEAD(e, in); return;
	case K_PTRADD: emit_PTRADD(e, in); return;
	case K_STACK: define(e, in, emit_slot(e, (uint64_t)in->imm, 64)); return;
	case K_REDUCE_LANES:
		define(e, in, emit_reduce_lanes(e, (Op)in->prim, t, emit_value(e, emit_operand(e, in, 0))));
		return;
	case K_CONTRACT: emit_contract(e, in); return;
	case K_GEMM: emit_GEMM(e, in); return;
	case K_FACTOR: emit_FACTOR(e, in); return;
	case K_HOST: emit_HOST(e, in); return;
	case K_ARENA: emit_allocation(e, in, "atled_rt_arena"); return;
	case K_SCRATCH: emit_allocation(e, in, "atled_rt_scratch"); return;
	case K_COPY:
		emit_runtime(e, "atled_rt_copy", "vppl",
		             (LLVMValueRef[]){emit_value(e, emit_operand(e, in, 0)),
		                              emit_value(e, emit_operand(e, in, 1)),
		                              emit_value(e, emit_operand(e, in, 2))});
		return;
	case K_ZERO:
		emit_runtime(e, "atled_rt_zero", "vpl",
		             (LLVMValueRef[]){emit_value(e, emit_operand(e, in, 0)),
		                              emit_value(e, emit_operand(e, in, 1))});
		return;
	default:
		emit_stop(e, "function %u: kernel instruction %u cannot be emitted", e->fn->fn, in->op);
	}
}

void emit_line(Emitter *e, const KInst *in) {
	if (e->subprogram)
		LLVMSetCurrentDebugLocation2(
			e->b, LLVMDIBuilderCreateDebugLocation(e->context, in->span, 0, e->subprogram, NULL));
}

void emit_one(Emitter *e, const KInst *in) {
	e->emitted++;
	emit_line(e, in);
	emit_plain(e, in);
}

uint32_t emit_region(Emitter *e, uint32_t at, const KInst **end) {
	const KFn *f = e->fn->f;
	if (e->vector) at = emit_interleaved(e, at);
	while (at < f->insts.n) {
		at = emit_vector_split(e, at);
		const KInst *in = &f->insts.at[at++];
		if (in->op == K_END || in->op == K_RETURN) {
			*end = in;
			return at;
		}
		e->emitted++;
		emit_line(e, in);
		switch (in->op) {
		case K_LOOP:
		case K_VLOOP:
		case K_WHILE:
		case K_IF:
		case K_PARALLEL: at = emit_nest(e, in, at); break;
		case K_CALL: emit_CALL(e, in); break;
		case K_FAIL_IF: emit_FAIL_IF(e, in); break;
		case K_POLL: emit_POLL(e, in); break;
		case K_PROGRESS: emit_PROGRESS(e, in); break;
		default: emit_plain(e, in);
		}
	}
	*end = NULL;
	return at;
}

/* ---- functions ----------------------------------------------------------- */

EmitFn *emit_enter_fn(Emitter *e, uint32_t k, LLVMValueRef *args) {
	const KFn *f = e->m->fns.at[k];
	emit_find_roots(e, k);
	EmitFn *frame = emit_alloc(e, sizeof *frame);
	*frame = (EmitFn){
		.outer = e->fn, .f = f, .fn = k, .args = args, .depth = e->fn ? e->fn->depth + 1 : 0};
	frame->vals = emit_alloc(e, sizeof *frame->vals * f->vals.n);
	frame->roots = e->all_roots[k].roots;
	frame->root_of = e->all_roots[k].root_of;
	frame->nroots = e->all_roots[k].nroots;
	e->fn = frame;
	return frame;
}

LLVMValueRef emit_declare(Emitter *e, uint32_t k) {
	if (e->functions[k]) return e->functions[k];
	const KFn *f = e->m->fns.at[k];
	LLVMTypeRef *params = emit_alloc(e, sizeof *params * (f->nparams + 2));
	LLVMTypeRef results[17] = {e->i32};
	if (f->nresults > 16) emit_stop(e, "function %u has more than 16 results", k);
	params[0] = e->ptr;
	if (k == 0) {
		e->function_types[k] = LLVMFunctionType(e->i32, params, 1, 0);
		e->functions[k] = LLVMAddFunction(e->module, e->options->entry, e->function_types[k]);
	} else {
		params[1] = e->i64;
		for (uint32_t i = 0; i < f->insts.n; i++) {
			const KInst *in = &f->insts.at[i];
			if (in->op == K_PARAM && (uint64_t)in->imm < f->nparams)
				params[2 + in->imm] = emit_type(e, (KType)in->type, 0);
		}
		for (uint32_t i = 0; i < f->nresults; i++)
			results[1 + i] = emit_type(e, (KType)f->result_types[i], 0);
		LLVMTypeRef record = LLVMStructTypeInContext(e->context, results, f->nresults + 1, 0);
		for (uint32_t i = 0; i < f->nparams; i++)
			if (!params[2 + i]) emit_stop(e, "function %u does not name its parameter %u", k, i);
		e->function_types[k] = LLVMFunctionType(record, params, f->nparams + 2, 0);
		char name[80];
		snprintf(name, sizeof name, "%.60s.fn%u", e->options->entry, k);
		e->functions[k] = LLVMAddFunction(e->module, name, e->function_types[k]);
		LLVMSetLinkage(e->functions[k], LLVMInternalLinkage);
		LLVMSetFunctionCallConv(e->functions[k], LLVMFastCallConv);
	}
	target_set_attributes(e, e->functions[k]);
	return e->functions[k];
}

void emit_open_function(Emitter *e, LLVMValueRef function, LLVMTypeRef type) {
	unsigned noalias = LLVMGetEnumAttributeKindForName("noalias", 7);
	LLVMAddAttributeAtIndex(function, 1, LLVMCreateEnumAttribute(e->context, noalias, 0));
	e->function = function;
	e->call = LLVMGetParam(function, 0);
	e->return_type = LLVMGetReturnType(type);
	e->returns_record = LLVMGetTypeKind(e->return_type) == LLVMStructTypeKind;
	e->failure = NULL;
	e->failure_status = NULL;
	e->emitted = 0;
	e->vector = NULL;
	if (e->lines) {
		size_t n;
		const char *name = LLVMGetValueName2(function, &n);
		LLVMMetadataRef none =
			LLVMDIBuilderCreateSubroutineType(e->lines, e->file, NULL, 0, LLVMDIFlagZero);
		e->subprogram = LLVMDIBuilderCreateFunction(e->lines, e->file, name, n, name, n, e->file, 1,
		                                            none, 0, 1, 1, LLVMDIFlagZero, 0);
		LLVMSetSubprogram(function, e->subprogram);
		LLVMSetCurrentDebugLocation2(
			e->b, LLVMDIBuilderCreateDebugLocation(e->context, 0, 0, e->subprogram, NULL));
	}
	/* Slots are allocated in a first block of their own; emit_close_function
	 * ends it with a branch. */
	e->entry = LLVMAppendBasicBlockInContext(e->context, function, "slots");
	emit_enter(e, LLVMAppendBasicBlockInContext(e->context, function, "start"));
}

void emit_close_function(Emitter *e, uint32_t nresults, const LLVMValueRef *results) {
	if (!e->returns_record) LLVMBuildRet(e->b, emit_i32(e, NATIVE_OK));
	else {
		LLVMValueRef record = LLVMGetPoison(e->return_type);
		record = LLVMBuildInsertValue(e->b, record, emit_i32(e, NATIVE_OK), 0, "");
		for (uint32_t i = 0; i < nresults; i++)
			record = LLVMBuildInsertValue(e->b, record, results[i], i + 1, "");
		LLVMBuildRet(e->b, record);
	}
	if (e->failure) {
		emit_enter(e, e->failure);
		LLVMValueRef status = e->failure_status;
		if (e->returns_record)
			status = LLVMBuildInsertValue(e->b, LLVMGetPoison(e->return_type), status, 0, "");
		LLVMBuildRet(e->b, status);
	}
	emit_enter(e, e->entry);
	LLVMBuildBr(e->b, LLVMGetNextBasicBlock(e->entry));
}

/* Emits the body of function k as an LLVM function. */
static void emit_function(Emitter *e, uint32_t k) {
	const KFn *f = e->m->fns.at[k];
	LLVMValueRef function = e->functions[k];
	emit_open_function(e, function, e->function_types[k]);
	emit_mark_plain(e, function, f, 0);
	LLVMValueRef *args = emit_alloc(e, sizeof *args * f->nparams);
	for (uint32_t i = 0; k && i < f->nparams; i++) args[i] = LLVMGetParam(function, i + 2);
	if (k) e->depth_left = LLVMGetParam(function, 1);
	else {
		LLVMValueRef at = LLVMBuildStructGEP2(e->b, e->call_type, e->call, 4, "");
		e->depth_left = LLVMBuildLoad2(e->b, e->i64, at, "depth_left");
	}
	emit_enter_fn(e, k, args);
	const KInst *end;
	emit_region(e, 0, &end);
	if (!end && f->nresults) emit_stop(e, "function %u does not return", k);
	LLVMValueRef results[16] = {NULL};
	for (uint32_t i = 0; end && i < end->nargs && i < 16; i++)
		results[i] = emit_value(e, emit_operand(e, end, i));
	if (k && end && end->nargs != f->nresults)
		emit_stop(e, "function %u returns %u of %u results", k, end->nargs, f->nresults);
	emit_close_function(e, f->nresults, results);
	e->fn = NULL;
}

/* More than the stack frame of any function of the module. A frame holds slots
 * and spilled values; with inlining it may hold those of all functions. */
static uint64_t frame_bytes(const KModule *m) {
	enum { VALUE_BYTES = 64 };
	uint64_t bytes = 0;
	for (uint32_t k = 0; k < m->fns.n; k++)
		for (uint32_t i = 0; i < m->fns.at[k]->insts.n; i++) {
			const KInst *in = &m->fns.at[k]->insts.at[i];
			bytes += VALUE_BYTES + (in->op == K_STACK ? (uint64_t)in->imm : 0);
		}
	return bytes;
}

void emit_module(Emitter *e) {
	LLVMContextRef c = e->context;
	e->i1 = LLVMInt1TypeInContext(c);
	e->i8 = LLVMInt8TypeInContext(c);
	e->i32 = LLVMInt32TypeInContext(c);
	e->i64 = LLVMInt64TypeInContext(c);
	e->f32 = LLVMFloatTypeInContext(c);
	e->f64 = LLVMDoubleTypeInContext(c);
	e->ptr = LLVMPointerTypeInContext(c, 0);
	LLVMTypeRef fields[] = {e->ptr, e->ptr, e->ptr, e->i64, e->i64, e->i64, e->i64, e->i64,
	                        e->ptr, e->i64, e->i64, e->i64, e->ptr, e->ptr, e->i64};
	e->call_type = LLVMStructTypeInContext(c, fields, sizeof fields / sizeof *fields, 0);
	e->frame_bytes = frame_bytes(e->m);
	uint32_t n = e->m->fns.n;
	e->functions = emit_alloc(e, sizeof *e->functions * n);
	e->function_types = emit_alloc(e, sizeof *e->function_types * n);
	e->all_roots = emit_alloc(e, sizeof *e->all_roots * n);
	if (e->options->debug_lines) {
		unsigned kind = LLVMModuleFlagBehaviorWarning;
		LLVMAddModuleFlag(e->module, (LLVMModuleFlagBehavior)kind, "Debug Info Version", 18,
		                  LLVMValueAsMetadata(emit_i32(e, (int32_t)LLVMDebugMetadataVersion())));
		e->lines = LLVMCreateDIBuilder(e->module);
		e->file = LLVMDIBuilderCreateFile(e->lines, "spans.atled", 11, ".", 1);
		e->unit = LLVMDIBuilderCreateCompileUnit(
			e->lines, LLVMDWARFSourceLanguageC, e->file, "atled", 5, 1, "", 0, 0, "", 0,
			LLVMDWARFEmissionLineTablesOnly, 0, 0, 0, "", 0, "", 0);
	}
	emit_declare(e, 0);
	bool *done = emit_alloc(e, n);
	for (uint32_t k = 0; k < n;) {
		if (done[k] || !e->functions[k]) {
			k++;
			continue;
		}
		done[k] = true;
		emit_function(e, k);
		k = 0; /* it may have declared functions of smaller index */
	}
	if (e->lines) LLVMDIBuilderFinalize(e->lines);
}
