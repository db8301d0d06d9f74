/* test_ir.c - unit tests of the IR's verifier, of copying and of inlining.
 *
 * Needs: text_help.h.
 * Guarantees: prints each failure with its line, then "N passed, N failed"; the
 * exit status says whether all passed.
 */
#include "tests/unit/ir/text_help.h"

/* ---- the verifier -------------------------------------------------------- */

/* f64[n], f64[n], i64 -> a loop with a branch inside, so that every kind of
 * structure occurs. */
static const char *const victim = "fn @victim[n](%0: f64[n], %1: f64[n], %2: i64) -> (f64[n]) {\n"
								  "  %3: f64[n] = add %0, %1\n"
								  "  %4: f64[n] = for %2, %3 {\n"
								  "    (%5: i64, %6: f64[n]):\n"
								  "    %7: bool = lt %5, 3\n"
								  "    %8: f64[n] = if %7 {\n      %9: f64[n] = sin %6\n      "
								  "yield %9\n    } {\n      yield %6\n    }\n"
								  "    yield %8\n  }\n"
								  "  %10: f64 = reduce_sum %4 {axes: [0]}\n"
								  "  %11: f64[n] = broadcast %10 {shape: [n], axes: []}\n"
								  "  return %11\n}\n";

static InstId find_op(const Fn *f, Op op) {
	for (uint32_t i = 0; i < f->insts.n; i++)
		if (f->insts.at[i].op == op) return i;
	return NO_INST;
}

static void break_it(Fn *f, int fault) {
	Inst *add = &f->insts.at[find_op(f, OP_ADD)], *sum = &f->insts.at[find_op(f, OP_REDUCE_SUM)];
	Inst *loop = &f->insts.at[find_op(f, OP_FOR)], *branch = &f->insts.at[find_op(f, OP_IF)];
	Inst *sine = &f->insts.at[find_op(f, OP_SIN)];
	Inst *wide = &f->insts.at[find_op(f, OP_BROADCAST)];
	Ctx *c = f->ctx;
	switch (fault) {
	case 0: f->args.at[add->args] = inst_result(sum, 0); break;  /* used before its definition */
	case 1: f->args.at[sum->args] = inst_result(sine, 0); break; /* from an inner region */
	case 2: f->args.at[add->args] = ref_value(100000); break;
	case 3: f->args.at[add->args] = ref_const(100000); break;
	case 4: f->args.at[add->args] = REF_NONE; break;
	case 5: f->vals.at[add->results].type = type_scalar(c, DT_F64); break;
	case 6: f->vals.at[sum->results].def = 0; break;
	case 7: sum->results = add->results; break; /* defined twice */
	case 8: add->nargs = 1; break;
	case 9:
		add->op = OP_MAX;
		f->vals.at[add->results].type = type_with_dtype(c, f->vals.at[add->results].type, DT_BOOL);
		break;
	case 10: add->op = OP_COUNT; break;
	case 11:
		add->op = OP_CONJ;
		add->nargs = 1;
		break;
	case 12: sum->attr = 0; break;
	case 13: sum->attr = attr_intern(c, (int64_t[]){1, 5}, 2); break;
	case 14: sum->attr = attr_intern(c, (int64_t[]){9, 0}, 2); break;
	case 15: add->parent = 1; break;
	case 16:
		f->inst_order.at[f->regions.at[0].insts + 1] = f->inst_order.at[f->regions.at[0].insts];
		break;
	case 17: f->region_ids.at[branch->regions + 1] = f->region_ids.at[branch->regions]; break;
	case 18: f->region_ids.at[branch->regions] = 1000; break;
	case 19: f->region_ids.at[loop->regions] = 0; break;
	case 20: f->regions.at[f->region_ids.at[loop->regions]].owner = 0; break;
	case 21: f->regions.at[f->region_ids.at[loop->regions]].nresults = 0; break;
	case 22: f->regions.at[f->region_ids.at[loop->regions]].nparams = 1; break;
	case 23: f->regions.at[0].ninsts = 100000; break;
	case 24: f->regions.at[0].results = 100000; break;
	case 25: branch->nregions = 1; break;
	case 26: add->nregions = 1; break;
	case 27: f->vals.at[f->regions.at[0].params].type = type_token(c); break;
	case 28: { /* an extent with an unknown symbol */
		Dim d = dim_sym(c, f->syms.n);
		wide->attr = attr_intern(c, (int64_t[]){1, d, 0}, 3);
		f->vals.at[wide->results].type = type_tensor(c, DT_F64, 1, &d);
		break;
	}
	case 29: f->vals.at[branch->results].index = 7; break;
	case 30: f->args.at[branch->args] = f->args.at[add->args]; break;
	case 31: f->inst_order.at[f->regions.at[0].insts] = 100000; break;
	case 32: add->nresults = 100000; break;
	case 33: add->args = UINT32_MAX - 1; break;
	case 34:
		add->op = OP_CALL;
		add->attr = attr_intern(c, (int64_t[]){1000}, 1);
		break;
	case 35: f->regions.n = 0; break;
	}
}
#define NFAULTS 36

static void test_verifier(Ctx *c) {
	for (int fault = 0; fault < NFAULTS; fault++) {
		Fn *f = read_fn(c, victim);
		CHECK(f && fn_verify(f, "test"));
		if (!f) {
			show_diags(c);
			return;
		}
		/* Restores the fields that were broken, so that everything is freed. */
		Fn kept = *f;
		Arena *a = arena_new(c);
#define KEEP(field)                                                                                \
	void *field = arena_alloc(a, f->field.n * sizeof *f->field.at + 1);                            \
	memcpy(field, f->field.at, f->field.n * sizeof *f->field.at)
		KEEP(vals);
		KEEP(insts);
		KEEP(regions);
		KEEP(args);
		KEEP(inst_order);
		KEEP(region_ids);
		break_it(f, fault);
		diag_clear(c);
		bool caught = !fn_verify(f, "seeding");
		if (!caught) printf("  fault %d is not seen\n", fault);
		CHECK(caught);
		CHECK(diag_total(c) == 1 && diag_at(c, 0)->code == E_INTERNAL &&
		      !strncmp(diag_at(c, 0)->message, "after seeding: ", 15));
		Text text; /* printing a broken function is harmless */
		text_init(&text, c);
		fn_print(&text, f);
		text_free(&text);
		*f = kept;
#define BACK(field) memcpy(f->field.at, field, f->field.n * sizeof *f->field.at)
		BACK(vals);
		BACK(insts);
		BACK(regions);
		BACK(args);
		BACK(inst_order);
		BACK(region_ids);
		diag_clear(c);
		CHECK(fn_verify(f, "mending") && diag_total(c) == 0);
		arena_free(a);
		fn_unref(f);
	}
	Fn *f = read_fn(c, victim);
	break_it(f, 0);
	fn_verify(f, "seeding");
	CHECK(strstr(diag_at(c, 0)->message, ": %3: f64[n] = add %10, %1"));
	diag_clear(c);
	fn_unref(f);
}

/* ---- copying and inlining ------------------------------------------------ */

static void test_copy(Ctx *c) {
	for (size_t i = 0; i < NTEXTS; i++)
		for (int same = 0; same < 2; same++) {
			Fn *f = read_fn(c, texts[i]);
			Fn *copy = f ? copy_fn(c, f, same) : NULL;
			CHECK(copy && fn_verify(copy, "copying"));
			CHECK(copy && fn_nresults(copy) == fn_nresults(f) && fn_nparams(copy) == fn_nparams(f));
			/* A copy of the copy is identical: nothing is left to simplify. */
			Fn *again = copy ? copy_fn(c, copy, true) : NULL;
			char *x = copy ? print_fn(copy) : NULL, *y = again ? print_fn(again) : NULL;
			CHECK(x && y && !strcmp(x, y));
			if (!x || !y || strcmp(x, y))
				printf("--- copy\n%s--- its copy\n%s", x ? x : "", y ? y : "");
			free(x);
			free(y);
			fn_unref(again);
			fn_unref(copy);
			fn_unref(f);
			show_diags(c);
		}
}

static void test_spans_survive(Ctx *c) {
	Fn *f =
		read_fn(c, "fn @f(%0: f64) -> (f64) {\n  %1 y: f64 = sin %0 !jvp @1:4:5\n  return %1\n}\n");
	Fn *g = copy_fn(c, f, true);
	char *x = print_fn(g);
	CHECK(strstr(x, "%1 y: f64 = sin %0 !jvp @1:4:5\n"));
	free(x);
	/* Inlining puts the builder's chain before the instruction's. */
	Builder *b = build_begin(c, atom(c, "outer"), 0, NULL);
	Ref p = build_param(b, type_scalar(c, DT_F64), 0), r;
	build_chain(b, chain_push(c, 0, "batch"));
	build_inline(b, f, &p, &r);
	CHECK(!strcmp(chain_text(c, build_get_chain(b)), "batch"));
	Fn *h = build_end(b, 1, &r);
	x = print_fn(h);
	CHECK(strstr(x, "sin %0 !batch !jvp @1:4:5\n"));
	free(x);
	fn_unref(f);
	fn_unref(g);
	fn_unref(h);
}

static void test_inline(Ctx *c) {
	/* Symbols take the arguments' extents. Symbols defined inside are fresh for
	 * each call. */
	Fn *f = read_fn(
		c, "fn @f[n, k](%0: f64[n], %1: bool[n]) -> (f64[n], i64[k]) {\n  %2: f64[n] = neg %0\n"
		   "  %3: i64[k] = nonzero %1 {length: k}\n  return %2, %3\n}\n");
	CHECK(f);
	Builder *b = build_begin(c, atom(c, "g"), 0, NULL);
	Dim four = dim_const(c, 4), m = build_fresh_dim(b, atom(c, "m"), 0);
	Ref x4 = build_param(b, type_tensor(c, DT_F64, 1, &four), 0);
	Ref c4 = build_param(b, type_tensor(c, DT_BOOL, 1, &four), 0);
	Ref xm = build_param(b, type_tensor(c, DT_F64, 1, &m), 0),
		cm = build_param(b, type_tensor(c, DT_BOOL, 1, &m), 0);
	Ref r1[2], r2[2];
	build_inline(b, f, (Ref[]){x4, c4}, r1);
	build_inline(b, f, (Ref[]){xm, cm}, r2);
	const Fn *g0 = build_fn(b);
	CHECK(ref_ty(g0, r1[0])->dims[0] == four && ref_ty(g0, r2[0])->dims[0] == m);
	CHECK(ref_ty(g0, r1[1])->dims[0] != ref_ty(g0, r2[1])->dims[0]);
	SymId s;
	CHECK(dim_is_sym(c, ref_ty(g0, r1[1])->dims[0], &s));
	Fn *g = build_end(b, 4, (Ref[]){r1[0], r1[1], r2[0], r2[1]});
	CHECK(fn_verify(g, "inlining"));
	fn_unref(g);
	fn_unref(f);

	/* Equal extents are guarded, and a loop is copied with its regions. */
	f = read_fn(c, victim);
	b = build_begin(c, atom(c, "g"), 0, NULL);
	Dim p = build_fresh_dim(b, atom(c, "p"), 0), q = build_fresh_dim(b, atom(c, "q"), 0);
	Ref xp = build_param(b, type_tensor(c, DT_F64, 1, &p), 0),
		xq = build_param(b, type_tensor(c, DT_F64, 1, &q), 0);
	Ref n = build_param(b, type_scalar(c, DT_I64), 0), r;
	build_inline(b, f, (Ref[]){xp, xq, n}, &r);
	g = build_end(b, 1, &r);
	CHECK(find_op(g, OP_GUARD) != NO_INST && find_op(g, OP_FOR) != NO_INST &&
	      find_op(g, OP_IF) != NO_INST);
	CHECK(fn_verify(g, "inlining"));
	char *out = print_fn(g);
	Fn *again = read_fn(c, out);
	CHECK(again);
	char *out2 = again ? print_fn(again) : NULL;
	CHECK(out2 && !strcmp(out, out2));
	free(out);
	free(out2);
	fn_unref(again);

	uint32_t *uses = calloc(g->vals.n + 1, sizeof *uses);
	fn_count_uses(g, uses);
	uint32_t total = 0;
	for (uint32_t i = 0; i < g->vals.n; i++) total += uses[i];
	CHECK(uses[REF_INDEX(fn_param(g, 0))] == 1 && uses[REF_INDEX(fn_result(g, 0))] == 1 &&
	      total > 8);
	free(uses);
	fn_unref(g);
	fn_unref(f);
	show_diags(c);
}

static void all_tests(Ctx *c, void *arg) {
	(void)arg;
	test_verifier(c);
	test_copy(c);
	test_spans_survive(c);
	test_inline(c);
}

int main(void) { return run_tests(all_tests); }
