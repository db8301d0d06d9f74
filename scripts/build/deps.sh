#!/usr/bin/env bash
# deps.sh - installer of the libraries and tools that Atled is built with.
#
# Use: scripts/build/deps.sh         what a build needs
#      scripts/build/deps.sh check   what the tests need as well
#      scripts/build/deps.sh fuzz    the fuzzer runtime of the compiler $CLANG
#
# - Debian, Ubuntu and relatives: installs the missing packages.
# - Other systems: compiles against each library. If one fails, prints the
#   command that installs all of them on this system, and exits 1.
# - When nothing is missing, changes nothing and uses no network.
# - Of the LLVM versions that scripts/build/llvm.sh accepts, takes the newest.
#   Without any, reports this and continues.
set -euo pipefail

# this script parses the output of apt
export LC_ALL=C
# for ldconfig and others, which the path of an ordinary user may lack
PATH=$PATH:/usr/sbin:/sbin
here=$(dirname "$0")
read -ra llvm_versions <<<"$("$here/llvm.sh" --versions)"
build_packages=(build-essential pkg-config libopenblas-dev liblapacke-dev libfftw3-dev
	libsundials-dev libsuitesparse-dev libarpack2-dev libgsl-dev libreadline-dev libpng-dev
	libcairo2-dev libfreetype-dev libgif-dev fonts-dejavu-core zlib1g-dev libzstd-dev
	libhdf5-dev libexpat1-dev libqhull-dev)
check_packages=(tmux python3 libmpfr-dev)

say() { printf 'deps: %s\n' "$*" >&2; }

# ---- Debian and Ubuntu -------------------------------------------------------

# Prints the given packages that are not installed. pkgconf replaces pkg-config.
missing_of() {
	dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' 2>/dev/null |
		awk -v wanted="$*" '
			$1 == "installed" {
				gsub(/,|\([^)]*\)/, " ")
				for (i = 2; i <= NF; i++) have[$i] = 1
			}
			END {
				n = split(wanted, name, " ")
				for (i = 1; i <= n; i++) if (!(name[i] in have)) print name[i]
			}'
}

# Prints the version of a package that would be installed, if there is one.
candidate() { # PACKAGE
	apt-cache policy "$1" 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

# Prints the packages of the newest accepted LLVM of this release.
llvm_packages() {
	local version
	for version in "${llvm_versions[@]}"; do
		[ -n "$(candidate "llvm-$version-dev")" ] || continue
		[ -n "$(candidate "clang-$version")" ] && [ -n "$(candidate "lld-$version")" ] ||
			continue
		printf '%s\n' "llvm-$version-dev" "clang-$version" "lld-$version"
		return
	done
}

# Runs apt-get as root, through sudo if necessary.
privileged() {
	local root=()
	[ "$(id -u)" -eq 0 ] || root=(sudo)
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -y -q -o DPkg::Lock::Timeout=120 "$@" </dev/null >&2
}

debian() { # PACKAGE...
	local missing more=() version
	mapfile -t missing < <(missing_of "$@")
	local llvm=present
	[ "$wants_llvm" = no ] || [ -n "$("$here/llvm.sh")" ] || llvm=missing
	[ ${#missing[@]} -gt 0 ] || [ $llvm = missing ] || return 0
	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		# when only LLVM is missing, the build continues without it
		[ ${#missing[@]} -gt 0 ] || { say "$no_llvm"; return 0; }
		say "these packages are missing, and there is neither root nor sudo to install them:" \
			"${missing[*]}"
		say "ask whoever looks after this machine for: apt-get install ${missing[*]}"
		exit 1
	fi
	if [ ${#missing[@]} -gt 0 ] || [ -z "$(llvm_packages)" ]; then
		say 'running: apt-get update'
		privileged update || say 'the update failed; going on with the lists that are there'
	fi
	if [ $llvm = missing ]; then
		mapfile -t more < <(llvm_packages)
		[ ${#more[@]} -gt 0 ] || say "$no_llvm"
	fi
	version=$(candidate libsundials-dev)
	case $version in
	[1-5].* | 6.[0-3].*)
		say "this release has SUNDIALS $version, and Atled needs 6.4 or later:" \
			"Debian 12, Ubuntu 24.04 or newer has it"
		exit 1
		;;
	esac
	missing+=("${more[@]}")
	[ ${#missing[@]} -gt 0 ] || return 0
	say "running: apt-get install --no-install-recommends ${missing[*]}"
	privileged install --no-install-recommends "${missing[@]}" || {
		say "could not install: ${missing[*]}"
		exit 1
	}
}

# ---- other systems -----------------------------------------------------------

# Compiles and links one line of C against each library; prints those that fail.
failing_probes() {
	local cc=${CC:-cc} folder name packages text libs package flags
	command -v "$cc" >/dev/null || { echo "a C compiler ($cc)"; return; }
	folder=$(mktemp -d)
	while IFS='|' read -r name packages text libs; do
		printf '%b\n' "$text" >"$folder/probe.c"
		flags=
		for package in $packages; do
			flags+=" $(pkg-config --cflags --libs-only-L "$package" 2>/dev/null || :)"
		done
		# shellcheck disable=SC2086 # several flags in one word
		"$cc" -I/usr/include/suitesparse $flags "$folder/probe.c" -o "$folder/probe" $libs -lm \
			>/dev/null 2>&1 || echo "$name"
	done <<-'PROBES'
		openblas|openblas|#include <cblas.h>\nint main(void){double x=1;return cblas_ddot(1,&x,1,&x,1)!=1;}|-lopenblas
		lapacke|lapacke|#include <lapacke.h>\nint main(void){return sizeof(lapack_int)==0;}|
		fftw3|fftw3|#include <fftw3.h>\nint main(void){fftw_cleanup();return 0;}|-lfftw3
		sundials|mpi-c|#include <cvodes/cvodes.h>\n#include <sundials/sundials_config.h>\nint main(void){void*p=0;CVodeFree(&p);return 0;}|-lsundials_cvodes
		suitesparse||#include <klu.h>\nint main(void){klu_common c;return !klu_defaults(&c);}|-lklu
		arpack||void dsaupd_(void);\nint main(void){return !dsaupd_;}|-larpack
		gsl|gsl|#include <gsl/gsl_sf.h>\nint main(void){return gsl_sf_bessel_J0(1)==0;}|-lgsl -lgslcblas
		readline|readline|#include <stdio.h>\n#include <readline/readline.h>\nint main(void){return rl_initialize==0;}|-lreadline
		zlib|zlib|#include <zlib.h>\nint main(void){return zlibVersion()==0;}|-lz
		hdf5|hdf5-serial hdf5|#include <hdf5.h>\nint main(void){return sizeof(hid_t)==0;}|
		qhull|qhull_r|#include <libqhull_r/libqhull_r.h>\nint main(void){return sizeof(qhT)==0;}|-lqhull_r
		expat|expat|#include <expat.h>\nint main(void){return XML_ExpatVersion()==0;}|-lexpat
		cairo|cairo-ft|#include <cairo-ft.h>\n#include <cairo-pdf.h>\nint main(void){return cairo_version()==0;}|-lcairo
		giflib||#include <gif_lib.h>\nint main(void){return EGifOpen==0;}|-lgif
		libpng|libpng|#include <png.h>\nint main(void){return png_access_version_number()==0;}|-lpng
	PROBES
	rm -rf "$folder"
	compgen -G '/usr/share/fonts/*/DejaVuSans.ttf' >/dev/null ||
		compgen -G '/usr/share/fonts/*/*/DejaVuSans.ttf' >/dev/null || echo 'the font DejaVu Sans'
}

# Prints the command that installs everything on this system, if it is known.
install_command() {
	local id='' ID_LIKE='' ID=''
	# shellcheck disable=SC1091 # it may be absent
	[ ! -r /etc/os-release ] || . /etc/os-release
	for id in $ID $ID_LIKE; do
		case $id in
		fedora | rhel)
			echo 'dnf install gcc gcc-c++ make pkgconf openblas-devel lapack-devel fftw-devel' \
				'sundials-devel suitesparse-devel arpack-devel gsl-devel readline-devel' \
				'libpng-devel cairo-devel freetype-devel giflib-devel dejavu-sans-fonts' \
				'zlib-devel hdf5-devel expat-devel qhull-devel llvm-devel clang lld tmux' \
				'python3 mpfr-devel'
			;;
		arch)
			echo 'pacman -S --needed base-devel openblas lapacke fftw sundials suitesparse arpack' \
				'gsl readline libpng cairo freetype2 giflib ttf-dejavu zlib hdf5 expat qhull' \
				'llvm clang lld tmux python mpfr'
			;;
		suse | opensuse*)
			echo 'zypper install gcc gcc-c++ make pkg-config openblas-devel lapacke-devel' \
				'fftw3-devel sundials-devel suitesparse-devel arpack-ng-devel gsl-devel' \
				'readline-devel libpng16-devel cairo-devel freetype2-devel giflib-devel' \
				'dejavu-fonts zlib-devel hdf5-devel libexpat-devel qhull-devel llvm-devel clang' \
				'lld tmux python3 mpfr-devel'
			;;
		alpine)
			echo 'apk add build-base bash pkgconf openblas-dev lapack-dev fftw-dev sundials-dev' \
				'suitesparse-dev arpack-dev gsl-dev readline-dev libpng-dev cairo-dev' \
				'freetype-dev giflib-dev font-dejavu zlib-dev hdf5-dev expat-dev qhull-dev' \
				'llvm19-dev llvm19-static clang19 lld19 tmux python3 mpfr-dev'
			;;
		*) continue ;;
		esac
		return
	done
}

elsewhere() { # WHAT
	local failing tool command
	mapfile -t failing < <(failing_probes)
	[ -n "$("$here/llvm.sh")" ] || say "$no_llvm"
	if [ "$1" = check ]; then
		for tool in tmux python3; do command -v "$tool" >/dev/null || failing+=("$tool"); done
	fi
	[ ${#failing[@]} -gt 0 ] || return 0
	say "not found: ${failing[*]}"
	command=$(install_command)
	if [ -n "$command" ]; then
		say "as root: $command"
		say 'Atled is tested on Debian; on this system the names of packages are for orientation'
	else
		say "install the development packages of these with this system's package manager," \
			"then run make again"
		say "on Debian they are: ${build_packages[*]}"
	fi
	exit 1
}

no_llvm="no LLVM of the versions ${llvm_versions[*]} with clang and lld here:"
no_llvm+=' Atled builds without native code, and programs run in the evaluator'
wants_llvm=yes

# ---- fuzzing -----------------------------------------------------------------

# Whether clang links a fuzz target: its runtime is a separate package.
links_fuzzers() { # CLANG
	local folder good=1
	folder=$(mktemp -d)
	echo 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n)' \
		'{ return n > 4 && p[0]; }' >"$folder/probe.c"
	"$1" -fsanitize=address,undefined,fuzzer "$folder/probe.c" -o "$folder/probe" \
		>/dev/null 2>&1 && good=0
	rm -rf "$folder"
	return $good
}

fuzzing() {
	local clang=${CLANG:-} version
	[ -n "$clang" ] || clang=$("$here/llvm.sh" | cut -d' ' -f3)
	clang=${clang:-clang}
	if ! command -v "$clang" >/dev/null; then
		say "there is no $clang, which fuzz targets are built with"
		exit 1
	fi
	links_fuzzers "$clang" && return
	version=$("$clang" -dumpversion | cut -d. -f1)
	if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
		wants_llvm=no debian "libclang-rt-$version-dev"
	fi
	links_fuzzers "$clang" || {
		say "$clang cannot link fuzz targets: its runtime" \
			"(libclang-rt-$version-dev in Debian, compiler-rt elsewhere) is missing"
		exit 1
	}
}

# ---- the choice --------------------------------------------------------------

what=${1:-build}
case $what in
build) packages=("${build_packages[@]}") ;;
check) packages=("${build_packages[@]}" "${check_packages[@]}") ;;
fuzz)
	fuzzing
	exit 0
	;;
*)
	echo 'use: scripts/build/deps.sh [build|check|fuzz]' >&2
	exit 2
	;;
esac
if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
	debian "${packages[@]}"
else
	elsewhere "$what"
fi
