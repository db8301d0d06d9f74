#!/usr/bin/env bash
# install_test.sh - test of the installed library with a C host.
#
# Use: tests/install_test.sh FOLDER     the folder of a release build
#
# Compiles examples/embed.c with the flags of pkg-config, against the shared and
# the static library. The last line is "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
build=${1:-build} cc=${CC:-cc} cxx=${CXX:-c++} passed=0 failed=0
stage=$(mktemp -d) || exit 2
trap 'rm -rf "$stage"' EXIT
prefix=$stage/atled

expect() { # WHAT COMMAND...
	local what=$1
	shift
	if "$@" >"$stage/output" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "install_test: failed: $what"
		sed 's/^/  /' "$stage/output"
	fi
}

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

build_host() { # OUTPUT [--static]
	local out=$1 flags
	shift
	read -ra flags <<<"$(pkg-config --cflags --libs "$@" atled)"
	if [ $# -gt 0 ]; then flags=("${flags[@]/#-latled/-l:libatled.a}"); fi
	# away from the repository, so that only what is installed is found
	(cd "$stage" && "$cc" -std=c11 -Wall -Wextra -Werror "$OLDPWD/examples/embed.c" \
		"${flags[@]}" -lm -o "$out")
}

runs() { # PROGRAM: the chain settles, and says so
	local out
	out=$("$1") || return 1
	echo "$out"
	grep -q '^gradient:  (f64\[n\], f64) -> (f64, f64\[n\])$' <<<"$out" &&
		grep -q '^energy 0\.' <<<"$out"
}

uses_cxx() { # the same header from C++
	cat >"$stage/host.cc" <<-'HOST'
		#include <atled.h>
		#include <cstdio>
		int main() {
			atled_context *ctx = atled_context_new(nullptr);
			atled_value *v = nullptr;
			double d = 0;
			bool good =
				atled_eval(ctx, "f(x) = x^3\nf'(2.0)", ATLED_ZERO, "t", &v) == ATLED_OK &&
				atled_value_f64(v, &d) && d == 12;
			atled_value_free(v);
			atled_context_free(ctx);
			return good ? 0 : 1;
		}
	HOST
	local flags
	read -ra flags <<<"$(pkg-config --cflags --libs atled)"
	"$cxx" -std=c++11 -Wall -Wextra -Werror "$stage/host.cc" "${flags[@]}" -o "$stage/host" &&
		"$stage/host"
}

program_runs() { [ "$("$prefix/bin/atled" -e '6 * 7')" = 42 ]; }

expect 'it installs' make --no-print-directory install PREFIX="$prefix" DESTDIR= BUILD="$build"
expect 'the installed program runs' program_runs
expect 'a host builds with the shared library' build_host "$stage/shared"
expect 'and runs' runs "$stage/shared"
expect 'a host builds with the static library' build_host "$stage/static" --static
expect 'and runs' runs "$stage/static"
expect 'a C++ host builds and runs' uses_cxx
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
