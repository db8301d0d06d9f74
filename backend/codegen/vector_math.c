/* vector_math.c - calls of backend/vmath; floating-point remainder.
 *
 * Contract:
 * - Needs emit.h, and backend/vmath's bitcode for 1, 2, 4 and 8 lanes of f64
 *   (1, 4, 8 and 16 of f32), which this library embeds (vmath_data.S).
 * - Only functions in use are linked.
 * - Every lane of a vector gets the result that it would get alone in a vector
 *   of the same width.
 */
#include "backend/codegen/emit.h"
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The embedded files, by the logarithm of their width. */
extern const char vmath_1_begin[], vmath_1_end[], vmath_2_begin[], vmath_2_end[], vmath_4_begin[],
	vmath_4_end[], vmath_8_begin[], vmath_8_end[];

typedef struct MathFile {
	const char *begin, *end;
	uint32_t lanes64;
} MathFile;
static const MathFile files[4] = {
	{vmath_1_begin, vmath_1_end, 1},
	{vmath_2_begin, vmath_2_end, 2},
	{vmath_4_begin, vmath_4_end, 4},
	{vmath_8_begin, vmath_8_end, 8},
};

/* The lanes of type t in a vector of the file of this width. */
static uint32_t lanes_of(KType t, uint32_t lanes64) {
	return t == KT_F32 && lanes64 > 1 ? 2 * lanes64 : lanes64;
}

/* The file whose vectors suit `lanes` lanes best: no wider than needed, and no
 * wider than two registers. Two registers hide each other's latency and share
 * one test for rare arguments. */
static uint32_t file_for(const Emitter *e, KType t, uint32_t lanes) {
	uint32_t widest = 2 * e->m->target.vector_bytes / 8, k = 0;
	if (lanes <= 1) return 0;
	while (k < 3 && files[k + 1].lanes64 <= widest && lanes_of(t, files[k].lanes64) < lanes) k++;
	return k;
}

/* Calls the function on one vector of the file's own width. */
static LLVMValueRef call(Emitter *e, uint32_t file, const char *name, KType t, LLVMValueRef x,
                         LLVMValueRef y) {
	char symbol[96];
	snprintf(symbol, sizeof symbol, "atled_%s_%s.w%u", name, t == KT_F32 ? "f32" : "f64",
	         files[file].lanes64);
	LLVMTypeRef v = LLVMTypeOf(x), types[2] = {v, v};
	LLVMTypeRef type = LLVMFunctionType(v, types, y ? 2 : 1, 0);
	LLVMValueRef f = LLVMGetNamedFunction(e->module, symbol);
	if (!f) f = LLVMAddFunction(e->module, symbol, type);
	return LLVMBuildCall2(e->b, type, f, (LLVMValueRef[]){x, y}, y ? 2 : 1, "");
}

/* Fills a wider vector with lanes 0, 1, ... n-1, 0, 1, ... The padding must be
 * values that occur anyway, so that it causes no rare case. */
static LLVMValueRef widened(Emitter *e, LLVMValueRef x, uint32_t lanes) {
	int pick[256];
	uint32_t n = emit_lanes(x);
	for (uint32_t i = 0; i < lanes; i++) pick[i] = (int)(i % n);
	return emit_shuffle(e, x, NULL, lanes, pick);
}

LLVMValueRef emit_math(Emitter *e, const char *name, KType t, LLVMValueRef x, LLVMValueRef y) {
	uint32_t lanes = emit_lanes(x), file = file_for(e, t, lanes),
			 width = lanes_of(t, files[file].lanes64);
	if (lanes < width)
		return emit_part(
			e, call(e, file, name, t, widened(e, x, width), y ? widened(e, y, width) : NULL), 0,
			lanes);
	LLVMValueRef parts[256];
	for (uint32_t i = 0; i < lanes / width; i++)
		parts[i] = call(e, file, name, t, emit_part(e, x, i * width, width),
		                y ? emit_part(e, y, i * width, width) : NULL);
	return emit_join(e, lanes / width, parts);
}

/* ---- remainder ----------------------------------------------------------- */

static LLVMValueRef any_lane(Emitter *e, LLVMValueRef c) {
	uint32_t lanes = emit_lanes(c);
	if (lanes == 1) return c;
	LLVMTypeRef bits = LLVMIntTypeInContext(e->context, lanes);
	return LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildBitCast(e->b, c, bits, ""), LLVMConstNull(bits),
	                     "");
}

/* r - q*s without rounding, for f64. Both terms are multiples of s's last bit,
 * and so is their difference, which is at most s. Without FMA, s is split into
 * its upper 33 and lower 20 bits; q then has at most 20 bits. */
static LLVMValueRef exact_difference(Emitter *e, LLVMValueRef r, LLVMValueRef q, LLVMValueRef s,
                                     bool narrow) {
	if (narrow) return LLVMBuildFSub(e->b, r, LLVMBuildFMul(e->b, q, s, ""), "");
	if (e->m->target.has_fma) return emit_muladd(e, LLVMBuildFNeg(e->b, q, ""), s, r);
	uint32_t lanes = emit_lanes(s);
	LLVMTypeRef bits = emit_type(e, KT_I64, lanes);
	LLVMValueRef mask = emit_spread(e, emit_i64(e, -(1ll << 20)), lanes);
	LLVMValueRef upper = LLVMBuildBitCast(
		e->b, LLVMBuildAnd(e->b, LLVMBuildBitCast(e->b, s, bits, ""), mask, ""), LLVMTypeOf(s), "");
	LLVMValueRef lower = LLVMBuildFSub(e->b, s, upper, "");
	r = LLVMBuildFSub(e->b, r, LLVMBuildFMul(e->b, q, upper, ""), "");
	return LLVMBuildFSub(e->b, r, LLVMBuildFMul(e->b, q, lower, ""), "");
}

/* fmod(r, d) for 0 <= r and 0 < d, both finite: s = d 2^(K j) just below r,
 * then r -= nearest(r/s) s for s, s/2^K ... d. Almost always one iteration. */
static LLVMValueRef reduced(Emitter *e, LLVMValueRef r, LLVMValueRef d, bool narrow) {
	LLVMTypeRef type = LLVMTypeOf(r);
	uint32_t lanes = emit_lanes(r);
	double step = narrow                 ? 268435456.0        /* 2^28 */
	              : e->m->target.has_fma ? 1125899906842624.0 /* 2^50 */
	                                     : 524288.0 /* 2^19 */;
	LLVMValueRef up = emit_number(e, KT_F64, lanes, step),
				 down = emit_number(e, KT_F64, lanes, 1 / step);
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), grow = emit_block(e, "mod.grow"),
					  more = emit_block(e, ""), turn = emit_block(e, "mod.turn"),
					  after = emit_block(e, "");
	LLVMValueRef limit = LLVMBuildFMul(e->b, r, down, "");
	LLVMBuildBr(e->b, grow);
	emit_enter(e, grow);
	LLVMValueRef s = LLVMBuildPhi(e->b, type, "");
	LLVMValueRef small = LLVMBuildFCmp(e->b, LLVMRealOLE, s, limit, "");
	emit_branch(e, any_lane(e, small), more, turn, 1);
	emit_enter(e, more);
	LLVMValueRef grown = LLVMBuildSelect(e->b, small, LLVMBuildFMul(e->b, s, up, ""), s, "");
	LLVMBuildBr(e->b, grow);
	LLVMAddIncoming(s, (LLVMValueRef[]){d, grown}, (LLVMBasicBlockRef[]){before, more}, 2);

	emit_enter(e, turn);
	LLVMValueRef r0 = LLVMBuildPhi(e->b, type, ""), s0 = LLVMBuildPhi(e->b, type, "");
	LLVMValueRef q = emit_prim(e, OP_ROUND, KT_F64, LLVMBuildFDiv(e->b, r0, s0, ""), NULL);
	LLVMValueRef r1 = exact_difference(e, r0, q, s0, narrow);
	LLVMValueRef below = LLVMBuildFCmp(e->b, LLVMRealOLT, r1, emit_number(e, KT_F64, lanes, 0), "");
	r1 = LLVMBuildSelect(e->b, below, LLVMBuildFAdd(e->b, r1, s0, ""), r1, "");
	LLVMValueRef left = LLVMBuildFCmp(e->b, LLVMRealOGT, s0, d, "");
	LLVMValueRef s1 = LLVMBuildSelect(e->b, left, LLVMBuildFMul(e->b, s0, down, ""), s0, "");
	LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
	emit_branch(e, any_lane(e, left), turn, after, 1);
	LLVMAddIncoming(r0, (LLVMValueRef[]){r, r1}, (LLVMBasicBlockRef[]){grow, from}, 2);
	LLVMAddIncoming(s0, (LLVMValueRef[]){s, s1}, (LLVMBasicBlockRef[]){grow, from}, 2);
	emit_enter(e, after);
	return r1;
}

/* f64_mod and f32_mod of scalar_expr.h: exact, with the divisor's sign. f32 is
 * computed in f64, where products of f32 values are exact. */
LLVMValueRef emit_real_mod(Emitter *e, KType t, LLVMValueRef x, LLVMValueRef y) {
	uint32_t lanes = emit_lanes(x);
	LLVMValueRef zero = emit_number(e, t, lanes, 0), one = emit_number(e, t, lanes, 1),
				 inf = emit_number(e, t, lanes, INFINITY);
	LLVMValueRef ax = emit_intrinsic1(e, "llvm.fabs", x), ay = emit_intrinsic1(e, "llvm.fabs", y);
	/* none, the result is NaN: x infinite or NaN, y zero or NaN. whole, the
	 * result is x itself: y infinite. */
	LLVMValueRef none = LLVMBuildOr(e->b, LLVMBuildFCmp(e->b, LLVMRealUEQ, ax, inf, ""),
	                                LLVMBuildFCmp(e->b, LLVMRealUEQ, ay, zero, ""), "");
	LLVMValueRef whole = LLVMBuildFCmp(e->b, LLVMRealOEQ, ay, inf, ""),
				 special = LLVMBuildOr(e->b, none, whole, "");
	LLVMValueRef d = LLVMBuildSelect(e->b, special, one, ay, ""),
				 r = LLVMBuildSelect(e->b, special, zero, ax, "");
	if (t == KT_F32) {
		r = reduced(e, emit_convert(e, KT_F32, KT_F64, r), emit_convert(e, KT_F32, KT_F64, d),
		            true);
		r = emit_convert(e, KT_F64, KT_F32, r);
	} else r = reduced(e, r, d, false);
	r = emit_intrinsic2(e, "llvm.copysign", LLVMBuildSelect(e->b, whole, ax, r, ""), x);
	LLVMValueRef apart = LLVMBuildXor(e->b, LLVMBuildFCmp(e->b, LLVMRealOLT, r, zero, ""),
	                                  LLVMBuildFCmp(e->b, LLVMRealOLT, y, zero, ""), "");
	LLVMValueRef m = LLVMBuildSelect(e->b, apart, LLVMBuildFAdd(e->b, r, y, ""), r, "");
	m = LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealOEQ, r, zero, ""),
	                    emit_intrinsic2(e, "llvm.copysign", r, y), m, "");
	return LLVMBuildSelect(e->b, none, emit_number(e, t, lanes, NAN), m, "");
}

/* ---- linking ------------------------------------------------------------- */

/* Prepares a file for linking. Names get the file's width, so that several
 * widths can be linked into one module. Linkage becomes such that only
 * referenced functions are linked. Functions get the module's processor,
 * without which they could not be inlined. */
static void prepare(Emitter *e, LLVMModuleRef maths, uint32_t lanes64) {
	for (LLVMValueRef f = LLVMGetFirstFunction(maths); f; f = LLVMGetNextFunction(f)) {
		size_t n;
		char name[128];
		const char *old = LLVMGetValueName2(f, &n);
		if (!strncmp(old, "llvm.", 5) || LLVMIsDeclaration(f)) continue;
		int m = snprintf(name, sizeof name, "%.*s.w%u", (int)n, old, lanes64);
		LLVMSetValueName2(f, name, (size_t)m);
		LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
		LLVMSetVisibility(f, LLVMHiddenVisibility);
		static const char *const own[] = {
			"target-cpu",          "target-features",        "tune-cpu",
			"prefer-vector-width", "min-legal-vector-width", "frame-pointer"};
		for (size_t i = 0; i < sizeof own / sizeof *own; i++)
			LLVMRemoveStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
			                                 own[i], (unsigned)strlen(own[i]));
		target_set_attributes(e, f);
		/* at level 0 a call is enough: no inlining */
		if (!e->options->level)
			LLVMRemoveEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
			                               LLVMGetEnumAttributeKindForName("alwaysinline", 12));
	}
}

/* Finds the files that define functions still called. After the module was cut,
 * some calls are gone. */
static void find_used(Emitter *e, bool used[4]) {
	LLVMValueRef next;
	for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = next) {
		size_t n;
		next = LLVMGetNextFunction(f);
		if (!LLVMIsDeclaration(f)) continue;
		if (!LLVMGetFirstUse(f)) {
			LLVMDeleteFunction(f);
			continue;
		}
		const char *dot = strrchr(LLVMGetValueName2(f, &n), '.');
		for (uint32_t k = 0; dot && dot[1] == 'w' && k < 4; k++)
			used[k] |= (uint32_t)atoi(dot + 2) == files[k].lanes64;
	}
}

void emit_math_link(Emitter *e) {
	bool used[4] = {false};
	find_used(e, used);
	for (uint32_t k = 0; k < 4; k++) {
		if (!used[k]) continue;
		LLVMMemoryBufferRef bytes = LLVMCreateMemoryBufferWithMemoryRange(
			files[k].begin, (size_t)(files[k].end - files[k].begin), "vmath", 0);
		LLVMModuleRef maths;
		if (LLVMGetBitcodeModuleInContext2(e->context, bytes, &maths)) {
			LLVMDisposeMemoryBuffer(bytes);
			emit_stop(e, "the vector maths for %u lanes is not bitcode", files[k].lanes64);
		}
		prepare(e, maths, files[k].lanes64);
		LLVMSetTarget(maths, LLVMGetTarget(e->module));
		LLVMSetDataLayout(maths, LLVMGetDataLayoutStr(e->module));
		if (LLVMLinkModules2(e->module, maths))
			emit_stop(e, "the vector maths for %u lanes cannot be linked", files[k].lanes64);
	}
	for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f))
		if (LLVMGetLinkage(f) == LLVMLinkOnceODRLinkage) LLVMSetLinkage(f, LLVMInternalLinkage);
	/* an unresolved call would otherwise fail only when the code is loaded */
	for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f)) {
		size_t n;
		const char *name = LLVMGetValueName2(f, &n);
		if (LLVMIsDeclaration(f) && LLVMGetVisibility(f) != LLVMHiddenVisibility &&
		    strncmp(name, "llvm.", 5) && strncmp(name, "atled_rt_", 9) && LLVMGetFirstUse(f))
			emit_stop(e, "nothing defines %.*s", (int)n, name);
	}
}
