/* context.c - engines, contexts, handles, limits, and the entry protocol.
 *
 * Needs: api.h, the initialisation functions of all modules.
 *
 * Contract:
 * - As api.h states for api_run.
 * - A handle may be freed on any thread at any time. Its contents are released
 *   at once when the context is idle, else at the next entry.
 */
#include "api/api.h"
#include "autodiff/autodiff.h"
#include "backend/backend.h"
#include "data/io.h"
#include "lang/base/c_stack.h"
#include "lang/base/page_pool.h"
#if __has_include("solvers/solvers.h")
#include "solvers/solvers.h"
#include "lang/base/parallel.h"
#define HAVE_SOLVERS 1
#else
#define HAVE_SOLVERS 0
#endif

#include <stdio.h>
#include <stdlib.h>

int atled_version(void) { return ATLED_VERSION; }

/* ---- engine -------------------------------------------------------------- */

#define HAS_FIELD(s, T, field) ((s)->size >= offsetof(T, field) + sizeof((s)->field))

/* A field of a config that may be NULL or shorter than ours; 0 when it is not
 * there. */
#define CONFIG_FIELD(config, field)                                                                \
	((config) && HAS_FIELD(config, atled_engine_config, field) ? (config)->field : 0)

static NativePolicy policy_of(const atled_engine_config *config) {
	return (NativePolicy){.never = CONFIG_FIELD(config, no_machine_code) != 0,
	                      .background = CONFIG_FIELD(config, background_only) != 0,
	                      .wait_seconds = CONFIG_FIELD(config, wait_seconds),
	                      .cache = CONFIG_FIELD(config, code_cache),
	                      .environment = CONFIG_FIELD(config, environment) != 0};
}

atled_engine *atled_engine_new(const atled_engine_config *config) {
	HostAllocator alloc = heap_default();
	if (config && HAS_FIELD(config, atled_engine_config, ud) && config->resize)
		alloc = (HostAllocator){config->resize, config->ud};
	atled_engine *e = alloc.resize(alloc.ud, NULL, 0, sizeof *e);
	if (!e) return NULL;
	memset(e, 0, sizeof *e);
	e->alloc = alloc;
	atomic_init(&e->refs, 1);
	const int threads = CONFIG_FIELD(config, threads);
	if (threads > 0) e->threads = threads;
	e->policy = policy_of(config);
	if (e->policy.cache) {
		const size_t n = strlen(e->policy.cache) + 1;
		char *copy = alloc.resize(alloc.ud, NULL, 0, n);
		if (copy) memcpy(copy, e->policy.cache, n);
		e->policy.cache = copy;
		if (!copy) {
			atled_engine_free(e);
			return NULL;
		}
	}
	return e;
}

void atled_engine_free(atled_engine *e) {
	if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1) return;
	char *cache = (char *)(uintptr_t)e->policy.cache;
	if (cache) e->alloc.resize(e->alloc.ud, cache, strlen(cache) + 1, 0);
	e->alloc.resize(e->alloc.ud, e, sizeof *e, 0);
}

void atled_interrupt_all(atled_engine *e) {
	if (e) atomic_fetch_add_explicit(&e->epoch, 1, memory_order_relaxed);
}

/* ---- handles ------------------------------------------------------------- */

static void life_drop(HandleRegistry *life) { /* called with the lock held; unlocks it */
	bool last = --life->refs == 0;
	pthread_mutex_unlock(&life->lock);
	if (!last) return;
	pthread_mutex_destroy(&life->lock);
	account_free(life->account, life, sizeof *life);
}

static size_t handle_bytes(const Handle *h) {
	return h->kind == HANDLE_VALUE ? sizeof(atled_value) : sizeof(atled_function);
}

static void handle_release(Handle *h) {
	if (h->kind == HANDLE_VALUE) value_handle_release((atled_value *)h);
	else function_handle_release((atled_function *)h);
}

void *handle_new(atled_context *x, HandleKind kind, size_t bytes) {
	HandleRegistry *life = x->life;
	Handle *h = account_alloc(life->account, bytes);
	if (!h) return NULL;
	memset(h, 0, bytes);
	h->life = life;
	h->kind = (uint8_t)kind;
	pthread_mutex_lock(&life->lock);
	life->refs++;
	h->next = life->live;
	if (h->next) h->next->prev = h;
	life->live = h;
	pthread_mutex_unlock(&life->lock);
	return h;
}

/* Frees a handle's own block. */
static void handle_discard(Handle *h) {
	HandleRegistry *life = h->life;
	if (h->kind == HANDLE_FUNCTION) {
		atled_function *f = (atled_function *)h;
		if (f->block) account_free(life->account, f->block, f->block_bytes);
	}
	account_free(life->account, h, handle_bytes(h));
}

static bool take_idle(atled_context *x) {
	int idle = 0;
	return atomic_compare_exchange_strong_explicit(&x->busy, &idle, 1, memory_order_acquire,
	                                               memory_order_relaxed);
}

static bool is_owner(atled_context *x) {
	return atomic_load_explicit(&x->owner, memory_order_relaxed) == (uintptr_t)pthread_self();
}

void handle_free(Handle *h, size_t bytes) {
	(void)bytes;
	if (!h || !h->life) return;
	HandleRegistry *life = h->life;
	pthread_mutex_lock(&life->lock);
	if (h->prev) h->prev->next = h->next;
	else life->live = h->next;
	if (h->next) h->next->prev = h->prev;
	h->prev = NULL;
	atled_context *x = life->ctx;
	if (x) {
		bool idle = take_idle(x), inside = !idle && is_owner(x);
		if (!idle && !inside) {
			h->next = life->dead;
			life->dead = h;
			life_drop(life);
			return;
		}
		handle_release(h);
		if (idle) atomic_store_explicit(&x->busy, 0, memory_order_release);
	}
	handle_discard(h);
	life_drop(life);
}

/* Releases handles that were freed while the context was busy. */
static void bury(HandleRegistry *life) {
	pthread_mutex_lock(&life->lock);
	Handle *h = life->dead;
	life->dead = NULL;
	pthread_mutex_unlock(&life->lock);
	while (h) {
		Handle *next = h->next;
		handle_release(h);
		handle_discard(h);
		h = next;
	}
}

/* ---- floating-point environment ------------------------------------------ */

/* Saves the host's floating-point environment. On x86-64 fegetenv and fesetenv
 * cost more than a small program. MXCSR and the x87 words are therefore checked
 * first, and the library functions run only when the host changed the rounding
 * or the exception masks. */
#if defined(__x86_64__)
#define MXCSR_FLAGS 0x3fu
#define MXCSR_DEFAULT 0x1f80u
#define X87_DEFAULT 0x37f
#define X87_FLAGS 0x3f

static void float_enter(FloatEnv *e) {
	__asm__ volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2"
	                 : "=m"(e->mxcsr), "=m"(e->x87_control), "=am"(e->x87_status));
	e->changed = (e->mxcsr & ~MXCSR_FLAGS) != MXCSR_DEFAULT || e->x87_control != X87_DEFAULT;
	if (!e->changed) return;
	fegetenv(&e->full);
	fesetenv(FE_DFL_ENV);
}

static void float_leave(const FloatEnv *e) {
	if (e->changed) {
		fesetenv(&e->full);
		return;
	}
	uint32_t mxcsr;
	uint16_t status;
	__asm__ volatile("stmxcsr %0\n\tfnstsw %1" : "=m"(mxcsr), "=am"(status));
	if (mxcsr != e->mxcsr) __asm__ volatile("ldmxcsr %0" : : "m"(e->mxcsr));
	if ((status & X87_FLAGS) && !(e->x87_status & X87_FLAGS)) __asm__ volatile("fnclex");
}
#else
static void float_enter(FloatEnv *e) {
	fegetenv(&e->full);
	fesetenv(FE_DFL_ENV);
}

static void float_leave(const FloatEnv *e) { fesetenv(&e->full); }
#endif

/* ---- context life cycle -------------------------------------------------- */

/* Lets files of data store functions, which only the session can serialise. */
static const DataHooks saved_functions = {session_function_out, session_function_in, session_ir_out,
                                          session_ir_in};

static void set_up(Ctx *c, void *arg) {
	atled_context *x = arg;
	api_want(c, backend_init(c));
	backend_set_policy(c, &x->engine->policy);
	autodiff_init(c);
#if HAVE_SOLVERS
	api_want(c, solvers_init(c));
#endif
	api_want(c, session_init(c));
	x->session = session_of(c);
	data_set_hooks(c, &saved_functions);
	for (const DataFunction *f = data_functions; f->name; f++)
		api_want(c, session_define_dynamic(x->session, f->name, f->fn, NULL));
	if (x->engine->threads) parallel_set_threads(c, x->engine->threads);
}

static HandleRegistry *life_new(atled_context *x) {
	HeapAccount *account = heap_account(x->c);
	HandleRegistry *life = account_alloc(account, sizeof *life);
	if (!life) return NULL;
	*life = (HandleRegistry){.refs = 1, .account = account, .ctx = x};
	/* Recursive: releasing a handle may run the host's release callback, which
	 * may free handles. */
	pthread_mutexattr_t attr;
	bool ok = !pthread_mutexattr_init(&attr);
	if (ok) {
		ok = !pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE) &&
		     !pthread_mutex_init(&life->lock, &attr);
		pthread_mutexattr_destroy(&attr);
	}
	if (ok) return life;
	account_free(account, life, sizeof *life);
	return NULL;
}

atled_context *atled_context_new(atled_engine *engine) {
	atled_engine *e = engine ? engine : atled_engine_new(NULL);
	if (!e) return NULL;
	if (engine) atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
	atled_context *x = e->alloc.resize(e->alloc.ud, NULL, 0, sizeof *x);
	if (!x) {
		atled_engine_free(e);
		return NULL;
	}
	memset(x, 0, sizeof *x);
	x->engine = e;
	x->c = ctx_new(&e->alloc);
	if (x->c) {
		ctx_set_slot(x->c, SLOT_API, x, NULL);
		ctx_follow_epoch(x->c, &e->epoch);
		float_enter(&x->env);
		bool ok = (x->life = life_new(x)) && api_protect(x, set_up, x) == ST_OK;
		float_leave(&x->env);
		if (ok) return x;
	}
	atled_context_free(x);
	return NULL;
}

void atled_context_free(atled_context *x) {
	if (!x) return;
	if (x->life) {
		bury(x->life);
		pthread_mutex_lock(&x->life->lock);
		x->life->ctx = NULL;
		for (Handle *h = x->life->live; h; h = h->next) handle_release(h);
		for (uint32_t i = 0; i < x->wrappers.n; i++) value_unref(x->wrappers.at[i].value);
		life_drop(x->life);
	}
	for (uint32_t i = 0; i < x->hosts.n; i++) x->hosts.at[i]->free_ud(x->hosts.at[i]->ud);
	ctx_free(x->c);
	if (x->free_data) x->free_data(x->data);
	atled_engine *e = x->engine;
	e->alloc.resize(e->alloc.ud, x, sizeof *x, 0);
	atled_engine_free(e);
}

/* ---- entry protocol ------------------------------------------------------ */

atled_status api_enter(atled_context *x, EnterMode mode) {
	if (!x) return ATLED_MISUSE;
	if (!take_idle(x)) {
		bool inside = mode == ENTER_CALLBACK && is_owner(x) &&
		              atomic_load_explicit(&x->callbacks, memory_order_relaxed) > 0;
		if (!inside) return ATLED_BUSY;
		x->error_base = diag_total(x->c);
		atomic_fetch_add_explicit(&x->busy, 1, memory_order_relaxed);
		return ATLED_OK;
	}
	atomic_store_explicit(&x->owner, (uintptr_t)pthread_self(), memory_order_relaxed);
	float_enter(&x->env);
	ctx_enter_epoch(x->c);
	if (diag_total(x->c)) diag_clear(x->c);
	x->error_base = 0;
	x->misuse = false;
	ctx_progress_reset(x->c, 0);
	if (x->life->dead) bury(x->life);
	if (x->limits.steps) ctx_set_step_limit(x->c, x->limits.steps);
	if (x->limits.seconds > 0) ctx_set_time_limit(x->c, x->limits.seconds);
	return ATLED_OK;
}

/* Ensures that a failure has a diagnostic; out of memory may have left none. */
static void see_reason(atled_context *x, Status st) {
	Ctx *c = x->c;
	for (uint32_t i = x->error_base; i < diag_total(c); i++) {
		const Diag *d = diag_at(c, i);
		if (d->severity == SEV_ERROR && (st != ST_NOMEM || d->code == E_MEMORY)) return;
	}
	switch (st) {
	case ST_OK: break;
	case ST_NOMEM:
		if (x->limits.memory)
			diag_error(c, E_MEMORY, NO_SPAN, "out of memory: the limit is %.0f MB",
			           (double)x->limits.memory / 1048576.0);
		else diag_error(c, E_MEMORY, NO_SPAN, "out of memory");
		break;
	case ST_INTERRUPTED: diag_error(c, E_INTERRUPT, NO_SPAN, "interrupted"); break;
	case ST_LIMIT: diag_error(c, E_BUDGET, NO_SPAN, "a limit is reached"); break;
	case ST_DENIED: diag_error(c, E_DENIED, NO_SPAN, "this is not granted here"); break;
	case ST_EXIT: break; /* fail_user has recorded it */
	case ST_ERROR:
	case ST_INTERNAL:
		diag_error(c, E_INTERNAL, NO_SPAN, "a failure without a reason (status %d)", (int)st);
		break;
	}
}

static atled_status public_status(atled_context *x, Status st) {
	switch (st) {
	case ST_OK: return ATLED_OK;
	case ST_ERROR: return x->misuse ? ATLED_MISUSE : ATLED_ERROR;
	case ST_NOMEM: return ATLED_NOMEM;
	case ST_INTERRUPTED: return ATLED_INTERRUPTED;
	case ST_LIMIT: return ATLED_LIMIT;
	case ST_DENIED: return ATLED_DENIED;
	case ST_EXIT: return ATLED_EXIT;
	case ST_INTERNAL: break;
	}
	return ATLED_INTERNAL;
}

Status api_status(atled_status st) {
	static const Status of[] = {ST_OK,     ST_ERROR,    ST_NOMEM, ST_INTERRUPTED, ST_LIMIT,
	                            ST_DENIED, ST_INTERNAL, ST_ERROR, ST_ERROR,       ST_EXIT};
	return (unsigned)st < sizeof of / sizeof *of ? of[st] : ST_ERROR;
}

atled_status api_leave(atled_context *x, Status st) {
	if (st != ST_OK) see_reason(x, st);
	atled_status out = public_status(x, st);
	x->misuse = false;
	x->status = out;
	if (atomic_load_explicit(&x->busy, memory_order_relaxed) > 1) { /* return to the callback */
		atomic_fetch_sub_explicit(&x->busy, 1, memory_order_relaxed);
		return out;
	}
	diag_tell_warnings(x->c);
	if (st == ST_INTERRUPTED) ctx_clear_interrupt(x->c);
	if (x->limits.steps) ctx_set_step_limit(x->c, 0);
	if (x->limits.seconds > 0) ctx_set_time_limit(x->c, 0);
	float_leave(&x->env);
	atomic_store_explicit(&x->owner, 0, memory_order_relaxed);
	atomic_store_explicit(&x->busy, 0, memory_order_release);
	return out;
}

typedef struct Protected {
	Ctx *c;
	ApiBody body;
	void *arg;
} Protected;

static Status protected_body(void *arg) {
	const Protected *p = arg;
	return ctx_protect(p->c, p->body, p->arg);
}

Status api_protect(atled_context *x, ApiBody body, void *arg) {
	Protected p = {x->c, body, arg};
	return c_stack_run(ctx_stack(x->c), protected_body, &p);
}

atled_status api_run(atled_context *x, EnterMode mode, ApiBody body, void *arg) {
	atled_status entered = api_enter(x, mode);
	if (entered != ATLED_OK) return entered;
	uint32_t mark = build_mark(x->c);
	Status st = api_protect(x, body, arg);
	if (st != ST_OK) build_unwind(x->c, mark);
	return api_leave(x, st);
}

void api_misuse(Ctx *c, const char *format, ...) {
	char text[400];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	diag_error(c, E_VALUE, NO_SPAN, "%s", text);
	api_of(c)->misuse = true;
	ctx_throw(c, ST_ERROR);
}

atled_status api_refuse(atled_context *x, const char *call, const char *why) {
	if (api_enter(x, ENTER_CALLBACK) != ATLED_OK) return ATLED_MISUSE;
	diag_error(x->c, E_VALUE, NO_SPAN, "%s: %s", call, why);
	x->misuse = true;
	return api_leave(x, ST_ERROR);
}

void api_want(Ctx *c, Status st) {
	if (st != ST_OK) ctx_throw(c, st);
}

void api_callback_begin(Ctx *c) {
	atomic_fetch_add_explicit(&api_of(c)->callbacks, 1, memory_order_relaxed);
}
void api_callback_end(Ctx *c) {
	atomic_fetch_sub_explicit(&api_of(c)->callbacks, 1, memory_order_relaxed);
}

size_t api_length(const char *text, size_t n) {
	if (!text) return 0;
	return n == ATLED_ZERO ? strlen(text) : n;
}

/* ---- the host's data ----------------------------------------------------- */

static void data_body(Ctx *c, void *arg) {
	const atled_context *with = arg;
	atled_context *x = api_of(c);
	void *before = x->data, (*free_before)(void *) = x->free_data;
	x->data = with->data;
	x->free_data = with->free_data;
	if (free_before) free_before(before);
}

atled_status atled_set_data(atled_context *x, void *data, void (*free_data)(void *data)) {
	return api_run(x, ENTER_CALLBACK, data_body,
	               &(atled_context){.data = data, .free_data = free_data});
}

void *atled_data(const atled_context *x) { return x ? x->data : NULL; }

/* ---- limits, grants, output ---------------------------------------------- */

static void grant_body(Ctx *c, void *arg) { ctx_grant(c, *(unsigned *)arg); }

atled_status atled_grant(atled_context *x, unsigned grants) {
	return api_run(x, ENTER_ALONE, grant_body, &grants);
}

static void limits_body(Ctx *c, void *arg) {
	const atled_limit *l = arg;
	atled_limit *have = &api_of(c)->limits;
	if (HAS_FIELD(l, atled_limit, memory) && l->memory &&
	    (!have->memory || l->memory < have->memory)) {
		have->memory = l->memory;
		heap_set_limit(c, l->memory);
	}
	if (HAS_FIELD(l, atled_limit, steps) && l->steps && (!have->steps || l->steps < have->steps))
		have->steps = l->steps;
	if (HAS_FIELD(l, atled_limit, seconds) && l->seconds > 0 &&
	    (!(have->seconds > 0) || l->seconds < have->seconds))
		have->seconds = l->seconds;
	if (HAS_FIELD(l, atled_limit, depth) && l->depth && l->depth < ctx_depth_limit(c))
		ctx_set_depth_limit(c, l->depth);
}

atled_status atled_limits(atled_context *x, const atled_limit *limit) {
	API_WANT(x, limit, "limit is NULL");
	API_WANT(x, limit->size >= sizeof limit->size, "limit->size is not set");
	atled_limit copy = {0};
	memcpy(&copy, limit, limit->size < sizeof copy ? limit->size : sizeof copy);
	return api_run(x, ENTER_ALONE, limits_body, &copy);
}

static void compact_body(Ctx *c, void *unused) {
	(void)unused;
	session_compact(api_of(c)->session);
	backend_trim(c);
	c_stack_trim(ctx_stack(c));
	heap_trim(c);
	page_trim();
}

atled_status atled_context_compact(atled_context *x) {
	return api_run(x, ENTER_ALONE, compact_body, NULL);
}

void atled_interrupt(atled_context *x) {
	if (x) ctx_interrupt(x->c);
}

void atled_clear_interrupt(atled_context *x) {
	if (x) ctx_clear_interrupt(x->c);
}

int atled_exit_code(const atled_context *x) { return x ? ctx_exit_code(x->c) : 0; }

unsigned atled_granted(const atled_context *x) {
	unsigned grants = 0;
	for (unsigned g = 1; x && g <= GRANT_ALL; g <<= 1)
		if (ctx_granted(x->c, (Grant)g)) grants |= g;
	return grants;
}

typedef struct ClientSink {
	atled_sink sink;
	void *ud;
} ClientSink;

static void output_body(Ctx *c, void *arg) {
	ClientSink *o = arg;
	ctx_set_output(c, o->sink, o->ud);
}

atled_status atled_output(atled_context *x, atled_sink sink, void *ud) {
	ClientSink o = {sink, ud};
	return api_run(x, ENTER_ALONE, output_body, &o);
}

static void tell_progress(void *ud, const Progress *p, uint32_t n) {
	atled_context *x = ud;
	enum { ROOM = 256 };
	atled_progress_state s[PROGRESS_LEVELS] = {{.size = sizeof *s}};
	const char *names[PROGRESS_LEVELS][PROGRESS_VALUES];
	char text[PROGRESS_LEVELS][ROOM];
	for (uint32_t i = 0; i < n; i++) {
		const char *rest = p[i].text, *name;
		size_t used = 0;
		s[i] = (atled_progress_state){.size = sizeof *s,
		                              .step = p[i].step,
		                              .steps = p[i].steps,
		                              .time = p[i].time,
		                              .from = p[i].from,
		                              .to = p[i].to,
		                              .dt = p[i].dt,
		                              .count = p[i].nvalues,
		                              .names = names[i],
		                              .values = p[i].values,
		                              .inside = i + 1 < n ? &s[i + 1] : NULL};
		for (uint32_t k = 0; k < p[i].nvalues; k++) {
			const size_t length = progress_name(&rest, &name);
			names[i][k] = text[i] + used;
			if (length + 1 > ROOM - used) {
				s[i].count = k;
				break;
			}
			memcpy(text[i] + used, name, length);
			text[i][used + length] = 0;
			used += length + 1;
		}
	}
	x->tell(x->tell_ud, s);
}

static void progress_body(Ctx *c, void *arg) {
	const atled_context *with = arg;
	atled_context *x = api_of(c);
	x->tell = with->tell;
	x->tell_ud = with->tell_ud;
	ctx_report_progress(c, x->tell ? tell_progress : NULL, x);
}

atled_status atled_progress(atled_context *x, atled_progress_tell tell, void *ud) {
	return api_run(x, ENTER_ALONE, progress_body, &(atled_context){.tell = tell, .tell_ud = ud});
}

void atled_write(atled_context *x, const char *text, size_t n) {
	if (x && text && is_owner(x) && ctx_granted(x->c, GRANT_OUTPUT))
		ctx_write(x->c, text, api_length(text, n));
}

void atled_fail_allocation(atled_context *x, uint64_t n, int forever) {
	if (x) heap_fail_at(x->c, n, forever != 0);
}

/* ---- errors -------------------------------------------------------------- */

static void fill_error(const atled_context *x, const Diag *d, atled_error *out) {
	const Ctx *c = x->c;
	*out = (atled_error){
		.size = sizeof *out, .status = x->status, .warning = d->severity == SEV_WARNING};
	out->code = diag_code_id(d->code);
	out->title = diag_code_title(d->code);
	out->message = d->message;
	out->label = d->label;
	out->second = d->second_label;
	out->hint = d->hint;
	out->trace = d->trace;
	if (d->span.source) {
		Span end = d->span;
		end.start = end.end > end.start ? end.end : end.start;
		out->file = source_name(c, d->span.source);
		source_position(c, d->span, &out->line, &out->column);
		source_position(c, end, &out->end_line, &out->end_column);
	}
	if (d->second.source) {
		out->second_file = source_name(c, d->second.source);
		source_position(c, d->second, &out->second_line, &out->second_column);
	}
}

static void tell_warning(void *ud, uint32_t i) {
	const atled_context *x = ud;
	atled_error e;
	fill_error(x, diag_at(x->c, i), &e);
	e.status = ATLED_OK;
	x->warned(x->warned_ud, i, &e);
}

static void warnings_body(Ctx *c, void *arg) {
	const atled_context *with = arg;
	atled_context *x = api_of(c);
	x->warned = with->warned;
	x->warned_ud = with->warned_ud;
	diag_on_warning(c, x->warned ? tell_warning : NULL, x);
}

atled_status atled_warnings(atled_context *x, atled_warning_tell tell, void *ud) {
	return api_run(x, ENTER_ALONE, warnings_body,
	               &(atled_context){.warned = tell, .warned_ud = ud});
}

const atled_error *atled_last_error(const atled_context *cx) {
	atled_context *x = (atled_context *)(uintptr_t)cx;
	if (!x || x->status == ATLED_OK) return NULL;
	for (uint32_t i = x->error_base; i < diag_total(x->c); i++) {
		const Diag *d = diag_at(x->c, i);
		if (d->severity != SEV_ERROR) continue;
		fill_error(x, d, &x->error);
		return &x->error;
	}
	return NULL;
}

size_t atled_error_count(const atled_context *x) { return x ? diag_total(x->c) : 0; }

atled_status atled_error_at(const atled_context *x, size_t i, atled_error *out) {
	if (!x || !out || i >= diag_total(x->c)) return ATLED_MISUSE;
	atled_error e;
	fill_error(x, diag_at(x->c, (uint32_t)i), &e);
	size_t n = out->size < sizeof e ? out->size : sizeof e;
	if (n < sizeof out->size) return ATLED_MISUSE;
	e.size = n;
	memcpy(out, &e, n);
	return ATLED_OK;
}

atled_status atled_error_write(const atled_context *x, size_t i, atled_error_form form,
                               atled_sink sink, void *ud) {
	if (!x || !sink || i >= diag_total(x->c)) return ATLED_MISUSE;
	const Diag *d = diag_at(x->c, (uint32_t)i);
	if (form == ATLED_ERROR_JSON) diag_render_json(x->c, d, sink, ud);
	else diag_render(x->c, d, form == ATLED_ERROR_COLOUR, sink, ud);
	return ATLED_OK;
}

int atled_error_kind(size_t i, const char **code, const char **title) {
	if (i >= DIAG_COUNT) return 0;
	if (code) *code = diag_code_id((DiagCode)i);
	if (title) *title = diag_code_title((DiagCode)i);
	return 1;
}
