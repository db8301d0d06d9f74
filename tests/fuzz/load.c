/* load.c - fuzz target: any bytes as an object file of the code cache.
 *
 * Contract: the result is an error, or code that is loaded and not called.
 */
#include "backend/native/jit/elf_loader.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	char error[120] = "";
	NativeObject *o = native_load(data, size, "entry", error, sizeof error);
	if (!o && !*error) abort(); /* an error must have a message */
	native_unload(o);
	return 0;
}
