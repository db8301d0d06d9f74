/* compile_service.h - from kernel code to a callable entry: what is in memory,
 * else on disk, else what the code generator's library makes of it.
 *
 * Needs: kir.h, elf_loader.h, code_cache.h, codegen.h. Guarantees: code is the
 * process's: contexts that ask for the same get the same, and it stays as long
 * as one of them holds it. The library with LLVM in it is opened when something
 * must be compiled and never before; without it everything here says no and the
 * evaluator goes on. A service belongs to one context and is used by one thread
 * at a time; services on several threads do not disturb each other. No failure
 * here is an error of the program.
 */
#ifndef ATLED_BACKEND_NATIVE_JIT_COMPILE_SERVICE_H
#define ATLED_BACKEND_NATIVE_JIT_COMPILE_SERVICE_H

#include "backend/native/jit/codegen.h"
#include "backend/native/jit/elf_loader.h"

typedef struct NativeService NativeService;
typedef struct NativeCode NativeCode; /* counted */

typedef struct NativeOptions {
	const char *name; /* of the function, for perf and gdb; NULL: none. Part of the key */
	int level;        /* CodegenOptions.level */
	bool once;        /* CodegenOptions.once */
	bool debug_lines;
} NativeOptions;

/* What a service did. Seconds are of the thread that did it, the background's
 * included. */
typedef struct NativeCounters {
	uint64_t compiled, from_memory, from_disk, failed;
	uint64_t code_bytes; /* of objects that were made or read */
	double compile_seconds, load_seconds;
} NativeCounters;

NativeService *native_service_new(Ctx *c); /* NULL when memory fails */
/* Stops what is under way; code that was taken stays its holder's, and requests
 * are still to be ended, without a result. */
void native_service_free(NativeService *s);
const NativeCounters *native_counters(const NativeService *s);
/* False when nothing can be compiled here: no target, or no library; `why` says
 * it in a line. Opens nothing. */
bool native_available(NativeService *s, char *why, size_t cap);

/* NULL with `why`. m is only read. */
NativeCode *native_compile(NativeService *s, const KModule *m, const NativeOptions *o, char *why,
                           size_t cap);
/* Whether code of m is at hand, in memory or on disk, so that native_compile
 * need only take it. */
bool native_is_known(const KModule *m, const NativeOptions *o);
NativeEntry native_code_entry(const NativeCode *code);
size_t native_code_bytes(const NativeCode *code);
/* gives one reference back; on any thread; NULL is allowed */
void native_code_free(NativeCode *code);

/* ---- in the background --------------------------------------------------- */

typedef struct NativeRequest NativeRequest;
/* Takes m over and returns at once; a thread of the process compiles one
 * request after the other. NULL when memory or threads fail: then m is still
 * the caller's. The name in `o` is copied. */
NativeRequest *native_request(NativeService *s, KModule *m, const NativeOptions *o);
bool native_request_done(const NativeRequest *r); /* cheap */
/* how many of its requests are not done, cancelled ones included */
uint64_t native_requests_pending(const NativeService *s);
/* Each request is ended once, by one of these two. Waits for it if it is not
 * done; as native_compile. */
NativeCode *native_request_take(NativeRequest *r, char *why, size_t cap);
/* Without a result, and at once: LLVM cannot be stopped, so one that is being
 * compiled goes on, and the service, which waits for it at its end, drops what
 * comes of it. NULL is allowed. */
void native_request_cancel(NativeRequest *r);

/* ---- for dumps and tests ------------------------------------------------- */

/* The library's function, opening it; NULL with `why`. */
CodegenFn native_codegen(char *why, size_t cap);
/* Looks for the library anew at the next need. While nobody compiles. */
void native_forget_library(void);
uint32_t native_codes_alive(void);

#endif
