#!/usr/bin/env bash
# deps.sh - sees to the libraries and tools that Atled is built with.
#
# Use: scripts/deps.sh (to build), scripts/deps.sh check (to run the tests as well), scripts/deps.sh fuzz (to fuzz: what fuzz targets are linked
# with, for the clang that $CLANG names, or whichever is there).
# Debian and its relatives: installs the packages that are missing, and only those. Elsewhere: tries to compile against each library and,
# where that fails, prints the packages to install and exits 1. With everything in place it changes nothing and uses no network.
set -euo pipefail

build_packages=(build-essential pkg-config libopenblas-dev liblapacke-dev libfftw3-dev libsundials-dev libsuitesparse-dev libarpack2-dev libgsl-dev
	libreadline-dev libpng-dev llvm-19-dev clang-19 lld-19 zlib1g-dev libzstd-dev libhdf5-dev)
check_packages=(tmux python3 libmpfr-dev)

say() { printf 'deps: %s\n' "$*" >&2; }

# ---- Debian ---------------------------------------------------------------------------------------------------------------------------

# Names of the given packages that are not installed. pkgconf stands in for pkg-config.
missing_of() {
	dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' 2>/dev/null | awk -v wanted="$*" '
		$1 == "installed" { gsub(/,|\([^)]*\)/, " "); for (i = 2; i <= NF; i++) have[$i] = 1 }
		END { n = split(wanted, name, " "); for (i = 1; i <= n; i++) if (!(name[i] in have)) print name[i] }'
}

debian() { # PACKAGE...
	local missing root=() apt
	mapfile -t missing < <(missing_of "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		if ! command -v sudo >/dev/null; then
			say "these packages are missing, and there is neither root nor sudo to install them: ${missing[*]}"
			say "ask whoever looks after this machine for: apt-get install ${missing[*]}"
			exit 1
		fi
		root=(sudo)
	fi
	apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=120)
	say "missing: ${missing[*]}"
	say "running: ${root[*]:+${root[*]} }apt-get update"
	"${apt[@]}" update </dev/null >&2 || say 'the update failed; going on with the lists that are there'
	say "running: ${root[*]:+${root[*]} }apt-get install --no-install-recommends ${missing[*]}"
	"${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null >&2 || {
		say "could not install: ${missing[*]}"
		exit 1
	}
}

# ---- other systems --------------------------------------------------------------------------------------------------------------------

# Compiles and links one line of C against each library; prints the names of those that fail.
failing_probes() {
	local cc=${CC:-cc} folder name text libs
	command -v "$cc" >/dev/null || { echo "a C compiler ($cc)"; return; }
	folder=$(mktemp -d)
	while IFS='|' read -r name text libs; do
		printf '%b\n' "$text" >"$folder/probe.c"
		# shellcheck disable=SC2046,SC2086 # several flags in one word
		"$cc" -I/usr/include/suitesparse $(pkg-config --cflags "$name" 2>/dev/null) "$folder/probe.c" -o "$folder/probe" \
			$(pkg-config --libs-only-L "$name" 2>/dev/null) $libs -lm >/dev/null 2>&1 || echo "$name"
	done <<-'PROBES'
		openblas|#include <cblas.h>\nint main(void){double x=1;return cblas_ddot(1,&x,1,&x,1)!=1;}|-lopenblas
		lapacke|#include <lapacke.h>\nint main(void){double x=1;return LAPACKE_dpotrf(LAPACK_ROW_MAJOR,'L',1,&x,1);}|-llapacke
		fftw3|#include <fftw3.h>\nint main(void){fftw_cleanup();return 0;}|-lfftw3
		sundials|#include <cvodes/cvodes.h>\n#include <sundials/sundials_config.h>\nint main(void){void*p=0;CVodeFree(&p);return 0;}|-lsundials_cvodes
		suitesparse|#include <klu.h>\nint main(void){klu_common c;return !klu_defaults(&c);}|-lklu
		gsl|#include <gsl/gsl_sf.h>\nint main(void){return gsl_sf_bessel_J0(1)==0;}|-lgsl -lgslcblas
		readline|#include <stdio.h>\n#include <readline/readline.h>\nint main(void){return rl_initialize==0;}|-lreadline
		zlib|#include <zlib.h>\nint main(void){return zlibVersion()==0;}|-lz
		hdf5|int H5open(void);\nint main(void){return H5open();}|-lhdf5_serial
		libpng|#include <png.h>\nint main(void){return png_access_version_number()==0;}|-lpng
	PROBES
	rm -rf "$folder"
}

elsewhere() { # WHAT
	local failing tool
	mapfile -t failing < <(failing_probes)
	if [ "$1" = check ]; then
		for tool in tmux python3; do command -v "$tool" >/dev/null || failing+=("$tool"); done
	fi
	[ ${#failing[@]} -gt 0 ] || return 0
	say "not found: ${failing[*]}"
	cat >&2 <<-'NAMES'
		Install what is missing with this system's package manager, then run make again. The packages are called
		  Debian, Ubuntu   build-essential pkg-config libopenblas-dev liblapacke-dev libfftw3-dev libsundials-dev libsuitesparse-dev
		                   libarpack2-dev libgsl-dev libreadline-dev libpng-dev llvm-19-dev clang-19 lld-19 zlib1g-dev libzstd-dev libhdf5-dev; for the tests also tmux
		                   python3 libmpfr-dev
		  Fedora           gcc gcc-c++ make pkgconf openblas-devel lapack-devel fftw-devel sundials-devel suitesparse-devel
		                   gsl-devel readline-devel libpng-devel zlib-devel hdf5-devel, LLVM 19 with clang and lld; for the tests also tmux python3 mpfr-devel
		  Arch             base-devel openblas lapacke fftw sundials suitesparse gsl readline libpng zlib hdf5; for the tests also tmux python
		  macOS, Homebrew  make gcc pkg-config openblas lapack fftw sundials suite-sparse gsl readline libpng zlib hdf5; for the tests also tmux
		Atled is built and tested on Debian; the other lists are for orientation.
	NAMES
	exit 1
}

# ---- fuzzing --------------------------------------------------------------------------------------------------------------------------

# Whether clang links a fuzz target: its runtime is a package of its own.
links_fuzzers() { # CLANG
	local folder good=1
	folder=$(mktemp -d)
	echo 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return n > 4 && p[0]; }' >"$folder/probe.c"
	"$1" -fsanitize=address,undefined,fuzzer "$folder/probe.c" -o "$folder/probe" >/dev/null 2>&1 && good=0
	rm -rf "$folder"
	return $good
}

fuzzing() {
	local clang=${CLANG:-} version
	[ -n "$clang" ] || for clang in clang clang-19; do command -v "$clang" >/dev/null && break; done
	if ! command -v "$clang" >/dev/null; then
		say "there is no $clang, which fuzz targets are built with"
		exit 1
	fi
	links_fuzzers "$clang" && return
	version=$("$clang" -dumpversion | cut -d. -f1)
	if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then debian "libclang-rt-$version-dev"; fi
	links_fuzzers "$clang" || {
		say "$clang cannot link fuzz targets: its runtime (libclang-rt-$version-dev in Debian, compiler-rt elsewhere) is missing"
		exit 1
	}
}

# ---- the choice -----------------------------------------------------------------------------------------------------------------------

what=${1:-build}
case $what in
build) packages=("${build_packages[@]}") ;;
check) packages=("${build_packages[@]}" "${check_packages[@]}") ;;
fuzz)
	fuzzing
	exit 0
	;;
*)
	echo 'use: scripts/deps.sh [build|check|fuzz]' >&2
	exit 2
	;;
esac
if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then debian "${packages[@]}"; else elsewhere "$what"; fi
