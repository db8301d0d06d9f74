/* greek.c - \alpha<TAB>: letters and signs by the names that TeX has for them.
 *
 * Needs: program.h. Guarantees: names are unique.
 */
#include "repl/program.h"

#include <string.h>

const Symbol symbols[] = {
	{"Chi", "Χ"}, {"Delta", "Δ"}, {"Gamma", "Γ"}, {"Lambda", "Λ"}, {"Omega", "Ω"}, {"Phi", "Φ"}, {"Pi", "Π"}, {"Psi", "Ψ"}, {"Sigma", "Σ"},
	{"Theta", "Θ"}, {"Upsilon", "Υ"}, {"Xi", "Ξ"}, {"alpha", "α"}, {"beta", "β"}, {"cdot", "·"}, {"chi", "χ"}, {"circ", "∘"}, {"cross", "×"},
	{"del", "∇"}, {"delta", "δ"}, {"dot", "·"}, {"ell", "ℓ"}, {"epsilon", "ε"}, {"eta", "η"}, {"gamma", "γ"}, {"ge", "≥"}, {"geq", "≥"},
	{"hbar", "ℏ"}, {"in", "∈"}, {"iota", "ι"}, {"kappa", "κ"}, {"lambda", "λ"}, {"le", "≤"}, {"leq", "≤"}, {"mu", "μ"}, {"nabla", "∇"}, {"ne", "≠"},
	{"neq", "≠"}, {"nu", "ν"}, {"omega", "ω"}, {"omicron", "ο"}, {"partial", "∂"}, {"phi", "φ"}, {"pi", "π"}, {"psi", "ψ"}, {"rho", "ρ"},
	{"sigma", "σ"}, {"sqrt", "√"}, {"tau", "τ"}, {"theta", "θ"}, {"times", "×"}, {"to", "→"}, {"upsilon", "υ"}, {"varepsilon", "ϵ"},
	{"varphi", "ϕ"}, {"varpi", "ϖ"}, {"varrho", "ϱ"}, {"varsigma", "ς"}, {"vartheta", "ϑ"}, {"xi", "ξ"}, {"zeta", "ζ"},
	/* exponents, read as in mathematics */
	{"^-", "⁻"}, {"^0", "⁰"}, {"^1", "¹"}, {"^2", "²"}, {"^3", "³"}, {"^4", "⁴"}, {"^5", "⁵"}, {"^6", "⁶"}, {"^7", "⁷"}, {"^8", "⁸"}, {"^9", "⁹"},
	{NULL, NULL},
};

const char *symbol_find(const char *name, size_t n) {
	for (const Symbol *s = symbols; s->name; s++)
		if (strlen(s->name) == n && !strncmp(s->name, name, n)) return s->text;
	return NULL;
}
