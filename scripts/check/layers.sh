#!/usr/bin/env bash
# layers.sh - check of the layering: which module may include which.
#
# Use: scripts/check/layers.sh [FOLDER]      checks the tree, or another one
#      scripts/check/layers.sh --self-test   checks this script
#
# Reads the #includes of every .c and .h file. The last line is "N passed, N
# failed", one for each file.
set -uo pipefail

# A module, and the headers that its files may include: other modules, `atled.h`
# (the public header), single headers, and kinds of external headers. All
# modules may include headers that no line names (libc, POSIX).
modules='
lang      lang
data      lang data                                    zip hdf5 xml
parser    lang parser                                  zip
autodiff  lang autodiff
backend   lang backend                                blas fft
solvers   lang autodiff backend solvers               blas fft solver
api       lang data parser autodiff backend solvers api    atled.h
repl      repl atled.h lang/base/dynlib.h             terminal picture zip
include   -
examples  atled.h
'
# External headers by kind: prefixes of their names.
outside='
blas      cblas openblas lapacke
fft       fftw3
solver    sundials/ cvode/ cvodes/ ida/ idas/ kinsol/ arkode/ nvector/ sunmatrix/ sunlinsol/
solver    sunnonlinsol/ gsl/ suitesparse/ klu amd btf colamd cholmod umfpack libqhull_r/
terminal  readline/
picture   png.h cairo freetype/ gif_lib.h
zip       zlib.h
hdf5      hdf5.h
xml       expat.h
'
# Folders and headers from the lowest to the highest. A file includes nothing
# that stands after its own folder. The longest name that a path begins with
# counts; a header alone is an interface that its own module sees from below.
order='
lang/base lang/ir lang/builder lang/passes lang/text lang/binary
data
parser/syntax parser/scope parser/specialise parser/builtins parser/problem parser/session
autodiff/autodiff.h autodiff/core autodiff/taylor autodiff/forward autodiff/reverse
autodiff/batch autodiff/sparse autodiff/optimise autodiff
backend/vmath backend/kernels backend/numlib backend/native/kir
backend/eval/core backend/eval/ops backend/eval
backend/native/lower backend/native/loops backend/native/unit
backend/native/run backend/native/jit backend/native/explain backend/codegen backend
solvers/linear solvers/special solvers/fft solvers/geometry
solvers/sundials/modules solvers/sundials solvers
api
repl/base repl/plot repl/core repl/tools repl/prompt repl
include examples
'

check_tree() ( # FOLDER
	cd "$1" || exit 2
	files=()
	for module in lang data parser autodiff backend solvers api repl include examples; do
		[ -d "$module" ] && while IFS= read -r -d '' file; do files+=("$file"); done < <(
			find "$module" -name '*.[ch]' -print0 | sort -z
		)
	done
	if [ ${#files[@]} -eq 0 ]; then
		echo "layers: no .c or .h file in any module of $1"
		echo "0 passed, 1 failed"
		exit 1
	fi
	modules=$modules outside=$outside order=$order awk '
	function fault(what) {
		printf "%s:%d: %s\n", FILENAME, FNR, what
		bad[FILENAME] = 1
	}
	# Classifies a header: a module, atled.h, a kind of external header, or
	# "" for a system header.
	function kind_of(header,    part, i) {
		if (header == "atled.h" || header == "include/atled.h") return "atled.h"
		split(header, part, "/")
		if (part[1] in is_module) return part[1]
		for (i = 1; i <= nstarts; i++) if (index(header, start[i]) == 1) return start_kind[i]
		return ""
	}
	# The place of a path in the order; 0: it has none.
	function place_of(path) {
		while (!(path in place) && sub(/\/[^\/]*$/, "", path)) {}
		return path in place ? place[path] : 0
	}
	BEGIN {
		m = split(ENVIRON["order"], words, /[ \n]+/)
		for (i = 1; i <= m; i++) if (words[i] != "") place[words[i]] = i
		n = split(ENVIRON["modules"], lines, "\n")
		for (i = 1; i <= n; i++) {
			m = split(lines[i], words, " ")
			if (m) is_module[words[1]] = 1
			for (j = 2; j <= m; j++) may[words[1], words[j]] = 1
		}
		n = split(ENVIRON["outside"], lines, "\n")
		for (i = 1; i <= n; i++) {
			m = split(lines[i], words, " ")
			for (j = 2; j <= m; j++) { start[++nstarts] = words[j]; start_kind[nstarts] = words[1] }
		}
		for (i = 1; i < ARGC; i++) seen[ARGV[i]] = 1
	}
	{ sub(/\r$/, "") }
	FNR == 1 {
		split(FILENAME, part, "/")
		module = part[1]
		if (!(here = place_of(FILENAME))) fault("its folder is not in the order")
	}
	/^[ \t]*#[ \t]*include/ {
		line = $0
		sub(/^[ \t]*#[ \t]*include[ \t]*/, "", line)
		quoted = substr(line, 1, 1) == "\""
		if (!quoted && substr(line, 1, 1) != "<") {
			fault("an #include that names no file cannot be checked")
			next
		}
		header = substr(line, 2)
		sub(/[">].*/, "", header)
		if (header ~ /(^|\/)\.\.?(\/|$)/) {
			fault("write " header " as a path from the root")
			next
		}
		kind = kind_of(header)
		if (kind == "" && quoted) {
			fault(header " is in no module; a path starts at the root")
			next
		}
		if (kind != "" && !((module, kind) in may) && !((module, header) in may))
			fault(module "/ may not include " header)
		else if (kind == module && place_of(header) > here) fault(header " stands above this file")
	}
	END {
		for (file in seen) if (file in bad) failed++; else passed++
		printf "%d passed, %d failed\n", passed, failed
		exit failed > 0
	}' "${files[@]}"
)

# Each case is the expected verdict, a file, and a header that it includes. The
# tree of a case has one good file and the file of the case.
self_test() {
	local passed=0 failed=0 expect file header out want
	folder=$(mktemp -d) || exit 2
	trap 'rm -rf "$folder"' EXIT # a global name, since the trap runs when the script ends
	while read -r expect file header; do
		[ -n "$expect" ] || continue
		rm -rf "$folder/tree"
		mkdir -p "$folder/tree/lang/base" "$folder/tree/$(dirname "$file")"
		echo '#include <stdio.h>' >"$folder/tree/lang/base/good.c"
		printf '/* a file */\n#include %s\n' "$header" >"$folder/tree/$file"
		out=$(check_tree "$folder/tree")
		case $expect in good) want='2 passed, 0 failed' ;; *) want='1 passed, 1 failed' ;; esac
		if [ "$(tail -n 1 <<<"$out")" = "$want" ] &&
			{ [ "$expect" = good ] || grep -q "^$file:2: " <<<"$out"; }; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			printf 'layers: %s including %s should be %s, but:\n%s\n' \
				"$file" "$header" "$expect" "$out"
		fi
	done <<-'CASES'
		good lang/base/a.c "lang/base/b.h"
		good lang/base/a.h <math.h>
		bad lang/base/a.c "autodiff/jvp.h"
		bad lang/base/a.c <parser/syntax/ast.h>
		bad lang/base/a.c "atled.h"
		bad lang/base/a.c "b.h"
		bad lang/base/a.c "../lang/b.h"
		bad lang/base/a.c HEADER
		good parser/session/a.c "lang/base/b.h"
		bad parser/session/a.c "backend/eval/core/frame.h"
		bad autodiff/a.c "parser/syntax/ast.h"
		bad autodiff/a.c "backend/eval/core/frame.h"
		good backend/a.c <cblas.h>
		bad backend/a.c "autodiff/jvp.h"
		bad backend/a.c "parser/syntax/ast.h"
		bad backend/a.c <sundials/sundials_types.h>
		good solvers/a.c "autodiff/jvp.h"
		good solvers/a.c <cvodes/cvodes.h>
		bad solvers/a.c "parser/syntax/ast.h"
		bad solvers/a.c "repl/a.h"
		good api/a.c "parser/session/session.h"
		good api/a.c "atled.h"
		bad api/a.c "repl/a.h"
		good repl/plot/a.c <png.h>
		good repl/a.c <readline/readline.h>
		good repl/a.c "atled.h"
		bad repl/a.c "lang/ir/ir.h"
		good repl/a.c "lang/base/dynlib.h"
		bad repl/a.c "lang/base/arena.h"
		bad api/a.c <cairo.h>
		bad api/a.c <readline/readline.h>
		good include/atled.h <stddef.h>
		bad include/atled.h "lang/ir/ir.h"
		good examples/a.c "atled.h"
		bad examples/a.c "api/a.h"
		good lang/ir/a.c "lang/base/b.h"
		bad lang/base/a.c "lang/ir/b.h"
		bad lang/new/a.c "lang/base/b.h"
		bad lang/a.c "lang/base/b.h"
		good backend/a.c "backend/native/jit/b.h"
		bad backend/eval/a.c "backend/native/jit/b.h"
		bad backend/eval/core/a.h "backend/eval/b.h"
		good backend/eval/a.h "backend/eval/core/b.h"
		good autodiff/core/a.h "autodiff/autodiff.h"
		bad autodiff/core/a.h "autodiff/other.h"
		bad parser/specialise/a.c "parser/session/session.h"
		good backend/kernels/a.c "backend/vmath/vmath.h"
		bad backend/vmath/a.c "backend/kernels/b.h"
	CASES
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

case ${1:-} in
--self-test) self_test ;;
*) check_tree "${1:-$(dirname "$0")/../..}" ;;
esac
