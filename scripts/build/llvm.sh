#!/usr/bin/env bash
# llvm.sh - the newest LLVM here that the code generator can be built with
#
# Use: scripts/build/llvm.sh [VERSION...], newest first; without any, those that the
# project takes, which scripts/build/llvm.sh --versions lists. Prints one line, "VERSION LLVM-CONFIG CLANG CLANG++
# LLD", each tool by its full path, or nothing where no version has all four.
set -uo pipefail
versions=(21 20 19)
if [ "${1:-}" = --versions ]; then
	echo "${versions[@]}"
	exit 0
fi
[ $# -gt 0 ] || set -- "${versions[@]}"

# A tool of one version: NAME-VERSION, or NAME in a folder of that version, or
# the plain NAME. Each is asked for its version.
tool() { # VERSION NAME
	local version=$1 name=$2 path
	for path in "$name-$version" "/usr/lib/llvm-$version/bin/$name" \
		"/usr/lib/llvm$version/bin/$name" "/usr/lib64/llvm$version/bin/$name" "$name"; do
		path=$(command -v "$path") || continue
		"$path" --version 2>/dev/null | grep -qE "(^|[^0-9.])$version\.[0-9]+\." || continue
		echo "$path"
		return
	done
	return 1
}

for version in "$@"; do
	config=$(tool "$version" llvm-config) && clang=$(tool "$version" clang) &&
		cxx=$(tool "$version" clang++) && lld=$(tool "$version" ld.lld) || continue
	echo "$version $config $clang $cxx $lld"
	exit 0
done
