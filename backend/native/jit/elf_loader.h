/* elf_loader.h - loader of relocatable ELF objects for x86-64 and AArch64.
 *
 * Needs: abi.h.
 *
 * Contract:
 * - For any input bytes the result is an object or an error, never a crash. The
 *   loader does not judge what the code does when called: code_cache.c checks
 *   bytes that come from a file.
 * - Memory is never writable and executable at once.
 * - Thread-safe.
 */
#ifndef ATLED_BACKEND_NATIVE_JIT_ELF_LOADER_H
#define ATLED_BACKEND_NATIVE_JIT_ELF_LOADER_H

#include "backend/native/kir/abi.h"
#include <stddef.h>

typedef struct NativeObject NativeObject;

/* Loads an object. The bytes are not retained. `entry` is the symbol that
 * native_entry returns. On failure returns NULL with a message in `error` (cap
 * bytes; may be 0). */
NativeObject *native_load(const void *bytes, size_t n, const char *entry, char *error, size_t cap);
NativeEntry native_entry(const NativeObject *o);
size_t native_object_bytes(const NativeObject *o); /* mapped bytes */
/* No thread may be executing the code or hold its addresses. o may be NULL. */
void native_unload(NativeObject *o);

/* Registers objects loaded from now on with tools. ATLED_PERF=1 and ATLED_GDB=1
 * in the environment do the same.
 *
 * - perf: lines in /tmp/perf-PID.map.
 * - gdb: its JIT interface, with line tables if the object has some.
 */
enum { NATIVE_NOTIFY_PERF = 1, NATIVE_NOTIFY_GDB = 2 };
void native_notify(unsigned flags);

#endif
