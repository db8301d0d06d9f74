/* rule_check.h - the check of derivative rules from users and hosts against
 * finite differences.
 *
 * Needs: host.h.
 *
 * Contract:
 * - Switched off, it emits nothing.
 * - Switched on, a check precedes each call of a function with a rule. The
 *   check is a host call without results. It works only once for each function
 *   and kind of arguments: the first time that it runs.
 */
#ifndef ATLED_LANG_PASSES_RULE_CHECK_H
#define ATLED_LANG_PASSES_RULE_CHECK_H

#include "lang/ir/host.h"

typedef enum RuleCheckMode { RULES_TRUSTED, RULES_WARN, RULES_FAIL } RuleCheckMode;
/* Sets the context's mode, for code specialised from now on. */
void rule_check_set(Ctx *c, RuleCheckMode mode);
RuleCheckMode rule_check_mode(const Ctx *c);

/* Emits the check of a call that is about to be emitted. names: of the
 * operands, for messages; 0 for captured values. NULL: no names. rule: where
 * the rule is written; NO_SPAN: the host's own. */
void rule_check_emit(Builder *b, HostId id, uint32_t nargs, const Ref *args, const Atom *names,
                     Span rule);

#endif
