/* data_json.c - fuzz target: any bytes as a json file. */
#include "tests/fuzz/data_help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	return read_bytes("json", data, size);
}
