#!/usr/bin/env bash
# library_page.sh - writes docs/library.md from the help texts of the builtins (parser/builtins*.c) and the comments of stdlib/*.dsl.
#
# Use: scripts/library_page.sh          writes the page
#      scripts/library_page.sh --check  fails when the page is not what it would write
set -euo pipefail
cd "$(dirname "$0")/.."

# Where a new heading begins: the first builtin under it.
headings='
abs|Element by element
where|Choosing
bool|Dtypes
zeros|Making arrays
len|Shapes
sum|Reductions
sort|Sorting and searching
cholesky|Linear algebra
fft|Fourier transforms
rand|Random numbers
jvp|Derivatives and batching
print|Text, structures, reflection
'

# awk functions for both halves of the page
# shellcheck disable=SC2016 # awk expands these
tools='
	# the place of the ": " behind the signatures: the first outside brackets and quotes
	function colon(s,    i, c, depth, quoted) {
		for (i = 1; i <= length(s); i++) {
			c = substr(s, i, 1)
			if (c == "\"") quoted = !quoted
			if (c == "(" || c == "[") depth++
			if (c == ")" || c == "]") depth--
			if (c == ":" && !depth && !quoted && substr(s, i + 1, 1) == " ") return i
		}
		return 0
	}
	function item(s,    k) {
		k = colon(s)
		if (k) print "- `" substr(s, 1, k - 1) "`: " substr(s, k + 2)
		else print "- `" s "`"
	}
'

page() {
	cat <<'TEXT'
# The library

Made by `scripts/library_page.sh` from the texts that `atled doc NAME` shows; change those, not this page. Every name is there without `use`.
Arguments behind `;` must be named.

# Builtins

TEXT
	# .name = "x", ..., .doc = "text" in one line; EW and EWW rows hold the text as their last argument
	cat parser/builtins.c parser/builtins_deriv.c parser/builtins_flow.c parser/builtins_ir.c | headings=$headings awk "$tools"'
	function unescape(s) { gsub(/\\"/, "\"", s); gsub(/\\\\/, "\\", s); return s }
	BEGIN {
		n = split(ENVIRON["headings"], lines, "\n")
		for (i = 1; i <= n; i++) { k = index(lines[i], "|"); if (k) heading[substr(lines[i], 1, k - 1)] = substr(lines[i], k + 1) }
	}
	/^\t(EW|EWW)\("/ { match($0, /"[^"]*"/); name = substr($0, RSTART + 1, RLENGTH - 2); rest = substr($0, RSTART + RLENGTH); match(rest, /".*"/); doc = substr(rest, RSTART + 1, RLENGTH - 2) }
	/^\t\{\.name = "/ {
		match($0, /"[^"]*"/); name = substr($0, RSTART + 1, RLENGTH - 2); doc = ""
		if (match($0, /\.doc = ".*"/)) doc = substr($0, RSTART + 8, RLENGTH - 9)
	}
	/^\t(EW|EWW)\("|^\t\{\.name = "/ {
		if (doc == "" || name ~ /^_/) next
		doc = unescape(doc)
		if (name in heading) print (seen++ ? "\n" : "") "## " heading[name] "\n"
		item(doc)
	}'
	local known=' prelude roots quad ode pde pinn optim nn plot ' rest='' file name
	for file in stdlib/*.dsl; do
		name=$(basename "$file" .dsl)
		case "$known calculus " in *" $name "*) ;; *) rest+=" $name" ;; esac
	done
	for name in $known $rest; do
		file=stdlib/$name.dsl
		[ -f "$file" ] || continue
		printf '\n# %s\n' "$(sed -n '1s/^# //p' "$file" | sed 's/^\([a-z_0-9]*\)\.dsl - /\1: /; s/\.$//')"
		awk "$tools"'
		function flush() { block = ""; first = "" }
		/^# ---- / { section = substr($0, 8); flush(); next }
		/^#/ { line = $0; sub(/^# ?/, "", line); if (first == "") { first = line; block = line } else { sub(/^ +/, "", line); block = block (block ~ /[.,;:]$/ || last > 90 ? " " : "; ") line }; last = length($0); next }
		/^[^ \t]/ {
			name = $0; sub(/[( =].*/, "", name)
			if (first != "" && name !~ /^_/ && index(first, name "(") == 1) {
				if (section != "") { print "\n## " toupper(substr(section, 1, 1)) substr(section, 2) "\n"; section = ""; any = 1 }
				else if (!any++) print ""
				item(block)
			} else if (first != "" && name !~ /^_/ && match(first, /^[^ ]+\(/)) {
				if (section != "") { print "\n## " toupper(substr(section, 1, 1)) substr(section, 2) "\n"; section = ""; any = 1 }
				else if (!any++) print ""
				if (colon(block)) item(block)
			}
			flush(); next
		}
		/^$/ { flush() }
		' "$file"
	done
}

if [ "${1:-}" = --check ]; then
	if page | cmp -s - docs/library.md; then echo '1 passed, 0 failed'; else echo 'docs/library.md is out of date: run scripts/library_page.sh'; echo '0 passed, 1 failed'; exit 1; fi
else
	page >docs/library.md
fi
