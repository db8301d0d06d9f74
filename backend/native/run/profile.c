/* profile.c - profile of machine code by source lines; dumps of kernel IR.
 *
 * Needs: describe.h, tier.h.
 *
 * Contract:
 * - When off, it costs a comparison for each call.
 * - Records remain when their functions are freed.
 * - When memory fails, a call is not counted.
 * - A record is one function and one set of lines. A function that is compiled
 *   again continues its record.
 */
#include "backend/native/unit/describe.h"
#include "backend/native/run/unit_step.h"

typedef struct Figure {
	struct Figure *next;
	size_t bytes;
	ProfileFigure shown;
	char text[]; /* name and place, each zero-terminated */
} Figure;

struct Profile {
	Figure *first;
};

static Figure *figure_of(Backend *be, const Unit *u) {
	Ctx *c = be->ctx;
	const Fn *f = u->fn;
	const char *name = f->name ? atom_text(c, f->name) : "";
	SourceLines lines = {0};
	for (uint32_t i = 0; i < u->ninsts; i++) lines_add(&lines, f, &f->insts.at[u->insts[i]]);
	Text place;
	text_init(&place, c);
	if (lines.n) text_format(&place, "%s:", source_name(c, lines.source));
	lines_print(&place, &lines);
	text_add(&place, "", 1);
	Figure *k = be->profile->first;
	while (k && !place.failed && (strcmp(k->shown.name, name) || strcmp(k->shown.place, place.at)))
		k = k->next;
	const size_t n = strlen(name) + 1, bytes = sizeof *k + n + place.n;
	if (!k && !place.failed && (k = heap_alloc(c, bytes))) {
		*k = (Figure){.next = be->profile->first, .bytes = bytes};
		k->shown.name = memcpy(k->text, name, n);
		k->shown.place = memcpy(k->text + n, place.at, place.n);
		be->profile->first = k;
	}
	text_free(&place);
	return k;
}

void profile_add(Backend *be, NativeUnit *nu, double seconds) {
	if (!nu->figure) nu->figure = figure_of(be, nu->unit);
	if (!nu->figure) return;
	nu->figure->shown.calls++;
	nu->figure->shown.seconds += seconds;
}

bool backend_profile(Ctx *c) {
	Backend *be = backend_of(c);
	if (!be->profile && (be->profile = heap_alloc(c, sizeof *be->profile)))
		*be->profile = (Profile){0};
	return be->profile != NULL;
}

void backend_profile_read(Ctx *c, void (*visit)(void *ud, const ProfileFigure *figure), void *ud) {
	const Profile *p = backend_of(c)->profile;
	for (const Figure *k = p ? p->first : NULL; k; k = k->next) visit(ud, &k->shown);
}

void profile_free(Ctx *c, Profile *p) {
	for (Figure *k = p ? p->first : NULL; k;) {
		Figure *next = k->next;
		heap_free(c, k, k->bytes);
		k = next;
	}
	if (p) heap_free(c, p, sizeof *p);
}

/* ---- kernel IR ----------------------------------------------------------- */

void backend_set_dump(Ctx *c, void (*write)(void *ud, const char *text, size_t n), void *ud) {
	Backend *be = backend_of(c);
	be->dump = write;
	be->dump_ud = ud;
}

void dump_units(Backend *be, const NativePlan *p) {
	for (uint32_t i = 0; i < p->units.n; i++) {
		Text t;
		text_init(&t, be->ctx);
		text_format(&t, "unit %u of %s\n", i + 1,
		            p->f->name ? atom_text(be->ctx, p->f->name) : "a function without a name");
		kmodule_print(&t, p->units.at[i]->unit->module);
		if (!t.failed) be->dump(be->dump_ud, t.at, t.n);
		text_free(&t);
	}
}
