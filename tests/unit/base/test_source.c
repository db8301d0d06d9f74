/* test_source.c - unit tests of sources and interned spans.
 *
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "lang/base/source.h"
#include "tests/unit/base/help.h"

/* Spans after a mark are forgotten, and a source without holders. The earlier
 * spans are found as before, whatever their order in the table. */
static void test_source_release(void) {
	Ctx *c = ctx_new(NULL);
	SourceId s = source_add(c, "kept.dsl", "a + b\n", 6);
	SpanId kept[700];
	uint32_t random = 12345;
	SourceId other = 0;
	for (uint32_t round = 0; round < 40; round++) {
		/* The table grows in some rounds, while it has spans to forget. */
		for (uint32_t i = 17 * round; i < 17 * (round + 1); i++)
			kept[i] = span_intern(c, span_made(s, i, i + 5));
		spans_mark(c);
		const size_t before = heap_used(c);
		SourceId fresh = source_add(c, "new.dsl", "x\ny\n", 4);
		source_count(c, fresh);
		for (uint32_t i = 0; i < 300; i++) {
			random = random * 1664525u + 1013904223u;
			(void)span_intern(c, span_made(random >> 31 ? s : fresh, random >> 8 & 0xfff, 5000));
		}
		CHECK(!strcmp(source_name(c, fresh), "new.dsl") && source_known(c, fresh));
		source_hold(c, fresh);
		source_drop(c, fresh);
		source_hold(c, s); /* it is not counted */
		source_drop(c, s);
		sources_free(c);
		CHECK(source_known(c, fresh));
		spans_release(c);
		source_drop(c, fresh);
		sources_free(c);
		CHECK(!source_known(c, fresh) && source_known(c, s));
		CHECK(!round || fresh == other);
		other = fresh;
		CHECK(round < 20 || heap_used(c) == before);
		bool found = true;
		for (uint32_t i = 0; i < 17 * (round + 1); i++)
			found &= span_intern(c, span_made(s, i, i + 5)) == kept[i];
		CHECK(found && spans_end(c) <= 1 + 17 * (round + 1) + 300);
	}
	ctx_free(c);
}

/* Spans that are not used any more are freed, and their ids used again. */
static void test_spans_keep(void) {
	enum { N = 1000 };
	Ctx *c = ctx_new(NULL);
	SourceId s = source_add(c, "kept.dsl", "a + b\n", 6), other = source_add(c, "b.dsl", "b\n", 2);
	SpanId id[N];
	bool used[2 * N] = {false}, mentioned[8];
	for (uint32_t i = 0; i < N; i++) id[i] = span_intern(c, span_made(i % 2 ? s : other, i, i + 3));
	for (uint32_t i = 1; i < N; i += 2) used[id[i]] = i % 3 == 0;
	spans_keep(c, used);
	const SpanId end = spans_end(c);
	bool right = true;
	for (uint32_t i = 0; i < N; i++) {
		const Span at = span_of(c, id[i]);
		right &= used[id[i]] ? at.source == s && at.start == i : !at.source;
	}
	CHECK(right);
	CHECK(sources_end(c) <= sizeof mentioned);
	sources_mentioned(c, mentioned);
	CHECK(mentioned[s] && !mentioned[other]);
	for (uint32_t i = 0; i < N; i++)
		right &= !used[id[i]] || span_intern(c, span_made(s, i, i + 3)) == id[i];
	for (uint32_t i = 0; i < N / 2; i++) (void)span_intern(c, span_made(other, i, i + 9));
	CHECK(right && spans_end(c) == end);
	spans_release(c); /* those since spans_keep */
	sources_mentioned(c, mentioned);
	CHECK(mentioned[s] && !mentioned[other]);
	ctx_free(c);
}

int main(void) {
	test_source_release();
	test_spans_keep();
	return check_end();
}
