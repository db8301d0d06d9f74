/* index_ranges.c - the indices of index notation and the ranges they run over.
 *
 * Needs: index_notation.h.
 *
 * Contract:
 * - A range is written, or inferred from the axes that the index alone
 *   indexes. These must have one length. A shifted index needs a written
 *   range.
 * - The range of an index depends on no index of the same clauses.
 */
#include "parser/specialise/index_notation.h"

static const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

/* ---- indices ------------------------------------------------------------- */

const Ix *ix_find(const Notation *nt, Atom name) {
	for (const IndexScope *s = nt->scope; s; s = s->outer)
		for (uint32_t i = 0; i < s->n; i++)
			if (s->ix[i].name == name) return &s->ix[i];
	return NULL;
}

bool ix_mentioned(const Notation *nt, const Ast *e) {
	for (const IndexScope *s = nt->scope; s; s = s->outer)
		for (uint32_t i = 0; i < s->n; i++)
			if (ast_mentions(e, s->ix[i].name)) return true;
	return false;
}

const Ix *ix_affine(const Notation *nt, const Ast *e, const Ast **offset, bool *negative) {
	*offset = NULL;
	*negative = false;
	if (e->kind == A_NAME) return ix_find(nt, e->name.name);
	if (e->kind != A_BINARY || (e->op != AO_ADD && e->op != AO_SUB)) return NULL;
	const Ast *l = e->binary.left, *r = e->binary.right;
	if (l->kind == A_NAME && ix_find(nt, l->name.name) && !ix_mentioned(nt, r)) {
		*offset = r;
		*negative = e->op == AO_SUB;
		return ix_find(nt, l->name.name);
	}
	if (e->op == AO_ADD && r->kind == A_NAME && ix_find(nt, r->name.name) && !ix_mentioned(nt, l)) {
		*offset = l;
		return ix_find(nt, r->name.name);
	}
	return NULL;
}

/* ---- ranges from use ----------------------------------------------------- */

/* Tests whether a name in `goal` refers to the same binding as around `from`,
 * not to a parameter or a name set in between. */
struct reach {
	Atom name;
	const Ast *goal;
	bool found;
};

static void reach_visit(void *ud, const Ast *e) {
	struct reach *r = ud;
	r->found |= e == r->goal;
	if (!r->found) ast_children_seeing(e, r->name, reach_visit, r);
}

struct outer {
	const Ast *from, *goal;
	bool all;
};

static void outer_visit(void *ud, const Ast *e) {
	struct outer *o = ud;
	if (e->kind == A_NAME) {
		struct reach r = {e->name.name, o->goal, false};
		reach_visit(&r, o->from);
		o->all &= r.found;
	}
	ast_children(e, outer_visit, ud);
}

/* True when every name in `array` has its binding outside `from`. The array can
 * then be evaluated there. */
static bool is_of_outside(const Ast *array, const Ast *from) {
	struct outer o = {from, array, true};
	outer_visit(&o, array);
	return o.all;
}

struct infer {
	Notation *nt;
	Ix *ix;
	const Ast *body;
	const Ast *offset_use;
};

static void infer_visit(void *ud, const Ast *e) {
	struct infer *in = ud;
	Notation *nt = in->nt;
	Sp *sp = nt->sp;
	if (e->kind == A_INDEX && ast_mentions(e, in->ix->name) && !ix_mentioned(nt, e->index.base) &&
	    is_of_outside(e->index.base, in->body)) {
		bool dots = false;
		for (uint32_t i = 0; i < e->index.n; i++) dots |= e->index.items[i]->kind == A_ELLIPSIS;
		for (uint32_t i = 0; i < e->index.n && !dots; i++) {
			const Ast *offset;
			bool negative;
			const Ix *ix = ix_affine(nt, e->index.items[i], &offset, &negative);
			if (ix != in->ix) continue;
			if (offset) {
				in->offset_use = e->index.items[i];
				continue;
			}
			Av *base = sp_expr(sp, e->index.base);
			base = sp_want_array(sp, base, e->index.base->span, "index notation");
			Type t = *ty(sp, base->ref);
			if (i >= t.rank)
				sp_fail(sp, E_RANK, e->span, "%u indices for %s", e->index.n,
				        sp_type_text(sp, base));
			if (!in->ix->known) {
				in->ix->known = true;
				in->ix->affine = true;
				in->ix->start = dim_const(sp->c, 0);
				in->ix->step = 1;
				in->ix->length = build_canon(sp->b, t.dims[i]);
				in->ix->inferred_from = av_with_origin(sp, base, e->span);
			} else {
				Atom what = atom_f(sp->c, "the index `%s` runs over lengths that differ",
				                   atom_text(sp->c, ix->name));
				if (!build_unify(sp->b, in->ix->length, t.dims[i], what)) {
					Diag *d = diag_error(sp->c, E_SHAPE, e->span, "%s: this is axis %u of %s",
					                     atom_text(sp->c, what), i, sp_type_text(sp, base));
					if (in->ix->inferred_from)
						diag_second(sp->c, d, in->ix->inferred_from->origin, "here it indexes %s",
						            sp_type_text(sp, in->ix->inferred_from));
					sp_throw(sp);
				}
			}
		}
	}
	ast_children_seeing(e, in->ix->name, infer_visit, in);
}

void ix_infer_range(Notation *nt, Ix *ix, const Ast *body) {
	struct infer in = {nt, ix, body, NULL};
	infer_visit(&in, body);
	Sp *sp = nt->sp;
	const char *name = atom_text(sp->c, ix->name);
	if (!ix->known) {
		Diag *d = diag_error(sp->c, E_INDEX_FREE, ix->span,
		                     "nothing says how far the index `%s` runs", name);
		diag_hint(sp->c, d, "write `for %s in a..b`", name);
		sp_throw(sp);
	}
	if (in.offset_use) {
		Diag *d = diag_error(sp->c, E_INDEX_FREE, in.offset_use->span,
		                     "with a shifted index the range of `%s` must be said", name);
		diag_hint(sp->c, d, "write `for %s in a..b`", name);
		sp_throw(sp);
	}
}

/* ---- ranges as written --------------------------------------------------- */

/* Rejects a range that depends on another index of the same clauses, which has
 * no value yet. An outer variable of the same name is not meant. */
static void want_independent(const Notation *nt, const Ix *ix, const Ast *range) {
	Sp *sp = nt->sp;
	for (uint32_t i = 0; i < nt->scope->n; i++) {
		const Ix *other = &nt->scope->ix[i];
		if (other->range == range || other == ix || !ast_mentions(range, other->name)) continue;
		const char *name = atom_text(sp->c, ix->name), *by = atom_text(sp->c, other->name);
		Diag *d = diag_error(sp->c, E_INDEX_FREE, range->span,
		                     "the range of `%s` depends on the index `%s`, which stands beside it",
		                     name, by);
		diag_hint(sp->c, d,
		          "of a sum within a sum it may: sum(sum(... for %s in a..b) for %s in a..b)", name,
		          by);
		sp_throw(sp);
	}
}

void ix_explicit_range(Notation *nt, Ix *ix, const Ast *range) {
	Sp *sp = nt->sp;
	ix->range = range;
	want_independent(nt, ix, range);
	Av *r = sp_expr(sp, range);
	ix->known = true;
	if (r->kind == AV_RANGE) {
		int64_t step;
		if (!av_static_int(sp, r->items[2], &step))
			step = sp_want_int(sp, r->items[2], range->span, "the step of a range");
		if (step == 0) sp_fail(sp, E_VALUE, range->span, "a range needs a step other than 0");
		Dim lo = build_canon(sp->b, build_dim_of(sp->b, r->items[0]->ref, 0)),
			hi = build_canon(sp->b, build_dim_of(sp->b, r->items[1]->ref, 0));
		Dim span = step > 0 ? dim_sub(sp->c, hi, lo) : dim_sub(sp->c, lo, hi);
		int64_t a = step > 0 ? step : -step, v;
		ix->affine = true;
		ix->start = lo;
		ix->step = step;
		if (dim_is_const(sp->c, span, &v) && v <= 0) ix->length = dim_const(sp->c, 0);
		else
			ix->length =
				a == 1 ? span
					   : dim_floordiv(sp->c, dim_add(sp->c, span, dim_const(sp->c, a - 1)), a);
		return;
	}
	r = sp_want_array(sp, r, range->span, "an index's range");
	if (ty(sp, r->ref)->rank != 1)
		sp_fail(sp, E_RANK, range->span, "an index runs over a range or a vector, not %s",
		        sp_type_text(sp, r));
	ix->values = r->ref;
	ix->length = ty(sp, r->ref)->dims[0];
}

void ix_warn_of_parts(Sp *sp, const IndexScope *s) {
	for (uint32_t i = 0; i < s->n; i++) {
		const Ix *ix = &s->ix[i];
		if (!ix->shares || ix->shifted || !ix->part.source) continue;
		const char *name = atom_text(sp->c, ix->name), *other = atom_text(sp->c, ix->shares);
		char whole[64];
		dim_print(sp->c, ix->whole, sym_words, &(SymWords){.fn = build_fn(sp->b)}, whole,
		          sizeof whole);
		Diag *d = diag_warning(
			sp->c, W_INDEX_RANGE, ix->part,
			"`%s` shares its range with `%s`, and covers a part of this axis of length %s", name,
			other, whole);
		diag_second(sp->c, d, ix->range->span, "`%s` and `%s` both run over this", name, other);
		diag_hint(sp->c, d,
		          "`for %s for %s in a..b` leaves `%s` to its axis; `for %s in a..b for %s in "
		          "a..b` says that the part is meant",
		          name, other, name, name, other);
		return;
	}
}

void ix_open_clauses(Notation *nt, IndexScope *s, uint32_t nclauses, const ForClause *clauses,
                     const Ast *body) {
	Sp *sp = nt->sp;
	uint32_t first[MAX_INDICES];
	for (uint32_t k = 0; k < nclauses; k++) {
		for (uint32_t i = 0; i < clauses[k].n; i++) {
			if (s->n == MAX_INDICES)
				sp_fail(sp, E_RANK, clauses[k].names[i]->span, "more than %d indices", MAX_INDICES);
			if (clauses[k].names[i]->kind != A_NAME)
				sp_fail(sp, E_SYNTAX, clauses[k].names[i]->span, "an index is a single name here");
			first[s->n] = k;
			Ix made = {.name = clauses[k].names[i]->name.name, .span = clauses[k].names[i]->span};
			const Ast *other = clauses[k].n > 1 ? clauses[k].names[i ? i - 1 : 1] : NULL;
			if (clauses[k].range && other && other->kind == A_NAME) made.shares = other->name.name;
			made.range = clauses[k].range;
			s->ix[s->n++] = made;
		}
	}
	nt->scope = s;
	for (uint32_t i = 0; i < s->n; i++) {
		if (clauses[first[i]].range) ix_explicit_range(nt, &s->ix[i], clauses[first[i]].range);
		else ix_infer_range(nt, &s->ix[i], body);
	}
}
