/* session.c - the program's context: options, messages, ^C and exit codes.
 *
 * Needs: program.h.
 *
 * Guarantees: the only global state is the context that ^C interrupts, and
 * whether a context was left open at the end.
 */
#include "repl/core/program.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic(atled_context *) interrupted;
static volatile sig_atomic_t presses, ever;
static bool limited, left_open; /* a limit has ended a call */

/* ^C interrupts the running call; the third unanswered ^C ends the process. */
static void on_interrupt(int signal_number) {
	(void)signal_number;
	atled_context *ctx = atomic_load(&interrupted);
	ever = 1;
	if (!ctx || ++presses > 2) _exit(EXIT_INTERRUPTED);
	atled_interrupt(ctx);
}

void session_catch_interrupts(atled_context *ctx) {
	presses = 0;
	progress_begin();
	atomic_store(&interrupted, ctx);
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
}

void file_sink(void *ud, const char *text, size_t n) { fwrite(text, 1, n, ud); }

static void print_sink(void *ud, const char *text, size_t n) {
	FILE *out = ud;
	progress_clear();
	fwrite(text, 1, n, out);
	if (isatty(fileno(out))) fflush(out);
}

bool use_colour(const Options *o, FILE *f) {
	if (o->colour != COLOUR_AUTO) return o->colour == COLOUR_ALWAYS;
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
	return isatty(fileno(f)) && !(no && *no) && term && strcmp(term, "dumb");
}

atled_context *session_open(const Options *o) {
	atled_engine_config config = {.size = sizeof config, .threads = o->threads, .environment = 1};
	atled_engine *engine = atled_engine_new(&config);
	atled_context *ctx = engine ? atled_context_new(engine) : NULL;
	atled_engine_free(engine);
	if (!ctx) {
		fputs("atled: cannot start: out of memory\n", stderr);
		return NULL;
	}
	atled_limit limit = {.size = sizeof limit,
	                     .memory = o->mem_limit,
	                     .steps = o->step_limit,
	                     .seconds = o->time_limit};
	atled_status st = atled_grant(ctx, o->safe ? ATLED_GRANT_OUTPUT : ATLED_GRANT_ALL);
	if (st == ATLED_OK) st = plot_bridge_install(ctx);
	if (st == ATLED_OK) st = atled_output(ctx, print_sink, stdout);
	if (st == ATLED_OK && o->has_seed) st = atled_seed(ctx, o->seed);
	if (st == ATLED_OK) st = atled_limits(ctx, &limit);
	if (st == ATLED_OK && o->check_rules) st = atled_check_rules(ctx, ATLED_RULES_FAIL);
	if (st == ATLED_OK) progress_on(ctx);
	if (st == ATLED_OK && o->dump) st = atled_dump(ctx, o->dump, file_sink, stderr);
	if (st != ATLED_OK) {
		session_report(ctx, o);
		session_close(ctx);
		return NULL;
	}
	return ctx;
}

void session_close(atled_context *ctx) {
	progress_clear();
	/* A call that cannot be interrupted may still be running. The context stays
	 * open; the process end stops the call. */
	if (ever || limited) {
		left_open = true;
		return;
	}
	if (atomic_load(&interrupted) == ctx) atomic_store(&interrupted, NULL);
	atled_context_free(ctx);
}

void session_close_last(atled_context *ctx) {
	atled_stat stat = {.size = sizeof stat};
	if (atled_stats(ctx, &stat) == ATLED_OK && stat.units_pending) {
		atomic_store(&interrupted, NULL);
		left_open = true;
	} else session_close(ctx);
}

void session_leave(int code) {
	if (left_open) _exit(code);
}

void session_report(atled_context *ctx, const Options *o) {
	progress_clear();
	fflush(stdout);
	atled_error_form form = o->json                 ? ATLED_ERROR_JSON
	                        : use_colour(o, stderr) ? ATLED_ERROR_COLOUR
	                                                : ATLED_ERROR_TEXT;
	size_t n = atled_error_count(ctx);
	for (size_t i = 0; i < n; i++) {
		atled_error e = {.size = sizeof e};
		/* The program itself requested this exit; it is no error. */
		if (atled_error_at(ctx, i, &e) == ATLED_OK && e.status == ATLED_EXIT && !e.warning)
			continue;
		atled_error_write(ctx, i, form, file_sink, stderr);
	}
}

int session_exit_code(const atled_context *ctx, atled_status st) {
	limited |= st == ATLED_LIMIT;
	const atled_error *e = atled_last_error(ctx);
	int number = e && e->code[0] == 'E' ? atoi(e->code + 1) : 0;
	switch (st) {
	case ATLED_OK: return EXIT_OK;
	case ATLED_ERROR:
		if (number == 999) return EXIT_INTERNAL;
		if (number >= 900) return EXIT_LIMIT;
		return number && number < 600 ? EXIT_COMPILE : EXIT_SCRIPT;
	case ATLED_NOMEM:
	case ATLED_LIMIT: return EXIT_LIMIT;
	case ATLED_INTERRUPTED: return EXIT_INTERRUPTED;
	case ATLED_DENIED: return EXIT_DENIED;
	case ATLED_MISUSE: return EXIT_USAGE;
	case ATLED_EXIT: return atled_exit_code(ctx);
	case ATLED_INTERNAL:
	case ATLED_BUSY: break;
	}
	return EXIT_INTERNAL;
}
