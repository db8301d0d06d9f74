/* sundials.h - what the integrators share: vectors on our heap, calls of
 * compiled functions, matrices, stepping, failures.
 *
 * Needs: solvers.h, backend/eval/code.h, SUNDIALS 6 or 7. Guarantees: all
 * vectors that SUNDIALS works with are tensors of the context's heap, so they
 * are counted, limited, and swept when a solve ends however it ends (its
 * matrices and their factors are not: it takes them from malloc); nothing
 * throws; nothing of SUNDIALS writes to the terminal.
 *
 *     Ode, Dae ──▶ Solve: vectors, routines, matrix, why it stopped
 *        └───────▶ March: steps from t0 to t1 and says at which times a row of
 *        the result is due
 */
#ifndef ATLED_SOLVERS_SUNDIALS_SUNDIALS_H
#define ATLED_SOLVERS_SUNDIALS_SUNDIALS_H

#include "backend/eval/core/code.h"
#include "solvers/linear/shifted_system.h"
#include "solvers/solvers.h"
#include "solvers/sundials/modules/library.h"

enum { DEFAULT_MAX_STEPS = 500000 };

/* ---- one run of an integrator -------------------------------------------- */

typedef struct VectorContent VectorContent;

typedef struct Solve {
	Ctx *c;
	SUNContext sun;
	N_Vector model;         /* whose table of operations all vectors have */
	VectorContent *vectors; /* every vector alive */
	N_Vector spare[4];      /* of each length: see nvector.c */
	Tensor *kept[16];       /* operands made contiguous */
	uint32_t nkept;
	Status status;   /* of the callback that stopped the run */
	const char *bad; /* what was not finite last: "the right-hand side"; NULL: nothing was */
	double bad_time;
	int64_t bad_at;
	/* whose elements those are: 'y' the unknowns, 'e' the equations, 'g'
	 * events, 0 else */
	char bad_of;
	char said[300]; /* the library's last message */
	/* what there is when the integrator gives up is the result: a warning,
	 * not an error */
	bool partial;
	bool gave_up;
	/* for messages: see solve_names; NULL: unknowns are y[0], y[1] ... */
	const char *names, *equations;
} Solve;

Status solve_begin(Solve *s, Ctx *c);
void solve_end(Solve *s);
/* zeros; NULL when memory fails */
N_Vector solve_vector(Solve *s, int64_t n);
N_Vector solve_vector_of(Solve *s, int64_t n, const double *values); /* a copy */
/* freed by solve_vectors_free */
N_Vector *solve_vectors(Solve *s, uint32_t count, int64_t n);
void solve_vectors_free(Solve *s, uint32_t count, N_Vector *v);
Tensor *vector_tensor(N_Vector v); /* borrowed */
double *vector_data(N_Vector v);

/* The elements of an operand as n contiguous doubles that live until solve_end.
 * false: a diagnostic, or memory (see s->status). */
bool solve_numbers(Solve *s, Value v, const char *what, int64_t n, const double **out);
bool solve_indices(Solve *s, Value v, const char *what, int64_t n, const int64_t **out);
bool solve_number(Solve *s, Value v, const char *what, double *out); /* finite */
int64_t value_count(Value v);

/* Texts behind the options of a call, where there are any, for messages: what
 * the unknowns are called and how the equations read. A line for each that is
 * "NAME<tab>n": n numbers in a row, of which NAME is the only one where n is 0.
 */
void solve_names(Solve *s, const HostCall *call, uint32_t noptions);
/* "h_t", "v[2]"; NULL where nobody said */
const char *name_of(const char *names, int64_t i, char *out, size_t cap);

/* What every initial value problem is given. */
typedef struct Given {
	int64_t n, nat, max_steps;
	double t0, t1, rtol, max_step;
	const double *y0, *atol, *at; /* at: times wanted, NULL for dense output */
	bool dense;                   /* the Jacobian */
	uint32_t degree;
} Given;

/* Which operands they are. */
typedef struct GivenAt {
	uint32_t y0, t0, t1, rtol, atol, saveat, max_step;
} GivenAt;

/* Reads and checks them; dense, degree and max_steps are the caller's
 * (options). */
Status given_read(Solve *s, Given *in, const GivenAt *where, const Value *args);

/* Keeps what SUNDIALS says in s->said instead of printing it. In SUNDIALS 6
 * each integrator has a handler: `set` sets that of `mem`. In SUNDIALS 7 the
 * context has it, from solve_begin on. */
#if SUNDIALS_HANDLER_OF_CONTEXT
#define solve_listen_to(s, mem, set) ((void)(s))
#else
void solve_listen(int code, const char *module, const char *function, char *message, void *solve);
#define solve_listen_to(s, mem, set) set(mem, solve_listen, s)
#endif

/* Whether SUNDIALS can count so many. false: a diagnostic that names `what`,
 * with s->status set. */
bool solve_can_count(Solve *s, int64_t count, const char *what);

/* ---- the functions handed over ------------------------------------------- */

typedef struct Routine {
	Fn *fn;
	Code *code;
	DirectCall *direct;    /* once it is machine code that can be called so */
	bool indirect;         /* it never will be */
	Value *args, *results; /* args begins with the captured values, borrowed */
	uint32_t nargs, ncaptured, nresults;
	const char *what; /* for messages: "the right-hand side" */
	char of;          /* what its elements belong to: see Solve.bad_of */
	int64_t calls;
} Routine;

Status routine_begin(Solve *s, Routine *r, Fn *fn, const char *what, uint32_t ncaptured,
                     const Value *captured);
void routine_end(Solve *s, Routine *r);
/* Runs it on args. 0, or -1 with s->status set. The results are the caller's
 * until routine_drop. */
int routine_run(Solve *s, Routine *r);
void routine_drop(Routine *r);
/* Result k as n contiguous doubles, valid until routine_drop: 0; 1 where one is
 * not finite (which an integrator answers with a smaller step); -1 with
 * s->status set where it has another length. */
int routine_numbers(Solve *s, Routine *r, uint32_t k, int64_t n, double t, const double **out);
/* Runs and copies the only result that counts. */
int routine_into(Solve *s, Routine *r, uint32_t k, double t, N_Vector out);

/* ---- Jacobian matrices --------------------------------------------------- */

/* Where the values of a Jacobian go. The pattern has every diagonal element, so
 * that I - gamma J has the pattern of J. */
typedef struct Pattern {
	bool dense, banded;
	bool fronts, iterated; /* sparse: factors by UMFPACK; GMRES with incomplete factors, */
	bool chosen;           /* which was asked for, so that it stays so where it does not converge */
	int64_t n, nvalues, nnz;
	int64_t *colptr, *rowind; /* of the matrix */
	int64_t *place;           /* of value k */
	Band band;                /* banded, iterated: in this order of the unknowns, NULL: their own */
	int64_t *order;
	size_t bytes, order_bytes;
} Pattern;

/* linear: 0 dense; 1 whichever is faster; 2 banded; 3 sparse; 4 iterated. */
Status pattern_begin(Solve *s, Pattern *p, int64_t n, int64_t linear, Value colptr, Value rowind);
Status pattern_transposed(Solve *s, Pattern *p, const Pattern *from);
void pattern_end(Solve *s, Pattern *p);
SUNMatrix pattern_matrix(Solve *s, const Pattern *p); /* NULL when memory fails */
/* p lives as long as the solver */
SUNLinearSolver pattern_solver(Solve *s, const Pattern *p, N_Vector y, SUNMatrix m);
SUNLinearSolver band_solver(Solve *s, const Pattern *p);
SUNLinearSolver sparse_solver(Solve *s, const Pattern *p, N_Vector y); /* fronts, iterated */
/* Writes sign times the values into m. */
void pattern_fill(const Pattern *p, const double *values, double sign, bool transposed,
                  SUNMatrix m);
/* Of each row of m, which has these values, the sum of the absolute values of
 * its products with y. */
void pattern_row_sizes(const Pattern *p, const double *values, SUNMatrix m, const double *y,
                       double *sizes);

/* ---- stepping ------------------------------------------------------------ */

/* Goes from t0 to t1, and calls row for each time at which a result is due. */
typedef struct March {
	Ctx *c;
	double t0, t1;
	int64_t max_steps;
	uint32_t degree;  /* dense output: points in each step */
	const double *at; /* the times wanted instead; NULL: dense */
	int64_t nat;
	void *ud;
	int (*step)(void *ud, double *t);             /* one step; negative: it failed */
	Status (*row)(void *ud, int64_t k, double t); /* t lies in the last step */
	/* Events; NULL: none are looked for. `cut` has the rows from k on of a
	 * piece of a step that begins at a and says whether it ends at an earlier
	 * *b; if so those rows are due again, up to there, and `noted` is told
	 * which is the last. */
	Status (*cut)(void *ud, int64_t k, double a, double *b, bool *found);
	Status (*noted)(void *ud, int64_t k, bool *stop);
	/* says why; flag is what step gave, or one of the two below */
	Status (*fail)(void *ud, int flag, double t);
} March;
enum { MARCH_STUCK = -1000, MARCH_STEPS = -1001, MARCH_EVENTS = -1002 };
Status march(March *m);
/* The points of [a, b] that the interpolant is sampled at: Chebyshev-Lobatto,
 * whose interpolation is stable at every degree (Trefethen, "Approximation
 * Theory and Approximation Practice", ch. 15). */
double march_node(double a, double b, uint32_t j, uint32_t degree);
/* saveat lies between t0 and t1 in the direction of integration; a diagnostic
 * when not. */
Status check_times(Ctx *c, double t0, double t1, const double *at, int64_t n);

/* The times and values of a result, row by row. */
typedef struct Rows {
	Tensor *times, *values;
	int64_t used;
	bool fixed; /* all rows are there from the beginning */
} Rows;
Status rows_begin(Solve *s, Rows *r, int64_t n, const double *at, int64_t nat);
/* NULL when memory fails. With r->used set back, rows are written again. */
double *rows_next(Solve *s, Rows *r, double t);
/* Makes the first steps one, as many of 32 as its polynomial tells to half the
 * tolerances; `until`: the last row that may be in it. *less: how many rows
 * there are no more. Costs at most 32 * degree^2 operations an unknown, and
 * what is not fit ends early. */
Status rows_join_first(Solve *s, Rows *r, uint32_t degree, double rtol, const double *atol,
                       int64_t until, int64_t *less);
void rows_results(const Rows *r, Value stats, Value *results); /* times, values, stats */
void rows_end(Rows *r);

/* ---- failures ------------------------------------------------------------ */

typedef enum Reason {                      /* for which an integrator gave up */
	                  GAVE_UP_STUCK,       /* the step no longer changes t */
	                  GAVE_UP_STEPS,       /* as many as allowed */
	                  GAVE_UP_ERROR,       /* the error test fails at the smallest step */
	                  GAVE_UP_CONVERGENCE, /* the equations of the smallest step cannot be solved */
	                  GAVE_UP_ACCURACY,    /* more is asked for than the machine's numbers hold */
	                  GAVE_UP_LINEAR,      /* a matrix cannot be factorised */
	                  /* a function gives NaN or infinity at every step tried */
	                  GAVE_UP_NOT_FINITE,
	                  GAVE_UP_TOO_CLOSE, /* first and last time */
	                  GAVE_UP_START,     /* initial values that are not consistent */
	                  GAVE_UP_INPUT,     /* the library does not take what it was given */
	                  GAVE_UP_OTHER
} Reason;

typedef struct Stand { /* where it was then; vectors NULL: not known */
	double t, step, factor;
	bool explicit_method;
	const char *what; /* of what there is no more; NULL: "solution" */
	double off;       /* start: by how much equation `equation` fails to hold */
	int64_t equation;
	N_Vector y, errors, weights;
} Stand;

/* Records the diagnostic: time, the component with the largest error, what to
 * try. */
Status gave_up(Solve *s, const Given *in, Reason why, const Stand *at);

/* ---- types --------------------------------------------------------------- */

/* Throws unless the operand is what the host function says. */
void want_operand(Builder *b, const char *host, const char *what, Ref r, Dtype d, uint32_t rank);
_Noreturn void host_misuse(Builder *b, const char *host, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* times, values, stats; returns 3. */
uint32_t solution_types(Builder *b, Ref y0, Ref saveat, TypeId *out);

/* ---- the one that needs no more than this -------------------------------- */

extern const HostDef kinsol_host;

#endif
