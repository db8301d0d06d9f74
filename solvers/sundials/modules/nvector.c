/* nvector.c - SUNDIALS vectors whose storage is tensors.
 *
 * Needs: sundials.h.
 *
 * Contract:
 * - A vector's elements are those of a tensor (aligned, padded, allocated from
 *   the context's heap), so a compiled function takes the vector without a
 *   copy.
 * - Arithmetic is that of SUNDIALS' serial vector. SUNDIALS clones its work
 *   vectors from the given one, so they are tensors, too.
 * - Every vector is on the list of its Solve. solve_end frees those that a
 *   failure inside SUNDIALS left behind.
 * - N_VClone of SUNDIALS 6 crashes on a NULL clone. A Solve therefore has a
 *   spare vector of each length. When memory fails, clone returns the spare and
 *   sets the Solve's status to ST_NOMEM. Callbacks then fail, and the next
 *   check ends the run.
 */
#include "solvers/sundials/modules/sundials.h"

/* number of vector lengths in use: unknowns, parameters */
#define SPARES (sizeof((Solve *)0)->spare / sizeof(N_Vector))

struct VectorContent {
	struct _N_VectorContent_Serial serial; /* must be first: SUNDIALS' serial operations read it */
	Solve *owner;
	N_Vector self;
	Tensor *tensor;
	bool spare;
	VectorContent *before, *next;
};

static VectorContent *content_of(N_Vector v) { return v->content; }

Tensor *vector_tensor(N_Vector v) { return content_of(v)->tensor; }

double *vector_data(N_Vector v) { return content_of(v)->serial.data; }

static void destroy(N_Vector v) {
	VectorContent *k = content_of(v);
	if (k && k->spare) return; /* freed by solve_end */
	if (k) {
		Solve *s = k->owner;
		if (k->before) k->before->next = k->next;
		else s->vectors = k->next;
		if (k->next) k->next->before = k->before;
		tensor_unref(k->tensor);
		heap_free(s->c, k, sizeof *k);
		v->content = NULL;
	}
	sundials.N_VFreeEmpty(v);
}

static N_Vector spare_of(const Solve *s, int64_t n) {
	for (size_t i = 0; i < SPARES && s->spare[i]; i++)
		if (content_of(s->spare[i])->serial.length == n) return s->spare[i];
	return NULL;
}

static N_Vector clone(N_Vector v) {
	Solve *s = content_of(v)->owner;
	N_Vector made = solve_vector(s, content_of(v)->serial.length);
	if (made) return made;
	s->status = ST_NOMEM;
	return spare_of(s, content_of(v)->serial.length);
}

static N_Vector no_clone(N_Vector v) { /* clone without data; the integrators never call it */
	(void)v;
	return NULL;
}

static bool model_begin(Solve *s) {
	s->model = sundials.N_VNewEmpty_Serial(0, s->sun);
	if (!s->model) return false;
	s->model->ops->nvclone = clone;
	s->model->ops->nvcloneempty = no_clone;
	s->model->ops->nvdestroy = destroy;
	return true;
}

static N_Vector vector_new(Solve *s, int64_t n, bool spare) {
	VectorContent *k = heap_alloc(s->c, sizeof *k);
	N_Vector v = k ? sundials.N_VNewEmpty(s->sun) : NULL;
	Tensor *t = v && !sundials.N_VCopyOps(s->model, v) ? tensor_zeros(s->c, DT_F64, 1, &n) : NULL;
	if (!t) {
		if (v) sundials.N_VFreeEmpty(v);
		if (k) heap_free(s->c, k, sizeof *k);
		return NULL;
	}
	*k = (VectorContent){.serial = {(sunindextype)n, false, (double *)(void *)t->data},
	                     .owner = s,
	                     .self = v,
	                     .tensor = t,
	                     .spare = spare,
	                     .next = s->vectors};
	if (s->vectors) s->vectors->before = k;
	s->vectors = k;
	v->content = k;
	return v;
}

N_Vector solve_vector(Solve *s, int64_t n) {
	if (!s->model && !model_begin(s)) return NULL;
	if (spare_of(s, n)) return vector_new(s, n, false);
	size_t i = 0;
	while (i < SPARES - 1 && s->spare[i]) i++;
	if (!s->spare[i]) s->spare[i] = vector_new(s, n, true);
	return s->spare[i] ? vector_new(s, n, false) : NULL;
}

N_Vector solve_vector_of(Solve *s, int64_t n, const double *values) {
	N_Vector v = solve_vector(s, n);
	if (v) memcpy(vector_data(v), values, (size_t)n * sizeof *values);
	return v;
}

void solve_vectors_free(Solve *s, uint32_t count, N_Vector *v) {
	if (!v) return;
	for (uint32_t i = 0; i < count; i++)
		if (v[i]) destroy(v[i]);
	heap_free(s->c, v, (count ? count : 1) * sizeof *v);
}

N_Vector *solve_vectors(Solve *s, uint32_t count, int64_t n) {
	N_Vector *v = heap_alloc(s->c, (count ? count : 1) * sizeof *v);
	if (!v) return NULL;
	for (uint32_t i = 0; i < count; i++) v[i] = NULL;
	for (uint32_t i = 0; i < count; i++) {
		v[i] = solve_vector(s, n);
		if (v[i]) continue;
		solve_vectors_free(s, count, v);
		return NULL;
	}
	return v;
}

static void keep_message(Solve *s, int code, const char *message) {
	if (code >= 0) return; /* warnings; the time loop checks the step itself */
	size_t n = strlen(message);
	if (n >= sizeof s->said) n = sizeof s->said - 1;
	memcpy(s->said, message, n);
	s->said[n] = 0;
}

#if SUNDIALS_HANDLER_OF_CONTEXT
static void listen(int line, const char *function, const char *file, const char *message,
                   SUNErrCode code, void *solve, SUNContext sun) {
	(void)line, (void)function, (void)file, (void)sun;
	keep_message(solve, code, message ? message : "");
}
#else
void solve_listen(int code, const char *module, const char *function, char *message, void *solve) {
	(void)module, (void)function;
	keep_message(solve, code, message);
}
#endif

Status solve_begin(Solve *s, Ctx *c) {
	*s = (Solve){.c = c, .status = ST_OK};
	const char *why = sundials_open();
	if (why) {
		diag_error(c, E_VALUE, NO_SPAN, "%s", why);
		return ST_ERROR;
	}
	if (sundials.SUNContext_Create(sundials.no_comm, &s->sun)) return ST_NOMEM;
#if SUNDIALS_HANDLER_OF_CONTEXT
	sundials.SUNContext_ClearErrHandlers(s->sun);
	if (sundials.SUNContext_PushErrHandler(s->sun, listen, s)) return ST_NOMEM;
	sundials.SUNContext_SetLogger(s->sun, NULL); /* it would print warnings */
#endif
	return ST_OK;
}

void solve_end(Solve *s) {
	while (s->vectors) {
		s->vectors->spare = false;
		destroy(s->vectors->self);
	}
	if (s->model) {
		s->model->ops->nvdestroy = sundials.N_VDestroy_Serial;
		sundials.N_VDestroy(s->model);
	}
	for (uint32_t i = 0; i < s->nkept; i++) tensor_unref(s->kept[i]);
	if (s->sun) sundials.SUNContext_Free(&s->sun);
}
