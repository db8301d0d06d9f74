/* problem.h - inside the lowering of problems: coordinates, jets and places,
 * digested from the syntax.
 *
 * Needs: table.h. Private to parser/problem/. A jet is a field derived so often
 * by each coordinate. A place says where an expression stands, since ∂n means
 * something at a boundary only: inside, at a face of a box, at a part of a
 * region's boundary, at a point.
 */
#ifndef ATLED_PARSER_PROBLEM_PROBLEM_H
#define ATLED_PARSER_PROBLEM_PROBLEM_H

#include "parser/builtins/table.h"

enum { MAX_COORDS = 8, MAX_JETS = 256, MAX_ORDER = 60, MAX_VISITS = 1 << 18 };

typedef struct Jet {
	uint32_t field;
	uint8_t order[MAX_COORDS]; /* by coordinate */
} Jet;

typedef struct Coordinate {
	Atom name;
	Span span;
	const Domain *domain;
	const Ast *lo, *hi; /* NULL: one of a region's */
	bool periodic;
} Coordinate;

/* The syntax of a problem, digested. */
typedef struct Layout {
	const Ast *e;
	uint32_t ncoords;
	Coordinate coord[MAX_COORDS];
	int time; /* the coordinate t, or -1 */
	uint32_t nspace;
	uint32_t space[MAX_COORDS]; /* the others */
	const Domain *region;       /* NULL: every space coordinate has an interval */
	uint32_t njets;
	bool entangled; /* so that visiting all ways to a jet was given up */
	Jet jets[MAX_JETS];
} Layout;

/* Where an expression stands: one number, so that closures name it. */
typedef enum PlaceKind { PLACE_INSIDE, PLACE_PART, PLACE_POINT, PLACE_FACE } PlaceKind;
static inline uint32_t place_face(uint32_t coord, uint32_t side) {
	return PLACE_FACE + 2 * coord + side;
}
static inline PlaceKind place_kind(uint32_t place) {
	return place < PLACE_FACE ? (PlaceKind)place : PLACE_FACE;
}
static inline uint32_t place_coord(uint32_t place) { return (place - PLACE_FACE) / 2; }
static inline uint32_t place_side(uint32_t place) { return (place - PLACE_FACE) % 2; }

/* One of the places that an `at` means: `boundary` means every face. */
typedef struct Spot {
	uint32_t place;
	int coord, side;  /* of a face; side -1: of a value that is no end of the domain. Else -1 */
	const Ast *value; /* of the coordinate there */
	/* as it is written: left, boundary, a region's part; "" for a value and
	 * a point */
	const char *name;
	const Ast *point; /* A_TUPLE */
} Spot;

/* What stands for a derivative in a problem: ∂x(e) and d(e, x, k), ∂n(e), and
 * the operators of vector calculus. */
typedef enum DerKind {
	DER_NONE,
	DER_BY,
	DER_NORMAL,
	DER_GRAD,
	DER_DIV,
	DER_CURL,
	DER_LAP,
	DER_ALONG /* a·grad(e) */
} DerKind;
typedef struct Der {
	DerKind kind;
	const Ast *operand;
	uint32_t coord, order; /* of DER_BY; order of DER_NORMAL, too */
	const Ast *along;      /* a */
} Der;

/* Visits every way in which a jet is needed. */
typedef struct Needs {
	Ctx *c;
	Layout *l;
	uint32_t place;
	uint8_t shift[MAX_COORDS];
	int part; /* of a vector, along its last axis, only this component is wanted; -1: all */
	uint32_t depth;
	/* of expressions: operators within operators and definitions within
	 * definitions multiply them */
	uint32_t visits;
} Needs;

void layout_coords(Ctx *c, Layout *l, const Ast *e);
void layout_of(Ctx *c, Layout *l, const Ast *e); /* all jets of the problem */
/* those of one, at all its places */
void layout_of_equation(Ctx *c, Layout *l, const Ast *e, const Ast *q);
/* those of all equations that hold inside */
void layout_inside(Ctx *c, Layout *l, const Ast *e);
void layout_need(Ctx *c, Layout *l, const Ast *e, uint32_t place);
/* linear_terms.c: those of an equation in terms that are not linear with
 * constant factors */
void layout_bent(Ctx *c, Layout *l, const Ast *e, const Ast *q, uint32_t place);
int jet_find(const Layout *l, const Jet *j); /* its index, -1 when it is not laid out */
int coord_index(const Layout *l, Atom name);
int field_index(const Layout *l, Atom name);
bool coord_is_time(const Layout *l, uint32_t i);
/* u, u_t, u_xx: the field and how often it is derived by each coordinate. */
bool jet_of_name(Ctx *c, const Layout *l, Atom name, Jet *jet);
Atom jet_name(Ctx *c, const Layout *l, const Jet *j);
const Ast *local_named(const Layout *l, Atom name); /* the A_ASSIGN or A_DEF, or NULL */
Der derivative_of(Ctx *c, const Layout *l, const Ast *e);
/* The places that one `at` means, at most 2 * MAX_COORDS + 1; none: there is no
 * place of that name. */
uint32_t spots_of(Ctx *c, const Layout *l, const At *at, Spot *out);
enum { MAX_SPOTS = 2 * MAX_COORDS + 1 };
/* Fields that have an equation of their own: all but an eigenvalue in several
 * coordinates, which is the last. */
uint32_t fields_with_equation(const Ast *e);

bool same_text(Ctx *c, const Ast *x, const Ast *y);
const char *source_of(Ctx *c, const Ast *e); /* as it is written */
const char *ordinal(uint32_t n);
/* Where a field's derivative of this order by a coordinate is written, in an
 * equation that holds inside; NO_SPAN when it is not (problem/check.c). */
Span derivative_place(Ctx *c, const Layout *l, const Ast *e, uint32_t field, uint32_t coord,
                      uint32_t order);

/* residual.c */
/* e as a function of (coordinates, jets[, normal]) */
Av *problem_expression(Sp *sp, Av *problem, const Ast *e, uint32_t place, Av *normal);
/* An event's body as a function of (coordinates, jets): the jets after it, none
 * for those that it leaves. */
Av *problem_body(Sp *sp, Av *problem, const Ast *block);
/* A derivative of an expression by a coordinate whose value is handed over
 * instead of following from the jets. */
typedef struct Handed {
	const Ast *operand, *text; /* text: the derivative as it is written */
	uint32_t coord, order;
} Handed;
/* e as a function of (coordinates, jets, values of these derivatives) */
Av *problem_given(Sp *sp, Av *problem, const Ast *e, uint32_t n, const Handed *given);
/* the same derivative by the rules of calculus, as a function of
 * (coordinates, jets) */
Av *problem_total(Sp *sp, Av *problem, const Handed *d);
/* a problem with values for its parameters: as it is, or with its defaults */
Av *problem_bound(Sp *sp, Av *p, Span at);

/* reflect.c */
Av *problem_reflect(Sp *sp, Av *p);

/* problem/jumps.c: the derivatives in an equation that the rules of calculus do
 * not give, since what is derived may jump, as records (coord, order, f, jets,
 * inner, place, state, deep, text, factor, plain); *by: the equation as a
 * function of coordinates, jets and the values of these, none where there are
 * none. f: the flux, a function of coordinates, jets, and the values of the
 * inner derivatives. inner: derivatives in it that must be differences as well,
 * as records (coord, order, f, jets, slope, jumps): slope is what the rules of
 * calculus give, jumps that these lose something. place: f jumps at places;
 * state: where a field passes a value. deep: inner ones have inner ones.
 * factor: a function of coordinates, jets, values and directions: what stands
 * before the derivative, applied to its direction; plain: it depends on none of
 * these values and does not jump. */
Av *problem_jumps(Sp *sp, Av *problem, const Layout *l, Av *const *sizes, const Ast *equation,
                  Av **by);

/* flux_terms.c: a tuple of records (coord, factor, f, part, jets, text), one
 * for each term of left - right: factor times the derivative of f by coordinate
 * `coord`, or, where coord is -1, factor times f. part: f is a vector (or
 * tuple, or matrix) under div, and this is its component for this coordinate;
 * -1 otherwise. jets: the numbers of those that f mentions. text: f, as it is
 * written. */
Av *problem_terms(Sp *sp, Av *problem, const Layout *l, const Ast *equation);

#endif
