/* target.c - targets of code generation and their function attributes.
 *
 * Contract:
 * - Needs emit.h and LLVM's back end.
 * - A processor name that is not in the table is an error; LLVM does not abort.
 * - Code depends on the KTarget alone, not on the machine that generates it.
 */
#include "backend/codegen/emit.h"
#include <pthread.h>
#include <string.h>

typedef struct TargetRow {
	const char *cpu, *triple, *processor, *features; /* processor: LLVM's name of it */
	/* prefer-vector-width and min-legal-vector-width; NULL: LLVM's default */
	const char *vector_width;
	bool rounds; /* has instructions that round to integers */
} TargetRow;

/* Targets of the architecture that this library is built for. `features` are
 * those beyond the processor's. */
static const TargetRow rows[] = {
#if defined(__aarch64__)
	{"aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon", NULL, true},
#else
	{"x86-64", "x86_64-unknown-linux-gnu", "x86-64", "", NULL, false},
	{"x86-64-v2", "x86_64-unknown-linux-gnu", "x86-64-v2", "", NULL, true},
	{"x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", "", NULL, true},
	{"x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4", "", "512", true},
#endif
};

static const TargetRow *target_row(Emitter *e) {
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strncmp(rows[i].cpu, e->m->target.cpu, sizeof e->m->target.cpu)) return &rows[i];
	emit_stop(e, "no code generator for processor %.31s", e->m->target.cpu);
}

bool target_rounds(Emitter *e) { return target_row(e)->rounds; }

static void start_back_end(void) {
#if defined(__aarch64__)
	LLVMInitializeAArch64TargetInfo();
	LLVMInitializeAArch64Target();
	LLVMInitializeAArch64TargetMC();
	LLVMInitializeAArch64AsmPrinter();
#else
	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86Target();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86AsmPrinter();
#endif
}

void target_open(Emitter *e) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, start_back_end);
	const TargetRow *row = target_row(e);
	LLVMTargetRef target;
	char *message = NULL;
	if (LLVMGetTargetFromTriple(row->triple, &target, &message)) {
		char text[200];
		strncpy(text, message ? message : "", sizeof text - 1);
		text[sizeof text - 1] = 0;
		LLVMDisposeMessage(message);
		emit_stop(e, "%s", text);
	}
	LLVMCodeGenOptLevel level = e->level >= 2   ? LLVMCodeGenLevelDefault
	                            : e->level == 1 ? LLVMCodeGenLevelLess
	                                            : LLVMCodeGenLevelNone;
	e->machine = LLVMCreateTargetMachine(target, row->triple, row->processor, row->features, level,
	                                     LLVMRelocPIC, LLVMCodeModelSmall);
	if (!e->machine) emit_stop(e, "LLVM has no machine for %s", row->processor);
	/* SelectionDAG for all targets and levels */
	LLVMSetTargetMachineGlobalISel(e->machine, 0);
	LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(e->machine);
	char *layout_text = LLVMCopyStringRepOfTargetData(layout);
	LLVMSetDataLayout(e->module, layout_text);
	LLVMSetTarget(e->module, row->triple);
	LLVMDisposeMessage(layout_text);
	LLVMDisposeTargetData(layout);
}

static void text_attribute(Emitter *e, LLVMValueRef function, const char *name, const char *value) {
	LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
	                        LLVMCreateStringAttribute(e->context, name, (unsigned)strlen(name),
	                                                  value, (unsigned)strlen(value)));
}

void target_set_attributes(Emitter *e, LLVMValueRef function) {
	const TargetRow *row = target_row(e);
	text_attribute(e, function, "target-cpu", row->processor);
	if (*row->features) text_attribute(e, function, "target-features", row->features);
	if (row->vector_width) {
		text_attribute(e, function, "prefer-vector-width", row->vector_width);
		text_attribute(e, function, "min-legal-vector-width", row->vector_width);
	}
	if (e->options->debug_lines) text_attribute(e, function, "frame-pointer", "all");
	unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
	LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
	                        LLVMCreateEnumAttribute(e->context, nounwind, 0));
}
