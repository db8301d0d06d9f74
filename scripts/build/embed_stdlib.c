/* embed_stdlib.c - generator of a C table with the files of the standard
 * library.
 *
 * Use: embed_library stdlib/core/a.dsl stdlib/pde/b.dsl ... >library_texts.c
 *
 * Contract:
 * - The table is the one that parser/scope/module.h declares, sorted by name.
 *   The name of a module is its file name without folders and ending.
 * - Each text is stored byte for byte, compressed by zlib, beside the names
 *   that it defines at the left margin, one a line, in their order.
 * - Two definitions of one name are an error. The modules share a namespace,
 *   where the later definition would silently replace the earlier one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define ENDING ".dsl"

static void fail(const char *path, const char *what) {
	fprintf(stderr, "embed_library: %s: %s\n", path, what);
	exit(1);
}

/* ---- names --------------------------------------------------------------- */

enum { NAME_BYTES = 64, MOST_NAMES = 8192 };
static struct {
	char name[NAME_BYTES];
	const char *path;
} defined[MOST_NAMES];
static size_t ndefined;

static int in_name(int c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       (c & 0x80);
}

/* Returns the name that a line defines at the left margin, or NULL: `name(`,
 * `name =`, `problem name(` or `problem name {`. */
static const char *name_of_line(const char *line, const char *end, size_t *length) {
	static const char head[] = "problem ";
	const size_t before = sizeof head - 1;
	const int problem = (size_t)(end - line) > before && !strncmp(line, head, before);
	const char *name = problem ? line + before : line, *p = name;
	while (p < end && in_name((unsigned char)*p)) p++;
	*length = (size_t)(p - name);
	if (p + 1 < end && *p == ' ') p++;
	if (!*length || p == end || (*name >= '0' && *name <= '9')) return NULL;
	return *p == '(' || *p == '=' || (problem && *p == '{') ? name : NULL;
}

static void take_name(const char *path, const char *name, size_t n) {
	if (n >= NAME_BYTES) fail(path, "a name is too long: raise NAME_BYTES");
	for (size_t i = 0; i < ndefined; i++)
		if (!strncmp(defined[i].name, name, n) && !defined[i].name[n]) {
			fprintf(stderr, "embed_library: %s: %s is defined in %s, too\n", path, defined[i].name,
			        defined[i].path);
			exit(1);
		}
	if (ndefined == MOST_NAMES) fail(path, "too many names: raise MOST_NAMES");
	memcpy(defined[ndefined].name, name, n);
	defined[ndefined++].path = path;
}

/* Writes the names as string literals. */
static void write_names(const char *path, const char *text, size_t size) {
	size_t n;
	for (const char *line = text, *end; line < text + size; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + size - line));
		if (!end) end = text + size;
		const char *name = name_of_line(line, end, &n);
		if (!name) continue;
		take_name(path, name, n);
		fputs("\t\t\"", stdout);
		for (size_t i = 0; i < n; i++) {
			const unsigned char c = (unsigned char)name[i];
			/* always three digits, so that a digit may follow */
			printf(c < 0x80 ? "%c" : "\\%03o", c);
		}
		fputs("\\n\"\n", stdout);
	}
}

/* ---- contents ------------------------------------------------------------ */

static char *read_file(const char *path, size_t *size) {
	FILE *in = fopen(path, "rb");
	if (!in || fseek(in, 0, SEEK_END)) fail(path, "cannot be opened");
	const long n = ftell(in);
	char *text = n < 0 ? NULL : malloc((size_t)n + 1);
	rewind(in);
	if (!text || fread(text, 1, (size_t)n, in) != (size_t)n) fail(path, "cannot be read");
	fclose(in);
	*size = (size_t)n;
	return text;
}

/* Writes the compressed text as an array. Returns its length. */
static size_t write_packed(const char *path, int number, const char *text, size_t size) {
	uLongf n = compressBound(size);
	Bytef *packed = malloc(n);
	if (!packed || compress2(packed, &n, (const Bytef *)text, size, Z_BEST_COMPRESSION) != Z_OK)
		fail(path, "cannot be compressed");
	printf("static const unsigned char text_%d[] = {", number);
	for (uLongf i = 0; i < n; i++) printf("%s%u,", i % 24 ? "" : "\n", packed[i]);
	puts("\n};");
	free(packed);
	return n;
}

static const char *name_in(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static int by_name(const void *a, const void *b) {
	return strcmp(name_in(*(char *const *)a), name_in(*(char *const *)b));
}

typedef struct Entry {
	const char *path;
	char *text;
	size_t size, packed;
} Entry;

static void write_entry(const Entry *e, int number) {
	const char *name = name_in(e->path);
	const size_t n = strlen(name), ending = strlen(ENDING);
	if (n <= ending || strcmp(name + n - ending, ENDING)) fail(e->path, "does not end in " ENDING);
	for (size_t i = 0; i < n - ending; i++)
		if (name[i] < ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\')
			fail(e->path, "is not the name of a module");
	printf("\t{\"%.*s\",\n\t\t\"\"\n", (int)(n - ending), name);
	write_names(e->path, e->text, e->size);
	printf("\t\t, text_%d, %zu, %zu, NULL},\n", number, e->packed, e->size);
}

int main(int argc, char **argv) {
	puts("/* Made by scripts/build/embed_stdlib.c from stdlib/. */\n#include "
	     "\"parser/scope/module.h\"\n");
	qsort(argv + 1, (size_t)argc - 1, sizeof *argv, by_name);
	Entry *entries = calloc((size_t)argc, sizeof *entries);
	if (!entries) fail("the table", "does not fit into memory");
	for (int i = 1; i < argc; i++) {
		Entry *e = &entries[i];
		if (i > 1 && !by_name(argv + i - 1, argv + i))
			fail(argv[i], "another module has this name");
		e->path = argv[i];
		e->text = read_file(e->path, &e->size);
		e->packed = write_packed(e->path, i, e->text, e->size);
	}
	puts("\nLibraryText library_texts[] = {");
	for (int i = 1; i < argc; i++) {
		write_entry(&entries[i], i);
		free(entries[i].text);
	}
	free(entries);
	puts("\t{NULL, NULL, NULL, 0, 0, NULL},\n};");
	if (fflush(stdout) || ferror(stdout)) fail("standard output", "cannot be written");
	return 0;
}
