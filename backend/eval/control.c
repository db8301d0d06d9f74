/* control.c - control flow, calls, host functions, fail and print.
 *
 * Needs: frame.h.
 *
 * Contract:
 * - A loop's carried values are moved from iteration to iteration, never
 *   copied. Updates in its body therefore happen in place.
 * - Values of a failed body of `try` are released before the handler runs.
 *
 * Between two iterations the carried values are in the slots of the loop's own
 * results. Nothing else reads those before the loop ends.
 */
#include "backend/eval/core/frame.h"
#include "lang/base/clock.h"
#include <stdlib.h>

Status eval_IF(Frame *f, const Step *s) {
	const Block *b = &s->blocks[operand_at(f, s->a)->b ? 0 : 1];
	Status st = run_block(f, b);
	if (LIKELY(st == ST_OK)) block_results(f, b, &f->slots[s->d]);
	return st;
}

static void move_values(Value *to, Value *from, uint32_t n) {
	for (uint32_t k = 0; k < n; k++) {
		to[k] = from[k];
		from[k].kind = V_UNSET;
	}
}

/* A loop's time is checked after 32, 64, 128 ... iterations, or after 2, 4, 8
 * ... where an iteration may be long. If the loop already has machine code, it
 * is also checked at its beginning. */
enum { FIRST_LOOK = 32, FIRST_HEAVY_LOOK = 2 };
static inline int64_t first_look(const Step *s) {
	return ((const LoopSite *)s->site)->heavy ? FIRST_HEAVY_LOOK : FIRST_LOOK;
}

/* Whether the loop may continue as machine code. Only loops of code without
 * units have a LoopSite (prepare.c). */
static inline bool may_go_on_natively(const Step *s) {
	const LoopSite *site = s->site;
	return site && !site->never;
}

/* Records an iteration. Does nothing in a loop that reports progress itself, or
 * contains one that does. */
static inline void iterated(Progress *p, int64_t step, int64_t steps) {
	if (p->says) return;
	p->has_report = true;
	p->step = step;
	p->steps = steps;
}

/* Prepares p for machine code, which counts its iterations from `iteration`.
 * Machine code has its own record for a loop that reports progress, so such a
 * loop's record is left. */
static Progress going_on(Frame *f, Progress *p, int64_t iteration) {
	if (!p) return (Progress){0};
	p->base = iteration;
	p->goes_on = true;
	const Progress now = *p;
	if (now.says) ctx_progress_leave(f->ctx, p);
	return now;
}

static Progress *stayed(Frame *f, Progress *p, const Progress *now) {
	if (p && now->says) p = ctx_progress_enter(f->ctx, true);
	if (!p) return NULL;
	*p = *now;
	p->goes_on = false;
	return p;
}

static inline bool has_machine_code(const Step *s) { return ((const LoopSite *)s->site)->osr; }

static Status iterate_for(Frame *f, const Step *s, Progress *p) {
	const Block *body = &s->blocks[0];
	const uint32_t carried = s->nargs - 1;
	int64_t n = operand_at(f, s->a)->i;
	Value *held = &f->slots[s->d], *params = &f->slots[body->params];
	for (uint32_t k = 0; k < carried; k++) held[k] = take_operand(f, s, k + 1);
	const bool watched = may_go_on_natively(s) && n > first_look(s);
	const double began = watched ? clock_seconds() : 0;
	for (int64_t i = 0, look = !watched              ? -1
	                           : has_machine_code(s) ? 0
	                                                 : first_look(s);
	     i < n; i++) {
		Status gone;
		if (UNLIKELY(i == look)) {
			bool soon;
			const Progress now = going_on(f, p, i);
			if (f->be->hooks->loop(f, s, i, n, clock_seconds() - began, held, &gone, &soon))
				return gone;
			p = stayed(f, p, &now);
			look = !look ? first_look(s) : look + (soon ? look / 8 + 1 : look);
		}
		params[0] = value_i64(i);
		move_values(params + 1, held, carried);
		Status st = run_block(f, body);
		if (UNLIKELY(st != ST_OK)) return st;
		block_results(f, body, held);
		if (UNLIKELY(p != NULL)) iterated(p, i + 1, n);
	}
	return ST_OK;
}

Status eval_FOR(Frame *f, const Step *s) {
	Progress *p = ctx_progress_enter(f->ctx, s->reports);
	const Status st = iterate_for(f, s, p);
	ctx_progress_leave(f->ctx, p);
	return st;
}

static Status iterate_while(Frame *f, const Step *s, Progress *p) {
	const Block *cond = &s->blocks[0], *body = &s->blocks[1];
	Value *held = &f->slots[s->d], *asked = &f->slots[cond->params],
		  *params = &f->slots[body->params];
	for (uint32_t k = 0; k < s->nargs; k++) held[k] = take_operand(f, s, k);
	double began = 0;
	for (int64_t iteration = 0, look = may_go_on_natively(s) ? 1 : -1;; iteration++) {
		Status gone;
		if (UNLIKELY(iteration == look)) {
			bool soon = false;
			const Progress now = going_on(f, p, iteration);
			if (look == 1) began = clock_seconds();
			if ((look > 1 || has_machine_code(s)) &&
			    f->be->hooks->loop(f, s, 0, 0, clock_seconds() - began, held, &gone, &soon))
				return gone;
			p = stayed(f, p, &now);
			look = look == 1 ? first_look(s) : soon ? look + look / 8 + 1 : 2 * look;
		}
		for (uint32_t k = 0; k < s->nargs; k++)
			asked[k] = held[k].kind == V_SCALAR ? held[k] : value_ref(held[k]);
		Status st = run_block(f, cond);
		if (UNLIKELY(st != ST_OK)) return st;
		Value more;
		block_results(f, cond, &more);
		if (!more.b) return ST_OK;
		move_values(params, held, s->nargs);
		st = run_block(f, body);
		if (UNLIKELY(st != ST_OK)) return st;
		block_results(f, body, held);
		if (UNLIKELY(p != NULL)) iterated(p, iteration + 1, 0);
	}
}

Status eval_WHILE(Frame *f, const Step *s) {
	Progress *p = ctx_progress_enter(f->ctx, s->reports);
	const Status st = iterate_while(f, s, p);
	ctx_progress_leave(f->ctx, p);
	return st;
}

Status eval_TRY(Frame *f, const Step *s) {
	const Block *body = &s->blocks[0], *handler = &s->blocks[1];
	const uint32_t before = diag_total(f->ctx), loops = ctx_progress_depth(f->ctx);
	Status st = run_block(f, body);
	if (st == ST_OK) {
		block_results(f, body, &f->slots[s->d]);
		return ST_OK;
	}
	if (st != ST_ERROR) return st;
	ctx_progress_reset(f->ctx, loops);
	sweep_block(f, body);
	const char *text = diag_total(f->ctx) > before ? diag_at(f->ctx, before)->message : "an error";
	Value message = value_string(f->ctx, text, strlen(text));
	diag_truncate(f->ctx, before);
	f->be->reported_diags = UINT32_MAX;
	if (message.kind == V_UNSET) return ST_NOMEM;
	f->slots[handler->params] = message;
	st = run_block(f, handler);
	if (st == ST_OK) block_results(f, handler, &f->slots[s->d]);
	return st;
}

/* ---- calls --------------------------------------------------------------- */

enum { FEW = 16 };

Status eval_CALL(Frame *f, const Step *s) {
	CallSite *site = s->site;
	if (UNLIKELY(!site->code)) {
		if (!site->fn || !site->fn->finished)
			return fail_internal(f, s, "a call of an unfinished function");
		site->code = code_of(f->ctx, site->fn);
		if (!site->code) return ctx_failure(f->ctx);
	}
	if (UNLIKELY(site->code->body.nparams != s->nargs || site->code->body.nresults != s->nresults))
		return fail_internal(f, s, "a call that does not fit its function");
	Value few[FEW], *args = few;
	if (s->nargs > FEW && !(args = heap_alloc(f->ctx, s->nargs * sizeof *args))) return ST_NOMEM;
	for (uint32_t k = 0; k < s->nargs; k++) args[k] = take_operand(f, s, k);
	Tensor *places[FEW];
	const bool placed = UNLIKELY(f->places != NULL) && s->nresults <= FEW;
	for (uint32_t k = 0; placed && k < s->nresults; k++) places[k] = place_of(f, s->d + k);
	Status st = call_code(f->be, site->code, s->nargs, args, placed ? places : NULL,
	                      &f->slots[s->d], s->span);
	if (s->nargs > FEW) heap_free(f->ctx, args, s->nargs * sizeof *args);
	return st;
}

static void drop_values(Value *v, uint32_t n) {
	for (uint32_t k = 0; k < n; k++) {
		value_unref(v[k]);
		v[k].kind = V_UNSET;
	}
}

Status eval_HOST(Frame *f, const Step *s) {
	const HostCall *call = s->site;
	Value few[FEW], *args = few;
	Value *results = &f->slots[s->d];
	if (s->nargs > FEW && !(args = heap_alloc(f->ctx, s->nargs * sizeof *args))) return ST_NOMEM;
	for (uint32_t k = 0; k < s->nargs; k++) args[k] = *operand(f, s, k);
	const uint32_t before = diag_total(f->ctx);
	Status st = call->def->eval(f->ctx, call, s->nargs, args, s->nresults, results);
	if (s->nargs > FEW) heap_free(f->ctx, args, s->nargs * sizeof *args);
	if (st != ST_OK) {
		for (uint32_t k = 0; k < s->nresults; k++) results[k].kind = V_UNSET;
		if (st == ST_ERROR && diag_total(f->ctx) == before && diag_count(f->ctx, SEV_ERROR) < 20)
			return fail_at(f, s, E_HOST, "%s failed", call->def->name);
		return st;
	}
	if (UNLIKELY(diag_total(f->ctx) > before)) step_warned(f, s, before);
	bind_syms(f, s->nsyms, s->syms);
	for (uint32_t k = 0; k < s->nresults; k++) {
		if (LIKELY(has_type(f, results[k], &s->types[k]))) continue;
		st = fail_type(f, results[k], &s->types[k], s->span, call->def->name);
		drop_values(results, s->nresults);
		return st;
	}
	return ST_OK;
}

Status eval_DYNAMIC(Frame *f, const Step *s) {
	const uint32_t nargs = s->nargs - 3;
	Value few[FEW], *args = few;
	if (!ir_services(f->ctx)->call_dynamic) return fail_internal(f, s, "nobody runs dynamic calls");
	if (nargs > FEW && !(args = heap_alloc(f->ctx, nargs * sizeof *args))) return ST_NOMEM;
	const Value callee = value_ref(*operand(f, s, 2)); /* may be an argument, too */
	for (uint32_t k = 0; k < nargs; k++) args[k] = take_operand(f, s, k + 3);
	Value state = take_operand(f, s, 1), result = {.kind = V_UNSET};
	Status st =
		ir_services(f->ctx)->call_dynamic(f->ctx, callee, nargs, args, &state, &result, s->span);
	value_unref(callee);
	drop_values(args, nargs);
	if (nargs > FEW) heap_free(f->ctx, args, nargs * sizeof *args);
	if (st != ST_OK) {
		value_unref(state);
		return st;
	}
	put_value(f, s, 0, (Value){.kind = V_TOKEN});
	put_value(f, s, 1, state);
	put_value(f, s, 2, result);
	return ST_OK;
}

/* ---- effects ------------------------------------------------------------- */

static const char *text_of(const Value *v, size_t *n) {
	if (v->kind != V_STRING) {
		*n = 0;
		return "";
	}
	*n = v->object->n;
	return ((const StringObject *)v->object)->text;
}

Status eval_START(Frame *f, const Step *s) {
	put_value(f, s, 0, (Value){.kind = V_TOKEN});
	return ST_OK;
}

Status eval_PROGRESS(Frame *f, const Step *s) {
	if (!ctx_reports_progress(f->ctx)) return ST_OK;
	double values[PROGRESS_VALUES];
	for (uint32_t k = 2; k < s->nargs; k++) values[k - 2] = operand(f, s, k)->f;
	ctx_report(f->ctx, (Atom)s->fields[0].words[0], operand(f, s, 0)->i, operand(f, s, 1)->i,
	           s->nargs - 2, values);
	return ST_OK;
}

Status eval_PRINT(Frame *f, const Step *s) {
	size_t n;
	const char *text = text_of(operand_at(f, s->b), &n);
	if (!ctx_granted(f->ctx, GRANT_OUTPUT)) {
		diag_step(f, s, E_DENIED, "this program may not print: the host has not granted output");
		return ST_DENIED;
	}
	ctx_write(f->ctx, text, n);
	ctx_write(f->ctx, "\n", 1);
	put_value(f, s, 0, (Value){.kind = V_TOKEN});
	return spend(f->be, n);
}

Status fail_user(Frame *f, const Step *s, int64_t code, const Value *message) {
	size_t n;
	const char *text = text_of(message, &n);
	if (code == E_EXIT) {
		/* Of several batch elements, the first one that fails. */
		const long long ends = strtoll(text + strcspn(text, "-0123456789"), NULL, 10);
		if (ends >= 0 && ends <= 255) {
			diag_error(f->ctx, E_EXIT, span_of(f->ctx, s->span),
			           "the program ended itself with exit code %lld", ends);
			ctx_set_exit_code(f->ctx, (int)ends);
			f->be->traced = 0;
			return ST_EXIT;
		}
		return fail_at(f, s, E_VALUE, "an exit code is a number from 0 to 255, not %s", text);
	}
	diag_error(f->ctx, code >= 0 && code < DIAG_COUNT ? (DiagCode)code : E_USER,
	           span_of(f->ctx, s->span), "%.*s", (int)n, text);
	f->be->traced = 0;
	return ST_ERROR;
}

Status eval_WARN(Frame *f, const Step *s) {
	size_t n;
	const char *text = text_of(operand_at(f, s->a), &n);
	const uint32_t before = diag_total(f->ctx);
	diag_warning(f->ctx, W_SOLVER, span_of(f->ctx, s->span), "%.*s", (int)n, text);
	if (diag_total(f->ctx) > before) step_warned(f, s, before);
	return spend(f->be, n);
}

Status eval_FAIL(Frame *f, const Step *s) {
	return fail_user(f, s, s->fields ? s->fields[0].words[0] : E_USER, operand_at(f, s->a));
}
