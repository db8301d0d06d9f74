/* codegen.h - interface of the code generator's library (libatled-codegen.so).
 *
 * One function turns a kernel IR module into an object file.
 *
 * Contract:
 * - The library contains LLVM, statically linked and hidden. compile_service.c
 *   opens it at the first compilation.
 * - It calls nothing in the program. Memory comes from malloc, and the caller
 *   frees the results.
 * - Thread-safe: each call has its own LLVM context.
 */
#ifndef ATLED_BACKEND_NATIVE_JIT_CODEGEN_H
#define ATLED_BACKEND_NATIVE_JIT_CODEGEN_H

#include "backend/native/kir/kir.h"

/* Part of the cache key. Increase it with any change of the meaning or quality
 * of generated code. */
#define CODEGEN_VERSION 27

typedef struct CodegenOptions {
	const char *entry; /* symbol of the entry function */
	int level;         /* 0 quick, 2 full */
	/* Code that will hardly run: compile as little as possible. A vector loop
	 * has one masked body for whole vectors and remainder. */
	bool once;
	bool assembly;    /* assembly text in `out` instead of an object */
	bool ir;          /* LLVM IR as text instead, to debug the generator */
	bool debug_lines; /* a line table with SpanId numbers as line numbers, for gdb and perf */
	/* Emit a body for every called function and use no precompiled ones. Text
	 * output and modules with a line table are always whole. */
	bool whole;
	/* Instead of the module, emit its functions that any module may share, as a
	 * NativeKernels record. For the build. */
	bool kernels;
} CodegenOptions;

/* A large module is returned as several objects that refer to each other by
 * function names: this record, then the objects one after the other. */
#define NATIVE_PARTS_MAGIC "AtledP1\n"
#if __has_attribute(nonstring)
#define NOT_A_STRING __attribute__((nonstring))
#else
#define NOT_A_STRING
#endif
enum { NATIVE_PARTS_MOST = 24 };
typedef struct NativeParts {
	char magic[8] NOT_A_STRING; /* fills all eight bytes, without a terminating zero */
	uint64_t n, bytes[NATIVE_PARTS_MOST];
} NativeParts;

/* Precompiled functions for one target: this record, then n times a
 * NativeKernel followed by its object. An object has `bytes` bytes and is
 * padded to a multiple of 8. */
typedef struct NativeKernels {
	KTarget target; /* without the caches: code that depends on them is not precompiled */
	uint64_t n;
} NativeKernels;
typedef struct NativeKernel {
	char name[64];
	uint64_t bytes;
} NativeKernel;

typedef struct CodegenOutput {
	char *bytes; /* from malloc; NULL on failure */
	size_t n;
	char error[256];
	double seconds;
} CodegenOutput;

/* Returns 0, or -1 with `error` set. The library exports it as
 * "atled_codegen". */
typedef int (*CodegenFn)(const KModule *m, const CodegenOptions *options, CodegenOutput *out);
int atled_codegen(const KModule *m, const CodegenOptions *options, CodegenOutput *out);

#endif
