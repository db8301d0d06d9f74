/* elf_loader.h - a relocatable ELF object for this machine (x86-64, aarch64)
 * becomes callable code in this process.
 *
 * Needs: abi.h. Guarantees: whatever the bytes are, the answer is an object or
 * an error, never a crash (what the code does when it is called is another
 * matter: bytes from a file are checked by code_cache.c). Memory is never
 * writable and executable at once. Thread-safe.
 */
#ifndef ATLED_BACKEND_NATIVE_JIT_ELF_LOADER_H
#define ATLED_BACKEND_NATIVE_JIT_ELF_LOADER_H

#include "backend/native/kir/abi.h"
#include <stddef.h>

typedef struct NativeObject NativeObject;

/* NULL with a text in `error` (cap bytes, may be 0). The bytes are not kept.
 * `entry` is the symbol that native_entry gives. */
NativeObject *native_load(const void *bytes, size_t n, const char *entry, char *error, size_t cap);
NativeEntry native_entry(const NativeObject *o);
size_t native_object_bytes(const NativeObject *o); /* mapped */
/* Nobody may be inside the code, or have its addresses. NULL is allowed. */
void native_unload(NativeObject *o);

/* Tells tools about objects loaded from now on; also asked for by ATLED_PERF=1
 * and ATLED_GDB=1 in the environment. perf: lines in /tmp/perf-PID.map. gdb:
 * its JIT interface, with the line tables if the object has some. */
enum { NATIVE_TELL_PERF = 1, NATIVE_TELL_GDB = 2 };
void native_tell(unsigned flags);

#endif
