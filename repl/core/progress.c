/* progress.c - progress display of a long call on standard error.
 *
 * Method: after two seconds a terminal shows one line, which is redrawn. Other
 * outputs get one line a minute.
 *
 * Needs: program.h.
 *
 * Guarantees: the line is erased before anything else is written there.
 */
#include "repl/core/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_AFTER 2.0
#define LINE_EVERY 60.0

static double began, last_line;
/* The state of the outermost loop when it was first reported; the remaining
 * time is extrapolated from it. */
static struct {
	double part, at;     /* fraction done, and the time at which it was */
	int64_t step, steps; /* the most recent report */
	double from, to;
} loop;
static bool drawn;

void progress_begin(void) {
	began = seconds_now();
	last_line = began;
	memset(&loop, 0, sizeof loop);
	loop.at = began;
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

/* Returns the fraction that is done, or a negative value when it is unknown. */
static double done(const atled_progress_state *s) {
	if (s->from != s->to) return (s->time - s->from) / (s->to - s->from);
	return s->steps > 0 ? (double)s->step / (double)s->steps : -1;
}

/* Returns the remaining seconds, or a negative value when they are unknown. */
static double left(const atled_progress_state *s, double now) {
	const double part = done(s), gone = part - loop.part;
	return part < 1 && gone > 0.005 ? (now - loop.at) * (1 - part) / gone : -1;
}

static double interval(const char *name, double otherwise) {
	const char *text = getenv(name);
	char *end;
	const double s = text ? strtod(text, &end) : -1;
	return text && end != text && !*end && s >= 0 ? s : otherwise;
}

static void describe_one(StringBuffer *b, const atled_progress_state *s) {
	if (s->from != s->to) buffer_format(b, "t = %.4g of %.4g  dt %.2g  ", s->time, s->to, s->dt);
	if (s->steps > 0)
		buffer_format(b, "step %lld of %lld  ", (long long)s->step, (long long)s->steps);
	else if (s->step > 0) buffer_format(b, "step %lld  ", (long long)s->step);
	for (uint32_t k = 0; k < s->count; k++)
		buffer_format(b, "%s %.4g  ", s->names[k], s->values[k]);
}

/* Describes the outermost loop, whose remaining time is known best, and the
 * innermost loop, which is running. */
static void describe(StringBuffer *b, const atled_progress_state *s, double now) {
	char text[32];
	const double part = done(s), took = now - began;
	const atled_progress_state *last = s;
	while (last->inside) last = last->inside;
	if (part >= 0) buffer_format(b, "%3.0f %%  ", 100 * part);
	describe_one(b, s);
	buffer_format(b, "%s", duration(took, text));
	if (left(s, now) >= 0) buffer_format(b, "  %s left", duration(left(s, now), text));
	if (last == s) return;
	buffer_str(b, "  | ");
	describe_one(b, last);
	while (b->n && b->at[b->n - 1] == ' ') b->at[--b->n] = 0;
}

static void note_loop(const atled_progress_state *s, double now) {
	if (s->step < loop.step || s->steps != loop.steps || s->from != loop.from || s->to != loop.to) {
		const bool first = !loop.step && !loop.steps && loop.from == loop.to;
		loop.at = first ? began : now;
		loop.part = first || done(s) < 0 ? 0 : done(s);
	}
	loop.step = s->step;
	loop.steps = s->steps;
	loop.from = s->from;
	loop.to = s->to;
}

static void tell(void *ud, const atled_progress_state *s) {
	(void)ud;
	const double now = seconds_now();
	const bool terminal = isatty(STDERR_FILENO);
	note_loop(s, now);
	if (now - began < FIRST_AFTER ||
	    (!terminal && now - last_line < interval("ATLED_PROGRESS_EVERY", LINE_EVERY)))
		return;
	StringBuffer line = {0};
	describe(&line, s, now);
	if (line.failed) {
		buffer_free(&line);
		return;
	}
	if (terminal) {
		enum { BAR = 20 };
		int wide, high;
		const size_t columns =
			terminal_size(stderr, &wide, &high) && wide > 10 ? (size_t)wide - 1 : 79;
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
	/* A terminal that cannot erase a line gets no progress display. */
	if (isatty(STDERR_FILENO) && (!term || !*term || !strcmp(term, "dumb"))) return;
	progress_begin();
	atled_progress(ctx, tell, NULL);
}
