/* sundials.h - shared parts of the SUNDIALS bridges: vectors, calls of compiled
 * functions, matrices, time stepping, failures.
 *
 * Needs: solvers.h, backend/eval/code.h, SUNDIALS 6 or 7.
 *
 * Contract:
 * - SUNDIALS' vectors are tensors of the context's heap. They count towards its
 *   limit and are freed when a solve ends, however it ends. SUNDIALS allocates
 *   its matrices and factors with malloc.
 * - Nothing throws. SUNDIALS writes nothing to the terminal.
 *
 *     Ode, Dae ──▶ Solve: vectors, routines, matrix, failure state
 *        └───────▶ TimeLoop: steps from t0 to t1; reports the times at which
 *                            rows are due
 */
#ifndef ATLED_SOLVERS_SUNDIALS_MODULES_SUNDIALS_H
#define ATLED_SOLVERS_SUNDIALS_MODULES_SUNDIALS_H

#include "backend/eval/core/code.h"
#include "solvers/linear/shifted_system.h"
#include "solvers/sundials/modules/library.h"

enum { DEFAULT_MAX_STEPS = 500000 };

/* ---- one run of an integrator -------------------------------------------- */

typedef struct VectorContent VectorContent;

typedef struct Solve {
	Ctx *c;
	SUNContext sun;
	N_Vector model;         /* template whose operations all vectors share */
	VectorContent *vectors; /* list of all live vectors */
	N_Vector spare[4];      /* one per length: see nvector.c */
	Tensor *kept[16];       /* contiguous copies of operands */
	uint32_t nkept;
	Status status;   /* of the callback that stopped the run */
	const char *bad; /* what was last not finite: "the right-hand side"; NULL: nothing */
	double bad_time;
	int64_t bad_at;
	/* kind of its elements: 'y' the unknowns, 'e' the equations, 'g' events, 0
	 * other */
	char bad_of;
	char said[300]; /* the library's last message */
	/* if the integrator fails, the rows so far are the result and the failure
	 * is a warning */
	bool partial;
	bool failed;
	/* for messages: see solve_names; NULL: unknowns are y[0], y[1] ... */
	const char *names, *equations;
} Solve;

Status solve_begin(Solve *s, Ctx *c);
void solve_end(Solve *s);
/* a zero vector; NULL when memory fails */
N_Vector solve_vector(Solve *s, int64_t n);
/* a vector with copied values; NULL when memory fails */
N_Vector solve_vector_of(Solve *s, int64_t n, const double *values);
/* release with solve_vectors_free */
N_Vector *solve_vectors(Solve *s, uint32_t count, int64_t n);
void solve_vectors_free(Solve *s, uint32_t count, N_Vector *v);
Tensor *vector_tensor(N_Vector v); /* borrowed */
double *vector_data(N_Vector v);

/* The elements of an operand as n contiguous doubles that live until solve_end.
 * Returns false with a diagnostic or when memory fails (see s->status). */
bool solve_numbers(Solve *s, Value v, const char *what, int64_t n, const double **out);
bool solve_indices(Solve *s, Value v, const char *what, int64_t n, const int64_t **out);
bool solve_number(Solve *s, Value v, const char *what, double *out); /* must be finite */
int64_t value_count(Value v);

/* Reads the names of the unknowns and the text of the equations, for messages.
 * They follow the options of a call, if present. Each line "NAME<tab>n"
 * describes n consecutive scalars; n = 0: NAME is a scalar. */
void solve_names(Solve *s, const HostCall *call, uint32_t noptions);
/* The name of scalar i, "h_t" or "v[2]"; NULL if unknown. */
const char *name_of(const char *names, int64_t i, char *out, size_t cap);

/* The input of an initial value problem. */
typedef struct IvpInput {
	int64_t n, nat, max_steps;
	double t0, t1, rtol, max_step;
	const double *y0, *atol, *at; /* at: output times; NULL: dense output */
	bool dense;                   /* the Jacobian is dense */
	uint32_t degree;
} IvpInput;

/* The operands' indices. */
typedef struct GivenAt {
	uint32_t y0, t0, t1, rtol, atol, saveat, max_step;
} GivenAt;

/* Reads and checks the operands; the caller sets dense, degree and max_steps
 * from the options. */
Status given_read(Solve *s, IvpInput *in, const GivenAt *where, const Value *args);

/* Stores SUNDIALS' messages in s->said instead of printing them. In SUNDIALS 6
 * each integrator has a handler: `set` sets that of `mem`. In SUNDIALS 7 the
 * context has one from solve_begin on. */
#if SUNDIALS_HANDLER_OF_CONTEXT
#define solve_listen_to(s, mem, set) ((void)(s))
#else
void solve_listen(int code, const char *module, const char *function, char *message, void *solve);
#define solve_listen_to(s, mem, set) set(mem, solve_listen, s)
#endif

/* Whether SUNDIALS' index type can hold count. Otherwise a diagnostic names
 * `what` and s->status is set. */
bool solve_can_count(Solve *s, int64_t count, const char *what);

/* ---- function arguments -------------------------------------------------- */

typedef struct Callback {
	Fn *fn;
	Code *code;
	DirectCall *direct;    /* direct call, if compiled to a suitable unit */
	bool indirect;         /* a direct call is impossible */
	Value *args, *results; /* args begins with the borrowed captured values */
	uint32_t nargs, ncaptured, nresults;
	const char *what; /* for messages: "the right-hand side" */
	char of;          /* kind of its elements: see Solve.bad_of */
	int64_t calls;
} Callback;

Status routine_begin(Solve *s, Callback *r, Fn *fn, const char *what, uint32_t ncaptured,
                     const Value *captured);
void routine_end(Solve *s, Callback *r);
/* Runs the function on args. Returns 0, or -1 with s->status set. The caller
 * releases the results with routine_drop. */
int routine_run(Solve *s, Callback *r);
void routine_drop(Callback *r);
/* Result k as n contiguous doubles, valid until routine_drop. Returns 0; 1 if a
 * value is not finite (recoverable: the integrator reduces the step); -1 with
 * s->status set if the length is wrong. */
int routine_numbers(Solve *s, Callback *r, uint32_t k, int64_t n, double t, const double **out);
/* Runs the function and copies result k to out. */
int routine_into(Solve *s, Callback *r, uint32_t k, double t, N_Vector out);

/* ---- Jacobian matrices --------------------------------------------------- */

/* Maps the values of a Jacobian to a matrix. The pattern contains the whole
 * diagonal, so that I - gamma J has the pattern of J. */
typedef struct Pattern {
	bool dense, banded;
	bool multifrontal, iterated; /* sparse: UMFPACK factors; GMRES with incomplete factors */
	bool chosen;                 /* the user chose the solver; it is not replaced on failure */
	int64_t n, nvalues, nnz;
	int64_t *colptr, *rowind; /* of the matrix */
	int64_t *place;           /* of value k in the matrix */
	Bandwidth band;           /* banded, iterated: the band in `order` (NULL: the natural order) */
	int64_t *order;
	size_t bytes, order_bytes;
} Pattern;

/* linear: 0 dense; 1 the faster one; 2 banded; 3 sparse; 4 iterated. */
Status pattern_begin(Solve *s, Pattern *p, int64_t n, int64_t linear, Value colptr, Value rowind);
Status pattern_transposed(Solve *s, Pattern *p, const Pattern *from);
void pattern_end(Solve *s, Pattern *p);
SUNMatrix pattern_matrix(Solve *s, const Pattern *p); /* NULL when memory fails */
/* p must outlive the solver */
SUNLinearSolver pattern_solver(Solve *s, const Pattern *p, N_Vector y, SUNMatrix m);
SUNLinearSolver band_solver(Solve *s, const Pattern *p);
SUNLinearSolver sparse_solver(Solve *s, const Pattern *p, N_Vector y); /* multifrontal, iterated */
/* Writes sign times the values into m. */
void pattern_fill(const Pattern *p, const double *values, double sign, bool transposed,
                  SUNMatrix m);
/* sizes[i] = sum over j of |m_ij y_j|, where m has these values. */
void pattern_row_sizes(const Pattern *p, const double *values, SUNMatrix m, const double *y,
                       double *sizes);

/* ---- time stepping ------------------------------------------------------- */

/* Steps from t0 to t1, and calls row at each output time. */
typedef struct TimeLoop {
	Ctx *c;
	double t0, t1;
	int64_t max_steps;
	uint32_t degree;  /* dense output: points per step */
	const double *at; /* output times; NULL: dense output */
	int64_t nat;
	void *ud;
	int (*step)(void *ud, double *t);             /* makes one step; negative: failure */
	Status (*row)(void *ud, int64_t k, double t); /* t is in the last step */
	/* Events; NULL: none. `cut` gets the rows from k on of a part of a step
	 * that begins at a. It reports whether the part ends at an earlier *b; its
	 * rows are then written again up to *b, and `noted` receives the last
	 * one. */
	Status (*cut)(void *ud, int64_t k, double a, double *b, bool *found);
	Status (*noted)(void *ud, int64_t k, bool *stop);
	/* reports a failure; flag is that of step, or one of the three below */
	Status (*fail)(void *ud, int flag, double t);
} TimeLoop;
enum { TIME_LOOP_STUCK = -1000, TIME_LOOP_STEPS = -1001, TIME_LOOP_EVENTS = -1002 };
Status time_loop_run(TimeLoop *m);
/* The sample points of the interpolant in [a, b]: Chebyshev-Lobatto points,
 * whose interpolation is stable at every degree (Trefethen, "Approximation
 * Theory and Approximation Practice", ch. 15). */
double dense_output_node(double a, double b, uint32_t j, uint32_t degree);
/* Checks that the output times go from t0 towards t1 and do not pass it.
 * Records a diagnostic if not. */
Status check_times(Ctx *c, double t0, double t1, const double *at, int64_t n);

/* The times and values of a result, row by row. */
typedef struct OutputRows {
	Tensor *times, *values;
	int64_t used;
	bool fixed; /* the number of rows is known in advance */
} OutputRows;
Status rows_begin(Solve *s, OutputRows *r, int64_t n, const double *at, int64_t nat);
/* The row for time t; NULL when memory fails. After r->used is decreased, rows
 * are overwritten. */
double *rows_next(Solve *s, OutputRows *r, double t);
/* Merges up to 32 first steps into one, whose polynomial must reproduce their
 * rows to half the tolerances. until: the last row that it may contain. *less:
 * number of rows removed. It costs at most 32 * degree^2 operations per
 * unknown, and stops early for a merge that does not fit. */
Status rows_join_first(Solve *s, OutputRows *r, uint32_t degree, double rtol, const double *atol,
                       int64_t until, int64_t *less);
void rows_results(const OutputRows *r, Value stats, Value *results); /* times, values, stats */
void rows_end(OutputRows *r);

/* ---- failures ------------------------------------------------------------ */

/* Why an integrator failed. */
typedef enum FailureReason {
	FAILED_STUCK,       /* the step no longer changes t */
	FAILED_STEPS,       /* max_steps reached */
	FAILED_ERROR_TEST,  /* the error test fails at the smallest step */
	FAILED_CONVERGENCE, /* the nonlinear iteration fails at the smallest step */
	FAILED_ACCURACY,    /* the tolerances are below machine precision */
	FAILED_LINEAR,      /* a matrix cannot be factored */
	FAILED_NOT_FINITE,  /* a function is not finite at any step size */
	FAILED_TOO_CLOSE,   /* first and last time too close */
	FAILED_START,       /* no consistent initial values */
	FAILED_INPUT,       /* the library rejects its input */
	FAILED_OTHER
} FailureReason;

typedef struct FailureState { /* the state at the failure; vectors NULL: unknown */
	double t, step, factor;
	bool explicit_method;
	const char *what; /* what ends there; NULL: "solution" */
	double off;       /* start: the residual of equation `equation` */
	int64_t equation;
	N_Vector y, errors, weights;
} FailureState;

/* Records the diagnostic: time, the component with the largest error, a hint.
 * Returns ST_ERROR. */
Status solve_report_failure(Solve *s, const IvpInput *in, FailureReason why,
                            const FailureState *at);

/* ---- types --------------------------------------------------------------- */

/* Throws unless the operand has the required type. */
void want_operand(Builder *b, const char *host, const char *what, Ref r, Dtype d, uint32_t rank);
_Noreturn void host_misuse(Builder *b, const char *host, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The types of times, values, stats; returns 3. */
uint32_t solution_types(Builder *b, Ref y0, Ref saveat, TypeId *out);

/* ---- KINSOL -------------------------------------------------------------- */

extern const HostDef kinsol_host;

#endif
