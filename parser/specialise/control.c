/* control.c - branches and loops: merging of values and loop-carried variables.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - A condition that is static selects its branch immediately.
 * - The carried values of a loop are widened (dtype, varying extents) until the
 *   body maps their types to themselves.
 * - A loop over a tuple or list is unrolled, and so is a loop of static trip
 *   count that cannot be typed otherwise.
 */
#include "parser/specialise/internal.h"

#define MAX_UNROLL 4096
#define MAX_WIDENING 12

static const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

static bool is_hidden(Sp *sp, Atom name) {
	const Hidden *h = sp_hidden(sp);
	return name == h->io || name == h->rng || name == h->brk || name == h->cont || name == h->ret ||
	       name == h->retval;
}

/* True for the flags of break, continue and return. */
static bool is_flag(Sp *sp, Atom name) {
	const Hidden *h = sp_hidden(sp);
	return name == h->brk || name == h->cont || name == h->ret;
}

/* ---- merging two values -------------------------------------------------- */

/* One merged leaf on each side: a ref to convert to `dtype`, a value to box, or
 * zeros of the other side's type. */
typedef struct MergeLeaf {
	Av *side[2]; /* an array, or a value to box; NULL: filler */
	bool box;
	Dtype dtype;
} MergeLeaf;
typedef VEC(MergeLeaf) MergeLeaves;

static Av *merge_box(Sp *sp, Av *x, Av *y, MergeLeaves *out) {
	MergeLeaf l = {.side = {x, y}, .box = true};
	VEC_PUSH(sp->a, out, l);
	return av_dyn(sp, REF_NONE);
}

static Av *merge_values(Sp *sp, Av *x, Av *y, MergeLeaves *out);

static Av *merge_items(Sp *sp, Av *x, Av *y, MergeLeaves *out) {
	Av *r = ARENA_NEW(sp->a, Av);
	*r = *x;
	r->items = ARENA_ARRAY(sp->a, Av *, x->n ? x->n : 1);
	for (uint32_t i = 0; i < x->n; i++)
		r->items[i] = merge_values(sp, x->items[i], y->items[i], out);
	return r;
}

/* Merges a value with no value: the missing side is filled with zeros that are
 * never read. */
static Av *merge_filler(Sp *sp, Av *v, int side, MergeLeaves *out) {
	Av *r = ARENA_NEW(sp->a, Av);
	*r = *v;
	if (av_is_leaf(v)) {
		MergeLeaf l = {.box = av_is_boxed(v),
		               .dtype = v->kind == AV_ARRAY ? ty(sp, v->ref)->dtype : DT_F64};
		l.side[side] = v;
		VEC_PUSH(sp->a, out, l);
		return r;
	}
	if (v->n) {
		r->items = ARENA_ARRAY(sp->a, Av *, v->n);
		for (uint32_t i = 0; i < v->n; i++) r->items[i] = merge_filler(sp, v->items[i], side, out);
	}
	return r;
}

static Av *merge_values(Sp *sp, Av *x, Av *y, MergeLeaves *out) {
	if (x->kind == AV_UNSET && y->kind == AV_UNSET) return x;
	if (x->kind == AV_UNSET) return merge_filler(sp, y, 1, out);
	if (y->kind == AV_UNSET) return merge_filler(sp, x, 0, out);
	if (x->kind == AV_ARRAY && y->kind == AV_ARRAY) {
		if (ty(sp, x->ref)->rank != ty(sp, y->ref)->rank) return merge_box(sp, x, y, out);
		MergeLeaf l = {.side = {x, y}, .dtype = sp_common_dtype(sp, x, y)};
		VEC_PUSH(sp->a, out, l);
		Av *r = av_array(sp, REF_NONE);
		r->weak = x->weak && y->weak;
		r->origin = x->origin;
		return r;
	}
	if (x->kind == AV_HOST && y->kind == AV_HOST) {
		Av *r = merge_box(sp, x, y, out);
		r->kind = AV_HOST;
		return r;
	}
	bool alike = x->kind == y->kind && x->n == y->n && x->kind != AV_DYN;
	if (alike && (x->kind == AV_RECORD || x->kind == AV_FUNCTION || x->kind == AV_PROBLEM)) {
		alike = x->code == y->code && x->code_id == y->code_id;
		for (uint32_t i = 0; alike && i < x->n; i++) alike = x->names[i] == y->names[i];
	}
	if (alike && x->kind == AV_STRING) alike = x->text == y->text;
	return alike ? merge_items(sp, x, y, out) : merge_box(sp, x, y, out);
}

/* Zeros of the type of the other side's leaf. An extent that is unknown here
 * becomes 0. */
static Ref filler(Sp *sp, TypeId like, uint32_t nsyms) {
	Type t = *type_of(sp->c, like);
	for (uint32_t i = 0; i < t.rank; i++) {
		Dim d = build_canon(sp->b, t.dims[i]);
		for (SymId s = nsyms; s < build_fn(sp->b)->syms.n; s++)
			if (dim_mentions(sp->c, d, s)) {
				d = dim_const(sp->c, 0);
				break;
			}
		t.dims[i] = d;
	}
	return build_zeros(sp->b, type_tensor(sp->c, (Dtype)t.dtype, t.rank, t.dims));
}

/* Emits one side's leaves in the open region. */
static void emit_side(Sp *sp, const MergeLeaves *leaves, int side, uint32_t nsyms, Ref *out) {
	for (uint32_t i = 0; i < leaves->n; i++) {
		const MergeLeaf *l = &leaves->at[i];
		if (l->box)
			out[i] = l->side[side] ? sp_box(sp, l->side[side]) : build_const(sp->b, value_none());
		else if (l->side[side]) out[i] = sp_to_dtype(sp, l->side[side], l->dtype);
		else out[i] = filler(sp, ref_type(build_fn(sp->b), l->side[1 - side]->ref), nsyms);
	}
}

/* The names that a layer changed and that outlive it. */
static void merged_names(Sp *sp, const Env *x, const Env *y, VEC_ATOMS *out) {
	const Env *layers[2] = {x, y};
	/* Then every assignment of the other side counts. */
	bool alone = sp_dead(sp, x) || sp_dead(sp, y);
	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; i < layers[k]->vars.n; i++) {
			Atom name = layers[k]->vars.at[i].name;
			bool seen = false;
			for (uint32_t m = 0; m < out->n; m++) seen |= out->at[m] == name;
			if (seen || name == sp_hidden(sp)->dead) continue;
			bool in_other = false;
			for (uint32_t m = 0; m < layers[1 - k]->vars.n; m++)
				in_other |= layers[1 - k]->vars.at[m].name == name;
			if (in_other || alone || is_hidden(sp, name) || env_find(sp->env, name))
				VEC_PUSH(sp->a, out, name);
		}
}

static Av *value_on_side(Sp *sp, Env *layer, Atom name, bool diverges) {
	diverges |= sp_dead(sp, layer);
	if (diverges && !is_hidden(sp, name)) return av_new(sp, AV_UNSET);
	Av *v = env_find(layer, name);
	if (v) return v;
	return is_flag(sp, name) ? av_bool(sp, false) : av_new(sp, AV_UNSET);
}

/* ---- branches ------------------------------------------------------------ */

struct branch_run {
	Sp *sp;
	SpBranch run;
	void *ud;
	Av *value;
};

static void run_protected(Ctx *c, void *arg) {
	(void)c;
	struct branch_run *r = arg;
	r->value = r->run(r->sp, r->ud);
}

/* True when control surely left inside this layer. */
static bool left_surely(Sp *sp, const Env *layer) {
	const Hidden *h = sp_hidden(sp);
	Atom flags[3] = {h->brk, h->cont, h->ret};
	for (int i = 0; i < 3; i++)
		for (uint32_t k = 0; k < layer->vars.n; k++) {
			bool known;
			if (layer->vars.at[k].name == flags[i] &&
			    av_static_bool(sp, layer->vars.at[k].value, &known) && known)
				return true;
		}
	return false;
}

/* True for a failure of a kind that occurs at run time: an index, a value,
 * arithmetic, an unsuitable method. It was found early because the operands are
 * static. */
static bool failed_as_if_running(Sp *sp, uint32_t mark) {
	if (session_retry(sp->session) || diag_total(sp->c) <= mark) return false;
	const DiagCode code = diag_at(sp->c, diag_total(sp->c) - 1)->code;
	return code == E_METHOD || !strncmp(diag_code_id(code), "E06", 3);
}

/* Runs one side in its own layer and region. In the trial of a recursive
 * function, a side whose value depends on the recursive call has no value yet
 * (*bottom). Inside `try`, a failure of the kind that occurs at run time is
 * deferred to run time. */
static RegionId run_side(Sp *sp, SpBranch run, void *ud, bool in_try, Env **layer, Av **value,
                         const Builder **bottom) {
	Env *saved = sp->env;
	uint32_t depth = sp->depth;
	Inlined *inlined = sp->inlined;
	const Counter *counters = sp->counters;
	OpenRegion *open = build_region_begin(sp->b, 0, NULL, NULL);
	*layer = sp->env = env_new(sp, saved);
	*bottom = NULL;
	if (in_try || (sp->frame && sp->frame->trial)) {
		struct branch_run r = {sp, run, ud, NULL};
		uint32_t mark = diag_total(sp->c);
		Status s = ctx_protect(sp->c, run_protected, &r);
		if (s != ST_OK) {
			bool failed = in_try && s == ST_ERROR && failed_as_if_running(sp, mark);
			const Builder *whose =
				!failed && sp->frame && sp->frame->trial ? session_take_bottom(sp->session) : NULL;
			if (!failed && !whose) ctx_throw(sp->c, s);
			build_region_abandon(sp->b, open);
			sp->env = saved;
			sp->depth = depth;
			sp->inlined = inlined;
			sp->counters = counters;
			*layer = env_new(sp, saved);
			*value = av_new(sp, AV_UNSET);
			*bottom = whose;
			open = build_region_begin(sp->b, 0, NULL, NULL);
			if (failed) {
				const Diag *d = diag_at(sp->c, diag_total(sp->c) - 1);
				Ref message = sp_box(sp, av_string(sp, d->message));
				build(sp->b, OP_FAIL, 1, &message, attr_intern(sp->c, (int64_t[]){d->code}, 1),
				      NULL);
				diag_truncate(sp->c, mark);
			}
			return build_region_end(sp->b, open, 0, NULL);
		}
		*value = r.value;
	} else *value = run(sp, ud);
	if (left_surely(sp, *layer)) *value = av_new(sp, AV_UNSET);
	sp->env = saved;
	return build_region_end(sp->b, open, 0, NULL);
}

/* Merges the values and names of two closed regions and emits the owning
 * instruction. */
static Av *join(Sp *sp, RegionId region[2], Env *layer[2], Av *value[2],
                const Builder *const bottom[2], uint32_t nsyms, Ref cond, bool is_try) {
	VEC_ATOMS names = {0};
	merged_names(sp, layer[0], layer[1], &names);
	MergeLeaves leaves = {0};
	bool dead[2];
	for (int i = 0; i < 2; i++)
		if ((dead[i] = sp_dead(sp, layer[i]))) value[i] = av_new(sp, AV_UNSET);
	Av *merged = merge_values(sp, value[0], value[1], &leaves);
	Av **after = ARENA_ARRAY(sp->a, Av *, names.n ? names.n : 1);
	bool *fixed = ARENA_ARRAY(sp->a, bool, names.n ? names.n : 1);
	for (uint32_t i = 0; i < names.n; i++) {
		/* When one side surely fails, the other alone determines whether
		 * control left. */
		bool left;
		after[i] = NULL;
		if (dead[0] != dead[1] && is_flag(sp, names.at[i]) &&
		    av_static_bool(sp, value_on_side(sp, layer[dead[0]], names.at[i], bottom[dead[0]]),
		                   &left)) {
			fixed[i] = left;
			continue;
		}
		Av *x = value_on_side(sp, layer[0], names.at[i], bottom[0]),
		   *y = value_on_side(sp, layer[1], names.at[i], bottom[1]);
		bool visible = is_hidden(sp, names.at[i]) || (x->kind != AV_UNSET && y->kind != AV_UNSET) ||
		               bottom[0] || bottom[1] || dead[0] || dead[1];
		after[i] = visible ? merge_values(sp, x, y, &leaves) : av_new(sp, AV_UNSET);
	}
	Ref *results = ARENA_ARRAY(sp->a, Ref, leaves.n ? leaves.n : 1);
	for (int side = 0; side < 2; side++) {
		OpenRegion *open = build_region_reopen(sp->b, region[side], NULL);
		emit_side(sp, &leaves, side, nsyms, results);
		region[side] = build_region_end(sp->b, open, leaves.n, results);
	}
	if (is_try) build_try(sp->b, region[0], region[1], results);
	else build_if(sp->b, cond, region[0], region[1], results);
	uint32_t k = 0;
	merged = av_rebuild(sp, merged, results, &k);
	for (uint32_t i = 0; i < names.n; i++) {
		Av *v = after[i] ? av_rebuild(sp, after[i], results, &k) : av_bool(sp, fixed[i]);
		sp_word_lengths(sp, v, atom_text(sp->c, names.at[i]));
		env_set(sp, sp->env, names.at[i], v);
	}
	if (dead[0] && dead[1]) sp_set_dead(sp);
	return merged;
}

Av *sp_branch(Sp *sp, Av *cond, SpBranch then_, void *then_ud, SpBranch else_, void *else_ud,
              Span at) {
	bool known;
	if (cond->kind == AV_DYN) cond = av_array(sp, sp_scalar(sp, cond, DT_BOOL, at, "a condition"));
	if (av_static_bool(sp, cond, &known)) return known ? then_(sp, then_ud) : else_(sp, else_ud);
	uint32_t nsyms = build_fn(sp->b)->syms.n;
	SpanId span = build_span(sp->b);
	RegionId region[2];
	Env *layer[2];
	Av *value[2];
	const Builder *bottom[2];
	region[0] = run_side(sp, then_, then_ud, false, &layer[0], &value[0], &bottom[0]);
	region[1] = run_side(sp, else_, else_ud, false, &layer[1], &value[1], &bottom[1]);
	if (bottom[0] && bottom[1]) {
		/* The outer of the two functions is the one to wait for. */
		const Builder *outer = bottom[0];
		for (const FunctionFrame *f = sp->frame; f; f = f->outer)
			if (f->b == bottom[0] || f->b == bottom[1]) outer = f->b;
		session_set_bottom(sp->session, outer);
		ctx_throw(sp->c, ST_ERROR);
	}
	build_at(sp->b, span);
	return join(sp, region, layer, value, bottom, nsyms, cond->ref, false);
}

struct part {
	const Ast *e;
};

static Av *run_part(Sp *sp, void *ud) {
	const Ast *e = ((struct part *)ud)->e;
	if (!e) return av_none(sp);
	return e->kind == A_BLOCK ? sp_block(sp, e->block.n, e->block.items, false) : sp_expr(sp, e);
}

/* Evaluates a condition, which must be a scalar boolean. */
static Av *condition(Sp *sp, const Ast *e) {
	Av *c = sp_expr(sp, e);
	if (c->kind == AV_UNSET) return av_bool(sp, false); /* no value: never reached */
	if (c->kind == AV_DYN) return av_array(sp, sp_scalar(sp, c, DT_BOOL, e->span, "a condition"));
	if (c->kind != AV_ARRAY || ty(sp, c->ref)->dtype != DT_BOOL || ty(sp, c->ref)->rank) {
		Diag *d = diag_error(sp->c, E_TYPE, e->span, "a condition must be true or false, not %s",
		                     sp_type_text(sp, c));
		if (c->kind == AV_ARRAY && ty(sp, c->ref)->dtype == DT_BOOL)
			diag_hint(sp->c, d, "write any(...) or all(...), or where(c, a, b) for each element");
		else if (c->kind == AV_ARRAY && !ty(sp, c->ref)->rank)
			diag_hint(sp->c, d,
			          "a number is compared: x != 0; a loop without end is while true { ... }");
		else if (c->kind == AV_NONE)
			diag_hint(sp->c, d, "kind(x) == \"none\" asks whether there is a value");
		sp_throw(sp);
	}
	return c;
}

Av *sp_if(Sp *sp, const Ast *e) {
	Av *c = condition(sp, e->if_.cond);
	struct part t = {e->if_.then_}, f = {e->if_.else_};
	sp_at(sp, e->span);
	return sp_branch(sp, c, run_part, &t, run_part, &f, e->span);
}

static Av *run_handler(Sp *sp, void *ud) {
	const Ast *e = ((struct part *)ud)->e;
	return run_part(sp, &(struct part){e->try_.handler});
}

Av *sp_try(Sp *sp, const Ast *e) {
	uint32_t nsyms = build_fn(sp->b)->syms.n;
	SpanId span = build_span(sp->b);
	RegionId region[2];
	Env *layer[2];
	Av *value[2];
	const Builder *bottom[2];
	struct part body = {e->try_.body}, handler = {e};
	region[0] = run_side(sp, run_part, &body, true, &layer[0], &value[0], &bottom[0]);
	/* The handler's message is the parameter of its region, bound in a layer
	 * around the handler. */
	Env *saved = sp->env;
	TypeId message_type = type_dyn(sp->c);
	Ref message;
	OpenRegion *open = build_region_begin(sp->b, 1, &message_type, &message);
	layer[1] = sp->env = env_new(sp, saved);
	Env *inner = sp->env;
	if (e->try_.name) {
		Env *named = env_new(sp, inner);
		env_set(sp, named, e->try_.name, av_dyn(sp, message));
		sp->env = named;
	}
	value[1] = run_handler(sp, &handler);
	if (sp->env != inner) {
		/* The handler's assignments belong to the layer; the name of the
		 * message does not. */
		for (uint32_t i = 0; i < sp->env->vars.n; i++)
			if (sp->env->vars.at[i].name != e->try_.name)
				env_set(sp, inner, sp->env->vars.at[i].name, sp->env->vars.at[i].value);
	}
	if (left_surely(sp, inner)) value[1] = av_new(sp, AV_UNSET);
	sp->env = saved;
	region[1] = build_region_end(sp->b, open, 0, NULL);
	bottom[1] = NULL;
	build_at(sp->b, span);
	return join(sp, region, layer, value, bottom, nsyms, REF_NONE, true);
}

/* ---- loops --------------------------------------------------------------- */

typedef struct Loop {
	const Ast *e;
	const Ast *body;
	bool is_for;
	bool leaves;          /* contains break or return: becomes a `while` with flags */
	Av *iterable;         /* for */
	Ref count;            /* i64, for */
	int64_t static_count; /* -1: not known */
	VEC_ATOMS names;      /* carried */
	VEC_AVS init;         /* their values before the loop (structure as carried) */
} Loop;

/* The i-th item of the iterable. */
static Av *loop_item(Sp *sp, const Loop *l, Ref i) {
	Av *it = l->iterable;
	if (it->kind == AV_RANGE) {
		Ref k =
			build2(sp->b, OP_ADD, it->items[0]->ref, build2(sp->b, OP_MUL, i, it->items[2]->ref));
		return av_array(sp, k);
	}
	if (it->kind == AV_DYN)
		return sp_call_dynamic(sp, av_builtin(sp, "_item", 0, NULL), 2,
		                       (Av *[]){it, av_array(sp, i)}, l->e->span);
	return av_array(sp, build_gather(sp->b, it->ref, i, 0, 0));
}

static void loop_count(Sp *sp, Loop *l) {
	Av *it = l->iterable;
	Span at = l->e->for_.iterable->span;
	if (it->kind == AV_RANGE) {
		int64_t start, stop, step;
		bool known =
			av_static_int(sp, it->items[0], &start) && av_static_int(sp, it->items[1], &stop);
		bool known_step = av_static_int(sp, it->items[2], &step);
		if (known_step && step == 0) sp_fail(sp, E_VALUE, at, "a range needs a step other than 0");
		int64_t wide;
		if (known && (__builtin_sub_overflow(stop, start, &wide) || wide == INT64_MIN))
			sp_fail(sp, E_VALUE, at,
			        "the range %lld..%lld has more numbers than an integer can say",
			        (long long)start, (long long)stop);
		if (known && known_step) {
			int64_t n = step > 0 ? (stop > start ? (stop - start - 1) / step + 1 : 0)
			                     : (start > stop ? (start - stop - 1) / -step + 1 : 0);
			l->static_count = n;
			l->count = build_i64(sp->b, n);
			return;
		}
		/* ceil((stop - start) / step), at least 0. */
		Ref span = build2(sp->b, OP_SUB, it->items[1]->ref, it->items[0]->ref);
		Ref n = known_step && step == 1
		            ? span
		            : build1(sp->b, OP_NEG,
		                     build2(sp->b, OP_FLOORDIV, build1(sp->b, OP_NEG, span),
		                            it->items[2]->ref));
		l->count = build2(sp->b, OP_MAX, n, build_i64(sp->b, 0));
		return;
	}
	if (it->kind == AV_DYN) {
		Av *n = sp_call_dynamic(sp, av_builtin(sp, "len", 0, NULL), 1, &it, at);
		l->count = sp_scalar(sp, n, DT_I64, at, "a length");
		return;
	}
	if (it->kind != AV_ARRAY || ty(sp, it->ref)->rank == 0) {
		Diag *d =
			diag_error(sp->c, E_TYPE, at,
		               "`for` runs over a range, an array, a tuple, a list or a string, not %s",
		               sp_type_text(sp, it));
		if (it->kind == AV_ARRAY) diag_hint(sp->c, d, "for i in 0..n runs n times");
		sp_throw(sp);
	}
	Dim d = ty(sp, it->ref)->dims[0];
	if (dim_is_const(sp->c, d, &l->static_count)) l->count = build_i64(sp->b, l->static_count);
	else l->count = build_extent(sp->b, d);
}

static void carry(Sp *sp, Loop *l, Atom name, Av *init) {
	for (uint32_t i = 0; i < l->names.n; i++)
		if (l->names.at[i] == name) return;
	VEC_PUSH(sp->a, &l->names, name);
	VEC_PUSH(sp->a, &l->init, init);
}

static void collect_carried(Sp *sp, Loop *l) {
	Atom *names;
	uint32_t n;
	ast_assigned(sp, l->body, &names, &n);
	for (uint32_t i = 0; i < n; i++) {
		Av *v = env_find(sp->env, names[i]);
		if (v && v->kind != AV_UNSET) carry(sp, l, names[i], av_named(sp, v));
	}
	const Hidden *h = sp_hidden(sp);
	Atom effects[2] = {h->io, h->rng};
	for (int i = 0; i < 2; i++) {
		Av *v = env_find(sp->env, effects[i]);
		if (v) carry(sp, l, effects[i], v);
	}
	if (l->leaves) {
		carry(sp, l, h->brk, av_bool(sp, false));
		carry(sp, l, h->ret, av_bool(sp, false));
		Av *rv = env_find(sp->env, h->retval);
		carry(sp, l, h->retval, rv ? rv : av_new(sp, AV_UNSET));
	}
}

/* One attempt to type the loop with the current initial values. */
typedef struct Attempt {
	Loop *l;
	Av **result;      /* carried values after the body */
	Av **param;       /* carried values as the region's parameters */
	uint32_t nsyms;   /* symbols that existed before */
	uint32_t yielded; /* session_yielded before */
	bool *varying;    /* by leaf dim: index leaf*MAX_RANK + axis */
	RegionId cond, body;
	OpenRegion *open;
} Attempt;

static uint32_t total_leaves(const Loop *l) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->init.n; i++) n += av_count_leaves(l->init.at[i]);
	return n;
}

/* Parameter types: those of the initial values, with fresh symbols for varying
 * extents. */
static void param_types(Sp *sp, Attempt *at, uint32_t first, TypeId *types) {
	Loop *l = at->l;
	uint32_t n = total_leaves(l), k = 0;
	Ref *init = ARENA_ARRAY(sp->a, Ref, n ? n : 1);
	for (uint32_t i = 0; i < l->init.n; i++) av_leaves(l->init.at[i], init, &k);
	for (uint32_t i = 0; i < n; i++) {
		Type t = *ty(sp, init[i]);
		if (t.kind == TY_TENSOR) {
			for (uint32_t axis = 0; axis < t.rank; axis++)
				t.dims[axis] = at->varying[i * MAX_RANK + axis]
				                   ? build_fresh_dim(sp->b, 0, span_intern(sp->c, l->e->span))
				                   : build_canon(sp->b, t.dims[axis]);
			types[first + i] = type_tensor(sp->c, (Dtype)t.dtype, t.rank, t.dims);
		} else types[first + i] = ref_type(build_fn(sp->b), init[i]);
	}
}

/* Opens the region of a condition or body with the parameters [i,] carried, and
 * binds the carried names. */
static OpenRegion *open_loop_region(Sp *sp, Attempt *at, bool with_index, const TypeId *types,
                                    Ref *index, Av **carried) {
	Loop *l = at->l;
	uint32_t n = total_leaves(l) + (with_index ? 1 : 0), k = with_index ? 1 : 0;
	Ref *params = ARENA_ARRAY(sp->a, Ref, n ? n : 1);
	OpenRegion *open = build_region_begin(sp->b, n, types, params);
	if (with_index) *index = params[0];
	for (uint32_t i = 0; i < l->names.n; i++) {
		carried[i] = av_rebuild(sp, l->init.at[i], params, &k);
		env_set(sp, sp->env, l->names.at[i], carried[i]);
	}
	return open;
}

static Av *loop_cond_expr(Sp *sp, void *ud) {
	const Ast *e = ((struct part *)ud)->e;
	return condition(sp, e);
}
static Av *const_false(Sp *sp, void *ud) {
	(void)ud;
	return av_bool(sp, false);
}

/* No break or return yet, and the loop's own condition. */
static Ref loop_condition(Sp *sp, Loop *l, Ref index) {
	const Hidden *h = sp_hidden(sp);
	Av *stay = NULL;
	if (l->leaves) {
		Av *flags = sp_elementwise(sp, OP_MAX, 2,
		                           (Av *[]){env_find(sp->env, h->brk), env_find(sp->env, h->ret)},
		                           l->e->span);
		stay = sp_elementwise(sp, OP_EQ, 2, (Av *[]){flags, av_bool(sp, false)}, l->e->span);
	}
	if (l->is_for) {
		Ref more = build2(sp->b, OP_LT, index, l->count);
		return stay ? build2(sp->b, OP_MIN, stay->ref, more) : more;
	}
	struct part c = {l->e->while_.cond};
	if (!stay) return loop_cond_expr(sp, &c)->ref;
	return sp_branch(sp, stay, loop_cond_expr, &c, const_false, NULL, l->e->span)->ref;
}

static void run_loop_body(Sp *sp, Loop *l, Ref index) {
	const Counter *outer = sp->counters, here = {outer, sp->b, index};
	if (l->is_for) sp->counters = &here;
	Env *inner = env_new(sp, sp->env);
	Env *carried = sp->env;
	sp->env = inner;
	if (l->is_for)
		sp_assign(sp, l->e->for_.target, loop_item(sp, l, index), l->e->for_.target->span);
	const Hidden *h = sp_hidden(sp);
	env_set(sp, inner, h->cont, av_bool(sp, false));
	if (l->body->kind == A_BLOCK) sp_block(sp, l->body->block.n, l->body->block.items, false);
	else sp_expr(sp, l->body);
	/* Assignments to carried names are copied from `inner`; its other names end
	 * here. */
	for (uint32_t i = 0; i < l->names.n; i++) {
		Av *v = env_find(inner, l->names.at[i]);
		env_set(sp, carried, l->names.at[i], v);
	}
	sp->env = carried;
	sp->counters = outer;
}

struct attempt_run {
	Sp *sp;
	Attempt *at;
};

/* Builds the regions of condition and body. The body region is closed without
 * results. */
static void attempt_body(Ctx *c, void *arg) {
	(void)c;
	struct attempt_run *r = arg;
	Sp *sp = r->sp;
	Attempt *at = r->at;
	Loop *l = at->l;
	bool as_while = !l->is_for || l->leaves;
	uint32_t n = total_leaves(l);
	TypeId *types = ARENA_ARRAY(sp->a, TypeId, n + 1);
	types[0] = type_scalar(sp->c, DT_I64);
	Env *saved = sp->env;
	uint32_t ni = l->is_for ? 1 : 0;
	if (as_while) {
		sp->env = env_new(sp, saved);
		param_types(sp, at, ni, types);
		Ref index = REF_NONE;
		at->open = open_loop_region(sp, at, l->is_for, types, &index, at->param);
		Ref go = loop_condition(sp, l, index);
		OpenRegion *open = at->open;
		at->open = NULL;
		at->cond = build_region_end(sp->b, open, 1, &go);
		sp->env = saved;
	}
	sp->env = env_new(sp, saved);
	param_types(sp, at, ni, types);
	Ref index = REF_NONE;
	at->open = open_loop_region(sp, at, l->is_for, types, &index, at->param);
	run_loop_body(sp, l, index);
	for (uint32_t i = 0; i < l->names.n; i++) at->result[i] = env_find(sp->env, l->names.at[i]);
	if (as_while && l->is_for) { /* the index is carried as well */
		at->result[l->names.n] = av_array(sp, build2(sp->b, OP_ADD, index, build_i64(sp->b, 1)));
	}
	OpenRegion *open = at->open;
	at->open = NULL;
	at->body = build_region_end(sp->b, open, 0, NULL);
	sp->env = saved;
}

/* Compares the results of the body with its parameters. Returns 0 when they
 * fit, 1 when `init` or `varying` was widened (try again), 2 when the structure
 * changes. */
static int widen(Sp *sp, Attempt *at, uint32_t *name_at_fault) {
	Loop *l = at->l;
	int outcome = 0;
	uint32_t leaf = 0;
	for (uint32_t i = 0; i < l->names.n; i++) {
		Av *p = at->param[i], *r = at->result[i];
		uint32_t nleaves = av_count_leaves(l->init.at[i]);
		/* The returned value gets its type from the first return. */
		if (p->kind == AV_UNSET && r->kind != AV_UNSET) {
			MergeLeaves leaves = {0};
			Av *shape = merge_filler(sp, r, 1, &leaves);
			Ref *zeros = ARENA_ARRAY(sp->a, Ref, leaves.n ? leaves.n : 1);
			for (uint32_t k = 0; k < leaves.n; k++)
				zeros[k] = leaves.at[k].box
				               ? build_const(sp->b, value_none())
				               : filler(sp, ref_type(build_fn(sp->b), leaves.at[k].side[1]->ref),
				                        at->nsyms);
			uint32_t k = 0;
			l->init.at[i] = av_rebuild(sp, shape, zeros, &k);
			return 1; /* leaf numbering changed: start over */
		}
		if (!av_same_structure(p, r)) {
			*name_at_fault = i;
			return 2;
		}
		Ref *pr = ARENA_ARRAY(sp->a, Ref, nleaves + 1), *rr = ARENA_ARRAY(sp->a, Ref, nleaves + 1),
			*ir = ARENA_ARRAY(sp->a, Ref, nleaves + 1);
		Av **pv = ARENA_ARRAY(sp->a, Av *, nleaves + 1),
		   **rv = ARENA_ARRAY(sp->a, Av *, nleaves + 1);
		bool *settled = ARENA_ARRAY(sp->a, bool, nleaves + 1); /* no longer weak */
		uint32_t a = 0, b = 0, c = 0;
		av_leaf_values(p, pv, &a);
		av_leaf_values(r, rv, &b);
		av_leaves(l->init.at[i], ir, &c);
		for (uint32_t k = 0; k < nleaves; k++) {
			pr[k] = pv[k]->ref;
			rr[k] = rv[k]->ref;
		}
		bool changed = false, any_settled = false;
		for (uint32_t k = 0; k < nleaves; k++) {
			Type tp = *ty(sp, pr[k]), tr = *ty(sp, rr[k]);
			if (tp.kind != TY_TENSOR) continue;
			if (tp.rank != tr.rank) {
				*name_at_fault = i;
				return 2;
			}
			settled[k] = pv[k]->weak && !rv[k]->weak;
			any_settled |= settled[k];
			/* If a weak number adopted another dtype in this iteration, the
			 * next iteration would behave differently. */
			changed |= settled[k] && *session_yielded(sp->session) != at->yielded;
			if (tp.dtype != tr.dtype) {
				Dtype d = rv[k]->kind == AV_ARRAY && pv[k]->kind == AV_ARRAY
				              ? sp_common_dtype(sp, pv[k], rv[k])
				              : dtype_promote((Dtype)tp.dtype, (Dtype)tr.dtype);
				if (d != tp.dtype) { /* else the result converts back without loss of kind */
					ir[k] = build_convert(sp->b, ir[k], d);
					changed = true;
				}
			}
			for (uint32_t axis = 0; axis < tp.rank; axis++) {
				bool *varies = &at->varying[(leaf + k) * MAX_RANK + axis];
				if (!*varies &&
				    build_canon(sp->b, tp.dims[axis]) != build_canon(sp->b, tr.dims[axis]))
					*varies = changed = true;
			}
		}
		if (changed || any_settled) {
			uint32_t k = 0;
			Av **iv = ARENA_ARRAY(sp->a, Av *, nleaves + 1);
			l->init.at[i] = av_rebuild(sp, l->init.at[i], ir, &k);
			k = 0;
			av_leaf_values(l->init.at[i], iv, &k);
			for (k = 0; k < nleaves; k++) iv[k]->weak &= !settled[k];
		}
		if (changed) outcome = 1;
		leaf += nleaves;
	}
	return outcome;
}

static void unroll(Sp *sp, Loop *l, uint32_t n, Av *const *items);

struct unrolled_rest {
	Loop *l;
	uint32_t n;
	Av *const *items;
};
static Av *run_unrolled_rest(Sp *sp, void *ud) {
	struct unrolled_rest *r = ud;
	unroll(sp, r->l, r->n, r->items);
	return av_none(sp);
}
static Av *stop_unrolled(Sp *sp, void *ud) {
	(void)ud;
	return av_none(sp);
}

/* Inlines the body for each item. */
static void unroll(Sp *sp, Loop *l, uint32_t n, Av *const *items) {
	const Hidden *h = sp_hidden(sp);
	for (uint32_t i = 0; i < n; i++) {
		Env *outer = sp->env;
		sp->env = env_new(sp, outer);
		env_set(sp, sp->env, h->cont, av_bool(sp, false));
		sp_assign(sp, l->e->for_.target, items[i], l->e->for_.target->span);
		Env *layer = sp->env;
		if (l->body->kind == A_BLOCK) sp_block(sp, l->body->block.n, l->body->block.items, false);
		else sp_expr(sp, l->body);
		sp->env = outer;
		for (uint32_t k = 0; k < layer->vars.n; k++) {
			Atom name = layer->vars.at[k].name;
			if (name == h->cont) continue;
			if (name == h->dead || is_hidden(sp, name) || env_find(outer, name))
				env_set(sp, outer, name, layer->vars.at[k].value);
		}
		if (sp_dead(sp, sp->env)) break;
		Av *brk = env_find(sp->env, h->brk), *ret = env_find(sp->env, h->ret);
		Av *left = brk && ret ? sp_elementwise(sp, OP_MAX, 2, (Av *[]){brk, ret}, l->e->span)
		           : brk      ? brk
		                      : ret;
		bool known;
		if (!left || (av_static_bool(sp, left, &known) && !known)) continue;
		if (av_static_bool(sp, left, &known)) break;
		struct unrolled_rest rest = {l, n - i - 1, items + i + 1};
		Av *stay = sp_elementwise(sp, OP_EQ, 2, (Av *[]){left, av_bool(sp, false)}, l->e->span);
		sp_branch(sp, stay, run_unrolled_rest, &rest, stop_unrolled, NULL, l->e->span);
		break;
	}
}

/* Confines `break` to this loop. */
static void unroll_contained(Sp *sp, Loop *l, uint32_t n, Av *const *items) {
	Atom brk = sp_hidden(sp)->brk, dead = sp_hidden(sp)->dead;
	Env *outer = sp->env;
	sp->env = env_new(sp, outer);
	env_set(sp, sp->env, brk, av_bool(sp, false));
	Env *layer = sp->env;
	unroll(sp, l, n, items);
	sp->env = outer;
	for (uint32_t i = 0; i < layer->vars.n; i++) {
		Atom name = layer->vars.at[i].name;
		if (name != brk && (name == dead || is_hidden(sp, name) || env_find(outer, name)))
			env_set(sp, outer, name, layer->vars.at[i].value);
	}
}

static void unroll_static(Sp *sp, Loop *l) {
	uint32_t n;
	Av **items;
	if (!sp_static_items(sp, l->iterable, &n, &items)) {
		n = (uint32_t)l->static_count;
		items = ARENA_ARRAY(sp->a, Av *, n ? n : 1);
		for (uint32_t i = 0; i < n; i++) items[i] = loop_item(sp, l, build_i64(sp->b, i));
	}
	unroll_contained(sp, l, n, items);
}

static _Noreturn void carry_error(Sp *sp, Attempt *at, uint32_t i) {
	Loop *l = at->l;
	Span where = l->init.at[i]->origin.source ? l->init.at[i]->origin : l->e->span;
	Diag *d = diag_error(sp->c, E_CARRY,
	                     at->result[i]->origin.source ? at->result[i]->origin : l->e->span,
	                     "`%s` changes its type in the loop: %s before, %s after one turn",
	                     atom_text(sp->c, l->names.at[i]), sp_type_text(sp, at->param[i]),
	                     sp_type_text(sp, at->result[i]));
	diag_second(sp->c, d, where, "`%s` starts here", atom_text(sp->c, l->names.at[i]));
	sp_throw(sp);
}

/* Boxes a carried variable that cannot keep one type, so that it is carried as
 * a dynamic value. Returns false when it is boxed already. */
static bool box_carried(Sp *sp, Loop *l, uint32_t i) {
	if (l->init.at[i]->kind == AV_DYN) return false;
	l->init.at[i] = av_dyn(sp, sp_box(sp, l->init.at[i]));
	return true;
}

static void run_loop(Sp *sp, Loop *l) {
	Env *env = sp->env;
	uint32_t depth = sp->depth, unrollable = sp->unrollable, tries = 0;
	const Counter *counters = sp->counters;
	Inlined *inlined = sp->inlined;
	SpanId span = build_span(sp->b);
	Attempt at = {.l = l};
	bool can_unroll = l->is_for && l->static_count >= 0 && l->static_count <= MAX_UNROLL;
	uint32_t varying_leaves = 0;
	for (;;) {
		if (total_leaves(l) != varying_leaves || !at.varying) {
			varying_leaves = total_leaves(l);
			at.varying = ARENA_ARRAY(sp->a, bool, (varying_leaves + 1) * MAX_RANK);
		}
		at.result = ARENA_ARRAY(sp->a, Av *, l->names.n + 1);
		at.param = ARENA_ARRAY(sp->a, Av *, l->names.n + 1);
		at.nsyms = build_fn(sp->b)->syms.n;
		at.yielded = *session_yielded(sp->session);
		at.open = NULL;
		uint32_t mark = diag_total(sp->c);
		struct attempt_run r = {sp, &at};
		sp->unrollable += can_unroll;
		Status s = ctx_protect(sp->c, attempt_body, &r);
		sp->unrollable = unrollable;
		sp->env = env;
		sp->depth = depth;
		sp->inlined = inlined;
		sp->counters = counters;
		build_at(sp->b, span);
		if (s != ST_OK) {
			if (at.open) build_region_abandon(sp->b, at.open);
			if (can_unroll && session_take_wants_unroll(sp->session)) {
				diag_truncate(sp->c, mark);
				unroll_static(sp, l);
				return;
			}
			ctx_throw(sp->c, s);
		}
		uint32_t fault = 0;
		int outcome = widen(sp, &at, &fault);
		if (outcome == 0) break;
		if (outcome == 2) {
			if (can_unroll) {
				unroll_static(sp, l);
				return;
			}
			/* An array that changes its rank is a mistake. Structures that grow
			 * are carried as dynamic values. */
			if (at.param[fault]->kind == AV_ARRAY && at.result[fault]->kind == AV_ARRAY)
				carry_error(sp, &at, fault);
			if (!box_carried(sp, l, fault)) {
				at.result[fault] = av_dyn(sp, REF_NONE);
				carry_error(sp, &at, fault);
			}
		}
		if (++tries > MAX_WIDENING) carry_error(sp, &at, fault);
	}
	/* The results, converted to the parameters' dtypes. */
	bool as_while = !l->is_for || l->leaves;
	uint32_t n = total_leaves(l), ni = as_while && l->is_for ? 1 : 0, k = 0;
	Ref *results = ARENA_ARRAY(sp->a, Ref, n + 2), *params = ARENA_ARRAY(sp->a, Ref, n + 2),
		*init = ARENA_ARRAY(sp->a, Ref, n + 2);
	OpenRegion *open = build_region_reopen(sp->b, at.body, NULL);
	if (ni) results[0] = at.result[l->names.n]->ref;
	k = ni;
	for (uint32_t i = 0; i < l->names.n; i++) {
		Av *v = at.param[i]->kind == AV_DYN && at.result[i]->kind != AV_DYN
		            ? av_dyn(sp, sp_box(sp, at.result[i]))
		            : at.result[i];
		av_leaves(v, results, &k);
	}
	k = ni;
	for (uint32_t i = 0; i < l->names.n; i++) av_leaves(at.param[i], params, &k);
	for (uint32_t i = ni; i < n + ni; i++)
		if (ty(sp, params[i])->kind == TY_TENSOR &&
		    ty(sp, results[i])->dtype != ty(sp, params[i])->dtype)
			results[i] = build_convert(sp->b, results[i], (Dtype)ty(sp, params[i])->dtype);
	at.body = build_region_end(sp->b, open, n + ni, results);
	if (ni) init[0] = build_i64(sp->b, 0);
	k = ni;
	for (uint32_t i = 0; i < l->names.n; i++) av_leaves(l->init.at[i], init, &k);
	if (as_while) build_while(sp->b, n + ni, init, at.cond, at.body, results);
	else build_for(sp->b, l->count, n, init, at.body, results);
	k = ni;
	const Hidden *h = sp_hidden(sp);
	for (uint32_t i = 0; i < l->names.n; i++) {
		Av *after = av_rebuild(sp, l->init.at[i], results, &k);
		sp_word_lengths(sp, after, atom_text(sp->c, l->names.at[i]));
		if (l->names.at[i] != h->brk) env_set(sp, sp->env, l->names.at[i], after);
	}
}

/* True for a long list of strings. A loop over it is not unrolled, because
 * strings determine no types. */
static bool many_texts(const Av *v) {
	if (v->kind != AV_LIST || v->n <= 64) return false;
	for (uint32_t i = 0; i < v->n; i++)
		if (v->items[i]->kind != AV_STRING) return false;
	return true;
}

Av *sp_for(Sp *sp, const Ast *e) {
	Loop l = {.e = e,
	          .body = e->for_.body,
	          .is_for = true,
	          .static_count = -1,
	          .leaves = ast_leaves_loop(e->for_.body)};
	l.iterable = sp_expr(sp, e->for_.iterable);
	if (l.iterable->kind == AV_STRING)
		l.iterable = sp_call_args(sp, av_builtin(sp, "_text_chars", 0, NULL), 1, &l.iterable,
		                          e->for_.iterable->span);
	sp_at(sp, e->span);
	if (many_texts(l.iterable)) l.iterable = av_dyn(sp, sp_box(sp, l.iterable));
	if (l.iterable->kind == AV_TUPLE || l.iterable->kind == AV_LIST) {
		unroll_contained(sp, &l, l.iterable->n, l.iterable->items);
		return av_none(sp);
	}
	loop_count(sp, &l);
	if (l.static_count == 0) return av_none(sp);
	collect_carried(sp, &l);
	run_loop(sp, &l);
	return av_none(sp);
}

Av *sp_while(Sp *sp, const Ast *e) {
	Loop l = {.e = e,
	          .body = e->while_.body,
	          .static_count = -1,
	          .leaves = ast_leaves_loop(e->while_.body)};
	collect_carried(sp, &l);
	run_loop(sp, &l);
	/* Only a return ends `while true` without a break, so nothing after it is
	 * reached. */
	bool forever = false;
	const Ast *c = e->while_.cond;
	if (c->kind == A_CONST && value_as_bool(c->constant.value, &forever) && forever && l.leaves &&
	    sp->self && !ast_breaks(e->while_.body))
		env_set(sp, sp->env, sp_hidden(sp)->ret, av_bool(sp, true));
	return av_none(sp);
}
