/* data_npy.c - fuzz target: any bytes as an npy file. */
#include "tests/fuzz/data_help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	return read_bytes("npy", data, size);
}
