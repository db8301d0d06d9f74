# Makefile - the only build of Atled. There is no configure step; `make help`
# lists the targets.
#
# Useful settings, given on the command line:
#   CC=clang            another compiler; a change of compiler or flags rebuilds
#                       the affected files
#   CFLAGS_EXTRA=...    flags added after all others
#   WERROR=-Werror      warnings are errors; `make check` sets it for the tested
#                       compilers
#   PREFIX=/usr/local   where `make install` installs; DESTDIR=... stages the
#                       files elsewhere
#   TESTS=words         `make check` runs only the tests whose label contains
#                       one of the words
#   V=1                 show the commands
#   -j1                 one job at a time; the default is one job per processor

# ---- tools and target machine ------------------------------------------------

ifeq ($(origin CC),default)
CC := gcc
endif
CXX ?= g++
AR ?= ar
OBJCOPY ?= objcopy
HOSTCC ?= cc
WERROR ?=
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) --no-print-directory
endif
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += -r

# Properties of the compiler's target, which is another machine in a cross
# build: architecture (x86_64, aarch64), size of a pointer, byte order.
MACHINE := $(shell $(CC) $(CFLAGS_EXTRA) -dM -E -x c /dev/null 2>/dev/null | sed -n -e 's/^.define __\(x86_64\|aarch64\)__ 1$$/\1/p' \
	-e 's/^.define __SIZEOF_POINTER__ \([0-9]*\)$$/\1-bytes/p' -e 's/^.define __BYTE_ORDER__ __ORDER_\(.*\)_ENDIAN__$$/\1/p')
ifneq ($(filter 4-bytes BIG,$(MACHINE)),)
$(error Atled needs a machine of 64 bits that stores the low byte first, such as x86-64 and aarch64; $(CC) makes programs for $(shell $(CC) -dumpmachine))
endif
ARCHITECTURE := $(filter x86_64 aarch64,$(MACHINE))

# ---- kinds of build: a folder and its flags ----------------------------------

MODE ?= release
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=all
# gcc reports false uninitialised variables where sanitizer checks split its
# paths; builds without sanitizers keep that warning
SANITIZED := -O1 -g -fno-omit-frame-pointer $(if $(findstring clang,$(CC)),,-Wno-maybe-uninitialized)
FLAGS_release := -O2 -g
FLAGS_asan := $(SANITIZED) $(SANITIZERS)
FLAGS_tsan := $(SANITIZED) -fsanitize=thread
FLAGS_stress := $(SANITIZED) $(SANITIZERS) -DATLED_STRESS
FLAGS_polls := $(SANITIZED) -DATLED_POLLS
# one form of each kernel: those for other machines never run
FLAGS_coverage := -O1 -g --coverage -fprofile-update=prefer-atomic -DATLED_ONE_MACHINE
# the fuzzers' dictionaries replace the tracing of comparisons, which is
# expensive
FLAGS_fuzz := -O2 -g -fno-omit-frame-pointer $(SANITIZERS) -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp
ifeq ($(FLAGS_$(MODE)),)
$(error MODE=$(MODE) is none of release, asan, tsan, stress, polls, coverage, fuzz)
endif
BUILD ?= $(if $(filter release,$(MODE)),build,build-$(MODE))

# ---- libraries whose packages differ -----------------------------------------

# Include folders of the first package that pkg-config knows; empty when it
# knows none. $(1): packages
folders = $(patsubst -I%,%,$(shell for p in $(1); do pkg-config --cflags-only-I $$p 2>/dev/null && exit; done))

# The version of SUNDIALS, and 1 when its package was built with MPI: then its
# headers include mpi.h.
SUNDIALS := $(shell printf '\043include <sundials/sundials_config.h>\nSUNDIALS_VERSION_MAJOR SUNDIALS_MPI_ENABLED\n' | $(CC) -E -P - 2>/dev/null | tail -n 1)
SUNDIALS_MPI := $(and $(filter-out 5 6,$(firstword $(SUNDIALS))),$(filter 1,$(lastword $(SUNDIALS))))
MPI_FOLDERS := $(if $(SUNDIALS_MPI),$(call folders,mpi-c mpi ompi-c mpich))
HDF5_FOLDERS := $(call folders,hdf5-serial hdf5)
CAIRO_FOLDERS := $(sort $(call folders,cairo-ft) $(call folders,freetype2))

# The font of pictures, which the program contains: `make FONT=file` selects it.
FONT ?= $(firstword $(wildcard $(addsuffix /DejaVuSans.ttf,/usr/share/fonts/* /usr/share/fonts/*/*)))

# The newest LLVM that can build the code generator, or nothing
# (scripts/build/llvm.sh): version, llvm-config, clang, clang++, ld.lld. `make
# LLVM_VERSIONS=19` selects a version.
LLVM_VERSIONS ?=
LLVM := $(shell scripts/build/llvm.sh $(LLVM_VERSIONS))
LLVM_CONFIG := $(word 2,$(LLVM))
LLVM_CLANG := $(word 3,$(LLVM))
LLVM_CXX := $(word 4,$(LLVM))
LLVM_LLD := $(word 5,$(LLVM))

# ---- flags -------------------------------------------------------------------

# Results must not depend on the machine, so the compiler must not contract
# a*b + c to a fused operation.
CPPFLAGS_ALL := -I. -Iinclude -I$(BUILD)/generated $(addprefix -isystem ,$(wildcard /usr/include/suitesparse) $(HDF5_FOLDERS) $(MPI_FOLDERS) $(CAIRO_FOLDERS)) -MMD -MP $(CPPFLAGS)
# `make polls` counts the blocks of the library, but not those of the counter
# and of kernels, whose callers poll between pieces.
UNCOUNTED := repl/% tests/% examples/% bench/% backend/kernels/% lang/base/poll_watch lang/base/dynlib
COUNTED = $(if $(filter polls,$(MODE)),$(if $(filter $(UNCOUNTED),$*),,-fsanitize-coverage=trace-pc))
CFLAGS_ALL = -std=gnu11 $(FLAGS_$(MODE)) $(COUNTED) -Wall -Wextra $(WERROR) -fPIC -fvisibility=hidden -ffp-contract=off -pthread $(ROOM_FLAGS) $(CFLAGS_EXTRA)
KERNEL_FLAGS := $(if $(filter release,$(MODE)),-O3) -fno-math-errno -fno-trapping-math
LDFLAGS_ALL := $(FLAGS_$(MODE)) -pthread -Wl,--as-needed -Wl,-z,lazy $(CFLAGS_EXTRA) $(LDFLAGS)
# What is installed keeps its symbols for debuggers, compressed.
ifeq ($(MODE),release)
PACKED := -Wl,--compress-debug-sections=zlib
endif
# processes that end by _exit keep their counts
ifeq ($(MODE),coverage)
COUNTS := $(BUILD)/scripts/check/coverage_exit.o
LDFLAGS_ALL += -Wl,--wrap=_exit $(COUNTS)
endif

# The flags of a library from pkg-config, or a default. Unused libraries are not
# linked (--as-needed). Most libraries are loaded at run time and are not listed
# here (scripts/build/sonames.sh). Only tests and benchmarks link SUNDIALS.
library = $(shell pkg-config --libs $(1) 2>/dev/null || echo $(2))
SUNDIALS_LIBS ?= $(if $(filter-out 5 6,$(firstword $(SUNDIALS))),-lsundials_core) -lsundials_cvodes -lsundials_idas -lsundials_kinsol -lsundials_nvecserial -lsundials_sunmatrixdense \
	-lsundials_sunmatrixband -lsundials_sunmatrixsparse -lsundials_sunlinsoldense -lsundials_sunlinsolband -lsundials_sunlinsolklu \
	-lsundials_sunlinsolspgmr -lsundials_sunnonlinsolnewton -lsundials_sunnonlinsolfixedpoint $(if $(SUNDIALS_MPI),$(shell pkg-config --libs mpi-c 2>/dev/null || echo -lmpi))
SUITESPARSE_LIBS ?= -lklu -lbtf -lamd -lcolamd -lsuitesparseconfig
LIBRARY_LIBS := $(SUITESPARSE_LIBS) $(call library,zlib,-lz) -lm -ldl
PROGRAM_LIBS := $(call library,readline,-lreadline) $(call library,libpng,-lpng)

# ---- sources -----------------------------------------------------------------

ROOMS := lang data parser autodiff backend solvers api
# C files of folders and of their sub-folders, three levels deep. $(1): folders
sources = $(sort $(wildcard $(foreach depth,/*.c /*/*.c /*/*/*.c /*/*/*/*.c,$(addsuffix $(depth),$(1)))))
# backend/codegen is a separate library; the evaluator needs one file of
# backend/vmath as C
LIBRARY_SOURCES := $(filter-out backend/codegen/% backend/vmath/%,$(call sources,$(ROOMS))) backend/vmath/payne_hanek.c
# the program opens libraries by one file of lang/, which libatled.a hides
PROGRAM_SOURCES := $(call sources,repl) lang/base/dynlib.c
STDLIB := $(sort $(wildcard stdlib/*/*.dsl stdlib/*/*/*.dsl))
TEST_SOURCES := $(sort $(wildcard tests/unit/*/test_*.c))
HELPER_SOURCES := $(filter-out $(TEST_SOURCES),$(sort $(wildcard tests/unit/*/*.c)))
FUZZ_REPLAY := tests/fuzz/replay.c
FUZZ_SOURCES := $(filter-out $(FUZZ_REPLAY),$(sort $(wildcard tests/fuzz/*.c)))
HOST_SOURCES := $(sort $(wildcard examples/*.c))
RANDOM_SOURCES := $(sort $(wildcard tests/random/*.c))
CALLS_SOURCES := $(sort $(wildcard tests/calls/*.c))
SOAK_SOURCES := $(sort $(wildcard tests/soak/*.c))
FAULT_SOURCES := $(sort $(wildcard tests/faults/*.c))
BENCH_SOURCES := $(sort $(wildcard bench/*.c bench/c_reference/*.c))
PRECISION_SOURCES := $(wildcard bench/work_precision/*.c)

comma := ,
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIBRARY_OBJECTS := $(call objects,$(LIBRARY_SOURCES)) $(BUILD)/library_texts.o
PROGRAM_OBJECTS := $(call objects,$(PROGRAM_SOURCES))
HELPER_OBJECTS := $(call objects,$(HELPER_SOURCES))
TESTS_BUILT := $(patsubst %.c,$(BUILD)/tests/%,$(notdir $(TEST_SOURCES)))
REPLAYS := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/replay_%,$(FUZZ_SOURCES))
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ_SOURCES))
HOSTS := $(patsubst examples/%.c,$(BUILD)/examples/%,$(HOST_SOURCES))
BENCH_PROGRAM := $(if $(BENCH_SOURCES),$(BUILD)/bench/run)
PRECISION_PROGRAM := $(if $(PRECISION_SOURCES),$(BUILD)/bench/work_precision/run)

# The soname ends in the version of the binary interface (ABI), which changes
# when existing programs would break.
ABI := 1
SONAME := libatled.so.$(ABI)
VERSION := $(or $(shell sed -n 's/^.define ATLED_VERSION_STRING "\(.*\)".*/\1/p' include/atled.h 2>/dev/null),0.1.0)

# ---- targets -----------------------------------------------------------------

.PHONY: default all deps demo check check-long check-distros asan tsan stress polls coverage fuzz bench bench-neural work-precision site install uninstall clean help
.PHONY: tests-built hosts-built fuzzers-built benches-built FORCE
default: all

all: $(BUILD)/atled $(BUILD)/libatled.so $(BUILD)/libatled.a ## the program and both libraries, in build/

deps: ## install the libraries that Atled needs, where they are missing
	@scripts/build/deps.sh

demo: ## build, solve Burgers' equation, and say where the picture is
	@scripts/build/deps.sh
	@$(MAKE) all
	@scripts/build/demo.sh build/atled examples/burgers.dsl

# k under `make -k`: then the tests that were built run even if others did not
# build
K = $(findstring k,$(firstword -$(MAKEFLAGS)))

# Warnings are errors with the tested compilers. A change of WERROR rebuilds no
# existing object.
COMPILER := $(if $(findstring clang,$(CC)),clang,gcc) $(firstword $(subst ., ,$(shell $(CC) -dumpversion 2>/dev/null)))
TESTED_COMPILERS := gcc-12 clang-19
TESTED_WERROR := $(or $(WERROR),$(if $(filter $(TESTED_COMPILERS),$(subst $() ,-,$(COMPILER))),-Werror))

# `make check` tests the build that users get; a sanitized build has its own
# folder
TESTED = $(if $(filter check,$@),build,build-$@)

check-long: ## the same and what takes longer: all tests in every form, more random ones
	@LONG=yes $(MAKE) check

check: ## build and run every test; the last line counts them
asan: ## the same tests under the address and undefined-behaviour sanitizers
tsan: ## the same tests under the thread sanitizer
stress: ## the same tests, sanitized, with every initial capacity shrunk to one
polls: ## the same tests with a bound on the work between two polls (lang/base/poll_watch.h)
coverage: ## the same tests, then which branches they executed (scripts/check/coverage.py)
check asan tsan stress polls coverage:
	@scripts/build/deps.sh check
	@rm -f $(TESTED)/summary
	@built=yes; \
	$(MAKE) $(if $(filter check,$@),all tests-built,build/libatled-codegen.so) MODE=release BUILD=build WERROR=$(TESTED_WERROR) || built=no; \
	$(if $(filter check,$@),,[ $$built$(K) = no ] || $(MAKE) tests-built MODE=$@ BUILD=$(TESTED) WERROR=$(TESTED_WERROR) || built=no;) \
	BUILT=$$built KEEP_GOING=$(K) TESTS='$(TESTS)' CC='$(CC)' CXX='$(CXX)' tests/run_all.sh $@ $(TESTED) </dev/null$(if $(filter coverage,$@),; scripts/check/coverage.py $(TESTED))

check-distros: ## README's two commands on bare systems: Debian 12, 13, sid and another processor (as root; SYSTEMS=names)
	@scripts/check/distros.sh $(SYSTEMS)

# the compiler of the fuzz targets
CLANG ?= $(or $(LLVM_CLANG),clang)

fuzz: ## explore the fuzz targets with clang's libFuzzer, FUZZ_SECONDS=60 each (scripts/check/fuzz.sh has more settings), and the derivatives of random programs
	@scripts/build/deps.sh
	@CLANG='$(CLANG)' scripts/build/deps.sh fuzz
	@$(MAKE) fuzzers-built MODE=fuzz BUILD=build-fuzz CC='$(CLANG)'
	@[ -n '$(FUZZ_ONLY)' ] || $(MAKE) build/tests/random_programs MODE=release BUILD=build CC='$(CC)'
	@scripts/check/fuzz.sh build-fuzz build/tests/random_programs

site: ## the manual as a static site in build/site (needs MkDocs)
	@$(MAKE) all
	@scripts/docs/site.sh build

bench: ## measure; what the figures mean is in docs/
	@$(MAKE) all benches-built
	@scripts/bench/bench.sh build
work-precision: ## measure the integrators at many tolerances, and draw the pictures of docs/images/work_precision
	@$(MAKE) all benches-built
	@scripts/bench/work_precision.sh build

bench-neural: ## solve the targets of the neural methods with five seeds each: errors and seconds
	@$(MAKE) all
	@for f in bench/neural/*.dsl; do echo "$$f"; $(BUILD)/atled "$$f" || exit 1; done

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
	@echo; sed -n '/^# Useful settings/,/^$$/s/^# \{0,1\}//p' Makefile

clean: ## remove everything that was built
	rm -rf build build-asan build-tsan build-stress build-polls build-coverage build-fuzz

# ---- rules -------------------------------------------------------------------

# A file that is rewritten only when its contents change. Its dependents are
# rebuilt after a change of compiler, flags or list of files. $(1): the file,
# $(2): the contents
define remember
$(1): FORCE
	@mkdir -p $$(@D)
	@printf '%s\n' '$(subst ','\'',$(2))' | cmp -s - $$@ || printf '%s\n' '$(subst ','\'',$(2))' >$$@
endef
$(eval $(call remember,$(BUILD)/flags,$(CC) $(CPPFLAGS_ALL) $(filter-out -Werror,$(CFLAGS_ALL)) $(KERNEL_FLAGS)))
$(eval $(call remember,$(BUILD)/links,$(LDFLAGS_ALL) $(PACKED) $(LIBRARY_LIBS) $(PROGRAM_LIBS)))
$(BUILD)/links: | $(COUNTS)
$(eval $(call remember,$(BUILD)/members,$(LIBRARY_OBJECTS) $(PROGRAM_OBJECTS) $(HELPER_OBJECTS) $(call objects,$(RANDOM_SOURCES) $(CALLS_SOURCES) $(SOAK_SOURCES) $(FAULT_SOURCES))))
$(eval $(call remember,$(BUILD)/stdlib,$(STDLIB)))
FORCE:

# shows a command by its target, or in full with V=1
say = $(Q)$(if $(V),,echo '  $(1)  $@'; )
Q := $(if $(V),,@)

# the libraries loaded at run time must match the headers
SONAMES := $(BUILD)/generated/sonames.h
$(SONAMES): scripts/build/sonames.sh $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,make)scripts/build/sonames.sh '$(CC)' $(SUNDIALS_LIBS) >$@

$(BUILD)/backend/kernels/%.o: ROOM_FLAGS := $(KERNEL_FLAGS)
# gcc 12 contracts a complex product in spite of -ffp-contract=off when it
# vectorises straight-line code (SLP) on a machine with fused operations
$(BUILD)/backend/kernels/%.o: ROOM_FLAGS += $(if $(findstring clang,$(CC)),,-fno-tree-slp-vectorize)
$(BUILD)/backend/kernels/dot.o: ROOM_FLAGS := $(KERNEL_FLAGS)
# clang has the last flag from 18 on; without it complex products are calls
LIMITED_RANGE = $(shell $(CC) -fcx-limited-range -fsyntax-only -x c /dev/null 2>/dev/null && echo -fcx-limited-range)
$(BUILD)/solvers/linear/band.o: ROOM_FLAGS = $(if $(filter release,$(MODE)),-O3) -fno-math-errno -fno-trapping-math -ffp-contract=fast $(LIMITED_RANGE)
$(BUILD)/backend/native/jit/compile_service.o: ROOM_FLAGS := -DATLED_LIBDIR='"$(LIBDIR)"'
$(BUILD)/%.o: %.c $(BUILD)/flags | $(SONAMES)
	@mkdir -p $(@D)
	$(call say,compile)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -c $< -o $@

$(BUILD)/repl/plot/font.o: ROOM_FLAGS := -DATLED_FONT='"$(BUILD)/generated/font.gz"'
$(BUILD)/repl/plot/font.o: $(BUILD)/generated/font.gz
$(BUILD)/generated/font.gz: $(or $(FONT),no-font)
	@mkdir -p $(@D)
	$(call say,make)gzip -9nc '$(FONT)' >$@
.PHONY: no-font
no-font:
	@echo 'make: DejaVuSans.ttf is not installed; `make deps` does it, or apt-get install fonts-dejavu-core' >&2; exit 1

# the program embeds the pages about errors
$(BUILD)/repl/tools/commands.o: $(wildcard docs/reference/errors.md)

# native code: the vector functions and the code generator's library, which is
# loaded at run time
B := $(if $(filter release,$(MODE)),$(BUILD),build)
include backend/vmath/vmath.mk
include backend/codegen/codegen.mk

# the library embeds the files of the standard library, compressed
$(BUILD)/embed_library: scripts/build/embed_stdlib.c $(BUILD)/flags
	$(call say,link)$(HOSTCC) -std=gnu11 -O1 -Wall -Wextra $< -lz -o $@

$(BUILD)/library_texts.c: $(BUILD)/embed_library $(BUILD)/stdlib $(STDLIB)
	$(call say,make)$(BUILD)/embed_library $(STDLIB) >$@

$(BUILD)/library_texts.o: $(BUILD)/library_texts.c $(BUILD)/flags
	$(call say,compile)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -c $< -o $@

# The whole library with its internal symbols, for the tests. The two installed
# libraries export only the symbols of the public header.
$(BUILD)/internal.a: $(LIBRARY_OBJECTS) $(BUILD)/members
	@rm -f $@
	$(call say,archive)$(AR) qcs $@ $(LIBRARY_OBJECTS)

$(BUILD)/libatled.a: $(LIBRARY_OBJECTS) $(BUILD)/members
	@rm -f $@
	$(Q)$(CC) -r -nostdlib -o $(BUILD)/libatled.o $(LIBRARY_OBJECTS)
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='atled_*' $(BUILD)/libatled.o
	$(call say,archive)$(AR) qcs $@ $(BUILD)/libatled.o

$(BUILD)/$(SONAME): $(LIBRARY_OBJECTS) $(BUILD)/members $(BUILD)/links api/exports.map
	$(call say,link)$(CC) $(LDFLAGS_ALL) $(PACKED) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=api/exports.map \
		$(if $(filter release,$(MODE)),-Wl$(comma)-z$(comma)defs) $(LIBRARY_OBJECTS) $(LIBRARY_LIBS) -o $@

$(BUILD)/libatled.so: $(BUILD)/$(SONAME)
	$(call say,link)ln -sf $(SONAME) $@

$(BUILD)/atled: $(PROGRAM_OBJECTS) $(BUILD)/libatled.a $(BUILD)/members $(BUILD)/links
	$(call say,link)$(CC) $(LDFLAGS_ALL) $(PACKED) $(PROGRAM_OBJECTS) $(BUILD)/libatled.a $(PROGRAM_LIBS) $(LIBRARY_LIBS) -o $@

# tests: a program for each tests/unit/MODULE/test_NAME.c, linked with the
# helpers beside it, repl/ and the library
$(BUILD)/helpers.a: $(HELPER_OBJECTS) $(PROGRAM_OBJECTS) $(BUILD)/members
	@rm -f $@
	$(call say,archive)$(AR) qcs $@ $(HELPER_OBJECTS) $(PROGRAM_OBJECTS)

INSIDE := $(BUILD)/helpers.a $(BUILD)/internal.a
# this test calls SUNDIALS directly, for comparison
$(BUILD)/tests/test_ode: private PROGRAM_LIBS += $(SUNDIALS_LIBS)
$(foreach source,$(TEST_SOURCES),$(eval $(BUILD)/tests/$(basename $(notdir $(source))): $(BUILD)/$(source:.c=.o)))
$(TESTS_BUILT): $(INSIDE) $(BUILD)/links
	@mkdir -p $(@D)
	$(call say,link)$(CC) $(LDFLAGS_ALL) $(filter %/$(@F).o,$^) $(INSIDE) $(PROGRAM_LIBS) $(LIBRARY_LIBS) -o $@

$(REPLAYS): $(BUILD)/tests/replay_%: $(BUILD)/tests/fuzz/%.o $(call objects,$(FUZZ_REPLAY)) $(INSIDE) $(BUILD)/links
	$(call say,link)$(CC) $(LDFLAGS_ALL) $< $(call objects,$(FUZZ_REPLAY)) $(INSIDE) $(PROGRAM_LIBS) $(LIBRARY_LIBS) -o $@

$(FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/tests/fuzz/%.o $(INSIDE) $(BUILD)/links
	@mkdir -p $(@D)
	$(call say,link)$(CC) $(LDFLAGS_ALL) -fsanitize=fuzzer $< $(INSIDE) $(PROGRAM_LIBS) $(LIBRARY_LIBS) -o $@

# C programs that embed Atled use the public header and the shared library, as a
# user's program does
$(HOSTS): $(BUILD)/examples/%: $(BUILD)/examples/%.o $(BUILD)/libatled.so $(BUILD)/links
	$(call say,link)$(CC) $(LDFLAGS_ALL) $< -L$(BUILD) -Wl,-rpath,'$$ORIGIN/..' -latled -lm -o $@

# the benchmarks, too; their C side is compiled for this machine, except scalar
# code, which has common flags
$(BUILD)/bench/c_reference/%.o: ROOM_FLAGS := -O3 -march=native -ffp-contract=fast -fno-math-errno -fno-trapping-math
$(BUILD)/bench/c_reference/scalar.o $(BUILD)/bench/c_reference/ode.o: ROOM_FLAGS := -O2
# gcc 14.2 for Zen 5 miscompiles the 3 x 3 complex systems to NaN when it
# vectorises straight-line code
$(BUILD)/bench/c_reference/stiff.o: ROOM_FLAGS := -O3 -march=native -ffp-contract=fast -fno-math-errno -fno-trapping-math -fno-tree-slp-vectorize
$(BENCH_PROGRAM): $(call objects,$(BENCH_SOURCES)) $(BUILD)/libatled.so $(BUILD)/links
	$(call say,link)$(CC) $(LDFLAGS_ALL) $(call objects,$(BENCH_SOURCES)) -L$(BUILD) -Wl,-rpath,'$$ORIGIN/..' -latled $(SUNDIALS_LIBS) -lm -ldl -o $@

$(BUILD)/bench/work_precision/%.o: ROOM_FLAGS := -Ibench -O3 -march=native -ffp-contract=fast -fno-math-errno -fno-trapping-math
$(PRECISION_PROGRAM): $(call objects,$(PRECISION_SOURCES)) $(BUILD)/libatled.so $(BUILD)/links
	$(call say,link)$(CC) $(LDFLAGS_ALL) $(call objects,$(PRECISION_SOURCES)) -L$(BUILD) -Wl,-rpath,'$$ORIGIN/../..' -latled $(SUNDIALS_LIBS) -lm -o $@

# random programs on several engines: all files of tests/random make one program
RANDOM_PROGRAMS := $(BUILD)/tests/random_programs
$(RANDOM_PROGRAMS): $(call objects,$(RANDOM_SOURCES)) $(BUILD)/internal.a $(BUILD)/members $(BUILD)/links
	$(call say,link)$(CC) $(LDFLAGS_ALL) $(call objects,$(RANDOM_SOURCES)) $(BUILD)/internal.a $(LIBRARY_LIBS) -o $@

# programs with failing allocations, calls of the system and interrupts; HDF5 calls the functions of tests/faults/io_faults.c
FAULT_TEST := $(BUILD)/tests/fault_test
$(FAULT_TEST): $(call objects,$(FAULT_SOURCES)) $(INSIDE) $(BUILD)/links
	$(call say,link)$(CC) $(LDFLAGS_ALL) -rdynamic $(call objects,$(FAULT_SOURCES)) $(INSIDE) $(LIBRARY_LIBS) -o $@

# calls of library functions, and long work in many contexts, through the
# public header
PUBLIC_TESTS := $(BUILD)/tests/library_calls $(BUILD)/tests/soak_test
$(BUILD)/tests/library_calls: $(call objects,$(CALLS_SOURCES))
$(BUILD)/tests/soak_test: $(call objects,$(SOAK_SOURCES))
$(PUBLIC_TESTS): $(BUILD)/libatled.so $(BUILD)/members $(BUILD)/links
	@mkdir -p $(@D)
	$(call say,link)$(CC) $(LDFLAGS_ALL) $(filter %.o,$^) -L$(BUILD) -Wl,-rpath,'$$ORIGIN/..' -latled -lm -o $@

tests-built: $(TESTS_BUILT) $(REPLAYS) $(RANDOM_PROGRAMS) $(FAULT_TEST) $(PUBLIC_TESTS) $(if $(PROGRAM_SOURCES),$(BUILD)/atled) hosts-built
hosts-built: $(HOSTS)
fuzzers-built: $(FUZZERS)
benches-built: $(BENCH_PROGRAM) $(PRECISION_PROGRAM)

.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# ---- installation ------------------------------------------------------------

TO := $(DESTDIR)$(PREFIX)
TO_LIB := $(DESTDIR)$(LIBDIR)
MAN_PAGES := $(wildcard docs/man/*.1)

install: all ## put program, libraries and header under PREFIX (/usr/local), staged in DESTDIR
	install -d '$(TO)/bin' '$(TO)/include' '$(TO_LIB)/pkgconfig' '$(TO_LIB)/cmake/atled'
	install -m 755 $(BUILD)/atled '$(TO)/bin/atled'
	install -m 755 $(BUILD)/$(SONAME) '$(TO_LIB)/$(SONAME)'
	ln -sf $(SONAME) '$(TO_LIB)/libatled.so'
	install -m 644 $(BUILD)/libatled.a '$(TO_LIB)/libatled.a'
	$(if $(CODEGEN_LIBRARY),install -d '$(TO_LIB)/atled' && install -m 755 $(CODEGEN_LIBRARY) '$(TO_LIB)/atled/libatled-codegen.so')
	install -m 644 include/atled.h '$(TO)/include/atled.h'
	install -d '$(TO)/share/doc/atled' && install -m 644 repl/plot/font_licence.txt '$(TO)/share/doc/atled/font_licence.txt'
	libs=$$(readelf -d $(BUILD)/$(SONAME) | sed -n '/NEEDED/{/libc\.so/d;s/.*\[lib\(.*\)\.so.*/-l\1/p;}' | tr '\n' ' '); \
	for file in pkgconfig/atled.pc cmake/atled/atled-config.cmake cmake/atled/atled-config-version.cmake; do \
		sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@SONAME@|$(SONAME)|' \
			-e "s|@LIBS@|$$libs|" "$${file##*/}.in" >"$(TO_LIB)/$$file" || exit 1; \
	done
	$(if $(MAN_PAGES),install -d '$(TO)/share/man/man1' && install -m 644 $(MAN_PAGES) '$(TO)/share/man/man1/')
	install -d '$(TO)/share/bash-completion/completions' '$(TO)/share/zsh/site-functions' '$(TO)/share/fish/vendor_completions.d'
	$(BUILD)/atled --completion bash >'$(TO)/share/bash-completion/completions/atled'
	$(BUILD)/atled --completion zsh >'$(TO)/share/zsh/site-functions/_atled'
	$(BUILD)/atled --completion fish >'$(TO)/share/fish/vendor_completions.d/atled.fish'

uninstall: ## remove what `make install` put there
	rm -f '$(TO)/bin/atled' '$(TO)/include/atled.h' '$(TO_LIB)/pkgconfig/atled.pc'
	rm -f '$(TO_LIB)/cmake/atled/atled-config.cmake' '$(TO_LIB)/cmake/atled/atled-config-version.cmake' && rmdir '$(TO_LIB)/cmake/atled' '$(TO_LIB)/cmake' 2>/dev/null || true
	rm -f '$(TO)/share/doc/atled/font_licence.txt' && rmdir '$(TO)/share/doc/atled' 2>/dev/null || true
	rm -f '$(TO_LIB)/atled/libatled-codegen.so' && rmdir '$(TO_LIB)/atled' 2>/dev/null || true
	rm -f '$(TO_LIB)/$(SONAME)' '$(TO_LIB)/libatled.so' '$(TO_LIB)/libatled.a'
	rm -f $(patsubst docs/man/%,'$(TO)/share/man/man1/%',$(MAN_PAGES))
	rm -f '$(TO)/share/bash-completion/completions/atled' '$(TO)/share/zsh/site-functions/_atled' '$(TO)/share/fish/vendor_completions.d/atled.fish'
