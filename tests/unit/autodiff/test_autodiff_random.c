/* test_autodiff_random.c - unit tests of derivatives of random programs with
 * control flow.
 *
 * Oracle: finite differences and the transpose identity (derivative_check.h).
 *
 * Needs: derivative_check.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 * Usage: an argument selects tests by name.
 */
#include "tests/unit/autodiff/derivative_check.h"
#include <stdio.h>

/* Statements over vectors of one extent and scalars. All values stay bounded.
 * Conditions depend only on scalars that are not differentiated, so the central
 * difference never crosses a jump. */
typedef struct Program {
	T *t;
	Dim n;
	Ref vectors[64], numbers[64];
	uint32_t nvectors, nnumbers;
	Ref seeds; /* i64 vector that determines conditions and trip counts */
	uint32_t budget;
	Fn *callee;
} Program;

static uint32_t pick(T *t, uint32_t n) { return (uint32_t)uniform(t, 0, n); }
static Ref some_vector(Program *p) { return p->vectors[pick(p->t, p->nvectors)]; }
static Ref some_number(Program *p) { return p->numbers[pick(p->t, p->nnumbers)]; }
static Ref some_seed(Program *p) {
	return element(p->t, p->seeds, build_i64(p->t->b, pick(p->t, 6)));
}

static void put_vector(Program *p, Ref x) {
	if (p->nvectors < 64) p->vectors[p->nvectors++] = x;
}
static void put_number(Program *p, Ref x) {
	if (p->nnumbers < 64) p->numbers[p->nnumbers++] = x;
}

static void statements(Program *p, uint32_t depth);

static void simple_statement(Program *p) {
	Builder *b = p->t->b;
	Ref x = some_vector(p), y = some_vector(p), s = some_number(p);
	TypeId vectors = vec(p->t, p->n);
	int axis = 0;
	Ref i = build2(b, OP_MOD, some_seed(p), build_extent(b, p->n));
	switch (pick(p->t, 14)) {
	case 0: put_vector(p, build1(b, OP_SIN, add(b, x, y))); break;
	case 1: put_vector(p, mul(b, x, build1(b, OP_COS, y))); break;
	case 2: put_vector(p, sub(b, x, build_broadcast_scalar(b, s, vectors))); break;
	case 3: put_vector(p, build1(b, OP_TANH, mul(b, x, y))); break;
	case 4: put_number(p, build1(b, OP_SIN, total(p->t, mul(b, x, y)))); break;
	case 5: put_number(p, element(p->t, x, i)); break;
	case 6:
		put_vector(p, build_scatter(b, OP_SCATTER_SET, x, i, build1(b, OP_COS, s), 0, 0));
		break;
	case 7:
		put_vector(p, build_scatter(b, OP_SCATTER_ADD, build1(b, OP_SIN, x), i, s, 0, 0));
		break;
	case 8:
		put_vector(
			p, build1(b, OP_TANH,
		              with_ints(p->t, OP_CUMSUM, x, 2, (int64_t[]){0, (int64_t)pick(p->t, 2)})));
		break;
	case 9:
		put_number(p, build1(b, OP_TANH, build_dot(b, x, y, 1, &axis, &axis, 0, NULL, NULL)));
		break;
	case 10:
		put_vector(p, build_slice(b, x, (Dim[]){dim_sub(p->t->c, p->n, len(p->t, 1))}, &p->n,
		                          (int64_t[]){-1}));
		break;
	case 11: {
		Ref less = build2(b, OP_LT, build_convert(b, build_iota(b, DT_I64, p->n), DT_F64),
		                  build_full(b, vectors, 1.5));
		put_vector(p, build_select(b, less, x, y));
		break;
	}
	case 12: put_number(p, mul(b, s, some_number(p))); break;
	case 13:
		put_vector(p, build2(b, OP_DIV, x, add(b, build_full(b, vectors, 2), mul(b, y, y))));
		break;
	}
}

/* The results of a region: a vector and a scalar. */
static void scoped(Program *p, uint32_t depth, Ref *out) {
	uint32_t nv = p->nvectors, nn = p->nnumbers;
	statements(p, depth);
	out[0] = build1(p->t->b, OP_TANH, add(p->t->b, p->vectors[p->nvectors - 1], some_vector(p)));
	out[1] = build1(p->t->b, OP_SIN, add(p->t->b, p->numbers[p->nnumbers - 1], some_number(p)));
	p->nvectors = nv;
	p->nnumbers = nn;
}

static void compound_statement(Program *p, uint32_t depth) {
	T *t = p->t;
	Builder *b = t->b;
	uint32_t nv = p->nvectors, nn = p->nnumbers;
	TypeId whole = type_scalar(t->c, DT_I64), types[4] = {whole, vec(t, p->n), num(t), whole};
	Ref seed = build2(b, OP_MOD, some_seed(p), build_i64(b, 4)), out[3], r[3], q[4],
		init[3] = {some_vector(p), some_number(p), seed};
	OpenRegion *open;
	switch (pick(t, 5)) {
	case 0: { /* if */
		Ref cond = build2(b, OP_LT, seed, build_i64(b, 2));
		open = build_region_begin(b, 0, NULL, NULL);
		scoped(p, depth - 1, out);
		RegionId yes = build_region_end(b, open, 2, out);
		open = build_region_begin(b, 0, NULL, NULL);
		scoped(p, depth - 1, out);
		RegionId last = build_region_end(b, open, 2, out);
		build_if(b, cond, yes, last, r);
		break;
	}
	case 1: /* for */
		open = build_region_begin(b, 3, types, q);
		put_vector(p, q[1]);
		put_number(p, q[2]);
		put_number(p, mul(b, build_convert(b, q[0], DT_F64), build_f64(b, 0.1)));
		scoped(p, depth - 1, out);
		RegionId last = build_region_end(b, open, 2, out);
		build_for(b, seed, 2, init, last, r);
		break;
	case 2: { /* while: counts down */
		TypeId down[3] = {types[1], types[2], whole};
		open = build_region_begin(b, 3, down, q);
		RegionId cond =
			build_region_end(b, open, 1, (Ref[]){build2(b, OP_LT, build_i64(b, 0), q[2])});
		open = build_region_begin(b, 3, down, q);
		put_vector(p, q[0]);
		put_number(p, q[1]);
		scoped(p, depth - 1, out);
		out[2] = sub(b, q[2], build_i64(b, 1));
		RegionId last = build_region_end(b, open, 3, out);
		build_while(b, 3, init, cond, last, r);
		break;
	}
	case 3: { /* try: an index that may be out of range */
		TypeId dyn = type_dyn(t->c);
		Ref message;
		open = build_region_begin(b, 0, NULL, NULL);
		Ref picked = element(t, some_vector(p), seed);
		put_number(p, picked);
		scoped(p, depth - 1, out);
		out[1] = mul(b, out[1], picked); /* unused operations are not checked */
		RegionId body = build_region_end(b, open, 2, out);
		p->nnumbers = nn;
		open = build_region_begin(b, 1, &dyn, &message);
		scoped(p, depth - 1, out);
		RegionId last = build_region_end(b, open, 2, out);
		build_try(b, body, last, r);
		break;
	}
	default:
		if (!p->callee) return;
		build_call(b, p->callee, 4,
		           (Ref[]){some_vector(p), some_vector(p), some_number(p), p->seeds}, r);
	}
	p->nvectors = nv;
	p->nnumbers = nn;
	put_vector(p, r[0]);
	put_number(p, r[1]);
}

static void statements(Program *p, uint32_t depth) {
	uint32_t n = 1 + pick(p->t, 4);
	for (uint32_t k = 0; k < n && p->budget; k++) {
		p->budget--;
		if (depth && pick(p->t, 3) == 0) compound_statement(p, depth);
		else simple_statement(p);
	}
}

static Fn *random_program(T *t, Fn *callee, uint32_t depth) {
	begin(t, callee ? "program" : "callee");
	Program p = {.t = t, .n = sym(t, "n"), .budget = 40, .callee = callee};
	Dim six = len(t, 6);
	put_vector(&p, param(t, vec(t, p.n), "x"));
	put_vector(&p, param(t, vec(t, p.n), "y"));
	put_number(&p, param(t, num(t), "s"));
	p.seeds = param(t, type_tensor(t->c, DT_I64, 1, &six), "seeds");
	Ref out[2];
	scoped(&p, depth, out);
	return end(t, 2, out);
}

static void test_programs(T *t) {
	static const Bounds wide = {1e-3, 1e-9, 1e-12, 1e-12}; /* the programs may be strongly curved */
	for (uint64_t seed = 1; seed <= 150; seed++) {
		char name[32];
		t->random = seed * 0x9e3779b97f4a7c15u;
		Fn *callee = random_program(t, NULL, 2), *f = random_program(t, callee, 3);
		int64_t seeds[6];
		for (int k = 0; k < 6; k++) seeds[k] = pick(t, 9);
		Value args[4] = {vector(t, 3, -1, 1), vector(t, 3, -1, 1), number(t, -1, 1),
		                 integers(t, 6, seeds)};
		snprintf(name, sizeof name, "program %d", (int)seed);
		t->name = name;
		check_all(t, f, 4, args, seed % 5 ? 1 : 2, &wide);
		diag_clear(t->c); /* of failures that a try has caught */
		fn_unref(callee);
	}
}

int main(int argc, char **argv) {
	static const Named tests[] = {
		{"programs", test_programs},
	};
	return run_tests(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
