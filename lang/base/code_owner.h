/* code_owner.h - which values depend on a program of the host, or on a piece of
 * IR.
 *
 * Needs: context.h.
 *
 * Contract:
 * - A function value with the code of a node counts for the owner of the node.
 *   Other function values count for the owner that was the last when they were
 *   made: they may store ids of its functions. A function of finished IR counts
 *   for that piece of IR.
 * - A record that is no value, such as the rule of a call in a function of the
 *   IR, counts for the owners of the code that it needs.
 * - Owners are added and removed while nothing runs. Values come and go on any
 *   thread.
 */
#ifndef ATLED_LANG_BASE_CODE_OWNER_H
#define ATLED_LANG_BASE_CODE_OWNER_H

#include "lang/base/context.h"

typedef struct CodeOwner {
	uint32_t first, end;             /* nodes; they increase from owner to owner */
	_Atomic uint32_t values, others; /* live ones: with its code, made at its time */
	_Atomic uint32_t records;        /* live ones that need its code */
	bool unused;                     /* when they were last looked through */
	struct CodeOwner *next;          /* of an unused one */
} CodeOwner;

/* Without an end. Throws when memory fails. */
CodeOwner *code_owner_add(Ctx *c, uint32_t first);
void code_owner_remove(Ctx *c, CodeOwner *o); /* it counts no values */
/* One without nodes. Its memory stays with the context. Throws when memory
 * fails. */
CodeOwner *code_owner_make(Ctx *c);
void code_owner_give_back(Ctx *c, CodeOwner *o);       /* one of these that counts nothing */
CodeOwner *code_owner_of(const Ctx *c, uint32_t node); /* NULL: none */
CodeOwner *code_owner_last(const Ctx *c);              /* NULL: none */

#endif
