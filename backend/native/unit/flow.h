/* flow.h - interface of the files that order a unit and lay out its memory.
 *
 * Covers values and steps, in-place changes, and shared memory.
 *
 * Contract: private to unit/schedule.c, in_place.c and memory.c.
 * lower/schedule.h has what others may call.
 */
#ifndef ATLED_BACKEND_NATIVE_UNIT_FLOW_H
#define ATLED_BACKEND_NATIVE_UNIT_FLOW_H

#include "backend/native/lower/schedule.h"

/* ---- values and steps ---------------------------------------------------- */

static inline bool is_small(const Lower *l, Ref r) {
	return type_is_small(l->c, ref_type(l->f, r), NULL);
}
static inline const Inst *inst_at(const Lower *l, InstId i) { return &l->f->insts.at[i]; }
static inline bool is_run(const SchedStep *p) {
	return p->kind == SCHED_LOOPS || p->kind == SCHED_VECTOR_MAP;
}
static inline ValueFlow *flow_of(const Lower *l, Ref r) { return &l->flow->values[REF_INDEX(r)]; }
static inline uint32_t uses_at(const ValueFlow *v, uint32_t at) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < v->uses.n; i++) n += v->uses.at[i] == at;
	return n;
}
static inline bool used_between(const ValueFlow *v, uint32_t after, uint32_t to) {
	for (uint32_t i = 0; i < v->uses.n; i++)
		if (v->uses.at[i] > after && v->uses.at[i] <= to) return true;
	return false;
}

/* The carried values of a loop: the first initial value among the operands, and
 * value k as parameter and result of the body. */
static inline uint32_t first_init(const Inst *in) { return in->op == OP_FOR ? 1 : 0; }
static inline const Sched *body_of(const Inst *in, const SchedStep *p) {
	return p->regions[in->op == OP_FOR ? 0 : 1];
}
static inline Ref body_param(const Inst *in, const SchedStep *p, uint32_t k) {
	return ref_value(body_of(in, p)->region->params + first_init(in) + k);
}
static inline Ref body_result(const Lower *l, const Inst *in, const SchedStep *p, uint32_t k) {
	return l->f->args.at[body_of(in, p)->region->results + k];
}

/* ---- changes in place: in_place.c ---------------------------------------- */

typedef struct InPlaceChain {
	VEC(Ref) members;
} InPlaceChain;
/* Whether r, a value visible at the end of s, results from changes in place of
 * the array `from`. That array belongs to s or an outer region. Collects the
 * values on the way in `out`. */
bool in_place_chain(Lower *l, const Sched *s, Ref r, Ref from, InPlaceChain *out);
/* Sets *source to the operand whose array step p changes in place to make
 * `result`. Returns false when it does not. written: the position where the
 * result is changed next. */
bool in_place_step(Lower *l, const Sched *s, const SchedStep *p, Ref result, Ref from,
                   uint32_t written, Ref *source, InPlaceChain *out);

/* ---- memory: memory.c ---------------------------------------------------- */

/* Joins values into alias classes, computes their lifetimes and requests memory
 * for them. The order is fixed, and Lower.needed is set. */
void flow_memory(Lower *l);

#endif
