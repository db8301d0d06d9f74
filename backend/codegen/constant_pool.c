/* constant_pool.c - vector constants as memory operands.
 *
 * Method: LLVM keeps a splat constant as one scalar. If there are more
 * constants than registers, as in every loop with transcendental functions, it
 * broadcasts them at each use. A whole vector in memory is instead an operand
 * of the instruction that uses it.
 *
 * Contract:
 * - Needs emit.h and a module on which the passes have run.
 * - Values do not change.
 * - For vectors of 32 bytes (AVX2) only: AVX-512 has broadcast operands, and
 *   LLVM keeps vectors of 16 bytes whole by itself.
 */
#include "backend/codegen/emit.h"
#include <string.h>

/* KEPT: most constants of a loop that stay in registers, of which there are 16.
 * BLOCKS: most blocks of such a loop. */
enum { VECTOR = 32, KEPT = 4, BLOCKS = 6 };

/* Constants so far. */
typedef struct Pool {
	LLVMValueRef *value, *global;
	uint32_t n, room;
} Pool;

static uint32_t element_bytes(Emitter *e, LLVMTypeRef t) {
	if (LLVMGetTypeKind(t) != LLVMVectorTypeKind) return 0;
	LLVMTypeRef element = LLVMGetElementType(t);
	return element == e->f64 || element == e->i64   ? 8
	       : element == e->f32 || element == e->i32 ? 4
	                                                : 0;
}

/* Is x a splat of full vectors that should be in memory? Not if the processor
 * makes it without memory (0, all ones) or LLVM simplifies with it (2 x to x +
 * x, -1 to a negation). */
static bool wants_memory(Emitter *e, LLVMValueRef x) {
	if (!LLVMIsAConstantDataVector(x)) return false;
	const uint32_t bytes = element_bytes(e, LLVMTypeOf(x)), lanes = emit_lanes(x);
	if (!bytes || bytes * lanes % VECTOR) return false;
	LLVMValueRef first = LLVMGetAggregateElement(x, 0);
	for (uint32_t i = 1; i < lanes; i++)
		if (LLVMGetAggregateElement(x, i) != first) return false;
	if (LLVMIsAConstantInt(first))
		return LLVMConstIntGetSExtValue(first) != 0 && LLVMConstIntGetSExtValue(first) != -1;
	LLVMBool lossy;
	const double v = LLVMConstRealGetDouble(first, &lossy);
	return v != 0 && v != 2 && v != -2 && v != 1 && v != -1;
}

/* May the instruction take an opaque operand in place of a constant? Integer
 * shifts, products and quotients select better instructions when LLVM knows the
 * constant. */
static bool takes_memory(LLVMValueRef in) {
	switch (LLVMGetInstructionOpcode(in)) {
	case LLVMFAdd:
	case LLVMFSub:
	case LLVMFMul:
	case LLVMFDiv:
	case LLVMFCmp:
	case LLVMAnd:
	case LLVMOr:
	case LLVMXor:
	case LLVMAdd:
	case LLVMSub:
	case LLVMICmp:
	case LLVMSelect: return true;
	case LLVMCall: {
		static const char *const names[] = {"llvm.fma.", "llvm.fmuladd."};
		size_t n;
		LLVMValueRef f = LLVMGetCalledValue(in);
		const char *name = LLVMIsAFunction(f) ? LLVMGetValueName2(f, &n) : "";
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (!strncmp(name, names[i], strlen(names[i]))) return true;
		return false;
	}
	default: return false;
	}
}

static LLVMValueRef in_memory(Emitter *e, Pool *pool, LLVMValueRef x) {
	for (uint32_t i = 0; i < pool->n; i++)
		if (pool->value[i] == x) return pool->global[i];
	if (pool->n == pool->room) {
		const uint32_t room = pool->room ? 2 * pool->room : 64;
		LLVMValueRef *value = emit_alloc(e, room * sizeof *value),
					 *global = emit_alloc(e, room * sizeof *global);
		if (pool->n)
			memcpy(value, pool->value, pool->n * sizeof *value),
				memcpy(global, pool->global, pool->n * sizeof *global);
		pool->value = value, pool->global = global, pool->room = room;
	}
	LLVMValueRef first = LLVMGetAggregateElement(x, 0), same[VECTOR / 4];
	const uint32_t lanes = VECTOR / element_bytes(e, LLVMTypeOf(x));
	for (uint32_t i = 0; i < lanes; i++) same[i] = first;
	LLVMValueRef init = LLVMConstVector(same, lanes),
				 global = LLVMAddGlobal(e->module, LLVMTypeOf(init), "");
	LLVMSetInitializer(global, init);
	LLVMSetGlobalConstant(global, 1);
	LLVMSetLinkage(global, LLVMPrivateLinkage);
	LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
	LLVMSetAlignment(global, VECTOR);
	pool->value[pool->n] = x;
	return pool->global[pool->n++] = global;
}

/* A loop of few blocks and few constants: they are loaded before it and stay in
 * registers. A memory operand is a load in each iteration. */
typedef struct LoopBlocks {
	/* terminator of the block that enters the loop; NULL: no such loop */
	LLVMValueRef before;
	LLVMBasicBlockRef blocks[BLOCKS];
	uint32_t nblocks;
	LLVMValueRef value[KEPT], loaded[KEPT];
	uint32_t n;
} LoopBlocks;

static LLVMValueRef load_of(Emitter *e, LLVMValueRef global, LLVMValueRef before) {
	LLVMPositionBuilderBefore(e->b, before);
	LLVMValueRef v = LLVMBuildLoad2(e->b, LLVMGlobalGetValueType(global), global, "");
	LLVMSetAlignment(v, VECTOR);
	return v;
}

static LLVMValueRef kept(Emitter *e, LoopBlocks *loop, LLVMValueRef x, LLVMValueRef global) {
	for (uint32_t i = 0; i < loop->n; i++)
		if (loop->value[i] == x) return loop->loaded[i];
	loop->value[loop->n] = x;
	return loop->loaded[loop->n++] = load_of(e, global, loop->before);
}

/* A wider value repeats the same vector. */
static LLVMValueRef loaded(Emitter *e, Pool *pool, LoopBlocks *loop, LLVMValueRef x,
                           LLVMValueRef before) {
	LLVMValueRef global = in_memory(e, pool, x);
	LLVMValueRef v = loop->before ? kept(e, loop, x, global) : load_of(e, global, before);
	LLVMPositionBuilderBefore(e->b, before);
	const uint32_t lanes = emit_lanes(x), whole = emit_lanes(v);
	if (lanes == whole) return v;
	int pick[256];
	for (uint32_t i = 0; i < lanes; i++) pick[i] = (int)(i % whole);
	return emit_shuffle(e, v, NULL, lanes, pick);
}

static uint32_t operands(LLVMValueRef in) {
	if (!takes_memory(in)) return 0;
	return LLVMGetInstructionOpcode(in) == LLVMCall ? LLVMGetNumArgOperands(in)
	                                                : (uint32_t)LLVMGetNumOperands(in);
}

static bool in_loop(const LoopBlocks *t, LLVMBasicBlockRef block) {
	for (uint32_t i = 0; i < t->nblocks; i++)
		if (t->blocks[i] == block) return true;
	return false;
}

/* Collects the blocks on the paths from the loop's header to its latch. Returns
 * false if it is no loop, has too many blocks, or contains a loop. */
static bool find_blocks(LoopBlocks *t, LLVMBasicBlockRef first, LLVMBasicBlockRef last) {
	t->blocks[t->nblocks++] = first;
	if (last != first) t->blocks[t->nblocks++] = last;
	for (uint32_t i = 1; i < t->nblocks; i++) {
		bool entered = false;
		for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(t->blocks[i])); use;
		     use = LLVMGetNextUse(use)) {
			LLVMValueRef jump = LLVMGetUser(use);
			if (!LLVMIsATerminatorInst(jump)) continue;
			entered = true;
			LLVMBasicBlockRef from = LLVMGetInstructionParent(jump);
			if (from == t->blocks[i]) return false;
			if (in_loop(t, from)) continue;
			if (t->nblocks == BLOCKS) return false;
			t->blocks[t->nblocks++] = from;
		}
		if (!entered) return false; /* the function's entry block: a path avoids the header */
	}
	return true;
}

/* The loop whose header is `block`. */
static LoopBlocks find_loop(Emitter *e, LLVMBasicBlockRef block) {
	LoopBlocks none = {0}, t = {0};
	LLVMValueRef phi = LLVMGetFirstInstruction(block);
	if (!phi || !LLVMIsAPHINode(phi) || LLVMCountIncoming(phi) != 2) return none;
	for (unsigned self = 0; self < 2 && !t.before; self++) {
		LLVMBasicBlockRef before = LLVMGetIncomingBlock(phi, !self);
		t.nblocks = 0;
		if (find_blocks(&t, block, LLVMGetIncomingBlock(phi, self)) && !in_loop(&t, before))
			t.before = LLVMGetBasicBlockTerminator(before);
	}
	if (!t.before || LLVMGetNumSuccessors(t.before) == 0) return none;
	for (uint32_t b = 0; b < t.nblocks; b++)
		for (LLVMValueRef in = LLVMGetFirstInstruction(t.blocks[b]); in;
		     in = LLVMGetNextInstruction(in))
			for (uint32_t k = 0; k < operands(in); k++) {
				LLVMValueRef x = LLVMGetOperand(in, k);
				uint32_t i = 0;
				if (!wants_memory(e, x)) continue;
				while (i < t.n && t.value[i] != x) i++;
				if (i == KEPT) return none;
				if (i == t.n) t.value[t.n++] = x;
			}
	t.n = 0;
	return t;
}

void emit_constants(Emitter *e) {
	Pool pool = {0};
	for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f)) {
		LoopBlocks loop = {0};
		for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
		     block = LLVMGetNextBasicBlock(block)) {
			if (!in_loop(&loop, block)) loop = find_loop(e, block);
			for (LLVMValueRef in = LLVMGetFirstInstruction(block); in;
			     in = LLVMGetNextInstruction(in))
				for (uint32_t k = 0, n = operands(in); k < n; k++) {
					LLVMValueRef x = LLVMGetOperand(in, k);
					if (wants_memory(e, x)) LLVMSetOperand(in, k, loaded(e, &pool, &loop, x, in));
				}
		}
	}
}
