/* data_vti.c - fuzz target: any bytes as a vti file. */
#include "tests/fuzz/data_help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	return read_bytes("vti", data, size);
}
