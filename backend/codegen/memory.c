/* memory.c - loads and stores in every mode, their masks, alias metadata.
 *
 * Contract:
 * - Needs emit.h.
 * - A masked-off lane is not accessed.
 * - Two accesses are declared not to alias only if their pointers come from
 *   different allocations, or buffers that cannot share memory
 *   (emit_find_roots).
 * - Accesses assume the alignment of one element.
 */
#include "backend/codegen/emit.h"
#include <stdio.h>
#include <string.h>

/* ---- alias analysis ------------------------------------------------------ */

/* Limit of the roots in one function that get alias metadata, whose size grows
 * with the square of their number. */
enum { ROOTS_AT_MOST = 96 };

static LLVMMetadataRef text_node(Emitter *e, const char *text) {
	return LLVMMDStringInContext2(e->context, text, strlen(text));
}

static LLVMValueRef scope_list(Emitter *e, LLVMMetadataRef *scopes, uint32_t n) {
	return LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, scopes, n));
}

static LLVMMetadataRef scope_domain(Emitter *e) {
	if (!e->domain) {
		LLVMMetadataRef name = text_node(e, "kernel");
		e->domain = LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, &name, 1));
	}
	return LLVMValueAsMetadata(e->domain);
}

static LLVMMetadataRef new_scope(Emitter *e, const char *name) {
	LLVMMetadataRef parts[2] = {text_node(e, name), scope_domain(e)};
	return LLVMMDNodeInContext2(e->context, parts, 2);
}

/* Two roots may share memory only if both are buffers, neither is `alone`
 * (KF_NOALIAS), and exactly one is written: an output may be stored in an
 * input's memory. */
static bool apart(const EmitRoot *x, const EmitRoot *y) {
	return !x->buffer || !y->buffer || x->alone || y->alone || x->written == y->written;
}

/* Traces the function's pointers to the buffers and allocations that they come
 * from, and builds the metadata of these roots. */
void emit_find_roots(Emitter *e, uint32_t fn) {
	const KFn *f = e->m->fns.at[fn];
	struct EmitRoots *all = &e->all_roots[fn];
	if (all->root_of) return;
	all->root_of = emit_alloc(e, sizeof *all->root_of * f->vals.n);
	EmitRoot *roots = all->roots = emit_alloc(e, sizeof *roots * (ROOTS_AT_MOST + 1));
	int64_t buffer[ROOTS_AT_MOST + 1];
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->insts.n; i++) {
		const KInst *in = &f->insts.at[i];
		uint32_t root = 0;
		switch (in->op) {
		case K_BUFFER:
			for (uint32_t k = 1; k <= n; k++)
				if (roots[k].buffer && buffer[k] == in->imm) root = k;
			if (!root && n < ROOTS_AT_MOST) {
				root = ++n;
				buffer[root] = in->imm;
				roots[root].buffer = true;
			}
			if (root) roots[root].alone |= (in->flags & KF_NOALIAS) != 0;
			break;
		case K_ARENA:
		case K_SCRATCH:
		case K_STACK:
			if (n < ROOTS_AT_MOST) root = ++n;
			break;
		case K_SELECT: /* of pointers: the other one is null, which nobody writes */
			if (in->type == KT_PTR) root = all->root_of[f->refs.at[in->args + 1]];
			break;
		case K_PTRADD: root = all->root_of[f->refs.at[in->args]]; break;
		case K_STORE:
		case K_CONTRACT:
		case K_GEMM:
		case K_COPY:
		case K_ZERO: roots[all->root_of[f->refs.at[in->args]]].written = true; break;
		case K_HOST:
			for (uint32_t k = 0; k < in->nargs; k += 2)
				roots[all->root_of[f->refs.at[in->args + k]]].written = true;
			break;
		case K_FACTOR:
			for (uint32_t k = 0; k < 2; k++)
				roots[all->root_of[f->refs.at[in->args + k]]].written = true;
			break;
		default: break;
		}
		if (root) all->root_of[in->results] = root;
	}
	all->nroots = n;
	LLVMMetadataRef scopes[ROOTS_AT_MOST + 1];
	for (uint32_t k = 1; k <= n; k++) {
		char name[48];
		snprintf(name, sizeof name, "f%u.%u", fn, k);
		scopes[k] = new_scope(e, name);
		roots[k].scope = LLVMMetadataAsValue(e->context, scopes[k]);
		roots[k].same = scope_list(e, &scopes[k], 1);
	}
	for (uint32_t k = 1; k <= n; k++) {
		LLVMMetadataRef others[ROOTS_AT_MOST + 1];
		uint32_t nothers = 0;
		for (uint32_t j = 1; j <= n; j++)
			if (j != k && apart(&roots[k], &roots[j])) others[nothers++] = scopes[j];
		roots[k].others = nothers ? scope_list(e, others, nothers) : NULL;
	}
}

static void tag(Emitter *e, LLVMValueRef access, LLVMValueRef same, LLVMValueRef others) {
	if (same)
		LLVMSetMetadata(access, LLVMGetMDKindIDInContext(e->context, "alias.scope", 11), same);
	if (others) LLVMSetMetadata(access, LLVMGetMDKindIDInContext(e->context, "noalias", 7), others);
}

void emit_tag(Emitter *e, LLVMValueRef access, KRef pointer) {
	uint32_t root = pointer ? e->fn->root_of[pointer] : 0;
	if (root) tag(e, access, e->fn->roots[root].same, e->fn->roots[root].others);
}

bool emit_apart(const Emitter *e, KRef p, KRef q) {
	const uint32_t x = e->fn->root_of[p], y = e->fn->root_of[q];
	return x && y && x != y && apart(&e->fn->roots[x], &e->fn->roots[y]);
}

/* The call record is not user memory: it aliases no root of the function. */
void emit_tag_call_record(Emitter *e, LLVMValueRef access) {
	LLVMMetadataRef scopes[ROOTS_AT_MOST + 1];
	if (!e->call_scopes) {
		LLVMMetadataRef scope = new_scope(e, "call");
		e->call_scopes = scope_list(e, &scope, 1);
	}
	for (uint32_t k = 1; k <= e->fn->nroots; k++)
		scopes[k - 1] = LLVMValueAsMetadata(e->fn->roots[k].scope);
	tag(e, access, e->call_scopes, e->fn->nroots ? scope_list(e, scopes, e->fn->nroots) : NULL);
}

/* ---- contiguous access --------------------------------------------------- */

LLVMValueRef emit_element(Emitter *e, KType t, LLVMValueRef pointer, LLVMValueRef index) {
	return LLVMBuildGEP2(e->b, emit_memory_type(e, t, 0), pointer, &index, 1, "");
}

LLVMValueRef emit_first_lanes(Emitter *e, uint32_t lanes, LLVMValueRef count) {
	LLVMValueRef limit = emit_intrinsic2(e, "llvm.smin", count, emit_i64(e, lanes));
	limit = LLVMBuildTrunc(e->b, limit, e->i32, "");
	LLVMValueRef number[256];
	if (lanes > 256) emit_stop(e, "vectors of %u lanes", lanes);
	for (uint32_t i = 0; i < lanes; i++) number[i] = emit_i32(e, (int32_t)i);
	LLVMValueRef all = lanes > 1 ? LLVMConstVector(number, lanes) : number[0];
	return LLVMBuildICmp(e->b, LLVMIntSLT, all, emit_spread(e, limit, lanes), "mask");
}

/* Converts bytes of memory to bools, and back. */
static LLVMValueRef loaded(Emitter *e, KType t, LLVMValueRef x) {
	if (t != KT_BOOL) return x;
	return LLVMBuildICmp(e->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
}

static LLVMValueRef storable(Emitter *e, KType t, LLVMValueRef x) {
	return t == KT_BOOL ? LLVMBuildZExt(e->b, x, emit_memory_type(e, t, emit_lanes(x)), "") : x;
}

LLVMValueRef emit_load(Emitter *e, KType t, uint32_t lanes, LLVMValueRef address, KRef pointer,
                       LLVMValueRef mask) {
	LLVMTypeRef type = emit_memory_type(e, t, lanes);
	LLVMValueRef x;
	if (mask && lanes > 1) {
		LLVMTypeRef types[2] = {type, e->ptr};
		x = emit_intrinsic(e, "llvm.masked.load", 2, types, 4,
		                   (LLVMValueRef[]){address, emit_i32(e, (int32_t)ktype_size(t)), mask,
		                                    LLVMConstNull(type)});
	} else {
		x = LLVMBuildLoad2(e->b, type, address, "");
		LLVMSetAlignment(x, ktype_size(t));
	}
	emit_tag(e, x, pointer);
	return loaded(e, t, x);
}

/* Is the mask a constant that covers just the first lanes? Sets *count to their
 * number. */
static bool known_first(LLVMValueRef mask, uint32_t lanes, uint32_t *count) {
	if (!LLVMIsConstant(mask)) return false;
	bool ended = false;
	*count = 0;
	for (uint32_t i = 0; i < lanes; i++) {
		LLVMValueRef one = LLVMGetAggregateElement(mask, i);
		if (!one || !LLVMIsAConstantInt(one)) return false;
		const bool on = LLVMConstIntGetZExtValue(one);
		if (on && ended) return false;
		ended = ended || !on;
		*count += on;
	}
	return true;
}

/* Stores the first `count` lanes, with one store for each power of two in
 * count. Masked stores are slow on some processors. */
static void store_first(Emitter *e, KType t, LLVMValueRef value, LLVMValueRef address, KRef pointer,
                        uint32_t count) {
	uint32_t from = 0;
	for (uint32_t size = emit_lanes(value); size; size /= 2) {
		if (!(count & size)) continue;
		LLVMValueRef part = size > 1 ? emit_part(e, value, from, size)
		                             : LLVMBuildExtractElement(e->b, value, emit_i64(e, from), ""),
					 at = emit_i64(e, (int64_t)from * ktype_size(t));
		LLVMValueRef store =
			LLVMBuildStore(e->b, part, LLVMBuildGEP2(e->b, e->i8, address, &at, 1, ""));
		LLVMSetAlignment(store, ktype_size(t));
		emit_tag(e, store, pointer);
		from += size;
	}
}

void emit_store(Emitter *e, KType t, LLVMValueRef value, LLVMValueRef address, KRef pointer,
                LLVMValueRef mask) {
	value = storable(e, t, value);
	LLVMValueRef store;
	uint32_t count;
	if (mask && emit_lanes(value) > 1) {
		if (known_first(mask, emit_lanes(value), &count)) {
			store_first(e, t, value, address, pointer, count);
			return;
		}
		LLVMTypeRef types[2] = {LLVMTypeOf(value), e->ptr};
		store = emit_intrinsic(
			e, "llvm.masked.store", 2, types, 4,
			(LLVMValueRef[]){value, address, emit_i32(e, (int32_t)ktype_size(t)), mask});
	} else {
		store = LLVMBuildStore(e->b, value, address);
		LLVMSetAlignment(store, ktype_size(t));
	}
	emit_tag(e, store, pointer);
}

static LLVMValueRef reversed(Emitter *e, LLVMValueRef x) {
	int lanes[256];
	uint32_t n = emit_lanes(x);
	for (uint32_t i = 0; i < n; i++) lanes[i] = (int)(n - 1 - i);
	return emit_shuffle(e, x, NULL, n, lanes);
}

/* ---- gather and scatter -------------------------------------------------- */

static LLVMValueRef all_lanes(Emitter *e, uint32_t lanes) {
	return emit_number(e, KT_BOOL, lanes, 1);
}

static LLVMValueRef gather(Emitter *e, KType t, uint32_t lanes, LLVMValueRef addresses, KRef root,
                           LLVMValueRef mask) {
	LLVMTypeRef types[2] = {emit_memory_type(e, t, lanes), LLVMTypeOf(addresses)};
	LLVMValueRef x = emit_intrinsic(e, "llvm.masked.gather", 2, types, 4,
	                                (LLVMValueRef[]){addresses, emit_i32(e, (int32_t)ktype_size(t)),
	                                                 mask ? mask : all_lanes(e, lanes),
	                                                 LLVMConstNull(types[0])});
	emit_tag(e, x, root);
	return loaded(e, t, x);
}

/* Lanes are written in order, so the last of several equal addresses wins. */
static void scatter(Emitter *e, KType t, LLVMValueRef value, LLVMValueRef addresses, KRef root,
                    LLVMValueRef mask) {
	value = storable(e, t, value);
	LLVMTypeRef types[2] = {LLVMTypeOf(value), LLVMTypeOf(addresses)};
	LLVMValueRef store =
		emit_intrinsic(e, "llvm.masked.scatter", 2, types, 4,
	                   (LLVMValueRef[]){value, addresses, emit_i32(e, (int32_t)ktype_size(t)),
	                                    mask ? mask : all_lanes(e, emit_lanes(value))});
	emit_tag(e, store, root);
}

/* index + lane*stride for all lanes. */
static LLVMValueRef strided_index(Emitter *e, uint32_t lanes, LLVMValueRef index,
                                  LLVMValueRef stride) {
	LLVMValueRef number[256];
	if (lanes > 256) emit_stop(e, "vectors of %u lanes", lanes);
	for (uint32_t i = 0; i < lanes; i++) number[i] = emit_i64(e, i);
	LLVMValueRef offsets =
		LLVMBuildMul(e->b, LLVMConstVector(number, lanes), emit_spread(e, stride, lanes), "");
	return LLVMBuildAdd(e->b, emit_spread(e, index, lanes), offsets, "");
}

/* Loads every k-th element for k = 2, 3, 4: k contiguous vectors, none of which
 * reads past the last element needed, and shuffles that pick. */
static LLVMValueRef load_every(Emitter *e, KType t, uint32_t lanes, LLVMValueRef pointer,
                               LLVMValueRef index, int k, KRef root) {
	LLVMValueRef picked = NULL;
	/* lanes before `next` are picked */
	int L = (int)lanes, last = (L - 1) * k + 1 - L, pick[256], next = 0;
	for (int v = 0; v < k && next < L; v++) {
		int first = v * L < last ? v * L : last, begin = next;
		while (next < L && next * k < first + L) next++;
		if (next == begin) continue;
		LLVMValueRef at =
			emit_element(e, t, pointer, LLVMBuildAdd(e->b, index, emit_i64(e, first), ""));
		LLVMValueRef part = emit_load(e, t, lanes, at, root, NULL);
		for (int l = 0; l < L; l++)
			pick[l] = l < begin ? l : l < next ? l * k - first + (picked ? L : 0) : -1;
		picked = picked ? emit_shuffle(e, picked, part, lanes, pick)
		                : emit_shuffle(e, part, NULL, lanes, pick);
	}
	return picked;
}

LLVMValueRef emit_load_strided(Emitter *e, KType t, uint32_t lanes, LLVMValueRef pointer,
                               LLVMValueRef index, LLVMValueRef stride, KRef root,
                               LLVMValueRef mask) {
	if (lanes <= 1) return emit_load(e, t, 1, emit_element(e, t, pointer, index), root, NULL);
	if (LLVMIsAConstantInt(stride)) {
		int64_t k = LLVMConstIntGetSExtValue(stride);
		if (k == 0)
			return emit_spread(
				e, emit_load(e, t, 1, emit_element(e, t, pointer, index), root, NULL), lanes);
		if (k == 1) return emit_load(e, t, lanes, emit_element(e, t, pointer, index), root, mask);
		if (k == -1) {
			LLVMValueRef first = LLVMBuildSub(e->b, index, emit_i64(e, lanes - 1), "");
			LLVMValueRef x = emit_load(e, t, lanes, emit_element(e, t, pointer, first), root,
			                           mask ? reversed(e, mask) : NULL);
			return reversed(e, x);
		}
		if (k >= 2 && k <= 4 && !mask) return load_every(e, t, lanes, pointer, index, (int)k, root);
	}
	if (mask)
		return gather(e, t, lanes,
		              emit_element(e, t, pointer, strided_index(e, lanes, index, stride)), root,
		              mask);
	LLVMValueRef parts[256];
	if (lanes > 256) emit_stop(e, "vectors of %u lanes", lanes);
	for (uint32_t l = 0; l < lanes; l++) {
		LLVMValueRef offset =
			LLVMBuildAdd(e->b, index, LLVMBuildMul(e->b, stride, emit_i64(e, l), ""), "");
		parts[l] = emit_load(e, t, 1, emit_element(e, t, pointer, offset), root, NULL);
	}
	return emit_join(e, lanes, parts);
}

void emit_store_strided(Emitter *e, KType t, LLVMValueRef value, LLVMValueRef pointer,
                        LLVMValueRef index, LLVMValueRef stride, KRef root, LLVMValueRef mask) {
	uint32_t lanes = emit_lanes(value);
	if (lanes <= 1) {
		emit_store(e, t, value, emit_element(e, t, pointer, index), root, NULL);
		return;
	}
	if (LLVMIsAConstantInt(stride)) {
		int64_t k = LLVMConstIntGetSExtValue(stride);
		if (k == 1) {
			emit_store(e, t, value, emit_element(e, t, pointer, index), root, mask);
			return;
		}
		if (k == -1) {
			LLVMValueRef first = LLVMBuildSub(e->b, index, emit_i64(e, lanes - 1), "");
			emit_store(e, t, reversed(e, value), emit_element(e, t, pointer, first), root,
			           mask ? reversed(e, mask) : NULL);
			return;
		}
	}
	if (mask) {
		scatter(e, t, value, emit_element(e, t, pointer, strided_index(e, lanes, index, stride)),
		        root, mask);
		return;
	}
	for (uint32_t l = 0; l < lanes; l++) {
		LLVMValueRef offset =
			LLVMBuildAdd(e->b, index, LLVMBuildMul(e->b, stride, emit_i64(e, l), ""), "");
		emit_store(e, t, LLVMBuildExtractElement(e->b, value, emit_i64(e, l), ""),
		           emit_element(e, t, pointer, offset), root, NULL);
	}
}

/* ---- lane by lane -------------------------------------------------------- */

/* The number of the iteration's lanes that are elements. */
static LLVMValueRef lane_count(Emitter *e, uint32_t lanes) {
	const EmitVector *v = e->vector;
	return v->mask ? emit_intrinsic2(e, "llvm.smin", LLVMBuildSub(e->b, v->n, v->base, ""),
	                                 emit_i64(e, lanes))
	               : emit_i64(e, lanes);
}

/* The operands of emit_load_lanes: returns the address and sets a stride or
 * offsets in bytes. */
static LLVMValueRef lane_addresses(Emitter *e, KType t, LLVMValueRef pointer, LLVMValueRef index,
                                   LLVMValueRef stride, LLVMValueRef *offsets) {
	bool indexed = emit_lanes(index) > 1;
	LLVMValueRef each = indexed ? index : stride;
	*offsets =
		LLVMBuildMul(e->b, each, emit_spread(e, emit_i64(e, ktype_size(t)), emit_lanes(each)), "");
	return indexed ? pointer : emit_element(e, t, pointer, index);
}

/* Is the access one for emit_load_lanes or emit_store_lanes? Also sets its
 * stride. */
static bool lane_by_lane(Emitter *e, const KInst *in, uint32_t lanes, LLVMValueRef index,
                         LLVMValueRef *stride) {
	bool neighbours = in->mode == KM_UNIT;
	*stride = emit_i64(e, in->mode == KM_UNIT);
	if (in->mode == KM_UNIFORM || (in->mode == KM_INDEXED && emit_lanes(index) <= 1) ||
	    (neighbours && e->vector && e->vector->padded))
		return false;
	if (in->mode == KM_STRIDED) {
		*stride = emit_value(e, emit_operand(e, in, in->op == K_STORE ? 3 : 2));
		if (LLVMIsAConstantInt(*stride)) {
			int64_t k = LLVMConstIntGetSExtValue(*stride);
			if (k == 0 && in->op == K_LOAD) return false;
			neighbours = k == 1 || k == -1;
		}
	}
	return emit_lane_by_lane(e, (KType)in->type, lanes, neighbours);
}

/* ---- the instructions ---------------------------------------------------- */

void emit_LOAD(Emitter *e, const KInst *in) {
	KType t = (KType)in->type;
	KRef root = emit_operand(e, in, 0);
	LLVMValueRef pointer = emit_value(e, root), index = emit_value(e, emit_operand(e, in, 1)), x;
	uint32_t lanes = in->mode == KM_UNIFORM ? 1 : in->lanes;
	LLVMValueRef mask = e->vector && lanes > 1 ? e->vector->mask : NULL, stride, offsets;
	if (lane_by_lane(e, in, lanes, index, &stride)) {
		LLVMValueRef address = lane_addresses(e, t, pointer, index, stride, &offsets);
		e->fn->vals[in->results] = loaded(
			e, t, emit_load_lanes(e, t, lanes, address, offsets, lane_count(e, lanes), root));
		return;
	}
	switch (in->mode) {
	case KM_UNIT:
		x = emit_stencil_load(e, in, pointer, index);
		if (!x)
			x = emit_load(e, t, lanes, emit_element(e, t, pointer, index), root,
			              mask && e->vector->padded ? NULL : mask);
		break;
	case KM_STRIDED:
		x = emit_load_strided(e, t, lanes, pointer, index, emit_value(e, emit_operand(e, in, 2)),
		                      root, mask);
		break;
	case KM_INDEXED:
		x = mask || emit_lanes(index) <= 1 ? NULL : emit_adjacent_gather(e, in, pointer, index);
		if (x) break;
		if (emit_lanes(index) > 1)
			x = gather(e, t, lanes, emit_element(e, t, pointer, index), root, mask);
		else
			x = emit_spread(e, emit_load(e, t, 1, emit_element(e, t, pointer, index), root, NULL),
			                lanes);
		break;
	default: x = emit_load(e, t, 1, emit_element(e, t, pointer, index), root, NULL);
	}
	e->fn->vals[in->results] = x;
}

/* A non-temporal store, for whole registers and where the address is aligned;
 * an ordinary store otherwise. streaming: the run-time condition for it. */
static void emit_stream_store(Emitter *e, KType t, LLVMValueRef value, LLVMValueRef address,
                              KRef root, LLVMValueRef streaming) {
	uint32_t lanes = emit_lanes(value), width = e->m->target.vector_bytes;
	if (t == KT_BOOL || lanes * ktype_size(t) % width || width < 16) {
		emit_store(e, t, value, address, root, NULL);
		return;
	}
	LLVMValueRef low = LLVMBuildAnd(e->b, LLVMBuildPtrToInt(e->b, address, e->i64, ""),
	                                emit_i64(e, width - 1), "");
	streaming =
		LLVMBuildAnd(e->b, streaming, LLVMBuildICmp(e->b, LLVMIntEQ, low, emit_i64(e, 0), ""), "");
	EmitIf c = {0};
	emit_if_begin(e, &c, streaming, 0);
	LLVMValueRef store = LLVMBuildStore(e->b, value, address);
	LLVMMetadataRef one = LLVMValueAsMetadata(emit_i32(e, 1));
	LLVMSetAlignment(store, width);
	LLVMMetadataRef node = LLVMMDNodeInContext2(e->context, &one, 1);
	LLVMSetMetadata(store, LLVMGetMDKindIDInContext(e->context, "nontemporal", 11),
	                LLVMMetadataAsValue(e->context, node));
	emit_tag(e, store, root);
	emit_if_else(e, &c, 0, NULL);
	emit_store(e, t, value, address, root, NULL);
	emit_if_end(e, &c, NULL, NULL);
}

/* Mode unit: stores to elements of the loop only. */
static void store_exact(Emitter *e, const KInst *in, KType t, LLVMValueRef value,
                        LLVMValueRef address, KRef root) {
	EmitVector *v = e->vector;
	uint32_t lanes = in->lanes;
	LLVMValueRef streaming = in->nargs > 3 ? emit_value(e, emit_operand(e, in, 3)) : NULL;
	if (lanes <= 1 || v->mask) {
		emit_store(e, t, value, address, root, v->mask);
		return;
	}
	EmitIf c = {0};
	if (v->partial) {
		LLVMValueRef left = LLVMBuildSub(e->b, v->n, v->base, "");
		emit_if_begin(e, &c, LLVMBuildICmp(e->b, LLVMIntSLT, left, emit_i64(e, lanes), ""), 1);
		emit_store(e, t, value, address, root, emit_first_lanes(e, lanes, left));
		emit_if_else(e, &c, 0, NULL);
	}
	if (streaming) emit_stream_store(e, t, value, address, root, streaming);
	else emit_store(e, t, value, address, root, NULL);
	if (v->partial) emit_if_end(e, &c, NULL, NULL);
}

void emit_STORE(Emitter *e, const KInst *in) {
	KType t = (KType)in->type;
	KRef root = emit_operand(e, in, 0);
	LLVMValueRef pointer = emit_value(e, root), index = emit_value(e, emit_operand(e, in, 1));
	uint32_t lanes = in->mode == KM_UNIFORM ? 1 : in->lanes;
	LLVMValueRef value = emit_value_in(e, emit_operand(e, in, 2), lanes);
	LLVMValueRef mask = e->vector && lanes > 1 ? e->vector->mask : NULL, stride, offsets;
	if (in->flags & KF_MASK_TAIL) {
		store_exact(e, in, t, value, emit_element(e, t, pointer, index), root);
		return;
	}
	if (lane_by_lane(e, in, lanes, index, &stride)) {
		LLVMValueRef address = lane_addresses(e, t, pointer, index, stride, &offsets);
		emit_store_lanes(e, t, storable(e, t, value), address, offsets, lane_count(e, lanes), root);
		return;
	}
	switch (in->mode) {
	case KM_UNIT:
		emit_store(e, t, value, emit_element(e, t, pointer, index), root,
		           mask && e->vector->padded ? NULL : mask);
		break;
	case KM_STRIDED:
		emit_store_strided(e, t, value, pointer, index, emit_value(e, emit_operand(e, in, 3)), root,
		                   mask);
		break;
	case KM_INDEXED:
		if (lanes > 1)
			scatter(e, t, value, emit_element(e, t, pointer, emit_spread(e, index, lanes)), root,
			        mask);
		else emit_store(e, t, value, emit_element(e, t, pointer, index), root, NULL);
		break;
	default: emit_store(e, t, value, emit_element(e, t, pointer, index), root, NULL);
	}
}

void emit_AHEAD(Emitter *e, const KInst *in) {
	LLVMValueRef pointer = emit_value(e, emit_operand(e, in, 0)),
				 index = emit_value(e, emit_operand(e, in, 1));
	/* for reading, high locality, data cache */
	LLVMValueRef args[4] = {emit_element(e, (KType)in->type, pointer, index), emit_i32(e, 0),
	                        emit_i32(e, 3), emit_i32(e, 1)};
	emit_intrinsic(e, "llvm.prefetch", 1, &e->ptr, 4, args);
}
