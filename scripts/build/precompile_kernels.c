/* precompile_kernels.c - precompiler of the matrix products of a target.
 *
 * Use: make_kernels LIBRARY TARGET FILE
 *
 * LIBRARY is the code generator's library, without precompiled kernels. TARGET
 * is sse2, avx2 or avx512, or neon on AArch64. Writes FILE in the format of
 * NativeKernels.
 *
 * Method: no list of kernels exists. A module requests products of all types,
 * flags and sizes, and the code generator reports the kernels that it made for
 * it.
 */
#include "backend/native/jit/codegen.h"
#include "backend/native/kir/cpu.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CodegenFn codegen;

static void contract(KBuilder *b, KType t, uint32_t flags, int64_t m, int64_t n) {
	KRef operands[12];
	for (uint32_t i = 0; i < 3; i++) {
		operands[3 * i] = k_buffer(b, i);
		operands[3 * i + 1] = k_word(b, KT_I64, 2 * i);
		operands[3 * i + 2] = k_word(b, KT_I64, 2 * i + 1);
	}
	operands[9] = m ? k_int(b, m) : k_word(b, KT_I64, 6);
	operands[10] = n ? k_int(b, n) : k_word(b, KT_I64, 7);
	operands[11] = k_word(b, KT_I64, 8);
	k_contract(b, K_CONTRACT, t, flags, 12, operands);
}

/* Requests products with one to three rows and up to nine vectors of columns,
 * full and partial. 0 stands for a size that is known at run time only. */
static KModule *contractions(Ctx *c, const KTarget *target, KType t, uint32_t flags) {
	const int64_t lanes = target->vector_bytes / ktype_size(t);
	KModule *module = kmodule_new(c, target);
	KBuilder b;
	k_function(&b, module, 0);
	for (int64_t m = 0; m < 4; m++)
		for (int64_t v = 0; v <= 9; v++) {
			contract(&b, t, flags, m, v * lanes);
			if (v && lanes > 1) contract(&b, t, flags, m, v * lanes - 1);
		}
	k_return(&b, 0, NULL);
	return module;
}

/* The kernels found so far; each is written once. */
typedef struct Found {
	char *bytes; /* allocated with malloc */
	size_t n;
	uint64_t kernels;
} Found;

static size_t kernel_bytes(const NativeKernel *kernel) {
	return sizeof *kernel + (kernel->bytes + 7) / 8 * 8;
}

static bool is_found(const Found *found, const char *name) {
	const NativeKernel *kernel;
	for (size_t at = 0; at < found->n; at += kernel_bytes(kernel)) {
		kernel = (const void *)(found->bytes + at);
		if (!strcmp(kernel->name, name)) return true;
	}
	return false;
}

static void take(Found *found, const CodegenOutput *out) {
	const NativeKernels *head = (const void *)out->bytes;
	const char *at = out->bytes + sizeof *head;
	for (uint64_t k = 0; k < head->n; k++) {
		const NativeKernel *kernel = (const void *)at;
		const size_t n = kernel_bytes(kernel);
		at += n;
		if (is_found(found, kernel->name)) continue;
		found->bytes = realloc(found->bytes, found->n + n);
		if (!found->bytes) abort();
		memcpy(found->bytes + found->n, kernel, n);
		found->n += n;
		found->kernels++;
	}
}

static bool make(Ctx *c, const char *cpu, const char *path) {
	static const uint32_t flags[] = {0,
	                                 KF_B_COL_UNIT,
	                                 KF_B_COL_UNIT | KF_PADDED,
	                                 KF_K_UNIT,
	                                 KF_K_UNIT | KF_TRANSPOSE_B,
	                                 KF_TILE_5 | KF_B_COL_UNIT,
	                                 KF_TILE_5 | KF_B_COL_UNIT | KF_PADDED,
	                                 KF_TILE_5 | KF_K_UNIT,
	                                 KF_TILE_5 | KF_K_UNIT | KF_TRANSPOSE_B};
	static const KType types[] = {KT_F64, KT_F32};
	KTarget target;
	if (!native_target_named(cpu, &target)) return false;
	Found found = {0};
	bool good = true;
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (size_t f = 0; good && f < sizeof flags / sizeof *flags; f++) {
			KModule *module = contractions(c, &target, types[t], flags[f]);
			const CodegenOptions options = {.entry = "all", .level = 2, .kernels = true};
			CodegenOutput out;
			good = !codegen(module, &options, &out);
			if (good) take(&found, &out);
			else fprintf(stderr, "make_kernels: %s: %s\n", cpu, out.error);
			free(out.bytes);
			kmodule_free(module);
		}
	FILE *file = good ? fopen(path, "wb") : NULL;
	const NativeKernels head = {.target = target, .n = found.kernels};
	good = file && fwrite(&head, 1, sizeof head, file) == sizeof head &&
	       fwrite(found.bytes, 1, found.n, file) == found.n;
	if (file && fclose(file)) good = false;
	if (!good) fprintf(stderr, "make_kernels: %s was not written\n", path);
	free(found.bytes);
	return good;
}

/* Names of a target on the command line and as a processor. */
static const char *const targets[][2] = {
	{"sse2", "x86-64"}, {"avx2", "x86-64-v3"}, {"avx512", "x86-64-v4"}, {"neon", "aarch64"}};

int main(int argc, char **argv) {
	const char *cpu = NULL;
	for (size_t k = 0; argc == 4 && k < sizeof targets / sizeof *targets; k++)
		if (!strcmp(argv[2], targets[k][0])) cpu = targets[k][1];
	if (!cpu) {
		fprintf(
			stderr,
			"make_kernels: a library, a target (sse2, avx2, avx512, neon) and a file are wanted\n");
		return 1;
	}
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (library) *(void **)&codegen = dlsym(library, "atled_codegen");
	if (!codegen) {
		fprintf(stderr, "make_kernels: %s\n", dlerror());
		return 1;
	}
	Ctx *c = ctx_new(NULL);
	const bool good = c && make(c, cpu, argv[3]);
	if (c) ctx_free(c);
	return good ? 0 : 1;
}
