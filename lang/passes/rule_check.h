/* rule_check.h - derivative rules that users and hosts bring, compared with
 * differences of the function they belong to.
 *
 * Needs: host.h. Guarantees: off, nothing is emitted. On, a call of a function
 * with a rule is preceded by a check, a host call without results, which does
 * its work once for each function and kinds of arguments: the first time that
 * it runs.
 */
#ifndef ATLED_LANG_PASSES_RULE_CHECK_H
#define ATLED_LANG_PASSES_RULE_CHECK_H

#include "lang/ir/host.h"

typedef enum RuleCheckMode { RULES_TRUSTED, RULES_WARN, RULES_FAIL } RuleCheckMode;
/* Of the context; for what is specialised from now on. */
void rule_check_set(Ctx *c, RuleCheckMode mode);
RuleCheckMode rule_check_mode(const Ctx *c);

/* Emits the check of a call that is about to be emitted. names: of the
 * operands, for messages; 0 for what the function captured. NULL: they have
 * none. rule: where it is written; NO_SPAN: the host's own. */
void rule_check_emit(Builder *b, HostId id, uint32_t nargs, const Ref *args, const Atom *names,
                     Span rule);

#endif
