/* data_npz.c - fuzz target: any bytes as an npz file. */
#include "tests/fuzz/data_help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	return read_bytes("npz", data, size);
}
