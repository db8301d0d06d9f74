/* compile_service.h - compile service: from kernel IR to a callable entry.
 *
 * Code comes from memory, else from the cache on disk, else from the code
 * generator's library.
 *
 * Needs: kir.h, elf_loader.h, code_cache.h, codegen.h.
 *
 * Contract:
 * - Code belongs to the process. Contexts that ask for the same code share it,
 *   and it lives as long as one of them holds a reference.
 * - The library with LLVM is opened only when something must be compiled.
 *   Without it all functions here report failure, and the evaluator continues.
 * - A service belongs to one context and is used by one thread at a time.
 *   Services on several threads do not interfere.
 * - No failure here is an error of the program.
 */
#ifndef ATLED_BACKEND_NATIVE_JIT_COMPILE_SERVICE_H
#define ATLED_BACKEND_NATIVE_JIT_COMPILE_SERVICE_H

#include "backend/native/jit/codegen.h"
#include "backend/native/jit/elf_loader.h"

typedef struct NativeService NativeService;
typedef struct NativeCode NativeCode; /* reference-counted */

typedef struct NativeOptions {
	const char *name; /* of the function, for perf and gdb; or NULL. Part of the key */
	int level;        /* CodegenOptions.level */
	bool once;        /* CodegenOptions.once */
	bool debug_lines;
} NativeOptions;

/* Statistics of a service. Seconds are those of the compiling thread, including
 * the background thread. */
typedef struct NativeCounters {
	uint64_t compiled, from_memory, from_disk, failed;
	uint64_t code_bytes; /* of objects that were compiled or read */
	double compile_seconds, load_seconds;
} NativeCounters;

/* folder: of the cache on disk, see native_cache_open; "" for none. Services
 * with the same folder share it. Returns NULL when memory fails. */
NativeService *native_service_new(Ctx *c, const char *folder);
/* Cancels pending work. Code that was taken remains with its holder. Requests
 * must still be ended, and yield no result. */
void native_service_free(NativeService *s);
const NativeCounters *native_counters(const NativeService *s);
/* Returns false when nothing can be compiled here: there is no target or no
 * library. `why` (cap bytes) gets a line with the reason. Opens nothing. */
bool native_available(NativeService *s, char *why, size_t cap);

/* Whether code for m is in memory or on disk, so that it need not be
 * compiled. */
bool native_is_cached(const NativeService *s, const KModule *m, const NativeOptions *o);
NativeEntry native_code_entry(const NativeCode *code);
size_t native_code_bytes(const NativeCode *code);
/* Releases one reference. Allowed on any thread; code may be NULL. */
void native_code_free(NativeCode *code);

/* Compiles on this thread, which nothing interrupts. Returns the code with one
 * reference, or NULL with `why` set. m is only read. */
NativeCode *native_compile(NativeService *s, const KModule *m, const NativeOptions *o, char *why,
                           size_t cap);

/* ---- requests ------------------------------------------------------------ */

typedef struct NativeRequest NativeRequest;
/* Takes ownership of m and returns at once. One thread of the process compiles
 * the requests in order. Returns NULL when memory or threads fail; then m still
 * belongs to the caller. The name in `o` is copied. */
NativeRequest *native_request(NativeService *s, KModule *m, const NativeOptions *o);
/* The same on a thread of its own, for a caller that waits for the code. */
NativeRequest *native_request_apart(NativeService *s, KModule *m, const NativeOptions *o);
/* Waits until the request is done, or until clock_seconds() is `until`. Returns
 * whether it is done. Returns early when the context must stop (ctx_stops). */
bool native_request_wait(const NativeRequest *r, double until);
bool native_request_done(const NativeRequest *r); /* cheap */
/* The number of unfinished requests of s, cancelled ones included. */
uint64_t native_requests_pending(const NativeService *s);
/* Ends a request; each request is ended by exactly one of these two functions.
 * Waits until it is done. Returns as native_compile. */
NativeCode *native_request_take(NativeRequest *r, char *why, size_t cap);
/* Ends a request at once, without a result. LLVM cannot be interrupted: a
 * compilation in progress continues. The service waits for it at its end and
 * drops the result. r may be NULL. */
void native_request_cancel(NativeRequest *r);

/* ---- for dumps and tests ------------------------------------------------- */

/* The library's function; opens the library. NULL with `why` set on failure. */
CodegenFn native_codegen(char *why, size_t cap);
/* Makes the next use search for the library again. Nothing may be compiling. */
void native_forget_library(void);
uint32_t native_codes_alive(void);

#endif
