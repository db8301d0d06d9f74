#!/usr/bin/env bash
# test_abi.sh - tests that scripts/check/abi.py finds changes of the binary
# interface.
#
# Use: ATLED=build/atled tests/tree/test_abi.sh
#
# Each case changes a copy of the header in one way. The last line is
# "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
library=$(realpath "$(dirname "${ATLED:-build/atled}")")/libatled.so
passed=0 failed=0
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/include" "$folder/api" "$folder/scripts/check"
cp api/abi.txt "$folder/api/"
cp scripts/check/abi.py "$folder/scripts/check/"

finds() { # WHAT TEXT SED-SCRIPT
	sed "$3" include/atled.h >"$folder/include/atled.h"
	local out
	out=$(cd "$folder" && scripts/check/abi.py "$library")
	if [[ $out == *"$2"* ]]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'failed: %s\n%s\n' "$1" "$out" | head -20
	fi
}

finds 'the header as it is' ' passed, 0 failed' ''
finds 'a field between two others' 'has `field atled_limit.seconds at 24, 8 bytes`' \
	's|^\tdouble seconds;|\tdouble patience;\n\tdouble seconds;|'
finds 'a wider field' 'has `field atled_limit.depth at 32, 4 bytes`' \
	's|^\tuint32_t depth;|\tuint64_t depth;|'
finds 'a field that is gone' "now it is \`gone\`" 's|^\tuint32_t depth;.*||'
finds 'a field at the end' 'new: `field atled_limit.width at 40, 8 bytes`' \
	's|^\(\tuint32_t depth;.*\)|\1\n\tuint64_t width;|'
finds 'another value of a constant' 'has `constant atled_status ATLED_EXIT = 9`' \
	's|ATLED_EXIT = 9|ATLED_EXIT = 10|'
finds 'another type of an argument' 'has `function atled_seed: ' \
	's|\(atled_seed(.*\)int64_t|\1int32_t|'
finds 'another name of an argument' ' passed, 0 failed' 's|\(atled_seed(.*int64_t \)seed|\1number|'
finds 'a function that the library lacks' 'does not show atled_more' \
	's|^ATLED_API int atled_version(void);|&\nATLED_API int atled_more(void);|'
finds 'a function that the header lacks' 'shows atled_version, too' \
	's|^ATLED_API int atled_version.*||'
finds 'another version, which is no part of it' ' passed, 0 failed' \
	's|define ATLED_VERSION_STRING .*|define ATLED_VERSION_STRING "9.9.9"|'
finds 'another type of a callback' 'has `callback atled_sink' \
	's|\(\*atled_sink)(void \*ud, const char \*text, \)size_t n|\1unsigned n|'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
