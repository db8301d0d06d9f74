/* type.h - dtypes, symbolic dimensions and the types of IR values.
 *
 * Needs: context.h, diag.h. Guarantees: dims and types are interned for the
 * life of the context, so equality is equality of ids. A dim is an integer
 * polynomial over symbols (`n`, `n - 2`, `n*m`, floor(n/2)); symbols are
 * numbered inside one function, and mean nothing outside it.
 */
#ifndef ATLED_LANG_IR_TYPE_H
#define ATLED_LANG_IR_TYPE_H

#include "lang/base/diag.h"

#define MAX_RANK 8

typedef enum Dtype { DT_BOOL, DT_I32, DT_I64, DT_F32, DT_F64, DT_C64, DT_C128, DT_COUNT } Dtype;
const char *dtype_name(Dtype d);
bool dtype_from_name(const char *name, Dtype *out);
static inline size_t dtype_size(Dtype d) {
	static const unsigned char size[DT_COUNT] = {1, 4, 8, 4, 8, 8, 16};
	return size[d];
}
static inline bool dtype_is_int(Dtype d) { return d == DT_I32 || d == DT_I64; }
static inline bool dtype_is_real(Dtype d) { return d == DT_F32 || d == DT_F64; }
static inline bool dtype_is_complex(Dtype d) { return d == DT_C64 || d == DT_C128; }
static inline bool dtype_is_inexact(Dtype d) { return d >= DT_F32; } /* has a tangent */
static inline Dtype dtype_real_of(Dtype d) {
	return d == DT_C64 ? DT_F32 : d == DT_C128 ? DT_F64 : d;
}
static inline Dtype dtype_complex_of(Dtype d) {
	return d == DT_F32 || d == DT_C64 ? DT_C64 : DT_C128;
}
/* The dtype two operands meet in: bool < i32 < i64 < f32 < f64, an int beside a
 * float takes the float's dtype (so that f32 stays f32), and complex follows
 * its real part. */
Dtype dtype_promote(Dtype a, Dtype b);

void type_setup(Ctx *c); /* called by ctx_new; throws when memory fails */

/* ---- dims ---------------------------------------------------------------- */

typedef uint32_t Dim;
typedef uint32_t SymId; /* index into one function's symbols */

/* Lengths up to this are part of a function's type; longer ones are symbols
 * (architecture: "a second call with other lengths must not specialise again").
 * A symbol met by specialisation is therefore never 0 or 1. */
#define DIM_SMALL 16

Dim dim_const(Ctx *c, int64_t v);
Dim dim_sym(Ctx *c, SymId s);
Dim dim_add(Ctx *c, Dim a, Dim b);
Dim dim_sub(Ctx *c, Dim a, Dim b);
Dim dim_mul(Ctx *c, Dim a, Dim b);
Dim dim_floordiv(Ctx *c, Dim a, int64_t by);        /* by > 0; exact polynomials divide out */
bool dim_is_const(const Ctx *c, Dim d, int64_t *v); /* v may be NULL */
bool dim_is_sym(const Ctx *c, Dim d, SymId *s);
bool dim_mentions(const Ctx *c, Dim d, SymId s);
/* Value under an assignment sym -> length (values[s] < 0: unknown). false: a
 * needed symbol is unknown or it overflows. */
bool dim_eval(const Ctx *c, Dim d, const int64_t *values, uint32_t nvalues, int64_t *out);
/* Replaces symbols: map[s] is a Dim; symbols >= nmap, or with map[s] ==
 * UINT32_MAX, stay. */
Dim dim_subst(Ctx *c, Dim d, const Dim *map, uint32_t nmap);
/* Calls visit for each symbol the dim mentions. */
void dim_each_sym(const Ctx *c, Dim d, void (*visit)(void *ud, SymId s), void *ud);
/* A dim taken apart: a sum of terms, each a factor times a product of parts, a
 * part a symbol or, with `by` > 0, floor(inner / by). Where it says, as it is
 * printed, from 0 on; parts in `part` with their number in *n, at most
 * DIM_DEGREE of them. Put together by dim_add and dim_mul it is the same dim.
 */
#define DIM_DEGREE 32
typedef struct DimPart {
	SymId sym;
	Dim inner;
	int64_t by;
} DimPart;
uint32_t dim_term_count(const Ctx *c, Dim d);
int64_t dim_term(const Ctx *c, Dim d, uint32_t i, DimPart part[DIM_DEGREE], uint32_t *n);
/* Solves a == b for one symbol that occurs linearly on its own, with a
 * coefficient that divides all others; false when there is none. */
bool dim_solve(Ctx *c, Dim a, Dim b, SymId *s, Dim *value);
/* True when the dim is other than 0 whatever lengths its symbols are: none of
 * its terms has the other sign, and one is a number. */
bool dim_never_zero(const Ctx *c, Dim d);
/* "n - 2"; sym_name may be NULL (then n0, n1 ...). Writes at most cap bytes
 * with NUL, returns the length. */
size_t dim_print(const Ctx *c, Dim d, const char *(*sym_name)(void *ud, SymId s), void *ud,
                 char *buf, size_t cap);

/* ---- types of IR values -------------------------------------------------- */

typedef enum TypeKind { TY_TENSOR, TY_DYN, TY_TOKEN } TypeKind;
typedef uint32_t TypeId; /* interned */

typedef struct Type {
	uint8_t kind;  /* TypeKind */
	uint8_t dtype; /* Dtype, tensors */
	uint8_t rank;  /* tensors */
	Dim dims[MAX_RANK];
} Type;

TypeId type_tensor(Ctx *c, Dtype dtype, uint32_t rank, const Dim *dims);
TypeId type_scalar(Ctx *c, Dtype dtype);
TypeId type_dyn(Ctx *c);   /* a boxed dynamic value: what cannot be typed */
TypeId type_token(Ctx *c); /* orders effects; no data */
/* valid until the next interning; copy it if you build */
const Type *type_of(const Ctx *c, TypeId t);
TypeId type_with_dtype(Ctx *c, TypeId t, Dtype dtype);
TypeId type_subst(Ctx *c, TypeId t, const Dim *map, uint32_t nmap);
static inline bool type_is_tensor(const Ctx *c, TypeId t) {
	return type_of(c, t)->kind == TY_TENSOR;
}
/* True when values of the type have a tangent: inexact tensors. */
bool type_has_tangent(const Ctx *c, TypeId t);
/* "f64[n, 3]" */
size_t type_print(const Ctx *c, TypeId t, const char *(*sym_name)(void *ud, SymId s), void *ud,
                  char *buf, size_t cap);

#endif
