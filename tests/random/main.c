/* main.c - test program: random programs on several engines.
 *
 * Needs: derive.h, shrink.h; a context with autodiff, backend and the library's
 * derivative rules.
 *
 * Guarantees:
 * - The run is determined by the options; `random_programs --help` lists them.
 * - The last line is "N passed, N failed", counting programs. The exit status
 *   is 0 when nothing failed.
 */
#include "autodiff/autodiff.h"
#include "backend/backend.h"
#include "backend/native/jit/compile_service.h"
#include "parser/session/session.h"
#include "tests/random/derive.h"
#include "tests/random/guarded.h"
#include "tests/random/laws.h"
#include "tests/random/damage.h"
#include "tests/random/orders.h"
#include "tests/random/shrink.h"
#include "lang/base/parallel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MOST = 8, PROGRAMS_PER_CONTEXT = 25, JOBS_MOST = 64, LONG_EVERY = 20 };
typedef enum Size { WHOLE, BRIEF, TINY } Size;

typedef struct Options {
	uint64_t seed;
	int64_t count;
	int threads[THREADS_MOST];
	uint32_t nthreads;
	int64_t jobs;
	Size size;
	bool shrink, print, coverage, self_test, times, lenient, guarded;
	const char *only; /* name of an engine */
	int64_t orders;   /* minimum number of programs whose derivatives are compared in every mode */
} Options;

typedef struct Tally {
	uint32_t passed, failed, cases, runs, errors, lenient, without_rule;
	/* numbers of functions with the primitive, and of its instructions */
	uint32_t functions[OP_COUNT], instructions[OP_COUNT];
	Orders orders;
	Damage damage;
} Tally;

/* ---- contexts ------------------------------------------------------------ */

static Ctx *new_context(const Options *o) {
	Ctx *c = ctx_new(o->guarded ? &guarded_memory : NULL);
	if (!c || backend_init(c) != ST_OK) abort();
	autodiff_init(c);
	if (session_init(c) != ST_OK) abort();
	ctx_grant(c, GRANT_ALL);
	capture_output(c);
	return c;
}

/* ---- one program --------------------------------------------------------- */

typedef struct Checked {
	bool failed;
	char what[8000];      /* message */
	const Engine *engine; /* NULL: not an engine */
	int threads, set;
	uint32_t which; /* index of the case */
} Checked;

typedef struct Sampling { /* argument of run_generate */
	Plan *plan;
	Sample out;
} Sampling;

static void run_generate(Ctx *c, void *arg) {
	Sampling *p = arg;
	generate(c, p->plan, &p->out);
}

static void count_prims(const Cases *cs, Tally *t) {
	for (uint32_t k = 0; k < cs->n; k++) {
		uint32_t seen[OP_COUNT] = {0};
		const Fn *f = cs->at[k].fn;
		for (uint32_t i = 0; i < f->insts.n; i++) seen[f->insts.at[i].op]++;
		for (uint32_t op = 0; op < OP_COUNT; op++) {
			t->instructions[op] += seen[op];
			t->functions[op] += seen[op] > 0;
		}
	}
}

/* Compares an engine's outcome with that of the reference or, if `exact`, with
 * its own on another number of threads. */
static void judge(Ctx *c, const Options *o, const Case *k, Checked found, const Outcome *want,
                  const Outcome *got, bool exact, Checked *out, Tally *t) {
	Verdict v = compare_outcomes(c, k->fn, k->args[found.set], want, got, exact,
	                             o->shrink ? 1 : COMPARE_BATCHES);
	t->lenient += v.lenient;
	if (v.lenient && o->lenient)
		printf("not compared: %s, %s, lengths %d, result %u\n", found.engine->name, k->how,
		       found.set, v.jumps);
	if (v.same || out->failed) return;
	*out = found;
	snprintf(out->what, sizeof out->what, "%s on %d thread%s, %s, lengths %d, result %u: %s",
	         found.engine->name, found.threads, found.threads == 1 ? "" : "s", k->how, found.set,
	         v.result, v.why);
}

/* Runs an engine that uses threads with every number of threads. The results
 * must be bit-identical. */
static void check_engine(Ctx *c, const Options *o, const Cases *cs, uint32_t which, int set,
                         const Engine *e, Checked *out, Tally *t) {
	const Case *k = &cs->at[which];
	Outcome first = {.code = -1};
	for (uint32_t i = 0; i < (e->threads ? o->nthreads : 1); i++) {
		Checked found = {.failed = true,
		                 .engine = e,
		                 .threads = e->threads ? o->threads[i] : 1,
		                 .set = set,
		                 .which = which};
		parallel_set_threads(c, found.threads);
		Outcome got = outcome_of(c, e->run, k->fn, k->args[set]);
		t->runs++;
		if (i) {
			judge(c, o, k, found, &first, &got, true, out, t);
			outcome_free(&got);
		} else {
			judge(c, o, k, found, &k->want[set], &got, e->exact, out, t);
			first = got;
		}
	}
	outcome_free(&first);
}

static bool wants(const Options *o, const Engine *e, uint64_t seed, bool derivative) {
	if (o->only) return !strcmp(o->only, e->name);
	return !o->size || !((e->every && seed % e->every) ||
	                     (derivative && e->derivatives_every && seed % e->derivatives_every));
}

/* The laws take longer than the engines, so only a third of the programs is
 * checked; wants_orders selects from the others. */
static bool wants_laws(const Options *o, uint64_t seed) {
	return !o->self_test && (o->only ? !strcmp(o->only, "laws") : seed % 3 == 0);
}

static bool wants_orders(const Options *o, uint64_t seed) {
	return !o->self_test && (o->only ? !strcmp(o->only, "orders") : seed % 3 != 0);
}

static bool wants_damaged(const Options *o, uint64_t seed) {
	return !o->self_test && (o->only ? !strcmp(o->only, "damaged") : seed % 4 == 0);
}

static void check_cases(Ctx *c, const Cases *cs, uint64_t seed, const Options *o,
                        const Engine *table, Checked *out, Tally *t) {
	for (uint32_t k = 0; k < cs->n && !out->failed; k++) {
		t->cases++;
		for (int set = 0; set < SETS; set++) {
			if (!cs->at[k].args[set]) continue;
			t->errors += cs->at[k].want[set].status != ST_OK;
			if (cs->at[k].want[set].status == ST_INTERNAL && !out->failed) {
				*out = (Checked){.failed = true, .set = set, .which = k};
				snprintf(out->what, sizeof out->what, "the reference fails with a fault in %s: %s",
				         cs->at[k].how, cs->at[k].want[set].message);
			}
			for (const Engine *e = table; e->name && !out->failed; e++) {
				if (!wants(o, e, seed, k > 0) || (e->once && set)) continue;
				check_engine(c, o, cs, k, set, e, out, t);
			}
		}
	}
}

static Engine self_test_table[2]; /* the broken engine and the end marker */

static const Engine *table_of(const Options *o) { return o->self_test ? self_test_table : engines; }

/* Checks one program. `see`, which may be NULL, is called while the cases
 * exist. */
static Checked check_plan(Ctx *c, Plan *plan, const Options *o, Tally *t,
                          void (*see)(void *ud, Ctx *c, const Cases *cs, const Checked *k),
                          void *ud) {
	Checked out = {.failed = false};
	Sampling p = {.plan = plan};
	uint32_t mark = build_mark(c);
	diag_clear(c);
	if (ctx_protect(c, run_generate, &p) != ST_OK) {
		build_unwind(c, mark);
		out.failed = true;
		snprintf(out.what, sizeof out.what, "generating: %s",
		         diag_total(c) ? diag_at(c, 0)->message : "it threw and said nothing");
		diag_clear(c);
		return out;
	}
	Cases *cs = malloc(sizeof *cs);
	if (!cs) abort();
	derive_cases(c, &p.out, plan->seed, cs);
	t->without_rule += cs->without_rule;
	if (cs->trouble[0]) {
		out.failed = true;
		snprintf(out.what, sizeof out.what, "%s", cs->trouble);
	}
	check_cases(c, cs, plan->seed, o, table_of(o), &out, t);
	if (!out.failed && !p.out.prints && !p.out.wild && wants_laws(o, plan->seed)) {
		check_laws(c, plan->seed, cs, out.what, sizeof out.what);
		out.failed = out.what[0];
	}
	if (!out.failed && !p.out.prints && !p.out.wild && wants_orders(o, plan->seed)) {
		check_orders(c, plan->seed, cs, &t->orders, out.what, sizeof out.what);
		out.failed = out.what[0];
	}
	if (!out.failed && wants_damaged(o, plan->seed)) {
		check_damaged(c, plan->seed, cs, &t->damage, out.what, sizeof out.what);
		out.failed = out.what[0];
	}
	count_prims(cs, t);
	if (see) see(ud, c, cs, &out);
	cases_free(cs);
	free(cs);
	fn_unref(p.out.fn);
	return out;
}

/* ---- showing a failure --------------------------------------------------- */

static void show(const Text *t) { fwrite(t->at, 1, t->n, stdout); }

static void print_cases(void *ud, Ctx *c, const Cases *cs, const Checked *k) {
	(void)ud;
	for (uint32_t i = 0; i < cs->n; i++) {
		if (k->failed && k->engine && i != k->which) continue;
		Text text;
		text_init(&text, c);
		fn_print(&text, cs->at[i].fn);
		printf("-- %s\n", cs->at[i].how);
		show(&text);
		text_free(&text);
		for (int set = 0; set < SETS; set++)
			if (cs->at[i].args[set])
				printf("-- lengths %d: %s\n", set,
				       cs->at[i].want[set].status == ST_OK ? "results"
				                                           : cs->at[i].want[set].message);
	}
}

static void explain(void *ud, Ctx *c, const Cases *cs, const Checked *k) {
	print_cases(ud, c, cs, k);
	if (!k->failed || !k->engine) return;
	const Case *bad = &cs->at[k->which];
	Text text;
	text_init(&text, c);
	explain_scene(&(Scene){.c = c,
	                       .engine = k->engine,
	                       .threads = k->threads,
	                       .fn = bad->fn,
	                       .args = bad->args[k->set]},
	              &text);
	show(&text);
	text_free(&text);
}

typedef struct Hunt {
	const Options *options;
	const Engine *engine;
	char words[40]; /* the message, when no engine is at fault */
} Hunt;

static bool still_fails(void *ud, Plan *plan) {
	const Hunt *h = ud;
	Tally ignored = {0};
	Ctx *c = new_context(h->options);
	Checked k = check_plan(c, plan, h->options, &ignored, NULL, NULL);
	ctx_free(c);
	return k.failed && k.engine == h->engine &&
	       (k.engine || !strncmp(k.what, h->words, strlen(h->words)));
}

static Plan plan_of(uint64_t seed, const Options *o) {
	static const uint32_t usual[] = {[WHOLE] = 0, [BRIEF] = 3, [TINY] = 12},
						  long_ones[] = {[WHOLE] = 0, [BRIEF] = 0, [TINY] = 3};
	const uint32_t part = (seed % LONG_EVERY ? usual : long_ones)[o->size];
	return (Plan){.seed = seed, .result = -1, .part = part};
}

static void show_failure(uint64_t seed, const Options *o, const Checked *k) {
	Plan *plan = calloc(1, sizeof *plan);
	uint64_t *skipped = calloc(STEPS_MOST, sizeof *skipped);
	if (!plan || !skipped) abort();
	*plan = plan_of(seed, o);
	printf("seed %llu: %s\n", (unsigned long long)seed, k->what);
	if (o->shrink) {
		Hunt h = {.options = o, .engine = k->engine};
		memcpy(h.words, k->what, sizeof h.words - 1);
		h.words[strcspn(h.words, ":")] = 0;
		shrink_plan(plan, skipped, still_fails, &h);
		printf("shrunk: %u steps are left out, %u remain%s\n", plan->nskipped, plan->nvisited,
		       plan->small ? ", short lengths" : "");
	}
	Ctx *c = new_context(o);
	Tally ignored = {0};
	Checked again = check_plan(c, plan, o, &ignored, explain, NULL);
	if (again.failed) printf("%s\n", again.what);
	else printf("it does not fail in a context of its own\n");
	ctx_free(c);
	free(plan);
	free(skipped);
}

/* ---- summary ------------------------------------------------------------- */

static void print_coverage(const Tally *t) {
	uint32_t none = 0;
	printf("%-16s %10s %12s\n", "primitive", "functions", "instructions");
	for (uint32_t op = 1; op < OP_COUNT; op++) {
		printf("%-16s %10u %12u\n", prims[op].name, t->functions[op], t->instructions[op]);
		none += !t->functions[op];
	}
	printf("%u of %d primitives do not occur\n", none, OP_COUNT - 1);
}

static void print_orders(const Orders *o) {
	printf("derivatives of orders 1 and 2 of %u programs, compared in every mode: %u (%u of them "
	       "without a second one);",
	       o->asked, o->all, o->linear);
	for (int k = 0; k < MODE_COUNT; k++)
		printf(" %s %u%s", mode_names[k], o->compared[k], k + 1 < MODE_COUNT ? "," : "\n");
	bool first = true;
	for (uint32_t op = 1; op < OP_COUNT; op++) {
		if (!o->no_form[op]) continue;
		printf("%s %s %u", first ? "no form at complex arguments:" : ",", prims[op].name,
		       o->no_form[op]);
		first = false;
	}
	if (!first) printf("\n");
}

/* ---- options ------------------------------------------------------------- */

static void usage(FILE *to) {
	fputs("use: random_programs [options]\n"
	      "  --seed S        the first seed (1)\n"
	      "  --count N       programs, with seeds from S on (500)\n"
	      "  --brief         programs of a third of the steps; every twentieth as long as ever\n"
	      "  --tiny          of a twelfth of the steps; every twentieth of a third\n"
	      "  --jobs N        N processes share the work (1); 0: one for each processor\n"
	      "  --threads LIST  numbers of threads for engines that use them (1,2,3)\n"
	      "  --engine NAME   this engine only; or `laws`: what must hold between a program and its "
	      "transforms; or `orders`: its first and\n"
	      "                  second derivatives in every mode\n"
	      "                  or `damaged`: texts of it with other tokens are refused or run\n"
	      "  --orders N      fail when fewer programs than N had all these derivatives compared\n"
	      "  --shrink        a failing program is made smaller before it is shown\n"
	      "  --print         show every program\n"
	      "  --coverage      count how often each primitive occurs\n"
	      "  --times         show programs that take longer than 0.1 s\n"
	      "  --lenient       show which results are not compared because they hang on roundings\n"
	      "  --guarded       behind each array is memory that nobody may read, so that who does "
	      "ends the process\n"
	      "  --self-test     an engine that is wrong on purpose must be found out\n",
	      to);
}

static bool read_number(const char *text, long long *out) {
	char *end;
	if (!text) return false;
	*out = strtoll(text, &end, 10);
	return end != text && !*end && *out >= 0;
}

static bool read_threads(const char *text, Options *o) {
	o->nthreads = 0;
	while (text && *text) {
		char *end;
		long n = strtol(text, &end, 10);
		if (end == text || n < 1 || n > 64 || o->nthreads == THREADS_MOST || (*end && *end != ','))
			return false;
		o->threads[o->nthreads++] = (int)n;
		text = *end ? end + 1 : end;
	}
	return o->nthreads > 0;
}

/* Returns false for wrong options. */
static bool read_options(int argc, char **argv, Options *o) {
	*o = (Options){.seed = 1, .count = 500, .jobs = 1, .threads = {1, 2, 3}, .nthreads = 3};
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i];
		long long n;
		if (!strcmp(a, "--shrink")) o->shrink = true;
		else if (!strcmp(a, "--print")) o->print = true;
		else if (!strcmp(a, "--brief")) o->size = BRIEF;
		else if (!strcmp(a, "--tiny")) o->size = TINY;
		else if (!strcmp(a, "--coverage")) o->coverage = true;
		else if (!strcmp(a, "--times")) o->times = true;
		else if (!strcmp(a, "--lenient")) o->lenient = true;
		else if (!strcmp(a, "--guarded")) o->guarded = true;
		else if (!strcmp(a, "--self-test")) o->self_test = o->shrink = true;
		else if (!strcmp(a, "--threads") && read_threads(argv[i + 1], o)) i++;
		else if (!strcmp(a, "--engine") && argv[i + 1]) o->only = argv[++i];
		else if (!strcmp(a, "--seed") && read_number(argv[i + 1], &n)) o->seed = (uint64_t)n, i++;
		else if (!strcmp(a, "--count") && read_number(argv[i + 1], &n)) o->count = n, i++;
		else if (!strcmp(a, "--orders") && read_number(argv[i + 1], &n)) o->orders = n, i++;
		else if (!strcmp(a, "--jobs") && read_number(argv[i + 1], &n)) o->jobs = n, i++;
		else return false;
	}
	if (!o->jobs) o->jobs = sysconf(_SC_NPROCESSORS_ONLN);
	if (o->jobs < 1) o->jobs = 1;
	if (o->jobs > JOBS_MOST) o->jobs = JOBS_MOST;
	return true;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The work of one process. It lies in shared memory, so that the process which
 * waits knows how far a process came that died. */
typedef struct Share {
	Tally tally;
	int64_t next; /* the program to begin with */
} Share;

/* Runs a share of the programs: of the groups that share a context, every
 * jobs-th from `first` on. */
static void run_share(const Options *o, int64_t first, Share *share) {
	Tally *t = &share->tally;
	Ctx *c = NULL;
	Plan *plan = calloc(1, sizeof *plan);
	if (!plan) abort();
	while (share->next < o->count) {
		const int64_t k = share->next++;
		if (k / PROGRAMS_PER_CONTEXT % o->jobs != first) continue;
		if (!c || k % PROGRAMS_PER_CONTEXT == 0) {
			if (c) ctx_free(c);
			c = new_context(o);
		}
		uint64_t seed = o->seed + (uint64_t)k;
		*plan = plan_of(seed, o);
		double start = now();
		if (o->print || o->lenient) printf("seed %llu\n", (unsigned long long)seed);
		Checked result = check_plan(c, plan, o, t, o->print ? print_cases : NULL, NULL);
		if (o->times && now() - start > 0.1)
			printf("seed %llu took %.2f s\n", (unsigned long long)seed, now() - start);
		if (!result.failed) {
			t->passed++;
			continue;
		}
		t->failed++;
		show_failure(seed, o, &result);
		if (o->self_test && t->failed == 3) break;
	}
	if (c) ctx_free(c);
	free(plan);
}

static void add_tally(Tally *to, const Tally *t) {
	to->passed += t->passed;
	to->failed += t->failed;
	to->cases += t->cases;
	to->runs += t->runs;
	to->errors += t->errors;
	to->lenient += t->lenient;
	to->without_rule += t->without_rule;
	for (uint32_t op = 0; op < OP_COUNT; op++) {
		to->functions[op] += t->functions[op];
		to->instructions[op] += t->instructions[op];
		to->orders.no_form[op] += t->orders.no_form[op];
	}
	for (int k = 0; k < MODE_COUNT; k++) to->orders.compared[k] += t->orders.compared[k];
	to->orders.asked += t->orders.asked;
	to->orders.all += t->orders.all;
	to->orders.linear += t->orders.linear;
	to->damage.texts += t->damage.texts;
	to->damage.accepted += t->damage.accepted;
	to->damage.ran += t->damage.ran;
	to->damage.compared += t->damage.compared;
}

static pid_t start_share(const Options *o, int64_t k, Share *share) {
	fflush(stdout);
	const pid_t job = fork();
	if (job < 0) abort();
	if (job) return job;
	run_share(o, k, share);
	fflush(stdout);
	_exit(0);
}

/* Runs each share in a process. A program at which the process dies is a
 * failure, and another process goes on behind it. */
static Tally run_jobs(const Options *o) {
	Tally all = {0};
	Share *of = mmap(NULL, (size_t)o->jobs * sizeof *of, PROT_READ | PROT_WRITE,
	                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t jobs[JOBS_MOST];
	if (of == MAP_FAILED) abort();
	for (int64_t k = 0; k < o->jobs; k++) jobs[k] = start_share(o, k, &of[k]);
	for (int64_t k = 0; k < o->jobs; k++) {
		int status = -1;
		while (waitpid(jobs[k], &status, 0) == jobs[k] && status) {
			printf("seed %llu: the process ended with status %d\n",
			       (unsigned long long)o->seed + (uint64_t)(of[k].next - 1), status);
			of[k].tally.failed++;
			jobs[k] = start_share(o, k, &of[k]);
		}
		add_tally(&all, &of[k].tally);
	}
	munmap(of, (size_t)o->jobs * sizeof *of);
	return all;
}

int main(int argc, char **argv) {
	Options o;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (!read_options(argc, argv, &o)) {
		usage(stderr);
		return 2;
	}
	self_test_table[0] = broken_engine;
	char why[256];
	if (!native_codegen(why, sizeof why))
		printf("skip: the engine `native` is the evaluator here: %s\n", why);
	Share alone = {0};
	if (o.jobs == 1) run_share(&o, 0, &alone);
	Tally t = o.jobs > 1 ? run_jobs(&o) : alone.tally;
	if (o.coverage) print_coverage(&t);
	printf("%u functions, %u runs, %u of them in error by design; %u results not compared because "
	       "they hang on roundings; %u transforms without a rule\n",
	       t.cases, t.runs, t.errors, t.lenient, t.without_rule);
	if (t.orders.asked) print_orders(&t.orders);
	if (t.damage.texts)
		printf("%u damaged texts, %u of them programs; %u ran, %u also as machine code\n",
		       t.damage.texts, t.damage.accepted, t.damage.ran, t.damage.compared);
	if (t.orders.all < o.orders) {
		printf("only %u programs had their derivatives compared in every mode; it should be %lld\n",
		       t.orders.all, (long long)o.orders);
		t.failed++;
	}
	if (o.self_test) { /* the self-test passes when programs fail */
		uint32_t found = t.failed;
		t.failed = found == 0;
		t.passed = found > 0;
	}
	printf("%u passed, %u failed\n", t.passed, t.failed);
	return t.failed != 0;
}
