/* cpu.h - what this machine is, as the code generator is told.
 *
 * Needs: kir.h. Guarantees: asked once, the same ever after; a machine that we
 * have no code for gives vector_bytes 0, and ATLED_TARGET in the environment
 * (x86-64, v3, v4; aarch64, neon; none) can only lower what is used, never
 * raise it. Thread-safe.
 *
 * A shape (v4-shape, v3-shape, neon-shape, sse2-shape, scalar-shape) is a
 * machine's lanes, registers and masks in this machine's instructions: the code
 * that would be made for it, by another back end. For tests.
 */
#ifndef ATLED_BACKEND_NATIVE_CPU_H
#define ATLED_BACKEND_NATIVE_CPU_H

#include "backend/native/kir/kir.h"

const KTarget *native_target(void);
/* Makes a target of a name: "none", a shape, or a machine of this architecture:
 * "x86-64", "x86-64-v3", "x86-64-v4" (or v3, v4); "aarch64" (or neon). False
 * for another one. With the caches of this machine. For tests and for code that
 * is made for elsewhere: it may not run here. */
bool native_target_named(const char *name, KTarget *out);
/* Whether this machine runs code for it. */
bool native_target_runs(const KTarget *t);

#endif
