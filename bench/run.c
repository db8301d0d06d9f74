/* run.c - benchmark driver: each Atled program against its C reference.
 *
 * Use: run [--quick] [--only WORD]... [--threads N] [--rounds N]
 *          [--budget SECONDS] [--programs FOLDER] [--json] [--list]
 *      run --spent PROGRAM [ARGUMENT]...
 *          runs a program, whose output goes to the error stream, and prints
 *          its wall-clock time, processor time and peak memory
 *
 * Method:
 * - Each row of bench/c_reference/ runs in its own process and its C reference
 *   in another, so that libraries, threads and crashes of one do not affect the
 *   other.
 * - The sides alternate (A B A B ...) in batches long enough for the clock. A
 *   ratio is that of neighbouring batches. The median, smallest and largest
 *   ratio are printed.
 * - Compile time is excluded.
 * - A round in which other programs used more than a tenth of a processor is
 *   omitted if enough others remain. Their share is reported.
 *
 * Needs: include/atled.h, fork and pipes. Start it in the project's folder, or
 * give the folder of the programs.
 *
 * Guarantees: the results of both sides are compared before the timing; a row
 * whose results differ fails.
 */
#define _GNU_SOURCE
#include "atled.h"
#include "c_reference/limit.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const Row *const families[] = {
	elementwise_rows, reduction_rows, contraction_rows, heat_rows,     scalar_rows,
	ode_rows,         pinn_rows,      gram_rows,        gmm_rows,      newton_rows,
	taylor_rows,      ba_rows,        lstm_rows,        explicit_rows, stiff_rows,
	weno_rows,        fourier_rows,   triangles_rows,   NULL};

typedef struct Options {
	bool quick, json, list;
	int threads, rounds, onlys;
	double budget;
	const char *only[16], *programs;
} Options;

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double processor_time(void) {
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the busy time of all processors together since the machine started,
 * in seconds; 0 when unknown. */
static double machine_time(void) {
	FILE *f = fopen("/proc/stat", "r");
	if (!f) return 0;
	double user = 0, nice = 0, kernel = 0, idle, waiting, irq = 0, soft = 0, stolen = 0;
	int n = fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &kernel, &idle, &waiting,
	               &irq, &soft, &stolen);
	fclose(f);
	return n == 8 ? (user + nice + kernel + irq + soft + stolen) / (double)sysconf(_SC_CLK_TCK) : 0;
}

/* The process's own memory on small pages and on huge pages, in megabytes;
 * zeros when unknown. The system decides whether an array is on huge pages, and
 * may split them later. Memory-bound rows depend on it. */
typedef struct Pages {
	double small, huge;
} Pages;
static Pages pages_now(void) {
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	if (!f) return (Pages){0};
	char line[200];
	double all = 0, huge = 0;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "Anonymous: %lf", &all) == 1) continue;
		(void)sscanf(line, "AnonHugePages: %lf", &huge);
	}
	fclose(f);
	return (Pages){(all - huge) / 1024, huge / 1024};
}

/* ---- pipes --------------------------------------------------------------- */

static bool send_all(int to, const void *data, size_t n) {
	for (const char *p = data; n > 0;) {
		ssize_t k = write(to, p, n);
		if (k <= 0) return false;
		p += k, n -= (size_t)k;
	}
	return true;
}
static bool receive_all(int from, void *data, size_t n) {
	for (char *p = data; n > 0;) {
		ssize_t k = read(from, p, n);
		if (k <= 0) return false;
		p += k, n -= (size_t)k;
	}
	return true;
}

/* ---- C reference, in a process of its own -------------------------------- */

typedef enum Which { RUN, OTHER, RESULTS, OTHER_RESULTS, PAGES } Which;
typedef struct Order {
	Which which;
	int64_t turns;
} Order;
typedef struct Limit {
	int to, from;
	/* shared memory with the results after RESULTS or OTHER_RESULTS, one array
	 * after another */
	char *results;
	double used; /* processor time so far */
	Pages pages; /* after PAGES */
} Limit;
typedef struct Answer {
	double spent, used;
	Pages pages;
} Answer;

static size_t bytes_of(const Array *a) {
	return (size_t)limit_count(a) * (a->element == REAL32 ? 4 : 8);
}

static Case make_case(const Row *row, const Options *o) {
	Case c = {.row = row, .n = o->quick ? row->quick : row->full, .threads = o->threads};
	row->setup(&c);
	return c;
}

static void serve_limit(const Row *row, const Options *o, int from, int to, char *results) {
	Case c = make_case(row, o);
	row->run(&c);
	Order order;
	while (receive_all(from, &order, sizeof order)) {
		double start = now();
		if (order.which == RESULTS || order.which == OTHER_RESULTS) {
			(order.which == RESULTS ? row->run : row->other)(&c);
			char *p = results;
			for (int i = 0; i < c.outs; i++)
				memcpy(p, c.out[i].data, bytes_of(&c.out[i])), p += bytes_of(&c.out[i]);
		}
		for (int64_t k = 0; k < order.turns; k++)
			(order.which == OTHER ? row->other : row->run)(&c);
		Answer answer = {.spent = now() - start, .used = processor_time()};
		if (order.which == PAGES) answer.pages = pages_now();
		if (!send_all(to, &answer, sizeof answer)) break;
	}
	_exit(0);
}

static double ask(Limit *l, Which which, int64_t turns) {
	Order order = {which, turns};
	Answer answer;
	if (!send_all(l->to, &order, sizeof order) || !receive_all(l->from, &answer, sizeof answer))
		limit_stop("the hand-written side ended");
	l->used = answer.used;
	if (which == PAGES) l->pages = answer.pages;
	return answer.spent;
}

/* ---- Atled --------------------------------------------------------------- */

typedef struct Program {
	atled_context *ctx;
	const Case *c;
	/* called through a plain function pointer ... */
	atled_raw raw;
	void *ud;
	const void *in[8];
	void *out[8];
	/* ... or with values */
	atled_value *function, *finish, *args[8], *result;
	const atled_value *const_args[8];
	size_t nargs;
} Program;

static void write_err(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stderr);
}
_Noreturn static void stop(atled_context *ctx, const char *what) {
	fprintf(stderr, "bench: %s:\n", what);
	for (size_t i = 0; i < atled_error_count(ctx); i++)
		atled_error_write(ctx, i, ATLED_ERROR_TEXT, write_err, NULL);
	exit(1);
}

static char *read_text(const char *folder, const char *name, size_t *n) {
	char path[1000];
	snprintf(path, sizeof path, "%s/%s.dsl", folder, name);
	FILE *f = fopen(path, "rb");
	if (!f) limit_stop("a program cannot be opened; --programs says where they are");
	char *text = malloc(1 << 20);
	if (!text) limit_stop("no memory");
	*n = fread(text, 1, 1 << 20, f);
	fclose(f);
	return text;
}

static const atled_dtype dtypes[] = {
	[REAL64] = ATLED_F64, [REAL32] = ATLED_F32, [WHOLE64] = ATLED_I64};

static atled_value *value_of(atled_context *ctx, const Array *a) {
	atled_tensor *t;
	if (atled_tensor_wrap(ctx, dtypes[a->element], (uint32_t)a->rank, a->shape, NULL, a->data,
	                      ATLED_READ_ONLY, NULL, NULL, &t) != ATLED_OK)
		stop(ctx, "input");
	atled_value *v = atled_value_of_tensor(ctx, t);
	atled_tensor_free(t);
	if (!v) limit_stop("no memory");
	return v;
}

static Program prepare(const Case *c, const Options *o) {
	const Row *row = c->row;
	Program p = {.c = c};
	atled_engine_config config = {.size = sizeof config, .threads = o->threads, .environment = 1};
	atled_engine *engine = atled_engine_new(&config);
	p.ctx = atled_context_new(engine);
	if (!p.ctx) limit_stop("no memory");
	size_t n;
	char *text = read_text(o->programs, row->program, &n);
	if (atled_compile(p.ctx, text, n, row->program) != ATLED_OK) stop(p.ctx, row->name);
	free(text);
	for (int i = 0; i < c->ins; i++) p.in[i] = c->in[i].data;
	if (row->type) {
		for (int i = 0; i < c->outs; i++) p.out[i] = limit_memory(bytes_of(&c->out[i]));
		atled_function *f;
		if (atled_lookup(p.ctx, row->function, row->type, &f) != ATLED_OK ||
		    atled_entry(p.ctx, f, &p.raw, &p.ud) != ATLED_OK)
			stop(p.ctx, row->name);
		return p;
	}
	atled_value *start, *in[8];
	if (atled_get(p.ctx, row->start, &start) != ATLED_OK ||
	    atled_get(p.ctx, row->function, &p.function) != ATLED_OK ||
	    atled_get(p.ctx, "finish", &p.finish) != ATLED_OK)
		stop(p.ctx, row->name);
	for (int i = 0; i < c->ins; i++) in[i] = value_of(p.ctx, &c->in[i]);
	atled_value *args;
	if (atled_value_call(p.ctx, start, (size_t)c->ins, (const atled_value *const *)in, &args) !=
	    ATLED_OK)
		stop(p.ctx, row->name);
	p.nargs = atled_value_count(args);
	for (size_t i = 0; i < p.nargs; i++) p.const_args[i] = p.args[i] = atled_value_item(args, i);
	return p;
}

static void run_program(Program *p) {
	if (p->raw) {
		if (p->raw(p->ud, p->c->lengths, p->in, p->out) != ATLED_OK) stop(p->ctx, p->c->row->name);
		return;
	}
	atled_value_free(p->result);
	if (atled_value_call(p->ctx, p->function, p->nargs, p->const_args, &p->result) != ATLED_OK)
		stop(p->ctx, p->c->row->name);
}

/* Makes p->out point to the results, after a run. */
static void gather(Program *p) {
	if (p->raw) return;
	const atled_value *result = p->result;
	atled_value *made;
	if (atled_value_call(p->ctx, p->finish, 1, &result, &made) != ATLED_OK)
		stop(p->ctx, p->c->row->name);
	for (int i = 0; i < p->c->outs; i++) {
		atled_tensor *t = atled_value_tensor(atled_value_item(made, (size_t)i));
		atled_array view = {.size = sizeof view};
		if (!t || atled_tensor_view(t, &view) != ATLED_OK ||
		    view.count != limit_count(&p->c->out[i]) || view.dtype != dtypes[p->c->out[i].element])
			limit_stop("`finish` gives results of another form than the hand-written side");
		p->out[i] = view.data;
	}
}

/* ---- comparison of results ----------------------------------------------- */

static double element(const void *data, Element e, int64_t i) {
	return e == REAL64   ? ((const double *)data)[i]
	       : e == REAL32 ? (double)((const float *)data)[i]
	                     : (double)((const int64_t *)data)[i];
}

/* Returns the largest difference over the largest element, for all results; NAN
 * when there is a NaN. */
static double difference(const Program *p, const Limit *l) {
	double worst = 0;
	const char *theirs = l->results;
	for (int k = 0; k < p->c->outs; k++) {
		const Array *a = &p->c->out[k];
		double largest = 0, apart = 0;
		for (int64_t i = 0, n = limit_count(a); i < n; i++) {
			double x = element(p->out[k], a->element, i), y = element(theirs, a->element, i),
				   d = fabs(x - y);
			if (!(d <= apart)) apart = d;
			if (!(fabs(y) <= largest)) largest = fabs(y);
		}
		double relative = apart == 0 ? 0 : apart / largest;
		if (!(relative <= worst)) worst = relative;
		theirs += bytes_of(a);
	}
	return worst;
}

/* ---- one row ------------------------------------------------------------- */

typedef struct Report {
	bool fine;
	int rounds;
	double atled, limit, other; /* seconds of one run */
	double ratio, low, high, error, first, flops, bytes;
	double others; /* processors used by other programs at the same time */
	/* These distinguish slow threads from slow code: processors in use during a
	 * run, and the numbers of calls and evaluations in one. */
	double processors, limit_processors, native_calls, evaluated;
	double trip[2]; /* round_trip() before and after */
	Pages pages, limit_pages;
	int64_t n;
	bool single;
} Report;

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}
static double median(double *x, int n) {
	qsort(x, (size_t)n, sizeof *x, ascending);
	return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

static atled_stat counters_of(const Program *p) {
	atled_stat s = {.size = sizeof s};
	if (atled_stats(p->ctx, &s) != ATLED_OK) limit_stop("no counters");
	return s;
}

/* Measures the latency between processors: the time for a cache line to go to
 * another thread and back. A hypervisor moves its guests' processors among
 * those of the machine. Without a shared cache the latency is several times
 * larger, which slows down rows whose threads exchange arrays. */
typedef struct Line {
	_Alignas(128) atomic_int there;
	_Alignas(128) atomic_int back;
} Line;
enum { TRIPS = 20000, FIRST_TRIPS = 2000, LOOKS = 1000 };
#define TRIPS_SECONDS 0.05 /* on busy processors a round trip takes a time slice */
static void *send_back(void *ud) {
	Line *l = ud;
	for (int i = 1, got; i <= TRIPS; i++) {
		while ((got = atomic_load_explicit(&l->there, memory_order_acquire)) != i)
			if (got < 0) return NULL;
		atomic_store_explicit(&l->back, i, memory_order_release);
	}
	return NULL;
}
static double round_trip(void) {
	Line l = {0};
	pthread_t t;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || pthread_create(&t, NULL, send_back, &l)) return 0;
	const double first = now();
	double begin = first;
	int done = 0;
	for (bool late = false; done < TRIPS && !late; done += !late) {
		if (done == FIRST_TRIPS) begin = now(); /* the thread runs by then */
		atomic_store_explicit(&l.there, done + 1, memory_order_release);
		for (unsigned turn = 1;
		     atomic_load_explicit(&l.back, memory_order_acquire) != done + 1 && !late; turn++)
			late = turn % LOOKS == 0 && now() - first > TRIPS_SECONDS;
	}
	const double took = now() - begin;
	atomic_store(&l.there, -1);
	pthread_join(t, NULL);
	return done > FIRST_TRIPS ? took / (done - FIRST_TRIPS) : 0;
}

#define MOST_ROUNDS 101
#define MOST_WAITING 60.0 /* maximum wait for the compiler, in seconds */

static bool is_compiling(const Program *p) { return counters_of(p).units_pending > 0; }

/* Gets the size of the results from a setup in a temporary process, because the
 * other side's libraries must not be loaded here. */
static size_t bytes_of_results(const Row *row, const Options *o) {
	size_t *size =
		mmap(NULL, sizeof *size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (size == MAP_FAILED) limit_stop("no memory");
	pid_t pid = fork();
	if (pid == 0) {
		Case c = make_case(row, o);
		for (int i = 0; i < c.outs; i++) *size += bytes_of(&c.out[i]);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) < 0) limit_stop("no process");
	return *size;
}

/* Starts the process of the C side and waits for its results. */
static Limit start_limit(const Row *row, const Options *o) {
	const size_t shared = bytes_of_results(row, o);
	Limit l = {.results = mmap(NULL, shared ? shared : 1, PROT_READ | PROT_WRITE,
	                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
	int there[2], back[2];
	if (l.results == MAP_FAILED || pipe(there) || pipe(back)) limit_stop("no memory or pipe");
	pid_t pid = fork();
	if (pid < 0) limit_stop("no process");
	if (pid == 0) {
		close(there[1]), close(back[0]);
		serve_limit(row, o, there[0], back[1], l.results);
	}
	close(there[0]), close(back[1]);
	l.to = there[1], l.from = back[0];
	ask(&l, RESULTS, 0);
	return l;
}

/* Compares the results of both sides, or of all three. */
static void compare(const Row *row, Program *p, Limit *l, Report *r) {
	r->error = difference(p, l);
	if (!(r->error <= row->tolerance)) {
		fprintf(stderr, "bench: %s: Atled and C differ by %.2e\n", row->name, r->error);
		r->fine = false;
	}
	if (row->other) {
		ask(l, OTHER_RESULTS, 0);
		double error = difference(p, l);
		if (!(error <= row->tolerance)) {
			fprintf(stderr, "bench: %s: Atled and %s differ by %.2e\n", row->name, row->other_name,
			        error);
			r->fine = false;
		}
	}
}

/* Runs until no background compilation is pending and a run has used its code.
 * Returns the time of the last run. */
static double warm_up(Program *p, const Options *o, double begin, double first) {
	double ready = o->quick ? 0.05 : 0.5, last = first;
	bool waits = true;
	for (int k = 0;
	     k < 1000000 && (now() - begin < ready || (waits && now() - begin < MOST_WAITING)); k++) {
		double start = now();
		waits = is_compiling(p);
		run_program(p);
		waits |= is_compiling(p);
		last = now() - start;
	}
	return last;
}

static Report measure(const Row *row, const Options *o) {
	Limit l = start_limit(row, o);
	Case c = make_case(row, o);
	Program p = prepare(&c, o);
	Report r = {.fine = true,
	            .n = c.n,
	            .flops = c.flops,
	            .bytes = c.bytes,
	            .single = c.out[0].element == REAL32};
	double begin = now();
	run_program(&p);
	r.first = now() - begin;
	gather(&p);
	compare(row, &p, &l, &r);
	double a = warm_up(&p, o, begin, r.first);
	double b = ask(&l, RUN, 1), wanted = o->quick ? 0.01 : 0.1;
	if (b < wanted)
		b = ask(&l, RUN, (int64_t)(wanted / (b + 1e-9)) + 1) /
		    (double)((int64_t)(wanted / (b + 1e-9)) + 1);
	int64_t turns_a = (int64_t)(wanted / (a + 1e-9)) + 1,
			turns_b = (int64_t)(wanted / (b + 1e-9)) + 1;
	double round = a * (double)turns_a + b * (double)turns_b * (row->other ? 2 : 1);
	int rounds = o->rounds < MOST_ROUNDS ? o->rounds : MOST_ROUNDS;
	if (round * rounds > o->budget) rounds = o->budget > round ? (int)(o->budget / round) : 1;
	double as[MOST_ROUNDS], bs[MOST_ROUNDS], os[MOST_ROUNDS], ratios[MOST_ROUNDS],
		others[MOST_ROUNDS];
	r.trip[0] = round_trip();
	const atled_stat before = counters_of(&p);
	double used = 0, took = 0, limit_used = 0, limit_took = 0;
	for (int k = 0; k < rounds; k++) {
		double start = now(), machine = machine_time(), mine = processor_time(), theirs = l.used,
			   own = mine + theirs;
		for (int64_t t = 0; t < turns_a; t++) run_program(&p);
		as[k] = (now() - start) / (double)turns_a;
		used += processor_time() - mine, took += now() - start;
		bs[k] = ask(&l, RUN, turns_b) / (double)turns_b;
		limit_used += l.used - theirs, limit_took += bs[k] * (double)turns_b;
		ratios[k] = as[k] / bs[k];
		if (row->other) os[k] = ask(&l, OTHER, turns_b) / (double)turns_b;
		others[k] = fmax(0, (machine_time() - machine - (processor_time() + l.used - own)) /
		                        (now() - start));
		r.others += others[k] / rounds;
	}
	const atled_stat after = counters_of(&p);
	r.trip[1] = round_trip();
	const double runs = (double)turns_a * rounds;
	r.processors = used / took, r.limit_processors = limit_used / limit_took;
	r.native_calls = (double)(after.native_calls - before.native_calls) / runs,
	r.evaluated = (double)(after.instructions - before.instructions) / runs;
	ask(&l, PAGES, 0);
	r.limit_pages = l.pages;
	r.pages = pages_now();
	/* ends the threads, which then report how they met their jobs */
	if (getenv("ATLED_POOL")) atled_context_free(p.ctx);
	int quiet = 0;
	for (int k = 0; k < rounds; k++) quiet += others[k] < 0.1;
	if (quiet >= 3 && quiet < rounds) {
		int kept = 0;
		for (int k = 0; k < rounds; k++)
			if (others[k] < 0.1)
				as[kept] = as[k], bs[kept] = bs[k], os[kept] = os[k], ratios[kept] = ratios[k],
				kept++;
		rounds = kept;
		r.others = 0.1;
	}
	r.rounds = rounds;
	r.atled = median(as, rounds), r.limit = median(bs, rounds), r.ratio = median(ratios, rounds);
	r.low = ratios[0], r.high = ratios[rounds - 1];
	if (row->other) r.other = median(os, rounds);
	return r;
}

/* Measures in a separate process, so that a crash or an endless loop affects
 * only one row. */
static Report measure_apart(const Row *row, const Options *o) {
	Report r = {.fine = false};
	int back[2];
	if (pipe(back)) limit_stop("no pipe");
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0) limit_stop("no process");
	if (pid == 0) {
		close(back[0]);
		Report got = measure(row, o);
		_exit(send_all(back[1], &got, sizeof got) ? 0 : 1);
	}
	close(back[1]);
	bool got = receive_all(back[0], &r, sizeof r);
	close(back[0]);
	int status = 0;
	waitpid(pid, &status, 0);
	if (!got) {
		memset(&r, 0, sizeof r);
		if (WIFSIGNALED(status))
			fprintf(stderr, "bench: %s: %s\n", row->name, strsignal(WTERMSIG(status)));
	}
	return r;
}

/* ---- printing ------------------------------------------------------------ */

typedef struct Machine {
	double peak64, peak32, bandwidth;
} Machine;

static void print_json(const Row *row, const Report *r, const Machine *m) {
	printf("{\"row\":\"%s\",\"title\":\"%s\",\"fine\":%s", row->name, row->title,
	       r->fine ? "true" : "false");
	if (r->rounds) {
		printf(",\"n\":%" PRId64
		       ",\"atled_ms\":%.6g,\"c_ms\":%.6g,\"ratio\":%.4g,\"low\":%.4g,\"high\":%.4g,"
		       "\"rounds\":%d,\"goal\":%.4g,\"error\":%.3g,\"first_ms\":%.6g,\"others\":%.3g",
		       r->n, 1e3 * r->atled, 1e3 * r->limit, r->ratio, r->low, r->high, r->rounds,
		       row->goal, r->error, 1e3 * r->first, r->others);
		printf(",\"atled_processors\":%.3g,\"c_processors\":%.3g,\"native_calls\":%.6g,"
		       "\"evaluated\":%.6g,\"round_trip_ns\":[%.4g,%.4g]",
		       r->processors, r->limit_processors, r->native_calls, r->evaluated, 1e9 * r->trip[0],
		       1e9 * r->trip[1]);
		double peak = r->single ? m->peak32 : m->peak64;
		if (r->flops > 0)
			printf(",\"atled_of_peak\":%.3g,\"c_of_peak\":%.3g", r->flops / r->atled / peak,
			       r->flops / r->limit / peak);
		if (r->bytes > 0)
			printf(",\"atled_of_bandwidth\":%.3g,\"c_of_bandwidth\":%.3g",
			       r->bytes / r->atled / m->bandwidth, r->bytes / r->limit / m->bandwidth);
		if (r->pages.small + r->pages.huge > 0)
			printf(
				",\"atled_mb_small_huge_pages\":[%.4g,%.4g],\"c_mb_small_huge_pages\":[%.4g,%.4g]",
				r->pages.small, r->pages.huge, r->limit_pages.small, r->limit_pages.huge);
		if (row->other)
			printf(",\"other\":\"%s\",\"other_ms\":%.6g", row->other_name, 1e3 * r->other);
	}
	printf("}\n");
}

static void print_text(const Row *row, const Report *r, const Machine *m) {
	if (!r->rounds) {
		printf("%-22s failed\n", row->name);
		return;
	}
	printf("%-22s %10.4g ms %10.4g ms %8.2f x [%.2f..%.2f]", row->name, 1e3 * r->atled,
	       1e3 * r->limit, r->ratio, r->low, r->high);
	double peak = r->single ? m->peak32 : m->peak64;
	if (r->flops > 0)
		printf("  of FMA peak %.2f, C %.2f", r->flops / r->atled / peak,
		       r->flops / r->limit / peak);
	if (r->bytes > 0)
		printf("  of bandwidth %.2f, C %.2f", r->bytes / r->atled / m->bandwidth,
		       r->bytes / r->limit / m->bandwidth);
	if (row->other) printf("  %s %.4g ms", row->other_name, 1e3 * r->other);
	printf("  round trip %.0f, %.0f ns", 1e9 * r->trip[0], 1e9 * r->trip[1]);
	if (r->others > 0.1) printf("  (others used %.1f processors)", r->others);
	printf("  differ %.1e%s\n", r->error, r->fine ? "" : "  WRONG");
}

/* Measures the machine's rates in a process, so that its threads are gone
 * afterwards. */
static Machine measure_machine(int threads) {
	Machine *m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (m == MAP_FAILED) limit_stop("no memory");
	pid_t pid = fork();
	if (pid == 0) {
		m->peak64 = limit_peak(REAL64, threads);
		m->peak32 = limit_peak(REAL32, threads);
		m->bandwidth = limit_bandwidth(threads);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) < 0) limit_stop("no process");
	return *m;
}

/* Prints the resources used by a whole program. */
static int print_spent(char **program) {
	const double start = now();
	pid_t pid = fork();
	if (pid == 0) {
		dup2(2, 1);
		execv(program[0], program);
		_exit(127);
	}
	int status = 1;
	struct rusage u;
	if (pid < 0 || wait4(pid, &status, 0, &u) < 0 || status) return 1;
	const double busy = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	                    1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	printf("%.4g %.4g %.0f\n", now() - start, busy, 1024.0 * (double)u.ru_maxrss);
	return 0;
}

/* ---- main ---------------------------------------------------------------- */

static bool wanted(const Row *row, const Options *o) {
	for (int k = 0; k < o->onlys; k++)
		if (strstr(row->name, o->only[k])) return true;
	return o->onlys == 0;
}

int main(int argc, char **argv) {
	if (argc > 2 && !strcmp(argv[1], "--spent")) return print_spent(argv + 2);
	Options o = {.threads = (int)sysconf(_SC_NPROCESSORS_ONLN), .programs = "bench/programs"};
	if (o.threads > 2) o.threads = 2; /* the goals refer to two threads */
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
		if (!strcmp(a, "--quick")) o.quick = true;
		else if (!strcmp(a, "--json")) o.json = true;
		else if (!strcmp(a, "--list")) o.list = true;
		else if (!strcmp(a, "--only") && v && o.onlys < 16) o.only[o.onlys++] = v, i++;
		else if (!strcmp(a, "--threads") && v && atoi(v) > 0) o.threads = atoi(v), i++;
		else if (!strcmp(a, "--rounds") && v && atoi(v) > 0) o.rounds = atoi(v), i++;
		else if (!strcmp(a, "--budget") && v && atof(v) > 0) o.budget = atof(v), i++;
		else if (!strcmp(a, "--programs") && v) o.programs = v, i++;
		else {
			fprintf(stderr, "run: cannot make sense of %s\n", a);
			return 2;
		}
	}
	if (!o.rounds) o.rounds = o.quick ? 5 : 11;
	if (o.budget == 0) o.budget = o.quick ? 0.5 : 20;
	signal(SIGPIPE, SIG_IGN);
	if (o.list) {
		for (int f = 0; families[f]; f++)
			for (const Row *row = families[f]; row->name; row++)
				if (wanted(row, &o)) printf("%-22s %s\n", row->name, row->title);
		return 0;
	}
	Machine m = measure_machine(o.threads);
	if (o.json)
		printf("{\"machine\":true,\"threads\":%d,\"vector_bits\":%d,\"peak64\":%.4g,\"peak32\":%."
		       "4g,\"bandwidth\":%.4g,\"quick\":%s}\n",
		       o.threads, limit_vector_bits(), m.peak64, m.peak32, m.bandwidth,
		       o.quick ? "true" : "false");
	else
		printf("%d threads, %d-bit vectors; measured: %.1f Gflop/s in f64, %.1f in f32, triad %.1f "
		       "GB/s\n%-22s %13s %13s %10s\n",
		       o.threads, limit_vector_bits(), 1e-9 * m.peak64, 1e-9 * m.peak32, 1e-9 * m.bandwidth,
		       "row", "Atled", "C", "ratio");
	bool fine = true;
	for (int f = 0; families[f]; f++)
		for (const Row *row = families[f]; row->name; row++) {
			if (!wanted(row, &o)) continue;
			Report r = measure_apart(row, &o);
			fine = fine && r.fine;
			(o.json ? print_json : print_text)(row, &r, &m);
			fflush(stdout);
		}
	return fine ? 0 : 1;
}
