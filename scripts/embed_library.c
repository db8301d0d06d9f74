/* embed_library.c - the standard library's texts as a C table.
 *
 * Use: embed_library stdlib/a.dsl stdlib/b.dsl ... >library_texts.c
 * Guarantees: the table that parser/session.h declares, in the order of the arguments; a module's name is its file's without folder and
 * ending; the texts byte for byte, each followed by a 0 that its size does not count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDING ".dsl"

static void fail(const char *path, const char *what) {
	fprintf(stderr, "embed_library: %s: %s\n", path, what);
	exit(1);
}

/* Writes the bytes as string literals, one per line of the text, and returns how many bytes there were. */
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

static void write_entry(const char *path) {
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name), ending = strlen(ENDING);
	if (n <= ending || strcmp(name + n - ending, ENDING)) fail(path, "does not end in " ENDING);
	for (size_t i = 0; i < n - ending; i++)
		if (name[i] < ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\') fail(path, "is not the name of a module");
	FILE *in = fopen(path, "rb");
	if (!in) fail(path, "cannot be opened");
	printf("\t{\"%.*s\",\n", (int)(n - ending), name);
	size_t size = write_text(in);
	if (ferror(in)) fail(path, "cannot be read");
	fclose(in);
	printf("\t\t, %zu},\n", size);
}

int main(int argc, char **argv) {
	puts("/* Made by scripts/embed_library.c from stdlib/. */\n#include \"parser/session.h\"\n\nconst LibraryText library_texts[] = {");
	for (int i = 1; i < argc; i++) write_entry(argv[i]);
	puts("\t{NULL, NULL, 0},\n};");
	if (fflush(stdout) || ferror(stdout)) fail("standard output", "cannot be written");
	return 0;
}
