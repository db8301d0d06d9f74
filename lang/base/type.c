/* type.c - dtypes, interned types, and dims as interned integer polynomials.
 *
 * Needs: type.h. Everything is stored in the context's arena.
 *
 * Contract:
 * - A dim has one canonical form, so equal polynomials have equal ids: terms
 *   sorted, coefficients nonzero, and floor(p/k) only where no multiple of k
 *   and no common factor can be extracted.
 * - Coefficient overflow records E_SHAPE and throws ST_ERROR.
 * - A throw leaves the tables unchanged.
 */
#include "lang/base/type.h"
#include <stdio.h>

#ifdef ATLED_STRESS
#define SLOTS_FIRST 2u
#else
#define SLOTS_FIRST 256u
#endif
/* Limits that no realistic extent reaches. They bound the work that a hostile
 * program can request from every function below. */
#define TERMS_MOST 256u
#define DEGREE_MOST ((uint32_t)DIM_DEGREE)
#define FLOOR_SIZE_MOST 1024u

/* An indivisible factor of a polynomial: a symbol, or the floor of an inexact
 * quotient. */
typedef struct AtomDim {
	bool is_floor;
	SymId sym;
	Dim inner; /* floor(inner / by) */
	int64_t by;
	uint32_t size; /* number of atoms in it when fully expanded */
} AtomDim;

/* A product of atoms, sorted, repeated for powers. The empty product (id 0)
 * belongs to the constant term. */
typedef struct Mono {
	uint32_t degree;
	const uint32_t *atoms;
} Mono;

typedef struct DimTerm {
	int64_t factor; /* not 0 */
	uint32_t mono;
} DimTerm;

/* Terms in the order of mono_compare. The empty polynomial is 0. */
typedef struct Poly {
	uint32_t n;
	const DimTerm *terms;
} Poly;

/* Open addressing over ids + 1; the entries are stored elsewhere. */
typedef struct InternTable {
	uint32_t *slots;
	uint32_t count;
} InternTable;

typedef struct TypeState {
	VEC(AtomDim) atoms;
	VEC(Mono) monos;
	VEC(Poly) polys;
	VEC(Type) types;
	InternTable atom_table, mono_table, poly_table, type_table;
} TypeState;

static TypeState *state_of(const Ctx *c) { return ctx_slot(c, SLOT_TYPE); }

/* ---- dtypes -------------------------------------------------------------- */

static const char *const dtype_names[DT_COUNT] = {"bool", "i32", "i64", "f32",
                                                  "f64",  "c64", "c128"};

const char *dtype_name(Dtype d) { return (unsigned)d < DT_COUNT ? dtype_names[d] : "?"; }

bool dtype_from_name(const char *name, Dtype *out) {
	for (int d = 0; d < DT_COUNT; d++) {
		if (strcmp(name, dtype_names[d])) continue;
		*out = (Dtype)d;
		return true;
	}
	return false;
}

Dtype dtype_promote(Dtype a, Dtype b) {
	if (!dtype_is_complex(a) && !dtype_is_complex(b)) return a > b ? a : b;
	/* The real parts are promoted first; an integer or bool with a complex
	 * operand takes the complex operand's precision. */
	Dtype real = dtype_real_of(a) > dtype_real_of(b) ? dtype_real_of(a) : dtype_real_of(b);
	return dtype_complex_of(real);
}

/* ---- interning ----------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v) {
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint32_t hash_atom(const AtomDim *a) {
	uint64_t h = a->is_floor ? mix(mix(1, a->inner), (uint64_t)a->by) : mix(2, a->sym);
	return (uint32_t)(h >> 16);
}

static uint32_t hash_mono(const Mono *m) {
	uint64_t h = 3;
	for (uint32_t i = 0; i < m->degree; i++) h = mix(h, m->atoms[i]);
	return (uint32_t)(h >> 16);
}

static uint32_t hash_poly(const Poly *p) {
	uint64_t h = 4;
	for (uint32_t i = 0; i < p->n; i++)
		h = mix(mix(h, (uint64_t)p->terms[i].factor), p->terms[i].mono);
	return (uint32_t)(h >> 16);
}

static uint32_t hash_type(const Type *t) {
	uint64_t h = mix(mix(5, t->kind), (uint64_t)t->dtype << 8 | t->rank);
	for (uint32_t i = 0; i < t->rank; i++) h = mix(h, t->dims[i]);
	return (uint32_t)(h >> 16);
}

static bool equal_atom(const AtomDim *a, const AtomDim *b) {
	if (a->is_floor != b->is_floor) return false;
	return a->is_floor ? a->inner == b->inner && a->by == b->by : a->sym == b->sym;
}

static bool equal_mono(const Mono *a, const Mono *b) {
	return a->degree == b->degree && !memcmp(a->atoms, b->atoms, a->degree * sizeof *a->atoms);
}

static bool equal_poly(const Poly *a, const Poly *b) {
	if (a->n != b->n) return false;
	for (uint32_t i = 0; i < a->n; i++) {
		if (a->terms[i].factor != b->terms[i].factor || a->terms[i].mono != b->terms[i].mono)
			return false;
	}
	return true;
}

static bool equal_type(const Type *a, const Type *b) {
	return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank &&
	       !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims);
}

static void table_put(InternTable *t, uint32_t hash, uint32_t id) {
	uint32_t mask = t->count - 1, i = hash & mask;
	while (t->slots[i]) i = (i + 1) & mask;
	t->slots[i] = id + 1;
}

/* Defines find_NAME, the id of an equal entry or UINT32_MAX, and add_NAME,
 * which appends an entry whose own storage is already permanent. Everything
 * that can throw comes before the first change. */
#define INTERNED(name, T, list)                                                                    \
	static uint32_t find_##name(const TypeState *st, const T *x) {                                 \
		const InternTable *t = &st->name##_table;                                                  \
		uint32_t mask = t->count - 1;                                                              \
		for (uint32_t i = hash_##name(x) & mask; t->slots[i]; i = (i + 1) & mask) {                \
			if (equal_##name(&st->list.at[t->slots[i] - 1], x)) return t->slots[i] - 1;            \
		}                                                                                          \
		return UINT32_MAX;                                                                         \
	}                                                                                              \
	static uint32_t add_##name(Arena *a, TypeState *st, const T *x) {                              \
		VEC_RESERVE(a, &st->list, st->list.n + 1);                                                 \
		if ((st->list.n + 1) * 2 > st->name##_table.count) {                                       \
			InternTable grown = {.count = st->name##_table.count ? st->name##_table.count * 4      \
			                                                     : SLOTS_FIRST};                   \
			grown.slots = ARENA_ARRAY(a, uint32_t, grown.count);                                   \
			for (uint32_t i = 0; i < st->list.n; i++)                                              \
				table_put(&grown, hash_##name(&st->list.at[i]), i);                                \
			st->name##_table = grown;                                                              \
		}                                                                                          \
		st->list.at[st->list.n] = *x;                                                              \
		table_put(&st->name##_table, hash_##name(x), st->list.n);                                  \
		return st->list.n++;                                                                       \
	}

INTERNED(atom, AtomDim, atoms)
INTERNED(mono, Mono, monos)
INTERNED(poly, Poly, polys)
INTERNED(type, Type, types)

static uint32_t intern_atom(Ctx *c, AtomDim x) {
	TypeState *st = state_of(c);
	uint32_t id = find_atom(st, &x);
	return id != UINT32_MAX ? id : add_atom(ctx_arena(c), st, &x);
}

static uint32_t intern_mono(Ctx *c, const uint32_t *atoms, uint32_t degree) {
	TypeState *st = state_of(c);
	Mono m = {.degree = degree, .atoms = atoms};
	uint32_t id = find_mono(st, &m);
	if (id != UINT32_MAX) return id;
	uint32_t *kept = arena_alloc(ctx_arena(c), degree * sizeof *kept);
	memcpy(kept, atoms, degree * sizeof *kept);
	m.atoms = kept;
	return add_mono(ctx_arena(c), st, &m);
}

static Dim intern_poly(Ctx *c, const DimTerm *terms, uint32_t n) {
	TypeState *st = state_of(c);
	Poly p = {.n = n, .terms = terms};
	uint32_t id = find_poly(st, &p);
	if (id != UINT32_MAX) return id;
	DimTerm *kept = arena_alloc(ctx_arena(c), n * sizeof *kept);
	memcpy(kept, terms, n * sizeof *kept);
	p.terms = kept;
	return add_poly(ctx_arena(c), st, &p);
}

void type_setup(Ctx *c) {
	Arena *a = ctx_arena(c);
	TypeState *st = ARENA_NEW(a, TypeState);
	/* The first entries have fixed ids: mono 0 is the empty product, dim 0 is
	 * 0, type 0 is the token, type 1 is dyn. */
	static const uint32_t no_atoms[1];
	static const DimTerm no_terms[1];
	add_atom(a, st, &(AtomDim){.sym = 0, .size = 1});
	add_mono(a, st, &(Mono){.atoms = no_atoms});
	add_poly(a, st, &(Poly){.terms = no_terms});
	add_type(a, st, &(Type){.kind = TY_TOKEN});
	add_type(a, st, &(Type){.kind = TY_DYN});
	ctx_set_slot(c, SLOT_TYPE, st, NULL);
}

/* ---- polynomials under construction -------------------------------------- */

/* A sum under construction, on the C stack so that a throw leaks nothing;
 * `finish` turns it into a dim. */
typedef struct DimSum {
	DimTerm *terms;
	uint32_t n, cap;
} DimSum;

static _Noreturn void overflow(Ctx *c) {
	diag_error(c, E_SHAPE, NO_SPAN, "size overflow: a length in this program does not fit 64 bits");
	ctx_throw(c, ST_ERROR);
}

static _Noreturn void too_large(Ctx *c) {
	diag_error(c, E_SHAPE, NO_SPAN,
	           "size overflow: a length in this program is too large an expression");
	ctx_throw(c, ST_ERROR);
}

static int64_t add_checked(Ctx *c, int64_t a, int64_t b) {
	int64_t r;
	if (__builtin_add_overflow(a, b, &r)) overflow(c);
	return r;
}

static int64_t mul_checked(Ctx *c, int64_t a, int64_t b) {
	int64_t r;
	if (__builtin_mul_overflow(a, b, &r)) overflow(c);
	return r;
}

static int64_t floor_quotient(int64_t a, int64_t by) { return a / by - (a % by < 0); }

static const AtomDim *atom_at(const TypeState *st, uint32_t id) { return &st->atoms.at[id]; }

static Poly poly_of(const Ctx *c, Dim d) {
	const TypeState *st = state_of(c);
	return st->polys.at[d < st->polys.n ? d : 0];
}

/* Symbols by id, then floors by age. The order does not depend on which symbol
 * was interned first. */
static int atom_compare(const TypeState *st, uint32_t a, uint32_t b) {
	const AtomDim *x = atom_at(st, a), *y = atom_at(st, b);
	if (x->is_floor != y->is_floor) return x->is_floor ? 1 : -1;
	uint32_t i = x->is_floor ? a : x->sym, j = y->is_floor ? b : y->sym;
	return (i > j) - (i < j);
}

/* Higher degree first, so that the constant comes last, as in print. */
static int mono_compare(const TypeState *st, uint32_t a, uint32_t b) {
	const Mono *x = &st->monos.at[a], *y = &st->monos.at[b];
	if (x->degree != y->degree) return x->degree > y->degree ? -1 : 1;
	for (uint32_t i = 0; i < x->degree; i++) {
		int order = atom_compare(st, x->atoms[i], y->atoms[i]);
		if (order) return order;
	}
	return 0;
}

/* sum += factor * mono, in sorted order. */
static void sum_add(Ctx *c, DimSum *sum, int64_t factor, uint32_t mono) {
	if (!factor) return;
	const TypeState *st = state_of(c);
	uint32_t low = 0, high = sum->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = mono_compare(st, sum->terms[middle].mono, mono);
		if (!order) {
			sum->terms[middle].factor = add_checked(c, sum->terms[middle].factor, factor);
			if (!sum->terms[middle].factor) {
				memmove(sum->terms + middle, sum->terms + middle + 1,
				        (sum->n - middle - 1) * sizeof(DimTerm));
				sum->n--;
			}
			return;
		}
		if (order < 0) low = middle + 1;
		else high = middle;
	}
	if (sum->n == sum->cap) too_large(c);
	memmove(sum->terms + low + 1, sum->terms + low, (sum->n - low) * sizeof(DimTerm));
	sum->terms[low] = (DimTerm){.factor = factor, .mono = mono};
	sum->n++;
}

static void sum_add_dim(Ctx *c, DimSum *sum, int64_t factor, Dim d) {
	Poly p = poly_of(c, d);
	for (uint32_t i = 0; i < p.n; i++)
		sum_add(c, sum, mul_checked(c, factor, p.terms[i].factor), p.terms[i].mono);
}

#define SUM(name)                                                                                  \
	DimTerm name##_terms[TERMS_MOST];                                                              \
	DimSum name = {.terms = name##_terms, .cap = TERMS_MOST}

static Dim finish(Ctx *c, const DimSum *sum) { return intern_poly(c, sum->terms, sum->n); }

static uint32_t mono_product(Ctx *c, uint32_t a, uint32_t b) {
	if (!a) return b;
	if (!b) return a;
	TypeState *st = state_of(c);
	Mono x = st->monos.at[a], y = st->monos.at[b];
	uint32_t atoms[DEGREE_MOST], n = 0, i = 0, j = 0;
	if (x.degree + y.degree > DEGREE_MOST) too_large(c);
	while (i < x.degree || j < y.degree) {
		bool left =
			j == y.degree || (i < x.degree && atom_compare(st, x.atoms[i], y.atoms[j]) <= 0);
		atoms[n++] = left ? x.atoms[i++] : y.atoms[j++];
	}
	return intern_mono(c, atoms, n);
}

static Dim dim_of_atom(Ctx *c, uint32_t atom) {
	DimTerm t = {.factor = 1, .mono = intern_mono(c, &atom, 1)};
	return intern_poly(c, &t, 1);
}

/* ---- dims ---------------------------------------------------------------- */

Dim dim_const(Ctx *c, int64_t v) {
	DimTerm t = {.factor = v, .mono = 0};
	return intern_poly(c, &t, v ? 1 : 0);
}

Dim dim_sym(Ctx *c, SymId s) {
	return dim_of_atom(c, intern_atom(c, (AtomDim){.sym = s, .size = 1}));
}

static Dim combine(Ctx *c, Dim a, int64_t factor, Dim b) {
	SUM(sum);
	sum_add_dim(c, &sum, 1, a);
	sum_add_dim(c, &sum, factor, b);
	return finish(c, &sum);
}

Dim dim_add(Ctx *c, Dim a, Dim b) { return !a ? b : !b ? a : combine(c, a, 1, b); }

Dim dim_sub(Ctx *c, Dim a, Dim b) { return a == b ? 0 : !b ? a : combine(c, a, -1, b); }

Dim dim_mul(Ctx *c, Dim a, Dim b) {
	Poly x = poly_of(c, a), y = poly_of(c, b);
	SUM(sum);
	for (uint32_t i = 0; i < x.n; i++) {
		for (uint32_t j = 0; j < y.n; j++) {
			int64_t factor = mul_checked(c, x.terms[i].factor, y.terms[j].factor);
			sum_add(c, &sum, factor, mono_product(c, x.terms[i].mono, y.terms[j].mono));
		}
	}
	return finish(c, &sum);
}

static int64_t gcd(int64_t a, int64_t b) {
	while (b) {
		int64_t r = a % b;
		a = b;
		b = r;
	}
	return a < 0 ? -a : a;
}

static uint32_t intern_floor(Ctx *c, Dim inner, int64_t by) {
	const TypeState *st = state_of(c);
	Poly p = poly_of(c, inner);
	uint64_t size = 1;
	for (uint32_t i = 0; i < p.n; i++) {
		const Mono *m = &st->monos.at[p.terms[i].mono];
		for (uint32_t k = 0; k < m->degree; k++) size += atom_at(st, m->atoms[k])->size;
	}
	if (size > FLOOR_SIZE_MOST) too_large(c);
	return intern_atom(
		c, (AtomDim){.is_floor = true, .inner = inner, .by = by, .size = (uint32_t)size});
}

/* floor(p/by) for integers. Multiples of `by` leave the floor. A factor common
 * to `by` and all non-constant terms cancels: floor((g*q + r)/(g*k)) = floor((q
 * + floor(r/g))/k) with integer q. A floor of a floor is one floor. */
Dim dim_floordiv(Ctx *c, Dim a, int64_t by) {
	if (by <= 0) {
		diag_error(c, E_INTERNAL, NO_SPAN, "a length divided by %lld", (long long)by);
		ctx_throw(c, ST_INTERNAL);
	}
	Poly p = poly_of(c, a);
	if (by == 1) return a;
	SUM(whole);
	SUM(rest);
	for (uint32_t i = 0; i < p.n; i++) {
		int64_t q = floor_quotient(p.terms[i].factor, by), r = p.terms[i].factor % by;
		sum_add(c, &whole, q, p.terms[i].mono);
		sum_add(c, &rest, r < 0 ? r + by : r, p.terms[i].mono);
	}
	/* Now every coefficient of `rest` is in (0, by), so no common factor is
	 * `by` itself; a constant is the last term. */
	int64_t constant = rest.n && !rest.terms[rest.n - 1].mono ? rest.terms[rest.n - 1].factor : 0;
	uint32_t open = rest.n - (constant != 0);
	if (!open) return finish(c, &whole);
	int64_t g = by;
	for (uint32_t i = 0; i < open; i++) g = gcd(g, rest.terms[i].factor);
	by /= g;
	for (uint32_t i = 0; i < open; i++) rest.terms[i].factor /= g;
	constant /= g;
	if (rest.n > open) {
		rest.n = open;
		sum_add(c, &rest, constant, 0);
	}
	Dim inner = finish(c, &rest), quotient;
	const TypeState *st = state_of(c);
	const Mono *m = &st->monos.at[rest.terms[0].mono];
	const AtomDim *only =
		open == 1 && m->degree == 1 && rest.terms[0].factor == 1 ? atom_at(st, m->atoms[0]) : NULL;
	int64_t by_both;
	if (only && only->is_floor && !__builtin_mul_overflow(by, only->by, &by_both)) {
		AtomDim floor = *only; /* a copy: interning below may move the table */
		Dim shift = dim_const(c, mul_checked(c, constant, floor.by));
		quotient = dim_floordiv(c, dim_add(c, floor.inner, shift), by_both);
	} else {
		quotient = dim_of_atom(c, intern_floor(c, inner, by));
	}
	sum_add_dim(c, &whole, 1, quotient);
	return finish(c, &whole);
}

bool dim_is_const(const Ctx *c, Dim d, int64_t *v) {
	Poly p = poly_of(c, d);
	if (p.n > 1 || (p.n == 1 && p.terms[0].mono)) return false;
	if (v) *v = p.n ? p.terms[0].factor : 0;
	return true;
}

bool dim_is_sym(const Ctx *c, Dim d, SymId *s) {
	const TypeState *st = state_of(c);
	Poly p = poly_of(c, d);
	if (p.n != 1 || p.terms[0].factor != 1) return false;
	const Mono *m = &st->monos.at[p.terms[0].mono];
	if (m->degree != 1 || atom_at(st, m->atoms[0])->is_floor) return false;
	if (s) *s = atom_at(st, m->atoms[0])->sym;
	return true;
}

static bool atom_mentions(const Ctx *c, uint32_t atom, SymId s) {
	const AtomDim *a = atom_at(state_of(c), atom);
	return a->is_floor ? dim_mentions(c, a->inner, s) : a->sym == s;
}

static bool mono_mentions(const Ctx *c, uint32_t mono, SymId s) {
	const Mono *m = &state_of(c)->monos.at[mono];
	for (uint32_t i = 0; i < m->degree; i++) {
		if (atom_mentions(c, m->atoms[i], s)) return true;
	}
	return false;
}

bool dim_mentions(const Ctx *c, Dim d, SymId s) {
	Poly p = poly_of(c, d);
	for (uint32_t i = 0; i < p.n; i++) {
		if (mono_mentions(c, p.terms[i].mono, s)) return true;
	}
	return false;
}

void dim_each_sym(const Ctx *c, Dim d, void (*visit)(void *ud, SymId s), void *ud) {
	const TypeState *st = state_of(c);
	Poly p = poly_of(c, d);
	for (uint32_t i = 0; i < p.n; i++) {
		const Mono *m = &st->monos.at[p.terms[i].mono];
		for (uint32_t k = 0; k < m->degree; k++) {
			const AtomDim *a = atom_at(st, m->atoms[k]);
			if (a->is_floor) dim_each_sym(c, a->inner, visit, ud);
			else visit(ud, a->sym);
		}
	}
}

static bool atom_eval(const Ctx *c, uint32_t atom, const int64_t *values, uint32_t nvalues,
                      int64_t *out) {
	const AtomDim *a = atom_at(state_of(c), atom);
	if (a->is_floor) {
		if (!dim_eval(c, a->inner, values, nvalues, out)) return false;
		*out = floor_quotient(*out, a->by);
		return true;
	}
	if (a->sym >= nvalues || values[a->sym] < 0) return false;
	*out = values[a->sym];
	return true;
}

bool dim_eval(const Ctx *c, Dim d, const int64_t *values, uint32_t nvalues, int64_t *out) {
	const TypeState *st = state_of(c);
	Poly p = poly_of(c, d);
	int64_t sum = 0;
	for (uint32_t i = 0; i < p.n; i++) {
		const Mono *m = &st->monos.at[p.terms[i].mono];
		int64_t product = p.terms[i].factor, v;
		for (uint32_t k = 0; k < m->degree; k++) {
			if (!atom_eval(c, m->atoms[k], values, nvalues, &v)) return false;
			if (__builtin_mul_overflow(product, v, &product)) return false;
		}
		if (__builtin_add_overflow(sum, product, &sum)) return false;
	}
	*out = sum;
	return true;
}

/* Whether the map replaces a symbol of d. */
static bool is_mapped(const TypeState *st, Dim d, const Dim *map, uint32_t nmap) {
	const Poly *p = &st->polys.at[d < st->polys.n ? d : 0];
	for (uint32_t i = 0; i < p->n; i++) {
		const Mono *m = &st->monos.at[p->terms[i].mono];
		for (uint32_t k = 0; k < m->degree; k++) {
			const AtomDim *a = atom_at(st, m->atoms[k]);
			if (a->is_floor ? is_mapped(st, a->inner, map, nmap)
			                : a->sym < nmap && map[a->sym] != UINT32_MAX)
				return true;
		}
	}
	return false;
}

uint32_t dim_term_count(const Ctx *c, Dim d) { return poly_of(c, d).n; }

int64_t dim_term(const Ctx *c, Dim d, uint32_t i, DimPart part[DIM_DEGREE], uint32_t *n) {
	const TypeState *st = state_of(c);
	const DimTerm t = poly_of(c, d).terms[i];
	const Mono *m = &st->monos.at[t.mono];
	for (uint32_t k = 0; k < m->degree; k++) {
		const AtomDim *a = atom_at(st, m->atoms[k]);
		part[k] =
			a->is_floor ? (DimPart){.inner = a->inner, .by = a->by} : (DimPart){.sym = a->sym};
	}
	*n = m->degree;
	return t.factor;
}

Dim dim_subst(Ctx *c, Dim d, const Dim *map, uint32_t nmap) {
	const TypeState *st = state_of(c);
	if (!is_mapped(st, d, map, nmap)) return d;
	Poly p = poly_of(c, d);
	Dim sum = 0;
	for (uint32_t i = 0; i < p.n; i++) {
		Mono m = st->monos.at[p.terms[i].mono];
		Dim product = dim_const(c, p.terms[i].factor);
		for (uint32_t k = 0; k < m.degree; k++) {
			AtomDim a = *atom_at(st, m.atoms[k]);
			Dim replaced;
			if (a.is_floor) replaced = dim_floordiv(c, dim_subst(c, a.inner, map, nmap), a.by);
			else if (a.sym < nmap && map[a.sym] != UINT32_MAX) replaced = map[a.sym];
			else replaced = dim_sym(c, a.sym);
			product = dim_mul(c, product, replaced);
		}
		sum = dim_add(c, sum, product);
	}
	return sum;
}

/* Of several candidates, the newest symbol is solved for, so that later symbols
 * are expressed in earlier ones. */
bool dim_solve(Ctx *c, Dim a, Dim b, SymId *s, Dim *value) {
	Dim difference = dim_sub(c, a, b);
	const TypeState *st = state_of(c);
	Poly p = poly_of(c, difference);
	int64_t common = 0; /* 80 n - 6400 == 0 exactly when n - 80 == 0 */
	for (uint32_t i = 0; i < p.n; i++) common = gcd(common, p.terms[i].factor);
	uint32_t best = UINT32_MAX;
	SymId found = 0;
	for (uint32_t i = 0; i < p.n; i++) {
		const Mono *m = &st->monos.at[p.terms[i].mono];
		if ((p.terms[i].factor != common && p.terms[i].factor != -common) || m->degree != 1)
			continue;
		const AtomDim *atom = atom_at(st, m->atoms[0]);
		if (atom->is_floor || (best != UINT32_MAX && atom->sym < found)) continue;
		bool alone = true;
		for (uint32_t k = 0; k < p.n && alone; k++)
			alone = k == i || !mono_mentions(c, p.terms[k].mono, atom->sym);
		if (!alone) continue;
		best = i;
		found = atom->sym;
	}
	if (best == UINT32_MAX) return false;
	int64_t sign = -p.terms[best].factor / common;
	SUM(rest);
	for (uint32_t i = 0; i < p.n; i++) {
		if (i != best)
			sum_add(c, &rest, mul_checked(c, sign, p.terms[i].factor / common), p.terms[i].mono);
	}
	*s = found;
	*value = finish(c, &rest);
	return true;
}

/* Symbols are extents, hence not negative; a floor may be negative. */
bool dim_never_zero(const Ctx *c, Dim d) {
	const TypeState *st = state_of(c);
	Poly p = poly_of(c, d);
	if (!p.n || p.terms[p.n - 1].mono) return false; /* the constant comes last */
	bool positive = p.terms[p.n - 1].factor > 0;
	for (uint32_t i = 0; i + 1 < p.n; i++) {
		const Mono *m = &st->monos.at[p.terms[i].mono];
		if ((p.terms[i].factor > 0) != positive) return false;
		for (uint32_t k = 0; k < m->degree; k++)
			if (atom_at(st, m->atoms[k])->is_floor) return false;
	}
	return true;
}

/* ---- printing ------------------------------------------------------------ */

typedef struct Print {
	const Ctx *c;
	const char *(*sym_name)(void *ud, SymId s);
	void *ud;
	char *at;
	size_t n, cap;
} Print;

static void put(Print *o, const char *text) {
	size_t n = strlen(text), room = o->cap > o->n + 1 ? o->cap - o->n - 1 : 0;
	if (n > room) n = room;
	if (n) memcpy(o->at + o->n, text, n);
	o->n += n;
}

static void put_int(Print *o, uint64_t v) {
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)v);
	put(o, text);
}

static size_t finish_print(Print *o) {
	if (o->cap) o->at[o->n] = 0;
	return o->n;
}

static void print_dim(Print *o, Dim d);

static void print_atom(Print *o, uint32_t atom) {
	const AtomDim *a = atom_at(state_of(o->c), atom);
	if (!a->is_floor) {
		const char *name = o->sym_name ? o->sym_name(o->ud, a->sym) : NULL;
		put(o, name ? name : "n");
		if (!name) put_int(o, a->sym);
		return;
	}
	bool bracket = poly_of(o->c, a->inner).n > 1;
	put(o, bracket ? "floor((" : "floor(");
	print_dim(o, a->inner);
	put(o, bracket ? ")/" : "/");
	put_int(o, (uint64_t)a->by);
	put(o, ")");
}

static void print_dim(Print *o, Dim d) {
	const TypeState *st = state_of(o->c);
	Poly p = poly_of(o->c, d);
	if (!p.n) put(o, "0");
	for (uint32_t i = 0; i < p.n; i++) {
		const Mono *m = &st->monos.at[p.terms[i].mono];
		int64_t factor = p.terms[i].factor;
		uint64_t size = factor < 0 ? -(uint64_t)factor : (uint64_t)factor;
		if (i) put(o, factor < 0 ? " - " : " + ");
		else if (factor < 0) put(o, "-");
		if (size != 1 || !m->degree) put_int(o, size);
		for (uint32_t k = 0; k < m->degree;) {
			if (k || size != 1) put(o, "*");
			uint32_t power = 1;
			while (k + power < m->degree && m->atoms[k + power] == m->atoms[k]) power++;
			print_atom(o, m->atoms[k]);
			if (power > 1) {
				put(o, "^");
				put_int(o, power);
			}
			k += power;
		}
	}
}

size_t dim_print(const Ctx *c, Dim d, const char *(*sym_name)(void *ud, SymId s), void *ud,
                 char *buf, size_t cap) {
	Print o = {.c = c, .sym_name = sym_name, .ud = ud, .at = buf, .cap = cap};
	print_dim(&o, d);
	return finish_print(&o);
}

/* ---- types --------------------------------------------------------------- */

static TypeId intern_type(Ctx *c, const Type *t) {
	TypeState *st = state_of(c);
	uint32_t id = find_type(st, t);
	return id != UINT32_MAX ? id : add_type(ctx_arena(c), st, t);
}

TypeId type_tensor(Ctx *c, Dtype dtype, uint32_t rank, const Dim *dims) {
	if (rank > MAX_RANK) {
		diag_error(c, E_RANK, NO_SPAN, "a tensor of rank %u; at most %d axes are possible", rank,
		           MAX_RANK);
		ctx_throw(c, ST_ERROR);
	}
	Type t = {.kind = TY_TENSOR, .dtype = (uint8_t)dtype, .rank = (uint8_t)rank};
	if (rank) memcpy(t.dims, dims, rank * sizeof *dims);
	return intern_type(c, &t);
}

TypeId type_scalar(Ctx *c, Dtype dtype) { return type_tensor(c, dtype, 0, NULL); }

TypeId type_dyn(Ctx *c) {
	(void)c;
	return 1;
}

TypeId type_token(Ctx *c) {
	(void)c;
	return 0;
}

const Type *type_of(const Ctx *c, TypeId t) {
	const TypeState *st = state_of(c);
	return &st->types.at[t < st->types.n ? t : 1];
}

TypeId type_with_dtype(Ctx *c, TypeId t, Dtype dtype) {
	Type copy = *type_of(c, t);
	return copy.kind == TY_TENSOR ? type_tensor(c, dtype, copy.rank, copy.dims) : t;
}

TypeId type_subst(Ctx *c, TypeId t, const Dim *map, uint32_t nmap) {
	Type copy = *type_of(c, t);
	if (copy.kind != TY_TENSOR) return t;
	for (uint32_t i = 0; i < copy.rank; i++) copy.dims[i] = dim_subst(c, copy.dims[i], map, nmap);
	return intern_type(c, &copy);
}

bool type_has_tangent(const Ctx *c, TypeId t) {
	const Type *type = type_of(c, t);
	return type->kind == TY_TENSOR && dtype_is_inexact((Dtype)type->dtype);
}

size_t type_print(const Ctx *c, TypeId t, const char *(*sym_name)(void *ud, SymId s), void *ud,
                  char *buf, size_t cap) {
	Print o = {.c = c, .sym_name = sym_name, .ud = ud, .at = buf, .cap = cap};
	const Type *type = type_of(c, t);
	if (type->kind == TY_DYN) put(&o, "dyn");
	else if (type->kind == TY_TOKEN) put(&o, "token");
	else put(&o, dtype_name((Dtype)type->dtype));
	for (uint32_t i = 0; i < type->rank; i++) {
		put(&o, i ? ", " : "[");
		print_dim(&o, type->dims[i]);
	}
	if (type->rank) put(&o, "]");
	return finish_print(&o);
}
