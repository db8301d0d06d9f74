/* delaunay_qhull.c - Delaunay triangulation of the plane by qhull.
 *
 * Needs: delaunay_qhull.h, backend/numlib/detached_call.h, and libqhull_r, the
 * reentrant library, which is loaded at the first use.
 *
 * Method: the lower convex hull of the points lifted to a paraboloid (Barber,
 * Dobkin and Huhdanpaa, Quickhull, ACM TOMS 22, 1996). qhull merges facets that
 * rounding does not separate, and divides merged ones again (Qt). A point at
 * infinity (Qz) lets all points lie on one circle. Coordinates are relative to
 * the middle of the extent and scaled by a power of two.
 *
 * Contract:
 * - qhull has no callback. Calls for more than APART_FROM points run on a
 *   thread of their own, which ^C leaves behind. Their time is bounded: n log n
 *   as a rule, and n^2 or more for n points on one circle.
 * - qhull allocates by malloc. Its memory does not count in the context's
 *   account; a call whose estimate does not fit is refused.
 * - Errors of qhull arrive by its own longjmp, which crosses no other frames,
 *   and its texts in a buffer. It ends the process only when memory fails
 *   before it starts, or again while it reports an error.
 */
#define _GNU_SOURCE /* fmemopen */
#include "solvers/geometry/delaunay_qhull.h"
#include "backend/numlib/detached_call.h"
#include "lang/base/dynlib.h"
#include "lang/base/tensor.h"

#include <libqhull_r/libqhull_r.h>
#include <math.h>
#include <pthread.h>
#include <sonames.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(F) F(qh_zero) F(qh_new_qhull) F(qh_freeqhull) F(qh_memfreeshort) F(qh_pointid)

static struct {
#define F(name) __typeof__(&(name)) name;
	FUNCTIONS(F)
#undef F
} qhull;
static bool ready;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
#define NAME(name) DYN_NAME(qhull, name),
	static const DynName names[] = {FUNCTIONS(NAME)};
#undef NAME
	void *library = dynlib_open(SONAME_QHULL);
	ready = dynlib_find(&library, 1, names, sizeof names / sizeof *names);
}

/* ---- a triangulation ----------------------------------------------------- */

enum { APART_FROM = 2000, TEXT = 2000, QHULL_BYTES = 1700 /* for a point of a grid */ };
#define MOST_POINTS 500000000
#define FLAT 1e-12 /* height of a triangle at the hull that rounding may turn over */

typedef struct Place {
	double x, y;
	int64_t point;
} Place;

typedef enum Fault { GOOD, COINCIDE, ON_A_LINE, CROWDED, REFUSED, NO_BUFFER } Fault;

/* What the caller receives when the call has ended. */
typedef struct Outcome {
	Fault fault;
	int64_t a, b; /* the points of the message */
	Tensor *triangles;
	char text[TEXT]; /* qhull's */
} Outcome;

typedef struct Triangulation {
	atomic_bool stop;
	int64_t n, count;
	double *x;        /* n points */
	Place *places;    /* n */
	facetT **pending; /* 4 n + 8 */
	int64_t *corners; /* of 2 n triangles */
	char *used;       /* n */
	Outcome here, *to;
	size_t bytes;
} Triangulation;

static int by_place(const void *p, const void *q) {
	const Place *a = p, *b = q;
	if (a->x != b->x) return a->x < b->x ? -1 : 1;
	if (a->y != b->y) return a->y < b->y ? -1 : 1;
	return (a->point > b->point) - (a->point < b->point);
}

/* Finds points at one place, or all on one line. The line through the first and
 * the last point of the order is long compared with the extent. */
static Fault check_places(Triangulation *t) {
	Place *const p = t->places;
	for (int64_t i = 0; i < t->n; i++) p[i] = (Place){t->x[2 * i], t->x[2 * i + 1], i};
	qsort(p, (size_t)t->n, sizeof *p, by_place);
	for (int64_t i = 1; i < t->n; i++)
		if (p[i].x == p[i - 1].x && p[i].y == p[i - 1].y) {
			t->here.a = p[i - 1].point;
			t->here.b = p[i].point;
			return COINCIDE;
		}
	const double dx = p[t->n - 1].x - p->x, dy = p[t->n - 1].y - p->y;
	for (int64_t i = 1; i < t->n; i++)
		if (fabs(dx * (p[i].y - p->y) - dy * (p[i].x - p->x)) > FLAT * hypot(dx, dy)) return GOOD;
	return ON_A_LINE;
}

/* The corners of a facet of the lower hull, in the order that its orientation
 * in the triangulation gives. False if it is no triangle of points. */
static bool corners_of(qhT *qh, facetT *facet, int64_t n, int64_t id[3]) {
	vertexT *vertex, **vertexp;
	int k = 0;
	FOREACHvertex_(facet->vertices) {
		const int64_t point = qhull.qh_pointid(qh, vertex->point);
		if (k == 3 || point < 0 || point >= n) return false;
		id[k++] = point;
	}
	/* the lower hull is seen from below */
	if (k == 3 && !(facet->toporient ^ qh_ORIENTclock)) {
		const int64_t first = id[0];
		id[0] = id[1];
		id[1] = first;
	}
	return k == 3;
}

/* The height over the longest side; negative when it lies clockwise. */
static double height(const double *x, const int64_t id[3]) {
	const double *a = x + 2 * id[0], *b = x + 2 * id[1], *c = x + 2 * id[2];
	const double longest =
		fmax(hypot(b[0] - a[0], b[1] - a[1]),
	         fmax(hypot(c[0] - b[0], c[1] - b[1]), hypot(a[0] - c[0], a[1] - c[1])));
	return ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / longest;
}

/* Marks as seen the facets of the upper hull, and flat triangles at the border
 * of the rest. */
static void peel(qhT *qh, Triangulation *t) {
	facetT *facet, *neighbor, **neighborp;
	FORALLfacets facet->seen = facet->upperdelaunay;
	FORALLfacets {
		int64_t top = 0, id[3];
		t->pending[top++] = facet;
		while (top) {
			facetT *f = t->pending[--top];
			if (f->seen || !corners_of(qh, f, t->n, id) || height(t->x, id) > FLAT) continue;
			bool at_border = false;
			FOREACHneighbor_(f) at_border |= neighbor->seen;
			if (!at_border) continue;
			f->seen = true;
			FOREACHneighbor_(f) if (!neighbor->seen && top < 4 * t->n) t->pending[top++] = neighbor;
		}
	}
}

/* Copies the triangles, and checks that they are as many as Euler's formula
 * demands, lie anticlockwise and use every point. */
static Fault collect(qhT *qh, Triangulation *t) {
	facetT *facet, *neighbor, **neighborp;
	int64_t border = 0;
	peel(qh, t);
	memset(t->used, 0, (size_t)t->n);
	FORALLfacets {
		if (facet->seen) continue;
		int64_t *const id = t->corners + 3 * t->count;
		if (t->count == 2 * t->n || !corners_of(qh, facet, t->n, id)) return CROWDED;
		for (int k = 0; k < 3; k++) t->used[id[k]] = 1;
		t->here.a = id[0];
		if (!(height(t->x, id) > 0)) return CROWDED;
		FOREACHneighbor_(facet) border += neighbor->seen;
		t->count++;
	}
	for (t->here.a = 0; t->here.a < t->n; t->here.a++)
		if (!t->used[t->here.a]) return CROWDED;
	t->here.a = 0;
	return t->count == 2 * t->n - 2 - border ? GOOD : CROWDED;
}

static Fault triangulate(Triangulation *t) {
	const Fault fault = check_places(t);
	if (fault != GOOD) return fault;
	FILE *errors = fmemopen(t->here.text, TEXT - 1, "w");
	qhT *qh = errors ? malloc(sizeof *qh) : NULL;
	Fault found = NO_BUFFER;
	if (qh) {
		char options[] = "qhull d Qbb Qc Qz Q12 Qt";
		int left, blocks;
		qhull.qh_zero(qh, errors);
		const int failed = qhull.qh_new_qhull(qh, 2, (int)t->n, t->x, False, options, NULL, errors);
		found = failed == qh_ERRsingular ? ON_A_LINE
		        : failed == qh_ERRmem    ? NO_BUFFER
		        : failed                 ? REFUSED
		                                 : collect(qh, t);
		qhull.qh_freeqhull(qh, qh_ALL);
		qhull.qh_memfreeshort(qh, &left, &blocks);
		free(qh);
	}
	if (errors) fclose(errors);
	return found;
}

static void body(void *ud) {
	Triangulation *t = ud;
	t->here.fault = triangulate(t);
}

static void release(Ctx *c, void *ud) {
	Triangulation *t = ud;
	if (!atomic_load(&t->stop)) { /* the caller still waits */
		*t->to = t->here;
		if (t->here.fault == GOOD) {
			const int64_t shape[2] = {t->count, 3};
			Tensor *o = t->to->triangles = tensor_new(c, DT_I64, 2, shape);
			if (o) memcpy(o->data, t->corners, (size_t)t->count * 3 * sizeof *t->corners);
		}
	}
	heap_free(c, t, t->bytes);
}

/* ---- the host function --------------------------------------------------- */

static Status refuse(Ctx *c, const Outcome *o) {
	const long long a = o->a, b = o->b;
	const char *text = o->text;
	switch (o->fault) {
	case GOOD: return ST_OK;
	case COINCIDE:
		diag_error(c, E_VALUE, NO_SPAN, "delaunay(P): points %lld and %lld are at one place", a, b);
		break;
	case ON_A_LINE:
		diag_error(c, E_VALUE, NO_SPAN, "delaunay(P): all points are on one line");
		break;
	case CROWDED:
		diag_error(c, E_VALUE, NO_SPAN,
		           "delaunay(P): point %lld lies so close to others, or to a line through them, "
		           "that rounding does not separate it in the extent of all points",
		           a);
		break;
	case REFUSED:
		text += strspn(text, "\n");
		diag_error(c, E_VALUE, NO_SPAN, "delaunay(P): %.*s", (int)strcspn(text, "\n"), text);
		break;
	case NO_BUFFER: return ST_NOMEM;
	}
	return ST_ERROR;
}

/* Copies points relative to the middle of their extent, which becomes less than
 * one. Returns the first point that is not finite, or -1. */
static int64_t copy_scaled(int64_t n, const double *from, double *to) {
	double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
	for (int64_t i = 0; i < 2 * n; i++) {
		if (!isfinite(from[i])) return i / 2;
		low[i % 2] = fmin(low[i % 2], from[i]);
		high[i % 2] = fmax(high[i % 2], from[i]);
	}
	const double middle[2] = {low[0] / 2 + high[0] / 2, low[1] / 2 + high[1] / 2};
	int e;
	/* halves do not overflow */
	frexp(fmax(high[0] / 2 - low[0] / 2, high[1] / 2 - low[1] / 2), &e);
	for (int64_t i = 0; i < 2 * n; i++)
		to[i] = ldexp(ldexp(from[i], -1) - ldexp(middle[i % 2], -1), -e);
	return -1;
}

static Status run(Ctx *c, int64_t n, const double *points, Tensor **triangles) {
	const size_t k = (size_t)n, x = 2 * k * sizeof(double), places = k * sizeof(Place),
				 pending = (4 * k + 8) * sizeof(facetT *), corners = 6 * k * sizeof(int64_t),
				 head = (sizeof(Triangulation) + 63) / 64 * 64,
				 bytes = head + x + places + pending + corners + k;
	if (heap_limit(c) && heap_used(c) + bytes + k * QHULL_BYTES > heap_limit(c)) return ST_NOMEM;
	Triangulation *t = heap_alloc(c, bytes);
	if (!t) return ST_NOMEM;
	Outcome o = {.fault = GOOD};
	memset(t, 0, sizeof *t);
	char *at = (char *)t + head;
	t->n = n;
	t->to = &o;
	t->bytes = bytes;
	t->x = (double *)(void *)at;
	t->places = (Place *)(void *)(at += x);
	t->pending = (facetT **)(void *)(at += places);
	t->corners = (int64_t *)(void *)(at += pending);
	t->used = at + corners;
	const int64_t wrong = copy_scaled(n, points, t->x);
	if (wrong >= 0) {
		heap_free(c, t, bytes);
		diag_error(c, E_VALUE, NO_SPAN, "delaunay(P): point %lld is not finite", (long long)wrong);
		return ST_ERROR;
	}
	Status st = ST_OK;
	if (n > APART_FROM) st = detached_call(c, body, t, &t->stop, release);
	else {
		body(t);
		release(c, t);
		st = ctx_poll(c, k);
	}
	if (st == ST_OK) st = refuse(c, &o);
	if (st == ST_OK && !o.triangles) st = ST_NOMEM;
	if (st == ST_OK) *triangles = o.triangles;
	else tensor_unref(o.triangles);
	return st;
}

static Status eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                   uint32_t nresults, Value *results) {
	(void)call, (void)nargs, (void)nresults;
	pthread_once(&once, open_library);
	if (!ready) {
		diag_error(c, E_VALUE, NO_SPAN,
		           "qhull (" SONAME_QHULL ") cannot be loaded; `make deps` installs it");
		return ST_ERROR;
	}
	Tensor *points = tensor_contiguous(c, args[0].tensor), *triangles = NULL;
	if (!points) return ST_NOMEM;
	Status st = ST_ERROR;
	if (points->shape[1] != 2 || points->shape[0] < 3 || points->shape[0] > MOST_POINTS)
		diag_error(c, E_VALUE, NO_SPAN, "delaunay(P) takes points of the plane, f64[n, 2], n >= 3");
	else st = run(c, points->shape[0], (const double *)(const void *)points->data, &triangles);
	tensor_unref(points);
	if (st == ST_OK) results[0] = value_tensor(triangles);
	return st;
}

static bool takes(const Fn *f, const HostCall *call, const Ref *args, uint32_t nargs) {
	const Type *t = nargs == 1 ? ref_ty(f, args[0]) : NULL;
	return t && t->kind == TY_TENSOR && t->dtype == DT_F64 && t->rank == 2 && !call->nfns;
}

static uint32_t types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                      TypeId *out, uint32_t cap) {
	Ctx *c = build_ctx(b);
	(void)cap;
	if (!takes(build_fn(b), call, args, nargs)) {
		diag_error(c, E_TYPE, span_of(c, build_span(b)), "%s: wants a matrix of f64",
		           call->def->name);
		ctx_throw(c, ST_ERROR);
	}
	const Dim dims[2] = {build_fresh_dim(b, atom(c, "triangles"), build_span(b)), dim_const(c, 3)};
	out[0] = type_tensor(c, DT_I64, 2, dims);
	return 1;
}

static bool may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                      uint32_t nresults, const TypeId *stated) {
	Ctx *c = build_ctx(b);
	const Type *t = nresults == 1 ? type_of(c, stated[0]) : NULL;
	int64_t corners;
	return t && takes(build_fn(b), call, args, nargs) && t->kind == TY_TENSOR &&
	       t->dtype == DT_I64 && t->rank == 2 && dim_is_const(c, t->dims[1], &corners) &&
	       corners == 3;
}

const HostDef delaunay_host = {
	.name = "delaunay", .types = types, .eval = eval, .may_store = may_store};
