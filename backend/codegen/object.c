/* object.c - the library's entry: kernel module to object, assembly or LLVM IR.
 *
 * Method: a large module is cut into parts. Plain functions (emit.h) are
 * compiled at level 0, the others in two halves of equal size, which two
 * threads take. Each part is emitted again in a context of its own, since
 * emission is cheap beside LLVM's work. It keeps the bodies of its functions
 * and declares the others. The loader links the parts; precompiled functions
 * (precompiled.c) are further ones.
 *
 * Contract:
 * - Needs emit.h.
 * - Every call has its own LLVM contexts and frees them. A fatal error inside
 *   LLVM leaks what LLVM held.
 * - LLVM's diagnostics and fatal errors become the output's error message;
 *   neither ends the process.
 * - The output does not depend on the number of threads.
 */
#include "backend/codegen/emit.h"
#include "lang/base/clock.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Passes that run before the back end, by level. Vector loops are emitted in
 * their final form, so LLVM's full pipeline would gain little for its time.
 * Scalar code (calls, loops over indices) needs the longer list. */
static const char *const passes[] = {
	"always-inline,function(early-cse)",
	"always-inline,function(early-cse<memssa>,simplifycfg)",
	("always-inline,globaldce,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
     "simplifycfg,loop-mssa(licm),early-cse)"),
};

/* ---- LLVM diagnostics ---------------------------------------------------- */

static _Thread_local Emitter *current; /* the emission on this thread that a fatal error stops */

static void fatal(const char *reason) {
	if (current) emit_stop(current, "LLVM: %s", reason);
}

/* Runs once in the process. The options bound the scheduler's analysis of
 * memory dependences, which is quadratic in the accesses of a block and
 * dominates for very large blocks. The smaller bound costs no measurable speed
 * of the code. */
static void set_up(void) {
	static const char *const options[] = {"atled", "-dag-maps-huge-region=50",
	                                      "-dag-maps-reduction-size=25"};
	LLVMInstallFatalErrorHandler(fatal);
	LLVMParseCommandLineOptions(sizeof options / sizeof *options, options, NULL);
}

static void diagnose(LLVMDiagnosticInfoRef info, void *data) {
	Emitter *e = data;
	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
	char *text = LLVMGetDiagInfoDescription(info);
	if (!*e->error) snprintf(e->error, e->error_size, "LLVM: %s", text);
	LLVMDisposeMessage(text);
}

/* Stops with LLVM's message, which is freed. */
static _Noreturn void stop_with(Emitter *e, const char *what, char *message,
                                void (*dispose)(char *)) {
	char text[200];
	snprintf(text, sizeof text, "%s: %s", what, message ? message : "no reason given");
	if (message) dispose(message);
	emit_stop(e, "%s", text);
}

/* ---- finishing ----------------------------------------------------------- */

/* The result of one LLVM run. */
typedef struct ObjectPart {
	int level;
	char *bytes; /* malloc */
	size_t n;
	char error[256];
} ObjectPart;

static void give(Emitter *e, ObjectPart *out, const char *bytes, size_t n) {
	out->bytes = malloc(n + 1);
	if (!out->bytes) emit_stop(e, "out of memory");
	memcpy(out->bytes, bytes, n);
	out->bytes[n] = 0;
	out->n = n;
}

static void run_passes(Emitter *e) {
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error = LLVMRunPasses(e->module, passes[e->level], e->machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (error) stop_with(e, "passes", LLVMGetErrorMessage(error), LLVMDisposeErrorMessage);
}

static void finish(Emitter *e, ObjectPart *out) {
	char *message = NULL;
	emit_math_link(e);
	if (LLVMVerifyModule(e->module, LLVMReturnStatusAction, &message))
		stop_with(e, "invalid code", message, LLVMDisposeMessage);
	LLVMDisposeMessage(message);
	run_passes(e);
	if (*e->error) longjmp(e->stop, 1);
	if (e->level && e->m->target.vector_bytes == 32) emit_constants(e);
	if (e->options->ir) {
		char *text = LLVMPrintModuleToString(e->module);
		give(e, out, text, strlen(text));
		LLVMDisposeMessage(text);
		return;
	}
	LLVMMemoryBufferRef buffer;
	message = NULL;
	if (LLVMTargetMachineEmitToMemoryBuffer(
			e->machine, e->module, e->options->assembly ? LLVMAssemblyFile : LLVMObjectFile,
			&message, &buffer))
		stop_with(e, "code generation", message, LLVMDisposeMessage);
	if (*e->error) {
		LLVMDisposeMemoryBuffer(buffer);
		longjmp(e->stop, 1);
	}
	give(e, out, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
	LLVMDisposeMemoryBuffer(buffer);
}

static void close_emit(Emitter *e) {
	if (e->lines) LLVMDisposeDIBuilder(e->lines);
	if (e->b) LLVMDisposeBuilder(e->b);
	if (e->module) LLVMDisposeModule(e->module);
	if (e->machine) LLVMDisposeTargetMachine(e->machine);
	if (e->context) LLVMContextDispose(e->context);
	emit_free(e);
}

/* ---- parts --------------------------------------------------------------- */

/* Thresholds in instructions: of a module that is cut, and of plain code that
 * becomes a part. Each part has a fixed cost. */
enum { CUT_INSTS = 1500, PLAIN_INSTS = 150, HALVES = 2 };

/* The part of each function of the module, in the module's order. */
typedef struct Cut {
	uint32_t nparts, nfunctions;
	uint8_t *part_of;
} Cut;

typedef struct CompileJob {
	const KModule *m;
	const CodegenOptions *options;
	Cut cut;
	ObjectPart parts[NATIVE_PARTS_MOST];
	const NativeKernel *kernels[NATIVE_PARTS_MOST]; /* precompiled parts, which follow the others */
	uint32_t nkernels;
	atomic_uint next; /* next part to take */
	bool helped;
	pthread_t helper;
} CompileJob;

static uint32_t instructions_of(LLVMValueRef f) {
	uint32_t n = 0;
	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
	     block = LLVMGetNextBasicBlock(block))
		for (LLVMValueRef in = LLVMGetFirstInstruction(block); in; in = LLVMGetNextInstruction(in))
			n++;
	return n;
}

static bool is_plain(LLVMValueRef f) {
	return LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
	                                     EMIT_PLAIN, strlen(EMIT_PLAIN));
}

/* Decides how the emitted module is cut: greedy partition, largest function
 * first, each to the smaller half. */
static void cut_module(Emitter *e, Cut *cut, ObjectPart *parts) {
	uint32_t n = 0, total = 0, plain = 0, has[HALVES] = {0};
	for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f)) n++;
	LLVMValueRef *functions = emit_alloc(e, n * sizeof *functions);
	uint32_t *size = emit_alloc(e, n * sizeof *size);
	cut->nfunctions = 0;
	for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f)) {
		if (LLVMIsDeclaration(f)) continue;
		functions[cut->nfunctions] = f;
		total += size[cut->nfunctions++] = instructions_of(f);
		if (is_plain(f)) plain += size[cut->nfunctions - 1];
	}
	cut->nparts = 1;
	if (e->options->level < 2 || e->options->debug_lines || total < CUT_INSTS) return;
	const bool apart = plain >= PLAIN_INSTS;
	cut->part_of = calloc(cut->nfunctions, 1);
	if (!cut->part_of) emit_stop(e, "out of memory");
	for (uint32_t left = cut->nfunctions; left; left--) {
		uint32_t k = UINT32_MAX;
		for (uint32_t i = 0; i < cut->nfunctions; i++)
			if (functions[i] && (k == UINT32_MAX || size[i] > size[k])) k = i;
		const uint32_t half = has[1] < has[0];
		cut->part_of[k] = (uint8_t)(apart && is_plain(functions[k]) ? HALVES : half);
		if (cut->part_of[k] == half) has[half] += size[k];
		functions[k] = NULL;
	}
	cut->nparts = HALVES + apart;
	if (apart) parts[HALVES].level = 0;
}

/* Replaces a function that belongs to another part by its declaration. */
static void only_declare(Emitter *e, LLVMValueRef f) {
	size_t n;
	char name[160];
	snprintf(name, sizeof name, "%s", LLVMGetValueName2(f, &n));
	LLVMValueRef declaration = LLVMAddFunction(e->module, "", LLVMGlobalGetValueType(f));
	LLVMSetFunctionCallConv(declaration, LLVMGetFunctionCallConv(f));
	target_set_attributes(e, declaration);
	LLVMReplaceAllUsesWith(f, declaration);
	LLVMDeleteFunction(f);
	LLVMSetValueName2(declaration, name, strlen(name));
	LLVMSetVisibility(declaration, LLVMHiddenVisibility);
}

static void keep_part(Emitter *e, const Cut *cut, uint32_t part) {
	uint32_t k = 0;
	LLVMValueRef last = LLVMGetLastFunction(e->module), next;
	for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = next) {
		next = f == last ? NULL : LLVMGetNextFunction(f);
		if (LLVMIsDeclaration(f)) continue;
		if (k == cut->nfunctions) emit_stop(e, "a part was emitted otherwise");
		if (cut->part_of[k++] != part) {
			only_declare(e, f);
		} else if (LLVMGetLinkage(f) == LLVMInternalLinkage) {
			LLVMSetLinkage(f, LLVMExternalLinkage);
			LLVMSetVisibility(f, LLVMHiddenVisibility);
		}
	}
}

static void start_helper(CompileJob *job);

/* One emission: emits the module, keeps what `choose` selects and finishes it.
 * On failure the message is in `out`. */
static void compile_emission(const KModule *m, const CodegenOptions *options, ObjectPart *out,
                             void (*choose)(Emitter *e, void *data), void *data) {
	Emitter *e = calloc(1, sizeof *e);
	if (!e) {
		snprintf(out->error, sizeof out->error, "out of memory");
		return;
	}
	*e = (Emitter){.m = m,
	               .options = options,
	               .level = out->level,
	               .error = out->error,
	               .error_size = sizeof out->error};
	Emitter *outer = current;
	current = e;
	if (!setjmp(e->stop)) {
		e->context = LLVMContextCreate();
		LLVMContextSetDiagnosticHandler(e->context, diagnose, e);
		e->module = LLVMModuleCreateWithNameInContext("atled", e->context);
		e->b = LLVMCreateBuilderInContext(e->context);
		target_open(e);
		emit_module(e);
		choose(e, data);
		finish(e, out);
	} else if (!*out->error) {
		snprintf(out->error, sizeof out->error, "the code generator stopped");
	}
	if (!setjmp(e->stop)) close_emit(e);
	current = outer;
	free(e);
}

typedef struct PartJob {
	CompileJob *job;
	uint32_t part;
} PartJob;

static void choose_part(Emitter *e, void *data) {
	PartJob *run = data;
	CompileJob *job = run->job;
	const bool first = run->part == UINT32_MAX;
	if (first) {
		cut_module(e, &job->cut, job->parts);
		job->nkernels = e->nkernels;
		memcpy(job->kernels, e->kernels, sizeof job->kernels);
	}
	if (job->cut.nparts > 1) keep_part(e, &job->cut, first ? 0 : run->part);
	if (first && job->cut.nparts > 1) start_helper(job);
}

/* Compiles part `part` of the job. The first run, with part UINT32_MAX, decides
 * the cut and compiles part 0 or the uncut module. */
static void compile_part(CompileJob *job, uint32_t part) {
	PartJob run = {job, part};
	compile_emission(job->m, job->options, &job->parts[part == UINT32_MAX ? 0 : part], choose_part,
	                 &run);
}

static void compile_parts_left(CompileJob *job) {
	for (uint32_t k; (k = atomic_fetch_add(&job->next, 1)) < job->cut.nparts;) compile_part(job, k);
}

static void *help(void *job) {
	compile_parts_left(job);
	return NULL;
}

/* Starts the second thread. With one processor, or without a thread, the caller
 * does all the work. Signals stay with the host's threads. */
static void start_helper(CompileJob *job) {
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_t attr;
	const bool sized =
		!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, (size_t)8 << 20);
	job->helped = !pthread_create(&job->helper, sized ? &attr : NULL, help, job);
	if (sized) pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Concatenates the parts: texts directly, objects in the form of
 * NativeParts. */
static bool join_parts(CompileJob *job, CodegenOutput *out) {
	const uint32_t made = job->cut.nparts, n = made + job->nkernels;
	const bool text = job->options->ir || job->options->assembly;
	NativeParts head = {.magic = NATIVE_PARTS_MAGIC, .n = n};
	const char *bytes[NATIVE_PARTS_MOST];
	size_t total = n > 1 && !text ? sizeof head : 0, at = total;
	for (uint32_t k = 0; k < n; k++) {
		if (k < made && !job->parts[k].bytes) {
			memcpy(out->error, job->parts[k].error, sizeof out->error);
			return false;
		}
		bytes[k] = k < made ? job->parts[k].bytes : (const char *)(job->kernels[k - made] + 1);
		head.bytes[k] = k < made ? job->parts[k].n : job->kernels[k - made]->bytes;
		total += head.bytes[k];
	}
	if (n == 1) {
		out->bytes = job->parts[0].bytes;
		job->parts[0].bytes = NULL;
	} else if ((out->bytes = malloc(total + 1))) {
		if (!text) memcpy(out->bytes, &head, sizeof head);
		for (uint32_t k = 0; k < n; at += head.bytes[k++])
			memcpy(out->bytes + at, bytes[k], head.bytes[k]);
		out->bytes[total] = 0;
	}
	if (!out->bytes) snprintf(out->error, sizeof out->error, "out of memory");
	out->n = total;
	return out->bytes;
}

/* ---- precompiled functions ----------------------------------------------- */

typedef struct Kernels {
	uint32_t wanted, n; /* index of the one to keep; UINT32_MAX: only count them */
	NativeKernel *head;
} Kernels;

static bool is_kernel(LLVMValueRef f) {
	return LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
	                                     EMIT_KERNEL, strlen(EMIT_KERNEL));
}

/* Keeps one kernel. Its linkage is weak, since several objects that are linked
 * together may define it; all definitions are equal. */
static void choose_kernel(Emitter *e, void *data) {
	Kernels *kernels = data;
	LLVMValueRef last = LLVMGetLastFunction(e->module), next;
	kernels->n = 0;
	for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = next) {
		next = f == last ? NULL : LLVMGetNextFunction(f);
		if (LLVMIsDeclaration(f)) continue;
		if (is_kernel(f) && kernels->n++ == kernels->wanted) {
			size_t n;
			snprintf(kernels->head->name, sizeof kernels->head->name, "%s",
			         LLVMGetValueName2(f, &n));
			LLVMSetLinkage(f, LLVMWeakAnyLinkage);
			LLVMSetVisibility(f, LLVMHiddenVisibility);
		} else {
			only_declare(e, f);
		}
	}
}

static bool compile_kernels(const KModule *m, const CodegenOptions *options, CodegenOutput *out) {
	NativeKernels head = {.target = m->target};
	Kernels kernels = {.wanted = UINT32_MAX};
	for (uint32_t k = UINT32_MAX; k == UINT32_MAX || k < kernels.n; k++) {
		static const char fill[8];
		ObjectPart part = {.level = options->level};
		NativeKernel kernel = {0};
		kernels.wanted = k;
		kernels.head = &kernel;
		compile_emission(m, options, &part, choose_kernel, &kernels);
		kernel.bytes = part.n;
		const bool counted = k == UINT32_MAX;
		const size_t rest = (8 - part.n % 8) % 8,
					 more = counted ? sizeof head : sizeof kernel + part.n + rest;
		char *bytes = part.bytes ? realloc(out->bytes, out->n + more) : NULL;
		if (bytes) {
			out->bytes = bytes;
			bytes += out->n;
			out->n += more;
		}
		if (bytes && counted) {
			head.n = kernels.n;
			memcpy(bytes, &head, sizeof head);
		} else if (bytes) {
			memcpy(bytes, &kernel, sizeof kernel);
			memcpy(bytes + sizeof kernel, part.bytes, part.n);
			memcpy(bytes + sizeof kernel + part.n, fill, rest);
		}
		free(part.bytes);
		if (bytes) continue;
		snprintf(out->error, sizeof out->error, "%s", *part.error ? part.error : "out of memory");
		free(out->bytes);
		out->bytes = NULL;
		return false;
	}
	return true;
}

__attribute__((visibility("default"))) int
atled_codegen(const KModule *m, const CodegenOptions *options, CodegenOutput *out) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, set_up);
	double begin = clock_seconds();
	memset(out, 0, sizeof *out);
	if (options->kernels) return compile_kernels(m, options, out) ? 0 : -1;
	CompileJob job = {.m = m, .options = options, .cut = {.nparts = 1}, .next = 1};
	for (uint32_t k = 0; k < NATIVE_PARTS_MOST; k++)
		job.parts[k].level = options->level < 0 ? 0 : options->level > 2 ? 2 : options->level;
	compile_part(&job, UINT32_MAX);
	if (job.cut.nparts > 1 && !*job.parts[0].error) compile_parts_left(&job);
	if (job.helped) pthread_join(job.helper, NULL);
	const bool good = join_parts(&job, out);
	for (uint32_t k = 0; k < NATIVE_PARTS_MOST; k++) free(job.parts[k].bytes);
	free(job.cut.part_of);
	out->seconds = clock_seconds() - begin;
	return good ? 0 : -1;
}
