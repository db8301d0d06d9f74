/* once.c - names that may stand only once: parameters, targets of an assignment
 * or a loop, fields of a record.
 *
 * Contract:
 * - A second one is an error at its place. `_` may be repeated, and so may
 *   fields that a spread record brings.
 */
#include "lang/base/atom_map.h"
#include "parser/syntax/parser.h"

typedef struct NamesOnce {
	Parser *p;
	const char *what;
	VEC(Atom) names;
	AtomMap map;
	Atom any; /* _ */
} NamesOnce;

static NamesOnce names_once(Parser *p, const char *what) {
	return (NamesOnce){.p = p, .what = what, .any = atom(p->ctx, "_")};
}

static void add(NamesOnce *o, Atom name, Span at) {
	if (!name || name == o->any) return;
	if (ATOM_MAP_FIND(&o->map, &o->names, name) != ATOM_MAP_NONE)
		FAIL(o->p, E_DUPLICATE, at, "the %s `%s` stands twice", o->what,
		     atom_text(o->p->ctx, name));
	PUSH(o->p, &o->names, name);
	ATOM_MAP_COVER(o->p->scratch, &o->map, &o->names);
}

static void add_pattern(NamesOnce *o, const Ast *pattern) {
	if (pattern->kind == A_NAME) add(o, pattern->name.name, pattern->span);
	if (pattern->kind != A_TUPLE) return;
	for (uint32_t i = 0; i < pattern->tuple.n; i++) add_pattern(o, pattern->tuple.items[i]);
}

void params_once(Parser *p, const ParamList *params) {
	NamesOnce o = names_once(p, "parameter");
	for (uint32_t i = 0; i < params->n; i++) {
		if (params->at[i].pattern) add_pattern(&o, params->at[i].pattern);
		else add(&o, params->at[i].name, params->at[i].span);
	}
}

void targets_once(Parser *p, const Ast *target) {
	if (target->kind != A_TUPLE) return;
	NamesOnce o = names_once(p, "name");
	add_pattern(&o, target);
}

void fields_once(Parser *p, const ArgList *fields) {
	NamesOnce o = names_once(p, "field");
	for (uint32_t i = 0; i < fields->n; i++) add(&o, fields->at[i].name, fields->at[i].span);
}
