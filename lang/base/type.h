/* type.h - dtypes, symbolic dimensions and the types of IR values.
 *
 * Needs: context.h, diag.h.
 *
 * Contract:
 * - Dims and types are interned for the life of the context, so equality is
 *   equality of ids.
 * - A dim is an integer polynomial over symbols (`n`, `n - 2`, `n*m`,
 *   floor(n/2)).
 * - Symbols are numbered within one function and have no meaning outside it.
 */
#ifndef ATLED_LANG_BASE_TYPE_H
#define ATLED_LANG_BASE_TYPE_H

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
/* The bytes behind a matrix with rows of n elements that OpenBLAS may read,
 * whatever they are: of complex vectors some kernels read one element more
 * (zgemv, zhemv and zdotc of 0.3.21), and a vector may be a column. */
static inline size_t dtype_read_behind(Dtype d, int64_t n) {
	return dtype_is_complex(d) ? ((size_t)n + 1) * dtype_size(d) : 0;
}
static inline Dtype dtype_real_of(Dtype d) {
	return d == DT_C64 ? DT_F32 : d == DT_C128 ? DT_F64 : d;
}
static inline Dtype dtype_complex_of(Dtype d) {
	return d == DT_F32 || d == DT_C64 ? DT_C64 : DT_C128;
}
/* The common dtype of two operands: bool < i32 < i64 < f32 < f64. An integer
 * with a float gives the float's dtype (so that f32 stays f32). Complex dtypes
 * follow their real part. */
Dtype dtype_promote(Dtype a, Dtype b);

void type_setup(Ctx *c); /* called by ctx_new; throws when memory runs out */

/* ---- dims ---------------------------------------------------------------- */

typedef uint32_t Dim;
typedef uint32_t SymId; /* index into one function's symbols */

/* Extents up to this are constants in a function's type; larger ones are
 * symbols, so that a second call with other extents needs no new
 * specialisation. A symbol from specialisation is therefore never 0 or 1. */
#define DIM_SMALL 16

Dim dim_const(Ctx *c, int64_t v);
Dim dim_sym(Ctx *c, SymId s);
Dim dim_add(Ctx *c, Dim a, Dim b);
Dim dim_sub(Ctx *c, Dim a, Dim b);
Dim dim_mul(Ctx *c, Dim a, Dim b);
Dim dim_floordiv(Ctx *c, Dim a, int64_t by);        /* by > 0; exact multiples divide out */
bool dim_is_const(const Ctx *c, Dim d, int64_t *v); /* v may be NULL */
bool dim_is_sym(const Ctx *c, Dim d, SymId *s);
bool dim_mentions(const Ctx *c, Dim d, SymId s);
/* Evaluates a dim under an assignment symbol -> extent (values[s] < 0:
 * unknown). Returns false when a needed symbol is unknown or the result
 * overflows. */
bool dim_eval(const Ctx *c, Dim d, const int64_t *values, uint32_t nvalues, int64_t *out);
/* Substitutes symbols: map[s] is a Dim. Symbols >= nmap, or with map[s] ==
 * UINT32_MAX, stay. */
Dim dim_subst(Ctx *c, Dim d, const Dim *map, uint32_t nmap);
/* Calls visit for each symbol that the dim mentions; a symbol may be visited
 * twice. */
void dim_each_sym(const Ctx *c, Dim d, void (*visit)(void *ud, SymId s), void *ud);
/* Decomposes a dim into terms, numbered from 0 in printing order. A term is a
 * coefficient times a product of parts. A part is a symbol or, with `by` > 0,
 * floor(inner / by). dim_term returns the coefficient of term i, writes its
 * parts to `part` and their number, at most DIM_DEGREE, to *n. dim_add and
 * dim_mul of the terms restore the dim. */
#define DIM_DEGREE 32
typedef struct DimPart {
	SymId sym;
	Dim inner;
	int64_t by;
} DimPart;
uint32_t dim_term_count(const Ctx *c, Dim d);
int64_t dim_term(const Ctx *c, Dim d, uint32_t i, DimPart part[DIM_DEGREE], uint32_t *n);
/* Solves a == b for one symbol that occurs only linearly, with a coefficient
 * that divides all others. Returns false when there is none. */
bool dim_solve(Ctx *c, Dim a, Dim b, SymId *s, Dim *value);
/* Whether the dim is nonzero for all extents of its symbols: its terms have one
 * sign, and one of them is a constant. */
bool dim_never_zero(const Ctx *c, Dim d);
/* Prints a dim as "n - 2"; sym_name may be NULL (then n0, n1 ...). Writes at
 * most cap bytes including NUL, returns the length. */
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
TypeId type_dyn(Ctx *c);   /* a boxed dynamic value without a static type */
TypeId type_token(Ctx *c); /* orders effects; no data */
/* Valid until the next interning; copy it before building. */
const Type *type_of(const Ctx *c, TypeId t);
TypeId type_with_dtype(Ctx *c, TypeId t, Dtype dtype);
TypeId type_subst(Ctx *c, TypeId t, const Dim *map, uint32_t nmap);
static inline bool type_is_tensor(const Ctx *c, TypeId t) {
	return type_of(c, t)->kind == TY_TENSOR;
}
/* Whether values of the type have a tangent: inexact tensors. */
bool type_has_tangent(const Ctx *c, TypeId t);
/* "f64[n, 3]" */
size_t type_print(const Ctx *c, TypeId t, const char *(*sym_name)(void *ud, SymId s), void *ud,
                  char *buf, size_t cap);

#endif
