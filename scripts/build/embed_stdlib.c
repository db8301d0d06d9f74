/* embed_stdlib.c - generator of a C table with the files of the standard
 * library.
 *
 * Use: embed_library stdlib/core/a.dsl stdlib/pde/b.dsl ... >library_texts.c
 *
 * Contract:
 * - The table is the one that parser/session/session.h declares, sorted by
 *   name. The name of a module is its file name without folders and ending.
 * - The contents are stored byte for byte, each followed by a 0 that its size
 *   does not count.
 * - Two definitions of one name are an error. The modules share a namespace,
 *   where the later definition would silently replace the earlier one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Records the name that a line defines at the left margin: `name(...` or `name
 * = ...`. */
static void take_name(const char *path, const char *line) {
	size_t n = 0;
	while (in_name((unsigned char)line[n])) n++;
	if (!n || n >= NAME_BYTES || !(line[n] == '(' || (!strncmp(line + n, " = ", 3)))) return;
	for (size_t i = 0; i < ndefined; i++)
		if (!strncmp(defined[i].name, line, n) && !defined[i].name[n]) {
			fprintf(stderr, "embed_library: %s: %s is defined in %s, too\n", path, defined[i].name,
			        defined[i].path);
			exit(1);
		}
	if (ndefined == MOST_NAMES) fail(path, "too many names: raise MOST_NAMES");
	memcpy(defined[ndefined].name, line, n);
	defined[ndefined++].path = path;
}

static void take_names(const char *path, FILE *in) {
	char line[4096];
	int whole = 1; /* the previous chunk ended its line */
	while (fgets(line, sizeof line, in)) {
		if (whole) take_name(path, line);
		whole = strchr(line, '\n') != NULL;
	}
	rewind(in);
}

/* ---- contents ------------------------------------------------------------ */

/* Writes the bytes as string literals, one for each line of the file. Returns
 * the number of bytes. */
static size_t write_text(FILE *in) {
	size_t size = 0;
	int last = '\n';
	for (int c; (c = getc(in)) != EOF; last = c, size++) {
		if (last == '\n') fputs("\t\t\"", stdout);
		if (c == '\n') fputs("\\n\"\n", stdout);
		else if (c == '"' || c == '\\' || c == '?') printf("\\%c", c);
		else if (c >= ' ' && c <= '~') putchar(c);
		else printf("\\%03o", c); /* always three digits, so that a digit may follow */
	}
	if (!size) fputs("\t\t\"\"\n", stdout);
	else if (last != '\n') fputs("\"\n", stdout);
	return size;
}

static const char *name_in(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static int by_name(const void *a, const void *b) {
	return strcmp(name_in(*(char *const *)a), name_in(*(char *const *)b));
}

static void write_entry(const char *path) {
	const char *name = name_in(path);
	size_t n = strlen(name), ending = strlen(ENDING);
	if (n <= ending || strcmp(name + n - ending, ENDING)) fail(path, "does not end in " ENDING);
	for (size_t i = 0; i < n - ending; i++)
		if (name[i] < ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\')
			fail(path, "is not the name of a module");
	FILE *in = fopen(path, "rb");
	if (!in) fail(path, "cannot be opened");
	take_names(path, in);
	printf("\t{\"%.*s\",\n", (int)(n - ending), name);
	size_t size = write_text(in);
	if (ferror(in)) fail(path, "cannot be read");
	fclose(in);
	printf("\t\t, %zu},\n", size);
}

int main(int argc, char **argv) {
	puts("/* Made by scripts/build/embed_stdlib.c from stdlib/. */\n#include "
	     "\"parser/session/session.h\"\n\nconst LibraryText library_texts[] = {");
	qsort(argv + 1, (size_t)argc - 1, sizeof *argv, by_name);
	for (int i = 1; i < argc; i++) {
		if (i > 1 && !by_name(argv + i - 1, argv + i))
			fail(argv[i], "another module has this name");
		write_entry(argv[i]);
	}
	puts("\t{NULL, NULL, 0},\n};");
	if (fflush(stdout) || ferror(stdout)) fail("standard output", "cannot be written");
	return 0;
}
