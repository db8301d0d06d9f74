/* limit.h - common interface of the C references.
 *
 * A row is one line of the table of `make bench`: an Atled program
 * (bench/programs/) and a C function, as fast as we can write it, that does the
 * same work.
 *
 * Contract: the driver (bench/run.c) calls `setup` in two processes, one for
 * each side, so that neither affects the other's threads or libraries. Setup
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
	int threads;        /* for the C reference */
	int64_t lengths[6]; /* extents of the names in row->type, in order of appearance */
	int ins, outs;
	Array in[8], out[8]; /* out: written by the C reference */
	/* of one run, when the rate of fused multiply-adds is the limit; else 0 */
	double flops;
	/* that one run must move to and from memory, when that is the limit;
	 * else 0 */
	double bytes;
	void *own; /* private to the C reference */
} Case;

struct Row {
	const char *name;     /* name for --only and the peers */
	const char *title;    /* description */
	const char *program;  /* bench/programs/PROGRAM.dsl */
	const char *function; /* function in it */
	/* Its type for atled_lookup. NULL: the arguments are no arrays. Then
	 * `start` names the program's function that makes a tuple of them from
	 * the case's inputs, and `finish` the one that converts the function's
	 * result. */
	const char *type, *start;
	double goal;         /* maximum of Atled's time over the reference's */
	double tolerance;    /* of the results: largest difference over largest element */
	int64_t full, quick; /* sizes */
	int variant;         /* the remaining fields are private to the row's file */
	void (*setup)(Case *c);
	void (*run)(Case *c);
	const char *other_name; /* another implementation with a column of its own; NULL: none */
	void (*other)(Case *c);
};

/* Each table ends with a row without a name. */
extern const Row elementwise_rows[], reduction_rows[], contraction_rows[], heat_rows[],
	scalar_rows[], ode_rows[], pinn_rows[], gram_rows[], gmm_rows[], newton_rows[], taylor_rows[],
	ba_rows[], lstm_rows[], explicit_rows[], stiff_rows[], weno_rows[], fourier_rows[],
	triangles_rows[];

/* Measure the machine's rates: fused multiply-adds in flop/s, and memory
 * bandwidth of a triad in bytes/s. */
double limit_peak(Element element, int threads);
double limit_bandwidth(int threads);
int limit_vector_bits(void);

/* Returns zeroed memory on large pages, for the life of the process. */
void *limit_memory(size_t bytes);
_Noreturn void limit_stop(const char *why);

/* Returns an array with its memory; absent axes have extent 0. */
Array limit_array(Element element, int64_t n0, int64_t n1, int64_t n2);
int64_t limit_count(const Array *a);
/* Fills with random numbers in [lo, hi), the same for the same seed. */
void limit_fill(Array *a, uint64_t seed, double lo, double hi);

/* Runs f(part, parts, ud) for part in 0 .. parts - 1, each on its own thread;
 * the caller runs part 0. */
typedef void (*Part)(int part, int parts, void *ud);
void limit_parallel(int parts, Part f, void *ud);
/* Barrier for all parts; called in a Part. */
void limit_barrier(int parts);
/* Computes share `part` of 0 .. n - 1, cut at multiples of `grain`. */
static inline void limit_share(int64_t n, int64_t grain, int part, int parts, int64_t *from,
                               int64_t *to) {
	int64_t pieces = (n + grain - 1) / grain;
	int64_t a = pieces * part / parts * grain, b = pieces * (part + 1) / parts * grain;
	*from = a < n ? a : n;
	*to = b < n ? b : n;
}

#endif
