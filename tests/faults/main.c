/* main.c - test program: programs in which an allocation fails, or that are
 * interrupted, at random places.
 *
 * Method: each file is a program that runs in a process of its own. It first
 * runs twice without faults, which gives what it prints the first and the
 * second time. Then, in ever new contexts, a fault is set at a random place and
 * the program runs; without the fault, it runs again.
 *
 * Guarantees:
 * - A faulty run ends with the status of its fault, or as if there were none.
 *   The run after it prints the same bytes as without faults.
 * - The context gives back all memory that it took.
 * - The last line is "N passed, N failed, N skipped", counting runs with a
 *   fault; a file that is slow, or prints something else each time, is one
 *   skipped. The run is determined by the options.
 */
#include "api/api.h"
#include "lang/base/clock.h"
#include "tests/unit/support/draw.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef enum Fault { FAULT_ONCE, FAULT_FOREVER, FAULT_INTERRUPT, FAULT_COUNT } Fault;
static const char *const fault_names[] = {"allocation", "all allocations from", "poll"};
static const atled_status fault_status[] = {ATLED_NOMEM, ATLED_NOMEM, ATLED_INTERRUPTED};

typedef struct Options {
	int64_t count; /* runs of each file */
	uint64_t seed;
	double seconds; /* a slower program is skipped */
} Options;

typedef struct Report { /* in shared memory */
	int64_t passed, failed, skipped, hit;
	Fault fault; /* the run that was begun */
	uint64_t at;
} Report;

/* ---- one run ------------------------------------------------------------- */

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

static void show(void *ud, const atled_value *v, uint32_t line) {
	(void)line;
	atled_value_write(v, NULL, 3, print, ud);
}

typedef struct TestText {
	const char *path;
	char *text;
	size_t n;
} TestText;

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
	return p->ctx && atled_grant(p->ctx, ATLED_GRANT_OUTPUT) == ATLED_OK;
}

/* Returns the bytes that were not given back. */
static int64_t close_place(Place *p) {
	atled_context_free(p->ctx);
	atled_engine_free(p->engine);
	return p->account.bytes;
}

static Printed run(Place *p, const TestText *program) {
	Printed out = {.hash = 1469598103934665603u};
	atled_output(p->ctx, print, &out);
	atled_seed(p->ctx, 1);
	out.status = atled_run(p->ctx, program->text, program->n, program->path, show, &out);
	return out;
}

static bool same(Printed x, Printed y) {
	return x.status == y.status && x.hash == y.hash && x.bytes == y.bytes;
}

/* ---- one file ------------------------------------------------------------ */

typedef struct Clean {
	Printed first, second;
	uint64_t allocations;
	double seconds;
	int64_t lost; /* bytes that were not given back */
} Clean;

static bool run_clean(const TestText *program, Clean *out) {
	Place p;
	if (!open_place(&p)) return false;
	const uint64_t before = p.account.allocations;
	const double start = clock_seconds();
	out->first = run(&p, program);
	out->seconds = clock_seconds() - start;
	out->allocations = p.account.allocations - before;
	out->second = run(&p, program);
	out->lost = close_place(&p);
	return true;
}

/* The number of places where a fault can be grows with the run: a place is
 * drawn evenly by its logarithm. */
static uint64_t draw_place(uint64_t *random, uint64_t most) {
	uint64_t bits = 1;
	while (bits < 63 && most >> bits) bits++;
	const uint64_t scale = (uint64_t)1 << (1 + draw(random, bits));
	return 1 + draw(random, scale);
}

static const char *run_faulty(const TestText *program, const Clean *clean, Fault fault, uint64_t at,
                              Report *r) {
	Place p;
	if (!open_place(&p)) return "no context";
	const char *why = NULL;
	if (fault == FAULT_INTERRUPT) ctx_interrupt_at_poll(p.ctx->c, at);
	else atled_fail_allocation(p.ctx, at, fault == FAULT_FOREVER);
	const Printed faulty = run(&p, program);
	if (fault == FAULT_INTERRUPT) ctx_interrupt_at_poll(p.ctx->c, 0);
	else atled_fail_allocation(p.ctx, 0, 0);
	/* A fault may change a message that the program prints, so only the status
	 * is compared. */
	if (faulty.status == fault_status[fault]) r->hit++;
	else if (faulty.status == ATLED_INTERNAL) why = "a fault in Atled";
	else if (faulty.status != clean->first.status) why = "another status";
	const Printed again = run(&p, program);
	if (!why && !same(again, clean->first) && !same(again, clean->second)) {
		const atled_error *e = again.status ? atled_last_error(p.ctx) : NULL;
		why = e ? "the next run fails" : "the next run is not the same";
		if (e) printf("%s:%d: %s\n", program->path, e->line, e->message);
	}
	if (close_place(&p) && !why) why = "memory was not given back";
	return why;
}

/* The work of the process for a file. */
static void test_file(const TestText *program, const Options *o, Report *r) {
	Clean clean, again;
	if (!run_clean(program, &clean) || !run_clean(program, &again) ||
	    !same(clean.first, again.first) || !same(clean.second, again.second) ||
	    clean.seconds > o->seconds) {
		r->skipped = 1;
		return;
	}
	if (clean.lost) {
		printf("%s: %lld bytes were not given back\n", program->path, (long long)clean.lost);
		r->failed++;
	}
	uint64_t random = o->seed;
	for (const char *c = program->path; *c; c++) random = random * 31 + (unsigned char)*c;
	for (int64_t k = 0; k < o->count; k++) {
		r->fault = (Fault)(k % FAULT_COUNT);
		r->at = draw_place(&random, clean.allocations);
		alarm(60);
		const char *why = run_faulty(program, &clean, r->fault, r->at, r);
		alarm(0);
		if (!why) {
			r->passed++;
			continue;
		}
		if (r->failed++ < 3)
			printf("%s: %s %llu: %s\n", program->path, fault_names[r->fault],
			       (unsigned long long)r->at, why);
	}
}

static bool read_program(const char *path, TestText *p) {
	*p = (TestText){.path = path};
	FILE *f = fopen(path, "rb");
	if (!f) return false;
	bool fine = !fseek(f, 0, SEEK_END);
	const long n = fine ? ftell(f) : -1;
	fine = n >= 0 && !fseek(f, 0, SEEK_SET) && (p->text = malloc((size_t)n + 1)) &&
	       fread(p->text, 1, (size_t)n, f) == (size_t)n;
	fclose(f);
	p->n = fine ? (size_t)n : 0;
	return fine;
}

/* Runs a file in a process of its own and adds what it reports. */
static void fork_file(const char *path, const Options *o, Report *r, Report *all) {
	TestText program;
	if (!read_program(path, &program)) {
		printf("%s: cannot be read\n", path);
		all->failed++;
		return;
	}
	*r = (Report){0};
	fflush(stdout);
	const pid_t child = fork();
	if (!child) {
		test_file(&program, o, r);
		fflush(stdout);
		_exit(0);
	}
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status)) {
		printf("%s: %s %llu: ended by signal %d\n", path, fault_names[r->fault],
		       (unsigned long long)r->at, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
		r->failed++;
	}
	all->passed += r->passed;
	all->failed += r->failed;
	all->skipped += r->skipped;
	all->hit += r->hit;
	free(program.text);
}

static const char usage[] = "usage: fault_test [OPTION...] FILE...\n"
							"  --count N    runs of each file (30)\n"
							"  --seconds S  a program that takes longer is skipped (0.1)\n"
							"  --seed N     of the random places (1)\n";

int main(int argc, char **argv) {
	Options o = {.count = 30, .seed = 1, .seconds = 0.1};
	int i = 1;
	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		if (!strcmp(argv[i], "--count")) o.count = strtoll(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--seconds")) o.seconds = strtod(argv[i + 1], NULL);
		else if (!strcmp(argv[i], "--seed")) o.seed = strtoull(argv[i + 1], NULL, 10);
		else o.count = 0;
	}
	Report *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (i >= argc || o.count < 1 || r == MAP_FAILED) {
		fputs(usage, stderr);
		return 2;
	}
	Report all = {0};
	for (; i < argc; i++) fork_file(argv[i], &o, r, &all);
	printf("%lld of these runs were stopped by their fault\n", (long long)all.hit);
	printf("%lld passed, %lld failed, %lld skipped\n", (long long)all.passed, (long long)all.failed,
	       (long long)all.skipped);
	return all.failed > 0 || !all.passed;
}
