/* help.h - shared helpers of the plotting tests: a temporary folder, random
 * values, written files and text, text positions, a counting and failing
 * allocator.
 *
 * Needs: repl/plot/, check.h.
 * Guarantees: the folder is in $TMPDIR or /tmp; test_end fails when it is not
 * empty.
 */
#ifndef ATLED_TESTS_UNIT_PLOT_HELP_H
#define ATLED_TESTS_UNIT_PLOT_HELP_H

#include "repl/plot/internal.h"
#include "tests/unit/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Test {
	char folder[200];
	uint64_t seed;
} Test;

/* Makes the folder; prints a message and returns false on failure. */
static inline bool test_begin(Test *t, const char *name) {
	const char *base = getenv("TMPDIR");
	snprintf(t->folder, sizeof t->folder, "%.150s/%.30s-XXXXXX", base && *base ? base : "/tmp",
	         name);
	if (mkdtemp(t->folder)) return true;
	printf("cannot make a folder for the test\n");
	return false;
}

/* Removes the folder and ends like check_end. */
static inline int test_end(Test *t) {
	CHECK(rmdir(t->folder) == 0);
	return check_end();
}

/* Uniform in [0, 1). */
static inline double uniform(Test *t) {
	t->seed = t->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(t->seed >> 11) / 9007199254740992.0;
}

static inline const char *file_in(Test *t, const char *name, char out[300]) {
	snprintf(out, 300, "%s/%s", t->folder, name);
	return out;
}

/* Returns the contents of a file with a zero appended, or NULL when it cannot
 * be read. The caller frees it. */
static inline char *read_whole(const char *path, size_t *n) {
	*n = 0;
	FILE *file = fopen(path, "rb");
	if (!file) return NULL;
	size_t cap = 1 << 16;
	char *bytes = malloc(cap);
	for (size_t got; bytes && (got = fread(bytes + *n, 1, cap - *n - 1, file)) > 0;) {
		*n += got;
		if (cap - *n < 2) bytes = realloc(bytes, cap *= 2);
	}
	fclose(file);
	if (bytes) bytes[*n] = 0;
	return bytes;
}

/* ---- positions of text --------------------------------------------------- */

static inline PlotRect text_box(const PlotPrimitive *p) {
	double width = font_width(p->text, p->size), x = p->points[0].x, y = p->points[0].y;
	double shift = p->anchor == ANCHOR_MIDDLE ? width / 2 : p->anchor == ANCHOR_END ? width : 0;
	double up = 0.76 * p->size, low = 0.1 * p->size;
	if (p->angle == 90) return (PlotRect){x - up, y + shift - width, x + low, y + shift};
	return (PlotRect){x - shift, y - up, x - shift + width, y + low};
}

static inline bool apart(PlotRect a, PlotRect b) {
	return a.x1 <= b.x0 || b.x1 <= a.x0 || a.y1 <= b.y0 || b.y1 <= a.y0;
}

static inline bool is_upright_text(const PlotPrimitive *p) {
	return p->kind == PRIM_TEXT && (p->angle == 0 || p->angle == 90);
}

/* Checks that no upright or horizontal text overlaps another or leaves the
 * picture by more than `outside`. */
static inline void check_texts(const Scene *s, double outside) {
	bool inside = true, clear = true;
	for (const PlotPrimitive *p = s->first; p; p = p->next) {
		if (!is_upright_text(p)) continue;
		PlotRect a = text_box(p);
		inside = inside && a.x0 >= -outside && a.y0 >= -outside && a.x1 <= s->width + outside &&
		         a.y1 <= s->height + outside;
		for (const PlotPrimitive *q = p->next; q; q = q->next) {
			if (!is_upright_text(q) || apart(a, text_box(q))) continue;
			clear = false;
			printf("  \"%s\" lies over \"%s\" at %g by %g\n", p->text, q->text, s->width,
			       s->height);
		}
		if (!inside)
			printf("  \"%s\" leaves %g by %g: %g %g %g %g\n", p->text, s->width, s->height, a.x0,
			       a.y0, a.x1, a.y1);
	}
	CHECK(inside);
	CHECK(clear);
}

/* ---- terminal output ----------------------------------------------------- */

typedef struct Text {
	char *at;
	size_t n;
	int calls;
} Text;

static inline void take_text(void *ud, const char *text, size_t n) {
	Text *out = ud;
	out->at = realloc(out->at, out->n + n + 1);
	memcpy(out->at + out->n, text, n);
	out->n += n;
	out->at[out->n] = 0;
	out->calls++;
}

/* ---- counting and failing allocator -------------------------------------- */

/* Calls fail from number fail_from on (-1: none), fail_for of them (0: all). */
typedef struct Meter {
	long calls, fail_from, fail_for, blocks;
	size_t held;
	bool wrong; /* a size differed from the allocated one */
} Meter;

static inline void *meter_resize(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
	Meter *m = ud;
	size_t *head = p ? (size_t *)p - 2 : NULL;
	if (head ? *head != old_bytes : old_bytes != 0) m->wrong = true;
	if (!new_bytes) {
		if (head) {
			m->held -= old_bytes;
			m->blocks--;
		}
		free(head);
		return NULL;
	}
	long call = m->calls++;
	if (m->fail_from >= 0 && call >= m->fail_from &&
	    (!m->fail_for || call < m->fail_from + m->fail_for))
		return NULL;
	size_t *block = realloc(head, new_bytes + 2 * sizeof *block);
	if (!block) return NULL;
	block[0] = new_bytes;
	m->held += new_bytes - old_bytes;
	m->blocks += !p;
	return block + 2;
}

#endif
