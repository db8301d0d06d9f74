/* code_cache.h - on-disk cache of compiled objects, keyed by a hash.
 *
 * Needs: POSIX files.
 *
 * Contract:
 * - Cached code is executed, so only trusted files are read. This user must own
 *   the file, nobody else may write it, and nobody else may enter the
 *   directory. A checksum shows that the file is complete.
 * - Every failure is a miss, never an error.
 * - Files appear complete or not at all, also when several processes write.
 * - Thread-safe.
 */
#ifndef ATLED_BACKEND_NATIVE_JIT_CODE_CACHE_H
#define ATLED_BACKEND_NATIVE_JIT_CODE_CACHE_H

#include "backend/native/kir/kir.h"

#define NATIVE_CACHE_BYTES ((uint64_t)64 * 1024 * 1024)

/* The name of an object: 128 bits of hash over the kernel IR, the options, and
 * the versions of all components. */
typedef struct NativeKey {
	uint64_t lo, hi;
} NativeKey;
/* generator: identifies the code generator and its versions. options: its flag
 * bits. The key also covers CODEGEN_VERSION and NATIVE_ABI_VERSION. */
NativeKey native_key(KHash module, const char *cpu, uint64_t options, const char *generator);

typedef struct NativeCache NativeCache;
/* Opens the cache.
 *
 * - directory: by its full path; NULL for $XDG_CACHE_HOME/atled, else
 *   ~/.cache/atled. It is created if missing. Programs that run with another
 *   user's rights ignore these variables.
 * - bound: in bytes; 0 for NATIVE_CACHE_BYTES.
 *
 * Returns NULL when the directory cannot be trusted.
 */
NativeCache *native_cache_open(const char *directory, uint64_t bound);
void native_cache_close(NativeCache *c);

typedef struct CachedObject {
	const void *bytes;
	size_t n;
	void *block; /* to be freed by the caller */
} CachedObject;
bool native_cache_load(NativeCache *c, NativeKey key, CachedObject *out);
/* Stores an object. When the files exceed the bound, the least recently used
 * ones are removed. */
void native_cache_store(NativeCache *c, NativeKey key, const void *bytes, size_t n);
/* Removes an object that cannot be loaded, so that it is compiled again. */
void native_cache_drop(NativeCache *c, NativeKey key);

#endif
