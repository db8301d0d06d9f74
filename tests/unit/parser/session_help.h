/* session_help.h - a context with a session, for tests that run programs below
 * the C interface.
 *
 * Needs: parser/session/session.h and its dependencies.
 * Guarantees: everything is granted, and output is discarded. ctx_free ends the
 * session.
 */
#ifndef ATLED_TESTS_UNIT_PARSER_SESSION_HELP_H
#define ATLED_TESTS_UNIT_PARSER_SESSION_HELP_H

#include "autodiff/autodiff.h"
#include "backend/backend.h"
#include "parser/session/session.h"
#include "solvers/solvers.h"

static inline void session_help_drop(void *ud, const char *text, size_t n) {
	(void)ud;
	(void)text;
	(void)n;
}

static inline Ctx *open_session(void) {
	Ctx *c = ctx_new(NULL);
	ctx_grant(c, GRANT_ALL);
	ctx_set_output(c, session_help_drop, NULL);
	backend_init(c);
	autodiff_init(c);
	solvers_init(c);
	session_init(c);
	return c;
}

#endif
