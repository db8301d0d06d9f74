/* jet_series.c - truncated power series of element-wise expressions, from their
 * derivative rules.
 *
 * Method: if y' = g(x, y) x' then
 *     k y_k = sum_{j=1..k} (j x_j) g_{k-j},
 * where the series of g needs only coefficients below k, also of y itself
 * (Griewank & Walther, Evaluating Derivatives, 2nd ed., section 13.2). g is the
 * primitive's derivative rule, unfolded into shared nodes: the rule of sin
 * names cos(x), whose rule names sin(x), the original node.
 *
 * Product, quotient, power and the piecewise primitives have series of their
 * own. The first two are the arithmetic itself; power's rule would need ever
 * lower powers; the piecewise ones follow one operand.
 *
 * Needs: jet.h; the derivative rules through ir_services()->elementwise_rule.
 *
 * Contract:
 * - The coefficients of y = f(x) to order K cost O(K^2) operations.
 */
#include "autodiff/taylor/jet.h"
#include <math.h>

typedef struct SeriesNode {
	Op op; /* OP_NONE: a leaf */
	Dtype dtype;
	uint8_t nargs;
	bool constant; /* coefficients from 1 on are zero */
	bool expanded; /* the fields below are set */
	uint8_t nterms;
	NodeId arg[3];
	NodeId x[2], g[2]; /* y' = sum of g x' over the terms, for primitives with a rule */
	NodeId alias;      /* pow: the node that has the same coefficients from 1 on; or NO_NODE */
	NodeId delta;      /* pow, binomial form: powers of x - x_0, by exponent in `powers` */
	NodeId *powers;
	Ref *binomial;
	double exponent;
	uint8_t form; /* PowForm */
	Ref *coef;
	Ref *scaled; /* j * coef[j] */
	uint64_t known, scaled_known;
} SeriesNode;

typedef enum PowForm { POW_NONE, POW_ALIAS, POW_ROOT, POW_BINOMIAL, POW_TERMS } PowForm;

struct Series {
	Ctx *c;
	Builder *b;
	Arena *scratch;
	uint32_t order;
	SpanId span;
	TypeId like;
	VEC(SeriesNode) nodes;
};

/* Integer powers up to this limit are products; larger ones use the binomial
 * form. */
#define POW_PRODUCTS 1024

Ref zero_add(Builder *b, Ref x, Ref y) { return !x ? y : !y ? x : build2(b, OP_ADD, x, y); }

Ref zero_sub(Builder *b, Ref x, Ref y) {
	return !y ? x : !x ? build1(b, OP_NEG, y) : build2(b, OP_SUB, x, y);
}

Ref zero_scale(Builder *b, Ref x, double factor) {
	if (!x || factor == 1) return x;
	return build2(b, OP_MUL, x, build_full(b, ref_type(build_fn(b), x), factor));
}

Ref cauchy(Builder *b, uint32_t k, uint32_t first, bool same, SeriesOf of, BilinearOp multiply,
           void *ud) {
	Ref sum = REF_NONE;
	if (same) {
		for (uint32_t i = first; 2 * i < k; i++) {
			Ref x = of(ud, 0, i);
			Ref y = x ? of(ud, 0, k - i) : REF_NONE;
			if (y) sum = zero_add(b, sum, multiply(ud, x, y));
		}
		sum = zero_scale(b, sum, 2);
		Ref middle = k % 2 == 0 && k / 2 >= first ? of(ud, 0, k / 2) : REF_NONE;
		return middle ? zero_add(b, sum, multiply(ud, middle, middle)) : sum;
	}
	for (uint32_t i = first; i + first <= k; i++) {
		Ref x = of(ud, 0, i);
		Ref y = x ? of(ud, 1, k - i) : REF_NONE;
		if (y) sum = zero_add(b, sum, multiply(ud, x, y));
	}
	return sum;
}

/* ---- nodes --------------------------------------------------------------- */

Series *series_new(Ctx *c, Builder *b, Arena *scratch, uint32_t order, SpanId span, TypeId like) {
	Series *s = ARENA_NEW(scratch, Series);
	*s = (Series){.c = c, .b = b, .scratch = scratch, .order = order, .span = span, .like = like};
	return s;
}

static NodeId add_node(Series *s, SeriesNode n) {
	n.coef = ARENA_ARRAY(s->scratch, Ref, s->order + 1);
	n.scaled = ARENA_ARRAY(s->scratch, Ref, s->order + 1);
	n.alias = n.delta = NO_NODE;
	VEC_PUSH(s->scratch, &s->nodes, n);
	return s->nodes.n - 1;
}

NodeId series_leaf(Series *s, const Ref *coef) {
	size_t bytes = sizeof(Ref) * (s->order + 1);
	for (NodeId i = 0; i < s->nodes.n; i++)
		if (s->nodes.at[i].op == OP_NONE && !memcmp(s->nodes.at[i].coef, coef, bytes)) return i;
	bool constant = true;
	for (uint32_t k = 1; k <= s->order; k++) constant &= !coef[k];
	Dtype dtype = coef[0] ? (Dtype)ref_ty(build_fn(s->b), coef[0])->dtype
	                      : (Dtype)type_of(s->c, s->like)->dtype;
	NodeId n = add_node(
		s, (SeriesNode){.op = OP_NONE, .dtype = dtype, .constant = constant, .known = UINT64_MAX});
	memcpy(s->nodes.at[n].coef, coef, bytes);
	return n;
}

static NodeId constant_leaf(Series *s, Ref value) {
	Ref *coef = ARENA_ARRAY(s->scratch, Ref, s->order + 1);
	coef[0] = value;
	return series_leaf(s, coef);
}

static TypeId node_type(const Series *s, NodeId n) {
	return type_with_dtype(s->c, s->like, s->nodes.at[n].dtype);
}

static NodeId scalar_leaf(Series *s, Dtype dtype, double x) {
	return constant_leaf(s, build_full(s->b, type_with_dtype(s->c, s->like, dtype), x));
}

NodeId series_node(Series *s, Op op, uint32_t nargs, const NodeId *args, Dtype result, Ref primal) {
	for (NodeId i = 0; i < s->nodes.n; i++) {
		const SeriesNode *n = &s->nodes.at[i];
		if (n->op == op && n->dtype == result && n->nargs == nargs &&
		    !memcmp(n->arg, args, sizeof(NodeId) * nargs))
			return i;
	}
	SeriesNode n = {.op = op, .dtype = result, .nargs = (uint8_t)nargs, .constant = true};
	for (uint32_t i = 0; i < nargs; i++) {
		n.arg[i] = args[i];
		n.constant &= s->nodes.at[args[i]].constant;
	}
	n.constant |= prims[op].deriv == DERIV_ZERO || !dtype_is_inexact(result);
	NodeId id = add_node(s, n);
	if (primal) {
		s->nodes.at[id].coef[0] = primal;
		s->nodes.at[id].known = 1;
	}
	return id;
}

static NodeId node2(Series *s, Op op, NodeId x, NodeId y) {
	return series_node(s, op, 2, (NodeId[]){x, y}, s->nodes.at[x].dtype, REF_NONE);
}

static Ref primal_of(Series *s, NodeId n) {
	SeriesNode now = s->nodes.at[n];
	Ref x[3] = {REF_NONE};
	for (uint32_t i = 0; i < now.nargs; i++) x[i] = series_coef(s, now.arg[i], 0);
	/* A power of x - x_0 has no constant term, and neither do products with
	 * it. */
	if (now.op == OP_MUL && (!x[0] || !x[1])) return REF_NONE;
	if (now.op == OP_CONVERT) return build_convert(s->b, x[0], now.dtype);
	return build(s->b, now.op, now.nargs, x, 0, NULL);
}

/* j times coefficient j, computed once for all sums that use it. */
static Ref scaled_coef(Series *s, NodeId n, uint32_t j) {
	if (!(s->nodes.at[n].scaled_known >> j & 1)) {
		Ref x = zero_scale(s->b, series_coef(s, n, j), j);
		s->nodes.at[n].scaled[j] = x;
		s->nodes.at[n].scaled_known |= UINT64_C(1) << j;
	}
	return s->nodes.at[n].scaled[j];
}

/* ---- the derivative rule ------------------------------------------------- */

static _Noreturn void bad_rule(Series *s, Op op, const char *what) {
	diag_error(s->c, E_RULE, span_of(s->c, s->span), "the derivative rule of `%s` %s",
	           prims[op].name, what);
	ctx_throw(s->c, ST_ERROR);
}

/* Unfolds the rule of node n into nodes: its partial derivatives are the g of
 * its terms. */
static void unfold_rule(Series *s, NodeId n) {
	SeriesNode now = s->nodes.at[n];
	Fn *(*service)(Ctx *, Op, Dtype) = ir_services(s->c)->elementwise_rule;
	const Fn *rule = service ? service(s->c, now.op, s->nodes.at[now.arg[0]].dtype) : NULL;
	if (!rule) {
		if (!service)
			diag_error(s->c, E_NO_RULE, span_of(s->c, s->span), "`%s` has no derivative rule",
			           prims[now.op].name);
		ctx_throw(s->c, ST_ERROR);
	}
	if (fn_nparams(rule) != now.nargs + 1u || fn_nresults(rule) != now.nargs)
		bad_rule(s, now.op, "must give one partial derivative for each operand");
	NodeId *of = ARENA_ARRAY(s->scratch, NodeId, rule->vals.n);
	for (uint32_t i = 0; i < now.nargs; i++) of[REF_INDEX(fn_param(rule, i))] = now.arg[i];
	of[REF_INDEX(fn_param(rule, now.nargs))] = n;
	const Region *body = &rule->regions.at[0];
	for (uint32_t i = 0; i <= body->ninsts; i++) {
		/* The iteration after the last instruction handles the results. */
		const Inst *in =
			i < body->ninsts ? &rule->insts.at[rule->inst_order.at[body->insts + i]] : NULL;
		if (in && !prims[in->op].elementwise && in->op != OP_SELECT && in->op != OP_CONVERT &&
		    in->op != OP_STOP)
			bad_rule(s, now.op,
			         "must be made of element-wise operations for derivatives of higher order");
		uint32_t nargs = in ? in->nargs : now.nargs;
		NodeId args[3];
		for (uint32_t k = 0; k < nargs; k++) {
			Ref r = in ? inst_arg(rule, in, k) : fn_result(rule, k);
			const Const *constant = ref_constant(rule, r);
			if (constant)
				args[k] = constant_leaf(
					s, build_broadcast_scalar(s->b, build_const(s->b, constant->value), s->like));
			else args[k] = of[REF_INDEX(r)];
		}
		if (in) {
			Ref r = inst_result(in, 0);
			of[REF_INDEX(r)] =
				series_node(s, (Op)in->op, nargs, args, (Dtype)ref_ty(rule, r)->dtype, REF_NONE);
		} else {
			memcpy(s->nodes.at[n].g, args, sizeof(NodeId) * nargs);
			memcpy(s->nodes.at[n].x, now.arg, sizeof(NodeId) * nargs);
			s->nodes.at[n].nterms = (uint8_t)nargs;
		}
	}
}

/* The term j = k is outside the sum, since its factor k/k is 1. It is the only
 * one where x is a straight line. */
static Ref recurrence(Series *s, NodeId n, uint32_t k) {
	Ref lead = REF_NONE, sum = REF_NONE;
	for (uint32_t t = 0; t < s->nodes.at[n].nterms; t++) {
		NodeId x = s->nodes.at[n].x[t], g = s->nodes.at[n].g[t];
		if (s->nodes.at[x].constant) continue;
		Ref top = series_coef(s, x, k);
		Ref slope = top ? series_coef(s, g, 0) : REF_NONE;
		if (slope) lead = zero_add(s->b, lead, build2(s->b, OP_MUL, top, slope));
		for (uint32_t j = 1; j < k; j++) {
			if (!series_coef(s, x, j)) continue;
			Ref factor = series_coef(s, g, k - j);
			if (factor)
				sum = zero_add(s->b, sum, build2(s->b, OP_MUL, scaled_coef(s, x, j), factor));
		}
	}
	return zero_add(s->b, lead, zero_scale(s->b, sum, 1.0 / k));
}

/* ---- power --------------------------------------------------------------- */

static NodeId whole_power(Series *s, NodeId x, uint32_t n) {
	if (n == 1) return x;
	NodeId half = whole_power(s, x, n / 2);
	NodeId square = node2(s, OP_MUL, half, half);
	return n % 2 ? node2(s, OP_MUL, square, x) : square;
}

/* A power is expanded in one of four ways:
 * - Integer exponents: products (and a quotient), so that x^3 has its
 *   derivatives at 0.
 * - Constant exponents below 1: x y' = p y x', one recurrence with a division
 *   by x_0, which is singular at 0 as x^p is.
 * - Other exponents without a series: y_k = sum_m binomial(p, m) x_0^(p-m) [(x
 *   - x_0)^m]_k. This is correct at 0 too: where a binomial vanishes, its power
 *   of x_0, which may not exist, is ignored.
 * - Exponents with a series: y = exp(p log x). */
static void unfold_pow(Series *s, NodeId n) {
	Builder *b = s->b;
	NodeId x = s->nodes.at[n].arg[0], p = s->nodes.at[n].arg[1];
	Dtype dtype = s->nodes.at[n].dtype;
	if (!s->nodes.at[p].constant) {
		NodeId log_x;
		if (s->nodes.at[x].constant) { /* 0^p stays 0 when p > 0 moves */
			Ref x0 = series_coef(s, x, 0), zero = build_zeros(b, node_type(s, x));
			Ref y0 = series_coef(s, n, 0),
				both = build2(b, OP_MIN, build2(b, OP_EQ, x0, zero), build2(b, OP_EQ, y0, zero));
			log_x = constant_leaf(s, build_select(b, both, zero, build1(b, OP_LOG, x0)));
		} else {
			log_x = series_node(s, OP_LOG, 1, &x, dtype, REF_NONE);
		}
		NodeId power = node2(s, OP_MUL, p, log_x);
		SeriesNode *now = &s->nodes.at[n];
		now->x[0] = power;
		now->g[0] = n;
		now->nterms = 1;
		now->form = POW_TERMS;
		return;
	}
	Value v;
	double exponent = 0.5;
	bool known = ref_splat(build_fn(b), series_coef(s, p, 0), &v);
	if (known) {
		double complex z = 0;
		scalar_convert((Dtype)v.dtype, value_scalar_bytes(&v), DT_C128, &z);
		exponent = creal(z);
		known = cimag(z) == 0;
	}
	if (known && exponent >= -POW_PRODUCTS && exponent <= POW_PRODUCTS &&
	    exponent == trunc(exponent)) {
		uint32_t size = (uint32_t)(exponent < 0 ? -exponent : exponent);
		NodeId alias = size ? whole_power(s, x, size) : scalar_leaf(s, dtype, 1);
		if (exponent < 0) alias = node2(s, OP_DIV, scalar_leaf(s, dtype, 1), alias);
		s->nodes.at[n].alias = alias;
		s->nodes.at[n].form = POW_ALIAS;
		return;
	}
	if (known && exponent < 1) {
		s->nodes.at[n].exponent = exponent;
		s->nodes.at[n].form = POW_ROOT;
		return;
	}
	Ref *delta = ARENA_ARRAY(s->scratch, Ref, s->order + 1);
	for (uint32_t k = 1; k <= s->order; k++) delta[k] = series_coef(s, x, k);
	NodeId leaf = series_leaf(s, delta);
	SeriesNode *now = &s->nodes.at[n];
	now->delta = leaf;
	now->powers = ARENA_ARRAY(s->scratch, NodeId, s->order + 1);
	now->binomial = ARENA_ARRAY(s->scratch, Ref, s->order + 1);
	now->powers[1] = leaf;
	now->form = POW_BINOMIAL;
	Ref p0 = series_coef(s, p, 0), x0 = series_coef(s, x, 0), choose = p0;
	TypeId type = node_type(s, n);
	for (uint32_t m = 1; m <= s->order; m++) {
		Ref lower = build2(b, OP_SUB, p0, build_full(b, type, m));
		Ref term = build2(b, OP_MUL, choose, build2(b, OP_POW, x0, lower));
		Ref zero = build_zeros(b, type);
		Ref silent = build2(b, OP_MIN, build2(b, OP_EQ, choose, zero), build2(b, OP_EQ, x0, zero));
		s->nodes.at[n].binomial[m] = build_select(b, silent, zero, term);
		if (m > 1) {
			NodeId half = s->nodes.at[n].powers[m / 2];
			NodeId power = node2(s, OP_MUL, half, half);
			if (m % 2) power = node2(s, OP_MUL, power, leaf);
			s->nodes.at[n].powers[m] = power;
		}
		choose = zero_scale(b, build2(b, OP_MUL, choose, lower), 1.0 / (m + 1));
	}
}

static Ref pow_coef(Series *s, NodeId n, uint32_t k) {
	Builder *b = s->b;
	NodeId x = s->nodes.at[n].arg[0];
	Ref sum = REF_NONE;
	switch ((PowForm)s->nodes.at[n].form) {
	case POW_ALIAS: return series_coef(s, s->nodes.at[n].alias, k);
	case POW_TERMS: return recurrence(s, n, k);
	case POW_ROOT:
		/* k x_0 y_k = sum_{j=1..k} (p j - (k - j)) x_j y_{k-j}: Griewank &
		 * Walther, table 13.2. */
		for (uint32_t j = 1; j <= k; j++) {
			Ref xj = series_coef(s, x, j);
			Ref y = xj ? series_coef(s, n, k - j) : REF_NONE;
			double factor = (s->nodes.at[n].exponent * j - (k - j)) / k;
			if (y && factor != 0)
				sum = zero_add(b, sum, zero_scale(b, build2(b, OP_MUL, xj, y), factor));
		}
		return sum ? build2(b, OP_DIV, sum, series_coef(s, x, 0)) : REF_NONE;
	case POW_BINOMIAL:
		for (uint32_t m = 1; m <= k; m++) {
			Ref power = series_coef(s, s->nodes.at[n].powers[m], k);
			if (power) sum = zero_add(b, sum, build2(b, OP_MUL, s->nodes.at[n].binomial[m], power));
		}
		return sum;
	case POW_NONE: break;
	}
	return REF_NONE;
}

/* ---- coefficients -------------------------------------------------------- */

typedef struct ProductOf {
	Series *s;
	NodeId of[2];
} ProductOf;

static Ref factor_coef(void *ud, uint32_t which, uint32_t k) {
	const ProductOf *p = ud;
	return series_coef(p->s, p->of[which], k);
}

static Ref multiply(void *ud, Ref x, Ref y) {
	return build2(((const ProductOf *)ud)->s->b, OP_MUL, x, y);
}

static Ref quotient_coef(Series *s, NodeId n, NodeId x, NodeId by, uint32_t k) {
	Ref sum = REF_NONE;
	for (uint32_t j = 1; j <= k; j++) {
		Ref d = series_coef(s, by, j);
		Ref y = d ? series_coef(s, n, k - j) : REF_NONE;
		if (y) sum = zero_add(s->b, sum, build2(s->b, OP_MUL, d, y));
	}
	Ref rest = zero_sub(s->b, series_coef(s, x, k), sum);
	return rest ? build2(s->b, OP_DIV, rest, series_coef(s, by, 0)) : REF_NONE;
}

static Ref or_zeros(Series *s, NodeId n, Ref x) {
	return x ? x : build_zeros(s->b, node_type(s, n));
}

/* Each element follows the operand that attains the extremum; tied operands
 * share it equally. */
static Ref extremum_coef(Series *s, NodeId n, NodeId x, NodeId y, uint32_t k) {
	Builder *b = s->b;
	Ref xk = series_coef(s, x, k), yk = series_coef(s, y, k);
	if (!xk && !yk) return REF_NONE;
	Ref x0 = series_coef(s, x, 0), y0 = series_coef(s, y, 0);
	xk = or_zeros(s, n, xk);
	yk = or_zeros(s, n, yk);
	bool largest = s->nodes.at[n].op == OP_MAX;
	Ref first = largest ? build2(b, OP_LT, y0, x0) : build2(b, OP_LT, x0, y0);
	Ref shared = zero_scale(b, build2(b, OP_ADD, xk, yk), 0.5);
	return build_select(b, first, xk, build_select(b, build2(b, OP_EQ, x0, y0), shared, yk));
}

static void expand(Series *s, NodeId n) {
	if (s->nodes.at[n].expanded) return;
	s->nodes.at[n].expanded = true;
	if (s->nodes.at[n].op == OP_POW) unfold_pow(s, n);
	else unfold_rule(s, n);
}

static Ref make_coef(Series *s, NodeId n, uint32_t k) {
	Builder *b = s->b;
	SeriesNode now = s->nodes.at[n];
	NodeId x = now.arg[0], y = now.arg[1];
	ProductOf product = {s, {x, y}};
	Ref xk, yk;
	switch (now.op) {
	case OP_NEG:
	case OP_REAL:
	case OP_IMAG:
	case OP_CONJ: xk = series_coef(s, x, k); return xk ? build1(b, now.op, xk) : REF_NONE;
	case OP_CONVERT:
		xk = series_coef(s, x, k);
		return xk ? build_convert(b, xk, now.dtype) : REF_NONE;
	case OP_ADD: return zero_add(b, series_coef(s, x, k), series_coef(s, y, k));
	case OP_SUB: xk = series_coef(s, x, k); return zero_sub(b, xk, series_coef(s, y, k));
	case OP_MUL: return cauchy(b, k, 0, x == y, factor_coef, multiply, &product);
	case OP_DIV: return quotient_coef(s, n, x, y, k);
	case OP_ABS:
		xk = series_coef(s, x, k);
		return xk ? build2(b, OP_MUL, build1(b, OP_SIGN, series_coef(s, x, 0)), xk) : REF_NONE;
	case OP_MAX:
	case OP_MIN: return extremum_coef(s, n, x, y, k);
	case OP_SELECT:
		xk = series_coef(s, now.arg[1], k);
		yk = series_coef(s, now.arg[2], k);
		if (!xk && !yk) return REF_NONE;
		return build_select(b, series_coef(s, now.arg[0], 0), or_zeros(s, n, xk),
		                    or_zeros(s, n, yk));
	case OP_POW: expand(s, n); return pow_coef(s, n, k);
	default: expand(s, n); return recurrence(s, n, k);
	}
}

Ref series_coef(Series *s, NodeId n, uint32_t k) {
	if (k && s->nodes.at[n].constant) return REF_NONE;
	if (!(s->nodes.at[n].known >> k & 1)) {
		Ref x = k ? make_coef(s, n, k) : primal_of(s, n);
		s->nodes.at[n].coef[k] = x;
		s->nodes.at[n].known |= UINT64_C(1) << k;
	}
	return s->nodes.at[n].coef[k];
}
