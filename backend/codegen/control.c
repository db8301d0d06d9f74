/* control.c - control flow: loops, branches, calls, parallel bodies, failure.
 *
 * Vector loops are emitted with their epilogues.
 *
 * Contract:
 * - Needs emit.h.
 * - All failures of an LLVM function leave through one block.
 * - A vector loop accesses no element past its end unless it is padded.
 * - A lane's result is the same in the main loop and in the epilogue.
 */
#include "backend/codegen/emit.h"
#include <stdio.h>
#include <string.h>

/* Limits of inlining: instructions of the callee, depth of nested inlining,
 * instructions of the caller. Each step of depth about doubles the compile time
 * of recursive functions and gains less than the one before. */
enum { IN_PLACE_INSTS = 48, IN_PLACE_DEPTH = 3, IN_PLACE_DEPTH_QUICK = 1, IN_PLACE_TOTAL = 1200 };

/* Largest stack slot. Stacks of worker threads are small, and recursion
 * multiplies slots. */
enum { STACK_AT_MOST = 1 << 20 };

/* ---- blocks -------------------------------------------------------------- */

LLVMBasicBlockRef emit_block(Emitter *e, const char *name) {
	return LLVMAppendBasicBlockInContext(e->context, e->function, name);
}

void emit_enter(Emitter *e, LLVMBasicBlockRef block) { LLVMPositionBuilderAtEnd(e->b, block); }

static LLVMBasicBlockRef here(Emitter *e) { return LLVMGetInsertBlock(e->b); }

void emit_branch(Emitter *e, LLVMValueRef condition, LLVMBasicBlockRef yes, LLVMBasicBlockRef no,
                 int unlikely) {
	LLVMValueRef br = LLVMBuildCondBr(e->b, condition, yes, no);
	if (!unlikely) return;
	LLVMMetadataRef weights[3] = {LLVMMDStringInContext2(e->context, "branch_weights", 14),
	                              LLVMValueAsMetadata(emit_i32(e, unlikely == 1 ? 1 : 100000)),
	                              LLVMValueAsMetadata(emit_i32(e, unlikely == 1 ? 100000 : 1))};
	LLVMValueRef node =
		LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, weights, 3));
	LLVMSetMetadata(br, LLVMGetMDKindIDInContext(e->context, "prof", 4), node);
}

LLVMValueRef emit_slot(Emitter *e, uint64_t bytes, unsigned alignment) {
	if (bytes > STACK_AT_MOST) emit_stop(e, "%llu bytes on the stack", (unsigned long long)bytes);
	LLVMBasicBlockRef back = here(e);
	emit_enter(e, e->entry);
	LLVMValueRef slot = LLVMBuildAlloca(e->b, LLVMArrayType2(e->i8, bytes), "");
	LLVMSetAlignment(slot, alignment);
	emit_enter(e, back);
	return slot;
}

static void join(LLVMValueRef phi, LLVMValueRef x, LLVMBasicBlockRef from) {
	LLVMAddIncoming(phi, &x, &from, 1);
}

/* ---- loops --------------------------------------------------------------- */

/* Rotated form: the test is at the end of each iteration, and once before the
 * loop. */
void emit_loop_begin(Emitter *e, EmitLoop *l, LLVMValueRef lo, LLVMValueRef hi, int64_t step,
                     uint32_t n, const LLVMValueRef *init) {
	l->hi = hi;
	l->step = step;
	l->n = n;
	l->init = init;
	l->carried = emit_alloc(e, sizeof *l->carried * (n + 1));
	l->before = here(e);
	l->body = emit_block(e, "loop");
	l->after = emit_block(e, "after");
	if (LLVMIsAConstantInt(lo) && LLVMIsAConstantInt(hi) &&
	    LLVMConstIntGetSExtValue(lo) < LLVMConstIntGetSExtValue(hi))
		l->at_least_once = true;
	if (l->at_least_once) LLVMBuildBr(e->b, l->body);
	else emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSLT, lo, hi, ""), l->body, l->after, 0);
	emit_enter(e, l->body);
	l->index = LLVMBuildPhi(e->b, e->i64, "i");
	join(l->index, lo, l->before);
	for (uint32_t k = 0; k < n; k++) {
		l->carried[k] = LLVMBuildPhi(e->b, LLVMTypeOf(init[k]), "");
		join(l->carried[k], init[k], l->before);
	}
}

void emit_loop_end(Emitter *e, EmitLoop *l, const LLVMValueRef *next) {
	LLVMValueRef index = LLVMBuildNSWAdd(e->b, l->index, emit_i64(e, l->step), "");
	LLVMBasicBlockRef from = here(e);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, index, l->hi, ""), l->body, l->after);
	join(l->index, index, from);
	emit_enter(e, l->after);
	for (uint32_t k = 0; k < l->n; k++) {
		join(l->carried[k], next[k], from);
		LLVMValueRef result = LLVMBuildPhi(e->b, LLVMTypeOf(next[k]), "");
		if (!l->at_least_once) join(result, l->init[k], l->before);
		join(result, next[k], from);
		l->carried[k] = result;
	}
}

void emit_if_begin(Emitter *e, EmitIf *c, LLVMValueRef condition, int unlikely) {
	LLVMBasicBlockRef first = emit_block(e, "then");
	c->other = emit_block(e, "else");
	c->after = emit_block(e, "joined");
	emit_branch(e, condition, first, c->other, unlikely);
	emit_enter(e, first);
}

void emit_if_else(Emitter *e, EmitIf *c, uint32_t n, const LLVMValueRef *values) {
	c->n = n;
	c->first = emit_alloc(e, sizeof *c->first * (n + 1));
	if (n) memcpy(c->first, values, sizeof *values * n);
	c->from = here(e);
	LLVMBuildBr(e->b, c->after);
	emit_enter(e, c->other);
}

void emit_if_end(Emitter *e, EmitIf *c, const LLVMValueRef *values, LLVMValueRef *results) {
	LLVMBasicBlockRef from = here(e);
	LLVMBuildBr(e->b, c->after);
	emit_enter(e, c->after);
	for (uint32_t k = 0; k < c->n; k++) {
		LLVMValueRef phi = LLVMBuildPhi(e->b, LLVMTypeOf(values[k]), "");
		join(phi, c->first[k], c->from);
		join(phi, values[k], from);
		results[k] = phi;
	}
}

/* ---- failure ------------------------------------------------------------- */

typedef struct EmitFailure {
	LLVMBasicBlockRef block;
	LLVMValueRef status;
} EmitFailure;

static LLVMBasicBlockRef failure_block(Emitter *e) {
	if (!e->failure) {
		LLVMBasicBlockRef back = here(e);
		e->failure = emit_block(e, "failure");
		emit_enter(e, e->failure);
		e->failure_status = LLVMBuildPhi(e->b, e->i32, "status");
		emit_enter(e, back);
	}
	return e->failure;
}

void emit_fail(Emitter *e, LLVMValueRef condition, LLVMValueRef status) {
	LLVMBasicBlockRef failure = failure_block(e), from = here(e), on = emit_block(e, "");
	emit_branch(e, condition, failure, on, 1);
	join(e->failure_status, status, from);
	emit_enter(e, on);
}

void emit_check(Emitter *e, LLVMValueRef status) {
	emit_fail(e, LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, 0), ""), status);
}

static LLVMValueRef call_field(Emitter *e, unsigned field) {
	return LLVMBuildStructGEP2(e->b, e->call_type, e->call, field, "");
}

void emit_FAIL_IF(Emitter *e, const KInst *in) {
	KRef operands[3] = {emit_operand(e, in, 0), emit_operand(e, in, 1), emit_operand(e, in, 2)};
	LLVMValueRef c = emit_value(e, operands[0]), lane = NULL, any = c;
	uint32_t lanes = emit_lanes(c);
	const EmitVector *v = e->vector;
	if (lanes > 1) {
		if (v && v->partial)
			c = LLVMBuildAnd(
				e->b, c,
				v->mask ? v->mask
						: emit_first_lanes(e, lanes, LLVMBuildSub(e->b, v->n, v->base, "")),
				"");
		c = LLVMBuildBitCast(e->b, c, LLVMIntTypeInContext(e->context, lanes), "");
		any = LLVMBuildICmp(e->b, LLVMIntNE, c, LLVMConstNull(LLVMTypeOf(c)), "");
	}
	LLVMBasicBlockRef cold = emit_block(e, "failed"), on = emit_block(e, "");
	emit_branch(e, any, cold, on, 1);
	emit_enter(e, cold);
	if (lanes > 1) {
		LLVMTypeRef type = LLVMTypeOf(c);
		lane = emit_intrinsic(e, "llvm.cttz", 1, &type, 2,
		                      (LLVMValueRef[]){c, LLVMConstInt(e->i1, 1, 0)});
		lane = LLVMBuildIntCast2(e->b, lane, e->i64, 0, "");
	}
	emit_tag_call_record(e, LLVMBuildStore(e->b, emit_i64(e, in->imm), call_field(e, 5)));
	for (unsigned k = 1; k < 3; k++) {
		LLVMValueRef x = emit_value(e, operands[k]);
		if (emit_lanes(x) > 1)
			x = LLVMBuildExtractElement(e->b, x, lane ? lane : emit_i64(e, 0), "");
		if (LLVMTypeOf(x) != e->i64)
			x = LLVMBuildIntCast2(e->b, x, e->i64, emit_ref_type(e, operands[k]) != KT_BOOL, "");
		emit_tag_call_record(e, LLVMBuildStore(e->b, x, call_field(e, 5 + k)));
	}
	LLVMBasicBlockRef failure = failure_block(e);
	LLVMBuildBr(e->b, failure);
	join(e->failure_status, emit_i32(e, NATIVE_FAILED_AT_SITE), cold);
	emit_enter(e, on);
}

/* Leaves when `frames` frames and what they call may not fit on the C stack. */
static void check_stack(Emitter *e, int64_t frames) {
	enum { CALLEE_BYTES = 1 << 20 }; /* of functions that are no generated code */
	enum { MOST = 4 << 20 };         /* more would leave no room on any stack */
	if (e->frame_bytes > MOST) emit_stop(e, "a frame of more than 4 MB");
	LLVMValueRef zero = emit_i32(e, 0);
	LLVMValueRef frame = emit_intrinsic(e, "llvm.frameaddress", 1, &e->ptr, 1, &zero);
	LLVMValueRef low = LLVMBuildLoad2(e->b, e->i64, call_field(e, 14), "stack_low");
	emit_tag_call_record(e, low);
	LLVMValueRef room = LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, frame, e->i64, ""), low, "");
	LLVMValueRef least = emit_i64(e, CALLEE_BYTES + frames * (int64_t)e->frame_bytes);
	emit_fail(e, LLVMBuildICmp(e->b, LLVMIntULT, room, least, ""), emit_i32(e, NATIVE_STACK_SHORT));
}

void emit_POLL(Emitter *e, const KInst *in) {
	/* Small frames are counted for all levels up to the next poll. */
	enum { SMALL_FRAME = 64 << 10 };
	const bool small = e->frame_bytes <= SMALL_FRAME;
	if (in->imm && !small) check_stack(e, 1);
	LLVMBasicBlockRef poll = emit_block(e, "poll"), on = emit_block(e, "");
	if (in->imm > 1) {
		LLVMBasicBlockRef count = emit_block(e, "count");
		LLVMValueRef level = LLVMBuildAnd(e->b, e->depth_left, emit_i64(e, in->imm - 1), "");
		emit_branch(e, LLVMBuildICmp(e->b, LLVMIntEQ, level, emit_i64(e, 0), ""), count, on, 1);
		emit_enter(e, count);
	}
	if (in->imm && small) check_stack(e, in->imm);
	LLVMValueRef at = call_field(e, 3);
	LLVMValueRef left = LLVMBuildLoad2(e->b, e->i64, at, "");
	emit_tag_call_record(e, left);
	left = LLVMBuildSub(e->b, left, emit_value(e, emit_operand(e, in, 0)), "");
	emit_tag_call_record(e, LLVMBuildStore(e->b, left, at));
	emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSLT, left, emit_i64(e, 0), ""), poll, on, 1);
	emit_enter(e, poll);
	emit_check(e, emit_runtime(e, "atled_rt_poll", "ip", &e->call));
	LLVMBuildBr(e->b, on);
	emit_enter(e, on);
}

/* An iteration of the outermost loop only stores its number. The values of a
 * progress report are collected only when one is requested. */
void emit_PROGRESS(Emitter *e, const KInst *in) {
	if (in->imm == PROGRESS_ITERATION) {
		for (unsigned k = 0; k < 2; k++)
			emit_tag_call_record(e, LLVMBuildStore(e->b, emit_value(e, emit_operand(e, in, k)),
			                                       call_field(e, 10 + k)));
		return;
	}
	LLVMValueRef asked = LLVMBuildLoad2(e->b, e->i64, call_field(e, 9), "");
	emit_tag_call_record(e, asked);
	LLVMValueRef args[5] = {e->call, emit_i64(e, in->imm), emit_i64(e, 0), emit_i64(e, 0),
	                        LLVMConstNull(e->ptr)},
				 values[8];
	for (unsigned k = 0; k < in->nargs; k++)
		*(k < 2 ? &args[2 + k] : &values[k - 2]) = emit_value(e, emit_operand(e, in, k));
	if (in->nargs > 2) args[4] = emit_slot(e, 8 * (in->nargs - 2), 8);
	LLVMBasicBlockRef tell = emit_block(e, "tell"), on = emit_block(e, "");
	emit_branch(e, LLVMBuildICmp(e->b, LLVMIntNE, asked, emit_i64(e, 0), ""), tell, on, 1);
	emit_enter(e, tell);
	for (unsigned k = 2; k < in->nargs; k++) {
		LLVMValueRef at =
			LLVMBuildGEP2(e->b, e->i64, args[4], (LLVMValueRef[]){emit_i64(e, k - 2)}, 1, "");
		LLVMBuildStore(e->b, values[k - 2], at);
	}
	emit_runtime(e, "atled_rt_progress", "vplllp", args);
	LLVMBuildBr(e->b, on);
	emit_enter(e, on);
}

/* ---- regions ------------------------------------------------------------- */

/* The index of the instruction after the region that begins at `at`. */
static uint32_t skip_region(const KFn *f, uint32_t at) {
	for (uint32_t open = 1; at < f->insts.n && open; at++) {
		const KInst *in = &f->insts.at[at];
		open += kinst_regions(in);
		if (in->op == K_END) open--;
	}
	return at;
}

/* The region's results, broadcast to the lanes of the values that begin at
 * `like`. */
static void region_results(Emitter *e, const KInst *end, uint32_t n, KRef like,
                           LLVMValueRef *results) {
	if (!end || end->nargs != n)
		emit_stop(e, "function %u: a region with %u of %u results", e->fn->fn, end ? end->nargs : 0,
		          n);
	for (uint32_t k = 0; k < n; k++)
		results[k] = emit_value_in(e, emit_operand(e, end, k), emit_ref_lanes(e, like + k));
}

static LLVMValueRef *carried_values(Emitter *e, const KInst *in, uint32_t first, uint32_t n,
                                    KRef like) {
	LLVMValueRef *init = emit_alloc(e, sizeof *init * (n + 1));
	for (uint32_t k = 0; k < n; k++)
		init[k] = emit_value_in(e, emit_operand(e, in, first + k), emit_ref_lanes(e, like + k));
	return init;
}

static uint32_t emit_LOOP(Emitter *e, const KInst *in, uint32_t at) {
	uint32_t n = in->nparams - 1;
	const KInst *end;
	EmitLoop l = {0};
	LLVMValueRef *values = carried_values(e, in, 2, n, in->params + 1);
	emit_loop_begin(e, &l, emit_value(e, emit_operand(e, in, 0)),
	                emit_value(e, emit_operand(e, in, 1)), in->imm, n, values);
	e->fn->vals[in->params] = l.index;
	for (uint32_t k = 0; k < n; k++) e->fn->vals[in->params + 1 + k] = l.carried[k];
	at = emit_region(e, at, &end);
	LLVMValueRef *next = emit_alloc(e, sizeof *next * (n + 1));
	region_results(e, end, n, in->params + 1, next);
	emit_loop_end(e, &l, next);
	for (uint32_t k = 0; k < n; k++) e->fn->vals[in->results + k] = l.carried[k];
	return at;
}

static uint32_t emit_WHILE(Emitter *e, const KInst *in, uint32_t at) {
	uint32_t n = in->nparams;
	const KInst *end;
	LLVMValueRef *values = carried_values(e, in, 0, n, in->params);
	LLVMBasicBlockRef before = here(e), head = emit_block(e, "while"), body = emit_block(e, "do"),
					  after = emit_block(e, "after");
	LLVMBuildBr(e->b, head);
	emit_enter(e, head);
	LLVMValueRef *phis = emit_alloc(e, sizeof *phis * (n + 1));
	for (uint32_t k = 0; k < n; k++) {
		phis[k] = LLVMBuildPhi(e->b, LLVMTypeOf(values[k]), "");
		join(phis[k], values[k], before);
		e->fn->vals[in->params + k] = e->fn->vals[in->params + n + k] = phis[k];
	}
	at = emit_region(e, at, &end);
	if (!end || end->nargs != 1)
		emit_stop(e, "function %u: a while without a condition", e->fn->fn);
	LLVMBuildCondBr(e->b, emit_value(e, emit_operand(e, end, 0)), body, after);
	emit_enter(e, body);
	at = emit_region(e, at, &end);
	region_results(e, end, n, in->params, values);
	for (uint32_t k = 0; k < n; k++) join(phis[k], values[k], here(e));
	LLVMBuildBr(e->b, head);
	emit_enter(e, after);
	for (uint32_t k = 0; k < n; k++) e->fn->vals[in->results + k] = phis[k];
	return at;
}

static uint32_t emit_IF(Emitter *e, const KInst *in, uint32_t at) {
	uint32_t n = in->nresults;
	const KInst *end;
	EmitIf c = {0};
	LLVMValueRef *values = emit_alloc(e, sizeof *values * (n + 1)),
				 *results = emit_alloc(e, sizeof *results * (n + 1));
	emit_if_begin(e, &c, emit_value(e, emit_operand(e, in, 0)), in->flags & KF_COLD ? 1 : 0);
	at = emit_region(e, at, &end);
	region_results(e, end, n, in->results, values);
	emit_if_else(e, &c, n, values);
	at = emit_region(e, at, &end);
	region_results(e, end, n, in->results, values);
	emit_if_end(e, &c, values, results);
	for (uint32_t k = 0; k < n; k++) e->fn->vals[in->results + k] = results[k];
	return at;
}

/* ---- vector loops -------------------------------------------------------- */

/* Has the region accesses that may leave the arrays even where they are
 * padded? */
static bool region_strays(const KFn *f, uint32_t at) {
	uint32_t end = skip_region(f, at);
	for (; at < end; at++) {
		const KInst *in = &f->insts.at[at];
		if ((in->op == K_LOAD || in->op == K_STORE) &&
		    (in->mode == KM_STRIDED || in->mode == KM_INDEXED))
			return true;
	}
	return false;
}

/* Emits one iteration: the region with its parameters bound. `next` may be the
 * same array as `carried`. stencil_loads: NULL: they are searched for. */
static uint32_t emit_iteration_with(Emitter *e, const KInst *in, uint32_t at, EmitVector *v,
                                    struct EmitStencilLoads *stencil_loads,
                                    const LLVMValueRef *carried, LLVMValueRef *next) {
	uint32_t n = in->nparams - 1;
	const KInst *end;
	EmitVector *outer = e->vector;
	e->vector = v;
	v->stencil_loads = v->mask         ? NULL
	                   : stencil_loads ? stencil_loads
	                                   : emit_stencil_loads_find(e, at, v->lanes);
	e->fn->vals[in->params] = v->base;
	for (uint32_t k = 0; k < n; k++) e->fn->vals[in->params + 1 + k] = carried[k];
	at = emit_region(e, at, &end);
	region_results(e, end, n, in->params + 1, next);
	e->vector = outer;
	return at;
}

static uint32_t emit_iteration(Emitter *e, const KInst *in, uint32_t at, EmitVector *v,
                               const LLVMValueRef *carried, LLVMValueRef *next) {
	return emit_iteration_with(e, in, at, v, NULL, carried, next);
}

/* Emits the loop over base = 0, lanes, 2 lanes ... < n; masked: each iteration
 * has a mask. Registers that stencil loads carry between iterations are loaded
 * for the first one only when it is known to run. */
static uint32_t emit_iterations(Emitter *e, const KInst *in, uint32_t at, EmitVector *v,
                                LLVMValueRef n, LLVMValueRef *values, bool masked) {
	const uint32_t ncarried = in->nparams - 1;
	struct EmitStencilLoads *stencil_loads =
		masked ? NULL : emit_stencil_loads_find(e, at, v->lanes);
	LLVMValueRef *init = emit_alloc(e, sizeof *init * (ncarried + EMIT_STENCIL_CARRIED + 1)),
				 *next = emit_alloc(e, sizeof *next * (ncarried + EMIT_STENCIL_CARRIED + 1));
	EmitLoop l = {0};
	EmitIf any = {0};
	memcpy(init, values, sizeof *init * ncarried);
	const LLVMValueRef none = emit_i64(e, 0);
	const uint32_t extra = emit_stencil_loads_carry(e, stencil_loads, in, at - 1);
	const bool asked = extra && !LLVMIsAConstantInt(n);
	if (asked) {
		emit_if_begin(e, &any, LLVMBuildICmp(e->b, LLVMIntSLT, none, n, ""), 0);
		l.at_least_once = true;
	}
	emit_stencil_loads_begin(e, stencil_loads, in, init + ncarried);
	v->trip_count = n;
	emit_loop_begin(e, &l, none, n, v->lanes, ncarried + extra, init);
	v->base = l.index;
	if (masked) v->mask = emit_first_lanes(e, v->lanes, LLVMBuildSub(e->b, n, v->base, ""));
	emit_stencil_loads_open(stencil_loads, l.carried + ncarried);
	at = emit_iteration_with(e, in, at, v, stencil_loads, l.carried, next);
	emit_stencil_loads_close(stencil_loads, next + ncarried);
	emit_loop_end(e, &l, next);
	if (asked) {
		emit_if_else(e, &any, ncarried, l.carried);
		emit_if_end(e, &any, values, l.carried);
	}
	memcpy(values, l.carried, sizeof *values * ncarried);
	return at;
}

/* May the epilogue use vectors of half as many lanes? It may where a vector
 * takes two registers and nothing reduces lanes. */
static bool rest_may_be_half(const Emitter *e, const KInst *in, uint32_t at) {
	const KFn *f = e->fn->f;
	if (in->nparams > 1 || in->lanes * 8 <= e->m->target.vector_bytes ||
	    e->m->target.vector_bytes < 32 || !e->options->level)
		return false;
	for (uint32_t end = skip_region(f, at); at < end; at++)
		if (f->insts.at[at].op == K_REDUCE_LANES || f->insts.at[at].op == K_VLOOP) return false;
	return true;
}

static void halve_lanes(KFn *f, uint32_t first, uint32_t n, uint32_t lanes) {
	for (uint32_t k = first; k < first + n; k++)
		if (f->vals.at[k].lanes == lanes) f->vals.at[k].lanes = (uint16_t)(lanes / 2);
}

/* The function with half as many lanes in the region: a copy that the frame
 * keeps. */
static const KFn *with_half_lanes(Emitter *e, const KInst *in, uint32_t at) {
	const KFn *f = e->fn->f;
	KFn *half = e->fn->half;
	if (!half) {
		e->fn->half = half = emit_alloc(e, sizeof *half);
		*half = *f;
		half->insts.at = emit_alloc(e, f->insts.n * sizeof *f->insts.at);
		half->vals.at = emit_alloc(e, f->vals.n * sizeof *f->vals.at);
		memcpy(half->insts.at, f->insts.at, f->insts.n * sizeof *f->insts.at);
		memcpy(half->vals.at, f->vals.at, f->vals.n * sizeof *f->vals.at);
	}
	for (uint32_t end = skip_region(f, at); at < end; at++) {
		KInst *inner = &half->insts.at[at];
		if (inner->lanes == in->lanes) inner->lanes /= 2;
		halve_lanes(half, inner->results, inner->nresults, in->lanes);
		halve_lanes(half, inner->params, inner->nparams * (inner->op == K_WHILE ? 2 : 1),
		            in->lanes);
	}
	return half;
}

/* Emits the epilogue with one or two half vectors. A row of 20 elements then
 * takes two vectors of 8 lanes and one of 4. */
static void emit_half_width_iterations(Emitter *e, const KInst *in, uint32_t at, EmitVector *v,
                                       LLVMValueRef whole, LLVMValueRef n) {
	const KFn *f = e->fn->f;
	EmitLoop l = {0};
	e->fn->f = with_half_lanes(e, in, at);
	v->lanes /= 2;
	if (LLVMIsAConstantInt(n) && LLVMIsAConstantInt(whole)) {
		const int64_t count = LLVMConstIntGetSExtValue(n);
		for (int64_t base = LLVMConstIntGetSExtValue(whole); base < count; base += v->lanes) {
			v->base = emit_i64(e, base);
			v->partial = base + v->lanes > count;
			v->mask = v->partial ? emit_first_lanes(e, v->lanes, emit_i64(e, count - base)) : NULL;
			emit_iteration(e, in, at, v, NULL, NULL);
		}
		e->fn->f = f;
		return;
	}
	emit_loop_begin(e, &l, whole, n, v->lanes, 0, NULL);
	v->base = l.index;
	v->mask = emit_first_lanes(e, v->lanes, LLVMBuildSub(e->b, n, v->base, ""));
	emit_iteration(e, in, at, v, NULL, NULL);
	emit_loop_end(e, &l, NULL);
	e->fn->f = f;
}

static uint32_t emit_VLOOP(Emitter *e, const KInst *in, uint32_t at) {
	uint32_t lanes = in->lanes ? in->lanes : 1, ncarried = in->nparams - 1;
	LLVMValueRef n = emit_value(e, emit_operand(e, in, 0));
	LLVMValueRef *values = carried_values(e, in, 1, ncarried, in->params + 1);
	EmitVector v = {.lanes = lanes, .n = n, .padded = in->flags & KF_PADDED};
	bool known = LLVMIsAConstantInt(n);
	int64_t count = known ? LLVMConstIntGetSExtValue(n) : 0;
	uint32_t after = skip_region(e->fn->f, at);
	if (lanes & (lanes - 1)) emit_stop(e, "vectors of %u lanes", lanes);
	if (known && count <= 0) {
		/* no iteration: the results are the initial values */
	} else if (in->flags & KF_SINGLE_TRIP) {
		if (known && count > lanes)
			emit_stop(e, "%lld elements in one vector of %u", (long long)count, lanes);
		v.base = emit_i64(e, 0);
		v.partial = !known || count < lanes;
		if (v.partial) v.mask = emit_first_lanes(e, lanes, n);
		emit_iteration(e, in, at, &v, values, values);
	} else if (lanes == 1 || (known && count % lanes == 0)) {
		emit_iterations(e, in, at, &v, n, values, false);
	} else if (v.padded && !region_strays(e->fn->f, at)) {
		v.partial = true;
		emit_iterations(e, in, at, &v, n, values, false);
	} else if (e->options->once && !(known && count < lanes)) {
		v.partial = true;
		emit_iterations(e, in, at, &v, n, values, true);
	} else {
		LLVMValueRef some = known ? n : emit_intrinsic2(e, "llvm.smax", n, emit_i64(e, 0));
		LLVMValueRef whole = LLVMBuildAnd(e->b, some, emit_i64(e, -(int64_t)lanes), "whole");
		if (!known || count >= lanes) emit_iterations(e, in, at, &v, whole, values, false);
		EmitIf c = {0};
		LLVMValueRef *without = emit_alloc(e, sizeof *without * (ncarried + 1));
		memcpy(without, values, sizeof *without * ncarried);
		if (!known) emit_if_begin(e, &c, LLVMBuildICmp(e->b, LLVMIntSLT, whole, some, ""), 0);
		v.partial = true;
		if (rest_may_be_half(e, in, at)) {
			emit_half_width_iterations(e, in, at, &v, whole, n);
		} else {
			v.base = whole;
			v.mask = emit_first_lanes(e, lanes, LLVMBuildSub(e->b, n, whole, ""));
			emit_iteration(e, in, at, &v, values, values);
		}
		if (!known) {
			emit_if_else(e, &c, ncarried, values);
			emit_if_end(e, &c, without, values);
		}
	}
	for (uint32_t k = 0; k < ncarried; k++) e->fn->vals[in->results + k] = values[k];
	return after;
}

/* ---- calls --------------------------------------------------------------- */

/* Is the callee inlined? Functions with loops are not: the call costs little
 * beside the loop, and they often have many callers, for which they are
 * compiled only once. */
static bool in_place(const Emitter *e, const KFn *callee) {
	uint32_t depth = e->options->level ? IN_PLACE_DEPTH : IN_PLACE_DEPTH_QUICK,
			 weight = callee->insts.n;
	if (weight > IN_PLACE_INSTS || e->fn->depth >= depth || e->emitted + weight > IN_PLACE_TOTAL)
		return false;
	for (uint32_t i = 0; i < callee->insts.n; i++) {
		const KInst *in = &callee->insts.at[i];
		switch (in->op) {
		case K_LOOP:
		case K_VLOOP:
		case K_WHILE:
		case K_PARALLEL:
		case K_CONTRACT:
		case K_STACK: return false;
		case K_PRIM: weight += emit_prim_size((Op)in->prim) - 1; break;
		default: break;
		}
	}
	return weight <= IN_PLACE_INSTS && callee->insts.n &&
	       callee->insts.at[callee->insts.n - 1].op == K_RETURN;
}

/* Between begin_reported and end_reported, failures leave through a block that
 * records the call site. */
static EmitFailure begin_reported(Emitter *e, const KInst *in) {
	const EmitFailure outer = {e->failure, e->failure_status};
	if (in->params) e->failure = NULL;
	return outer;
}

static void end_reported(Emitter *e, const KInst *in, EmitFailure outer) {
	if (!in->params) return;
	const EmitFailure inner = {e->failure, e->failure_status};
	e->failure = outer.block;
	e->failure_status = outer.status;
	if (!inner.block) return;
	LLVMBasicBlockRef on = here(e), failure = failure_block(e);
	emit_enter(e, inner.block);
	emit_runtime(e, "atled_rt_called", "vpl",
	             (LLVMValueRef[]){e->call, emit_i64(e, in->params - 1)});
	LLVMBuildBr(e->b, failure);
	join(e->failure_status, inner.status, inner.block);
	emit_enter(e, on);
}

void emit_CALL(Emitter *e, const KInst *in) {
	if ((uint64_t)in->imm >= e->m->fns.n || !in->imm)
		emit_stop(e, "a call of function %lld", (long long)in->imm);
	uint32_t callee = (uint32_t)in->imm;
	const KFn *f = e->m->fns.at[callee];
	if (in->nargs != f->nparams)
		emit_stop(e, "a call with %u of %u operands", in->nargs, f->nparams);
	LLVMValueRef outer_depth = e->depth_left;
	LLVMValueRef depth = outer_depth;
	const EmitFailure outer_failure = begin_reported(e, in);
	if (!(in->flags & KF_NO_DEPTH_CHECK)) {
		depth = LLVMBuildNSWSub(e->b, outer_depth, emit_i64(e, 1), "");
		emit_fail(e, LLVMBuildICmp(e->b, LLVMIntSLT, depth, emit_i64(e, 0), ""),
		          emit_i32(e, NATIVE_TOO_DEEP));
	}
	LLVMValueRef *args = emit_alloc(e, sizeof *args * (in->nargs + 2));
	for (uint32_t i = 0; i < in->nargs; i++) args[2 + i] = emit_value(e, emit_operand(e, in, i));
	if (in_place(e, f)) {
		EmitFn *caller = e->fn;
		EmitVector *vector = e->vector;
		const KInst *end;
		e->depth_left = depth;
		e->vector = NULL;
		emit_enter_fn(e, callee, args + 2);
		emit_region(e, 0, &end);
		if (!end || end->nargs != f->nresults)
			emit_stop(e, "function %u does not return its results", callee);
		for (uint32_t i = 0; i < f->nresults; i++)
			caller->vals[in->results + i] = emit_value(e, emit_operand(e, end, i));
		e->fn = caller;
		e->vector = vector;
		e->depth_left = outer_depth;
		end_reported(e, in, outer_failure);
		return;
	}
	args[0] = e->call;
	args[1] = depth;
	LLVMValueRef function = emit_declare(e, callee);
	LLVMValueRef record =
		LLVMBuildCall2(e->b, e->function_types[callee], function, args, in->nargs + 2, "");
	LLVMSetInstructionCallConv(record, LLVMFastCallConv);
	emit_check(e, LLVMBuildExtractValue(e->b, record, 0, ""));
	end_reported(e, in, outer_failure);
	for (uint32_t i = 0; i < f->nresults; i++)
		e->fn->vals[in->results + i] = LLVMBuildExtractValue(e->b, record, i + 1, "");
}

/* ---- parallel loops ------------------------------------------------------ */

/* Lists the values from outside that the region [at, end) uses, each once.
 * Their refs are smaller than the region's parameter. */
static uint32_t captured(Emitter *e, uint32_t at, uint32_t end, KRef limit, KRef *list) {
	const KFn *f = e->fn->f;
	bool *seen = emit_alloc(e, limit + 1);
	uint32_t n = 0;
	for (; at < end; at++) {
		const KInst *in = &f->insts.at[at];
		for (uint32_t k = 0; k < in->nargs; k++) {
			KRef x = f->refs.at[in->args + k];
			if (!x || x >= limit || seen[x]) continue;
			seen[x] = true;
			/* constants need not be passed */
			if (!LLVMIsConstant(emit_value(e, x))) list[n++] = x;
		}
	}
	return n;
}

static bool is_real(const KFn *f, const KInst *in) {
	return in->nresults == 1 &&
	       (f->vals.at[in->results].type == KT_F64 || f->vals.at[in->results].type == KT_F32);
}

/* Is the loop a leaf, one that calls nothing and cannot fail? Such a loop needs
 * only scalars and pointers. `at` is the index of the loop. */
static bool is_leaf(const KFn *f, uint32_t at) {
	if (f->insts.at[at].op != K_LOOP && f->insts.at[at].op != K_VLOOP) return false;
	for (uint32_t end = skip_region(f, at + 1); at < end; at++) switch (f->insts.at[at].op) {
		case K_CALL:
		case K_CONTRACT:
		case K_GEMM:
		case K_FACTOR:
		case K_HOST:
		case K_PARALLEL:
		case K_FAIL_IF:
		case K_POLL:
		case K_PROGRESS:
		case K_ARENA:
		case K_SCRATCH:
		case K_STACK:
		case K_COPY:
		case K_ZERO:
		case K_WHILE: return false;
		default: break;
		}
	return true;
}

/* Is the region plain (EMIT_PLAIN)? Leaf loops nested in fewer than `apart`
 * other loops and branches do not count, since they are outlined. needs_calls:
 * a region without calls, other than those of outlined loops, is not plain. */
static bool is_plain(const KFn *f, uint32_t at, uint32_t apart, bool needs_calls) {
	enum { DEEPEST = 32, ENOUGH = 40 }; /* ENOUGH: instructions from which outlining loops pays */
	/* by depth, of the open loop or branch; fills: it only stores values
	 * defined before it */
	bool calls[DEEPEST] = {false}, fills[DEEPEST] = {false};
	uint8_t loops[DEEPEST], left[DEEPEST];
	uint32_t depth = 0, reals = 0, n = 0, leaves = 0;
	for (; at < f->insts.n; at++, n++) {
		const KInst *in = &f->insts.at[at];
		if (depth < apart && is_leaf(f, at)) {
			at = skip_region(f, at + 1) - 1;
			leaves++;
			calls[depth] = true;
			continue;
		}
		switch (in->op) {
		case K_PARALLEL: at = skip_region(f, at + 1) - 1; continue;
		case K_VLOOP: return false;
		case K_CALL:
			/* user functions */
			if (!(in->flags & KF_NO_DEPTH_CHECK) && (depth || needs_calls)) return false;
			calls[depth] = true;
			break;
		case K_FACTOR:
		case K_HOST:
		case K_CONTRACT:
		case K_GEMM:
			if (depth > 1) return false; /* they may be small and many */
			calls[depth] = true;
			break;
		case K_LOOP:
		case K_WHILE:
		case K_IF:
			if (++depth == DEEPEST) return false;
			calls[depth] = false;
			fills[depth] = in->op == K_LOOP && in->nparams == 1;
			loops[depth] = in->op != K_IF;
			left[depth] = (uint8_t)kinst_regions(in);
			break;
		case K_END:
			if (!depth) at = f->insts.n; /* the region's own end */
			else if (!--left[depth]) {
				if (loops[depth] && !calls[depth] && !fills[depth]) return false;
				depth--;
				calls[depth] |= calls[depth + 1];
			}
			break;
		default:
			if (in->op == K_LOAD) fills[depth] = false;
			if (in->op != K_CONST && in->op != K_WORD) reals += is_real(f, in);
		}
	}
	return reals * 8 <= n && (!apart || (leaves && n >= ENOUGH)) && (!needs_calls || calls[0]);
}

void emit_mark_plain(Emitter *e, LLVMValueRef function, const KFn *f, uint32_t at) {
	/* instructions of a module's kernel code from which separating plain code
	 * pays */
	enum { LARGE = 1000 };
	const bool body = at > 0, entry = !body && f == e->m->fns.at[0];
	uint32_t total = 0;
	for (uint32_t k = 0; k < e->m->fns.n; k++) total += e->m->fns.at[k]->insts.n;
	e->apart = false;
	if (!is_plain(f, at, 0, !body && !entry)) {
		/* A parallel body's own loop runs over blocks of rows. The entry's
		 * outer loop is the program's and may be hot. */
		e->apart = (body || entry) && total >= LARGE && e->options->level == 2 &&
		           !e->options->debug_lines && is_plain(f, at, body ? 2 : 1, false);
		if (!e->apart) return;
	}
	LLVMAddAttributeAtIndex(
		function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
		LLVMCreateStringAttribute(e->context, EMIT_PLAIN, strlen(EMIT_PLAIN), "", 0));
}

/* Outlines a loop as a function of the call record and the values captured from
 * outside. It returns a record of the loop's results. */
static uint32_t emit_leaf(Emitter *e, const KInst *in, uint32_t at) {
	const KFn *f = e->fn->f;
	const uint32_t after = skip_region(f, at);
	KRef *list = emit_alloc(e, sizeof *list * (in->params + 1));
	const uint32_t n = captured(e, at - 1, after, in->params, list);
	const uint32_t nresults = in->op == K_VLOOP || in->op == K_LOOP ? in->nparams - 1u : 0;
	LLVMTypeRef *types = emit_alloc(e, sizeof *types * (n + 1)),
				*results = emit_alloc(e, sizeof *results * (nresults + 1));
	LLVMValueRef *args = emit_alloc(e, sizeof *args * (n + 1));
	args[0] = e->call;
	for (uint32_t k = 0; k < n; k++) args[1 + k] = emit_value(e, list[k]);
	for (uint32_t k = 0; k <= n; k++) types[k] = LLVMTypeOf(args[k]);
	for (uint32_t k = 0; k < nresults; k++)
		results[k] =
			emit_type(e, emit_ref_type(e, in->results + k), emit_ref_lanes(e, in->results + k));
	LLVMTypeRef record = nresults ? LLVMStructTypeInContext(e->context, results, nresults, 0)
	                              : LLVMVoidTypeInContext(e->context);
	LLVMTypeRef type = LLVMFunctionType(record, types, n + 1, 0);
	char name[96];
	snprintf(name, sizeof name, "%.60s.loop%u", e->options->entry, e->nleaves++);
	SavedPosition outer;
	LLVMValueRef call = e->call, function = emit_helper_begin(e, name, type, false, &outer),
				 x = NULL;
	e->call = LLVMGetParam(function, 0);
	e->apart = false;
	for (uint32_t k = 0; k < n; k++) e->fn->vals[list[k]] = LLVMGetParam(function, 1 + k);
	emit_nest(e, in, at);
	if (nresults) x = LLVMGetPoison(record);
	for (uint32_t k = 0; k < nresults; k++)
		x = LLVMBuildInsertValue(
			e->b, x, emit_value_in(e, in->results + k, emit_ref_lanes(e, in->results + k)), k, "");
	emit_helper_end(e, &outer, x);
	e->call = call;
	e->apart = true;
	for (uint32_t k = 0; k < n; k++) e->fn->vals[list[k]] = args[1 + k];
	x = LLVMBuildCall2(e->b, type, function, args, n + 1, "");
	for (uint32_t k = 0; k < nresults; k++)
		e->fn->vals[in->results + k] = LLVMBuildExtractValue(e->b, x, k, "");
	return after;
}

/* The region becomes a function (call, env, part). env is a record on the
 * caller's stack, with the remaining call depth and the captured values. */
static uint32_t emit_PARALLEL(Emitter *e, const KInst *in, uint32_t at) {
	const KFn *f = e->fn->f;
	uint32_t after = skip_region(f, at);
	KRef *list = emit_alloc(e, sizeof *list * (in->params + 1));
	uint32_t n = captured(e, at, after, in->params, list);
	LLVMTypeRef *types = emit_alloc(e, sizeof *types * (n + 1));
	LLVMValueRef *saved = emit_alloc(e, sizeof *saved * (n + 1));
	types[0] = e->i64;
	for (uint32_t k = 0; k < n; k++) types[1 + k] = LLVMTypeOf(emit_value(e, list[k]));
	LLVMTypeRef env_type = LLVMStructTypeInContext(e->context, types, n + 1, 0);

	LLVMBasicBlockRef back = here(e);
	emit_enter(e, e->entry);
	LLVMValueRef env = LLVMBuildAlloca(e->b, env_type, "env");
	emit_enter(e, back);
	for (uint32_t k = 0; k <= n; k++) {
		LLVMValueRef field = LLVMBuildStructGEP2(e->b, env_type, env, k, "");
		LLVMBuildStore(e->b, k ? emit_value(e, list[k - 1]) : e->depth_left, field);
	}
	char name[96];
	snprintf(name, sizeof name, "%.60s.part%u", e->options->entry, e->nbodies++);
	LLVMTypeRef body_type = LLVMFunctionType(e->i32, (LLVMTypeRef[]){e->ptr, e->ptr, e->i64}, 3, 0);
	LLVMValueRef body = LLVMAddFunction(e->module, name, body_type);
	LLVMSetLinkage(body, LLVMInternalLinkage);
	target_set_attributes(e, body);
	const bool apart = e->apart;
	emit_mark_plain(e, body, f, at);
	emit_check(e, emit_runtime(
					  e, "atled_rt_parallel", "ipppl",
					  (LLVMValueRef[]){e->call, body, env, emit_value(e, emit_operand(e, in, 0))}));

	/* The body is emitted as its own function while the current one waits. */
	Emitter outer = *e;
	LLVMMetadataRef place = LLVMGetCurrentDebugLocation2(e->b);
	back = here(e);
	emit_open_function(e, body, body_type);
	e->vector = NULL;
	LLVMValueRef record = LLVMGetParam(body, 1);
	LLVMAddAttributeAtIndex(
		body, 2,
		LLVMCreateEnumAttribute(e->context, LLVMGetEnumAttributeKindForName("noalias", 7), 0));
	for (uint32_t k = 0; k <= n; k++) {
		LLVMValueRef field =
			LLVMBuildLoad2(e->b, types[k], LLVMBuildStructGEP2(e->b, env_type, record, k, ""), "");
		if (!k) e->depth_left = field;
		else {
			saved[k - 1] = e->fn->vals[list[k - 1]];
			e->fn->vals[list[k - 1]] = field;
		}
	}
	e->fn->vals[in->params] = LLVMGetParam(body, 2);
	const KInst *end;
	emit_region(e, at, &end);
	emit_close_function(e, 0, NULL);
	for (uint32_t k = 0; k < n; k++) e->fn->vals[list[k]] = saved[k];
	e->function = outer.function;
	e->call = outer.call;
	e->depth_left = outer.depth_left;
	e->returns_record = outer.returns_record;
	e->apart = apart;
	e->return_type = outer.return_type;
	e->entry = outer.entry;
	e->failure = outer.failure;
	e->failure_status = outer.failure_status;
	e->emitted = outer.emitted;
	e->vector = outer.vector;
	e->subprogram = outer.subprogram;
	emit_enter(e, back);
	if (e->lines) LLVMSetCurrentDebugLocation2(e->b, place);
	return after;
}

uint32_t emit_nest(Emitter *e, const KInst *in, uint32_t at) {
	if (e->apart && is_leaf(e->fn->f, at - 1)) return emit_leaf(e, in, at);
	switch (in->op) {
	case K_LOOP: return emit_LOOP(e, in, at);
	case K_VLOOP: return emit_VLOOP(e, in, at);
	case K_WHILE: return emit_WHILE(e, in, at);
	case K_IF: return emit_IF(e, in, at);
	default: return emit_PARALLEL(e, in, at);
	}
}
