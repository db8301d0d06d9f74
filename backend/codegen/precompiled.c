/* precompiled.c - precompiled functions: those that depend on the target alone,
 * as objects inside this library.
 *
 * Needs: emit.h; the files that scripts/build/precompile_kernels.c wrote with a
 * library that has none (precompiled_data.S). Guarantees: a function is found
 * only for a target that differs in nothing but its caches from the one it was
 * compiled for, and not where all bodies are wanted. What comes from the
 * library is what would be emitted in its place: both are made by the same
 * code.
 *
 * A network's module is mostly pointers and calls; the products of matrices are
 * half of LLVM's time and the same in all modules.
 */
#include "backend/codegen/emit.h"
#include <string.h>

/* The files of precompiled_data.S. */
#if defined(__aarch64__)
#define FILES(F) F(neon)
#else
#define FILES(F) F(sse2) F(avx2) F(avx512)
#endif

typedef struct KernelFile {
	const char *begin, *end;
} KernelFile;
#define DECLARE(name) extern const char kernels_##name##_begin[], kernels_##name##_end[];
FILES(DECLARE)
#define ENDS(name) {kernels_##name##_begin, kernels_##name##_end},
static const KernelFile files[] = {FILES(ENDS)};

static bool same_target(const KTarget *x, const KTarget *y) {
	return !strncmp(x->cpu, y->cpu, sizeof x->cpu) && x->vector_bytes == y->vector_bytes &&
	       x->registers == y->registers && x->has_fma == y->has_fma && x->has_masks == y->has_masks;
}

const NativeKernel *kernel_named(const Emit *e, const char *name) {
	const CodegenOptions *o = e->options;
	if (o->whole || o->kernels || o->assembly || o->ir || o->debug_lines) return NULL;
	for (const KernelFile *f = files; f < files + sizeof files / sizeof *files; f++) {
		const NativeKernels *head = (const void *)f->begin;
		if ((size_t)(f->end - f->begin) < sizeof *head ||
		    !same_target(&head->target, &e->m->target))
			continue;
		const char *at = f->begin + sizeof *head;
		for (uint64_t k = 0; k < head->n; k++) {
			const NativeKernel *kernel = (const void *)at;
			if (!strcmp(kernel->name, name)) return kernel;
			at += sizeof *kernel + (kernel->bytes + 7) / 8 * 8;
		}
	}
	return NULL;
}
