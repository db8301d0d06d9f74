/* verify.c - the verifier of finished functions: first the structure, then the
 * types by the builder's own rules.
 *
 * Needs: builder/internal.h.
 *
 * Contract:
 * - Changes nothing; throws only when memory runs out.
 * - Any arrays within their own bounds can be checked safely.
 * - A fault records E_INTERNAL "after PASS: what: the printed instruction" at
 *   the user's span.
 *
 * Checks:
 * - Every region, instruction and value occurs in one place.
 * - Operands are defined earlier, in the same region or an enclosing one.
 * - Regions have the parameters and results that their owner needs.
 * - Types obey the type rules under the guards in force.
 * - Symbols are defined before their use.
 * - Callees and host functions exist.
 * - On every path, at most one effect starts from a token; inside a loop, only
 *   from a carried one.
 */
#include "lang/builder/internal.h"
#include <stdio.h>

typedef struct Verifier {
	Ctx *c;
	const Fn *f;
	const char *pass;
	Builder *b; /* contains the equalities and defining regions of symbols */
	/* indexed by region, instruction, value, value, value */
	bool *region_seen, *inst_seen, *defined, *visible, *spent;
	uint32_t *loops;        /* by value: the number of loops around its definition */
	VEC(uint32_t) scope;    /* visible values in order of definition */
	VEC(uint32_t) spending; /* spent tokens in order */
	uint32_t loop_depth;
	bool failed;
} Verifier;

static bool __attribute__((format(printf, 3, 4)))
fault(Verifier *v, InstId at, const char *format, ...) {
	va_list args;
	char what[320];
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	Text words;
	text_init(&words, v->c);
	SpanId span = v->f->span;
	if (at < v->f->insts.n) {
		text_str(&words, ": ");
		fn_print_inst(&words, v->f, at);
		if (v->f->insts.at[at].span) span = v->f->insts.at[at].span;
	}
	diag_error(v->c, E_INTERNAL, span_of(v->c, span), "after %s: %s: %s%.*s", v->pass,
	           atom_text(v->c, v->f->name), what, words.failed ? 0 : (int)words.n,
	           words.at ? words.at : "");
	text_free(&words);
	v->failed = true;
	return false;
}

/* ---- values and scopes --------------------------------------------------- */

static bool define(Verifier *v, InstId at, uint32_t value, InstId def, uint32_t index,
                   RegionId region) {
	if (value >= v->f->vals.n) return fault(v, at, "a value that does not exist is defined");
	const Val *val = &v->f->vals.at[value];
	if (v->defined[value]) return fault(v, at, "a value is defined twice");
	if (val->def != def || val->index != index || val->region != region)
		return fault(v, at, "a value's record does not say where it is defined");
	v->defined[value] = v->visible[value] = true;
	v->loops[value] = v->loop_depth;
	VEC_PUSH(v->b->scratch, &v->scope, value);
	return true;
}

static bool spend(Verifier *v, InstId at, uint32_t value) {
	if (v->spent[value]) return fault(v, at, "two effects start from one token");
	if (v->loops[value] != v->loop_depth)
		return fault(v, at, "a token enters a loop without being carried");
	v->spent[value] = true;
	VEC_PUSH(v->b->scratch, &v->spending, value);
	return true;
}

/* `spends`: the user is an effect, so a second one would start from the same
 * state. Merely passing a token on, as an `if` without effects does, does not
 * spend it. */
static bool use(Verifier *v, InstId at, uint32_t place, bool spends) {
	if (place >= v->f->args.n) return fault(v, at, "an operand list leaves its array");
	Ref r = v->f->args.at[place];
	if (ref_is_const(r))
		return REF_INDEX(r) < v->f->consts.n ||
		       fault(v, at, "an operand is a constant that does not exist");
	if (!ref_is_value(r) || REF_INDEX(r) >= v->f->vals.n)
		return fault(v, at, "an operand is no reference");
	uint32_t value = REF_INDEX(r);
	if (!v->defined[value]) return fault(v, at, "an operand is used before its definition");
	if (!v->visible[value])
		return fault(v, at, "an operand is used outside the region of its definition");
	return !spends || type_of(v->c, v->f->vals.at[value].type)->kind != TY_TOKEN ||
	       spend(v, at, value);
}

/* The dims of an instruction must be visible at it, except those that it
 * defines. */
static bool check_dims(Verifier *v, InstId at, const Inst *in, RegionId here) {
	if (in->op == OP_BIND || in->op == OP_NONZERO) return true;
	const AttrSchema *schema = &ir_state(v->c)->schema[in->op];
	for (uint32_t k = 0; k < schema->n; k++) {
		if (schema->letter[k] != 'D') continue;
		uint32_t count;
		const int64_t *words = attr_field(v->c, (Op)in->op, in->attr, k, &count);
		for (uint32_t i = 0; i < count; i++)
			if (!dim_visible(v->b, (Dim)words[i], here))
				return fault(v, at, "a length that is not known here is used");
	}
	return true;
}

/* ---- regions ------------------------------------------------------------- */

static bool check_region(Verifier *v, RegionId id, InstId owner);

static void forget_spending(Verifier *v, uint32_t mark) {
	for (uint32_t i = mark; i < v->spending.n; i++) v->spent[v->spending.at[i]] = false;
}

/* The regions of one owner. Of `if` and `try` only one runs, so each may spend
 * the same token. */
static bool check_regions(Verifier *v, InstId at, const Inst *in) {
	bool loop = in->op == OP_FOR || in->op == OP_WHILE;
	if (in->nregions > v->f->region_ids.n || in->regions > v->f->region_ids.n - in->nregions)
		return fault(v, at, "a region list leaves its array");
	uint32_t mark = v->spending.n;
	v->loop_depth += loop;
	for (uint32_t k = 0; k < in->nregions; k++) {
		forget_spending(v, mark);
		if (!check_region(v, v->f->region_ids.at[in->regions + k], at)) return false;
	}
	for (uint32_t i = mark; i < v->spending.n; i++) v->spent[v->spending.at[i]] = true;
	v->loop_depth -= loop;
	return true;
}

static bool check_inst(Verifier *v, InstId id, RegionId here) {
	const Fn *f = v->f;
	if (id >= f->insts.n)
		return fault(v, NO_INST, "an instruction that does not exist stands in region %u", here);
	const Inst *in = &f->insts.at[id];
	if (v->inst_seen[id]) return fault(v, id, "an instruction stands in two places");
	v->inst_seen[id] = true;
	if (in->op <= OP_NONE || in->op >= OP_COUNT) return fault(v, id, "there is no such primitive");
	if (in->parent != here)
		return fault(v, id, "an instruction's record does not say in which region it stands");
	bool spends = prims[in->op].effect == EFFECT_EFFECT || in->op == OP_CALL || in->op == OP_HOST;
	for (uint32_t k = 0; k < in->nargs; k++)
		if (!use(v, id, in->args + k, spends)) return false;
	if (!check_regions(v, id, in)) return false;
	if (in->results > f->vals.n || in->nresults > f->vals.n - in->results)
		return fault(v, id, "its results do not exist");

	Builder *b = v->b;
	TypeId *stated = ARENA_ARRAY(b->scratch, TypeId, in->nresults + 1u);
	for (uint32_t k = 0; k < in->nresults; k++) stated[k] = f->vals.at[in->results + k].type;
	const Ref *args = in->nargs ? &f->args.at[in->args] : NULL;
	const RegionId *regions = in->nregions ? &f->region_ids.at[in->regions] : NULL;
	TypeQuery q = {
		.b = b, .op = (Op)in->op, .nargs = in->nargs, .args = args, .attr = in->attr, .here = here};
	q.nregions = in->nregions;
	q.regions = regions;
	q.stated = stated;
	q.nstated = in->nresults;
	if (!infer_types(&q)) return fault(v, id, "%s", q.why ? q.why : "its types are wrong");
	if (!check_dims(v, id, in, here)) return false;
	for (uint32_t k = 0; k < in->nresults; k++) {
		if (!define(v, id, in->results + k, id, k, here)) return false;
		dims_enter(b, here, stated[k]);
	}
	if (in->op == OP_BIND) dims_enter_dim(b, here, (Dim)attr_int(v->c, OP_BIND, in->attr, 0));
	if (in->op == OP_GUARD)
		dims_assume(b, (Dim)attr_int(v->c, OP_GUARD, in->attr, 0),
		            (Dim)attr_int(v->c, OP_GUARD, in->attr, 1));
	return true;
}

static bool check_region(Verifier *v, RegionId id, InstId owner) {
	const Fn *f = v->f;
	if (id >= f->regions.n) return fault(v, owner, "a region does not exist");
	if (v->region_seen[id]) return fault(v, owner, "a region has two owners");
	v->region_seen[id] = true;
	const Region *r = &f->regions.at[id];
	if (r->owner != owner) return fault(v, owner, "a region's record does not say who owns it");
	if (r->insts > f->inst_order.n || r->ninsts > f->inst_order.n - r->insts)
		return fault(v, owner, "a region's instructions leave their array");
	uint32_t scope = v->scope.n, mark = dims_mark(v->b);
	for (uint32_t k = 0; k < r->nparams; k++) {
		if (!define(v, owner, r->params + k, NO_INST, k, id)) return false;
		dims_enter(v->b, id, f->vals.at[r->params + k].type);
	}
	for (uint32_t i = 0; i < r->ninsts; i++)
		if (!check_inst(v, f->inst_order.at[r->insts + i], id)) return false;
	for (uint32_t k = 0; k < r->nresults; k++)
		if (!use(v, owner, r->results + k, false)) return false;
	dims_undo(v->b, mark);
	while (v->scope.n > scope) v->visible[v->scope.at[--v->scope.n]] = false;
	return true;
}

bool fn_verify(const Fn *f, const char *after_pass) {
	Verifier v = {.c = f->ctx, .f = f, .pass = after_pass, .b = checker_begin(f)};
	Arena *a = v.b->scratch;
	v.region_seen = ARENA_ARRAY(a, bool, f->regions.n + 1u);
	v.inst_seen = ARENA_ARRAY(a, bool, f->insts.n + 1u);
	v.defined = ARENA_ARRAY(a, bool, f->vals.n + 1u);
	v.visible = ARENA_ARRAY(a, bool, f->vals.n + 1u);
	v.spent = ARENA_ARRAY(a, bool, f->vals.n + 1u);
	v.loops = ARENA_ARRAY(a, uint32_t, f->vals.n + 1u);
	if (!f->regions.n) fault(&v, NO_INST, "it has no body");
	else check_region(&v, 0, NO_INST);
	checker_end(v.b);
	return !v.failed;
}
