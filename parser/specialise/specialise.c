/* specialise.c - the specialisation of a function for a call: attempts,
 * recursion, and the members of a family.
 *
 * Needs: call.h.
 *
 * Contract:
 * - A named function called with the same key is specialised once.
 * - A parameter becomes part of the key only when its value determines a shape
 *   or a structure, or when its sign matters.
 *
 * Method: an attempt makes parameters of the leaves and specialises the body.
 * When the body needs a value, a sign or effects, the attempt is abandoned and
 * the next one has them. A recursive function is first tried without the paths
 * that need its own result. The result types of this trial are a promise, which
 * the next attempt keeps or replaces.
 */
#include "parser/specialise/call.h"

/* Of captured values and arguments, counted through nested tuples and
 * closures. */
#define MAX_PARTS 100000

/* ---- families ------------------------------------------------------------ */

/* One function of a family: the values of the demanded leaves are fixed. */
typedef struct FamilyMember {
	const char *baked_key;
	Fn *fn;
	const Av *result;
	bool finished, recursive;
	uint32_t declared_tries;
	Builder *building;
	uint32_t declared_n;
	TypeId *declared; /* result types, known after the trial of a recursive function */
	const Av *declared_result;
	bool yields; /* a literal adopted a narrower dtype in it */
	/* Forms for reverse mode are omitted from it, or may be while it is
	 * built. */
	bool underived;
	bool called_open; /* called in this attempt before it was finished */
	struct Family *family;
	struct FamilyMember *before; /* the member finished before it */
	struct FamilyMember *next;
} FamilyMember;

/* All specialisations for one structure and one set of leaf types. */
struct Family {
	const char *key;
	Arena *a; /* holds it and its members */
	uint32_t nleaves;
	bool *demanded;
	bool *needed; /* demanded leaves without which there is no code */
	bool open;    /* bakes those only */
	bool *signs;  /* leaves of which it matters whether they may be negative */
	bool effects;
	FamilyMember *members, *forgotten;
	struct Family *next;
	uint32_t npieces;
	const CodeOwner **pieces; /* of IR in its key */
};

/* One request: the function and a call, as one list of values. */
typedef struct CallRequest {
	Sp *sp;
	Av *f;
	const CallArguments *call;
	Av *all; /* tuple of f's captured values, positional and named arguments */
	uint32_t nleaves;
	Ref *args;
	struct Family *family;
	FamilyMember *member;
	CallKey sig;
	FunctionFrame frame;
	Builder *b;
	bool trial;
	uint32_t yielded, left_out; /* before this attempt */
	bool underived;             /* nothing differentiates the result */
	Ref *result_refs;
	uint32_t nresults;
	Av *result;
} CallRequest;

static const char *baked_key(CallRequest *j) {
	Sp *sp = j->sp;
	for (uint32_t i = 0; i < j->nleaves; i++)
		if (j->family->signs[i] && !j->family->demanded[i])
			j->sig.negative[i] = j->sig.negative[i] || sp_may_be_negative(sp, j->args[i]);
	Text t;
	text_init(&t, sp->c);
	for (uint32_t i = 0; i < j->nleaves; i++) {
		if (j->family->signs[i] && !j->family->demanded[i]) {
			text_number(&t, i);
			text_str(&t, j->sig.negative[i] ? "-;" : "+;");
		}
		if (!j->family->demanded[i]) continue;
		const Const *k = ref_constant(build_fn(sp->b), j->args[i]);
		if (!k) {
			text_free(&t);
			sp_demand_static(sp, j->args[i], j->call->span, "an argument that decides a shape");
		}
		text_number(&t, i);
		text_str(&t, ":");
		int64_t whole;
		if (value_is_array(k->value) && !dtype_is_inexact(value_dtype(k->value)) &&
		    value_as_i64(k->value, &whole))
			text_number(&t, (uint64_t)whole);
		else value_print(&t, k->value, k->value.kind == V_SCALAR ? "" : ".17g", 0);
		text_str(&t, "/");
		text_number(&t, value_is_array(k->value) ? (uint64_t)value_dtype(k->value) : 99);
		text_str(&t, ";");
	}
	if (t.failed) {
		text_free(&t);
		ctx_throw(sp->c, ST_NOMEM);
	}
	const char *key = arena_copy(sp->a, t.n ? t.at : "", t.n);
	text_free(&t);
	return key;
}

static bool has_unused_ir(const Av *v) {
	bool some = v->kind == AV_FUNCTION && v->code_kind == CODE_IR &&
	            ((const IrCode *)v->code)->owner->unused;
	for (uint32_t i = 0; i < v->n && !some; i++) some = has_unused_ir(v->items[i]);
	return some;
}

bool family_has_unused_ir(const struct Family *fam) {
	bool some = false;
	for (uint32_t i = 0; i < fam->npieces && !some; i++) some = fam->pieces[i]->unused;
	for (const FamilyMember *m = fam->members; m && !some; m = m->next)
		some = m->result && has_unused_ir(m->result);
	return some;
}

void family_release(struct Family *fam) {
	for (FamilyMember *m = fam->members; m; m = m->next)
		if (m->fn) fn_unref(m->fn);
	for (FamilyMember *m = fam->forgotten; m; m = m->next)
		if (m->fn) fn_unref(m->fn);
	fam->members = fam->forgotten = NULL;
}

Arena *family_arena(struct Family *fam) { return fam->a; }

/* ---- words for extents --------------------------------------------------- */

/* How the program would write a part of an argument: a name, or a field or item
 * of `outer`. Most paths never become text. */
typedef struct Path {
	const struct Path *outer;
	Atom name;
	uint32_t item;
} Path;

static const char *path_text(Arena *a, const Ctx *c, const Path *p) {
	if (!p->outer) return atom_text(c, p->name);
	const char *outer = path_text(a, c, p->outer);
	return p->name ? arena_printf(a, "%s.%s", outer, atom_text(c, p->name))
	               : arena_printf(a, "%s[%u]", outer, p->item);
}

/* Words for the extents of the arguments, for messages when the program gives
 * no names: "len(x)", "rows of p.W". */
typedef struct LengthWords {
	CallRequest *j;
	const Fn *of;
	Atom *words;  /* by number of the extent; 0: none yet */
	Span *places; /* the argument in the call */
	uint32_t leaf;
} LengthWords;

static void word_lengths(LengthWords *w, const Av *v, const Path *path, Span at) {
	Ctx *c = w->j->sp->c;
	if (av_is_leaf(v)) {
		const uint32_t leaf = w->leaf++;
		if (v->kind != AV_ARRAY || !path || w->j->frame.baked[leaf]) return;
		const Type t = *ref_ty(w->of, w->j->args[leaf]);
		for (uint32_t k = 0; t.kind == TY_TENSOR && k < t.rank; k++) {
			int64_t small;
			const Dim d = build_canon(w->j->sp->b, t.dims[k]);
			if (sp_dim_is_small(c, d, &small)) continue;
			const uint32_t n = call_key_dim(&w->j->sig, d);
			if (w->words[n]) continue;
			w->places[n] = at;
			w->words[n] = sp_axis_words(c, path_text(w->j->sp->a, c, path), t.rank, k);
		}
		return;
	}
	for (uint32_t i = 0; i < v->n; i++) {
		const bool part =
			path && (v->kind == AV_RECORD || v->kind == AV_TUPLE || v->kind == AV_LIST);
		const Path inner = {
			.outer = path, .name = part && v->kind == AV_RECORD ? v->names[i] : 0, .item = i};
		word_lengths(w, v->items[i], part ? &inner : path, at);
	}
}

/* The names of a destructured parameter. */
static void word_pattern(LengthWords *w, const Ast *pattern, const Av *v, Span at) {
	const bool fits = pattern->kind == A_TUPLE &&
	                  (v->kind == AV_TUPLE || v->kind == AV_LIST || v->kind == AV_RECORD) &&
	                  pattern->tuple.n == v->n;
	const Path path = {.name = pattern->kind == A_NAME ? pattern->name.name : 0};
	if (!fits) word_lengths(w, v, path.name ? &path : NULL, at);
	for (uint32_t i = 0; fits && i < v->n; i++)
		word_pattern(w, pattern->tuple.items[i], v->items[i], at);
}

static void word_all_lengths(LengthWords *w) {
	const CallRequest *j = w->j;
	const Ast *fn = j->f->kind == AV_FUNCTION && j->f->code_kind == CODE_AST ? j->f->code : NULL;
	for (uint32_t i = 0; i < j->all->n; i++) {
		const uint32_t arg = i - j->f->n;
		Atom name = 0;
		Span at = j->call->span;
		if (i < j->f->n) name = j->f->names[i];
		else if (arg >= j->call->n) {
			name = j->call->names[arg - j->call->n];
			at = j->call->named_spans[arg - j->call->n];
		} else {
			const Param *p = fn && arg < fn->function.nparams && !fn->function.params[arg].named
			                     ? &fn->function.params[arg]
			                     : NULL;
			if (j->call->spans[arg].source) at = j->call->spans[arg];
			if (p && p->pattern) {
				word_pattern(w, p->pattern, j->all->items[i], at);
				continue;
			}
			if (p) name = p->name;
		}
		const Path path = {.name = name};
		word_lengths(w, j->all->items[i], name ? &path : NULL, at);
	}
}

/* ---- attempts ------------------------------------------------------------ */

/* Makes parameters of the leaves, then specialises the body. */
static void build_member(Ctx *c, void *arg) {
	CallRequest *j = arg;
	Sp inner = *j->sp;
	Builder *b = inner.b = j->b;
	Sp *outer = j->sp;
	FunctionFrame *fr = &j->frame;
	inner.frame = fr;
	inner.unrollable = 0;
	inner.underived = j->underived;
	inner.inlined = NULL;
	inner.place = NO_SPAN;
	inner.apart = true;
	inner.env = env_new(&inner, NULL);
	inner.depth = outer->depth;
	const Fn *of = build_fn(outer->b);
	Ref *refs = ARENA_ARRAY(inner.a, Ref, j->nleaves + 1);
	Dim *map = ARENA_ARRAY(inner.a, Dim, j->sig.dims.n + 1);
	LengthWords words = {.j = j,
	                     .of = of,
	                     .words = ARENA_ARRAY(inner.a, Atom, j->sig.dims.n + 1),
	                     .places = ARENA_ARRAY(inner.a, Span, j->sig.dims.n + 1)};
	word_all_lengths(&words);
	for (uint32_t i = 0; i < j->sig.dims.n; i++) {
		SymId s;
		Atom name =
			dim_is_sym(c, j->sig.dims.at[i], &s) && s < of->syms.n ? of->syms.at[s].name : 0;
		if (!name || !sp_is_given_length(c, name)) name = words.words[i] ? words.words[i] : name;
		map[i] = build_fresh_dim(
			b, name, span_intern(c, words.places[i].source ? words.places[i] : j->call->span));
	}
	for (uint32_t i = 0; i < j->nleaves; i++) {
		if (fr->baked[i]) continue;
		Type t = *ref_ty(of, j->args[i]);
		for (uint32_t k = 0; t.kind == TY_TENSOR && k < t.rank; k++) {
			int64_t small;
			Dim d = build_canon(outer->b, t.dims[k]);
			t.dims[k] = sp_dim_is_small(c, d, &small) ? d : map[call_key_dim(&j->sig, d)];
		}
		TypeId type = t.kind == TY_TENSOR ? type_tensor(c, (Dtype)t.dtype, t.rank, t.dims)
		                                  : ref_type(of, j->args[i]);
		refs[i] = fr->params[i] = build_param(b, type, 0);
	}
	const Hidden *h = sp_hidden(outer);
	if (j->family->effects) {
		Dim two = dim_const(c, 2);
		env_set(&inner, inner.env, h->rng,
		        av_array(&inner, build_param(b, type_tensor(c, DT_I64, 1, &two), h->rng)));
		env_set(&inner, inner.env, h->io, av_array(&inner, build_param(b, type_token(c), h->io)));
	}
	for (uint32_t i = 0; i < j->nleaves; i++)
		if (fr->baked[i]) refs[i] = build_const(b, ref_constant(of, j->args[i])->value);
	uint32_t k = 0;
	Av *all = av_rebuild(&inner, j->all, refs, &k);
	for (uint32_t i = 0; i < all->n; i++)
		if (i >= j->f->n && i - j->f->n < j->call->n)
			all->items[i] =
				av_with_origin(&inner, all->items[i], j->call->args[i - j->f->n]->origin);
	Av *f = ARENA_NEW(inner.a, Av);
	*f = *j->f;
	f->items = all->items;
	CallArguments call = *j->call;
	call.args = all->items + j->f->n;
	call.named = all->items + j->f->n + call.n;
	Av *v = f->code_kind == CODE_AST ? sp_run_body(&inner, f, &call) : sp_call(&inner, f, &call);
	j->nresults = av_count_leaves(v);
	j->result_refs = ARENA_ARRAY(inner.a, Ref, j->nresults + 2);
	k = 0;
	av_leaves(v, j->result_refs, &k);
	if (j->family->effects) {
		j->result_refs[j->nresults++] = env_find(inner.env, h->rng)->ref;
		j->result_refs[j->nresults++] = env_find(inner.env, h->io)->ref;
	}
	j->result = v;
}

/* True when the results have the structure and types that a recursive function
 * promised. */
static bool keeps_promise(CallRequest *j) {
	FamilyMember *m = j->member;
	if (m->declared_n != j->nresults || !av_same_structure(m->declared_result, j->result))
		return false;
	for (uint32_t i = 0; i < j->nresults; i++)
		if (!build_same_type(j->b, m->declared[i], ref_type(build_fn(j->b), j->result_refs[i])))
			return false;
	return true;
}

static void make_promise(CallRequest *j) {
	FamilyMember *m = j->member;
	m->declared_n = j->nresults;
	m->declared = ARENA_ARRAY(m->family->a, TypeId, j->nresults + 1);
	for (uint32_t i = 0; i < j->nresults; i++)
		m->declared[i] = build_canon_type(j->b, ref_type(build_fn(j->b), j->result_refs[i]));
	/* The promise must hold for every call. */
	m->declared_result = av_keep_strong(m->family->a, j->result);
}

static void forget_member(FamilyMember *gone) {
	for (FamilyMember **p = &gone->family->members; *p; p = &(*p)->next)
		if (*p == gone) {
			*p = gone->next;
			return;
		}
}

/* A failed attempt also discards the members finished during it, if its
 * function was called: their calls refer to a function that will not exist. */
static void abandon(CallRequest *j, const FamilyMember *mark) {
	build_abandon(j->b);
	FamilyMember **last = session_finished(j->sp->session);
	for (; j->member->called_open && *last && *last != mark; *last = (*last)->before) {
		FamilyMember *m = *last;
		forget_member(m);
		m->next = m->family->forgotten;
		m->family->forgotten = m;
	}
	j->member->called_open = false;
}

/* One attempt; returns true when the member is finished. */
static bool attempt(CallRequest *j) {
	Sp *sp = j->sp;
	Ctx *c = sp->c;
	const FamilyMember *finished_before = *session_finished(sp->session);
	j->frame = (FunctionFrame){.outer = sp->frame,
	                           .nleaves = j->nleaves,
	                           .args = j->args,
	                           .code_id = j->f->code_id,
	                           .call = j->call->span,
	                           .inlined = sp->inlined,
	                           .signs = j->family->signs,
	                           .negative = j->sig.negative,
	                           .open = j->family->open,
	                           .in_unrollable = sp->unrollable > 0,
	                           .trial = j->trial};
	j->frame.params = ARENA_ARRAY(sp->a, Ref, j->nleaves + 1);
	j->frame.demanded = ARENA_ARRAY(sp->a, bool, j->nleaves + 1);
	j->frame.needed = ARENA_ARRAY(sp->a, bool, j->nleaves + 1);
	j->frame.asked = ARENA_ARRAY(sp->a, bool, j->nleaves + 1);
	j->frame.baked = ARENA_ARRAY(sp->a, bool, j->nleaves + 1);
	for (uint32_t i = 0; i < j->nleaves; i++) j->frame.baked[i] = j->family->demanded[i];
	j->b = build_begin(c, j->f->text,
	                   span_intern(c, j->f->code_kind == CODE_AST ? ((const Ast *)j->f->code)->span
	                                                              : j->call->span),
	                   NULL);
	j->frame.b = j->b;
	j->yielded = *session_yielded(sp->session);
	j->left_out = *session_left_out(sp->session);
	j->member->building = j->b;
	uint32_t mark = diag_total(c);
	Status s = ctx_protect(c, build_member, j);
	j->member->building = NULL;
	if (s != ST_OK) {
		abandon(j, finished_before);
		if (session_retry(sp->session) == &j->frame) {
			session_set_retry(sp->session, NULL);
			diag_truncate(c, mark);
			for (uint32_t i = 0; i < j->nleaves; i++) {
				j->family->demanded[i] |= j->frame.demanded[i];
				j->family->needed[i] |= j->frame.needed[i];
				j->family->signs[i] |= j->frame.asked[i];
			}
			if (j->frame.wants_effects) {
				j->family->effects = true;
				j->member->declared = NULL; /* the promise without effects has other results */
			}
			if (j->frame.wants_trial) j->member->recursive = true;
			return false;
		}
		const Builder *bottom = session_take_bottom(sp->session);
		if (bottom && bottom == j->b)
			sp_fail(sp, E_DEPTH, j->call->span,
			        "%s calls itself on every path: nothing ends the recursion",
			        sp_function_name(sp, j->f));
		session_set_bottom(sp->session, bottom);
		if (s == ST_ERROR) sp_left_library(sp, mark, j->call->span);
		ctx_throw(c, s);
	}
	if (j->member->recursive) {
		if (!j->member->declared || !keeps_promise(j)) {
			bool first = !j->member->declared;
			if (!first && j->member->declared_n == j->nresults && ++j->member->declared_tries > 3) {
				abandon(j, finished_before);
				sp_fail(sp, E_CARRY, j->call->span,
				        "the type of what %s returns changes from call to call",
				        sp_function_name(sp, j->f));
			}
			make_promise(j);
			abandon(j, finished_before);
			j->trial = false;
			return false;
		}
	}
	FamilyMember *m = j->member;
	m->result =
		m->recursive ? av_keep_strong(m->family->a, j->result) : av_keep(m->family->a, j->result);
	m->yields = *session_yielded(sp->session) != j->yielded;
	m->underived = *session_left_out(sp->session) != j->left_out;
	m->fn = build_end(j->b, j->nresults, j->result_refs);
	if (!m->recursive) {
		Fn *plain = m->fn;
		m->fn = NULL;
		m->fn = ir_services(c)->optimise(c, plain);
	}
	m->finished = true;
	m->called_open = false;
	FamilyMember **last = session_finished(sp->session);
	m->before = *last;
	*last = sp->frame ? m : NULL; /* none is under construction any more */
	session_count_specialised(j->sp->session);
	return true;
}

static FamilyMember *find_member(CallRequest *j, const char *key) {
	for (FamilyMember *m = j->family->members; m; m = m->next)
		if (!strcmp(m->baked_key, key) && (j->underived || !m->underived)) return m;
	return NULL;
}

struct job_run {
	CallRequest *j;
	bool done;
};
static void attempt_protected(Ctx *c, void *arg) {
	(void)c;
	struct job_run *r = arg;
	r->done = attempt(r->j);
}

/* ---- requests ------------------------------------------------------------ */

/* Counts the parts of a value up to a limit, because nested closures can refer
 * to more parts than fit in memory. */
static uint32_t count_parts(const Av *v, uint32_t limit) {
	uint32_t n = 1;
	for (uint32_t i = 0; i < v->n && n < limit; i++) n += count_parts(v->items[i], limit - n);
	return n;
}

static void check_parts(Sp *sp, Av *f, const CallArguments *call) {
	uint32_t left = MAX_PARTS;
	for (uint32_t i = 0; i < f->n; i++) left -= left ? count_parts(f->items[i], left) : 0;
	for (uint32_t i = 0; i < call->n; i++) left -= left ? count_parts(call->args[i], left) : 0;
	if (!left)
		sp_fail(sp, E_NESTING, call->span, "the arguments of %s have too many parts",
		        sp_function_name(sp, f));
}

/* open: the family whose functions bake only what they need. */
static struct Family *find_family(const CallRequest *j, const char *key, bool open) {
	Sp *sp = j->sp;
	struct Family *fam = session_find_family(sp->session, key);
	if (fam) return fam;
	Arena *a = arena_small(sp->c);
	fam = ARENA_NEW(a, struct Family);
	fam->a = a;
	fam->key = arena_copy(a, key, strlen(key));
	fam->nleaves = j->nleaves;
	fam->open = open;
	fam->demanded = ARENA_ARRAY(a, bool, j->nleaves + 1);
	fam->needed = ARENA_ARRAY(a, bool, j->nleaves + 1);
	fam->signs = ARENA_ARRAY(a, bool, j->nleaves + 1);
	for (uint32_t i = 0; i < j->nleaves; i++) fam->demanded[i] = fam->needed[i] = j->sig.fixed[i];
	fam->npieces = j->sig.pieces.n;
	fam->pieces = ARENA_ARRAY(a, const CodeOwner *, fam->npieces + 1);
	for (uint32_t i = 0; i < fam->npieces; i++) fam->pieces[i] = j->sig.pieces.at[i];
	session_add_family(sp->session, fam, fam->key, j->sig.newest, j->sig.oldest);
	return fam;
}

/* Whether the function asks for a constant that this call does not have, and
 * can do without. */
static bool asks_in_vain(const CallRequest *j) {
	const struct Family *fam = j->family;
	for (uint32_t i = 0; i < j->nleaves; i++)
		if (fam->demanded[i] && !fam->needed[i] && !sp_can_be_static(j->sp, j->args[i]))
			return true;
	return false;
}

static Specialisation specialise(Sp *sp, Av *f, const CallArguments *call, bool underived) {
	sp_want_function(sp, f, call);
	check_parts(sp, f, call);
	CallRequest j = {.sp = sp, .f = f, .call = call, .underived = underived};
	uint32_t n = f->n + call->n + call->nnamed;
	Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (uint32_t i = 0; i < f->n; i++) items[i] = av_named(sp, f->items[i]);
	for (uint32_t i = 0; i < call->n; i++) items[f->n + i] = av_named(sp, call->args[i]);
	for (uint32_t i = 0; i < call->nnamed; i++)
		items[f->n + call->n + i] = av_named(sp, call->named[i]);
	j.all = av_seq(sp, AV_TUPLE, n, items);
	j.nleaves = av_count_leaves(j.all);
	j.args = ARENA_ARRAY(sp->a, Ref, j.nleaves + 2);
	uint32_t k = 0;
	av_leaves(j.all, j.args, &k);
	j.sig.sp = sp;
	j.sig.oldest = UINT32_MAX;
	j.sig.fixed = ARENA_ARRAY(sp->a, bool, j.nleaves + 1);
	j.sig.negative = ARENA_ARRAY(sp->a, bool, j.nleaves + 1);
	const char *key = call_key_write(&j.sig, f, call, n, items);
	j.family = find_family(&j, key, false);
	for (;;) {
		if (asks_in_vain(&j)) j.family = find_family(&j, arena_printf(sp->a, "open %s", key), true);
		struct Family *fam = j.family;
		const char *bk = baked_key(&j);
		FamilyMember *m = find_member(&j, bk);
		if (m && m->finished) {
			j.member = m;
			break;
		}
		if (m) { /* under construction: a recursive call */
			if (!m->recursive) {
				for (FunctionFrame *fr = sp->frame; fr; fr = fr->outer)
					if (fr->b == m->building) {
						fr->wants_trial = true;
						session_set_retry(sp->session, fr);
						ctx_throw(sp->c, ST_ERROR);
					}
				sp_fail(sp, E_INTERNAL, call->span, "a recursive call without its function");
			}
			if (!m->declared) {
				session_set_bottom(sp->session, m->building);
				ctx_throw(sp->c, ST_ERROR);
			}
			m->called_open = true;
			j.member = m;
			break;
		}
		m = ARENA_NEW(fam->a, FamilyMember);
		m->baked_key = arena_copy(fam->a, bk, strlen(bk));
		m->family = fam;
		m->underived = underived;
		m->next = fam->members;
		fam->members = m;
		j.member = m;
		bool finished = false;
		uint32_t demanded_before = 0, demanded_after = 0;
		for (uint32_t i = 0; i < j.nleaves; i++)
			demanded_before += fam->demanded[i] + fam->signs[i];
		while (!finished) {
			j.trial = m->recursive && !m->declared;
			struct job_run r = {&j, false};
			Status s = ctx_protect(sp->c, attempt_protected, &r);
			if (s != ST_OK) {
				forget_member(m);
				ctx_throw(sp->c, s);
			}
			finished = r.done;
			demanded_after = 0;
			for (uint32_t i = 0; i < j.nleaves; i++)
				demanded_after += fam->demanded[i] + fam->signs[i];
			if (!finished && demanded_after != demanded_before) break; /* another key */
		}
		if (finished) break;
		forget_member(m);
	}
	const struct Family *fam = j.family;
	Specialisation r = {.effects = fam->effects, .nleaves = j.nleaves, .newest = j.sig.newest};
	FamilyMember *m = j.member;
	*session_yielded(sp->session) += m->yields;
	*session_left_out(sp->session) += m->underived;
	r.fn = m->finished ? m->fn : build_fn(m->building);
	r.result = m->finished ? m->result : m->declared_result;
	if (!m->finished) {
		r.promised = m->declared;
		r.npromised = m->declared_n;
	}
	r.args = ARENA_ARRAY(sp->a, Ref, j.nleaves + 2);
	r.param_of_leaf = ARENA_ARRAY(sp->a, int, j.nleaves + 1);
	for (uint32_t i = 0; i < j.nleaves; i++) {
		r.param_of_leaf[i] = fam->demanded[i] ? -1 : (int)r.nargs;
		if (!fam->demanded[i]) r.args[r.nargs++] = j.args[i];
	}
	return r;
}

Specialisation sp_specialise(Sp *sp, Av *f, const CallArguments *call) {
	return specialise(sp, f, call, false);
}

Specialisation sp_specialise_underived(Sp *sp, Av *f, const CallArguments *call) {
	return specialise(sp, f, call, true);
}
