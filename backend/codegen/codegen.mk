# codegen.mk - the code generator's library, $(BUILD)/libatled-codegen.so: our emitter with LLVM inside, linked statically and hidden.
#
# There is one, that of the release build: LLVM has neither our assertions nor a sanitizer's checks, and no kind of build makes code of its own. In the folders of
# the other kinds a link names it.
#
# The main Makefile includes it after backend/vmath/vmath.mk and its own rules (it uses `say`, $(BUILD)/flags and the rule for $(BUILD)/%.o).
# Needs LLVM with clang and lld (scripts/build/llvm.sh). It gives
#   CODEGEN_LIBRARY  the library, or nothing where LLVM is missing or the machine is none that we have code for: then programs run on the evaluator

CODEGEN_BACK_END_x86_64 := x86
CODEGEN_BACK_END_aarch64 := aarch64
CODEGEN_COMPONENTS ?= $(addprefix $(CODEGEN_BACK_END_$(ARCHITECTURE)),codegen info desc asmparser) passes bitreader linker

CODEGEN_SOURCES := $(sort $(wildcard backend/codegen/*.c))
CODEGEN_OBJECTS := $(CODEGEN_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/backend/codegen/vmath_data.o
CODEGEN_LIBRARY := $(if $(and $(LLVM),$(ARCHITECTURE)),$(BUILD)/libatled-codegen.so)

# Asked when the library is linked. Some systems have LLVM as a shared library only. libzstd goes by its run-time name, since its
# development files need not be there.
CODEGEN_STATIC = $(if $(shell $(LLVM_CONFIG) --link-static --libs $(CODEGEN_COMPONENTS) 2>/dev/null),--link-static,--link-shared)
CODEGEN_LLVM = $(shell $(LLVM_CONFIG) $(CODEGEN_STATIC) --ldflags --libs $(CODEGEN_COMPONENTS)) \
	$(patsubst -lzstd,-l:libzstd.so.1,$(shell $(LLVM_CONFIG) $(CODEGEN_STATIC) --system-libs $(CODEGEN_COMPONENTS)))

$(CODEGEN_SOURCES:%.c=$(BUILD)/%.o): private ROOM_FLAGS = -isystem $(shell $(LLVM_CONFIG) --includedir)

$(BUILD)/backend/codegen/vmath_data.o: backend/codegen/vmath_data.S $(VMATH_BITCODE)
	@mkdir -p $(@D)
	$(call say,compile)$(CC) -Wa,-I$(dir $(firstword $(VMATH_BITCODE))) -c $< -o $@

# The functions that every module may share are compiled beforehand, by the same library without any (EMPTY) and a program that asks it for them.
# A cross build whose programs this machine cannot run leaves them out: make KERNELS=
KERNELS_x86_64 := sse2 avx2 avx512
KERNELS_aarch64 := neon
KERNELS := $(KERNELS_$(ARCHITECTURE):%=$(BUILD)/codegen/kernels_%.bin)
MAKE_KERNELS := $(BUILD)/codegen/make_kernels

$(BUILD)/backend/codegen/precompiled_data.o: backend/codegen/precompiled_data.S $(KERNELS)
	@mkdir -p $(@D)
	$(call say,compile)$(CC) $(if $(KERNELS),-Wa$(comma)-I$(BUILD)/codegen,-DEMPTY) -c $< -o $@

$(BUILD)/codegen/kernels_none.o: backend/codegen/precompiled_data.S
	@mkdir -p $(@D)
	$(call say,compile)$(CC) -DEMPTY -c $< -o $@

$(MAKE_KERNELS): $(BUILD)/scripts/build/precompile_kernels.o $(BUILD)/internal.a $(BUILD)/links
	@mkdir -p $(@D)
	$(call say,link)$(CC) $(LDFLAGS_ALL) $< $(BUILD)/internal.a $(LIBRARY_LIBS) -o $@

# made anew when what they are made by changes, not with every file of the library that the program is linked with
$(KERNELS): $(BUILD)/codegen/kernels_%.bin: $(BUILD)/codegen/empty.so $(BUILD)/scripts/build/precompile_kernels.o $(BUILD)/backend/native/kir/builder.o $(BUILD)/backend/native/kir/cpu.o | $(MAKE_KERNELS)
	$(call say,make)$(MAKE_KERNELS) $(BUILD)/codegen/empty.so $* $@

all tests-built: $(CODEGEN_LIBRARY)
ifeq ($(LLVM),)
all: no-codegen
.PHONY: no-codegen
no-codegen:
	@echo 'no native code: LLVM 19, 20 or 21 with clang and lld was not found (make deps); programs run in the evaluator' >&2
endif

CODEGEN_LINK = $(LLVM_CXX) -shared --ld-path=$(LLVM_LLD) -o $@ $(filter %.o,$^) \
	-Wl,--version-script=backend/codegen/exports.map -Wl,--gc-sections,--icf=all,-Bsymbolic,-s -Wl,-z,pack-relative-relocs \
	-Wl,--as-needed -static-libstdc++ -static-libgcc $(CODEGEN_LLVM)

$(BUILD)/codegen/empty.so: $(CODEGEN_OBJECTS) $(BUILD)/codegen/kernels_none.o backend/codegen/exports.map $(BUILD)/links
	$(call say,link)$(CODEGEN_LINK)

ifeq ($(MODE),release)
$(BUILD)/libatled-codegen.so: $(CODEGEN_OBJECTS) $(BUILD)/backend/codegen/precompiled_data.o backend/codegen/exports.map $(BUILD)/links
	$(call say,link)$(CODEGEN_LINK)
else
$(BUILD)/libatled-codegen.so: | $(VMATH_LOOPS)
	@[ -e build/libatled-codegen.so ] || $(MAKE) build/libatled-codegen.so MODE=release BUILD=build
	$(call say,link)ln -sfr build/libatled-codegen.so $@
endif
