#!/usr/bin/env bash
# sonames.sh - names of the libraries that Atled loads at run time, as C macros
#
# Use: scripts/build/sonames.sh CC [SUNDIALS' LINK FLAGS...], prints a header. Each
# library is linked once and its name read back, so that what is loaded is what
# the headers belong to. Where the linker does not find one, the name without a
# number is left for the loader to try.
set -uo pipefail
export LC_ALL=C # what readelf says is read here
cc=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo 'int atled_probe;' >"$folder/probe.c"

# The names that libraries are recorded by, one a line.
recorded() { # FLAG...
	"$cc" -shared -fPIC "$folder/probe.c" -Wl,--no-as-needed "$@" -o "$folder/probe.so" 2>/dev/null &&
		readelf -d "$folder/probe.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

define() { # MACRO NAME...: the first library that links; NAME is that of -lNAME
	local macro=$1 name found
	shift
	for name in "$@"; do
		found=$(recorded "-l$name" | grep "^lib$name\." | head -n 1)
		[ -z "$found" ] || break
	done
	printf '#define %s "%s"\n' "$macro" "${found:-lib$1.so}"
}

echo '/* made by scripts/build/sonames.sh */'
define SONAME_OPENBLAS openblas
define SONAME_FFTW fftw3
define SONAME_FFTWF fftw3f
define SONAME_GSL gsl
define SONAME_ARPACK arpack
define SONAME_UMFPACK umfpack
define SONAME_CHOLMOD cholmod
define SONAME_SPQR spqr
define SONAME_HDF5 hdf5_serial hdf5
sundials=$(recorded "$@" | sed -n 's/^libsundials.*/"&"/p' | paste -sd, -)
printf '#define SONAMES_SUNDIALS %s\n' "${sundials:-\"libsundials_cvodes.so\"}"
