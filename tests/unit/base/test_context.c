/* test_context.c - unit tests of contexts, arenas, diagnostics, dims and types.
 *
 * Oracle: values worked out by hand, or by a slower independent method in this
 * file.
 *
 * Needs: the lang/ objects context, arena, diag and type only.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 */
#include "tests/unit/base/help.h"
#include "lang/base/clock.h"
#include "lang/base/page_pool.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static Status protect(Ctx *c, void (*body)(Ctx *c, void *arg)) {
	return ctx_protect(c, body, NULL);
}

/* ---- context ------------------------------------------------------------- */

static void test_heap(void) {
	Counting k = {.fail_after = -1};
	HostAllocator host = {.resize = counting_resize, .ud = &k};
	Ctx *c = ctx_new(&host);
	size_t before = heap_used(c);
	CHECK(before > 0);
	char *p = heap_alloc(c, 100);
	CHECK(p && heap_used(c) == before + 100);
	memset(p, 7, 100);
	p = heap_resize(c, p, 100, 300);
	CHECK(p && p[99] == 7 && heap_used(c) == before + 300 && heap_peak(c) >= before + 300);
	p = heap_resize(c, p, 300, 50);
	CHECK(p && heap_used(c) == before + 50);
	heap_set_limit(c, before + 60);
	CHECK(!heap_alloc(c, 11));
	CHECK(!heap_resize(c, p, 50, 61));
	CHECK(!heap_alloc(c, SIZE_MAX));
	CHECK(p[49] == 7 && heap_used(c) == before + 50);
	char *q = heap_alloc(c, 10);
	CHECK(q != NULL);
	heap_free(c, q, 10);
	heap_set_limit(c, 0);
	heap_free(c, p, 50);
	heap_free(c, NULL, 10);
	void *none = heap_alloc(c, 0);
	CHECK(none != NULL);
	none = heap_resize(c, none, 0, 20);
	heap_free(c, none, 20);
	CHECK(heap_used(c) == before);

	uint64_t count = heap_allocation_count(c);
	heap_fail_at(c, 2, false);
	p = heap_alloc(c, 1);
	CHECK(p && !heap_alloc(c, 1));
	q = heap_alloc(c, 1);
	CHECK(q && heap_allocation_count(c) == count + 3);
	heap_fail_at(c, 1, true);
	CHECK(!heap_alloc(c, 1) && !heap_alloc(c, 1));
	heap_fail_at(c, 0, false);
	heap_free(c, p, 1);
	heap_free(c, q, 1);
	ctx_free(c);
	CHECK(k.blocks == 0 && k.bytes == 0 && !k.wrong);
	ctx_free(NULL);
}

static void test_ctx_new_failures(void) {
	int failures = 0;
	for (long n = 0;; n++) {
		Counting k = {.fail_after = n};
		HostAllocator host = {.resize = counting_resize, .ud = &k};
		Ctx *c = ctx_new(&host);
		bool made = c != NULL;
		ctx_free(c);
		CHECK(k.blocks == 0 && !k.wrong);
		if (made) break;
		failures++;
	}
	CHECK(failures >= 3);
}

/* Freed small blocks serve the next request of their size and do not count as
 * used. The context releases them when its limit is reached and when it is
 * freed. */
static void test_spare_blocks(void) {
	Counting k = {.fail_after = -1};
	HostAllocator host = {.resize = counting_resize, .ud = &k};
	Ctx *c = ctx_new(&host);
	enum { BYTES = 368, MANY = 1000 };
	const size_t before = heap_used(c);
	const uint64_t made = heap_allocation_count(c);
	void *kept[MANY];
	for (int i = 0; i < MANY; i++) kept[i] = heap_alloc(c, BYTES);
	for (int i = 0; i < MANY; i++) heap_free(c, kept[i], BYTES);
	CHECK(heap_used(c) == before && heap_allocation_count(c) == made + MANY);
	const long blocks = (long)k.blocks;
	for (int i = 0; i < 10; i++) {
		char *p = heap_alloc(c, BYTES);
		CHECK(p && heap_used(c) == before + BYTES && (long)k.blocks <= blocks + 1);
		memset(p, 1, BYTES);
		heap_free(c, p, BYTES);
	}
	CHECK(heap_allocation_count(c) == made + MANY + 10 && heap_used(c) == before);
	heap_set_limit(c, before + 5000); /* smaller than the spare blocks together */
	char *all = heap_alloc(c, 5000);
	CHECK(all && !heap_alloc(c, BYTES));
	heap_free(c, all, 5000);
	heap_set_limit(c, 0);
	void *last = heap_alloc(c, BYTES);
	heap_fail_at(c, 1, false);
	CHECK(!heap_alloc(c, BYTES));
	heap_fail_at(c, 0, false);
	HeapAccount *account = heap_account(c);
	ctx_free(c);
	account_free(account, last, BYTES); /* blocks that outlive the context */
	CHECK(k.blocks == 0 && !k.wrong);
}

static void throw_limit(Ctx *c, void *arg) {
	(void)arg;
	ctx_throw(c, ST_LIMIT);
}
static void throw_ok(Ctx *c, void *arg) {
	(void)arg;
	ctx_throw(c, ST_OK);
}
static void nested(Ctx *c, void *arg) {
	int *steps = arg;
	*steps += 1;
	if (ctx_protect(c, throw_limit, NULL) == ST_LIMIT) *steps += 10;
	ctx_throw(c, ST_ERROR);
}
static void quiet(Ctx *c, void *arg) {
	(void)c;
	*(int *)arg = 5;
}

/* A throw outside every protected region ends the process like a failed
 * assertion. The test forks a child for it. */
static void test_throw_unprotected(void) {
	pid_t child = fork();
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		signal(SIGABRT, SIG_DFL);
		ctx_throw(ctx_new(NULL), ST_ERROR);
	}
	int status;
	CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
	      WTERMSIG(status) == SIGABRT);
}

static void test_protect(void) {
	Ctx *c = ctx_new(NULL);
	int steps = 0;
	CHECK(ctx_protect(c, nested, &steps) == ST_ERROR && steps == 11);
	CHECK(ctx_protect(c, quiet, &steps) == ST_OK && steps == 5);
	CHECK(protect(c, throw_ok) == ST_INTERNAL);
	ctx_free(c);
}

static void test_atoms(void) {
	Ctx *c = ctx_new(NULL);
	CHECK(atom(c, "") == 0 && !strcmp(atom_text(c, 0), ""));
	Atom a = atom(c, "νu"), b = atom_n(c, "νu_x", 3);
	CHECK(a && a == b && atom_length(c, a) == 3);
	CHECK(atom_f(c, "x%d", 12) == atom(c, "x12"));
	CHECK(atom_n(c, "a\0b", 3) != atom(c, "a"));
	char large[1000];
	memset(large, 'q', 999);
	large[999] = 0;
	Atom long_atom = atom_f(c, "%s!", large);
	CHECK(atom_length(c, long_atom) == 1000 && atom_text(c, long_atom)[999] == '!');
	Atom first = atom_f(c, "name%d", 0);
	const char *kept = atom_text(c, first);
	for (int i = 0; i < 5000; i++) CHECK(atom_f(c, "name%d", i) == first + (Atom)i);
	for (int i = 0; i < 5000; i += 97) CHECK(atom_f(c, "name%d", i) == first + (Atom)i);
	CHECK(atom_text(c, first) == kept && !strcmp(kept, "name0"));
	CHECK(!strcmp(atom_text(c, 1u << 30), "") && atom_length(c, 1u << 30) == 0);
	ctx_free(c);
}

static void make_many_atoms(Ctx *c, void *arg) {
	(void)arg;
	for (int i = 0; i < 3000; i++) atom_f(c, "atom number %d", i);
}

static void test_atom_failures(void) {
	for (uint64_t n = 1;; n++) {
		Ctx *c = ctx_new(NULL);
		heap_fail_at(c, n, true);
		Status s = protect(c, make_many_atoms);
		heap_fail_at(c, 0, false);
		CHECK(s == ST_OK || s == ST_NOMEM);
		Atom a = atom(c, "atom number 5"); /* the atom table survived */
		CHECK(a == atom(c, "atom number 5") && !strcmp(atom_text(c, a), "atom number 5"));
		CHECK(protect(c, make_many_atoms) == ST_OK);
		ctx_free(c);
		if (s == ST_OK) break;
#ifdef ATLED_STRESS
		n += n / 8; /* one allocation for each atom */
#endif
	}
}

static void test_polls(void) {
	Ctx *c = ctx_new(NULL);
	CHECK(ctx_poll(c, 5) == ST_OK && ctx_steps(c) == 5);
	ctx_interrupt(c);
	CHECK(ctx_poll(c, 1) == ST_INTERRUPTED && ctx_poll(c, 1) == ST_INTERRUPTED);
	CHECK(diag_total(c) == 1 && diag_at(c, 0)->code == E_INTERRUPT);
	ctx_clear_interrupt(c);
	CHECK(ctx_poll(c, 1) == ST_OK);
	ctx_interrupt_at_poll(c, 3);
	CHECK(ctx_poll(c, 1) == ST_OK && ctx_poll(c, 1) == ST_OK && ctx_poll(c, 1) == ST_INTERRUPTED);
	ctx_clear_interrupt(c);
	diag_clear(c);
	ctx_set_step_limit(c, 10);
	CHECK(ctx_poll(c, 10) == ST_OK && ctx_poll(c, 1) == ST_LIMIT);
	CHECK(diag_total(c) == 1 && diag_at(c, 0)->code == E_BUDGET);
	ctx_set_step_limit(c, UINT64_MAX);
	CHECK(ctx_poll(c, 1u << 30) == ST_OK);
	ctx_set_step_limit(c, 0);
	CHECK(ctx_poll(c, UINT64_MAX) == ST_OK && ctx_steps(c) == UINT64_MAX);
	ctx_set_time_limit(c, 1e12);
	CHECK(ctx_poll(c, 1) == ST_OK);
	diag_clear(c);
	ctx_set_time_limit(c, 0.01);
	uint64_t polls = 0;
	while (ctx_poll(c, 1) == ST_OK && polls < 1000000000) polls++;
	CHECK(polls > 0 && diag_total(c) == 1 && strstr(diag_at(c, 0)->message, "0.01 s"));
	CHECK(ctx_poll(c, 1) == ST_LIMIT);
	diag_clear(c);
	/* a long step after many short ones */
	ctx_set_time_limit(c, 0.2);
	for (int i = 0; i < 5000; i++) ctx_poll(c, 1);
	const double start = clock_seconds();
	while (clock_seconds() < start + 0.25) continue;
	CHECK(ctx_poll(c, 1) == ST_LIMIT && diag_total(c) == 1);
	ctx_set_time_limit(c, 0);
	CHECK(ctx_poll(c, 1) == ST_OK);
	CHECK(ctx_depth_limit(c) == 2000);
	ctx_set_depth_limit(c, 7);
	CHECK(ctx_depth_limit(c) == 7);
	ctx_free(c);
}

typedef struct Sink {
	char at[8192];
	size_t n;
} Sink;
static void sink(void *ud, const char *text, size_t n) {
	Sink *s = ud;
	if (s->n + n >= sizeof s->at) n = sizeof s->at - 1 - s->n;
	memcpy(s->at + s->n, text, n);
	s->n += n;
	s->at[s->n] = 0;
}

static int freed_order[3], freed;
static void note_free(Ctx *c, void *state) {
	(void)c;
	freed_order[freed++] = *(int *)state;
}

static void test_grants_output_slots(void) {
	Ctx *c = ctx_new(NULL);
	CHECK(!ctx_granted(c, GRANT_FILES));
	ctx_grant(c, GRANT_FILES | GRANT_CLOCK);
	CHECK(ctx_granted(c, GRANT_FILES) && !ctx_granted(c, GRANT_OUTPUT) &&
	      !ctx_granted(c, GRANT_ALL));
	ctx_grant(c, GRANT_CLOCK | GRANT_OUTPUT);
	CHECK(!ctx_granted(c, GRANT_FILES) && ctx_granted(c, GRANT_CLOCK) &&
	      !ctx_granted(c, GRANT_OUTPUT));
	ctx_write(c, "dropped", 7);
	Sink s = {.n = 0};
	ctx_set_output(c, sink, &s);
	ctx_write(c, "kept", 4);
	CHECK_TEXT(s.at, "kept");
	static int one = 1, two = 2, three = 3;
	freed = 0;
	ctx_set_slot(c, SLOT_IR, &one, note_free);
	ctx_set_slot(c, SLOT_API, &two, note_free);
	ctx_set_slot(c, SLOT_IR, &three, note_free);
	CHECK(freed == 1 && freed_order[0] == 1 && ctx_slot(c, SLOT_IR) == &three &&
	      !ctx_slot(c, SLOT_PARSER));
	ctx_free(c);
	CHECK(freed == 3 && freed_order[1] == 2 && freed_order[2] == 3);
}

/* ---- arena --------------------------------------------------------------- */

static void huge_in_arena(Ctx *c, void *arg) {
	(void)c;
	arena_alloc(arg, SIZE_MAX - 8);
}

static void many_in_arena(Ctx *c, void *arg) {
	(void)c;
	for (int i = 0; i < 200; i++) memset(arena_alloc(arg, 1000), i, 1000);
}

/* Filling an arena answers an interrupt; the context's own does not, since
 * diagnostics are in it. */
static void test_arena_polls(void) {
	Ctx *c = ctx_new(NULL);
	Arena *a = arena_new(c);
	CHECK(ctx_protect(c, many_in_arena, a) == ST_OK && !ctx_stops(c));
	ctx_interrupt(c);
	CHECK(ctx_stops(c) && ctx_protect(c, many_in_arena, a) == ST_INTERRUPTED);
	CHECK(ctx_protect(c, many_in_arena, ctx_arena(c)) == ST_OK);
	CHECK(diag_total(c) == 1 && diag_at(c, 0)->code == E_INTERRUPT);
	many_in_arena(c, a); /* nothing can be thrown here */
	ctx_clear_interrupt(c);
	CHECK(ctx_protect(c, many_in_arena, a) == ST_OK && !ctx_stops(c));
	arena_free(a);
	ctx_free(c);
}

static void test_arena(void) {
	Counting k = {.fail_after = -1};
	HostAllocator host = {.resize = counting_resize, .ud = &k};
	Ctx *c = ctx_new(&host);
	size_t before = heap_used(c);
	Arena *a = arena_new(c), *b = arena_new(c), *lost = arena_new(c);
	char *kept[300];
	for (int i = 0; i < 300; i++) {
		kept[i] = arena_alloc(a, (size_t)i * 7);
		CHECK(((uintptr_t)kept[i] & 15) == 0);
		memset(kept[i], i & 0x7f, (size_t)i * 7);
	}
	bool intact = true;
	for (int i = 1; i < 300; i++)
		intact &= kept[i][0] == (i & 0x7f) && kept[i][i * 7 - 1] == (i & 0x7f);
	CHECK(intact);
	char *large = arena_zalloc(a, 3 << 20);
	CHECK(large[0] == 0 && large[(3 << 20) - 1] == 0);
	CHECK(arena_alloc(a, 0) != arena_alloc(a, 0));
	CHECK_TEXT(arena_copy(b, "hello world", 5), "hello");
	CHECK_TEXT(arena_copy(b, NULL, 0), "");
	CHECK_TEXT(arena_printf(b, "%s-%d", "x", 3), "x-3");
	CHECK(arena_bytes(a) > (3u << 20) && heap_used(c) >= before + arena_bytes(a) + arena_bytes(b));
	VEC(int) v = {0};
	for (int i = 0; i < 1000; i++) VEC_PUSH(b, &v, i * i);
	CHECK(v.n == 1000 && v.at[999] == 999 * 999 && v.at[0] == 0);
	CHECK(ctx_protect(c, huge_in_arena, a) == ST_NOMEM);
	for (uint64_t n = 1;; n++) {
		heap_fail_at(c, n, false);
		Status s = ctx_protect(c, many_in_arena, b);
		heap_fail_at(c, 0, false);
		memset(arena_alloc(b, 64), 1, 64);
		if (s == ST_OK) break;
		CHECK(s == ST_NOMEM);
	}
	arena_free(b);
	arena_free(a);
	arena_free(NULL);
	(void)lost; /* ctx_free releases it */
	ctx_free(c);
	CHECK(k.blocks == 0 && !k.wrong);
}

/* ---- diagnostics --------------------------------------------------------- */

static const char *render(Ctx *c, const Diag *d, Sink *s) {
	s->n = 0;
	diag_render(c, d, false, sink, s);
	return s->at;
}

static Span span_at(Ctx *c, SourceId id, const char *what) {
	size_t n;
	const char *text = source_text(c, id, &n), *p = strstr(text, what);
	return span_made(id, (uint32_t)(p - text), (uint32_t)(p - text + (long)strlen(what)));
}

static void fill(Arena *a, unsigned char with, size_t n, unsigned char **at) {
	for (size_t i = 0; i < n; i++) {
		at[i] = arena_alloc(a, 1 + i * 37 % 5000);
		memset(at[i], with, 1 + i * 37 % 5000);
	}
}

static void test_arena_release(void) {
	Ctx *c = ctx_new(NULL);
	Arena *a = arena_new(c);
	enum { N = 60 };
	unsigned char *kept[N], *lost[4 * N];
	fill(a, 1, N, kept);
	const ArenaMark m = arena_mark(a);
	const size_t bytes = arena_bytes(a);
	for (int round = 0; round < 5; round++) {
		fill(a, 2, (size_t)(round + 1) % 4 * N, lost);
		arena_release(a, m);
		CHECK(arena_bytes(a) == bytes);
		bool whole = true;
		for (size_t i = 0; i < N; i++)
			for (size_t k = 0; k < 1 + i * 37 % 5000; k++) whole &= kept[i][k] == 1;
		CHECK(whole);
	}
	arena_free(a);
	a = arena_new(c); /* a mark of an empty arena */
	const ArenaMark none = arena_mark(a);
	fill(a, 3, N, lost);
	arena_release(a, none);
	fill(a, 4, 1, lost);
	CHECK(lost[0][0] == 4);
	arena_free(a);
	ctx_free(c);
}

static void test_sources(void) {
	Ctx *c = ctx_new(NULL);
	const char text[] = "a = 1\nβγ = 2\r\n\nlast";
	SourceId s = source_add(c, "f.dsl", text, sizeof text - 1);
	size_t n;
	CHECK(s == 1 && !strcmp(source_name(c, s), "f.dsl") && !strcmp(source_text(c, s, &n), text) &&
	      n == sizeof text - 1);
	uint32_t line, column;
	source_position(c, span_made(s, 0, 1), &line, &column);
	CHECK(line == 1 && column == 1);
	source_position(c, span_at(c, s, "= 2"), &line, &column);
	CHECK(line == 2 && column == 4);
	source_position(c, span_at(c, s, "st"), &line, &column);
	CHECK(line == 4 && column == 3);
	source_position(c, span_made(s, 10000, 10001), &line, &column);
	CHECK(line == 4 && column == 5);
	source_position(c, NO_SPAN, &line, &column);
	CHECK(line == 0 && column == 0);
	SourceId empty = source_add(c, "empty", NULL, 0);
	source_position(c, span_made(empty, 0, 0), &line, NULL);
	CHECK(line == 1 && empty == 2);
	CHECK(!strcmp(source_name(c, 99), ""));

	CHECK(span_intern(c, NO_SPAN) == 0 && !span_of(c, 0).source && !span_of(c, 12345).source);
	SpanId first = span_intern(c, span_made(s, 3, 4));
	for (uint32_t i = 0; i < 2000; i++) span_intern(c, span_made(s, i, i + 2));
	CHECK(span_intern(c, span_made(s, 3, 4)) == first && span_of(c, first).start == 3 &&
	      span_of(c, first).end == 4);
	CHECK(span_intern(c, span_made(s, 1999, 2001)) == first + 2000);
	Span inside = span_made(s, 3, 4);
	inside.inside = true;
	CHECK(span_intern(c, inside) != first && span_of(c, span_intern(c, inside)).inside &&
	      !span_of(c, first).inside);
	Span joined = span_join(span_made(1, 5, 9), span_made(1, 2, 7));
	CHECK(joined.start == 2 && joined.end == 9 && span_join(NO_SPAN, joined).end == 9 &&
	      span_join(joined, NO_SPAN).end == 9);
	ctx_free(c);
}

static void test_render(void) {
	Ctx *c = ctx_new(NULL);
	static Sink s;
	const char text[] = "layer(W, x) = {\n  n = 20\n  y = W @ x\n  u_t + u*u_x == ν*u_xx\n  名前 = "
						"é + x\n\tz = w\r\n"
						"  sum(a +\n    b)\n";
	SourceId id = source_add(c, "layer.dsl", text, sizeof text - 1);
	Diag *d = diag_error(c, E_SHAPE, span_at(c, id, "W @ x"), "cannot multiply %s by %s",
	                     "f64[m, n]", "f64[k]");
	diag_label(c, d, "these");
	diag_second(c, d, span_at(c, id, "n = 20"), "n = 20 came from here");
	diag_hint(c, d, "write x @ W");
	CHECK_TEXT(render(c, d, &s), "layer.dsl:3:7: cannot multiply f64[m, n] by f64[k] [E0302]\n"
	                             "  3 |   y = W @ x\n"
	                             "    |       ^^^^^ these\n"
	                             "layer.dsl:2:3: n = 20 came from here\n"
	                             "  2 |   n = 20\n"
	                             "    |   ^^^^^^\n"
	                             "  hint: write x @ W\n");
	s.n = 0;
	diag_render_json(c, d, sink, &s);
	CHECK_TEXT(s.at, "{\"code\":\"E0302\",\"severity\":\"error\",\"message\":\"cannot multiply "
	                 "f64[m, n] by f64[k]\","
	                 "\"file\":\"layer.dsl\",\"line\":3,\"column\":7,\"end_line\":3,\"end_column\":"
	                 "12,\"label\":\"these\","
	                 "\"second\":{\"file\":\"layer.dsl\",\"line\":2,\"column\":3,\"end_line\":2,"
	                 "\"end_column\":9,"
	                 "\"label\":\"n = 20 came from here\"},\"hint\":\"write x @ W\"}\n");
	d = diag_error(c, E_PROBLEM_CONDITION, span_at(c, id, "u_xx"), "no condition");
	CHECK_TEXT(render(c, d, &s), "layer.dsl:4:20: no condition [E0503]\n"
	                             "  4 |   u_t + u*u_x == ν*u_xx\n"
	                             "    |                    ^^^^\n");
	d = diag_warning(c, E_NAME, span_at(c, id, "é"), "wide");
	CHECK_TEXT(render(c, d, &s), "layer.dsl:5:8: warning: wide [E0201]\n"
	                             "  5 |   名前 = é + x\n"
	                             "    |          ^\n");
	d = diag_error(c, E_NAME, span_at(c, id, "名前"), "name");
	CHECK_TEXT(render(c, d, &s), "layer.dsl:5:3: name [E0201]\n"
	                             "  5 |   名前 = é + x\n"
	                             "    |   ^^^^\n");
	d = diag_error(c, E_NAME, span_at(c, id, "w\r"), "tab");
	CHECK_TEXT(render(c, d, &s), "layer.dsl:6:6: tab [E0201]\n"
	                             "  6 |  z = w\n"
	                             "    |      ^\n");
	d = diag_error(c, E_TYPE, span_at(c, id, "a +\n    b"), "two lines");
	CHECK_TEXT(render(c, d, &s), "layer.dsl:7:7: two lines [E0301]\n"
	                             "  7 |   sum(a +\n"
	                             "    |       ^^^\n");
	d = diag_error(c, E_SYNTAX, span_made(id, sizeof text - 1, sizeof text - 1), "at the end");
	CHECK_TEXT(render(c, d, &s), "layer.dsl:9:1: at the end [E0104]\n"
	                             "  9 | \n"
	                             "    | ^\n");
	d = diag_error(c, E_SYNTAX, span_made(id, 15, 15), "at the end of a line");
	CHECK_TEXT(render(c, d, &s), "layer.dsl:1:16: at the end of a line [E0104]\n"
	                             "  1 | layer(W, x) = {\n"
	                             "    |                ^\n");
	d = diag_warning(c, E_FILE, NO_SPAN, "no place\033[2J");
	diag_trace(c, d, "in f");
	diag_trace(c, d, "in gradient of %s", "g");
	diag_second(c, d, NO_SPAN, "a note");
	CHECK_TEXT(render(c, d, &s),
	           "warning: no place [2J [E0801]\n  a note\n  in f\n  in gradient of g\n");
	s.n = 0;
	diag_render_json(c, d, sink, &s);
	CHECK_TEXT(s.at,
	           "{\"code\":\"E0801\",\"severity\":\"warning\",\"message\":\"no place\\u001b[2J\","
	           "\"second\":{\"label\":\"a note\"},\"trace\":\"in f\\nin gradient of g\"}\n");
	s.n = 0;
	diag_render_json(c, diag_error(c, E_USER, NO_SPAN, "say \"\\\" \xff"), sink, &s);
	CHECK_TEXT(
		s.at,
		"{\"code\":\"E0604\",\"severity\":\"error\",\"message\":\"say \\\"\\\\\\\" \\ufffd\"}\n");
	s.n = 0;
	diag_render(c, diag_at(c, 0), true, sink, &s);
	CHECK(strstr(s.at, "\033[1m") && strstr(s.at, "\033[0m") && s.at[s.n - 1] == '\n');
	s.n = 0;
	diag_render(c, NULL, true, sink, &s);
	diag_render_json(c, NULL, sink, &s);
	CHECK(s.n == 0);

	/* A line of a thousand columns is shown as a window. The caret is still
	 * under its character. */
	char wide[1200];
	memset(wide, 'a', sizeof wide);
	wide[700] = 'Z';
	SourceId w = source_add(c, "w", wide, sizeof wide);
	render(c, diag_error(c, E_NAME, span_made(w, 700, 701), "far"), &s);
	char *first = strchr(s.at, '\n') + 1, *second = strchr(first, '\n') + 1;
	CHECK(strchr(first, 'Z') - first == strchr(second, '^') - second && second - first < 200);
	CHECK(!strncmp(first, "  1 | ...aaa", 12) && !strncmp(second - 4, "...\n", 4));
	render(c, diag_error(c, E_NAME, span_made(w, 3, 1100), "long"), &s);
	first = strchr(s.at, '\n') + 1, second = strchr(first, '\n') + 1;
	CHECK(strlen(second) <= (size_t)(second - first));
	render(c, diag_error(c, E_NAME, span_made(w, 1199, 1200), "end"), &s);
	first = strchr(s.at, '\n') + 1, second = strchr(first, '\n') + 1;
	CHECK(strchr(second, '^') - second == second - first - 2);
	SourceId bad = source_add(c, "bad", "x = \xff\xc3 \xe2\x82\n", 10);
	d = diag_error(c, E_CHAR, span_made(bad, 4, 5), "not UTF-8 %c", 0);
	CHECK_TEXT(render(c, d, &s), "bad:1:5: not UTF-8   [E0101]\n  1 | x = \xef\xbf\xbd\xef\xbf\xbd "
	                             "\xef\xbf\xbd\xef\xbf\xbd\n"
	                             "    |     ^\n");
	CHECK(text_columns("名前 νe\xcc\x81", 12) == 7);
	ctx_free(c);
}

static void test_diag_store(void) {
	Ctx *c = ctx_new(NULL);
	Diag *last = NULL;
	for (int i = 0; i < 30; i++) {
		last = diag_error(c, E_NAME, NO_SPAN, "error %d", i);
		diag_hint(c, last, "hint %d", i);
		diag_label(c, last, "label");
		diag_second(c, last, NO_SPAN, "second");
		diag_trace(c, last, "trace");
	}
	diag_warning(c, E_NAME, NO_SPAN, "w");
	CHECK(last && diag_count(c, SEV_ERROR) == 30 && diag_count(c, SEV_WARNING) == 1 &&
	      diag_total(c) == 21);
	CHECK(!strcmp(diag_at(c, 19)->message, "error 19") && !strcmp(diag_at(c, 19)->hint, "hint 19"));
	CHECK(diag_at(c, 20)->severity == SEV_WARNING && !diag_at(c, 21));
	diag_truncate(c, 5);
	CHECK(diag_count(c, SEV_ERROR) == 5 && diag_count(c, SEV_WARNING) == 0 && diag_total(c) == 5);
	Diag *d = diag_error(c, E_USER, NO_SPAN, "again");
	diag_hint(c, d, "one");
	diag_hint(c, d, "two");
	CHECK(!strcmp(d->hint, "two") && diag_total(c) == 6);
	diag_label(c, NULL, "x");
	diag_clear(c);
	CHECK(diag_total(c) == 0 && diag_count(c, SEV_ERROR) == 0);
	CHECK(!strcmp(diag_code_id(E_SHAPE), "E0302") && strstr(diag_code_title(E_SHAPE), "shapes"));
	CHECK(!strcmp(diag_code_title(DIAG_COUNT), ""));
	for (int i = 1; i < DIAG_COUNT; i++)
		CHECK(strcmp(diag_code_id((DiagCode)(i - 1)), diag_code_id((DiagCode)i)) < 0);

	for (uint64_t n = 1; n <= 6; n++) {
		diag_clear(c);
		heap_fail_at(c, n, true);
		d = diag_error(c, E_NAME, NO_SPAN, "no `%s`", "x");
		diag_label(c, d, "l");
		diag_second(c, d, NO_SPAN, "s");
		diag_hint(c, d, "h");
		diag_trace(c, d, "t");
		diag_trace(c, d, "u");
		heap_fail_at(c, 0, false);
		static Sink s;
		render(c, d, &s);
		if (n == 1) CHECK_TEXT(s.at, "out of memory [E0901]\n");
		else CHECK(!strncmp(s.at, "no `x` [E0201]\n", 15));
		CHECK((d->hint != NULL) == (n > 4));
	}
	diag_hint(c, diag_error(c, E_NAME, NO_SPAN, "freed by ctx_free"), "too");
	ctx_free(c);
}

static void test_nearest(void) {
	const char *const names[] = {"fourier", "sin", "sinh", "linspace", NULL, "νu", "x"};
#define NEAREST(s) diag_nearest(s, names, sizeof names / sizeof *names)
	CHECK_TEXT(NEAREST("fourrier"), "fourier");
	CHECK_TEXT(NEAREST("isn"), "sin");
	CHECK_TEXT(NEAREST("sin"), "sin");
	CHECK_TEXT(NEAREST("sinhh"), "sinh");
	CHECK_TEXT(NEAREST("lnispace"), "linspace");
	CHECK_TEXT(NEAREST("νv"), "νu");
	CHECK(!NEAREST("y") && !NEAREST("") && !NEAREST("completely_else"));
	char large[200];
	memset(large, 'a', 199);
	large[199] = 0;
	CHECK(!NEAREST(large));
}

/* ---- dims and types ------------------------------------------------------ */

static const char *show(Ctx *c, Dim d) {
	static char text[512];
	dim_print(c, d, NULL, NULL, text, sizeof text);
	return text;
}

static const char *letters(void *ud, SymId s) {
	(void)ud;
	static const char *const names[] = {"m", "n", "k"};
	return s < 3 ? names[s] : NULL;
}

static void test_dtypes(void) {
	Dtype d;
	for (int i = 0; i < DT_COUNT; i++)
		CHECK(dtype_from_name(dtype_name((Dtype)i), &d) && d == (Dtype)i);
	CHECK(!dtype_from_name("f16", &d) && !strcmp(dtype_name(DT_COUNT), "?"));
	CHECK(dtype_promote(DT_BOOL, DT_I32) == DT_I32 && dtype_promote(DT_I64, DT_F32) == DT_F32);
	CHECK(dtype_promote(DT_F64, DT_F32) == DT_F64 && dtype_promote(DT_C64, DT_F32) == DT_C64);
	CHECK(dtype_promote(DT_C64, DT_F64) == DT_C128 && dtype_promote(DT_I64, DT_C64) == DT_C64);
	CHECK(dtype_promote(DT_C64, DT_C128) == DT_C128 && dtype_promote(DT_BOOL, DT_BOOL) == DT_BOOL);
	for (int a = 0; a < DT_COUNT; a++) {
		for (int b = 0; b < DT_COUNT; b++)
			CHECK(dtype_promote((Dtype)a, (Dtype)b) == dtype_promote((Dtype)b, (Dtype)a));
	}
}

static void test_dim_algebra(void) {
	Ctx *c = ctx_new(NULL);
	Dim m = dim_sym(c, 0), n = dim_sym(c, 1), two = dim_const(c, 2), three = dim_const(c, 3);
	int64_t v;
	SymId s;
	CHECK(dim_const(c, 0) == 0 && dim_is_const(c, 0, &v) && v == 0);
	CHECK(dim_is_const(c, three, &v) && v == 3 && !dim_is_const(c, n, NULL) &&
	      !dim_is_const(c, dim_add(c, n, two), &v));
	CHECK(dim_is_sym(c, n, &s) && s == 1 && !dim_is_sym(c, dim_mul(c, n, two), &s) &&
	      !dim_is_sym(c, two, NULL));
	CHECK(dim_add(c, m, n) == dim_add(c, n, m) && dim_mul(c, m, n) == dim_mul(c, n, m));
	CHECK(dim_sub(c, n, n) == 0 && dim_sub(c, dim_add(c, n, two), two) == n &&
	      dim_sub(c, n, 0) == n);
	CHECK(dim_mul(c, dim_add(c, m, n), dim_sub(c, m, n)) ==
	      dim_sub(c, dim_mul(c, m, m), dim_mul(c, n, n)));
	CHECK(dim_mul(c, n, 0) == 0 && dim_mul(c, n, dim_const(c, 1)) == n);
	CHECK_TEXT(show(c, dim_sub(c, n, two)), "n1 - 2");
	CHECK_TEXT(show(c, dim_add(c, dim_mul(c, m, dim_mul(c, n, m)), dim_sub(c, three, n))),
	           "n0^2*n1 - n1 + 3");
	CHECK_TEXT(show(c, dim_mul(c, dim_const(c, -2), n)), "-2*n1");
	CHECK_TEXT(show(c, dim_sub(c, 0, n)), "-n1");
	CHECK_TEXT(show(c, dim_const(c, INT64_MIN)), "-9223372036854775808");
	CHECK_TEXT(show(c, 0), "0");

	Dim half = dim_floordiv(c, n, 2);
	CHECK_TEXT(show(c, half), "floor(n1/2)");
	CHECK(dim_floordiv(c, dim_add(c, n, two), 2) == dim_add(c, half, dim_const(c, 1)));
	CHECK(dim_floordiv(c, dim_mul(c, n, two), 2) == n && dim_floordiv(c, n, 1) == n);
	CHECK(dim_floordiv(c, dim_mul(c, n, two), 4) == half);
	CHECK(dim_floordiv(c, dim_add(c, dim_mul(c, n, two), dim_const(c, 1)), 2) == n);
	CHECK(dim_floordiv(c, half, 2) == dim_floordiv(c, n, 4));
	CHECK(dim_floordiv(c, dim_add(c, half, dim_const(c, 1)), 2) ==
	      dim_floordiv(c, dim_add(c, n, two), 4));
	CHECK(dim_floordiv(c, dim_const(c, -7), 2) == dim_const(c, -4) &&
	      dim_floordiv(c, dim_const(c, INT64_MIN), 3) != 0);
	CHECK_TEXT(show(c, dim_floordiv(c, dim_sub(c, n, dim_const(c, 1)), 2)),
	           "floor((n1 + 1)/2) - 1");

	CHECK(dim_mentions(c, half, 1) && !dim_mentions(c, half, 0) && !dim_mentions(c, two, 0));
	int64_t values[] = {5, 9};
	CHECK(dim_eval(c, dim_mul(c, half, dim_sub(c, m, two)), values, 2, &v) && v == 12);
	CHECK(dim_eval(c, three, NULL, 0, &v) && v == 3 && !dim_eval(c, n, values, 1, &v));
	values[1] = -1;
	CHECK(!dim_eval(c, half, values, 2, &v));
	values[1] = INT64_MAX;
	CHECK(!dim_eval(c, dim_mul(c, n, n), values, 2, &v) &&
	      !dim_eval(c, dim_add(c, n, two), values, 2, &v));

	Dim map[] = {dim_add(c, n, two), UINT32_MAX};
	CHECK(dim_subst(c, dim_mul(c, m, n), map, 2) ==
	      dim_add(c, dim_mul(c, n, n), dim_mul(c, two, n)));
	CHECK(dim_subst(c, dim_floordiv(c, m, 2), map, 1) == dim_add(c, half, dim_const(c, 1)));
	CHECK(dim_subst(c, three, map, 2) == three && dim_subst(c, 0, map, 2) == 0);

	Dim value;
	CHECK(dim_solve(c, m, n, &s, &value) && s == 1 && value == m);
	CHECK(dim_solve(c, dim_add(c, m, two), three, &s, &value) && s == 0 &&
	      value == dim_const(c, 1));
	CHECK(dim_solve(c, three, dim_sub(c, two, m), &s, &value) && s == 0 &&
	      value == dim_const(c, -1));
	CHECK(!dim_solve(c, dim_mul(c, m, two), three, &s, &value) && !dim_solve(c, m, m, &s, &value));
	CHECK(!dim_solve(c, dim_add(c, m, dim_mul(c, m, m)), three, &s, &value) &&
	      !dim_solve(c, two, three, &s, &value));
	CHECK(dim_solve(c, dim_add(c, m, half), n, &s, &value) && s == 0 &&
	      value == dim_sub(c, n, half));

	CHECK(dim_never_zero(c, three) && !dim_never_zero(c, 0) && !dim_never_zero(c, m) &&
	      !dim_never_zero(c, dim_sub(c, m, three)));
	CHECK(dim_never_zero(c, dim_add(c, dim_mul(c, m, n), three)) &&
	      dim_never_zero(c, dim_sub(c, dim_const(c, -1), m)));
	CHECK(!dim_never_zero(c, dim_add(c, dim_floordiv(c, dim_sub(c, n, dim_const(c, 6)), 4), two)));
	ctx_free(c);
}

/* Random expressions: the canonical form evaluates to the same value as the
 * operations, and equal forms have equal ids. */
static void test_dim_random(void) {
	Ctx *c = ctx_new(NULL);
	uint64_t seed = 42;
	for (int round = 0; round < 300; round++) {
		Dim d[12];
		int64_t values[2] = {round % 17, round % 23}, want[12], got;
		d[0] = dim_sym(c, 0), want[0] = values[0];
		d[1] = dim_sym(c, 1), want[1] = values[1];
		for (int i = 2; i < 12; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			uint32_t r = (uint32_t)(seed >> 33), a = r % (uint32_t)i, b = (r >> 8) % (uint32_t)i;
			int64_t k = 1 + (r >> 16) % 6;
			switch ((r >> 24) % 5) {
			case 0: d[i] = dim_add(c, d[a], d[b]), want[i] = want[a] + want[b]; break;
			case 1: d[i] = dim_sub(c, d[a], d[b]), want[i] = want[a] - want[b]; break;
			case 2:
				if (i < 6) d[i] = dim_mul(c, d[a], d[b]), want[i] = want[a] * want[b];
				else d[i] = dim_const(c, k), want[i] = k;
				break;
			default: d[i] = dim_floordiv(c, d[a], k); want[i] = want[a] / k - (want[a] % k < 0);
			}
			CHECK(dim_eval(c, d[i], values, 2, &got) && got == want[i]);
		}
		Dim same[2] = {d[0], d[1]};
		CHECK(dim_subst(c, d[11], same, 2) == d[11]);
	}
	ctx_free(c);
}

static void overflow_mul(Ctx *c, void *arg) {
	(void)arg;
	dim_mul(c, dim_mul(c, dim_sym(c, 0), dim_const(c, INT64_MAX)), dim_const(c, 2));
}
static void overflow_add(Ctx *c, void *arg) {
	(void)arg;
	dim_add(c, dim_const(c, INT64_MAX), dim_const(c, 1));
}
static void overflow_sub(Ctx *c, void *arg) {
	(void)arg;
	dim_sub(c, dim_sym(c, 1), dim_const(c, INT64_MIN));
}
static void too_many_terms(Ctx *c, void *arg) {
	(void)arg;
	Dim d = 0;
	for (SymId s = 0; s < 2000; s++) d = dim_add(c, d, dim_sym(c, s));
}
static void too_high_degree(Ctx *c, void *arg) {
	(void)arg;
	Dim d = dim_sym(c, 0);
	for (int i = 0; i < 10; i++) d = dim_mul(c, d, d);
}
static void too_deep_floor(Ctx *c, void *arg) {
	(void)arg;
	Dim d = dim_sym(c, 0);
	for (int i = 0; i < 100000; i++)
		d = dim_floordiv(c, dim_add(c, dim_mul(c, d, dim_sym(c, 1)), d), 2);
}
static void divide_by_zero(Ctx *c, void *arg) {
	(void)arg;
	dim_floordiv(c, dim_sym(c, 0), 0);
}
static void rank_nine(Ctx *c, void *arg) {
	(void)arg;
	Dim dims[9] = {0};
	type_tensor(c, DT_F64, 9, dims);
}

static void test_dim_overflow(void) {
	Ctx *c = ctx_new(NULL);
	void (*const bodies[])(Ctx *, void *) = {overflow_mul,   overflow_add,    overflow_sub,
	                                         too_many_terms, too_high_degree, too_deep_floor};
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		diag_clear(c);
		CHECK(protect(c, bodies[i]) == ST_ERROR);
		CHECK(diag_total(c) == 1 && diag_at(c, 0)->code == E_SHAPE &&
		      strstr(diag_at(c, 0)->message, "size overflow"));
	}
	CHECK(protect(c, divide_by_zero) == ST_INTERNAL);
	CHECK(protect(c, rank_nine) == ST_ERROR);
	ctx_free(c);
}

static void count_symbol(void *ud, SymId s) { ((int *)ud)[s]++; }

static void test_types(void) {
	Ctx *c = ctx_new(NULL);
	Dim n = dim_sym(c, 1), dims[] = {n, dim_const(c, 3)};
	TypeId t = type_tensor(c, DT_F64, 2, dims);
	CHECK(t == type_tensor(c, DT_F64, 2, dims) && t != type_tensor(c, DT_F32, 2, dims) &&
	      t != type_tensor(c, DT_F64, 1, dims));
	CHECK(type_of(c, t)->rank == 2 && type_of(c, t)->dims[0] == n && type_is_tensor(c, t));
	CHECK(type_with_dtype(c, t, DT_I64) == type_tensor(c, DT_I64, 2, dims));
	CHECK(type_has_tangent(c, t) && !type_has_tangent(c, type_scalar(c, DT_I64)) &&
	      !type_has_tangent(c, type_dyn(c)));
	CHECK(type_scalar(c, DT_C64) == type_tensor(c, DT_C64, 0, NULL) &&
	      type_has_tangent(c, type_scalar(c, DT_C64)));
	CHECK(type_of(c, type_dyn(c))->kind == TY_DYN && type_of(c, type_token(c))->kind == TY_TOKEN);
	CHECK(type_with_dtype(c, type_dyn(c), DT_F64) == type_dyn(c) &&
	      type_subst(c, type_token(c), dims, 2) == type_token(c));
	Dim map[] = {UINT32_MAX, dim_const(c, 7)}, seven[] = {dim_const(c, 7), dim_const(c, 3)};
	CHECK(type_subst(c, t, map, 2) == type_tensor(c, DT_F64, 2, seven));
	char text[64], small[6];
	CHECK(type_print(c, t, letters, NULL, text, sizeof text) == 9);
	CHECK_TEXT(text, "f64[n, 3]");
	CHECK(type_print(c, t, letters, NULL, small, sizeof small) == 5);
	CHECK_TEXT(small, "f64[n");
	CHECK(type_print(c, t, NULL, NULL, NULL, 0) == 0);
	type_print(c, type_scalar(c, DT_BOOL), NULL, NULL, text, sizeof text);
	CHECK_TEXT(text, "bool");
	type_print(c, type_dyn(c), NULL, NULL, text, sizeof text);
	CHECK_TEXT(text, "dyn");
	type_print(c, type_token(c), NULL, NULL, text, sizeof text);
	CHECK_TEXT(text, "token");
	dim_print(c, dim_sym(c, 9), letters, NULL, text, sizeof text);
	CHECK_TEXT(text, "n9");
	int seen[3] = {0};
	dim_each_sym(c, dim_floordiv(c, dim_mul(c, n, dim_sym(c, 2)), 3), count_symbol, seen);
	CHECK(seen[0] == 0 && seen[1] == 1 && seen[2] == 1);
	for (int i = 0; i < 2000; i++) {
		Dim one[] = {dim_const(c, i)};
		CHECK(type_of(c, type_tensor(c, DT_F32, 1, one))->dims[0] == one[0]);
	}
	CHECK(t == type_tensor(c, DT_F64, 2, dims));
	ctx_free(c);
}

static void make_many_dims(Ctx *c, void *arg) {
	(void)arg;
	for (int i = 0; i < 600; i++) {
		Dim d = dim_add(c, dim_mul(c, dim_sym(c, (SymId)i), dim_sym(c, 0)), dim_const(c, i));
		d = dim_floordiv(c, d, 2 + i % 5);
		type_tensor(c, DT_F64, 1, &d);
	}
	source_add(c, "s", "a\nb\n", 4);
	for (uint32_t i = 0; i < 600; i++) span_intern(c, span_made(1, i, i));
}

static void test_dim_failures(void) {
	for (uint64_t n = 1;; n++) {
		Ctx *c = ctx_new(NULL);
		heap_fail_at(c, n, n & 1);
		Status s = protect(c, make_many_dims);
		heap_fail_at(c, 0, false);
		CHECK(s == ST_OK || s == ST_NOMEM);
		CHECK(protect(c, make_many_dims) == ST_OK);
		CHECK(dim_sub(c, dim_add(c, dim_sym(c, 5), dim_sym(c, 599)), dim_sym(c, 599)) ==
		      dim_sym(c, 5));
		ctx_free(c);
		if (s == ST_OK) break;
#ifdef ATLED_STRESS
		n += n / 8;
#endif
	}
}

/* ---- large blocks: contents survive, freed pages serve other sizes ------- */

static void test_large_blocks(void) {
	const size_t page = (size_t)2 << 20,
				 sizes[] = {page,         3 * page,   LARGE_LEAST, LARGE_LEAST + 5000,
	                        2 * page + 1, LARGE_LEAST};
	enum { N = sizeof sizes / sizeof *sizes };
	unsigned char *p[N];
	for (int turn = 0; turn < 50; turn++) {
		for (int i = 0; i < N; i++) {
			const size_t bytes = sizes[(i * 5 + turn) % N];
			p[i] = page_alloc(bytes);
			CHECK(p[i] && ((uintptr_t)p[i] & 15) == 0);
			p[i][0] = p[i][bytes - 1] = (unsigned char)(i + turn);
		}
		bool kept = true;
		for (int i = 0; i < N; i++)
			kept = kept && p[i][0] == (unsigned char)(i + turn) &&
			       p[i][sizes[(i * 5 + turn) % N] - 1] == (unsigned char)(i + turn);
		CHECK(kept);
		for (int i = 0; i < N; i++) page_free(p[i], sizes[(i * 5 + turn) % N]);
	}
	CHECK(page_alloc(SIZE_MAX - 5) == NULL);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	/* A block of 64 MiB is split, and its halves are coalesced again. */
	const size_t whole = 32 * page;
	char *a = page_alloc(whole);
	CHECK(a != NULL && ((uintptr_t)a & (page - 1)) == 0);
	page_free(a, whole);
	char *b = page_alloc(20 * page), *d = page_alloc(12 * page);
	CHECK(b == a && d == a + 20 * page);
	page_free(b, 20 * page);
	page_free(d, 12 * page);
	CHECK(page_alloc(whole) == a);
	/* The pages of a block that is too small are remapped into a larger one. */
	for (size_t i = 0; i < 32; i++) memcpy(a + i * page, "moved", 5);
	page_free(a, whole);
	char *larger = page_alloc(48 * page);
	CHECK(larger != NULL && ((uintptr_t)larger & (page - 1)) == 0);
	size_t moved = 0;
	for (size_t i = 0; larger && i < 48; i++) moved += !memcmp(larger + i * page, "moved", 5);
	CHECK(moved == 32);
	if (larger) memset(larger, 1, 48 * page);
	page_free(larger, 48 * page);
#endif
}

int main(void) {
	static void (*const tests[])(void) = {
		test_heap,
		test_spare_blocks,
		test_ctx_new_failures,
		test_protect,
		test_throw_unprotected,
		test_atoms,
		test_atom_failures,
		test_polls,
		test_grants_output_slots,
		test_arena,
		test_arena_polls,
		test_arena_release,
		test_sources,
		test_render,
		test_diag_store,
		test_nearest,
		test_dtypes,
		test_dim_algebra,
		test_dim_random,
		test_dim_overflow,
		test_types,
		test_dim_failures,
		test_large_blocks,
	};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) tests[i]();
	return check_end();
}
