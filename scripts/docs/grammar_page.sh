#!/usr/bin/env bash
# grammar_page.sh - generator of docs/reference/grammar.md.
#
# Collects the productions in the comments above the parser's functions
# (parser/syntax/parse_*.c).
#
# Use: scripts/docs/grammar_page.sh           writes the page
#      scripts/docs/grammar_page.sh --check   fails when the page is out of date
set -euo pipefail
export LC_ALL=C.UTF-8 # sorting and number formats must not depend on the locale
cd "$(dirname "$0")/../.."

# Prints the comments of files that begin with `symbol = `: first the
# production, then remarks.
productions() { # FILE...
	awk '
		/^\/\* [a-z-]+ = / { inside = 1; line = $0; sub(/^\/\* /, "", line); text = line }
		inside && !/^\/\* / { line = $0; sub(/^ \* ?/, "", line); text = text "\n" line }
		inside && /\*\/[ \t]*$/ {
			sub(/[ \t]*\*\/[ \t]*$/, "", text)
			print text
			print ""
			inside = 0
		}
	' "$@"
}

section() { # TITLE FILE...
	# shellcheck disable=SC2016 # Markdown markup
	printf '\n## %s\n\n```text\n%s\n```\n' "$1" "$(productions "${@:2}")"
}

page() {
	cat <<'TEXT'
# The grammar

Made by `scripts/docs/grammar_page.sh` from the productions above the parser's
functions. What the constructs mean is in [language.md](language.md).

`"x"` is a token as written, `NAME`, `NUMBER` and `STRING` are tokens, `[ x ]`
is x or nothing, `{ x }` any number of x, `|` a choice. Remarks follow a
production.

- A line break ends a statement, except inside `(` and `[`, behind an operator,
  a comma, a colon, `=`, `:=` or `->`, and in front of what cannot start a
  statement: every binary operator but `+` and `-`, `.name`, `else` and `catch`
  (and `at` in a problem). `;` ends a statement, too, and hides its result.
- Keywords:
  `if else for while in break continue return try catch and or not true false none`.
  The words `use`, `problem`, `derivative`, and in a problem `domain`, `field`,
  `eigen`, `event`, `at`, `by` and `periodic` count as such only where nothing
  else can be meant.
- `#` begins a comment that ends with the line.
TEXT
	section 'Statements' parser/syntax/parse_stmt.c
	section 'Expressions, from the loosest operator to the tightest' \
		parser/syntax/parse_{expr,postfix,primary,literal}.c
	section 'Problems' parser/syntax/parse_problem.c
}

if [ "${1:-}" = --check ]; then
	if page | scripts/docs/wrap.py - | cmp -s - docs/reference/grammar.md; then
		echo '1 passed, 0 failed'
	else
		echo 'docs/reference/grammar.md is out of date: run scripts/docs/grammar_page.sh'
		echo '0 passed, 1 failed'
		exit 1
	fi
else
	page | scripts/docs/wrap.py - >docs/reference/grammar.md
fi
