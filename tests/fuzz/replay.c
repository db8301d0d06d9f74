/* replay.c - replay of stored inputs through a fuzz target, without the fuzzer.
 *
 * Use: replay FOLDER. Linked with a target instead of libFuzzer's main.
 *
 * Guarantees:
 * - The empty input and every file of the folder are run, in the order of their
 *   names.
 * - An input that fails ends the program; its name is the last output.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* Returns the bytes of a file in memory of exactly that size, so that a read
 * past its end is detected. NULL when it cannot be read. */
static uint8_t *read_file(const char *path, size_t *size) {
	FILE *in = fopen(path, "rb");
	if (!in) return NULL;
	uint8_t *bytes = NULL;
	long n = fseek(in, 0, SEEK_END) ? -1 : ftell(in);
	if (n >= 0 && !fseek(in, 0, SEEK_SET) && (bytes = malloc((size_t)n + !n)) &&
	    fread(bytes, 1, (size_t)n, in) != (size_t)n) {
		free(bytes);
		bytes = NULL;
	}
	fclose(in);
	*size = (size_t)n;
	return bytes;
}

int main(int argc, char **argv) {
	if (argc != 2) {
		fprintf(stderr, "use: replay FOLDER\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	int passed = 0, failed = 0;
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	passed++;
	struct dirent **entries = NULL;
	int n = scandir(argv[1], &entries, is_visible, alphasort);
	for (int i = 0; i < n; i++) {
		char path[4096];
		snprintf(path, sizeof path, "%s/%s", argv[1], entries[i]->d_name);
		printf("%s\n", path);
		size_t size;
		uint8_t *bytes = read_file(path, &size);
		if (bytes) {
			LLVMFuzzerTestOneInput(bytes, size);
			passed++;
		} else {
			printf("%s: cannot be read\n", path);
			failed++;
		}
		free(bytes);
		free(entries[i]);
	}
	free(entries);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
