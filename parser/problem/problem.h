/* problem.h - internals of the lowering of problems: coordinates, jets and
 * locations, read from the syntax.
 *
 * Needs: table.h. Private to parser/problem/.
 *
 * Terms:
 * - A jet is a field or one of its derivatives: an order for each coordinate.
 * - The location of an expression is inside, at a face of a box, on a part of a
 *   region's boundary, or at a point. It matters because ∂n has a meaning on a
 *   boundary only.
 */
#ifndef ATLED_PARSER_PROBLEM_PROBLEM_H
#define ATLED_PARSER_PROBLEM_PROBLEM_H

#include "parser/builtins/table.h"

enum { MAX_COORDS = 8, MAX_JETS = 256, MAX_VISITS = 1 << 18 };

typedef struct JetVariable {
	uint32_t field;
	uint8_t order[MAX_COORDS]; /* by coordinate */
} JetVariable;

typedef struct Coordinate {
	Atom name;
	Span span;
	const Domain *domain;
	const Ast *lo, *hi; /* NULL: a coordinate of a region */
	bool periodic;
} Coordinate;

/* The coordinates and jets of a problem. */
typedef struct Layout {
	const Ast *e;
	uint32_t ncoords;
	Coordinate coord[MAX_COORDS];
	int time; /* the coordinate t, or -1 */
	uint32_t nspace;
	uint32_t space[MAX_COORDS]; /* the other coordinates */
	const Domain *region;       /* NULL: every space coordinate has an interval */
	uint32_t njets;
	bool entangled; /* too many paths lead to its jets, so the visit was given up */
	JetVariable jets[MAX_JETS];
} Layout;

/* The location of an expression, as one integer that closures can store. */
typedef enum LocationKind {
	LOCATION_INSIDE,
	LOCATION_PART,
	LOCATION_POINT,
	LOCATION_FACE
} LocationKind;
static inline uint32_t location_face(uint32_t coord, uint32_t side) {
	return LOCATION_FACE + 2 * coord + side;
}
static inline LocationKind location_kind(uint32_t location) {
	return location < LOCATION_FACE ? (LocationKind)location : LOCATION_FACE;
}
static inline uint32_t location_coord(uint32_t location) { return (location - LOCATION_FACE) / 2; }
static inline uint32_t location_side(uint32_t location) { return (location - LOCATION_FACE) % 2; }

/* One of the locations that an `at` means; `boundary` means every face. */
typedef struct BoundaryLocation {
	uint32_t location;
	int coord, side;  /* of a face; side -1: of a value that is no end of the domain; else -1 */
	const Ast *value; /* of the coordinate there */
	/* As written: left, boundary, a part of a region; "" for a value and a
	 * point. */
	const char *name;
	const Ast *point; /* A_TUPLE */
} BoundaryLocation;

/* The notations of a derivative in a problem: ∂x(e) and d(e, x, k), u' in one
 * coordinate, ∂n(e), and the operators of vector calculus. */
typedef enum DerivativeKind {
	DER_NONE,
	DER_BY,
	DER_NORMAL,
	DER_GRAD,
	DER_DIV,
	DER_CURL,
	DER_LAP,
	DER_ALONG /* a·grad(e) */
} DerivativeKind;
typedef struct DerivativeForm {
	DerivativeKind kind;
	const Ast *operand;
	uint32_t coord, order; /* of DER_BY; the order also of DER_NORMAL */
	const Ast *along;      /* a */
} DerivativeForm;

/* State of the visit that collects every jet that is needed. */
typedef struct JetCollector {
	Ctx *c;
	Layout *l;
	uint32_t location;
	uint8_t shift[MAX_COORDS];
	int part; /* the only component needed of a vector, along its last axis; -1: all */
	uint32_t depth;
	/* Expressions visited. Nested operators and nested definitions multiply
	 * them. */
	uint32_t visits;
} JetCollector;

void layout_coords(Ctx *c, Layout *l, const Ast *e);
void layout_of(Ctx *c, Layout *l, const Ast *e); /* all jets of the problem */
/* The jets of one equation, at all its locations. */
void layout_of_equation(Ctx *c, Layout *l, const Ast *e, const Ast *q);
/* The jets of all equations that hold inside. */
void layout_inside(Ctx *c, Layout *l, const Ast *e);
void layout_collect(Ctx *c, Layout *l, const Ast *e, uint32_t location);
/* linear_terms.c: the jets of an equation in terms that are not linear with
 * constant factors. */
void layout_nonlinear(Ctx *c, Layout *l, const Ast *e, const Ast *q, uint32_t location);
int jet_find(const Layout *l,
             const JetVariable *j); /* its index; -1 when it is not in the layout */
int coord_index(const Layout *l, Atom name);
int field_index(const Layout *l, Atom name);
bool coord_is_time(const Layout *l, uint32_t i);
/* Parses u, u_t, u_xx: the field and its order in each coordinate. */
bool jet_of_name(Ctx *c, const Layout *l, Atom name, JetVariable *jet);
/* True for a field or one of its derivatives, whose total derivative is the
 * next jet. */
bool is_jet(Ctx *c, const Layout *l, const Ast *e, JetVariable *jet);
Atom jet_name(Ctx *c, const Layout *l, const JetVariable *j);
const Ast *local_named(const Layout *l, Atom name); /* the A_ASSIGN or A_DEF, or NULL */
DerivativeForm derivative_of(Ctx *c, const Layout *l, const Ast *e);
/* check.c: reports u' and returns true where several coordinates could be
 * meant. */
bool is_prime_unclear(Ctx *c, const Layout *l, const Ast *e);
/* The locations that one `at` means, at most 2 * MAX_COORDS + 1. Returns 0 when
 * there is no location of that name. */
uint32_t boundary_locations(Ctx *c, const Layout *l, const At *at, BoundaryLocation *out);
enum { MAX_LOCATIONS = 2 * MAX_COORDS + 1 };
/* The number of fields with an equation of their own: all but an eigenvalue in
 * several coordinates, which is the last. */
uint32_t fields_with_equation(const Ast *e);

bool same_text(Ctx *c, const Ast *x, const Ast *y);
const char *source_of(Ctx *c, const Ast *e); /* its source text */
const char *ordinal(uint32_t n);
/* Where the text has a field's derivative of this order with respect to a
 * coordinate, in an equation that holds inside; NO_SPAN: nowhere (check.c). */
Span derivative_place(Ctx *c, const Layout *l, const Ast *e, uint32_t field, uint32_t coord,
                      uint32_t order);

/* residual.c: */
/* e as a function of (coordinates, jets[, normal]). */
Av *problem_expression(Sp *sp, Av *problem, const Ast *e, uint32_t location, Av *normal);
/* An event's body as a function of (coordinates, jets): the jets after the
 * event, none for those that it leaves unchanged. */
Av *problem_body(Sp *sp, Av *problem, const Ast *block);
/* A derivative of an expression with respect to a coordinate. Its value is
 * passed in instead of following from the jets. */
typedef struct Handed {
	const Ast *operand, *text; /* text: the derivative as written */
	uint32_t coord, order;
} Handed;
/* e as a function of (coordinates, jets, values of these derivatives). */
Av *problem_given(Sp *sp, Av *problem, const Ast *e, uint32_t n, const Handed *given);
/* The same derivative by the rules of calculus, as a function of (coordinates,
 * jets). */
Av *problem_total(Sp *sp, Av *problem, const Handed *d);
/* A problem with values for its parameters: the problem itself, or with its
 * defaults. */
Av *problem_bound(Sp *sp, Av *p, Span at);

/* reflect.c: */
Av *problem_reflect(Sp *sp, Av *p);

/* jumps.c: the derivatives of an equation that the rules of calculus do not
 * give, because their operand may jump. Returns records (coord, order, f, jets,
 * inner, place, state, deep, text, factor, plain, fixed).
 * - *by: the equation as a function of coordinates, jets and the values of
 *   these derivatives; none if there are none.
 * - f: the flux, a function of coordinates, jets and the values of the inner
 *   derivatives.
 * - inner: the derivatives in f that must be differences as well, as records
 *   (coord, order, f, jets, slope, jumps). slope: the result of the rules of
 *   calculus; jumps: it loses something.
 * - place: f jumps at certain values of the coordinate; state: f jumps where a
 *   field passes a certain value.
 * - deep: inner derivatives contain inner ones.
 * - factor: a function of coordinates, jets, values and directions: the
 *   coefficient of the derivative, applied to its direction.
 * - plain: factor depends on none of these values and does not jump.
 * - fixed: the operand is smooth in the fields, so it jumps at fixed positions
 *   only. */
Av *problem_jumps(Sp *sp, Av *problem, const Layout *l, Av *const *sizes, const Ast *equation,
                  Av **by);

/* flux_terms.c: a tuple of records (coord, factor, f, part, jets, text), one
 * for each term of left - right.
 * - The term is factor times the derivative of f with respect to coordinate
 *   `coord`; for coord = -1, it is factor times f.
 * - part: if f is a vector (or tuple, or matrix) under div, its component for
 *   this coordinate; else -1.
 * - jets: the numbers of the jets in f.
 * - text: f as written. */
Av *problem_terms(Sp *sp, Av *problem, const Layout *l, const Ast *equation);

#endif
