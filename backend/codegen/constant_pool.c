/* constant_pool.c - constants of vector code as operands in memory, where LLVM
 * would broadcast them anew at each use.
 *
 * Needs: emit.h; a module on which the passes have run. Guarantees: the same
 * values. To be done only where vectors have 32 bytes, which is AVX2: LLVM
 * keeps such a constant as one number and broadcasts it into a register, an
 * instruction at each use as soon as there are more constants than registers,
 * which is every loop with vector maths. A whole vector in memory is an operand
 * of the instruction that uses it. AVX-512 has operands that broadcast, and
 * vectors of 16 bytes LLVM keeps whole by itself.
 */
#include "backend/codegen/emit.h"
#include <string.h>

/* KEPT: constants of a loop that stay in registers, of which there are 16.
 * BLOCKS: of such a loop. */
enum { VECTOR = 32, KEPT = 4, BLOCKS = 6 };

/* Constants so far. */
typedef struct Pool {
	LLVMValueRef *value, *global;
	uint32_t n, room;
} Pool;

static uint32_t element_bytes(Emit *e, LLVMTypeRef t) {
	if (LLVMGetTypeKind(t) != LLVMVectorTypeKind) return 0;
	LLVMTypeRef element = LLVMGetElementType(t);
	return element == e->f64 || element == e->i64   ? 8
	       : element == e->f32 || element == e->i32 ? 4
	                                                : 0;
}

/* The same number in all lanes of full vectors, and none that the processor
 * makes without memory (0, all ones) or that LLVM has better use for (2 x is x
 * + x, -1 a change of sign). */
static bool wants_memory(Emit *e, LLVMValueRef x) {
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

/* Where a constant may as well be a value that LLVM knows nothing about.
 * Shifts, products and quotients of integers are other instructions when it
 * does. */
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

static LLVMValueRef in_memory(Emit *e, Pool *pool, LLVMValueRef x) {
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

/* A loop of few blocks that has few constants: they stay in registers, loaded
 * before it. An operand in memory is a load in each turn. */
typedef struct Turn {
	/* the end of the block from which the loop is entered; NULL: no such
	 * loop */
	LLVMValueRef before;
	LLVMBasicBlockRef blocks[BLOCKS];
	uint32_t nblocks;
	LLVMValueRef value[KEPT], loaded[KEPT];
	uint32_t n;
} Turn;

static LLVMValueRef load_of(Emit *e, LLVMValueRef global, LLVMValueRef before) {
	LLVMPositionBuilderBefore(e->b, before);
	LLVMValueRef v = LLVMBuildLoad2(e->b, LLVMGlobalGetValueType(global), global, "");
	LLVMSetAlignment(v, VECTOR);
	return v;
}

static LLVMValueRef kept(Emit *e, Turn *turn, LLVMValueRef x, LLVMValueRef global) {
	for (uint32_t i = 0; i < turn->n; i++)
		if (turn->value[i] == x) return turn->loaded[i];
	turn->value[turn->n] = x;
	return turn->loaded[turn->n++] = load_of(e, global, turn->before);
}

/* A wider value takes the same vector several times. */
static LLVMValueRef loaded(Emit *e, Pool *pool, Turn *turn, LLVMValueRef x, LLVMValueRef before) {
	LLVMValueRef global = in_memory(e, pool, x);
	LLVMValueRef v = turn->before ? kept(e, turn, x, global) : load_of(e, global, before);
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

static bool in_turn(const Turn *t, LLVMBasicBlockRef block) {
	for (uint32_t i = 0; i < t->nblocks; i++)
		if (t->blocks[i] == block) return true;
	return false;
}

/* The blocks on the ways from the loop's first one to its last, which jumps
 * back; false: it is no loop, they are too many, or one of them is a loop
 * itself. */
static bool find_blocks(Turn *t, LLVMBasicBlockRef first, LLVMBasicBlockRef last) {
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
			if (in_turn(t, from)) continue;
			if (t->nblocks == BLOCKS) return false;
			t->blocks[t->nblocks++] = from;
		}
		if (!entered) return false; /* the function's first block: there is a way around */
	}
	return true;
}

/* The loop whose first block this is. */
static Turn find_turn(Emit *e, LLVMBasicBlockRef block) {
	Turn none = {0}, t = {0};
	LLVMValueRef phi = LLVMGetFirstInstruction(block);
	if (!phi || !LLVMIsAPHINode(phi) || LLVMCountIncoming(phi) != 2) return none;
	for (unsigned self = 0; self < 2 && !t.before; self++) {
		LLVMBasicBlockRef before = LLVMGetIncomingBlock(phi, !self);
		t.nblocks = 0;
		if (find_blocks(&t, block, LLVMGetIncomingBlock(phi, self)) && !in_turn(&t, before))
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

void emit_constants(Emit *e) {
	Pool pool = {0};
	for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f)) {
		Turn turn = {0};
		for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
		     block = LLVMGetNextBasicBlock(block)) {
			if (!in_turn(&turn, block)) turn = find_turn(e, block);
			for (LLVMValueRef in = LLVMGetFirstInstruction(block); in;
			     in = LLVMGetNextInstruction(in))
				for (uint32_t k = 0, n = operands(in); k < n; k++) {
					LLVMValueRef x = LLVMGetOperand(in, k);
					if (wants_memory(e, x)) LLVMSetOperand(in, k, loaded(e, &pool, &turn, x, in));
				}
		}
	}
}
