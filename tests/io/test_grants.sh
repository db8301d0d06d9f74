#!/usr/bin/env bash
# test_grants.sh - tests of file access and of the grants of a program.
#
# Use: ATLED=build/atled tests/io/test_grants.sh
#
# Covers --safe, the memory limit, `atled check`, interrupts, pipes and full
# devices. The last line is "N passed, N failed".
set -uo pipefail
atled=$(realpath "${ATLED:-build/atled}") passed=0 failed=0
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT

holds() { # WHAT CONDITION...
	local what=$1
	shift
	if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "failed: $what"; fi
}
ends() { # STATUS TEXT COMMAND...: a command ends with this status, and says this
	local want=$1 text=$2 out status
	shift 2
	out=$("$@" 2>&1)
	status=$?
	[ "$status" -eq "$want" ] && [[ $out == *"$text"* ]] && return
	echo "status $status, wanted $want: $out"
	return 1
}

"$atled" -e "save(\"$folder/x.npy\", ones(1000000))" || exit 2
holds 'loading needs a grant' ends 6 'is not granted here [E0802]' \
	"$atled" --safe -e "load(\"$folder/x.npy\")"
holds 'saving needs a grant' ends 6 'is not granted here [E0802]' \
	"$atled" --safe -e "save(\"$folder/y.npy\", 1)"
holds 'nothing was written' test ! -e "$folder/y.npy"
for call in 'read_text("x")' 'read_lines("x")' 'write_text("x", "y")' 'exists("x")' \
	'list_files()'; do
	holds "$call needs a grant" ends 6 'E0802' "$atled" --safe -e "$call"
done
holds 'try does not get around it' ends 6 'E0802' \
	"$atled" --safe -e 'try { load("x.npy") } catch m { 1 }'
holds 'the limit on memory' ends 5 'E0901' \
	"$atled" --mem-limit=4M -e "x = load(\"$folder/x.npy\"); sum(x)"
holds 'within the limit' ends 0 '1000000.0' \
	"$atled" --mem-limit=40M -e "x = load(\"$folder/x.npy\"); sum(x)"
cat >"$folder/program.dsl" <<DSL
x = load("$folder/none.csv")
y = reshape(x.a, 2, 2) @ x.b
f(k) = k * y
grad(k -> sum(f(k)))(1.0)
DSL
holds 'checking reads nothing' ends 0 '' "$atled" check "$folder/program.dsl"
printf 'x = load("none.csv")\ny = x.a + nosuchname\n' >"$folder/wrong.dsl"
holds 'names are checked all the same' ends 3 'no `nosuchname` [E0201]' \
	"$atled" check "$folder/wrong.dsl"
printf 'a,b\n1,2\n3,4\n' >"$folder/piped.csv"
holds 'a pipe' ends 0 '[4, 6]' bash -c "sleep 0.2 | cat '$folder/piped.csv' - |
	'$atled' -e 'x = load(\"/dev/stdin\", format = \"csv\"); [sum(x.a), sum(x.b)]'"
holds 'a file of the kernel, of size 0' ends 0 'true' \
	"$atled" -e 'contains(read_text("/proc/self/status"), "VmRSS")'
holds 'its lines' ends 0 'true' "$atled" -e 'len(read_lines("/proc/meminfo")) > 10'
holds 'a file that cannot be read' ends 1 'Input/output error' \
	"$atled" -e 'read_text("/proc/self/mem")'
printf 'two = 2\n' >"$folder/two.dsl"
holds 'a module in a pipe' ends 0 '4' bash -c "sleep 0.2 | cat '$folder/two.dsl' - |
	'$atled' -e 'use \"/dev/stdin\" as m' -e 'm.two + 2'"
holds 'a module that is a folder' ends 3 ': Is a directory [E0207]' "$atled" -e 'use "/tmp"'
mkfifo "$folder/module"
holds 'a module without a writer' ends 5 'E0903' \
	"$atled" --time-limit=0.3 -e "use \"$folder/module\""
holds 'a file without a writer' ends 5 'E0903' \
	"$atled" --time-limit=0.3 -e "read_text(\"$folder/module\")"
(sleep 0.3; printf 'late' >"$folder/module") &
holds 'a late writer' ends 0 'late' "$atled" -e "read_text(\"$folder/module\")"
holds 'a module without an end' ends 5 'E0901' "$atled" --mem-limit=40M -e 'use "/dev/zero"'
bash -c "exec 0<&- 1>&- 2>&-
	'$atled' -e 'print(7)' -e 'save(\"$folder/alone.npy\", [1.5])' -e 'print(7)'"
holds 'no file takes the place of a closed stream' ends 0 '[1.5]' \
	"$atled" -e "load(\"$folder/alone.npy\")"
holds 'a device' ends 0 '1.5' "$atled" -e 'save("/dev/stdout", 1.5, format = "csv")'
holds 'a full device' ends 1 'No space left on device [E0801]' \
	"$atled" -e 'save("/dev/full", ones(1000), format = "csv")'
# as a full disk does, but without one: each format says why, and leaves nothing
small='ulimit -f 8; cd "$0"; exec "$@"'
mkdir "$folder/small"
for format in h5 npy npz csv json vti; do
	holds "a small disk, $format" ends 1 'File too large' bash -c "$small" "$folder/small" \
		"$atled" -e "save(\"x.$format\", rand(400, 400))"
done
for format in svg png pdf; do
	holds "a small disk, $format" ends 1 'File too large' bash -c "$small" "$folder/small" \
		"$atled" -e "plot(rand(20000), rand(20000); file = \"x.$format\")"
done
holds 'nothing is left of them' ends 0 '' rmdir "$folder/small"
mkfifo "$folder/endless"
(exec 3<>"$folder/endless"; sleep 20) &
writer=$!
"$atled" -e "x = load(\"$folder/endless\", format = \"csv\")" >"$folder/out" 2>&1 &
reader=$!
# once it has the pipe open it is reading
for _ in $(seq 100); do
	if ls -l "/proc/$reader/fd" 2>/dev/null | grep -q endless; then break; fi
	sleep 0.1
done
sleep 0.2
start=$(date +%s%N)
kill -INT "$reader" 2>/dev/null
wait "$reader"
status=$?
took=$((($(date +%s%N) - start) / 1000000))
kill "$writer" 2>/dev/null
holds "an interrupt while reading is answered (status $status, $took ms)" test "$took" -lt 2000
holds 'and says so' grep -q E0902 "$folder/out"

# writing to a pipe: nobody reads yet, somebody reads slowly, nobody reads on
mkfifo "$folder/unread"
holds 'a pipe without a reader answers a limit' ends 5 'E0903' \
	"$atled" --time-limit=1 -e "save(\"$folder/unread\", 1.5, format = \"csv\")"
(sleep 0.5; head -c 300000; sleep 0.5; cat) <"$folder/unread" >"$folder/read" &
reader=$!
holds 'a pipe whose reader comes later' ends 0 '' \
	"$atled" -e "save(\"$folder/unread\", ones(200000), format = \"csv\")"
wait "$reader"
holds 'all of it arrives' test "$(wc -l <"$folder/read")" -eq 200000
head -c 1000 <"$folder/unread" >"$folder/read" &
holds 'a pipe whose reader leaves' ends 1 'Broken pipe [E0801]' \
	"$atled" -e "save(\"$folder/unread\", ones(1000000), format = \"csv\")"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
