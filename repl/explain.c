/* explain.c - `atled explain CODE`: the page of docs/errors.md about an error, which the program carries with it.
 *
 * Needs: program.h; at compile time docs/errors.md, if there is one, found from the current folder.
 * Guarantees: a code without a page is explained by its title.
 */
#define _GNU_SOURCE /* memmem, strchrnul */
#include "repl/program.h"

#include <string.h>
#include <strings.h>

#if __has_include("docs/errors.md")
__asm__(".section .rodata\n"
        "atled_error_pages:\n"
        ".incbin \"docs/errors.md\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char pages[] __asm__("atled_error_pages");
#else
static const char pages[] = "";
#endif

/* The page of a code: from its heading to the next one of the same or a higher level. */
static const char *find_page(const char *code, size_t *n) {
	for (const char *line = pages; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *end = strchrnul(line, '\n'), *at;
		size_t level = strspn(line, "#");
		if (!level || !(at = memmem(line, (size_t)(end - line), code, strlen(code)))) continue;
		const char *next = end;
		while (*next) {
			const char *start = next + 1;
			size_t other = strspn(start, "#");
			if (!*start || (other && other <= level)) break;
			next = strchrnul(start, '\n');
		}
		*n = (size_t)(next - line);
		return line;
	}
	return NULL;
}

int command_explain(const Options *o) {
	const char *code, *title;
	for (size_t i = 0; atled_error_kind(i, &code, &title); i++) {
		if (!o->nargs) printf("%s  %s\n", code, title);
		else if (!strcasecmp(o->args[0], code)) {
			size_t n;
			const char *page = find_page(code, &n);
			if (page) printf("%.*s\n", (int)n, page);
			else printf("%s: %s\n", code, title);
			return EXIT_OK;
		}
	}
	if (!o->nargs) return EXIT_OK;
	fprintf(stderr, "atled: there is no error code `%s`; `atled explain` lists them\n", o->args[0]);
	return EXIT_USAGE;
}
