#!/usr/bin/env bash
# sonames.sh - C macros with the sonames of libraries loaded at run time.
#
# Use: scripts/build/sonames.sh CC [SUNDIALS' LINK FLAGS...]
#
# Prints a header. Each library is linked once and its soname read back, so that
# the loaded library matches the headers. When the linker does not find a
# library, the macro has the name without a version, for the loader to try.
set -uo pipefail
export LC_ALL=C # this script parses the output of readelf
cc=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo 'int atled_probe;' >"$folder/probe.c"

# Prints the sonames of the libraries that the flags link, one a line.
recorded() { # FLAG...
	"$cc" -shared -fPIC "$folder/probe.c" -Wl,--no-as-needed "$@" \
		-o "$folder/probe.so" 2>/dev/null &&
		readelf -d "$folder/probe.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

# Defines MACRO as the soname of the first library that links with -lNAME.
define() { # MACRO NAME...
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
define SONAME_EXPAT expat
define SONAME_QHULL qhull_r
define SONAME_CAIRO cairo
define SONAME_FREETYPE freetype
define SONAME_GIF gif
sundials=$(recorded "$@" | sed -n 's/^libsundials.*/"&"/p' | paste -sd, -)
printf '#define SONAMES_SUNDIALS %s\n' "${sundials:-\"libsundials_cvodes.so\"}"
