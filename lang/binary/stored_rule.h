/* stored_rule.h - derivative rules of functions as IR.
 *
 * Needs: host.h. Guarantees: see stored_rule.c. Private to lang/.
 */
#ifndef ATLED_LANG_BINARY_STORED_RULE_H
#define ATLED_LANG_BINARY_STORED_RULE_H

#include "lang/ir/host.h"

/* a function that gives some of the tangents (or cotangents): those of these
 * numbers */
typedef struct RulePart {
	Fn *fn; /* NULL: none */
	uint32_t nresults, *results;
} RulePart;

typedef struct StoredRule {
	const char *name; /* of the function */
	uint32_t nargs;
	RulePart *tangents; /* by operand: (operands, results, its tangent) -> tangents of results */
	uint32_t from;      /* linear in the operands from here on; nargs: in none */
	RulePart transpose; /* (the other operands, cotangents of results) -> cotangents of operands */
} StoredRule;

/* The call is of a function that is written in IR and has rules of its own. */
bool rule_is_storable(const HostCall *call);
/* Its rules as functions, one reference each; derivatives false: only what
 * transposes it. */
void rule_take_apart(Ctx *c, Arena *a, const HostCall *call, bool derivatives, StoredRule *out);
/* The functions of r are for a function like f. */
bool rule_fits(Arena *a, const StoredRule *r, const Fn *f);
/* A call of `value` with these rules, which are kept: they live in the
 * context's arena, and their functions may come later. */
HostId rule_call(Ctx *c, StoredRule *r, Fn *value);

#endif
