/* session.c - implementation of session.h. */
#define _GNU_SOURCE /* for memmem */
#include "tests/faults/session.h"
#include "api/api.h"
#include "lang/base/clock.h"
#include "tests/faults/io_faults.h"
#include "tests/unit/support/draw.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {"allocation", "all allocations from", "poll", "system call"};
static const atled_status status_of[] = {ATLED_NOMEM, ATLED_NOMEM, ATLED_INTERRUPTED, ATLED_ERROR};

enum { FAULTS_SHOWN = 3, FILES_OPEN_MOST = 64, SECONDS_MOST = 60 };

const char *fault_name(Fault f) { return names[f]; }

/* ---- runs ---------------------------------------------------------------- */

typedef struct Account {
	int64_t bytes;
	uint64_t allocations;
} Account;

static void *counted_resize(void *ud, void *p, size_t before, size_t bytes) {
	Account *a = ud;
	void *fresh = NULL;
	if (!bytes) free(p);
	else if (!(fresh = realloc(p, bytes))) return NULL;
	a->allocations += bytes > 0;
	a->bytes += (int64_t)bytes - (int64_t)(p ? before : 0);
	return fresh;
}

typedef struct Printed {
	atled_status status;
	uint64_t hash, bytes;
} Printed;

static void print(void *ud, const char *text, size_t n) {
	Printed *p = ud;
	for (size_t i = 0; i < n; i++) p->hash = (p->hash ^ (unsigned char)text[i]) * 1099511628211u;
	p->bytes += n;
}

/* A value that cannot be written has been stopped like the run. */
static void show(void *ud, const atled_value *v, uint32_t line) {
	Printed *p = ud;
	(void)line;
	const atled_status status = atled_value_write(v, NULL, 3, print, p);
	if (status && !p->status) p->status = status;
}

static bool same(Printed x, Printed y) {
	return x.status == y.status && x.hash == y.hash && x.bytes == y.bytes;
}

typedef struct Place {
	Account account;
	atled_engine *engine;
	atled_context *ctx;
} Place;

static bool open_place(Place *p) {
	*p = (Place){0};
	const atled_engine_config config = {.size = sizeof config,
	                                    .resize = counted_resize,
	                                    .ud = &p->account,
	                                    .threads = 1,
	                                    .no_machine_code = 1};
	p->engine = atled_engine_new(&config);
	p->ctx = p->engine ? atled_context_new(p->engine) : NULL;
	return p->ctx && atled_grant(p->ctx, ATLED_GRANT_OUTPUT | ATLED_GRANT_FILES) == ATLED_OK;
}

/* Returns the bytes that were not given back. */
static int64_t close_place(Place *p) {
	atled_context_free(p->ctx);
	atled_engine_free(p->engine);
	return p->account.bytes;
}

/* ---- paragraphs ---------------------------------------------------------- */

typedef struct Paragraph {
	const char *text;
	size_t n;
	uint32_t line;
	bool slow;             /* does not run in sessions with faults */
	bool steady;           /* its second run prints what the first one does */
	bool catches;          /* may print the message of a fault */
	Printed first, second; /* without faults */
	uint64_t places[FAULT_COUNT];
} Paragraph;

typedef struct FaultProgram {
	const char *path, *folder;
	Paragraph *at;
	uint32_t n;
	uint64_t files; /* hash of the names that a session without faults leaves */
	const FaultOptions *o;
	FaultReport *r;
} FaultProgram;

static bool contains(const Paragraph *p, const char *word) {
	return memmem(p->text, p->n, word, strlen(word)) != NULL;
}

/* Paragraphs end at blank lines outside parentheses and braces. */
static void split(FaultProgram *p, const char *text, size_t n) {
	uint32_t line = 1, start_line = 1;
	int depth = 0;
	const char *start = text;
	for (const char *c = text, *end = text + n; c <= end; c++) {
		if (c < end && strchr("([{", *c)) depth++;
		if (c < end && strchr(")]}", *c)) depth--;
		const bool blank = c + 1 < end && *c == '\n' && c[1] == '\n' && depth <= 0;
		if (c == end || blank) {
			if (c > start)
				p->at[p->n++] =
					(Paragraph){.text = start, .n = (size_t)(c - start), .line = start_line};
			start = c;
			start_line = line;
			depth = 0;
		}
		line += c < end && *c == '\n';
	}
	/* later ones may call functions of earlier ones */
	for (uint32_t i = 0; i < p->n; i++)
		p->at[i].catches = (i && p->at[i - 1].catches) || contains(&p->at[i], "try");
}

static Printed run(Place *place, const FaultProgram *p, const Paragraph *what) {
	Printed out = {.hash = 1469598103934665603u};
	atled_output(place->ctx, print, &out);
	atled_seed(place->ctx, 1);
	const atled_status status = atled_run(place->ctx, what->text, what->n, p->path, show, &out);
	if (status) out.status = status;
	return out;
}

/* ---- files --------------------------------------------------------------- */

/* Hash of the names in the folder, in any order; with `empty`, all files of
 * the folder are removed. */
static uint64_t files_in(const char *folder, bool empty) {
	uint64_t all = 0;
	DIR *d = opendir(folder);
	if (!d) return 0;
	for (const struct dirent *e; (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
		Printed name = {.hash = 1469598103934665603u};
		print(&name, e->d_name, strlen(e->d_name));
		all += name.hash;
		if (empty) unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
	return all;
}

static int open_files(void) {
	int n = 0;
	for (int fd = 0; fd < FILES_OPEN_MOST; fd++) n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* ---- sessions ------------------------------------------------------------ */

static void tell(FaultProgram *p, uint32_t line, const char *what) {
	if (p->r->failed++ >= FAULTS_SHOWN) return;
	printf("%s:%u: %s\n", p->path, line, what);
}

static void tell_fault(FaultProgram *p, const char *what) {
	char text[200];
	snprintf(text, sizeof text, "%s %llu: %s", names[p->r->fault], (unsigned long long)p->r->at,
	         what);
	tell(p, p->r->line, text);
}

/* Runs the paragraphs without faults, the steady ones twice. Returns whether
 * the session went as before. */
static bool run_clean(FaultProgram *p, bool learn) {
	Place place;
	if (!open_place(&place)) return false;
	const atled_limit limit = {.size = sizeof limit, .seconds = p->o->seconds};
	if (learn) atled_limits(place.ctx, &limit);
	files_in(p->folder, true);
	const int open_before = open_files();
	bool as_before = true;
	for (uint32_t i = 0; i < p->n; i++) {
		Paragraph *x = &p->at[i];
		if (x->slow) continue;
		const uint64_t most = (uint64_t)1 << 62, allocations = place.account.allocations,
					   calls = io_calls();
		ctx_interrupt_at_poll(place.ctx->c, most);
		const double start = clock_seconds();
		const Printed first = run(&place, p, x);
		const double seconds = clock_seconds() - start;
		const uint64_t polls = most - ctx_interrupt_at_poll(place.ctx->c, 0);
		x->places[FAULT_ONCE] = x->places[FAULT_FOREVER] = place.account.allocations - allocations;
		x->places[FAULT_POLL] = polls;
		x->places[FAULT_IO] = io_calls() - calls;
		if (learn) {
			x->slow = first.status == ATLED_LIMIT || seconds > p->o->seconds;
			x->steady = !x->slow;
		}
		const Printed second = x->steady ? run(&place, p, x) : first;
		as_before = as_before && same(first, x->first) && same(second, x->second);
		if (learn ? !same(first, second) : !same(first, x->first) || !same(second, x->second))
			x->steady = false;
		x->first = first;
		x->second = second;
	}
	p->files = files_in(p->folder, false);
	const int64_t lost = close_place(&place);
	if (lost) tell(p, 1, "memory was not given back without faults");
	if (open_files() != open_before) tell(p, 1, "a file stays open without faults");
	return as_before;
}

/* The number of places where a fault can be grows with the run: a place is
 * drawn evenly by its logarithm. */
static uint64_t draw_place(uint64_t *random, uint64_t most) {
	uint64_t bits = 1;
	while (bits < 63 && most >> bits) bits++;
	const uint64_t scale = (uint64_t)1 << (1 + draw(random, bits));
	return 1 + draw(random, scale < most ? scale : most);
}

static void set_fault(Place *place, Fault f, uint64_t at, IoFault how) {
	switch (f) {
	case FAULT_POLL: ctx_interrupt_at_poll(place->ctx->c, at); return;
	case FAULT_IO: io_fail_at(at, how); return;
	default: atled_fail_allocation(place->ctx, at, f == FAULT_FOREVER);
	}
}

/* A fault that a run survives may only change a message that it prints. */
static void run_faulty(FaultProgram *p, Place *place, const Paragraph *x, uint64_t *random) {
	FaultReport *r = p->r;
	set_fault(place, r->fault, r->at, (IoFault)draw(random, IO_FAULT_COUNT));
	const Printed faulty = run(place, p, x);
	set_fault(place, r->fault, 0, IO_FAULT_ERROR);
	r->runs[r->fault]++;
	if (faulty.status == ATLED_INTERNAL) tell_fault(p, "a fault in Atled");
	else if (faulty.status == status_of[r->fault]) r->hit[r->fault]++;
	else if (faulty.status != x->first.status) tell_fault(p, "another status");
	else if (!same(faulty, x->first) && !x->catches) tell_fault(p, "prints something else");
	const Printed again = run(place, p, x);
	if (same(again, x->first) || same(again, x->second)) return;
	const atled_error *e = again.status ? atled_last_error(place->ctx) : NULL;
	tell_fault(p, e ? e->message : "the next run is not the same");
}

static bool can_have(const FaultProgram *p, const Paragraph *x, Fault f) {
	return x->steady && x->places[f] && (f == FAULT_IO || !p->o->io);
}

static bool draw_fault(const FaultProgram *p, const Paragraph *x, uint64_t *random, Fault *f) {
	uint32_t n = 0;
	Fault possible[FAULT_COUNT];
	for (Fault k = 0; k < FAULT_COUNT; k++)
		if (can_have(p, x, k)) possible[n++] = k;
	if (n) *f = possible[draw(random, n)];
	return n > 0;
}

/* One session with a fault in each paragraph that can have one. */
static void run_session(FaultProgram *p, uint64_t *random) {
	Place place;
	if (!open_place(&place)) {
		tell(p, 1, "no context");
		return;
	}
	files_in(p->folder, true);
	const int open_before = open_files();
	for (uint32_t i = 0; i < p->n; i++) {
		const Paragraph *x = &p->at[i];
		FaultReport *r = p->r;
		if (x->slow) continue;
		alarm(SECONDS_MOST);
		if (draw_fault(p, x, random, &r->fault)) {
			r->line = x->line;
			r->at = draw_place(random, x->places[r->fault]);
			run_faulty(p, &place, x, random);
		} else {
			run(&place, p, x);
			if (x->steady) run(&place, p, x);
		}
		alarm(0);
	}
	if (files_in(p->folder, false) != p->files) tell_fault(p, "other files are left");
	if (close_place(&place)) tell_fault(p, "memory was not given back, here or before");
	if (open_files() != open_before) tell_fault(p, "a file stays open, here or before");
}

static int64_t runs_of(const FaultReport *r) {
	int64_t n = 0;
	for (Fault f = 0; f < FAULT_COUNT; f++) n += r->runs[f];
	return n;
}

void fault_session(const char *path, const char *text, size_t n, const char *folder,
                   const FaultOptions *o, FaultReport *r) {
	FaultProgram p = {.path = path, .folder = folder, .o = o, .r = r};
	p.at = calloc(n + 1, sizeof *p.at);
	if (!p.at) abort();
	split(&p, text, n);
	bool settled = false, testable = false;
	for (int k = 0; k < 6 && !settled; k++) settled = run_clean(&p, !k) && k;
	for (uint32_t i = 0; i < p.n; i++)
		for (Fault f = 0; f < FAULT_COUNT; f++) testable = testable || can_have(&p, &p.at[i], f);
	r->skipped = !settled || !testable;
	uint64_t random = o->seed;
	for (const char *c = path; *c; c++) random = random * 31 + (unsigned char)*c;
	while (!r->skipped && runs_of(r) < o->count) run_session(&p, &random);
	free(p.at);
}
