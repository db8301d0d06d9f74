/* test_lang_core.c - the ground floor of lang/: context, arena, diagnostics, dims and types, tensors, values, text.
 *
 * Needs: the lang/ objects context arena diag type tensor value text, and nothing else.
 * Guarantees: exit status 0 when every check held; the last line counts them. Each check compares with a figure that
 * was worked out by hand or by an independent and slower way in this file.
 */
#include "lang/value.h"
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int passed, failed;

#define CHECK(x)                                                          \
	do {                                                                  \
		if (x) passed++;                                                  \
		else {                                                            \
			failed++;                                                     \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #x); \
		}                                                                 \
	} while (0)

static void check_text(int line, const char *got, const char *want) {
	if (!strcmp(got, want)) {
		passed++;
		return;
	}
	failed++;
	fprintf(stderr, "%s:%d: failed\n  got:  %s\n  want: %s\n", __FILE__, line, got, want);
}
#define CHECK_TEXT(got, want) check_text(__LINE__, (got), (want))

/* ---- allocators ------------------------------------------------------------------------------------------------- */

/* Checks that the sizes it is told are those it gave, and counts what is alive. */
typedef struct Counting {
	long blocks;
	size_t bytes;
	bool wrong;
	long fail_after; /* allocations that still succeed; -1: all */
} Counting;

static void *counting_resize(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
	Counting *k = ud;
	size_t *head = p ? (size_t *)p - 2 : NULL;
	if (head && *head != old_bytes) k->wrong = true;
	if (!new_bytes) {
		if (head) {
			k->blocks--;
			k->bytes -= old_bytes;
			free(head);
		}
		return NULL;
	}
	if (k->fail_after == 0) return NULL;
	if (k->fail_after > 0) k->fail_after--;
	size_t *grown = realloc(head, new_bytes + 2 * sizeof *head);
	if (!grown) return NULL;
	k->blocks += !p;
	k->bytes += new_bytes - old_bytes;
	*grown = new_bytes;
	return grown + 2;
}

static Status protect(Ctx *c, void (*body)(Ctx *c, void *arg)) {
	return ctx_protect(c, body, NULL);
}

/* ---- context ---------------------------------------------------------------------------------------------------- */

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

/* Outside every protected region a throw ends like a failed assertion, in a process of its own here. */
static void test_throw_unprotected(void) {
	pid_t child = fork();
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		signal(SIGABRT, SIG_DFL);
		ctx_throw(ctx_new(NULL), ST_ERROR);
	}
	int status;
	CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
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
		Atom a = atom(c, "atom number 5"); /* the table survived */
		CHECK(a == atom(c, "atom number 5") && !strcmp(atom_text(c, a), "atom number 5"));
		CHECK(protect(c, make_many_atoms) == ST_OK);
		ctx_free(c);
		if (s == ST_OK) break;
#ifdef ATLED_STRESS
		n += n / 8; /* an allocation for every atom */
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
	CHECK(ctx_granted(c, GRANT_FILES) && !ctx_granted(c, GRANT_OUTPUT) && !ctx_granted(c, GRANT_ALL));
	ctx_grant(c, GRANT_CLOCK | GRANT_OUTPUT);
	CHECK(!ctx_granted(c, GRANT_FILES) && ctx_granted(c, GRANT_CLOCK) && !ctx_granted(c, GRANT_OUTPUT));
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
	CHECK(freed == 1 && freed_order[0] == 1 && ctx_slot(c, SLOT_IR) == &three && !ctx_slot(c, SLOT_PARSER));
	ctx_free(c);
	CHECK(freed == 3 && freed_order[1] == 2 && freed_order[2] == 3);
}

/* ---- arena ------------------------------------------------------------------------------------------------------ */

static void huge_in_arena(Ctx *c, void *arg) {
	(void)c;
	arena_alloc(arg, SIZE_MAX - 8);
}

static void many_in_arena(Ctx *c, void *arg) {
	(void)c;
	for (int i = 0; i < 200; i++) memset(arena_alloc(arg, 1000), i, 1000);
}

static void test_arena(void) {
	Counting k = {.fail_after = -1};
	HostAllocator host = {.resize = counting_resize, .ud = &k};
	Ctx *c = ctx_new(&host);
	size_t before = heap_used(c);
	Arena *a = arena_new(c), *b = arena_new(c), *lost = arena_new(c);
	CHECK(arena_ctx(a) == c);
	char *kept[300];
	for (int i = 0; i < 300; i++) {
		kept[i] = arena_alloc(a, (size_t)i * 7);
		CHECK(((uintptr_t)kept[i] & 15) == 0);
		memset(kept[i], i & 0x7f, (size_t)i * 7);
	}
	bool intact = true;
	for (int i = 1; i < 300; i++) intact &= kept[i][0] == (i & 0x7f) && kept[i][i * 7 - 1] == (i & 0x7f);
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
	(void)lost; /* ctx_free gives it back */
	ctx_free(c);
	CHECK(k.blocks == 0 && !k.wrong);
}

/* ---- diagnostics ------------------------------------------------------------------------------------------------ */

static const char *render(Ctx *c, const Diag *d, Sink *s) {
	s->n = 0;
	diag_render(c, d, false, sink, s);
	return s->at;
}

static Span span_at(Ctx *c, SourceId id, const char *what) {
	size_t n;
	const char *text = source_text(c, id, &n), *p = strstr(text, what);
	return (Span){id, (uint32_t)(p - text), (uint32_t)(p - text + (long)strlen(what))};
}

static void test_sources(void) {
	Ctx *c = ctx_new(NULL);
	const char text[] = "a = 1\nβγ = 2\r\n\nlast";
	SourceId s = source_add(c, "f.dsl", text, sizeof text - 1);
	size_t n;
	CHECK(s == 1 && !strcmp(source_name(c, s), "f.dsl") && !strcmp(source_text(c, s, &n), text) &&
	      n == sizeof text - 1);
	uint32_t line, column;
	source_position(c, (Span){s, 0, 1}, &line, &column);
	CHECK(line == 1 && column == 1);
	source_position(c, span_at(c, s, "= 2"), &line, &column);
	CHECK(line == 2 && column == 4);
	source_position(c, span_at(c, s, "st"), &line, &column);
	CHECK(line == 4 && column == 3);
	source_position(c, (Span){s, 10000, 10001}, &line, &column);
	CHECK(line == 4 && column == 5);
	source_position(c, NO_SPAN, &line, &column);
	CHECK(line == 0 && column == 0);
	SourceId empty = source_add(c, "empty", NULL, 0);
	source_position(c, (Span){empty, 0, 0}, &line, NULL);
	CHECK(line == 1 && empty == 2);
	CHECK(!strcmp(source_name(c, 99), ""));

	CHECK(span_intern(c, NO_SPAN) == 0 && !span_of(c, 0).source && !span_of(c, 12345).source);
	SpanId first = span_intern(c, (Span){s, 3, 4});
	for (uint32_t i = 0; i < 2000; i++) span_intern(c, (Span){s, i, i + 2});
	CHECK(span_intern(c, (Span){s, 3, 4}) == first && span_of(c, first).start == 3 && span_of(c, first).end == 4);
	CHECK(span_intern(c, (Span){s, 1999, 2001}) == first + 2000);
	Span joined = span_join((Span){1, 5, 9}, (Span){1, 2, 7});
	CHECK(joined.start == 2 && joined.end == 9 && span_join(NO_SPAN, joined).end == 9 &&
	      span_join(joined, NO_SPAN).end == 9);
	ctx_free(c);
}

static void test_render(void) {
	Ctx *c = ctx_new(NULL);
	static Sink s;
	const char text[] = "layer(W, x) = {\n  n = 20\n  y = W @ x\n  u_t + u*u_x == ν*u_xx\n  名前 = é + x\n\tz = w\r\n"
	                    "  sum(a +\n    b)\n";
	SourceId id = source_add(c, "layer.dsl", text, sizeof text - 1);
	Diag *d = diag_error(c, E_SHAPE, span_at(c, id, "W @ x"), "cannot multiply %s by %s", "f64[m, n]", "f64[k]");
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
	CHECK_TEXT(s.at,
	           "{\"code\":\"E0302\",\"severity\":\"error\",\"message\":\"cannot multiply f64[m, n] by f64[k]\","
	           "\"file\":\"layer.dsl\",\"line\":3,\"column\":7,\"end_line\":3,\"end_column\":12,\"label\":\"these\","
	           "\"second\":{\"file\":\"layer.dsl\",\"line\":2,\"column\":3,\"end_line\":2,\"end_column\":9,"
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
	d = diag_error(c, E_SYNTAX, (Span){id, sizeof text - 1, sizeof text - 1}, "at the end");
	CHECK_TEXT(render(c, d, &s), "layer.dsl:9:1: at the end [E0104]\n"
	                             "  9 | \n"
	                             "    | ^\n");
	d = diag_error(c, E_SYNTAX, (Span){id, 15, 15}, "at the end of a line");
	CHECK_TEXT(render(c, d, &s), "layer.dsl:1:16: at the end of a line [E0104]\n"
	                             "  1 | layer(W, x) = {\n"
	                             "    |                ^\n");
	d = diag_warning(c, E_FILE, NO_SPAN, "no place\033[2J");
	diag_trace(c, d, "in f");
	diag_trace(c, d, "in gradient of %s", "g");
	diag_second(c, d, NO_SPAN, "a note");
	CHECK_TEXT(render(c, d, &s), "warning: no place [2J [E0801]\n  a note\n  in f\n  in gradient of g\n");
	s.n = 0;
	diag_render_json(c, d, sink, &s);
	CHECK_TEXT(s.at, "{\"code\":\"E0801\",\"severity\":\"warning\",\"message\":\"no place\\u001b[2J\","
	                 "\"second\":{\"label\":\"a note\"},\"trace\":\"in f\\nin gradient of g\"}\n");
	s.n = 0;
	diag_render_json(c, diag_error(c, E_USER, NO_SPAN, "say \"\\\" \xff"), sink, &s);
	CHECK_TEXT(s.at, "{\"code\":\"E0604\",\"severity\":\"error\",\"message\":\"say \\\"\\\\\\\" \\ufffd\"}\n");
	s.n = 0;
	diag_render(c, diag_at(c, 0), true, sink, &s);
	CHECK(strstr(s.at, "\033[1m") && strstr(s.at, "\033[0m") && s.at[s.n - 1] == '\n');
	s.n = 0;
	diag_render(c, NULL, true, sink, &s);
	diag_render_json(c, NULL, sink, &s);
	CHECK(s.n == 0);

	/* A line of a thousand columns is shown as a window, with the caret still under its character. */
	char wide[1200];
	memset(wide, 'a', sizeof wide);
	wide[700] = 'Z';
	SourceId w = source_add(c, "w", wide, sizeof wide);
	render(c, diag_error(c, E_NAME, (Span){w, 700, 701}, "far"), &s);
	char *first = strchr(s.at, '\n') + 1, *second = strchr(first, '\n') + 1;
	CHECK(strchr(first, 'Z') - first == strchr(second, '^') - second && second - first < 200);
	CHECK(!strncmp(first, "  1 | ...aaa", 12) && !strncmp(second - 4, "...\n", 4));
	render(c, diag_error(c, E_NAME, (Span){w, 3, 1100}, "long"), &s);
	first = strchr(s.at, '\n') + 1, second = strchr(first, '\n') + 1;
	CHECK(strlen(second) <= (size_t)(second - first));
	render(c, diag_error(c, E_NAME, (Span){w, 1199, 1200}, "end"), &s);
	first = strchr(s.at, '\n') + 1, second = strchr(first, '\n') + 1;
	CHECK(strchr(second, '^') - second == second - first - 2);
	SourceId bad = source_add(c, "bad", "x = \xff\xc3 \xe2\x82\n", 10);
	d = diag_error(c, E_CHAR, (Span){bad, 4, 5}, "not UTF-8 %c", 0);
	CHECK_TEXT(render(c, d, &s),
	           "bad:1:5: not UTF-8   [E0101]\n  1 | x = \xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\n"
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
	CHECK(last && diag_count(c, SEV_ERROR) == 30 && diag_count(c, SEV_WARNING) == 1 && diag_total(c) == 21);
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
	for (int i = 1; i < DIAG_COUNT; i++) CHECK(strcmp(diag_code_id((DiagCode)(i - 1)), diag_code_id((DiagCode)i)) < 0);

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

/* ---- dims and types --------------------------------------------------------------------------------------------- */

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
	for (int i = 0; i < DT_COUNT; i++) CHECK(dtype_from_name(dtype_name((Dtype)i), &d) && d == (Dtype)i);
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
	CHECK(dim_is_sym(c, n, &s) && s == 1 && !dim_is_sym(c, dim_mul(c, n, two), &s) && !dim_is_sym(c, two, NULL));
	CHECK(dim_add(c, m, n) == dim_add(c, n, m) && dim_mul(c, m, n) == dim_mul(c, n, m));
	CHECK(dim_sub(c, n, n) == 0 && dim_sub(c, dim_add(c, n, two), two) == n && dim_sub(c, n, 0) == n);
	CHECK(dim_mul(c, dim_add(c, m, n), dim_sub(c, m, n)) == dim_sub(c, dim_mul(c, m, m), dim_mul(c, n, n)));
	CHECK(dim_mul(c, n, 0) == 0 && dim_mul(c, n, dim_const(c, 1)) == n);
	CHECK_TEXT(show(c, dim_sub(c, n, two)), "n1 - 2");
	CHECK_TEXT(show(c, dim_add(c, dim_mul(c, m, dim_mul(c, n, m)), dim_sub(c, three, n))), "n0^2*n1 - n1 + 3");
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
	CHECK(dim_floordiv(c, dim_add(c, half, dim_const(c, 1)), 2) == dim_floordiv(c, dim_add(c, n, two), 4));
	CHECK(dim_floordiv(c, dim_const(c, -7), 2) == dim_const(c, -4) && dim_floordiv(c, dim_const(c, INT64_MIN), 3) != 0);
	CHECK_TEXT(show(c, dim_floordiv(c, dim_sub(c, n, dim_const(c, 1)), 2)), "floor((n1 + 1)/2) - 1");

	CHECK(dim_mentions(c, half, 1) && !dim_mentions(c, half, 0) && !dim_mentions(c, two, 0));
	int64_t values[] = {5, 9};
	CHECK(dim_eval(c, dim_mul(c, half, dim_sub(c, m, two)), values, 2, &v) && v == 12);
	CHECK(dim_eval(c, three, NULL, 0, &v) && v == 3 && !dim_eval(c, n, values, 1, &v));
	values[1] = -1;
	CHECK(!dim_eval(c, half, values, 2, &v));
	values[1] = INT64_MAX;
	CHECK(!dim_eval(c, dim_mul(c, n, n), values, 2, &v) && !dim_eval(c, dim_add(c, n, two), values, 2, &v));

	Dim map[] = {dim_add(c, n, two), UINT32_MAX};
	CHECK(dim_subst(c, dim_mul(c, m, n), map, 2) == dim_add(c, dim_mul(c, n, n), dim_mul(c, two, n)));
	CHECK(dim_subst(c, dim_floordiv(c, m, 2), map, 1) == dim_add(c, half, dim_const(c, 1)));
	CHECK(dim_subst(c, three, map, 2) == three && dim_subst(c, 0, map, 2) == 0);

	Dim value;
	CHECK(dim_solve(c, m, n, &s, &value) && s == 1 && value == m);
	CHECK(dim_solve(c, dim_add(c, m, two), three, &s, &value) && s == 0 && value == dim_const(c, 1));
	CHECK(dim_solve(c, three, dim_sub(c, two, m), &s, &value) && s == 0 && value == dim_const(c, -1));
	CHECK(!dim_solve(c, dim_mul(c, m, two), three, &s, &value) && !dim_solve(c, m, m, &s, &value));
	CHECK(!dim_solve(c, dim_add(c, m, dim_mul(c, m, m)), three, &s, &value) && !dim_solve(c, two, three, &s, &value));
	CHECK(dim_solve(c, dim_add(c, m, half), n, &s, &value) && s == 0 && value == dim_sub(c, n, half));

	CHECK(dim_never_zero(c, three) && !dim_never_zero(c, 0) && !dim_never_zero(c, m) && !dim_never_zero(c, dim_sub(c, m, three)));
	CHECK(dim_never_zero(c, dim_add(c, dim_mul(c, m, n), three)) && dim_never_zero(c, dim_sub(c, dim_const(c, -1), m)));
	CHECK(!dim_never_zero(c, dim_add(c, dim_floordiv(c, dim_sub(c, n, dim_const(c, 6)), 4), two)));
	ctx_free(c);
}

/* Random expressions: the canonical form has the value that the operations have, and equal forms have equal ids. */
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
			default:
				d[i] = dim_floordiv(c, d[a], k);
				want[i] = want[a] / k - (want[a] % k < 0);
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
	for (int i = 0; i < 100000; i++) d = dim_floordiv(c, dim_add(c, dim_mul(c, d, dim_sym(c, 1)), d), 2);
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
	void (*const bodies[])(Ctx *, void *) = {overflow_mul, overflow_add, overflow_sub, too_many_terms, too_high_degree,
	                                         too_deep_floor};
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		diag_clear(c);
		CHECK(protect(c, bodies[i]) == ST_ERROR);
		CHECK(diag_total(c) == 1 && diag_at(c, 0)->code == E_SHAPE && strstr(diag_at(c, 0)->message, "size overflow"));
	}
	CHECK(protect(c, divide_by_zero) == ST_INTERNAL);
	CHECK(protect(c, rank_nine) == ST_ERROR);
	ctx_free(c);
}

static void count_symbol(void *ud, SymId s) {
	((int *)ud)[s]++;
}

static void test_types(void) {
	Ctx *c = ctx_new(NULL);
	Dim n = dim_sym(c, 1), dims[] = {n, dim_const(c, 3)};
	TypeId t = type_tensor(c, DT_F64, 2, dims);
	CHECK(t == type_tensor(c, DT_F64, 2, dims) && t != type_tensor(c, DT_F32, 2, dims) &&
	      t != type_tensor(c, DT_F64, 1, dims));
	CHECK(type_of(c, t)->rank == 2 && type_of(c, t)->dims[0] == n && type_is_tensor(c, t));
	CHECK(type_with_dtype(c, t, DT_I64) == type_tensor(c, DT_I64, 2, dims));
	CHECK(type_has_tangent(c, t) && !type_has_tangent(c, type_scalar(c, DT_I64)) && !type_has_tangent(c, type_dyn(c)));
	CHECK(type_scalar(c, DT_C64) == type_tensor(c, DT_C64, 0, NULL) && type_has_tangent(c, type_scalar(c, DT_C64)));
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
	for (uint32_t i = 0; i < 600; i++) span_intern(c, (Span){1, i, i});
}

static void test_dim_failures(void) {
	for (uint64_t n = 1;; n++) {
		Ctx *c = ctx_new(NULL);
		heap_fail_at(c, n, n & 1);
		Status s = protect(c, make_many_dims);
		heap_fail_at(c, 0, false);
		CHECK(s == ST_OK || s == ST_NOMEM);
		CHECK(protect(c, make_many_dims) == ST_OK);
		CHECK(dim_sub(c, dim_add(c, dim_sym(c, 5), dim_sym(c, 599)), dim_sym(c, 599)) == dim_sym(c, 5));
		ctx_free(c);
		if (s == ST_OK) break;
#ifdef ATLED_STRESS
		n += n / 8;
#endif
	}
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

static Tensor *iota(Ctx *c, Dtype dtype, uint32_t rank, const int64_t *shape) {
	Tensor *t = tensor_new(c, DT_F64, rank, shape), *r = tensor_new(c, dtype, rank, shape);
	for (int64_t i = 0; i < t->count; i++) ((double *)t->data)[i] = (double)i;
	tensor_convert_into(r, t);
	tensor_unref(t);
	return r;
}

static void count_release(void *ud, void *data) {
	(void)data;
	++*(int *)ud;
}

static void test_tensor_life(void) {
	Counting k = {.fail_after = -1};
	HostAllocator host = {.resize = counting_resize, .ud = &k};
	Ctx *c = ctx_new(&host);
	size_t before = heap_used(c);
	int64_t shape[] = {3, 5};
	Tensor *t = tensor_zeros(c, DT_F64, 2, shape);
	CHECK(((uintptr_t)t->data & 63) == 0 && t->buffer->bytes == 128 && t->count == 15 && t->contiguous &&
	      !t->read_only);
	CHECK(t->stride[0] == 5 && t->stride[1] == 1);
	bool zero = true;
	for (int i = 0; i < 128; i++) zero &= t->data[i] == 0;
	CHECK(zero && heap_used(c) > before + 128);
	Tensor *u = tensor_new(c, DT_BOOL, 1, (int64_t[]){3});
	CHECK(u->data[3] == 0 && u->data[63] == 0 && u->buffer->bytes == 64);
	CHECK(tensor_is_unshared(t));
	Tensor *again = tensor_ref(t);
	CHECK(again == t && !tensor_is_unshared(t));
	tensor_unref(again);
	tensor_unref(NULL);

	CHECK(!tensor_new(c, DT_F64, 2, (int64_t[]){INT64_MAX, 2}) && !tensor_new(c, DT_F64, 1, (int64_t[]){-1}));
	CHECK(!tensor_new(c, DT_F64, 1, (int64_t[]){INT64_MAX / 8}) && !tensor_new(c, DT_F64, 9, (int64_t[9]){0}));
	CHECK(!tensor_new(c, DT_F64, 3, (int64_t[]){0, INT64_MAX, 4}));
	Tensor *empty = tensor_new(c, DT_F32, 2, (int64_t[]){0, 4}), *scalar = tensor_new(c, DT_C128, 0, NULL);
	CHECK(empty->count == 0 && empty->contiguous && scalar->count == 1 && scalar->contiguous);
	tensor_unref(empty);
	tensor_unref(scalar);

	Tensor *view = tensor_view(c, t, 2, (int64_t[]){5, 3}, (int64_t[]){1, 5}, 0);
	CHECK(!view->contiguous && view->buffer == t->buffer && !tensor_is_unshared(t) && !tensor_is_unshared(view));
	tensor_unref(t);
	CHECK(tensor_is_unshared(view)); /* a transpose still has each element once */
	Tensor *gaps = tensor_view(c, view, 3, (int64_t[]){2, 2, 2}, (int64_t[]){1, 8, -2}, 2);
	tensor_unref(view);
	CHECK(tensor_is_unshared(gaps) && !gaps->contiguous);
	view = tensor_view(c, gaps, 2, (int64_t[]){5, 3}, (int64_t[]){1, 5}, -2);
	tensor_unref(gaps);
	Tensor *broadcast = tensor_view(c, view, 2, (int64_t[]){7, 3}, (int64_t[]){0, 5}, 1);
	tensor_unref(view);
	CHECK(!tensor_is_unshared(broadcast) && broadcast->data == (char *)broadcast->buffer->data + 8);
	Tensor *windows = tensor_view(c, broadcast, 2, (int64_t[]){4, 3}, (int64_t[]){1, 1}, 0);
	tensor_unref(broadcast);
	CHECK(!tensor_is_unshared(windows) && !windows->contiguous);
	CHECK(!tensor_view(c, windows, 2, (int64_t[]){INT64_MAX, 4}, (int64_t[]){0, 0}, 0));
	tensor_unref(windows);

	double memory[6] = {1, 2, 3, 4, 5, 6};
	int released = 0;
	Tensor *w = tensor_wrap(c, DT_F64, 2, (int64_t[]){2, 3}, NULL, memory, false, count_release, &released);
	CHECK(w->data == (char *)memory && w->contiguous && tensor_is_unshared(w));
	Tensor *row = tensor_view(c, w, 1, (int64_t[]){3}, (int64_t[]){1}, 3);
	tensor_unref(w);
	CHECK(released == 0 && tensor_get(row, (int64_t[]){2}) == 6);
	tensor_unref(row);
	CHECK(released == 1);
	w = tensor_wrap(c, DT_F64, 1, (int64_t[]){3}, (int64_t[]){-2}, memory + 4, true, NULL, NULL);
	CHECK(!tensor_is_unshared(w) && tensor_get(w, (int64_t[]){2}) == 1 && w->read_only);
	row = tensor_view(c, w, 1, (int64_t[]){2}, (int64_t[]){-2}, 0);
	CHECK(row->read_only);
	tensor_unref(row);
	tensor_unref(w);
	CHECK(!tensor_wrap(c, DT_F64, 1, (int64_t[]){3}, (int64_t[]){INT64_MAX}, memory, false, count_release, &released));
	for (uint64_t n = 1; n <= 2; n++) {
		heap_fail_at(c, n, false);
		CHECK(!tensor_wrap(c, DT_F64, 1, (int64_t[]){3}, NULL, memory, false, count_release, &released));
	}
	CHECK(released == 1);
	heap_fail_at(c, 0, false);

	Tensor *outlives = tensor_copy(c, u);
	tensor_unref(u);
	ctx_free(c);
	CHECK(k.blocks > 0);
	Tensor *other = tensor_view(NULL, outlives, 1, (int64_t[]){2}, (int64_t[]){1}, 1);
	tensor_unref(outlives);
	tensor_unref(other);
	CHECK(k.blocks == 0 && !k.wrong);
}

static void *use_tensor(void *arg) {
	Tensor *t = arg;
	for (int i = 0; i < 10000; i++) tensor_unref(tensor_ref(t));
	tensor_unref(t);
	return NULL;
}

static void test_tensor_threads(void) {
	Ctx *c = ctx_new(NULL);
	Tensor *t = tensor_zeros(c, DT_F64, 1, (int64_t[]){1000});
	pthread_t threads[4];
	for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, use_tensor, tensor_ref(t));
	tensor_unref(t);
	ctx_free(c);
	for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
	passed++;
}

typedef struct WalkLog {
	int calls;
	int64_t elements, run;
	double sum, weighted;
} WalkLog;

static void log_walk(void *ud, int64_t n, char **ptr, const int64_t *stride) {
	WalkLog *w = ud;
	w->calls++;
	w->run = n;
	for (int64_t i = 0; i < n; i++) {
		double x = *(double *)(ptr[0] + i * stride[0]);
		w->sum += x;
		w->weighted += x * *(double *)(ptr[1] + i * stride[1]);
		w->elements++;
	}
}

static void test_walk(void) {
	Ctx *c = ctx_new(NULL);
	int64_t shape[] = {3, 4, 5};
	Tensor *t = iota(c, DT_F64, 3, shape);
	WalkLog w = {0};
	tensor_walk(2, (Tensor *[]){t, t}, log_walk, &w);
	CHECK(w.calls == 1 && w.elements == 60 && w.sum == 59 * 60 / 2);
	/* The same transpose of two contiguous tensors is one run; beside a row-major tensor it is not. */
	Tensor *p = tensor_view(c, t, 3, (int64_t[]){5, 3, 4}, (int64_t[]){1, 20, 5}, 0);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){p, p}, log_walk, &w);
	CHECK(w.calls == 1 && w.elements == 60 && w.sum == 1770);
	Tensor *d = iota(c, DT_F64, 3, p->shape);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){p, d}, log_walk, &w);
	double want = 0;
	for (int64_t i = 0; i < 5; i++) {
		for (int64_t j = 0; j < 3; j++) {
			for (int64_t k = 0; k < 4; k++) want += (double)((i * 3 + j) * 4 + k) * (double)(i + j * 20 + k * 5);
		}
	}
	CHECK(w.weighted == want && w.elements == 60 && w.calls == 5 && w.run == 12);
	Tensor *b = tensor_view(c, t, 3, shape, (int64_t[]){0, 0, 1}, 0);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){b, t}, log_walk, &w);
	CHECK(w.sum == 12 * 10 && w.calls == 12);
	Tensor *back = tensor_view(c, t, 1, (int64_t[]){60}, (int64_t[]){-1}, 59);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){back, back}, log_walk, &w);
	CHECK(w.calls == 1 && w.sum == 1770);
	Tensor *ones = tensor_view(c, t, 3, (int64_t[]){1, 1, 1}, (int64_t[]){7, 8, 9}, 2);
	CHECK(ones->contiguous);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){ones, ones}, log_walk, &w);
	CHECK(w.calls == 1 && w.sum == 2);
	Tensor *empty = tensor_view(c, t, 2, (int64_t[]){0, 3}, (int64_t[]){1, 1}, 0);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){empty, empty}, log_walk, &w);
	tensor_walk(0, NULL, log_walk, &w);
	CHECK(w.calls == 0);
	/* Every view of a 4-d box by axis order, start, step and direction against element-wise reads. */
	Tensor *box = iota(c, DT_I32, 4, (int64_t[]){4, 3, 2, 5});
	bool right = true;
	for (int order = 0; order < 24; order++) {
		int axes[4], left[4] = {0, 1, 2, 3}, code = order;
		for (int i = 0; i < 4; i++) {
			int at = code % (4 - i);
			code /= 4 - i;
			axes[i] = left[at];
			for (int j = at; j < 3 - i; j++) left[j] = left[j + 1];
		}
		int64_t s[4], st[4], offset = 0;
		for (int i = 0; i < 4; i++) {
			s[i] = box->shape[axes[i]];
			st[i] = box->stride[axes[i]];
			if (order >> i & 1) {
				offset += st[i] * (s[i] - 1);
				st[i] = -st[i];
			}
		}
		Tensor *v = tensor_view(c, box, 4, s, st, offset), *flat = tensor_contiguous(c, v);
		for (int64_t i = 0; i < 120; i++) {
			int64_t index[4] = {i / (s[1] * s[2] * s[3]), i / (s[2] * s[3]) % s[1], i / s[3] % s[2], i % s[3]};
			right &=
				tensor_get(flat, index) == tensor_get(v, index) && ((int32_t *)flat->data)[i] == tensor_get(v, index);
		}
		tensor_unref(flat);
		tensor_unref(v);
	}
	CHECK(right);
	Tensor *all[] = {t, p, d, b, back, ones, empty, box};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
	ctx_free(c);
}

static void test_copies(void) {
	Ctx *c = ctx_new(NULL);
	const Dtype dtypes[] = {DT_BOOL, DT_I32, DT_F64, DT_C128};
	for (int i = 0; i < 4; i++) {
		Tensor *t = iota(c, dtypes[i], 2, (int64_t[]){4, 6});
		Tensor *v = tensor_view(c, t, 2, (int64_t[]){3, 4}, (int64_t[]){2, 6}, 1), *copy = tensor_contiguous(c, v);
		CHECK(copy != v && copy->contiguous && tensor_same_shape(copy, v) && !tensor_same_shape(copy, t));
		bool same = true;
		for (int64_t r = 0; r < 3; r++) {
			for (int64_t q = 0; q < 4; q++)
				same &= tensor_get(copy, (int64_t[]){r, q}) == tensor_get(v, (int64_t[]){r, q});
		}
		CHECK(same);
		Tensor *zeros = tensor_zeros(c, dtypes[i], 2, v->shape);
		tensor_assign(v, zeros);
		CHECK(tensor_get(t, (int64_t[]){0, 1}) == 0 && tensor_get(t, (int64_t[]){1, 2}) == (i ? 8 : 1));
		Tensor *self = tensor_contiguous(c, t);
		CHECK(self == t);
		Tensor *all[] = {t, t, v, copy, zeros};
		for (int k = 0; k < 5; k++) tensor_unref(all[k]);
	}
	ctx_free(c);
}

static void test_convert(void) {
	Ctx *c = ctx_new(NULL);
	/* Each pair, contiguous and strided, on values that every dtype but bool holds. */
	for (int from = 0; from < DT_COUNT; from++) {
		Tensor *source = iota(c, (Dtype)from, 1, (int64_t[]){7});
		Tensor *reversed = tensor_view(c, source, 1, (int64_t[]){7}, (int64_t[]){-1}, 6);
		for (int to = 0; to < DT_COUNT; to++) {
			Tensor *a = tensor_new(c, (Dtype)to, 1, (int64_t[]){7}), *b = tensor_new(c, (Dtype)to, 1, (int64_t[]){7});
			tensor_convert_into(a, source);
			tensor_convert_into(b, reversed);
			bool right = true;
			for (int64_t i = 0; i < 7; i++) {
				double want = from == DT_BOOL || to == DT_BOOL ? i != 0 : (double)i;
				right &= tensor_get(a, (int64_t[]){i}) == want && tensor_get(b, (int64_t[]){6 - i}) == want;
			}
			CHECK(right);
			tensor_unref(a);
			tensor_unref(b);
		}
		tensor_unref(reversed);
		tensor_unref(source);
	}
	double hard[] = {NAN,  INFINITY,     -INFINITY,     1e30,   -1e30,   2.9,
	                 -2.9, 2147483647.5, -2147483648.5, 0x1p63, -0x1p63, -0.0};
	enum { N = sizeof hard / sizeof *hard };
	const int32_t want32[N] = {0,  INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 2,
	                           -2, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0};
	const int64_t want64[N] = {0,  INT64_MAX,  INT64_MIN,   INT64_MAX, INT64_MIN, 2,
	                           -2, 2147483647, -2147483648, INT64_MAX, INT64_MIN, 0};
	const bool want_bool[N] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
	Tensor *h = tensor_wrap(c, DT_F64, 1, (int64_t[]){N}, NULL, hard, true, NULL, NULL);
	Tensor *i32 = tensor_new(c, DT_I32, 1, (int64_t[]){N}), *i64 = tensor_new(c, DT_I64, 1, (int64_t[]){N});
	Tensor *b = tensor_new(c, DT_BOOL, 1, (int64_t[]){N}), *f32 = tensor_new(c, DT_F32, 1, (int64_t[]){N});
	tensor_convert_into(i32, h);
	tensor_convert_into(i64, h);
	tensor_convert_into(b, h);
	CHECK(!memcmp(i32->data, want32, sizeof want32) && !memcmp(i64->data, want64, sizeof want64));
	CHECK(!memcmp(b->data, want_bool, sizeof want_bool));
	tensor_convert_into(f32, h);
	tensor_convert_into(i32, f32);
	CHECK(((int32_t *)i32->data)[0] == 0 && ((int32_t *)i32->data)[3] == INT32_MAX && ((int32_t *)i32->data)[6] == -2);
	tensor_convert_into(i64, f32);
	CHECK(((int64_t *)i64->data)[9] == INT64_MAX && ((int64_t *)i64->data)[10] == INT64_MIN);
	int64_t exact[] = {INT64_MAX, INT64_MIN, (INT64_C(1) << 53) + 1, 5};
	Tensor *e = tensor_wrap(c, DT_I64, 1, (int64_t[]){4}, NULL, exact, true, NULL, NULL),
	       *narrow = tensor_new(c, DT_I32, 1, e->shape);
	tensor_convert_into(narrow, e);
	const int32_t want_narrow[] = {INT32_MAX, INT32_MIN, INT32_MAX, 5};
	CHECK(!memcmp(narrow->data, want_narrow, sizeof want_narrow));
	double _Complex z[] = {3.5 - 2.0 * I, 2.0 * I};
	Tensor *zt = tensor_wrap(c, DT_C128, 1, (int64_t[]){2}, NULL, z, true, NULL, NULL);
	Tensor *zf = tensor_new(c, DT_F64, 1, zt->shape), *zb = tensor_new(c, DT_BOOL, 1, zt->shape),
	       *z64 = tensor_new(c, DT_C64, 1, zt->shape);
	tensor_convert_into(zf, zt);
	tensor_convert_into(zb, zt);
	tensor_convert_into(z64, zt);
	CHECK(((double *)zf->data)[0] == 3.5 && ((double *)zf->data)[1] == 0 && zb->data[1] == 1);
	CHECK(((float *)z64->data)[1] == -2.0f && ((float *)z64->data)[3] == 2.0f);
	Tensor *all[] = {h, i32, i64, b, f32, e, narrow, zt, zf, zb, z64};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
	ctx_free(c);
}

static void test_push_row(void) {
	Ctx *c = ctx_new(NULL);
	size_t before = heap_used(c);
	Tensor *t = tensor_new(c, DT_F64, 2, (int64_t[]){0, 3});
	uint64_t allocations = heap_allocation_count(c);
	for (int64_t i = 0; i < 10000; i++) {
		t = tensor_push_row(c, t);
		for (int k = 0; k < 3; k++) ((double *)t->data)[i * 3 + k] = (double)(i + k);
	}
	CHECK(t->shape[0] == 10000 && t->count == 30000 && t->contiguous && heap_allocation_count(c) - allocations < 60);
	bool right = true;
	for (int64_t i = 0; i < 10000; i++) right &= ((double *)t->data)[i * 3 + 2] == (double)(i + 2);
	CHECK(right && t->buffer->bytes < 3 * 10000 * 3 * 8);

	Tensor *shared = tensor_ref(t), *grown = tensor_push_row(c, t);
	CHECK(grown != shared && shared->shape[0] == 10000 && grown->shape[0] == 10001 && grown->data != shared->data);
	CHECK(!memcmp(grown->data, shared->data, 240000));
	tensor_unref(grown);
	Tensor *v = tensor_view(c, shared, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
	v = tensor_push_row(c, v);
	CHECK(v->contiguous && v->shape[0] == 4 && tensor_get(v, (int64_t[]){1, 1}) == 2);
	tensor_unref(v);
	for (uint64_t n = 1; n <= 3; n++) {
		tensor_ref(shared);
		heap_fail_at(c, n, n > 1);
		Tensor *r = tensor_push_row(c, shared);
		heap_fail_at(c, 0, false);
		CHECK((r != NULL) == (n != 2)); /* the first failure is made good with a smaller buffer */
		tensor_unref(r);
	}
	tensor_unref(shared);
	Tensor *one = tensor_new(c, DT_BOOL, 1, (int64_t[]){1});
	one->data[0] = 1;
	char *data = one->data;
	one = tensor_push_row(c, one);
	CHECK(one->data == data && one->shape[0] == 2); /* the padding is room */
	tensor_unref(one);
	CHECK(!tensor_push_row(c, tensor_new(c, DT_F64, 0, NULL)));
	double memory[2] = {1, 2};
	Tensor *w = tensor_push_row(c, tensor_wrap(c, DT_F64, 1, (int64_t[]){1}, NULL, memory, false, NULL, NULL));
	CHECK(w->data != (char *)memory && tensor_get(w, (int64_t[]){0}) == 1 && memory[1] == 2);
	tensor_unref(w);
	CHECK(heap_used(c) == before);
	ctx_free(c);
}

static void test_tensor_failures(void) {
	for (uint64_t n = 1; n < 12; n++) {
		Ctx *c = ctx_new(NULL);
		heap_fail_at(c, n, true);
		Tensor *t = tensor_zeros(c, DT_F64, 2, (int64_t[]){2, 3});
		if (t) {
			Tensor *v = tensor_view(c, t, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
			Tensor *k = v ? tensor_contiguous(c, v) : NULL, *m = tensor_copy(c, t);
			tensor_unref(m);
			tensor_unref(k);
			tensor_unref(v);
			CHECK(tensor_is_unshared(t) && t->shape[0] == 2);
		}
		tensor_unref(t);
		CHECK((t != NULL) == (n > 2));
		ctx_free(c);
	}
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static char printed[4096];

static const char *finish_text(Text *t) {
	snprintf(printed, sizeof printed, "%s", t->at ? t->at : "");
	text_free(t);
	return printed;
}

static const char *print_spec(Ctx *c, Value v, const char *spec, int edge) {
	Text t;
	text_init(&t, c);
	value_print(&t, v, spec, edge);
	return finish_text(&t);
}

static const char *print(Ctx *c, Value v) {
	return print_spec(c, v, "", 0);
}

static Value f32(float x) {
	return (Value){.kind = V_SCALAR, .dtype = DT_F32, .f32 = x};
}

static void test_print_scalars(void) {
	Ctx *c = ctx_new(NULL);
	static const struct {
		double x;
		const char *text;
	} reals[] = {{2, "2.0"},
	             {-0.0, "-0.0"},
	             {0.1, "0.1"},
	             {0.1 + 0.2, "0.30000000000000004"},
	             {1e20, "1e+20"},
	             {1.0 / 3, "0.3333333333333333"},
	             {123456789, "123456789.0"},
	             {5e-324, "4.94065645841247e-324"},
	             {NAN, "nan"},
	             {-NAN, "nan"},
	             {-INFINITY, "-inf"}};
	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
		CHECK_TEXT(print(c, value_f64(reals[i].x)), reals[i].text);
	uint64_t seed = 1;
	for (int i = 0; i < 2000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		double x;
		memcpy(&x, &seed, sizeof x);
		if (!isfinite(x)) continue;
		CHECK(strtod(print(c, value_f64(x)), NULL) == x);
		CHECK(strtof(print(c, f32((float)i / 7)), NULL) == (float)i / 7);
	}
	CHECK_TEXT(print(c, f32(0.1f)), "0.1");
	CHECK_TEXT(print(c, f32(16777216)), "16777216.0");
	CHECK_TEXT(print(c, value_i64(INT64_MIN)), "-9223372036854775808");
	CHECK_TEXT(print(c, value_bool(true)), "true");
	CHECK_TEXT(print(c, value_c128(3 + 2 * I)), "3 + 2im");
	CHECK_TEXT(print(c, value_c128(0.1 - 2.5 * I)), "0.1 - 2.5im");
	CHECK_TEXT(print(c, (Value){.kind = V_SCALAR, .dtype = DT_C64, .c64 = 0.1f + 1.0f * I}), "0.1 + 1im");
	CHECK_TEXT(print(c, value_none()), "none");
	CHECK_TEXT(print(c, (Value){.kind = V_TOKEN}), "token");
	CHECK_TEXT(print(c, (Value){0}), "");

	CHECK_TEXT(print_spec(c, value_f64(1234.5), ".3e", 0), "1.234e+03");
	CHECK_TEXT(print_spec(c, value_f64(3.14159), "8.2f", 0), "    3.14");
	CHECK_TEXT(print_spec(c, value_f64(3.14159), "-8.2f", 0), "3.14    ");
	CHECK_TEXT(print_spec(c, value_f64(2.6), "d", 0), "3");
	CHECK_TEXT(print_spec(c, value_f64(-NAN), "+.1f", 0), "+nan");
	CHECK_TEXT(print_spec(c, value_i64(5), ".2f", 0), "5.00");
	CHECK_TEXT(print_spec(c, value_i64(5), "04d", 0), "0005");
	CHECK_TEXT(print_spec(c, value_i64(255), "#x", 0), "0xff");
	CHECK_TEXT(print_spec(c, (Value){.kind = V_SCALAR, .dtype = DT_I32, .i32 = -1}, "x", 0), "ffffffff");
	CHECK_TEXT(print_spec(c, value_bool(true), "3d", 0), "  1");
	CHECK_TEXT(print_spec(c, value_bool(true), "6s", 0), "  true");
	CHECK_TEXT(print_spec(c, value_c128(1 - 2 * I), ".1f", 0), "1.0 - 2.0im");
	static const char *const bad[] = {"n", "s%n", "%d", ".3", "1000f", ".1000f", "lld", "5", "*d", "99999999999999f"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK_TEXT(print_spec(c, value_f64(1.5), bad[i], 0), "1.5");
	CHECK(strlen(print_spec(c, value_f64(1e308), "999.999f", 0)) == 309 + 1 + 999);
	CHECK_TEXT(print_spec(c, value_f64(1.5), NULL, 0), "1.5");
	ctx_free(c);
}

static void test_print_tensors(void) {
	Ctx *c = ctx_new(NULL);
	double memory[] = {1, 2.5, -3, 1.0 / 3, NAN, 1e10};
	Tensor *t = tensor_wrap(c, DT_F64, 2, (int64_t[]){2, 3}, NULL, memory, true, NULL, NULL);
	CHECK_TEXT(print(c, value_tensor(t)), "[[1, 2.5, -3], [0.333333, nan, 1e+10]]");
	CHECK_TEXT(print_spec(c, value_tensor(t), ".1f", 0), "[[1.0, 2.5, -3.0], [0.3, nan, 10000000000.0]]");
	Tensor *v = tensor_view(c, t, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
	CHECK_TEXT(print(c, value_tensor(v)), "[[1, 0.333333], [2.5, nan], [-3, 1e+10]]");
	Tensor *n = iota(c, DT_I64, 1, (int64_t[]){10}), *m = iota(c, DT_I64, 2, (int64_t[]){5, 5});
	CHECK_TEXT(print(c, value_tensor(n)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]");
	CHECK_TEXT(print_spec(c, value_tensor(n), "", 2), "[0, 1, ..., 8, 9]");
	CHECK_TEXT(print_spec(c, value_tensor(n), "", 5), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]");
	CHECK_TEXT(print_spec(c, value_tensor(m), "2d", 1), "[[ 0, ...,  4], ..., [20, ..., 24]]");
	Tensor *b = iota(c, DT_BOOL, 1, (int64_t[]){2}), *z = iota(c, DT_C64, 1, (int64_t[]){2});
	CHECK_TEXT(print(c, value_tensor(b)), "[false, true]");
	CHECK_TEXT(print(c, value_tensor(z)), "[0 + 0im, 1 + 0im]");
	Tensor *e = tensor_new(c, DT_F32, 2, (int64_t[]){2, 0}), *s = iota(c, DT_F64, 0, NULL);
	CHECK_TEXT(print(c, value_tensor(e)), "[[], []]");
	CHECK_TEXT(print(c, value_tensor(s)), "0.0");

	Text h;
#define HEADER(x) (text_init(&h, c), value_header(&h, x), finish_text(&h))
	CHECK_TEXT(HEADER(value_tensor(t)), "f64[2, 3]  48 B  min -3  max 1e+10  nan 1");
	CHECK_TEXT(HEADER(value_tensor(n)), "i64[10]  80 B  min 0  max 9");
	CHECK_TEXT(HEADER(value_tensor(b)), "bool[2]  2 B  true 1");
	CHECK_TEXT(HEADER(value_tensor(z)), "c64[2]  16 B  min abs 0  max abs 1");
	CHECK_TEXT(HEADER(value_tensor(e)), "f32[2, 0]  0 B");
	CHECK_TEXT(HEADER(value_f64(1)), "f64");
	Tensor *big = tensor_zeros(c, DT_F64, 2, (int64_t[]){64, 64}), *odd = tensor_zeros(c, DT_F64, 1, (int64_t[]){192});
	CHECK_TEXT(HEADER(value_tensor(big)), "f64[64, 64]  32 KB  min 0  max 0");
	CHECK_TEXT(HEADER(value_tensor(odd)), "f64[192]  1.5 KB  min 0  max 0");

	/* Output does not follow the host's locale, where one with a comma is installed. */
	const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
	for (int i = 0; i < 3; i++) {
		if (!setlocale(LC_NUMERIC, locales[i])) continue;
		CHECK_TEXT(print(c, value_f64(2.5)), "2.5");
		CHECK_TEXT(print_spec(c, value_tensor(t), ".1f", 1), "[[1.0, ..., -3.0], [0.3, ..., 10000000000.0]]");
		break;
	}
	setlocale(LC_NUMERIC, "C");
	Tensor *all[] = {t, v, n, m, b, z, e, s, big, odd};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
	ctx_free(c);
}

static void test_containers(void) {
	Counting k = {.fail_after = -1};
	HostAllocator host = {.resize = counting_resize, .ud = &k};
	Ctx *c = ctx_new(&host);
	size_t before = heap_used(c);
	Atom names[] = {atom(c, "W"), atom(c, "b")};
	before = heap_used(c);
	Value w = value_tensor(iota(c, DT_F64, 2, (int64_t[]){2, 2})), s = value_string(c, "a\"b\n\\é\x01", 8);
	Value r = value_record(c, 2, names, (Value[]){w, value_f64(0)});
	Value range = value_range(c, 0, 5, 1), by = value_range(c, 10, 0, -2);
	Value f = value_function(c, V_FUNCTION, 1, 7, "code", names[0], 1, names, &w);
	Value anonymous = value_function(c, V_FUNCTION, 1, 8, "code", 0, 0, NULL, NULL);
	Value problem = value_function(c, V_PROBLEM, 2, 9, "code", names[1], 0, NULL, NULL);
	Value tuple = value_seq(c, V_TUPLE, 3, (Value[]){value_i64(1), s, value_none()});
	Value list = value_seq(c, V_LIST, 2, (Value[]){r, f}), single = value_seq(c, V_TUPLE, 1, &range),
	      none = value_seq(c, V_TUPLE, 0, NULL);
	CHECK_TEXT(print(c, r), "(W = [[0, 1], [2, 3]], b = 0.0)");
	CHECK_TEXT(print(c, s), "a\"b\n\\é\x01");
	CHECK_TEXT(print_spec(c, s, "10.1s", 0), "         a");
	CHECK_TEXT(print_spec(c, s, "-3.1s", 0), "a  ");
	CHECK_TEXT(print(c, range), "0..5");
	CHECK_TEXT(print(c, by), "10..0 by -2");
	CHECK_TEXT(print(c, f), "<function W>");
	CHECK_TEXT(print(c, anonymous), "<function>");
	CHECK_TEXT(print(c, problem), "<problem b>");
	CHECK_TEXT(print(c, tuple), "(1, \"a\\\"b\\n\\\\é\\u{1}\", none)");
	CHECK_TEXT(print(c, list), "list((W = [[0, 1], [2, 3]], b = 0.0), <function W>)");
	CHECK_TEXT(print(c, single), "(0..5,)");
	CHECK_TEXT(print(c, none), "()");
	Text t;
#define TYPE(x) (text_init(&t, c), value_type_print(&t, x), finish_text(&t))
	CHECK_TEXT(TYPE(r), "record (W: f64[2, 2], b: f64)");
	CHECK_TEXT(TYPE(tuple), "tuple (i64, string, none)");
	CHECK_TEXT(TYPE(list), "list (record (W: f64[2, 2], b: f64), function)");
	CHECK_TEXT(TYPE(problem), "problem");
	CHECK_TEXT(TYPE(value_bool(1)), "bool");

	CHECK(value_field(r, names[0]).tensor == w.tensor && value_field(r, names[1]).kind == V_SCALAR);
	CHECK(value_field(r, atom(c, "")).kind == V_UNSET && value_field(s, names[0]).kind == V_UNSET);
	Value copy = value_tensor(tensor_copy(c, w.tensor));
	Value r2 = value_record(c, 2, names, (Value[]){copy, value_f64(0)}),
	      r3 = value_record(c, 2, names, (Value[]){copy, value_f64(-0.0)});
	CHECK(value_identical(r, r2) && value_identical(r, r) && !value_identical(r, r3) && !value_identical(r, s));
	Value s2 = value_string(c, "x", 1), f2 = value_function(c, V_FUNCTION, 1, 7, "code", names[0], 1, names, &copy);
	CHECK(!value_identical(s, s2) && !value_identical(range, by) && !value_identical(f, anonymous) &&
	      !value_identical(tuple, none));
	Value s3 = value_string(c, "y", 1), s4 = value_string(c, "y", 1);
	CHECK(!value_identical(s2, s3) && value_identical(s3, s4));
	value_unref(s3);
	value_unref(s4);
	CHECK(value_identical(none, none) && value_identical(value_none(), value_none()));
	Value other_code = value_function(c, V_FUNCTION, 1, 6, "code", names[0], 1, names, &copy);
	CHECK(!value_identical(f, other_code));
	FunctionObject *code = (FunctionObject *)f.object, *code2 = (FunctionObject *)f2.object;
	code2->code = code->code;
	CHECK(value_identical(f, f2) && code->code_id == 7 && code->captured[0].name == names[0]);
	CHECK(value_identical(value_f64(NAN), value_f64(NAN)) && !value_identical(value_f64(0), value_i64(0)));
	const double nan_one[] = {NAN, 1}, minus_nan_one[] = {-NAN, 1};
	CHECK(value_identical(value_scalar_from_bytes(DT_C128, nan_one), value_scalar_from_bytes(DT_C128, minus_nan_one)));
	CHECK(!value_identical(value_c128(1), value_c128(I)));

	Value held = value_ref(list);
	Value all[] = {w,    s,      r,    range, by, f,  anonymous, problem, tuple,
	               list, single, none, copy,  r2, r3, s2,        f2,      other_code};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) value_unref(all[i]);
	CHECK_TEXT(print(c, held), "list((W = [[0, 1], [2, 3]], b = 0.0), <function W>)");
	value_unref(held);
	value_unref(value_f64(1));
	CHECK(heap_used(c) == before);

	/* A list nested a hundred thousand deep is printed in part, compared and released in bounded C stack. */
	Value deep = value_none(), deep2 = value_none();
	for (int i = 0; i < 100000; i++) {
		Value next = value_seq(c, V_LIST, 1, &deep), next2 = value_seq(c, V_TUPLE, 1, &next);
		value_unref(deep);
		value_unref(next);
		deep = next2;
		next = value_seq(c, V_LIST, 1, &deep2), next2 = value_seq(c, V_TUPLE, 1, &next);
		value_unref(deep2);
		value_unref(next);
		deep2 = next2;
	}
	CHECK(value_identical(deep, deep2) && strstr(print(c, deep), "..."));
	CHECK(strlen(TYPE(deep)) < 200);
	value_unref(deep);
	value_unref(deep2);
	/* A list that holds a list twice, sixty levels deep, has 2^60 leaves. */
	deep = value_none(), deep2 = value_none();
	for (int i = 0; i < 60; i++) {
		Value next = value_seq(c, V_LIST, 2, (Value[]){deep, deep}),
		      next2 = value_seq(c, V_LIST, 2, (Value[]){deep2, deep2});
		value_unref(deep);
		value_unref(deep2);
		deep = next, deep2 = next2;
	}
	Text flood;
	text_init(&flood, c);
	value_print(&flood, deep, "", 0);
	CHECK(flood.n > 1000 && flood.n < 20u << 20);
	text_free(&flood);
	CHECK(strlen(TYPE(deep)) > 10 && !value_identical(deep, deep2));
	value_unref(deep);
	value_unref(deep2);
	CHECK(heap_used(c) == before);
	ctx_free(c);
	CHECK(k.blocks == 0 && !k.wrong);
}

static void test_conversions(void) {
	Ctx *c = ctx_new(NULL);
	double x;
	int64_t i;
	bool b;
	Value i32 = {.kind = V_SCALAR, .dtype = DT_I32, .i32 = -4}, c64 = {.kind = V_SCALAR, .dtype = DT_C64, .c64 = 1};
	CHECK(value_as_f64(value_f64(2.5), &x) && x == 2.5 && value_as_f64(value_i64(3), &x) && x == 3);
	CHECK(value_as_f64(i32, &x) && x == -4 && value_as_f64(f32(0.5f), &x) && x == 0.5 &&
	      value_as_f64(value_bool(1), &x) && x == 1);
	CHECK(!value_as_f64(c64, &x) && !value_as_f64(value_none(), &x));
	CHECK(value_as_i64(value_f64(2), &i) && i == 2 && !value_as_i64(value_f64(2.5), &i) &&
	      !value_as_i64(value_f64(NAN), &i));
	CHECK(!value_as_i64(value_f64(0x1p63), &i) && value_as_i64(value_f64(-0x1p63), &i) && i == INT64_MIN);
	CHECK(value_as_i64(i32, &i) && i == -4 && value_as_i64(f32(7), &i) && i == 7 && value_as_i64(value_bool(0), &i) &&
	      i == 0);
	CHECK(!value_as_i64(c64, &i) && value_as_i64(value_i64(INT64_MAX), &i) && i == INT64_MAX);
	CHECK(value_as_bool(value_bool(true), &b) && b && !value_as_bool(value_i64(1), &b) &&
	      !value_as_bool(value_none(), &b));
	for (int d = 0; d < DT_COUNT; d++) {
		Tensor *t = tensor_zeros(c, (Dtype)d, 0, NULL);
		t->data[0] = 1;
		Value v = value_from_tensor(t);
		CHECK(v.kind == V_SCALAR && value_dtype(v) == (Dtype)d && value_rank(v) == 0 && value_is_array(v));
		Tensor *back = value_to_tensor(c, v);
		CHECK(back->data[0] == 1 && back->dtype == d && back->rank == 0);
		CHECK(value_identical(value_scalar_from_bytes((Dtype)d, back->data), v));
		Value boxed = value_tensor(back);
		CHECK(dtype_is_complex((Dtype)d) || (value_as_f64(boxed, &x) && value_as_f64(v, &x)));
		value_unref(boxed);
	}
	Value v = value_from_tensor(tensor_zeros(c, DT_F32, 1, (int64_t[]){3}));
	Tensor *t = value_to_tensor(c, v);
	CHECK(v.kind == V_TENSOR && t == v.tensor && value_dtype(v) == DT_F32 && value_rank(v) == 1 &&
	      !value_as_f64(v, &x));
	tensor_unref(t);
	value_unref(v);
	CHECK(value_from_tensor(NULL).kind == V_UNSET && !value_to_tensor(c, value_none()) &&
	      value_dtype(value_none()) == DT_COUNT);
	ctx_free(c);
}

static void test_value_failures(void) {
	for (uint64_t n = 1; n < 25; n++) {
		Counting k = {.fail_after = -1};
		HostAllocator host = {.resize = counting_resize, .ud = &k};
		Ctx *c = ctx_new(&host);
		Atom name = atom(c, "a");
		size_t before = heap_used(c);
		heap_fail_at(c, n, n % 3 != 0);
		Value v[6] = {value_string(c, "text", 4), value_range(c, 0, 4, 1)};
		v[2] = value_seq(c, V_LIST, 2, v);
		v[3] = value_record(c, 1, &name, &v[2]);
		v[4] = value_function(c, V_FUNCTION, 0, 0, NULL, name, 1, &name, &v[3]);
		v[5] = value_seq(c, V_TUPLE, 5, v);
		for (int i = 0; i < 6; i++) CHECK(v[i].kind != V_UNSET || n <= 6);
		Text t;
		text_init(&t, c);
		value_print(&t, v[5], "", 0);
		for (int i = 0; i < 100; i++) text_format(&t, "%s %d, ", "line", i);
		CHECK(t.failed || t.at[t.n] == 0);
		CHECK(!t.at || strlen(t.at) == t.n);
		text_free(&t);
		heap_fail_at(c, 0, false);
		for (int i = 0; i < 6; i++) value_unref(v[i]);
		CHECK(heap_used(c) == before);
		ctx_free(c);
		CHECK(k.blocks == 0 && !k.wrong);
	}
}

static void test_text(void) {
	Ctx *c = ctx_new(NULL);
	Text t;
	text_init(&t, c);
	text_free(&t);
	text_add(&t, NULL, 0);
	CHECK(t.at && t.at[0] == 0);
	for (int i = 0; i < 1000; i++) text_str(&t, "ab");
	text_format(&t, "%d", 12);
	CHECK(t.n == 2002 && !strcmp(t.at + 1998, "ab12") && !t.failed);
	text_add(&t, "x", SIZE_MAX / 2);
	CHECK(t.failed && t.n == 2002);
	text_str(&t, "ignored");
	CHECK(t.n == 2002);
	text_free(&t);
	ctx_free(c);
}

int main(void) {
	static void (*const tests[])(void) = {test_heap,           test_ctx_new_failures,
	                                      test_protect,        test_throw_unprotected,
	                                      test_atoms,          test_atom_failures,
	                                      test_polls,          test_grants_output_slots,
	                                      test_arena,          test_sources,
	                                      test_render,         test_diag_store,
	                                      test_nearest,        test_dtypes,
	                                      test_dim_algebra,    test_dim_random,
	                                      test_dim_overflow,   test_types,
	                                      test_dim_failures,   test_tensor_life,
	                                      test_tensor_threads, test_walk,
	                                      test_copies,         test_convert,
	                                      test_push_row,       test_tensor_failures,
	                                      test_print_scalars,  test_print_tensors,
	                                      test_containers,     test_conversions,
	                                      test_value_failures, test_text};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) tests[i]();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
