/* data_hdf5.c - fuzz target: any bytes as an hdf5 file. */
#include "tests/fuzz/data_help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	return read_bytes("hdf5", data, size);
}
