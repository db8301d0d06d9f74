/* context.c - the context: counted heap, protected calls, atoms, budgets,
 * grants, slots.
 *
 * Needs: context.h, arena.h, and the setup functions of diag.h and type.h (so
 * that neither sees a partly initialised state).
 *
 * Contract:
 * - There are no globals.
 * - Heap counts are atomic. They are part of a HeapAccount that is freed with
 *   its last block, so tensors may be released on any thread and after
 *   ctx_free.
 * - Other threads may use only ctx_interrupt and the heap.
 */
#include "lang/base/c_stack.h"
#include "lang/base/context.h"
#include "lang/base/page_pool.h"
#include "lang/base/arena.h"
#include "lang/base/poll_watch.h"
#include "lang/base/clock.h"
#include "lang/base/diag.h"
#include "lang/base/type.h"
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_DEFAULT 2000u
#ifdef ATLED_STRESS
#define ATOM_SLOTS_FIRST 2u /* one slot must stay free to end a search */
#else
#define ATOM_SLOTS_FIRST 256u
#endif

/* Freed small blocks are stored for the next allocation of the same size. A
 * loop over short vectors allocates and frees some in every operation. With
 * sanitizers, every block is really freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(ATLED_STRESS)
enum { SPARE_LARGEST = 0, SPARE_ALL = 0 };
#else
enum { SPARE_LARGEST = 1024, SPARE_ALL = 32 * 1024 }; /* bytes: of one block, of all of them */
#endif
typedef struct Spare {
	struct Spare *next;
} Spare;

struct HeapAccount {
	HostAllocator alloc;
	/* `used` includes the context's own record and the spare blocks. When it
	 * reaches 0, no user is left and the account is freed. */
	atomic_size_t used, peak, limit;
	atomic_uint_fast64_t allocations;
	/* A try-lock: whoever fails to take it does without a spare block.
	 * Protects: */
	atomic_flag spares_busy;
	bool spares_closed;                   /* the context was freed */
	uint64_t spares_given;                /* number of allocations served from spares */
	Spare *spares[SPARE_LARGEST / 8 + 1]; /* by bytes / 8 */
	atomic_size_t spare_bytes;            /* (anyone may read it) */
	atomic_uint_fast64_t fail_number;     /* this allocation fails; 0: none */
	atomic_bool fail_forever;             /* ... and all later ones */
};

typedef struct Protect {
	jmp_buf at;
	struct Protect *outer;
	volatile Status status;
} Protect;

typedef struct AtomText {
	const char *text;
	uint32_t n;
	uint32_t hash;
} AtomText;

struct Ctx {
	HeapAccount *account;
	Arena *arena;
	Protect *protect;
	CStack stack;
	CtxHooks hooks;

	VEC(AtomText) atoms;
	/* Open addressing. Holds Atoms; 0 is free (the empty string is never looked
	 * up). */
	uint32_t *atom_slots;
	uint32_t atom_slot_count;

	atomic_int interrupt;
	const _Atomic uint32_t *epoch; /* NULL: none */
	uint32_t entered_epoch;
	/* Polls left until the test hook raises the flag; 0: off. */
	uint64_t interrupt_at;
	/* step_limit: the largest permitted value of `steps`; 0: none. */
	uint64_t steps, step_limit;
	double deadline; /* in clock_seconds */
	bool timed;
	double time_limit;
	Progress levels[PROGRESS_LEVELS];
	uint32_t progress_depth;
	ProgressTell report_progress;
	void *report_progress_ud;
	uint32_t unreported_polls; /* polls since the last check whether a report is due */
	double last_report;
	uint32_t depth_limit;
	bool verifies;

	unsigned grants;
	int exit_code;
	bool grants_set;
	OutputSink sink;
	void *sink_ud;

	struct {
		void *state;
		void (*free_state)(Ctx *c, void *state);
	} slots[SLOT_COUNT];
};

/* ---- heap ---------------------------------------------------------------- */

static void *malloc_resize(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
	(void)ud;
	bool was_large = p && is_large(old_bytes);
	if (!was_large && !is_large(new_bytes)) {
		if (new_bytes) return realloc(p, new_bytes);
		free(p);
		return NULL;
	}
	void *q = NULL;
	if (new_bytes) {
		q = is_large(new_bytes) ? page_alloc(new_bytes) : malloc(new_bytes);
		if (!q) return NULL;
		if (p) memcpy(q, p, old_bytes < new_bytes ? old_bytes : new_bytes);
	}
	if (was_large) page_free(p, old_bytes);
	else free(p);
	return q;
}

HostAllocator heap_default(void) { return (HostAllocator){.resize = malloc_resize}; }

/* Reserves `bytes` more under the limit. */
static bool account_charge(HeapAccount *a, size_t bytes) {
	size_t used = atomic_load_explicit(&a->used, memory_order_relaxed);
	size_t limit = atomic_load_explicit(&a->limit, memory_order_relaxed);
	size_t now;
	do {
		now = used + bytes;
		if (now < used || (limit && now > limit)) return false;
	} while (!atomic_compare_exchange_weak_explicit(&a->used, &used, now, memory_order_relaxed,
	                                                memory_order_relaxed));
	size_t peak = atomic_load_explicit(&a->peak, memory_order_relaxed);
	while (peak < now && !atomic_compare_exchange_weak_explicit(
							 &a->peak, &peak, now, memory_order_relaxed, memory_order_relaxed))
		;
	return true;
}

static void account_credit(HeapAccount *a, size_t bytes) {
	const HostAllocator alloc = a->alloc;
	if (atomic_fetch_sub_explicit(&a->used, bytes, memory_order_acq_rel) == bytes)
		alloc.resize(alloc.ud, a, sizeof *a, 0);
}

/* Numbers this allocation and returns false when the test hook requests a
 * failure. */
static bool account_may_allocate(HeapAccount *a) {
	uint64_t number = atomic_fetch_add_explicit(&a->allocations, 1, memory_order_relaxed) + 1;
	uint64_t fail = atomic_load_explicit(&a->fail_number, memory_order_relaxed);
	if (!fail || number < fail) return true;
	return number > fail && !atomic_load_explicit(&a->fail_forever, memory_order_relaxed);
}

/* ---- spare blocks ---- */

static bool spares_lock(HeapAccount *a) {
	return !atomic_flag_test_and_set_explicit(&a->spares_busy, memory_order_acquire);
}
static void spares_unlock(HeapAccount *a) {
	atomic_flag_clear_explicit(&a->spares_busy, memory_order_release);
}

static bool may_be_spare(size_t bytes) { return bytes <= SPARE_LARGEST && !(bytes % 8); }

/* Takes a spare block of that size, or returns NULL. It is off under the test
 * hook, which must count and fail real allocations. */
static void *spare_take(HeapAccount *a, size_t bytes) {
	if (!may_be_spare(bytes) || atomic_load_explicit(&a->fail_number, memory_order_relaxed) ||
	    !spares_lock(a))
		return NULL;
	Spare *s = a->spares[bytes / 8];
	if (s) {
		a->spares[bytes / 8] = s->next;
		a->spares_given++;
		atomic_store_explicit(&a->spare_bytes,
		                      atomic_load_explicit(&a->spare_bytes, memory_order_relaxed) - bytes,
		                      memory_order_relaxed);
	}
	spares_unlock(a);
	return s;
}

/* Stores a block as a spare; false: the caller must free it. */
static bool spare_keep(HeapAccount *a, void *p, size_t bytes) {
	if (!may_be_spare(bytes) || bytes < sizeof(Spare) || !spares_lock(a)) return false;
	const size_t all = atomic_load_explicit(&a->spare_bytes, memory_order_relaxed) + bytes;
	const bool keeps = !a->spares_closed && all <= SPARE_ALL;
	if (keeps) {
		Spare *s = p;
		s->next = a->spares[bytes / 8];
		a->spares[bytes / 8] = s;
		atomic_store_explicit(&a->spare_bytes, all, memory_order_relaxed);
	}
	spares_unlock(a);
	return keeps;
}

/* Frees all spares; with `close`, none are stored from now on. The caller's own
 * bytes keep the account alive. */
static void spares_drop(HeapAccount *a, bool close) {
	while (!spares_lock(a))
		;
	a->spares_closed |= close;
	for (size_t k = 0; k <= SPARE_LARGEST / 8; k++)
		for (Spare *s = a->spares[k], *next; s; s = next) {
			next = s->next;
			a->alloc.resize(a->alloc.ud, s, 8 * k, 0);
			atomic_fetch_sub_explicit(&a->used, 8 * k, memory_order_acq_rel);
		}
	memset(a->spares, 0, sizeof a->spares);
	atomic_store_explicit(&a->spare_bytes, 0, memory_order_relaxed);
	spares_unlock(a);
}

static void *account_resize(HeapAccount *a, void *p, size_t old_bytes, size_t new_bytes) {
	if (!account_may_allocate(a)) return NULL;
	if (new_bytes > old_bytes && !account_charge(a, new_bytes - old_bytes)) {
		spares_drop(a, false);
		if (!account_charge(a, new_bytes - old_bytes)) return NULL;
	}
	void *q = a->alloc.resize(a->alloc.ud, p, old_bytes, new_bytes);
	if (!q) {
		if (new_bytes > old_bytes) account_credit(a, new_bytes - old_bytes);
		return NULL;
	}
	if (new_bytes < old_bytes) account_credit(a, old_bytes - new_bytes);
	return q;
}

static void *account_make(HeapAccount *a, size_t bytes) {
	if (!bytes) bytes = 1;
	void *p = spare_take(a, bytes);
	return p ? p : account_resize(a, NULL, 0, bytes);
}

static void account_release(HeapAccount *a, void *p, size_t bytes) {
	if (spare_keep(a, p, bytes)) return;
	a->alloc.resize(a->alloc.ud, p, bytes, 0);
	account_credit(a, bytes);
}

HeapAccount *heap_account(const Ctx *c) { return c->account; }

HostAllocator account_allocator(const HeapAccount *a) { return a->alloc; }

void *account_alloc(HeapAccount *a, size_t bytes) { return account_make(a, bytes); }

void account_free(HeapAccount *a, void *p, size_t bytes) {
	if (p) account_release(a, p, bytes ? bytes : 1);
}

void *heap_alloc(Ctx *c, size_t bytes) { return account_make(c->account, bytes); }

/* A block of 0 bytes has one byte, so that NULL always means failure; the same
 * rule applies to `old_bytes`. */
void *heap_resize(Ctx *c, void *p, size_t old_bytes, size_t new_bytes) {
	if (!p) return heap_alloc(c, new_bytes);
	return account_resize(c->account, p, old_bytes ? old_bytes : 1, new_bytes ? new_bytes : 1);
}

void heap_free(Ctx *c, void *p, size_t bytes) {
	if (p) account_release(c->account, p, bytes ? bytes : 1);
}

void heap_trim(Ctx *c) { spares_drop(c->account, false); }

size_t heap_used(const Ctx *c) {
	return atomic_load_explicit(&c->account->used, memory_order_relaxed) -
	       atomic_load_explicit(&c->account->spare_bytes, memory_order_relaxed);
}

size_t heap_peak(const Ctx *c) {
	return atomic_load_explicit(&c->account->peak, memory_order_relaxed);
}

void heap_set_limit(Ctx *c, size_t bytes) {
	atomic_store_explicit(&c->account->limit, bytes, memory_order_relaxed);
}

size_t heap_limit(const Ctx *c) {
	return atomic_load_explicit(&c->account->limit, memory_order_relaxed);
}

void heap_fail_at(Ctx *c, uint64_t n, bool forever) {
	HeapAccount *a = c->account;
	atomic_store_explicit(&a->fail_forever, forever, memory_order_relaxed);
	atomic_store_explicit(&a->fail_number, n ? atomic_load(&a->allocations) + n : 0,
	                      memory_order_relaxed);
}

uint64_t heap_allocation_count(const Ctx *c) {
	return atomic_load_explicit(&c->account->allocations, memory_order_relaxed) +
	       c->account->spares_given;
}

/* ---- creation and destruction -------------------------------------------- */

static void set_up(Ctx *c, void *unused) {
	(void)unused;
	c->arena = arena_new(c);
	AtomText empty = {.text = "", .n = 0, .hash = 0};
	VEC_PUSH(c->arena, &c->atoms, empty);
	c->atom_slots = ARENA_ARRAY(c->arena, uint32_t, ATOM_SLOTS_FIRST);
	c->atom_slot_count = ATOM_SLOTS_FIRST;
	sources_setup(c);
	diag_setup(c);
	type_setup(c);
}

Ctx *ctx_new(const HostAllocator *alloc) {
	HostAllocator own = alloc ? *alloc : heap_default();
	HeapAccount *a = own.resize(own.ud, NULL, 0, sizeof *a);
	if (!a) return NULL;
	memset(a, 0, sizeof *a);
	atomic_flag_clear(&a->spares_busy);
	a->alloc = own;
	Ctx *c = own.resize(own.ud, NULL, 0, sizeof *c);
	if (!c) {
		own.resize(own.ud, a, sizeof *a, 0);
		return NULL;
	}
	atomic_init(&a->used, sizeof *c);
	memset(c, 0, sizeof *c);
	c->account = a;
	c->depth_limit = DEPTH_DEFAULT;
	c->stack.low = c_stack_low(); /* for calls that do not come through c_stack_run */
	const char *verify = getenv("ATLED_VERIFY");
	c->verifies = verify && *verify && strcmp(verify, "0") != 0;
	if (ctx_protect(c, set_up, NULL) != ST_OK) {
		ctx_free(c);
		return NULL;
	}
	return c;
}

void ctx_free(Ctx *c) {
	if (!c) return;
	for (int s = SLOT_COUNT; s-- > 0;) ctx_set_slot(c, (Slot)s, NULL, NULL);
	arena_free(c->arena);
	spares_drop(c->account, true);
	c_stack_free(&c->stack);
	account_release(c->account, c, sizeof *c);
}

bool ctx_verifies(const Ctx *c) { return c->verifies; }

Arena *ctx_arena(Ctx *c) { return c->arena; }

CStack *ctx_stack(Ctx *c) { return &c->stack; }

CtxHooks *ctx_hooks(Ctx *c) { return &c->hooks; }

void *ctx_slot(const Ctx *c, Slot s) { return c->slots[s].state; }

/* Frees the previous state. */
void ctx_set_slot(Ctx *c, Slot s, void *state, void (*free_state)(Ctx *c, void *state)) {
	void *old = c->slots[s].state;
	if (old && old != state && c->slots[s].free_state) c->slots[s].free_state(c, old);
	c->slots[s].state = state;
	c->slots[s].free_state = free_state;
}

/* ---- non-local exit ------------------------------------------------------ */

Status ctx_protect(Ctx *c, void (*body)(Ctx *c, void *arg), void *arg) {
	Protect here;
	here.outer = c->protect;
	here.status = ST_OK;
	c->protect = &here;
	if (!here.outer) poll_watch_begin();
	if (!setjmp(here.at)) body(c, arg);
	c->protect = here.outer;
	if (!here.outer) poll_watch_end();
	return here.status;
}

/* A throw outside every ctx_protect is an internal fault, not the user's: the
 * public API protects every entry. It is recorded and aborts. This is the only
 * abort in the library. */
_Noreturn void ctx_throw(Ctx *c, Status s) {
	Protect *p = c->protect;
	if (!p) {
		diag_error(c, E_INTERNAL, NO_SPAN, "a throw (status %d) outside every protected region",
		           (int)s);
		abort();
	}
	/* A function that caught a throw, and returned nothing, has lost why. */
	if (s == ST_ERROR && (ctx_stops(c) || diag_lacks_memory(c))) s = ctx_failure(c);
	p->status = s == ST_OK ? ST_INTERNAL : s;
	longjmp(p->at, 1);
}

/* ---- atoms --------------------------------------------------------------- */

static uint32_t hash_bytes(const char *text, size_t n) {
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ h >> 32);
}

static uint32_t *atom_slot_free(uint32_t *slots, uint32_t count, uint32_t hash) {
	uint32_t i = hash & (count - 1);
	while (slots[i]) i = (i + 1) & (count - 1);
	return &slots[i];
}

Atom atom_n(Ctx *c, const char *text, size_t n) {
	if (!n) return 0;
	if (n > UINT32_MAX / 2) ctx_throw(c, ST_NOMEM);
	uint32_t hash = hash_bytes(text, n);
	uint32_t mask = c->atom_slot_count - 1;
	for (uint32_t i = hash & mask; c->atom_slots[i]; i = (i + 1) & mask) {
		const AtomText *t = &c->atoms.at[c->atom_slots[i]];
		if (t->hash == hash && t->n == n && !memcmp(t->text, text, n)) return c->atom_slots[i];
	}
	/* Everything that can throw comes before the first change, so that a failed
	 * atom leaves no trace. */
	VEC_RESERVE(c->arena, &c->atoms, c->atoms.n + 1);
	if (c->atoms.n * 2 >= c->atom_slot_count) {
		uint32_t count = c->atom_slot_count * 4;
		uint32_t *slots = ARENA_ARRAY(c->arena, uint32_t, count);
		for (uint32_t i = 1; i < c->atoms.n; i++)
			*atom_slot_free(slots, count, c->atoms.at[i].hash) = i;
		c->atom_slots = slots;
		c->atom_slot_count = count;
	}
	AtomText t = {.text = arena_copy(c->arena, text, n), .n = (uint32_t)n, .hash = hash};
	Atom a = c->atoms.n;
	c->atoms.at[c->atoms.n++] = t;
	*atom_slot_free(c->atom_slots, c->atom_slot_count, hash) = a;
	return a;
}

Atom atom(Ctx *c, const char *text) { return atom_n(c, text, strlen(text)); }

Atom atom_f(Ctx *c, const char *format, ...) {
	char small[256];
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(small, sizeof small, format, args);
	va_end(args);
	const char *text = small;
	/* A scratch block on the heap would leak when atom_n throws. */
	if (n >= (int)sizeof small) {
		char *large = arena_alloc(c->arena, (size_t)n + 1);
		vsnprintf(large, (size_t)n + 1, format, again);
		text = large;
	}
	va_end(again);
	return n > 0 ? atom_n(c, text, (size_t)n) : 0;
}

const char *atom_text(const Ctx *c, Atom a) { return a < c->atoms.n ? c->atoms.at[a].text : ""; }

size_t atom_length(const Ctx *c, Atom a) { return a < c->atoms.n ? c->atoms.at[a].n : 0; }

/* ---- interruption, budgets ----------------------------------------------- */

void ctx_interrupt(Ctx *c) { atomic_store_explicit(&c->interrupt, 1, memory_order_relaxed); }

bool ctx_interrupted(const Ctx *c) {
	if (!c) return false;
	return atomic_load_explicit(&c->interrupt, memory_order_relaxed) ||
	       (c->epoch && atomic_load_explicit(c->epoch, memory_order_relaxed) != c->entered_epoch);
}

void ctx_clear_interrupt(Ctx *c) {
	atomic_store_explicit(&c->interrupt, 0, memory_order_relaxed);
	ctx_enter_epoch(c);
}

void ctx_follow_epoch(Ctx *c, const _Atomic uint32_t *epoch) {
	c->epoch = epoch;
	ctx_enter_epoch(c);
}

void ctx_enter_epoch(Ctx *c) {
	if (c->epoch) c->entered_epoch = atomic_load_explicit(c->epoch, memory_order_relaxed);
}

uint64_t ctx_interrupt_at_poll(Ctx *c, uint64_t n) {
	const uint64_t left = c->interrupt_at;
	c->interrupt_at = n;
	return left;
}

void ctx_set_step_limit(Ctx *c, uint64_t steps) {
	c->step_limit = !steps ? 0 : c->steps > UINT64_MAX - steps ? UINT64_MAX : c->steps + steps;
}

/* Limits beyond a century count as none. */
void ctx_set_time_limit(Ctx *c, double wall_seconds) {
	c->timed = wall_seconds > 0 && wall_seconds < 3e9;
	if (!c->timed) return;
	c->time_limit = wall_seconds;
	c->deadline = clock_seconds() + wall_seconds;
}

void ctx_set_depth_limit(Ctx *c, uint32_t calls) { c->depth_limit = calls; }

uint32_t ctx_depth_limit(const Ctx *c) { return c->depth_limit; }

uint64_t ctx_steps(const Ctx *c) { return c->steps; }

Progress *ctx_progress_enter(Ctx *c, bool says) {
	if (!c->report_progress || (!says && c->progress_depth) || c->progress_depth == PROGRESS_LEVELS)
		return NULL;
	Progress *p = &c->levels[c->progress_depth++];
	*p = (Progress){.says = says};
	return p;
}

void ctx_progress_leave(Ctx *c, const Progress *p) {
	if (p) ctx_progress_reset(c, (uint32_t)(p - c->levels));
}

uint32_t ctx_progress_depth(const Ctx *c) { return c->progress_depth; }

void ctx_progress_reset(Ctx *c, uint32_t depth) {
	if (depth < c->progress_depth) c->progress_depth = depth;
}

bool ctx_reports_progress(const Ctx *c) { return c->report_progress != NULL; }

void ctx_report(Ctx *c, Atom names, int64_t step, int64_t steps, uint32_t n, const double *values) {
	if (!c->report_progress) return;
	Progress *p =
		c->progress_depth ? &c->levels[c->progress_depth - 1] : ctx_progress_enter(c, true);
	p->has_report = p->says = true;
	p->step = step;
	p->steps = steps;
	p->names = names;
	p->nvalues = n < PROGRESS_VALUES ? n : PROGRESS_VALUES;
	for (uint32_t i = 0; i < p->nvalues; i++) p->values[i] = values[i];
}

void ctx_progress_iteration(Ctx *c, int64_t iteration, int64_t trip_count) {
	Progress *p = c->progress_depth ? &c->levels[c->progress_depth - 1] : NULL;
	if (!p) {
		if (!(p = ctx_progress_enter(c, false))) return;
		p->goes_on = true;
	}
	if (p->says || !p->goes_on) return;
	p->has_report = true;
	p->step = p->base + iteration;
	p->steps = trip_count > 0 ? p->base + trip_count : 0;
}

void ctx_report_progress(Ctx *c, ProgressTell tell, void *ud) {
	c->report_progress = tell;
	c->report_progress_ud = ud;
}

size_t progress_name(const char **rest, const char **name) {
	*name = *rest;
	const size_t n = strcspn(*rest, ",");
	*rest += n + ((*rest)[n] == ',');
	return n;
}

enum { PROGRESS_TEXT = 256 };

/* Moves values with a field of their own to that field. The remaining names
 * keep the order of the remaining values. */
static void take_fields(const Ctx *c, const Progress *p, char names[PROGRESS_TEXT], Progress *out) {
	*out = *p;
	static const char *const fields[] = {"time", "from", "to", "dt"};
	double *const at[] = {&out->time, &out->from, &out->to, &out->dt};
	const char *rest = atom_text(c, p->names), *name;
	size_t used = 0;
	out->nvalues = 0;
	for (uint32_t i = 0; i < p->nvalues; i++) {
		const size_t length = progress_name(&rest, &name);
		uint32_t k = 0;
		while (k < 4 && !(strlen(fields[k]) == length && !memcmp(fields[k], name, length))) k++;
		if (k < 4) {
			*at[k] = p->values[i];
		} else if (used + length + 2 < PROGRESS_TEXT) {
			if (used) names[used++] = ',';
			memcpy(names + used, name, length);
			used += length;
			out->values[out->nvalues++] = p->values[i];
		}
	}
	names[used] = 0;
	out->text = names;
}

/* The clock is read only at every sixteenth poll, since polls are frequent. */
static void report_progress(Ctx *c) {
	if (++c->unreported_polls < 16 && c->progress_depth) return;
	c->unreported_polls = 0;
	const double now = clock_seconds();
	if (now - c->last_report < 0.1) return;
	c->last_report = now;
	Progress levels[PROGRESS_LEVELS];
	char names[PROGRESS_LEVELS][PROGRESS_TEXT];
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->progress_depth; i++) {
		const Progress *p = &c->levels[i];
		/* Iterations without a known total are omitted when an inner loop
		 * reports more. */
		if (!p->has_report || (!p->says && !p->steps && i + 1 < c->progress_depth)) continue;
		take_fields(c, p, names[n], &levels[n]);
		n++;
	}
	c->report_progress(c->report_progress_ud, levels, n);
}

/* Each frame may poll again while it unwinds; the reason is recorded once. */
static bool is_last_diag(const Ctx *c, DiagCode code) {
	uint32_t n = diag_total(c);
	return n && diag_at(c, n - 1)->code == code;
}

Status ctx_poll(Ctx *c, uint64_t steps) {
	poll_watch_reset();
	c->steps = c->steps > UINT64_MAX - steps ? UINT64_MAX : c->steps + steps;
	if (c->interrupt_at && !--c->interrupt_at) ctx_interrupt(c);
	if (ctx_interrupted(c)) {
		if (!is_last_diag(c, E_INTERRUPT)) diag_error(c, E_INTERRUPT, NO_SPAN, "interrupted");
		return ST_INTERRUPTED;
	}
	if (c->report_progress) report_progress(c);
	if (c->step_limit && c->steps > c->step_limit) {
		if (!is_last_diag(c, E_BUDGET))
			diag_error(c, E_BUDGET, NO_SPAN, "the step limit is used up");
		return ST_LIMIT;
	}
	/* at every poll: after a thousand fast ones, the next may come a second
	 * later */
	if (c->timed && clock_seconds_coarse() >= c->deadline) {
		if (!is_last_diag(c, E_BUDGET))
			diag_error(c, E_BUDGET, NO_SPAN, "the time limit of %g s is used up", c->time_limit);
		return ST_LIMIT;
	}
	return ST_OK;
}

bool ctx_stops(Ctx *c) {
	return ctx_interrupted(c) || (c->step_limit && c->steps > c->step_limit) ||
	       (c->timed && clock_seconds() >= c->deadline);
}

void ctx_poll_throw(Ctx *c) {
	const Status st = c->protect ? ctx_poll(c, 0) : ST_OK;
	if (st != ST_OK) ctx_throw(c, st);
}

Status ctx_failure(Ctx *c) {
	const Status st = ctx_poll(c, 0);
	return st == ST_OK ? ST_NOMEM : st;
}

/* ---- grants, output ------------------------------------------------------ */

void ctx_grant(Ctx *c, unsigned grants) {
	c->grants = c->grants_set ? c->grants & grants : grants & GRANT_ALL;
	c->grants_set = true;
}

bool ctx_granted(const Ctx *c, Grant g) { return (c->grants & (unsigned)g) == (unsigned)g; }

void ctx_set_exit_code(Ctx *c, int code) { c->exit_code = code; }

int ctx_exit_code(const Ctx *c) { return c->exit_code; }

void ctx_set_output(Ctx *c, OutputSink sink, void *ud) {
	c->sink = sink;
	c->sink_ud = ud;
}

void ctx_write(Ctx *c, const char *text, size_t n) {
	if (c->sink && n) c->sink(c->sink_ud, text, n);
}
