/* stored_rule.h - derivative rules of functions, stored as IR.
 *
 * Needs: host.h. Private to lang/.
 *
 * Contract: see stored_rule.c.
 */
#ifndef ATLED_LANG_BINARY_STORED_RULE_H
#define ATLED_LANG_BINARY_STORED_RULE_H

#include "lang/ir/host.h"

/* A function that returns some of the tangents (or cotangents); `results` lists
 * their indices. */
typedef struct RulePart {
	Fn *fn; /* NULL: no rule */
	uint32_t nresults, *results;
} RulePart;

typedef struct StoredRule {
	const char *name; /* name of the function */
	uint32_t nargs;
	/* By operand: (operands, results, its tangent) -> tangents of results. */
	RulePart *tangents;
	/* The function is linear in the operands from this one on; nargs: in none.
	 */
	uint32_t from;
	/* (the other operands, cotangents of results) -> cotangents of operands. */
	RulePart transpose;
} StoredRule;

/* Whether the call's function is written in IR and has rules of its own. */
bool rule_is_storable(const HostCall *call);
/* Writes the call's rules to *out as functions, with one reference each.
 * derivatives false: only the transpose. */
void rule_take_apart(Ctx *c, Arena *a, const HostCall *call, bool derivatives, StoredRule *out);
/* Whether the functions of r fit the signature of f. */
bool rule_fits(Arena *a, const StoredRule *r, const Fn *f);
/* A call of `value` with the rules r. They must be allocated in the context's
 * arena; their functions may be filled in later. */
HostId rule_call(Ctx *c, StoredRule *r, Fn *value);

#endif
