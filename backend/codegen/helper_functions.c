/* helper_functions.c - internal helper functions of the module.
 *
 * Begins and ends the emission of a helper, and emits those that access lanes
 * one by one: the inline form of a strided access is long, above all where the
 * target has no instruction for masked lanes, and a call is short.
 *
 * Contract:
 * - Needs emit.h.
 * - Each helper is emitted once for a module.
 * - Lanes are stored in order, so the last of several equal addresses wins.
 * - A lane past the count is not accessed.
 */
#include "backend/codegen/emit.h"
#include <stdio.h>
#include <string.h>

LLVMValueRef emit_kernel(Emitter *e, const char *name, LLVMTypeRef type) {
	enum { FREE_PARTS = 4 }; /* left for compiled parts */
	LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
	if (function || e->nkernels + FREE_PARTS >= NATIVE_PARTS_MOST) return function;
	const NativeKernel *kernel = kernel_named(e, name);
	if (!kernel) return NULL;
	e->kernels[e->nkernels++] = kernel;
	function = LLVMAddFunction(e->module, name, type);
	LLVMSetVisibility(function, LLVMHiddenVisibility);
	target_set_attributes(e, function);
	return function;
}

LLVMValueRef emit_helper_begin(Emitter *e, const char *name, LLVMTypeRef type, bool plain,
                               SavedPosition *outer) {
	static const char *const attributes[] = {"noinline", "optnone"};
	LLVMValueRef function = LLVMAddFunction(e->module, name, type);
	LLVMSetLinkage(function, LLVMInternalLinkage);
	target_set_attributes(e, function);
	for (uint32_t i = 0; i < 1u + plain; i++) {
		unsigned kind = LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i]));
		LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
		                        LLVMCreateEnumAttribute(e->context, kind, 0));
	}
	const char *mark = plain ? EMIT_PLAIN : EMIT_KERNEL;
	if (plain || e->options->kernels)
		LLVMAddAttributeAtIndex(
			function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
			LLVMCreateStringAttribute(e->context, mark, (unsigned)strlen(mark), "", 0));
	*outer = (SavedPosition){e->function, e->entry, LLVMGetInsertBlock(e->b),
	                         LLVMGetCurrentDebugLocation2(e->b), e->vector};
	LLVMSetCurrentDebugLocation2(e->b, NULL);
	e->function = function;
	e->vector = NULL;
	e->entry = emit_block(e, "slots");
	emit_enter(e, emit_block(e, "start"));
	return function;
}

void emit_helper_end(Emitter *e, const SavedPosition *outer, LLVMValueRef x) {
	if (x) LLVMBuildRet(e->b, x);
	else LLVMBuildRetVoid(e->b);
	emit_enter(e, e->entry);
	LLVMBuildBr(e->b, LLVMGetNextBasicBlock(e->entry));
	e->function = outer->function;
	e->entry = outer->entry;
	e->vector = outer->vector;
	emit_enter(e, outer->here);
	LLVMSetCurrentDebugLocation2(e->b, outer->line);
}

/* ---- lanes one by one ---------------------------------------------------- */

bool emit_lane_by_lane(const Emitter *e, KType t, uint32_t lanes, bool neighbours) {
	if (lanes <= 1 || !e->vector) return false;
	if (!neighbours) return !e->options->level || e->vector->mask;
	const KTarget *target = &e->m->target;
	return e->vector->mask && !target->has_masks && (t == KT_BOOL || target->vector_bytes < 32);
}

static LLVMValueRef advance(Emitter *e, LLVMValueRef p, LLVMValueRef bytes) {
	return LLVMBuildGEP2(e->b, e->i8, p, &bytes, 1, "");
}

/* Returns the function (address, stride or offsets, count [, value]) -> value
 * or nothing. */
static LLVMValueRef lanes_function(Emitter *e, KType t, uint32_t lanes, bool offsets, bool store,
                                   LLVMTypeRef *type) {
	LLVMTypeRef vector = emit_memory_type(e, t, lanes), element = emit_memory_type(e, t, 1);
	LLVMTypeRef by = offsets ? LLVMVectorType(e->i64, lanes) : e->i64,
				types[4] = {e->ptr, by, e->i64, vector};
	*type =
		LLVMFunctionType(store ? LLVMVoidTypeInContext(e->context) : vector, types, 3u + store, 0);
	static const char *const names[] = {"", "bool", "i32", "i64", "f32", "f64", "ptr"};
	char name[64];
	snprintf(name, sizeof name, "lanes.%s.%s.%sx%u", store ? "store" : "load",
	         offsets ? "offsets" : "stride", names[t], lanes);
	LLVMValueRef f = emit_kernel(e, name, *type);
	if (f) return f;
	SavedPosition outer;
	f = emit_helper_begin(e, name, *type, false, &outer);
	LLVMValueRef slot = emit_slot(e, (uint64_t)lanes * ktype_size(t), 64), where = NULL;
	LLVMSetAlignment(LLVMBuildStore(e->b, store ? LLVMGetParam(f, 3) : LLVMConstNull(vector), slot),
	                 ktype_size(t));
	if (offsets) {
		where = emit_slot(e, 8ull * lanes, 64);
		LLVMSetAlignment(LLVMBuildStore(e->b, LLVMGetParam(f, 1), where), 8);
	}
	EmitLoop l = {0};
	LLVMValueRef init[1] = {LLVMGetParam(f, 0)};
	emit_loop_begin(e, &l, emit_i64(e, 0), LLVMGetParam(f, 2), 1, 1, init);
	LLVMValueRef memory = l.carried[0], lane = emit_element(e, t, slot, l.index);
	if (offsets)
		memory = advance(e, memory,
		                 LLVMBuildLoad2(e->b, e->i64, emit_element(e, KT_I64, where, l.index), ""));
	LLVMValueRef x = LLVMBuildLoad2(e->b, element, store ? lane : memory, "");
	LLVMSetAlignment(x, ktype_size(t));
	LLVMSetAlignment(LLVMBuildStore(e->b, x, store ? memory : lane), ktype_size(t));
	LLVMValueRef next[1] = {offsets ? l.carried[0] : advance(e, memory, LLVMGetParam(f, 1))};
	emit_loop_end(e, &l, next);
	if (!store) {
		x = LLVMBuildLoad2(e->b, vector, slot, "");
		LLVMSetAlignment(x, ktype_size(t));
	}
	emit_helper_end(e, &outer, store ? NULL : x);
	return f;
}

LLVMValueRef emit_load_lanes(Emitter *e, KType t, uint32_t lanes, LLVMValueRef address,
                             LLVMValueRef offsets, LLVMValueRef count, KRef root) {
	LLVMTypeRef type;
	LLVMValueRef f = lanes_function(e, t, lanes, emit_lanes(offsets) > 1, false, &type);
	LLVMValueRef x =
		LLVMBuildCall2(e->b, type, f, (LLVMValueRef[]){address, offsets, count}, 3, "");
	emit_tag(e, x, root);
	return x;
}

void emit_store_lanes(Emitter *e, KType t, LLVMValueRef value, LLVMValueRef address,
                      LLVMValueRef offsets, LLVMValueRef count, KRef root) {
	LLVMTypeRef type;
	LLVMValueRef f = lanes_function(e, t, emit_lanes(value), emit_lanes(offsets) > 1, true, &type);
	emit_tag(e,
	         LLVMBuildCall2(e->b, type, f, (LLVMValueRef[]){address, offsets, count, value}, 4, ""),
	         root);
}
