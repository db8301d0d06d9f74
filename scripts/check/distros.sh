#!/usr/bin/env bash
# distros.sh - test of README's two commands on bare systems.
#
# Use: scripts/check/distros.sh [SYSTEM...], as root or by sudo
#      (make check-distros)
#
# The systems are the rows of `systems` below; the default is all of them. Needs
# debootstrap, git, and for another processor qemu-user-static with binfmt.
#
#   DISTROS=/var/tmp/atled-distros   folder of base systems and packages; stays
#   DISTROS_APT='Option "value";'    lines for the configuration of apt
#
# Method: each system is a fresh copy of a minimal base system. An ordinary user
# with sudo unpacks the committed tree in a folder with a blank in its name,
# under umask 077 and a German locale. The user runs `make demo`, `make check`,
# `make demo` without a network, and `make install`.
#
# Prints one line a system; logs are in $DISTROS/log. The exit status is 1 when
# a system fails. An emulated processor runs selected tests only: it is slow,
# and tests of time are meaningless there.
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
emulated_tests='rooms tests/language tests/derivatives tests/native tests/stdlib tests/errors '
emulated_tests+='unit/codegen/test_vmath unit/codegen/test_kir unit/native unit/eval/test_eval '
emulated_tests+='unit/solvers/test_ode unit/solvers/test_dae'

folder=${DISTROS:-/var/tmp/atled-distros}
user=tester
home=/home/$user
source="$home/atled source"

[ "$(id -u)" -eq 0 ] || exec sudo --preserve-env=DISTROS,DISTROS_APT "$0" "$@"
# in a namespace of their own, our mounts and processes end with this script
[ "${DISTROS_INSIDE:-}" ] || DISTROS_INSIDE=1 exec unshare --mount --propagation private \
	--pid --fork --kill-child "$0" "$@"

say() { printf 'check-distros: %s\n' "$*" >&2; }
command -v debootstrap >/dev/null || {
	say 'debootstrap is missing: apt-get install debootstrap'
	exit 2
}
machine=$(dpkg --print-architecture)

# ---- one system --------------------------------------------------------------

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

# Makes a fresh copy with its mounts. Packages fetched earlier are reused.
enter() { # SUITE ARCH
	local packages="$folder/packages/$1-$2"
	leave
	mkdir -p "$packages/partial"
	cp -a "$folder/base/$1-$2" "$root" || return 1
	mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
		mount --rbind /dev "$root/dev" &&
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

# Installs what a user's machine has already: make, sudo, a locale, and clang
# when it is the compiler.
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

# Runs a command as the user, in the folder of the sources. $network is a
# wrapper command, or empty.
as_user() { # COMMAND
	${network:-} chroot "$root" runuser -u "$user" -- \
		env -i HOME="$home" USER="$user" LANG=de_DE.UTF-8 \
		PATH=/usr/local/bin:/usr/bin:/bin TERM=dumb CC="$compiler" \
		bash -c "umask 077; cd '$source' && $1"
}

# Prints the versions of a system's compiler and libraries.
versions() {
	local llvm sundials
	llvm=$(as_user 'scripts/build/llvm.sh' | cut -d' ' -f1)
	sundials=$(chroot "$root" dpkg-query -W -f '${Version}' libsundials-dev 2>/dev/null)
	printf '%s %s, LLVM %s, SUNDIALS %s' "$compiler" \
		"$(as_user "$compiler -dumpfullversion 2>/dev/null || $compiler -dumpversion")" \
		"${llvm:-none}" "${sundials%%+*}"
}

# Runs a step with a log; $took is its time in seconds.
step() { # NAME COMMAND...
	local log="$folder/log/$system-$1.log" began=$SECONDS status
	shift
	"$@" >"$log" 2>&1
	status=$?
	took=$((SECONDS - began))
	return $status
}

# Prints the summary line of make check.
summary() {
	grep -E '^[0-9]+ passed' "$folder/log/$system-check.log" | tail -n 1
}

# Prints the output of the demo on one line.
printed_errors() { # LOG
	awk '$1 ~ /^(fd|chebyshev|pinn)$/ && NF == 2 { printf "%s%s %s", n++ ? ", " : "", $1, $2 }' "$1"
}

# The demo without its neural network, which would take too long, and with all
# functions compiled.
emulated_demo="make deps && make all && sed -e '/^c = /d' -e '/^plot/d' -e 's/(a, b, c, /(a, b, /' \
	examples/burgers.dsl >build/classical.dsl &&
	ATLED_NATIVE=always build/atled build/classical.dsl"

# Runs the steps of a system and prints their results.
run_system() { # SUITE ARCH
	local seconds
	make_base "$1" "$2" && enter "$1" "$2" || { echo 'no base system'; return 1; }
	step furnish furnish "$compiler" || {
		echo 'the base system could not be furnished'
		return 1
	}
	if [ "$2" = "$machine" ]; then
		step demo as_user 'make demo' || { echo "$(versions): make demo fails"; return 1; }
		seconds=$took
		printf '%s: demo %d s (%s)' "$(versions)" "$seconds" \
			"$(printed_errors "$folder/log/$system-demo.log")"
		step check as_user 'make check' || {
			printf ', make check fails: %s\n' "$(summary)"
			return 1
		}
		printf ', check %d s (%s)' "$took" "$(summary)"
		network='unshare --net' step again as_user 'make demo' || {
			echo ', a second demo without network fails'
			return 1
		}
		step install as_user \
			'make install PREFIX="$HOME/a prefix" && "$HOME/a prefix/bin/atled" -e "1 + 1"' || {
			echo ', make install fails'
			return 1
		}
	else
		step demo as_user "$emulated_demo" || { echo "$(versions): the demo fails"; return 1; }
		seconds=$took
		printf '%s, emulated: demo %d s (%s)' "$(versions)" "$seconds" \
			"$(printed_errors "$folder/log/$system-demo.log")"
		step check as_user "make check TEST_SECONDS=1800 TESTS='$emulated_tests'" || {
			printf ', make check fails: %s\n' "$(summary)"
			return 1
		}
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
