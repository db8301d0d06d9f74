/* random.c - builtins of random numbers.
 *
 * Needs: table.h.
 *
 * Contract: as arrays.c. A function that draws takes the state of the generator
 * and returns the next one, so that its calls are in order (sp_effects).
 */
#include "parser/builtins/table.h"

static Ref random_uniform(Sp *sp, uint32_t rank, const Dim *dims, Span at) {
	Ref rng, io, results[2];
	sp_effects(sp, &rng, &io, at);
	int64_t words[MAX_RANK + 1] = {rank};
	for (uint32_t i = 0; i < rank; i++) words[1 + i] = dims[i];
	build(sp->b, OP_RANDOM, 1, &rng, attr_intern(sp->c, words, rank + 1), results);
	sp_set_effects(sp, results[1], REF_NONE);
	/* The upper 53 bits as an integer in [-2^52, 2^52), moved to [0, 1). */
	TypeId ti = ref_type(build_fn(sp->b), results[0]);
	Ref k = build2(sp->b, OP_FLOORDIV, results[0], build_full(sp->b, ti, 2048));
	Ref x = build_convert(sp->b, k, DT_F64);
	TypeId tf = ref_type(build_fn(sp->b), x);
	x = build2(sp->b, OP_ADD, x, build_full(sp->b, tf, 4503599627370496.0));
	return build2(sp->b, OP_MUL, x, build_full(sp->b, tf, 0x1p-53));
}

BUILTIN(random) {
	UNUSED;
	uint32_t rank = 0;
	Dim dims[MAX_RANK];
	builtin_dims(sp, call, 0, &rank, dims);
	Ref u = random_uniform(sp, rank, dims, call->span);
	if (!strcmp(self->name, "rand")) return av_array(sp, u);
	/* Box and Muller 1958: sqrt(-2 log(1 - u)) cos(2 pi v). */
	Ref v = random_uniform(sp, rank, dims, call->span);
	TypeId t = ref_type(build_fn(sp->b), u);
	Ref r = build1(sp->b, OP_SQRT,
	               build2(sp->b, OP_MUL, build_full(sp->b, t, -2),
	                      build1(sp->b, OP_LOG1P, build1(sp->b, OP_NEG, u))));
	return av_array(
		sp, build2(sp->b, OP_MUL, r,
	               build1(sp->b, OP_COS,
	                      build2(sp->b, OP_MUL, build_full(sp->b, t, 6.283185307179586), v))));
}

BUILTIN(seed) {
	UNUSED;
	Ref n = sp_scalar(sp, call->args[0], DT_I64, call->spans[0], "a seed");
	Ref rng, io;
	sp_effects(sp, &rng, &io, call->span);
	Dim one = dim_const(sp->c, 1);
	Ref parts[2] = {build_reshape(sp->b, n, 1, &one),
	                build_reshape(sp->b, build_i64(sp->b, 0), 1, &one)};
	sp_set_effects(sp, build_concat(sp->b, 2, parts, 0), REF_NONE);
	return av_none(sp);
}

/* ---- the table ----------------------------------------------------------- */

const Builtin builtins_random[] = {
	{.name = "rand",
     .min_args = 0,
     .max_args = -1,
     .run = random,
     .doc = "rand(n, m, ...): uniform in [0, 1)"},
	{.name = "randn",
     .min_args = 0,
     .max_args = -1,
     .run = random,
     .doc = "randn(n, m, ...): standard normal"},
	{.name = "seed",
     .min_args = 1,
     .max_args = 1,
     .run = seed,
     .doc = "seed(n): starts the random numbers anew"},
	{.name = NULL},
};
