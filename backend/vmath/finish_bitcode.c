/* finish_bitcode.c - build tool: prepares clang's bitcode of vmath for linking.
 *
 * Use: finish_bitcode IN.bc OUT.bc
 *
 * Contract:
 * - Needs LLVM-C of LLVM 19 to 21.
 * - In OUT.bc each function atled_* is linkonce_odr and alwaysinline; functions
 *   marked noinline stay so.
 * - Each function that is only declared (the program's own) is marked as
 *   accessing memory through its arguments alone.
 * - OUT.bc names no processor, system or compilation: no target attributes,
 *   triple, data layout, module flags or file names.
 * - The same input gives the same bytes.
 * - Exit status 1 with a message on failure.
 */
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const char *why) {
	fprintf(stderr, "finish_bitcode: %s: %s\n", what, why);
	exit(1);
}

static unsigned attribute_kind(const char *name) {
	return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

/* Attributes of the processor that clang compiled for, and options that the
 * final caller chooses. */
static const char *const target_attributes[] = {
	"target-cpu",
	"target-features",
	"tune-cpu",
	"min-legal-vector-width",
	"prefer-vector-width",
	"frame-pointer",
	"stack-protector-buffer-size",
	"no-trapping-math",
	"no-builtins",
};

/* Marks a function of the program as accessing memory through its arguments
 * only, which clang cannot know. Otherwise every loop that may call it would
 * reload its invariants. */
static void finish_rare(LLVMContextRef context, LLVMValueRef f) {
	static const char *const plain[] = {"nounwind", "willreturn", "nofree",
	                                    "nosync",   "nocallback", "cold"};
	/* of llvm::MemoryEffects: reads and writes, through arguments */
	const unsigned arguments_only = 3;
	/* LLVM 21 has captures(none), whose value is 0, for nocapture. */
	const unsigned nocapture = attribute_kind("nocapture"),
				   no_capture = nocapture ? nocapture : attribute_kind("captures");
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
		                        LLVMCreateEnumAttribute(context, attribute_kind(plain[i]), 0));
	LLVMAddAttributeAtIndex(
		f, LLVMAttributeFunctionIndex,
		LLVMCreateEnumAttribute(context, attribute_kind("memory"), arguments_only));
	for (unsigned i = 0; i < LLVMCountParams(f); i++)
		if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(f, i))) == LLVMPointerTypeKind)
			LLVMAddAttributeAtIndex(f, i + 1, LLVMCreateEnumAttribute(context, no_capture, 0));
}

static void finish_function(LLVMContextRef context, LLVMValueRef f) {
	for (size_t i = 0; i < sizeof target_attributes / sizeof *target_attributes; i++)
		LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, target_attributes[i],
		                                 (unsigned)strlen(target_attributes[i]));
	LLVMRemoveEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute_kind("uwtable"));
	size_t n;
	if (strncmp(LLVMGetValueName2(f, &n), "atled_", 6)) return;
	if (LLVMIsDeclaration(f)) {
		finish_rare(context, f);
		return;
	}
	LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
	if (!LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute_kind("noinline")))
		LLVMAddAttributeAtIndex(
			f, LLVMAttributeFunctionIndex,
			LLVMCreateEnumAttribute(context, attribute_kind("alwaysinline"), 0));
}

/* Removes lines of the textual IR. The C interface cannot remove module flags
 * or a triple, but the text without their lines can be parsed again. */
static void drop_lines(char *text) {
	static const char *const starts[] = {"; ModuleID", "source_filename", "target ", "!llvm."};
	char *to = text;
	for (char *line = text; *line;) {
		char *end = strchr(line, '\n');
		size_t length = end ? (size_t)(end - line) + 1 : strlen(line);
		int drop = 0;
		for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
			drop |= !strncmp(line, starts[i], strlen(starts[i]));
		if (!drop) {
			memmove(to, line, length);
			to += length;
		}
		line += length;
	}
	*to = 0;
}

static void finish(const char *in, const char *out) {
	LLVMContextRef context = LLVMContextCreate();
	LLVMMemoryBufferRef buffer;
	LLVMModuleRef m;
	char *why = NULL;
	if (LLVMCreateMemoryBufferWithContentsOfFile(in, &buffer, &why)) fail(in, why);
	if (LLVMParseBitcodeInContext2(context, buffer, &m)) fail(in, "is not bitcode");
	LLVMDisposeMemoryBuffer(buffer);
	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
		finish_function(context, f);
	char *text = LLVMPrintModuleToString(m);
	LLVMDisposeModule(m);
	drop_lines(text);
	buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "vmath");
	LLVMDisposeMessage(text);
	/* takes ownership of the buffer */
	if (LLVMParseIRInContext(context, buffer, &m, &why)) fail(in, why);
	LLVMSetModuleIdentifier(m, "vmath", 5);
	LLVMSetSourceFileName(m, "vmath", 5);
	if (LLVMWriteBitcodeToFile(m, out)) fail(out, "cannot be written");
	LLVMDisposeModule(m);
	LLVMContextDispose(context);
}

int main(int n, char **words) {
	if (n != 3) fail("use", "finish_bitcode IN.bc OUT.bc");
	finish(words[1], words[2]);
	return 0;
}
