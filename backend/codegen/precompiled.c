/* precompiled.c - precompiled functions that depend on the target alone.
 *
 * They are object files inside this library, which saves compiling the same
 * matrix products in every module.
 *
 * Contract:
 * - Needs emit.h and the files that scripts/build/precompile_kernels.c writes
 *   with a library that has none (precompiled_data.S).
 * - A function is found only for the target that it was compiled for; cache
 *   sizes may differ.
 * - None is found where all bodies are needed, as for assembly or IR output.
 * - A precompiled function equals the one that would be emitted, because the
 *   same code makes both.
 */
#include "backend/codegen/emit.h"
#include <string.h>

/* The files in precompiled_data.S. */
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

const NativeKernel *kernel_named(const Emitter *e, const char *name) {
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
