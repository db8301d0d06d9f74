/* derivative_site.h - a function at the arguments of a call, one of which it is
 * differentiated by.
 *
 * Needs: table.h. Private to the builtins for derivatives.
 *
 * Contract: values keep their structure. A tangent of a record is a record.
 */
#ifndef ATLED_PARSER_BUILTINS_DERIVATIVE_SITE_H
#define ATLED_PARSER_BUILTINS_DERIVATIVE_SITE_H

#include "parser/builtins/table.h"

/* A function at its arguments, with one argument (by position) marked for
 * differentiation. */
typedef struct Site {
	Sp *sp;
	Av *f;
	Specialisation spec;
	Av *x;                 /* the marked argument */
	uint32_t first;        /* its first leaf among the leaves of the spec */
	uint32_t nx;           /* number of its leaves */
	bool *active;          /* by parameter of spec.fn */
	uint32_t *active_leaf; /* the active leaves of x, in order */
	uint32_t nactive;
	uint32_t nresults; /* without effects */
	Ref *args;
	uint32_t nargs; /* with effects */
} Site;

/* An argument that is a function, else an error. `what`: the builtin that takes
 * it. */
Av *want_function(Sp *sp, Av *f, Span at, const char *what);
/* Prepares a value for differentiation with respect to it. Integers become f64;
 * structures keep their form. */
Av *differentiable(Sp *sp, Av *v);

/* f at the arguments of a call, with argument `which` marked. An error when
 * there is no derivative with respect to it. */
Site site_of(Sp *sp, Av *f, const CallArguments *call, uint32_t which);
/* A function that always fails has no derivative; the call of it takes its
 * place. */
bool site_fails(const Site *s);
/* A leaf of a tangent or cotangent, of the dtype and shape of `like`. Messages
 * call it `what` for `of`. */
Ref site_leaf(Sp *sp, Av *v, Ref like, Span at, const char *what, const char *of);
/* The active leaves of a tangent, which must have the structure of x. */
void site_tangents(Site *s, Av *dx, Span at, const char *what, Ref *out);
/* The effects of the function, which are among the results of a transform. */
void site_keep_effects(Site *s, const Ref *results);
/* Returns f(x) and stores in *dy the tangent of f at x. */
Av *site_forward(Site *s, const Ref *tangents, Av **dy, Span at);

/* A value with the structure of `like`: the given leaves at the flagged places,
 * zeros elsewhere. */
Av *fill_structure(Sp *sp, const Av *like, const Ref *like_leaves, uint32_t n, const bool *given,
                   const Ref *leaves);
bool is_static_zero(Sp *sp, Ref r); /* known to be 0, or an array of zeros */
static inline bool inexact(Sp *sp, Ref r) {
	return ty(sp, r)->kind == TY_TENSOR && dtype_is_inexact((Dtype)ty(sp, r)->dtype);
}
static inline Ref zeros_like(Sp *sp, Ref r) {
	return build_zeros(sp->b, ref_type(build_fn(sp->b), r));
}

#endif
