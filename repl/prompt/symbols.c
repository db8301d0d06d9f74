/* symbols.c - characters by their TeX names, for \alpha and TAB.
 *
 * Needs: symbols.def, sorted by name.
 *
 * Guarantees: no two names are the same.
 */
#include "repl/prompt/repl.h"

#include <string.h>

typedef struct SymbolEntry {
	const char *name, *text;
} SymbolEntry;

static const SymbolEntry symbols[] = {
#define SYMBOL(name, text) {name, text},
#include "repl/prompt/symbols.def"
#undef SYMBOL
};
#define NSYMBOLS (sizeof symbols / sizeof *symbols)

const char *symbol_find(const char *name, size_t n) {
	for (size_t from = 0, to = NSYMBOLS; from < to;) {
		const size_t at = from + (to - from) / 2;
		const int order = strncmp(symbols[at].name, name, n);
		if (!order && !symbols[at].name[n]) return symbols[at].text;
		if (order < 0) from = at + 1;
		else to = at;
	}
	return NULL;
}

bool symbol_at(size_t i, const char **name, const char **text) {
	if (i >= NSYMBOLS) return false;
	*name = symbols[i].name;
	*text = symbols[i].text;
	return true;
}
