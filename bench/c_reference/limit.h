/* limit.h - what the hand-written sides of the benches have in common: rows,
 * their inputs and results, memory and threads.
 *
 * A row is one line of the table that `make bench` prints: an Atled program
 * (bench/programs/) and a C function that does the same work as well as we can
 * write it. The driver (bench/run.c) calls `setup` in two processes, one for
 * each side, so that neither disturbs the other's threads or libraries; setup
 * must therefore give the same inputs every time. It fails by limit_stop, which
 * ends the process with a message.
 */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Element { REAL64, REAL32, WHOLE64 } Element;

typedef struct Array {
	void *data;
	Element element;
	int rank;
	int64_t shape[4];
} Array;

typedef struct Row Row;
typedef struct Case {
	const Row *row;
	int64_t n;          /* the size, row->full or row->quick */
	int threads;        /* for the hand-written side */
	int64_t lengths[6]; /* of the names in row->type, in order of appearance */
	int ins, outs;
	Array in[8], out[8]; /* out: written by the hand-written side */
	/* of one run, where the machine's rate of fused multiply-adds is the
	 * limit; else 0 */
	double flops;
	/* that one run must move to and from memory, where that is the limit;
	 * else 0 */
	double bytes;
	void *own; /* the hand-written side's */
} Case;

struct Row {
	const char *name;     /* what --only and the peers call it */
	const char *title;    /* for people */
	const char *program;  /* bench/programs/PROGRAM.dsl */
	const char *function; /* in it */
	/* Its type for atled_lookup. NULL: the arguments are no arrays; then the
	 * program has the function `start` names, which makes a tuple of them of
	 * the case's inputs, and `finish`, which makes the case's results of the
	 * function's. */
	const char *type, *start;
	double goal;         /* at most so many times the hand-written side's time */
	double tolerance;    /* of the results: largest difference by largest element */
	int64_t full, quick; /* sizes */
	int variant;         /* the rest is the row's own file's business */
	void (*setup)(Case *c);
	void (*run)(Case *c);
	const char *other_name; /* another implementation worth a column: NULL for none */
	void (*other)(Case *c);
};

/* Each ends with a row without name. */
extern const Row elementwise_rows[], reduction_rows[], contraction_rows[], heat_rows[],
	scalar_rows[], ode_rows[], pinn_rows[], gram_rows[], gmm_rows[], newton_rows[], taylor_rows[],
	ba_rows[], lstm_rows[], explicit_rows[], stiff_rows[], weno_rows[], fourier_rows[],
	triangles_rows[];

/* The machine's rates, measured: fused multiply-adds in flop/s, memory in
 * bytes/s moved by a triad. */
double limit_peak(Element element, int threads);
double limit_bandwidth(int threads);
int limit_vector_bits(void);

/* Memory of zeros on large pages; for the life of the process. */
void *limit_memory(size_t bytes);
_Noreturn void limit_stop(const char *why);

/* An array with its memory; lengths that are not there are 0. */
Array limit_array(Element element, int64_t n0, int64_t n1, int64_t n2);
int64_t limit_count(const Array *a);
/* Numbers in [lo, hi), the same for the same seed. */
void limit_fill(Array *a, uint64_t seed, double lo, double hi);

/* Runs f(part, parts, ud) for part in 0 .. parts - 1, each on a thread of its
 * own; the caller's is part 0. */
typedef void (*Part)(int part, int parts, void *ud);
void limit_parallel(int parts, Part f, void *ud);
/* In a Part: waits until all parts are here. */
void limit_barrier(int parts);
/* The part'th of equal shares of 0 .. n - 1, cut at multiples of `grain`. */
static inline void limit_share(int64_t n, int64_t grain, int part, int parts, int64_t *from,
                               int64_t *to) {
	int64_t pieces = (n + grain - 1) / grain;
	int64_t a = pieces * part / parts * grain, b = pieces * (part + 1) / parts * grain;
	*from = a < n ? a : n;
	*to = b < n ? b : n;
}

#endif
