/* test_api_memory.c - unit tests of the public interface: lifetimes and
 * allocation failure.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/api/help.h"
#include <sys/mman.h>

static void test_life(T *t) {
	CHECK(atled_version() == ATLED_VERSION);
	atled_engine_config config = {.size = sizeof config, .threads = 2};
	atled_engine *e = atled_engine_new(&config);
	atled_context *a = atled_context_new(e), *b = atled_context_new(e);
	atled_engine_free(e); /* the contexts keep it alive */
	CHECK(a && b);
	CHECK(atled_compile(a, "x = 1", ATLED_ZERO, "a") == ATLED_OK);
	CHECK(atled_compile(b, "x = 2", ATLED_ZERO, "b") == ATLED_OK);
	atled_value *v = NULL, *w = NULL;
	int64_t i = 0;
	CHECK(atled_get(a, "x", &v) == ATLED_OK && atled_value_i64(v, &i) && i == 1);
	CHECK(atled_get(a, "nowhere", &w) == ATLED_ERROR && !w);
	atled_tensor *s = atled_value_tensor(v);
	atled_function *f = NULL;
	CHECK(atled_compile(a, "f(x) = x + 1", ATLED_ZERO, "a") == ATLED_OK &&
	      atled_lookup(a, "f", "(f64) -> f64", &f) == ATLED_OK);
	atled_context_free(a);
	CHECK(atled_value_kind(v) == ATLED_NONE); /* handles outlive their context */
	CHECK(!strcmp(atled_function_type(f), "(f64) -> f64"));
	atled_tensor *out = NULL;
	CHECK(atled_call(b, f, 1, &s, 1, &out) == ATLED_MISUSE && !out);
	atled_array view = {.size = sizeof view};
	CHECK(atled_tensor_view(s, &view) == ATLED_OK && view.count == 1 && *(int64_t *)view.data == 1);
	atled_tensor_free(s);
	atled_value_free(v);
	atled_function_free(f);
	atled_context_free(b);
	atled_context_free(NULL);
	atled_engine_free(NULL);
	atled_value_free(NULL);
	atled_function_free(NULL);
	atled_tensor_free(NULL);
	CHECK(atled_compile(NULL, "", 0, NULL) == ATLED_MISUSE &&
	      atled_compile(t->x, NULL, 0, NULL) == ATLED_MISUSE);
}

/* ---- a page that nobody may read behind each large block ----------------- */

enum { PAGE = 4096, GUARDED_LEAST = 16 * PAGE };

static size_t in_pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }
static size_t in_numbers(size_t bytes) { return (bytes + 15) / 16 * 16; }

static void *guarded_resize(void *ud, void *p, size_t before, size_t bytes) {
	(void)ud;
	char *fresh = NULL;
	if (bytes >= GUARDED_LEAST) {
		fresh = mmap(NULL, in_pages(bytes) + PAGE, PROT_READ | PROT_WRITE,
		             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (fresh == MAP_FAILED || mprotect(fresh + in_pages(bytes), PAGE, PROT_NONE)) return NULL;
		fresh += in_pages(bytes) - in_numbers(bytes);
	} else if (bytes && !(fresh = malloc(bytes))) return NULL;
	if (p && fresh) memcpy(fresh, p, before < bytes ? before : bytes);
	if (!p || before < GUARDED_LEAST) free(p);
	else munmap((char *)p + in_numbers(before) - in_pages(before), in_pages(before) + PAGE);
	return fresh;
}

/* OpenBLAS reads behind some complex vectors. Rows of 126 and 130 elements take
 * the code that does. */
static void test_reads_behind(T *t) {
	static const char program[] =
		"f(n) = {\n  A = rand(n, n) + 1im * rand(n, n)\n  H = A + A'\n  (w, V) = eigh(H)\n"
		"  (u, W) = eig(A)\n  (U, S, Z) = svd(A)\n  x = linsolve(A, A[0, ..])\n"
		"  (Q, R) = qr(A)\n  y = A @ x\n  z = sum(conj(y) * x)\n"
		"  max(abs(H @ V - V * expand(w, 0))) + max(abs(A @ W - W * expand(u, 0))) +\n"
		"    max(abs((U * expand(S, 0)) @ Z' - A)) + max(abs(y - A[0, ..])) + max(abs(Q @ R - A)) "
		"+\n"
		"    0 * abs(z)\n}\n"
		"max([f(126), f(129), f(130), f(134)])";
	(void)t;
	atled_engine_config config = {.size = sizeof config, .resize = guarded_resize};
	atled_engine *e = atled_engine_new(&config);
	atled_context *x = atled_context_new(e);
	atled_value *v = NULL;
	double error = 1;
	CHECK(x && atled_eval(x, program, ATLED_ZERO, "p", &v) == ATLED_OK);
	CHECK(atled_value_f64(v, &error) && error < 1e-9);
	atled_value_free(v);
	atled_context_free(x);
	atled_engine_free(e);
}

/* ---- allocation failure -------------------------------------------------- */

static const char *const programs[] = {
	"x = [1.0, 2.0]\ny = x * 2 + 1\nsum(y)",
	"f(x) = x^2 * sin(x)\nf'(1.0)",
	"g(v) = sum(v^2)\ngrad(g)([1.0, 2.0, 3.0])",
	"r = (a = 1, b = [1.0, 2.0], c = \"text\")\n\"{r.a} {r.c}\"",
	"[1, 2] + [1, 2, 3]",
	"s = 0.0\nfor i in 0..5 { s = s + i }\ns",
	"h(x",
	"sq([1.0, 2.0], 3.0)",
	("n(x) = { for i in 0..3 { x = sqrt(x - 1) / 0 }\nx }\nnan_check(grad(x -> sum(n(x))), [1.0, "
     "3.0]).message"),
	"k(x) = x^2\nderivative k(x) = 2x\nk'(2.0) + sum(sq([1.0], 2.0))",
};

/* Uses the interface once, and frees everything however far it got. */
static atled_status use(atled_context *x, int which) {
	atled_value *v = NULL;
	if (which == 9) atled_check_rules(x, ATLED_RULES_FAIL);
	atled_status st = atled_eval(x, programs[which], ATLED_ZERO, "p", &v);
	if (st == ATLED_OK && which == 1) {
		atled_function *f = NULL, *g = NULL;
		atled_tensor *in = NULL, *out = NULL;
		st = atled_lookup(x, "f", "(f64) -> f64", &f);
		if (st == ATLED_OK) st = atled_derive(x, f, "grad", &g);
		if (st == ATLED_OK) st = atled_tensor_new(x, ATLED_F64, 0, NULL, &in);
		if (st == ATLED_OK) st = atled_call(x, g, 1, &in, 1, &out);
		atled_tensor_free(in);
		atled_tensor_free(out);
		atled_function_free(f);
		atled_function_free(g);
	}
	atled_value_free(v);
	return st;
}

static void test_failing_memory(T *t) {
	(void)t;
	int calls = 0;
	for (int forever = 0; forever < 2; forever++) {
		for (int which = 0; which < (int)(sizeof programs / sizeof *programs); which++) {
			unsigned n, bad = 0, unusable = 0, refused = 0;
			atled_status clean = ATLED_OK;
			for (n = 1; n < 20000; n += n < 400 ? 1 : n / 97) {
				atled_context *x = atled_context_new(NULL);
				T own = {.x = x};
				if (!x || define_square(&own, "sq", true, true, &calls) != ATLED_OK ||
				    atled_compile(x, "kept = 42", ATLED_ZERO, NULL) != ATLED_OK)
					break;
				atled_fail_allocation(x, n, forever);
				atled_status st = use(x, which);
				atled_stat stat = {.size = sizeof stat};
				atled_fail_allocation(x, 0, 0);
				atled_stats(x, &stat);
				if (st == ATLED_NOMEM) refused++;
				else if (st != ATLED_OK && st != ATLED_ERROR) bad++;
				atled_value *v = NULL;
				int64_t i = 0;
				if (atled_eval(x, "kept", ATLED_ZERO, NULL, &v) != ATLED_OK ||
				    !atled_value_i64(v, &i) || i != 42)
					unusable++;
				atled_value_free(v);
				st = use(x, which);
				clean = which == 4 || which == 6 ? ATLED_ERROR : ATLED_OK;
				if (st != clean) unusable++;
				atled_context_free(x);
				if (n > 3000) break;
			}
			CHECK(bad == 0 && unusable == 0 && refused > 0);
			if (bad || unusable || !refused)
				printf("  program %d, forever %d: %u strange, %u unusable, %u refused of %u\n",
				       which, forever, bad, unusable, refused, n);
		}
	}
	/* Creation of a context. */
	CHECK(calls > 0);
}

typedef struct Miser {
	long left, balance;
} Miser;

static void *miser_resize(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
	Miser *m = ud;
	if (!new_bytes) {
		m->balance -= (long)old_bytes;
		free(p);
		return NULL;
	}
	if (m->left == 0) return NULL;
	if (m->left > 0) m->left--;
	void *q = realloc(p, new_bytes);
	if (q) m->balance += (long)new_bytes - (p ? (long)old_bytes : 0);
	return q;
}

static void test_allocator(T *t) {
	(void)t;
	unsigned made = 0, lost = 0;
	for (long n = 0; n < 100000; n = n < 200 ? n + 1 : n + n / 10) {
		Miser m = {.left = n};
		atled_engine_config config = {.size = sizeof config, .resize = miser_resize, .ud = &m};
		atled_engine *e = atled_engine_new(&config);
		atled_context *x = e ? atled_context_new(e) : NULL;
		if (x) {
			made++;
			m.left = -1;
			if (atled_compile(x, "f(x) = x * 2\nf([1.0, 2.0])\nmissing", ATLED_ZERO, NULL) !=
			    ATLED_ERROR)
				lost++;
		}
		atled_context_free(x);
		atled_engine_free(e);
		if (m.balance) lost++;
		if (made > 3) break;
	}
	CHECK(made > 0 && lost == 0);
}

/* Calls that own a value when an allocation fails. */
static void test_nothing_left(T *t) {
	(void)t;
	unsigned lost = 0;
	for (unsigned n = 2; n < 1200; n++) {
		Miser m = {.left = -1};
		atled_engine_config config = {.size = sizeof config, .resize = miser_resize, .ud = &m};
		atled_engine *e = atled_engine_new(&config);
		atled_context *x = atled_context_new(e);
		atled_value *v = NULL;
		Said said = {.n = 0};
		atled_fail_allocation(x, n / 2, 0);
		if (n % 2) atled_type(x, "[1.0, 2] * 3", ATLED_ZERO, hear, &said);
		else atled_eval(x, "x -> x + 1\n\"text\"\nlist(1, \"a\")", ATLED_ZERO, NULL, &v);
		atled_value_free(v);
		atled_context_free(x);
		atled_engine_free(e);
		lost += m.balance != 0;
	}
	CHECK(lost == 0);
}

int main(void) {
	T t = {.x = atled_context_new(NULL)};
	if (!t.x) return 1;
	static const TestCase tests[] = {
		{"life", test_life},
		{"failing memory", test_failing_memory},
		{"allocator", test_allocator},
		{"nothing left", test_nothing_left},
		{"reads behind arrays", test_reads_behind},
	};
	run_tests(&t, sizeof tests / sizeof *tests, tests);
	atled_context_free(t.x);
	return check_end();
}
