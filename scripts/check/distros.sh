#!/usr/bin/env bash
# distros.sh - README's two commands on bare systems. `make check-distros`.
#
# Use: scripts/check/distros.sh [SYSTEM...], as root or by sudo; the systems are
# the rows of `systems` below, all of them when none is named. Needs
# debootstrap, git, and for another processor qemu-user-static with binfmt.
#
#   DISTROS=/var/tmp/atled-distros   folder of the base systems and packages, kept
#   DISTROS_APT='Option "value";'    lines for apt's configuration in each system
#
# Method: each system is a fresh copy of a minimal base system. A plain user
# who may use sudo unpacks the committed tree in a folder with a blank in its
# name, under umask 077 and a German locale, and runs `make demo`, `make
# check`, `make demo` again without a network, and `make install`.
# Prints one line a system; logs are in $DISTROS/log. Exit status 1 when a
# system fails. What runs on an emulated processor is a choice by name, since
# it is twenty times slower there and tests of time mean nothing.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

# name, suite, architecture, compiler
systems='
debian-12        bookworm  amd64  gcc
debian-13        trixie    amd64  gcc
debian-13-clang  trixie    amd64  clang
debian-sid       sid       amd64  gcc
debian-13-arm64  trixie    arm64  gcc
'
# Labels of the tests that run on an emulated processor.
emulated_tests='rooms tests/language tests/derivatives tests/native tests/stdlib tests/errors unit/codegen/test_vmath unit/codegen/test_kir unit/native unit/eval/test_eval unit/solvers/test_solvers'

folder=${DISTROS:-/var/tmp/atled-distros}
user=tester
home=/home/$user
source="$home/atled source"

[ "$(id -u)" -eq 0 ] || exec sudo --preserve-env=DISTROS,DISTROS_APT "$0" "$@"
# mounts and processes of ours end with us
[ "${DISTROS_INSIDE:-}" ] || DISTROS_INSIDE=1 exec unshare --mount --propagation private --pid --fork --kill-child "$0" "$@"

say() { printf 'check-distros: %s\n' "$*" >&2; }
command -v debootstrap >/dev/null || { say 'debootstrap is missing: apt-get install debootstrap'; exit 2; }
machine=$(dpkg --print-architecture)

# ---- one system -----------------------------------------------------------------------------------

make_base() { # SUITE ARCH
	local base="$folder/base/$1-$2"
	[ ! -e "$base/.complete" ] || return 0
	say "making the base system $1 $2"
	rm -rf --one-file-system "$base"
	mkdir -p "$folder/base" "$folder/log"
	debootstrap --arch="$2" --variant=minbase "$1" "$base" >"$folder/log/base-$1-$2.log" 2>&1 || {
		say "debootstrap failed: see $folder/log/base-$1-$2.log"
		return 1
	}
	touch "$base/.complete"
}

# A fresh copy with its mounts. Packages that were fetched before are at hand.
enter() { # SUITE ARCH
	local packages="$folder/packages/$1-$2"
	leave
	mkdir -p "$packages/partial"
	cp -a "$folder/base/$1-$2" "$root" || return 1
	mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
		mount --bind "$packages" "$root/var/cache/apt/archives" || return 1
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	{
		echo 'Binary::apt::APT::Keep-Downloaded-Packages "true";'
		printf '%s\n' "${DISTROS_APT:-}"
	} >"$root/etc/apt/apt.conf.d/99atled"
}

leave() {
	[ -d "$root" ] || return 0
	umount -l "$root/var/cache/apt/archives" "$root/dev" "$root/sys" "$root/proc" 2>/dev/null
	rm -rf --one-file-system "$root"
}

# What a user's machine has before README is read: make, sudo, a locale; clang where it is the compiler.
furnish() { # COMPILER
	local more=()
	[ "$1" = gcc ] || more=("$1")
	chroot "$root" bash -ec "
		export DEBIAN_FRONTEND=noninteractive
		apt-get -q update
		apt-get -q -y install --no-install-recommends make sudo locales ${more[*]}
		localedef -i de_DE -f UTF-8 de_DE.UTF-8
		useradd -m -s /bin/bash $user
		echo '$user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$user" || return 1
	mkdir "$root$source"
	git -c safe.directory='*' archive --format=tar HEAD | tar -x -C "$root$source" || return 1
	chroot "$root" chown -R "$user:$user" "$home"
}

# A command as the user, in the folder of the sources. $network: a wrapper, or nothing
as_user() { # COMMAND
	${network:-} chroot "$root" runuser -u "$user" -- env -i HOME="$home" USER="$user" LANG=de_DE.UTF-8 \
		PATH=/usr/local/bin:/usr/bin:/bin TERM=dumb CC="$compiler" bash -c "umask 077; cd '$source' && $1"
}

# What a system is made of, for its line.
versions() {
	local llvm sundials
	llvm=$(as_user 'scripts/build/llvm.sh' | cut -d' ' -f1)
	sundials=$(chroot "$root" dpkg-query -W -f '${Version}' libsundials-dev 2>/dev/null)
	printf '%s %s, LLVM %s, SUNDIALS %s' "$compiler" "$(as_user "$compiler -dumpfullversion 2>/dev/null || $compiler -dumpversion")" \
		"${llvm:-none}" "${sundials%%+*}"
}

# Runs a step with a log; its time is left in $took.
step() { # NAME COMMAND...
	local log="$folder/log/$system-$1.log" began=$SECONDS status
	shift
	"$@" >"$log" 2>&1
	status=$?
	took=$((SECONDS - began))
	return $status
}

summary() { # the last line of make check that counts
	grep -E '^[0-9]+ passed' "$folder/log/$system-check.log" | tail -n 1
}

printed_errors() { # LOG: what the demo prints, on one line
	awk '$1 ~ /^(fd|chebyshev|pinn)$/ && NF == 2 { printf "%s%s %s", n++ ? ", " : "", $1, $2 }' "$1"
}

# The demo without its network, which would take an hour, with all functions compiled.
emulated_demo="make deps && make all && sed -e '/^c = /d' -e '/^plot/d' -e 's/(a, b, c, /(a, b, /' \
	examples/burgers.dsl >build/classical.dsl && ATLED_NATIVE=always build/atled build/classical.dsl"

# The steps of a system; prints what its line says of them.
run_system() { # SUITE ARCH
	local seconds
	make_base "$1" "$2" && enter "$1" "$2" || { echo 'no base system'; return 1; }
	step furnish furnish "$compiler" || { echo 'the base system could not be furnished'; return 1; }
	if [ "$2" = "$machine" ]; then
		step demo as_user 'make demo' || { echo "$(versions): make demo fails"; return 1; }
		seconds=$took
		printf '%s: demo %d s (%s)' "$(versions)" "$seconds" "$(printed_errors "$folder/log/$system-demo.log")"
		step check as_user 'make check' || { printf ', make check fails: %s\n' "$(summary)"; return 1; }
		printf ', check %d s (%s)' "$took" "$(summary)"
		network='unshare --net' step again as_user 'make demo' || { echo ', a second demo without network fails'; return 1; }
		step install as_user 'make install PREFIX="$HOME/a prefix" && "$HOME/a prefix/bin/atled" -e "1 + 1"' || { echo ', make install fails'; return 1; }
	else
		step demo as_user "$emulated_demo" || { echo "$(versions): the demo fails"; return 1; }
		seconds=$took
		printf '%s, emulated: demo %d s (%s)' "$(versions)" "$seconds" "$(printed_errors "$folder/log/$system-demo.log")"
		step check as_user "make check TEST_SECONDS=1800 TESTS='$emulated_tests'" || { printf ', make check fails: %s\n' "$(summary)"; return 1; }
		printf ', check %d s (%s)' "$took" "$(summary)"
	fi
	echo
}

failed=0
while read -r system suite arch compiler; do
	[ -n "$system" ] || continue
	[ $# -eq 0 ] || [[ " $* " == *" $system "* ]] || continue
	root=$folder/root-$system
	line=$(run_system "$suite" "$arch") || failed=1
	printf '%-16s %s\n' "$system" "$line"
	leave
done <<<"$systems"
exit $failed
