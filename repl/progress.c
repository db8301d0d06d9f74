/* progress.c - how far a long call has come, on standard error: after two seconds a line that is drawn anew on a terminal,
 * elsewhere a line a minute.
 *
 * Needs: program.h. Guarantees: the line is gone before anything else is written there.
 */
#include "repl/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_AFTER 2.0
#define LINE_EVERY 60.0

static double began, last_line;
static bool drawn;

void progress_begin(void) {
	began = seconds_now();
	last_line = began;
}

void progress_clear(void) {
	if (!drawn) return;
	drawn = false;
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

static const char *duration(double s, char out[32]) {
	if (s < 60) snprintf(out, 32, "%.0f s", s);
	else if (s < 3600) snprintf(out, 32, "%.0f min %02.0f s", floor(s / 60), fmod(floor(s), 60));
	else snprintf(out, 32, "%.0f h %02.0f min", floor(s / 3600), fmod(floor(s / 60), 60));
	return out;
}

/* The part that is done, or less than 0. */
static double done(const atled_progress_state *s) {
	if (s->from != s->to) return (s->time - s->from) / (s->to - s->from);
	return s->steps > 0 ? (double)s->step / (double)s->steps : -1;
}

static void describe(Buffer *b, const atled_progress_state *s, double now) {
	char text[32];
	const double part = done(s), took = now - began;
	if (part >= 0) buffer_format(b, "%3.0f %%  ", 100 * part);
	if (s->from != s->to) buffer_format(b, "t = %.4g of %.4g  dt %.2g  ", s->time, s->to, s->dt);
	if (s->steps > 0) buffer_format(b, "step %lld of %lld  ", (long long)s->step, (long long)s->steps);
	else if (s->step > 0) buffer_format(b, "step %lld  ", (long long)s->step);
	buffer_format(b, "%s", duration(took, text));
	if (part > 0.005 && part < 1) buffer_format(b, "  %s left", duration(took * (1 - part) / part, text));
}

static void tell(void *ud, const atled_progress_state *s) {
	(void)ud;
	const double now = seconds_now();
	const bool terminal = isatty(STDERR_FILENO);
	if (now - began < FIRST_AFTER || (!terminal && now - last_line < LINE_EVERY)) return;
	Buffer line = {0};
	describe(&line, s, now);
	if (line.failed) {
		buffer_free(&line);
		return;
	}
	if (terminal) {
		enum { BAR = 20 };
		int wide, high;
		const size_t columns = terminal_size(stderr, &wide, &high) && wide > 10 ? (size_t)wide - 1 : 79;
		const double part = done(s);
		fflush(stdout);
		fputs("\r\033[K", stderr);
		if (part >= 0 && line.n + BAR + 3 < columns) {
			char bar[BAR + 1];
			const int full = (int)(BAR * (part < 1 ? part : 1));
			memset(bar, '#', BAR);
			memset(bar + full, '.', (size_t)(BAR - full));
			bar[BAR] = 0;
			fprintf(stderr, "[%s] ", bar);
		}
		fprintf(stderr, "%.*s", (int)(line.n < columns ? line.n : columns), line.at);
		fflush(stderr);
		drawn = true;
	} else {
		last_line = now;
		fprintf(stderr, "atled: %s\n", line.at);
	}
	buffer_free(&line);
}

void progress_on(atled_context *ctx) {
	const char *term = getenv("TERM");
	/* a terminal that cannot erase a line gets none */
	if (isatty(STDERR_FILENO) && (!term || !*term || !strcmp(term, "dumb"))) return;
	progress_begin();
	atled_progress(ctx, tell, NULL);
}
