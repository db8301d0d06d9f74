#!/usr/bin/env bash
# install_test.sh - test of the installed library with a C host.
#
# Use: tests/install_test.sh FOLDER     the folder of a release build
#
# Compiles examples/embed.c with the flags of pkg-config and by CMake, against
# the shared and the static library. The last line is "N passed, N failed, N
# skipped".
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

uses_cmake() { # TARGET: a host that finds the package
	local target=$1
	mkdir -p "$stage/cmake" && rm -rf "$stage/cmake/build"
	cp examples/embed.c "$stage/cmake/"
	cat >"$stage/cmake/CMakeLists.txt" <<-PROJECT
		cmake_minimum_required(VERSION 3.16)
		project(host C)
		find_package(atled 0.1 CONFIG REQUIRED)
		add_executable(host embed.c)
		target_link_libraries(host PRIVATE atled::$target m)
	PROJECT
	cmake -S "$stage/cmake" -B "$stage/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" &&
		cmake --build "$stage/cmake/build" && runs "$stage/cmake/build/host"
}

refuses_newer() { # a version that does not exist yet
	sed -i 's/atled 0\.1/atled 99.0/' "$stage/cmake/CMakeLists.txt"
	! cmake -S "$stage/cmake" -B "$stage/cmake/newer" -DCMAKE_PREFIX_PATH="$prefix"
}

program_runs() { [ "$("$prefix/bin/atled" -e '6 * 7')" = 42 ]; }

expect 'it installs' make --no-print-directory install PREFIX="$prefix" DESTDIR= BUILD="$build"
expect 'the installed program runs' program_runs
expect 'a host builds with the shared library' build_host "$stage/shared"
expect 'and runs' runs "$stage/shared"
expect 'a host builds with the static library' build_host "$stage/static" --static
expect 'and runs' runs "$stage/static"
expect 'a C++ host builds and runs' uses_cxx
skipped=0
if command -v cmake >/dev/null; then
	expect 'CMake finds the static library' uses_cmake static
	expect 'CMake finds the shared library' uses_cmake atled
	expect 'CMake refuses a newer version' refuses_newer
else
	echo 'install_test: skipped: there is no cmake'
	skipped=1
fi
expect 'it uninstalls' make --no-print-directory uninstall PREFIX="$prefix" DESTDIR= BUILD="$build"
nothing_left() { [ -z "$(find "$prefix" -type f -o -type l)" ]; }
expect 'and leaves no file' nothing_left
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
