/* code_cache.h - compiled objects on disk, by the hash of everything that
 * determines them.
 *
 * Needs: POSIX files. Guarantees: what is in the cache is code that will run,
 * so only files that this user owns and nobody else can write, in a directory
 * nobody else can enter, are taken, and only whole (checksum); everything that
 * goes wrong is a miss, never an error. Files appear whole or not at all,
 * whichever processes write at once. Thread-safe.
 */
#ifndef ATLED_BACKEND_NATIVE_JIT_CODE_CACHE_H
#define ATLED_BACKEND_NATIVE_JIT_CODE_CACHE_H

#include "backend/native/kir/kir.h"

#define NATIVE_CACHE_BYTES ((uint64_t)64 * 1024 * 1024)

/* Names an object: 128 bits over the kernel code, the options, and the versions
 * of all that took part. */
typedef struct NativeKey {
	uint64_t lo, hi;
} NativeKey;
/* `generator` says which code generator made it, versions and all; options: its
 * bits. CODEGEN_VERSION and NATIVE_ABI_VERSION are added. */
NativeKey native_key(KHash module, const char *cpu, uint64_t options, const char *generator);

typedef struct NativeCache NativeCache;
/* directory NULL: $ATLED_CACHE, else $XDG_CACHE_HOME/atled, else
 * ~/.cache/atled, made if it is not there; none of them in programs that run
 * with another's rights. NULL when there is no directory that can be trusted,
 * or it is "off". bound: bytes, 0 for NATIVE_CACHE_BYTES. */
NativeCache *native_cache_open(const char *directory, uint64_t bound);
void native_cache_close(NativeCache *c);

typedef struct CachedObject {
	const void *bytes;
	size_t n;
	void *block; /* to be freed */
} CachedObject;
bool native_cache_load(NativeCache *c, NativeKey key, CachedObject *out);
/* When the files exceed the bound, those unused the longest go. */
void native_cache_store(NativeCache *c, NativeKey key, const void *bytes, size_t n);
/* What cannot be used is removed, so that it is made anew. */
void native_cache_drop(NativeCache *c, NativeKey key);

#endif
