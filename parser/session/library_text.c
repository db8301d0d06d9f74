/* library_text.c - the embedded texts of the standard library.
 *
 * Needs: parser/scope/module.h, zlib.
 *
 * Contract: a text is unpacked once in a process, whichever context needs it
 * first, and stays. It does not count as memory of a context.
 */
#include "parser/scope/module.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <zlib.h>

const char *library_text(LibraryText *t) {
	char *known = atomic_load_explicit(&t->text, memory_order_acquire);
	if (known) return known;
	char *text = malloc(t->size + 1);
	uLongf n = t->size;
	if (!text || uncompress((Bytef *)text, &n, t->packed, t->packed_size) != Z_OK) {
		free(text);
		return NULL;
	}
	text[n] = 0;
	if (atomic_compare_exchange_strong(&t->text, &known, text)) return text;
	free(text); /* another thread was faster */
	return known;
}
