#!/usr/bin/env bash
# test_check.sh - tests of the commands `atled check` and `atled fmt`.
#
# Use: ATLED=PROGRAM tests/cli/test_check.sh
#
# Checks the messages for whole programs, the exit codes, and that files are
# replaced completely or not at all. The last line is "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
atled=${ATLED:-$PWD/build/atled} passed=0 failed=0
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

same() { # WHAT GOT WANTED
	if [ "$2" = "$3" ]; then passed=$((passed + 1)); else
		failed=$((failed + 1))
		printf 'failed: %s\n  got:\n%s\n  wanted:\n%s\n' "$1" "$2" "$3"
	fi
}

# Compares the messages of a program, each as "line:column code", in order and
# followed by the exit code.
says() { # WANTED PROGRAM
	local got
	got=$(printf '%s\n' "$2" | "$atled" check - 2>&1 >/dev/null)
	local code=$?
	got=$(sed -n 's/^<stdin>:\([0-9]*:[0-9]*\): .*\[\([EW][0-9]*\)\]$/\1 \2/p' <<<"$got" |
		tr '\n' ' ')
	same "check: $2" "$got$code" "$1"
}

# names and calls in functions that are never called
says '1:12 E0201 3' 'f(x) = x + nosuch'
says '1:8 E0201 1:18 E0201 3' 'f(x) = one(x) + (two)'
says '2:20 E0202 3' $'f(x) = x\ng(x) = f(x) + f(x, 2)'
says '2:8 E0202 3' $'f(x, y) = x\ng(x) = f(x)'
says '2:13 E0203 3' $'f(x; k = 1) = x\ng(x) = f(x, kk = 2)'
says '0' $'f(x, y = 1; k = 2) = x\ng(x) = f(x) + f(x, 2) + f(y = 3, x = 2, k = 1) + f(...x)'
says '0' 'f(g) = g(1, 2, 3)'
says '0' $'f(x) = x\ng(f) = f(1, 2)'
says '0' 'even(n) = if n == 0 { true } else { odd(n - 1) }
odd(n) = if n == 0 { false } else { even(n - 1) }'
says '0' 'f(A) = { C[i, k] := sum(A[i, j] * A[j, k] for j); C }'
says '0' 'layer(W: f64[m, n], x: f64[n]) -> f64[m] = W @ x + m'
says '0' 'problem p() {
  domain t in [0, 1]
  field u
  k = 2
  u_t == -k*u
  u == 1 at t = 0
}'
# A solution whose times are known only at run time is still a function of t.
says '0' 'problem p {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  u_t == u_xx
  u == sin(2π*x) at t = 0
}
t = linspace(0, 1, 5)
s = solve(p, fourier(n = 8), saveat = t)
print(map(t -> s.u(t, 0.5), t))'
# declared types
says '1:26 E0302 3' 'f(x: f64[3]) -> f64[3] = x @ ones(4)'
says '1:37 E0205 3' 'h(p: (W: f64[m, n]), x: f64[k]) = p.V @ x'
says '1:33 E0302 3' 'g(x: f64[3], y: f64[4]) = { z = x + y; z }'
says '0' 'g(x: f64[n], y: f64[n]) = x + y'
# one cause, one message
says '1:5 E0201 3' $'a = nosuch\nb = a + 1\nc = b * 2\nprint(c)'
says '1:5 E0302 4:1 E0201 4:3 E0201 3' \
	$'a = [1, 2] + [1, 2, 3]\nb = a + 1\nif b[0] > 1 { print(a) }\nq(z)'
says '1:1 E0207 3' $'use nosuchmodule as n\nx = n.f(2)'
# several errors in source order, also after a syntax error
says '1:9 E0104 3:3 E0104 3' $'x = 1 + * 2\ny = 3\nz z = 4'
says '1:5 E0302 2:5 E0201 3' $'a = [1, 2] + [1, 2, 3]\nb = nosuch'
# warnings
says '1:10 W0221 0' 'f(x) = { a = 2; x }'
says '0' 'f(x) = { _a = 2; x }'
says '0' 'f(x) = { a = 2; a += 1; (p, q) = x; x }'
says '1:20 W0223 0' 'f(x) = { return x; x + 1 }'
says '1:31 W0223 0' 'f(x) = { if x > 0 { return 1; x }; x }'
says '1:36 W0223 0' 'f(x) = { for i in 0..x { continue; print(i) } }'
says '1:10 W0224 0' 'f(x) = { push(x, 1); x }' 
says '1:17 W0224 1:20 W0224 0' 'for i in 0..3 { 2; i == 3 }'
says '1:10 W0224 0' 'f(x) = { "doc"; x }'
says '1:10 W0224 0' 'f(x) = { "{x}" "b"; x }'
says '0' 'f(x) = { "{print(x)}"; x }'
says '1:10 W0224 0' 'f(x) = { (x, 1); x }'
says '1:1 W0222 0' $'use nn as n\nx = 2'
says '0' $'use nn as n\nx = n.mlp([1, 2, 1])'
says '0' $'f(x) = { print(x); x }\n1 + 1\nf(2);'

# The library is clean; its names are known only inside of it.
for file in stdlib/*/*.dsl stdlib/*/*/*.dsl; do
	same "warnings of $file" "$("$atled" check "$file" 2>&1 | grep -E '\[W[0-9]+\]$')" ''
done
# every program of the tree is clean
for file in examples/*.dsl bench/programs/*.dsl; do
	same "check $file" "$("$atled" check "$file" 2>&1)$?" 0
done
same 'check --json' "$(printf 'f(x) = x + nosuch\n' | "$atled" check --json - 2>&1 |
	grep -c '"code":"E0201"')" 1

# ---- the page of each message
# It has an example where one is possible. Those of warnings are compared here,
# the others by `atled test --docs`.
while read -r code _; do
	page=$("$atled" explain "$code")
	blocks=$(grep -c '^```' <<<"$page")
	case $code in
	E0902 | E0999) least=0 ;;
	E0801 | E0802 | E0901 | E0903) least=2 ;;
	E0803) least=4 ;;
	*) least=6 ;;
	esac
	same "the page of $code" \
		"$([ "$(wc -l <<<"$page")" -gt 2 ] && [ "$blocks" -ge $least ] && echo good)" good
	case $code in W*)
		awk '/^```/ { n++; next } n == 1' <<<"$page" >"$work/example.dsl"
		check=(check)
		case $code in W05* | W07*) check=() ;; esac # found only when a problem is solved
		same "the message of $code" "$(cd "$work" && "$atled" "${check[@]}" example.dsl 2>&1)" \
			"$(awk '/^```/ { n++; next } n == 3' <<<"$page")"
		awk '/^```/ { n++; next } n == 5' <<<"$page" >"$work/example.dsl"
		same "the correction of $code" "$("$atled" "${check[@]}" "$work/example.dsl" 2>&1)" ''
		rm "$work/example.dsl"
		;;
	esac
done < <("$atled" explain)

# ---- fmt
printf 'x=1\n' >"$work/a.dsl"
printf 'x = 1\n' >"$work/b.dsl"
printf 'x = (1\n' >"$work/c.dsl"
same 'fmt -' "$(printf 'x=1' | "$atled" fmt -)" 'x = 1'
same 'fmt --check' \
	"$("$atled" fmt --check "$work/a.dsl" "$work/b.dsl" 2>/dev/null)$?" "$work/a.dsl1"
same 'fmt --check writes nothing' "$(cat "$work/a.dsl")" 'x=1'
same 'fmt --stdout' "$("$atled" fmt --stdout "$work/a.dsl")$(cat "$work/a.dsl")" 'x = 1x=1'
same 'fmt of a syntax error' "$(
	"$atled" fmt "$work/c.dsl" 2>&1 | head -n 1 | sed 's/.*\[//'
)$("$atled" fmt "$work/c.dsl" 2>/dev/null)$?$(cat "$work/c.dsl")" 'E0105]3x = (1'
chmod 640 "$work/a.dsl"
same 'fmt of a folder' "$("$atled" fmt "$work" 2>/dev/null)$?" 3
same 'fmt of a folder formats the rest' "$(cat "$work/a.dsl")$(stat -c %a "$work/a.dsl")" 'x = 1640'
same 'fmt leaves nothing beside' "$(find "$work" -type f | wc -l)" 3
same 'fmt --check of what is formatted' "$("$atled" fmt --check examples bench/programs)$?" 0
same 'fmt of what is not there' "$("$atled" fmt "$work/none.dsl" 2>/dev/null)$?" 2
chmod 555 "$work"
if [ -w "$work" ]; then echo 'skip: this user may write anywhere'; else
	printf 'x=1\n' | cat >"$work/b.dsl"
	same 'fmt where nothing can be written' \
		"$("$atled" fmt "$work/b.dsl" 2>/dev/null)$?$(cat "$work/b.dsl")" '1x=1'
fi
chmod 755 "$work"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
