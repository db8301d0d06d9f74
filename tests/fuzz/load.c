/* load.c - any bytes as an object of the cache: an error, or code that is
 * loaded and not called. */
#include "backend/native/jit/elf_loader.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	char error[120] = "";
	NativeObject *o = native_load(data, size, "entry", error, sizeof error);
	if (!o && !*error) abort(); /* a refusal says why */
	native_unload(o);
	return 0;
}
