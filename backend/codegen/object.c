/* object.c - the library's one entry: from a kernel module to passes, object file, assembly or LLVM's text.
 *
 * Needs: emit.h. Guarantees: every call has an LLVM context of its own and gives back all of it; whatever LLVM complains about becomes the
 * output's error text, and neither ends the program (a fatal error inside LLVM leaks what it held).
 */
#include "backend/codegen/emit.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* What runs before the back end, by level. Vector loops come as they should be, so little is to gain: on a fused loop with maths, full LLVM (default<O2>) takes
 * twice the time for the same speed. Scalar code (calls, loops over indices) wants the longer list. */
static const char *const passes[] = {
	"always-inline,function(early-cse)",
	"always-inline,function(early-cse<memssa>,simplifycfg)",
	"always-inline,globaldce,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse)",
};

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- LLVM's complaints -------------------------------------------------------------------------------------------------------------------- */

static _Thread_local Emit *current; /* whom a fatal error on this thread concerns */

static void fatal(const char *reason) {
	if (current) emit_stop(current, "LLVM: %s", reason);
}

static void install_fatal(void) {
	LLVMInstallFatalErrorHandler(fatal);
}

static void diagnose(LLVMDiagnosticInfoRef info, void *data) {
	Emit *e = data;
	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
	char *text = LLVMGetDiagInfoDescription(info);
	if (!*e->error) snprintf(e->error, e->error_size, "LLVM: %s", text);
	LLVMDisposeMessage(text);
}

/* Leaves with LLVM's message, which is given back. */
static _Noreturn void stop_with(Emit *e, const char *what, char *message, void (*dispose)(char *)) {
	char text[200];
	snprintf(text, sizeof text, "%s: %s", what, message ? message : "no reason given");
	if (message) dispose(message);
	emit_stop(e, "%s", text);
}

/* ---- finishing ---------------------------------------------------------------------------------------------------------------------------- */

static void give(Emit *e, CodegenOutput *out, const char *bytes, size_t n) {
	out->bytes = malloc(n + 1);
	if (!out->bytes) emit_stop(e, "out of memory");
	memcpy(out->bytes, bytes, n);
	out->bytes[n] = 0;
	out->n = n;
}

static void run_passes(Emit *e) {
	int level = e->options->level < 0 ? 0 : e->options->level > 2 ? 2 : e->options->level;
	const char *list = passes[level];
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error = LLVMRunPasses(e->module, list, e->machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (error) stop_with(e, "passes", LLVMGetErrorMessage(error), LLVMDisposeErrorMessage);
}

void object_finish(Emit *e, CodegenOutput *out) {
	char *message = NULL;
	if (LLVMVerifyModule(e->module, LLVMReturnStatusAction, &message)) stop_with(e, "invalid code", message, LLVMDisposeMessage);
	LLVMDisposeMessage(message);
	run_passes(e);
	if (*e->error) longjmp(e->stop, 1);
	if (e->options->ir) {
		char *text = LLVMPrintModuleToString(e->module);
		give(e, out, text, strlen(text));
		LLVMDisposeMessage(text);
		return;
	}
	LLVMMemoryBufferRef buffer;
	message = NULL;
	if (LLVMTargetMachineEmitToMemoryBuffer(e->machine, e->module, e->options->assembly ? LLVMAssemblyFile : LLVMObjectFile, &message, &buffer))
		stop_with(e, "code generation", message, LLVMDisposeMessage);
	if (*e->error) {
		LLVMDisposeMemoryBuffer(buffer);
		longjmp(e->stop, 1);
	}
	give(e, out, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
	LLVMDisposeMemoryBuffer(buffer);
}

static void close_emit(Emit *e) {
	if (e->lines) LLVMDisposeDIBuilder(e->lines);
	if (e->b) LLVMDisposeBuilder(e->b);
	if (e->module) LLVMDisposeModule(e->module);
	if (e->machine) LLVMDisposeTargetMachine(e->machine);
	if (e->context) LLVMContextDispose(e->context);
	emit_free(e);
}

__attribute__((visibility("default"))) int atled_codegen(const KModule *m, const CodegenOptions *options, CodegenOutput *out) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, install_fatal);
	double begin = now();
	memset(out, 0, sizeof *out);
	Emit *e = calloc(1, sizeof *e);
	if (!e) {
		snprintf(out->error, sizeof out->error, "out of memory");
		return -1;
	}
	e->m = m;
	e->options = options;
	e->error = out->error;
	e->error_size = sizeof out->error;
	Emit *outer = current;
	current = e;
	int result = -1;
	if (!setjmp(e->stop)) {
		e->context = LLVMContextCreate();
		LLVMContextSetDiagnosticHandler(e->context, diagnose, e);
		e->module = LLVMModuleCreateWithNameInContext("atled", e->context);
		e->b = LLVMCreateBuilderInContext(e->context);
		target_open(e);
		emit_module(e);
		object_finish(e, out);
		result = 0;
	} else if (!*out->error) {
		snprintf(out->error, sizeof out->error, "the code generator stopped");
	}
	if (!setjmp(e->stop)) close_emit(e);
	current = outer;
	free(e);
	out->seconds = now() - begin;
	return result;
}
