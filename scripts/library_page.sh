#!/usr/bin/env bash
# library_page.sh - writes docs/library.md from the help texts of the builtins (parser/builtins*.c, their examples in stdlib/builtins.dsl) and the
# comments of stdlib/*.dsl. Examples become blocks that `make check` runs, each in a session of its own, so that every one can be tried as it stands.
#
# Use: scripts/library_page.sh          writes the page
#      scripts/library_page.sh --check  fails when the page is not what it would write, or a public name has no text or no example
#
# A doc comment: the first line is "signature: sentence", several names separated by commas. Lines that are indented by 4 and more blanks are the
# example, the others details.
set -euo pipefail
export LC_ALL=C.UTF-8 # order of words and points of numbers are the same everywhere
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
	# an item of the page; `missing` gets the names of its signature without an example
	function item(s, example,    k) {
		k = colon(s)
		print "\n### `" (k ? substr(s, 1, k - 1) : s) "`\n"
		if (k) print substr(s, k + 2)
		if (example != "") print "\n```dsl new\n" example "```"
	}
	# whether a name stands in the signatures of an item
	function mentions(s, name,    k, n, i, words) {
		k = colon(s)
		n = split(k ? substr(s, 1, k - 1) : s, words, /[^A-Za-z0-9_\200-\377]+/)
		for (i = 1; i <= n; i++) if (words[i] == name) return 1
		return 0
	}
	# one more line of a comment, without its mark, for `text` or `code`
	function comment_line(line) {
		if (line ~ /^    /) { code = code substr(line, 5) "\n"; return }
		if (line == "" && code != "") { code = code "\n"; return }
		sub(/^ +/, "", line)
		text = text == "" ? line : text " " line
	}
	function complain(what) { print what | "cat >&2"; faults++ }
'

page() {
	cat <<'TEXT'
# The library

Made by `scripts/library_page.sh` from the texts that `atled doc NAME` shows; change those, not this page. Every name is there without `use`.
Arguments behind `;` must be named. Each example runs as it stands (`make check` runs them all); what stands behind `#>` is what is shown, behind `#~` what it is
near to.

<!-- As users run it only: tests/library has every function compiled. -->

# Builtins
TEXT
	# .name = "x", ..., .doc = "text" in one line; EW and EWW rows hold the text as their last argument
	cat stdlib/builtins.dsl parser/builtins*.c | headings=$headings awk "$tools"'
	function unescape(s) { gsub(/\\"/, "\"", s); gsub(/\\\\/, "\\", s); return s }
	BEGIN {
		n = split(ENVIRON["headings"], lines, "\n")
		for (i = 1; i <= n; i++) { k = index(lines[i], "|"); if (k) heading[substr(lines[i], 1, k - 1)] = substr(lines[i], k + 1) }
	}
	# the examples
	/^# [^ ]+$/ { about = substr($0, 3); next }
	/^#  / && about != "" { text = details[about]; code = examples[about]; comment_line(substr($0, 3)); details[about] = text; examples[about] = code; next }
	/^$/ { about = "" }
	# the rows
	/^\t(EW|EWW)\("/ { match($0, /"[^"]*"/); name = substr($0, RSTART + 1, RLENGTH - 2); rest = substr($0, RSTART + RLENGTH); match(rest, /".*"/); doc = substr(rest, RSTART + 1, RLENGTH - 2) }
	/^\t\{\.name = "/ {
		match($0, /"[^"]*"/); name = substr($0, RSTART + 1, RLENGTH - 2); doc = ""
		if ($0 ~ /,$/ && $0 !~ /\},$/) { getline more; $0 = $0 more } # a long text has a line of its own
		if (match($0, /\.doc = ".*"/)) doc = substr($0, RSTART + 8, RLENGTH - 9)
	}
	/^\t(EW|EWW)\("|^\t\{\.name = "/ {
		if (doc == "" || name ~ /^_/) next
		doc = unescape(doc)
		if (name in heading) print "\n## " heading[name]
		if (examples[name] == "") complain("the builtin " name " has no example in stdlib/builtins.dsl")
		item(doc (name in details && details[name] != "" ? ". " details[name] : ""), examples[name])
		known[name] = 1
	}
	END {
		for (name in examples) if (!(name in known)) complain("stdlib/builtins.dsl has an example of " name ", which is no builtin")
		exit faults > 0
	}' || echo 'incomplete' >>"$faults"
	local known=' prelude arrays text stats linalg roots quad ode pde pinn optim nn plot ' rest='' file name
	for file in stdlib/*.dsl; do
		name=$(basename "$file" .dsl)
		case "$known builtins calculus " in *" $name "*) ;; *) rest+=" $name" ;; esac
	done
	for name in $known $rest; do
		file=stdlib/$name.dsl
		[ -f "$file" ] || continue
		printf '\n# %s\n' "$(sed -n '1s/^# //p' "$file" | sed 's/^\([a-z_0-9]*\)\.dsl - /\1: /; s/\.$//')"
		path=$file awk "$tools"'
		function flush() { text = code = ""; lines = 0 }
		/^# ---- / { section = substr($0, 8); flush(); next }
		/^#/ { comment_line(substr($0, 3)); lines++; next }
		/^[^ \t})]/ {
			name = $0
			sub(/^problem /, "", name)
			if (name !~ /^[^ (=]+(\(| *=)/ || name ~ /^(derivative|_)/) { flush(); next }
			sub(/[( =].*/, "", name)
			if (lines) { of_text = of_code = "" }
			if (lines && colon(text) && mentions(text, name)) {
				of_text = text
				of_code = code
				if (section != "") { print "\n## " toupper(substr(section, 1, 1)) substr(section, 2); section = "" }
				item(text, code)
			}
			if (of_text == "" || !mentions(of_text, name)) complain(ENVIRON["path"] ": " name " has no doc comment")
			else if (of_code == "") complain(ENVIRON["path"] ": " name " has no example")
			flush()
			next
		}
		/^$/ { flush() }
		END { exit faults > 0 }
		' "$file" || echo 'incomplete' >>"$faults"
	done
}

faults=$(mktemp)
made=$(mktemp)
trap 'rm -f "$faults" "$made"' EXIT
page >"$made"
if [ "${1:-}" = --check ]; then
	passed=0 failed=0
	if [ -s "$faults" ]; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
	if cmp -s "$made" docs/library.md; then passed=$((passed + 1)); else echo 'docs/library.md is out of date: run scripts/library_page.sh'; failed=$((failed + 1)); fi
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
else
	cat "$made" >docs/library.md
fi
