/* compile_service.c - code table, disk cache, library and background thread.
 *
 * Needs: compile_service.h, dlfcn.h, pthreads.
 *
 * Contract:
 * - As in compile_service.h.
 * - The state of the process is one struct under one lock. Compiling and
 *   loading happen outside the lock. Two threads that need the same code may
 *   therefore both compile it; one result is dropped.
 * - A request that somebody waits for has a thread of its own, so that it does
 *   not queue behind those of other contexts. The thread is joined before the
 *   request is freed.
 * - After a fork the child has none of these threads. Requests in progress
 *   count as done there, without a result.
 * - If the parent was compiling during the fork, the child never compiles
 *   again, because LLVM's and the dynamic linker's locks may stay locked. It
 *   still loads objects from disk.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/native/jit/compile_service.h"
#include "backend/native/jit/code_cache.h"
#include "backend/native/kir/cpu.h"
#include "lang/base/clock.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "libatled-codegen.so"
#define STACK_BYTES ((size_t)8 * 1024 * 1024)
enum { BUCKETS = 256, ENTRY_BYTES = 96, NAME_BYTES = 40, WHY_BYTES = 256, POLL_NS = 4000000 };

struct NativeCode {
	NativeKey key;
	NativeObject *object;
	uint32_t refs;
	NativeCode *next;
};

struct NativeRequest {
	NativeService *service;
	NativeRequest *next_mine, *before_mine; /* in the service's list */
	NativeRequest *next;                    /* in the queue, or of those apart */
	KModule *module;
	NativeOptions options;
	char name[NAME_BYTES];
	atomic_bool done;
	bool abandoned; /* Nobody waits for it any more; it is freed when done. */
	bool threaded;  /* `thread` runs it and is not yet joined */
	pthread_t thread;
	NativeCode *code;
	NativeCounters counters;
	char why[WHY_BYTES];
};

/* A cache on disk, shared by the services of its folder. */
typedef struct OpenCache {
	struct OpenCache *next;
	NativeCache *cache; /* NULL: the folder cannot be used */
	uint32_t users;
	bool named;
	char folder[]; /* if `named`, else the user's */
} OpenCache;

struct NativeService {
	Ctx *ctx;
	OpenCache *files; /* NULL: no cache on disk */
	NativeCounters counters;
	NativeRequest *requests;
	atomic_uint_least64_t pending; /* number of unfinished requests; read at every call */
};

/* The state of the process. */
static struct Store {
	pthread_mutex_t life; /* acquired first, while services begin and end */
	pthread_mutex_t lock;
	pthread_cond_t wake, finished;
	uint32_t services, alive, compiling;
	bool broken; /* by a fork during a compilation */
	NativeCode *buckets[BUCKETS];
	OpenCache *caches; /* under `life` */
	/* The background thread. */
	bool started, quit;
	pthread_t thread;
	NativeRequest *first, *last, *running;
	NativeRequest *apart; /* unfinished requests with threads of their own */
} store = {
	.life = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
	.finished = PTHREAD_COND_INITIALIZER,
};

/* The library. It has its own lock, because opening it takes milliseconds. */
static struct Library {
	pthread_mutex_t lock;
	bool looked, found;
	char path[PATH_MAX], identity[64];
	CodegenFn codegen;
	char why[WHY_BYTES];
} library = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void say(char *why, size_t cap, const char *text) {
	if (cap) snprintf(why, cap, "%s", text);
}

/* ---- the library --------------------------------------------------------- */

/* Sets library.identity, part of the key: a rebuilt library has another
 * identity. */
static bool is_library(const char *path) {
	struct stat st;
	if (stat(path, &st) || !S_ISREG(st.st_mode)) return false;
	snprintf(library.path, sizeof library.path, "%s", path);
	snprintf(library.identity, sizeof library.identity, "%llu %lld.%09ld",
	         (unsigned long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return true;
}

static bool is_library_in(const char *folder, const char *below) {
	char path[PATH_MAX];
	const int n = snprintf(path, sizeof path, "%s/%s" LIBRARY, folder, below);
	return n > 0 && (size_t)n < sizeof path && is_library(path);
}

/* The folder of the program or shared library that this code is in. */
static bool own_folder(char folder[PATH_MAX]) {
	static const char here = 0;
	Dl_info info;
	struct link_map *map = NULL;
	char path[PATH_MAX];
	if (dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name &&
	    *map->l_name) {
		if (!realpath(map->l_name, path)) return false;
	} else {
		const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
		if (n <= 0) return false;
		path[n] = 0;
	}
	char *slash = strrchr(path, '/');
	if (!slash) return false;
	*slash = 0;
	snprintf(folder, PATH_MAX, "%s", path);
	return true;
}

/* The caller holds the library's lock. */
static bool find_library(void) {
	if (library.looked) return library.found;
	library.looked = true;
	const char *asked = secure_getenv("ATLED_CODEGEN");
	char folder[PATH_MAX];
	if (asked && *asked) {
		library.found = *asked == '/' && is_library(asked);
		if (!library.found)
			snprintf(library.why, sizeof library.why,
			         "native code is off: ATLED_CODEGEN does not name a library by its full path");
		return library.found;
	}
	library.found =
		own_folder(folder) && (is_library_in(folder, "") || is_library_in(folder, "atled/") ||
	                           is_library_in(folder, "../lib/atled/"));
#ifdef ATLED_LIBDIR
	library.found = library.found || is_library_in(ATLED_LIBDIR, "atled/");
#endif
	if (!library.found)
		snprintf(library.why, sizeof library.why,
		         "native code is off: the code generator's library (" LIBRARY ") was not found");
	return library.found;
}

static CodegenFn open_library(void) {
	if (library.codegen || !find_library()) return library.codegen;
	void *handle = dlopen(library.path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
	const char *error = handle ? NULL : dlerror();
	if (handle) *(void **)&library.codegen = dlsym(handle, "atled_codegen");
	if (library.codegen) return library.codegen;
	snprintf(library.why, sizeof library.why, "native code is off: %.200s",
	         error ? error : LIBRARY " has no atled_codegen");
	library.found = false;
	return NULL;
}

CodegenFn native_codegen(char *why, size_t cap) {
	pthread_mutex_lock(&library.lock);
	CodegenFn f = open_library();
	if (!f) say(why, cap, library.why);
	pthread_mutex_unlock(&library.lock);
	return f;
}

static bool library_identity(char identity[64], char *why, size_t cap) {
	pthread_mutex_lock(&library.lock);
	const bool found = find_library();
	if (found) memcpy(identity, library.identity, 64);
	else say(why, cap, library.why);
	pthread_mutex_unlock(&library.lock);
	return found;
}

void native_forget_library(void) {
	pthread_mutex_lock(&library.lock);
	library.looked = library.found = false;
	library.codegen = NULL;
	pthread_mutex_unlock(&library.lock);
}

bool native_available(NativeService *s, char *why, size_t cap) {
	char identity[64];
	(void)s;
	if (native_target()->vector_bytes) return library_identity(identity, why, cap);
	say(why, cap, "native code is off: there is none for this machine");
	return false;
}

/* ---- code ---------------------------------------------------------------- */

static NativeCode **bucket_of(NativeKey key) { return &store.buckets[key.lo % BUCKETS]; }

/* Adds a reference. The caller holds the lock. */
static NativeCode *find_code(NativeKey key) {
	for (NativeCode *code = *bucket_of(key); code; code = code->next)
		if (code->key.lo == key.lo && code->key.hi == key.hi) {
			code->refs++;
			return code;
		}
	return NULL;
}

/* Takes ownership of the object. */
static NativeCode *add_code(NativeKey key, NativeObject *object) {
	NativeCode *code = malloc(sizeof *code);
	if (!code) {
		native_unload(object);
		return NULL;
	}
	pthread_mutex_lock(&store.lock);
	NativeCode *same = find_code(key);
	if (!same) {
		*code = (NativeCode){.key = key, .object = object, .refs = 1, .next = *bucket_of(key)};
		*bucket_of(key) = code;
		store.alive++;
	}
	pthread_mutex_unlock(&store.lock);
	if (!same) return code;
	native_unload(object); /* another thread was first */
	free(code);
	return same;
}

void native_code_free(NativeCode *code) {
	if (!code) return;
	pthread_mutex_lock(&store.lock);
	const bool last = !--code->refs;
	if (last) {
		NativeCode **at = bucket_of(code->key);
		while (*at != code) at = &(*at)->next;
		*at = code->next;
		store.alive--;
	}
	pthread_mutex_unlock(&store.lock);
	if (!last) return;
	native_unload(code->object);
	free(code);
}

NativeEntry native_code_entry(const NativeCode *code) { return native_entry(code->object); }

size_t native_code_bytes(const NativeCode *code) { return native_object_bytes(code->object); }

uint32_t native_codes_alive(void) {
	pthread_mutex_lock(&store.lock);
	const uint32_t n = store.alive;
	pthread_mutex_unlock(&store.lock);
	return n;
}

/* "atled_NAME_0123456789abcdef": the name, in characters that tools accept, and
 * the key. */
static void entry_symbol(NativeKey key, const char *name, char symbol[ENTRY_BYTES]) {
	char plain[NAME_BYTES];
	size_t n = 0;
	for (; name && name[n] && n + 1 < sizeof plain; n++) {
		const char c = name[n];
		plain[n] =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
	}
	plain[n] = 0;
	snprintf(symbol, ENTRY_BYTES, "atled_%s%s%016llx", plain, n ? "_" : "",
	         (unsigned long long)key.lo);
}

static NativeObject *load_timed(const void *bytes, size_t n, const char *symbol,
                                NativeCounters *counters, char *why, size_t cap) {
	const double t = clock_seconds();
	NativeObject *object = native_load(bytes, n, symbol, why, cap);
	counters->load_seconds += clock_seconds() - t;
	if (object) counters->code_bytes += n;
	return object;
}

/* False when this process may no longer compile. */
static bool begin_compiling(char *why, size_t cap) {
	pthread_mutex_lock(&store.lock);
	const bool good = !store.broken;
	if (good) store.compiling++;
	pthread_mutex_unlock(&store.lock);
	if (!good)
		say(why, cap, "native code is off: this process was forked while code was being compiled");
	return good;
}

static void end_compiling(void) {
	pthread_mutex_lock(&store.lock);
	if (store.compiling) store.compiling--;
	pthread_mutex_unlock(&store.lock);
}

static NativeObject *compile(const KModule *m, const NativeOptions *o, NativeCache *cache,
                             NativeKey key, const char *symbol, NativeCounters *counters, char *why,
                             size_t cap) {
	if (!begin_compiling(why, cap)) return NULL;
	NativeObject *object = NULL;
	CodegenFn codegen = native_codegen(why, cap);
	if (codegen) {
		const CodegenOptions options = {
			.entry = symbol, .level = o->level, .once = o->once, .debug_lines = o->debug_lines};
		CodegenOutput out = {0};
		const double t = clock_seconds();
		const int failed = codegen(m, &options, &out);
		counters->compile_seconds += clock_seconds() - t;
		if (failed || !out.bytes) {
			out.error[sizeof out.error - 1] = 0;
			say(why, cap, *out.error ? out.error : "the code generator failed");
		} else {
			object = load_timed(out.bytes, out.n, symbol, counters, why, cap);
			if (object) {
				counters->compiled++;
				native_cache_store(cache, key, out.bytes, out.n);
			}
		}
		free(out.bytes);
	}
	end_compiling();
	return object;
}

/* Line tables contain SpanId numbers of this process, which the module's hash
 * omits. */
static uint64_t hash_of_spans(const KModule *m) {
	uint64_t h = 1;
	for (uint32_t k = 0; k < m->fns.n; k++) {
		const KFn *f = m->fns.at[k];
		for (uint32_t i = 0; i < f->insts.n; i++)
			h = (h ^ f->insts.at[i].span) * 0x9e3779b97f4a7c15u;
	}
	return h >> 8;
}

/* The key of code for m. Returns false with `why` when nothing can be compiled
 * here. */
static bool key_of(const KModule *m, const NativeOptions *o, NativeKey *key, char *why,
                   size_t cap) {
	char identity[64], generator[64 + NAME_BYTES + 1];
	if (!library_identity(identity, why, cap)) return false;
	snprintf(generator, sizeof generator, "%s %.*s", identity, NAME_BYTES - 1,
	         o->name ? o->name : "");
	const uint64_t options = (uint64_t)(unsigned)o->level | (o->once ? 64u : 0) |
	                         (o->debug_lines ? hash_of_spans(m) << 8 | 128u : 0);
	*key = native_key(kmodule_hash(m), m->target.cpu, options, generator);
	return true;
}

static NativeCache *cache_of(const NativeService *s) { return s->files ? s->files->cache : NULL; }

bool native_is_cached(const NativeService *s, const KModule *m, const NativeOptions *o) {
	char why[256];
	NativeKey key;
	CachedObject cached;
	if (!key_of(m, o, &key, why, sizeof why)) return false;
	pthread_mutex_lock(&store.lock);
	NativeCode *code = find_code(key);
	pthread_mutex_unlock(&store.lock);
	native_code_free(code);
	if (code) return true;
	if (o->debug_lines || !native_cache_load(cache_of(s), key, &cached)) return false;
	free(cached.block);
	return true;
}

static NativeCode *make(const NativeService *s, const KModule *m, const NativeOptions *o,
                        NativeCounters *counters, char *why, size_t cap) {
	char symbol[ENTRY_BYTES];
	NativeKey key;
	if (cap) *why = 0;
	if (!key_of(m, o, &key, why, cap)) {
		counters->failed++;
		return NULL;
	}
	NativeCache *cache = o->debug_lines ? NULL : cache_of(s);
	entry_symbol(key, o->name, symbol);
	pthread_mutex_lock(&store.lock);
	NativeCode *code = find_code(key);
	pthread_mutex_unlock(&store.lock);
	if (code) {
		counters->from_memory++;
		return code;
	}
	CachedObject cached;
	NativeObject *object = NULL;
	if (native_cache_load(cache, key, &cached)) {
		object = load_timed(cached.bytes, cached.n, symbol, counters, why, cap);
		free(cached.block);
		if (object) counters->from_disk++;
		else native_cache_drop(cache, key);
	}
	if (!object) object = compile(m, o, cache, key, symbol, counters, why, cap);
	code = object ? add_code(key, object) : NULL;
	if (!code) {
		counters->failed++;
		if (object) say(why, cap, "out of memory");
	}
	return code;
}

NativeCode *native_compile(NativeService *s, const KModule *m, const NativeOptions *o, char *why,
                           size_t cap) {
	return make(s, m, o, &s->counters, why, cap);
}

/* ---- the background ------------------------------------------------------ */

/* A service lives at least as long as its unfinished requests. */
static void set_done(NativeRequest *r) {
	atomic_fetch_sub(&r->service->pending, 1);
	atomic_store_explicit(&r->done, true, memory_order_release);
}

static void *background(void *unused) {
	(void)unused;
	pthread_mutex_lock(&store.lock);
	for (;;) {
		while (!store.first && !store.quit) pthread_cond_wait(&store.wake, &store.lock);
		NativeRequest *r = store.first;
		if (store.quit) break; /* no services remain, so no requests */
		store.first = r->next;
		if (!store.first) store.last = NULL;
		store.running = r;
		pthread_mutex_unlock(&store.lock);
		r->code = make(r->service, r->module, &r->options, &r->counters, r->why, sizeof r->why);
		pthread_mutex_lock(&store.lock);
		store.running = NULL;
		set_done(r);
		pthread_cond_broadcast(&store.finished);
	}
	pthread_mutex_unlock(&store.lock);
	return NULL;
}

static void *run_apart(void *arg) {
	NativeRequest *r = arg;
	r->code = make(r->service, r->module, &r->options, &r->counters, r->why, sizeof r->why);
	pthread_mutex_lock(&store.lock);
	NativeRequest **at = &store.apart;
	while (*at != r) at = &(*at)->next;
	*at = r->next;
	set_done(r);
	pthread_cond_broadcast(&store.finished);
	pthread_mutex_unlock(&store.lock);
	return NULL;
}

/* The thread blocks all signals: they belong to the host program. */
static bool start_thread(pthread_t *thread, void *(*body)(void *arg), void *arg) {
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_t attr;
	const bool sized = !pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, STACK_BYTES);
	const bool started = !pthread_create(thread, sized ? &attr : NULL, body, arg);
	if (sized) pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

bool native_request_done(const NativeRequest *r) {
	return atomic_load_explicit(&r->done, memory_order_acquire);
}

uint64_t native_requests_pending(const NativeService *s) {
	return atomic_load_explicit(&s->pending, memory_order_acquire);
}

/* Detaches r from its service and adds r's counters to it. */
static void leave_service(NativeRequest *r) {
	NativeService *s = r->service;
	if (!s) return;
	if (r->before_mine) r->before_mine->next_mine = r->next_mine;
	else s->requests = r->next_mine;
	if (r->next_mine) r->next_mine->before_mine = r->before_mine;
	s->counters.compiled += r->counters.compiled;
	s->counters.from_memory += r->counters.from_memory;
	s->counters.from_disk += r->counters.from_disk;
	s->counters.failed += r->counters.failed;
	s->counters.code_bytes += r->counters.code_bytes;
	s->counters.compile_seconds += r->counters.compile_seconds;
	s->counters.load_seconds += r->counters.load_seconds;
	/* Freed here: the memory is the context's, and this is the context's
	 * thread. */
	kmodule_free(r->module);
	r->service = NULL;
	if (r->threaded) pthread_join(r->thread, NULL);
	r->threaded = false;
}

/* Frees a request whose result is not needed. */
static void drop(NativeRequest *r) {
	native_code_free(r->code);
	leave_service(r);
	free(r);
}

/* Frees abandoned requests that are done. */
static void drop_abandoned(NativeService *s) {
	for (NativeRequest *r = s->requests, *next; r; r = next) {
		next = r->next_mine;
		if (r->abandoned && native_request_done(r)) drop(r);
	}
}

static NativeRequest *request_new(NativeService *s, KModule *m, const NativeOptions *o) {
	drop_abandoned(s);
	NativeRequest *r = malloc(sizeof *r);
	if (!r) return NULL;
	*r = (NativeRequest){.service = s, .next_mine = s->requests, .module = m, .options = *o};
	if (o->name) {
		snprintf(r->name, sizeof r->name, "%s", o->name);
		r->options.name = r->name;
	}
	return r;
}

/* Adds a request that has started to its service's list, or frees it. */
static NativeRequest *request_begun(NativeRequest *r, bool started) {
	NativeService *s = r->service;
	if (!started) {
		free(r);
		return NULL;
	}
	if (s->requests) s->requests->before_mine = r;
	s->requests = r;
	return r;
}

NativeRequest *native_request(NativeService *s, KModule *m, const NativeOptions *o) {
	NativeRequest *r = request_new(s, m, o);
	if (!r) return NULL;
	pthread_mutex_lock(&store.lock);
	if (!store.started) store.started = start_thread(&store.thread, background, NULL);
	const bool started = store.started;
	if (started) {
		atomic_fetch_add(&s->pending, 1);
		if (store.last) store.last->next = r;
		else store.first = r;
		store.last = r;
		pthread_cond_signal(&store.wake);
	}
	pthread_mutex_unlock(&store.lock);
	return request_begun(r, started);
}

NativeRequest *native_request_apart(NativeService *s, KModule *m, const NativeOptions *o) {
	NativeRequest *r = request_new(s, m, o);
	if (!r) return NULL;
	/* The lock is held until the request is complete: its thread may end at
	 * once. */
	pthread_mutex_lock(&store.lock);
	r->threaded = start_thread(&r->thread, run_apart, r);
	const bool started = r->threaded;
	if (started) {
		atomic_fetch_add(&s->pending, 1);
		r->next = store.apart;
		store.apart = r;
	}
	pthread_mutex_unlock(&store.lock);
	return request_begun(r, started);
}

/* Removes the request from the queue if it is there, and marks it done. */
static void leave_queue(NativeRequest *r) {
	pthread_mutex_lock(&store.lock);
	NativeRequest *before = NULL, *q = store.first;
	while (q && q != r) {
		before = q;
		q = q->next;
	}
	if (q) {
		if (before) before->next = r->next;
		else store.first = r->next;
		if (store.last == r) store.last = before;
		say(r->why, sizeof r->why, "cancelled");
		set_done(r);
	}
	pthread_mutex_unlock(&store.lock);
}

static void wait_for(NativeRequest *r) {
	pthread_mutex_lock(&store.lock);
	while (!atomic_load(&r->done)) pthread_cond_wait(&store.finished, &store.lock);
	pthread_mutex_unlock(&store.lock);
}

static void wait_briefly(const NativeRequest *r) {
	const struct timespec t = clock_deadline(POLL_NS);
	pthread_mutex_lock(&store.lock);
	while (!atomic_load(&r->done) &&
	       pthread_cond_timedwait(&store.finished, &store.lock, &t) != ETIMEDOUT) {}
	pthread_mutex_unlock(&store.lock);
}

bool native_request_wait(const NativeRequest *r, double until) {
	while (!native_request_done(r)) {
		if (ctx_stops(r->service->ctx) || clock_seconds() >= until) return false;
		wait_briefly(r);
	}
	return true;
}

NativeCode *native_request_take(NativeRequest *r, char *why, size_t cap) {
	wait_for(r);
	NativeCode *code = r->code;
	if (!code) say(why, cap, r->why);
	leave_service(r);
	free(r);
	return code;
}

void native_request_cancel(NativeRequest *r) {
	if (!r) return;
	leave_queue(r);
	NativeService *s = r->service;
	if (native_request_done(r)) drop(r);
	else r->abandoned = true;
	if (s) drop_abandoned(s);
}

/* ---- fork ---------------------------------------------------------------- */

static void before_fork(void) {
	pthread_mutex_lock(&store.life);
	pthread_mutex_lock(&store.lock);
}

static void after_fork_parent(void) {
	pthread_mutex_unlock(&store.lock);
	pthread_mutex_unlock(&store.life);
}

static void give_up(NativeRequest *r) {
	say(r->why, sizeof r->why, "the process was forked");
	r->code = NULL;
	set_done(r);
}

static void after_fork_child(void) {
	for (NativeRequest *r = store.first; r; r = r->next) give_up(r);
	if (store.running) give_up(store.running);
	for (NativeRequest *r = store.apart; r; r = r->next) {
		r->threaded = false; /* nothing to join */
		give_up(r);
	}
	if (store.compiling) store.broken = true;
	store.first = store.last = store.running = store.apart = NULL;
	store.started = false;
	store.compiling = 0;
	pthread_mutex_init(&store.life, NULL);
	pthread_mutex_init(&store.lock, NULL);
	pthread_cond_init(&store.wake, NULL);
	pthread_cond_init(&store.finished, NULL);
	pthread_mutex_init(&library.lock, NULL);
}

static void watch_forks(void) { pthread_atfork(before_fork, after_fork_parent, after_fork_child); }

/* ---- services ------------------------------------------------------------ */

/* The caller holds store.life. */
static OpenCache *take_cache(const char *folder) {
	if (folder && !*folder) return NULL;
	for (OpenCache *o = store.caches; o; o = o->next)
		if (folder ? o->named && !strcmp(o->folder, folder) : !o->named) {
			o->users++;
			return o;
		}
	const size_t n = folder ? strlen(folder) + 1 : 0;
	OpenCache *o = malloc(sizeof *o + n);
	if (!o) return NULL;
	*o = (OpenCache){.next = store.caches, .users = 1, .named = folder != NULL};
	if (n) memcpy(o->folder, folder, n);
	o->cache = native_cache_open(folder, 0);
	return store.caches = o;
}

static void give_cache(OpenCache *o) {
	if (!o || --o->users) return;
	OpenCache **at = &store.caches;
	while (*at != o) at = &(*at)->next;
	*at = o->next;
	native_cache_close(o->cache);
	free(o);
}

NativeService *native_service_new(Ctx *c, const char *folder) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	NativeService *s = heap_alloc(c, sizeof *s);
	if (!s) return NULL;
	*s = (NativeService){.ctx = c};
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&store.life);
	store.services++;
	s->files = take_cache(folder);
	pthread_mutex_unlock(&store.life);
	return s;
}

/* The thread ends with the last service. Nobody else has requests then, and new
 * services wait on store.life. */
void native_service_free(NativeService *s) {
	if (!s) return;
	for (NativeRequest *r = s->requests; r; r = r->next_mine) leave_queue(r);
	while (s->requests) {
		NativeRequest *r = s->requests;
		wait_for(r);
		if (r->abandoned) {
			drop(r);
			continue;
		}
		native_code_free(r->code);
		r->code = NULL;
		if (!*r->why) say(r->why, sizeof r->why, "cancelled");
		leave_service(r);
	}
	pthread_mutex_lock(&store.life);
	if (!--store.services) {
		pthread_mutex_lock(&store.lock);
		const bool join = store.started;
		store.quit = true;
		pthread_cond_signal(&store.wake);
		pthread_mutex_unlock(&store.lock);
		if (join) pthread_join(store.thread, NULL);
		store.quit = store.started = false;
	}
	give_cache(s->files);
	pthread_mutex_unlock(&store.life);
	heap_free(s->ctx, s, sizeof *s);
}

const NativeCounters *native_counters(const NativeService *s) { return &s->counters; }
