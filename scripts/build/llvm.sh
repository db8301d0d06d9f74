#!/usr/bin/env bash
# llvm.sh - search for the newest LLVM that can build the code generator.
#
# Use: scripts/build/llvm.sh [VERSION...]   newest first
#      scripts/build/llvm.sh --versions     prints the accepted versions
#
# Without VERSION, searches for the accepted versions. Prints one line, "VERSION
# LLVM-CONFIG CLANG CLANG++ LLD", with the full path of each tool. Prints no
# line when no version has all four.
set -uo pipefail
versions=(21 20 19)
if [ "${1:-}" = --versions ]; then
	echo "${versions[@]}"
	exit 0
fi
[ $# -gt 0 ] || set -- "${versions[@]}"

# Prints the path of a tool of one version. Candidates are NAME-VERSION, NAME in
# a folder of that version, and NAME; each must report that version.
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
