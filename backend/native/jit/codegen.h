/* codegen.h - the code generator's library (libatled-codegen.so) seen from
 * outside: one function from kernel code to an object file.
 *
 * The library holds LLVM, statically and hidden, and is opened when something
 * must be compiled for the first time (native/jit/compile_service.c). It calls
 * nothing of the program: memory comes from malloc, results are the caller's to
 * free(). Thread-safe: each call has an LLVM context of its own.
 */
#ifndef ATLED_BACKEND_NATIVE_JIT_CODEGEN_H
#define ATLED_BACKEND_NATIVE_JIT_CODEGEN_H

#include "backend/native/kir/kir.h"

/* Any change of the generated code's meaning or quality changes this: it is
 * part of the cache's key. */
#define CODEGEN_VERSION 27

typedef struct CodegenOptions {
	const char *entry; /* symbol of the entry function */
	int level;         /* 0 quick, 2 full */
	/* will hardly run, so the less there is to compile the better: a vector
	 * loop has one body, with a mask, for whole vectors and the rest */
	bool once;
	bool assembly;    /* text in `out` instead of an object */
	bool ir;          /* LLVM's IR as text instead (to debug the generator) */
	bool debug_lines; /* a line table: line numbers are SpanId numbers; for gdb and perf */
	/* with a body for everything that is called, nothing precompiled; so are
	 * text and what has a line table */
	bool whole;
	/* instead of the module: the functions in it that any module may share,
	 * as a NativeKernels; for the build */
	bool kernels;
} CodegenOptions;

/* A large module comes as several objects that refer to each other by the names
 * of functions: this record, then one after the other. */
#define NATIVE_PARTS_MAGIC "AtledP1\n"
#if __has_attribute(nonstring)
#define NOT_A_STRING __attribute__((nonstring))
#else
#define NOT_A_STRING
#endif
enum { NATIVE_PARTS_MOST = 24 };
typedef struct NativeParts {
	char magic[8] NOT_A_STRING; /* fills all eight: no zero ends it */
	uint64_t n, bytes[NATIVE_PARTS_MOST];
} NativeParts;

/* Precompiled functions for one target: this record, then n times a
 * NativeKernel and its object, `bytes` long and filled up to a multiple of 8.
 */
typedef struct NativeKernels {
	KTarget target; /* caches aside: code that depends on them is not precompiled */
	uint64_t n;
} NativeKernels;
typedef struct NativeKernel {
	char name[64];
	uint64_t bytes;
} NativeKernel;

typedef struct CodegenOutput {
	char *bytes; /* malloc; NULL on failure */
	size_t n;
	char error[256];
	double seconds;
} CodegenOutput;

/* 0, or -1 with `error`. The symbol looked up in the library is
 * "atled_codegen". */
typedef int (*CodegenFn)(const KModule *m, const CodegenOptions *options, CodegenOutput *out);
int atled_codegen(const KModule *m, const CodegenOptions *options, CodegenOutput *out);

#endif
