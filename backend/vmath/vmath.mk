# vmath.mk - builds the vector maths; the main Makefile includes it.
#
# Needs: LLVM (scripts/build/llvm.sh); B, the folder of the release build: the vector maths is the same for all kinds of build. It gives
#   VMATH_BITCODE    $(B)/vmath/vmath_L.bc for L = 1, 2, 4, 8 doubles in a vector
#   VMATH_LOOPS      objects with loops over arrays (backend/vmath/loops.h) for tests and measurements
#   VMATH_EVALUATOR  such objects for AVX2 and for AVX-512, or for NEON, parts of the library: the evaluator's maths over arrays (backend/kernels/vector_math.c)
#   TEST_VMATH       $(BUILD)/tests/test_vmath and what links it: TEST_VMATH_LIBS
# Where LLVM is missing the first two are empty, and the test says that it skips.

B ?= $(or $(BUILD),build)
VMATH_LANES := 1 2 4 8
VMATH_HERE := $(if $(LLVM),yes)
VMATH_EVALUATOR_x86_64 := avx2 avx512
VMATH_EVALUATOR_aarch64 := neon
VMATH_EVALUATOR := $(if $(VMATH_HERE),$(VMATH_EVALUATOR_$(ARCHITECTURE):%=$(B)/vmath/evaluator_%.o))
VMATH_HEADERS := $(wildcard backend/vmath/*.h)
VMATH_BITCODE := $(if $(VMATH_HERE),$(VMATH_LANES:%=$(B)/vmath/vmath_%.bc))
VMATH_LOOPS := $(if $(VMATH_HERE),$(VMATH_LANES:%=$(B)/vmath/loops_%.o))

# Always for the same x86, whatever the machine: with AVX-512 clang passes vectors of every width as vectors, which is how generated
# code calls them; finish_bitcode removes what speaks of a target. No flag may allow reordering or fusing: the code counts on neither.
VMATH_FLAGS := --target=x86_64-linux-gnu -mavx512f -ffreestanding -std=gnu11 -O2 -fno-math-errno -ffp-contract=off -fno-vectorize \
	-fno-slp-vectorize -fno-strict-aliasing -fno-pic -fno-stack-protector -fno-asynchronous-unwind-tables -Wall -Wextra $(WERROR) -I.
# As generated code is compiled here. Fused multiply-adds are the machine's where it has them, else the C library's.
VMATH_NATIVE := $(if $(ARCHITECTURE),--target=$(ARCHITECTURE)-linux-gnu) -O2 -ffp-contract=off -fno-vectorize -fno-slp-vectorize -fPIC
VMATH_FUSED := $(if $(filter x86_64,$(ARCHITECTURE)),$(if $(shell grep -qsw avx2 /proc/cpuinfo && grep -qsw fma /proc/cpuinfo && echo yes),-mavx2 -mfma))

$(B)/vmath/finish_bitcode: backend/vmath/finish_bitcode.c
	@mkdir -p $(@D)
	@$(if $(V),,echo '  link  $@';) $(or $(HOSTCC),cc) -std=gnu11 -O1 -Wall -Wextra -isystem $$($(LLVM_CONFIG) --includedir) $< \
		-L$$($(LLVM_CONFIG) --libdir) -Wl,-rpath,$$($(LLVM_CONFIG) --libdir) $$($(LLVM_CONFIG) --libs --link-shared) -o $@

$(B)/vmath/vmath_%.bc: backend/vmath/vmath.c $(VMATH_HEADERS) backend/vmath/vmath.mk $(B)/vmath/finish_bitcode
	@$(if $(V),,echo '  compile  $@';) $(LLVM_CLANG) $(VMATH_FLAGS) -DLANES64=$* -c -emit-llvm $< -o $@.raw && \
	$(B)/vmath/finish_bitcode $@.raw $@ && rm -f $@.raw

$(B)/vmath/loops_%.bc: backend/vmath/loops.c backend/vmath/vmath.c $(VMATH_HEADERS) backend/vmath/vmath.mk $(B)/vmath/finish_bitcode
	@$(if $(V),,echo '  compile  $@';) $(LLVM_CLANG) $(VMATH_FLAGS) -DLANES64=$* -c -emit-llvm $< -o $@.raw && \
	$(B)/vmath/finish_bitcode $@.raw $@ && rm -f $@.raw

$(B)/vmath/loops_%.o: $(B)/vmath/loops_%.bc
	@$(if $(V),,echo '  compile  $@';) $(LLVM_CLANG) -Wno-override-module $(VMATH_NATIVE) $(VMATH_FUSED) -c -x ir $< -o $@

# Everything in them but the table is their own: other objects have the functions for rare arguments of the same widths, made for other registers.
EVALUATOR_FLAGS_avx2 := -mavx2 -mfma
EVALUATOR_FLAGS_avx512 := -mavx512f -mavx512dq -mavx512vl -mfma
$(B)/vmath/evaluator_avx2.o $(B)/vmath/evaluator_neon.o: $(B)/vmath/loops_4.bc
$(B)/vmath/evaluator_avx512.o: $(B)/vmath/loops_8.bc
$(VMATH_EVALUATOR): $(B)/vmath/evaluator_%.o:
	@$(if $(V),,echo '  compile  $@';) $(LLVM_CLANG) -Wno-override-module $(VMATH_NATIVE) $(EVALUATOR_FLAGS_$*) -c -x ir $< -o $@.raw && \
	$(OBJCOPY) --redefine-sym vmath_$(basename $(<F))=vmath_for_$* --keep-global-symbol=vmath_for_$* $@.raw $@ && rm -f $@.raw
LIBRARY_OBJECTS += $(VMATH_EVALUATOR)
$(BUILD)/backend/kernels/vector_math.o $(BUILD)/tests/unit/codegen/test_vmath.o: ROOM_FLAGS := $(if $(VMATH_EVALUATOR),-DWITH_VMATH)

# The test links with the loops, and with MPFR where its header is: without it the test skips.
TEST_VMATH := $(BUILD)/tests/test_vmath
TEST_VMATH_LIBS := $(VMATH_LOOPS) $(BUILD)/internal.a $(if $(wildcard /usr/include/mpfr.h /usr/local/include/mpfr.h),-lmpfr -lgmp) -lm
$(TEST_VMATH): $(VMATH_LOOPS)
$(TEST_VMATH): private PROGRAM_LIBS += $(TEST_VMATH_LIBS)
