# Targets of libFuzzer, fuzz_X.c. Without it a target replays files: seeds, which
# make-seeds.py makes, and inputs that fuzzing found (corpus/X).

FUZZ_NAMES = $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ	= $(FUZZ_NAMES:%=$(O)/tests/fuzz/fuzz_%)

# The seeds of the usual build serve builds with a sanitizer.
SEEDS	?= $(O)/tests/fuzz/seeds
$(O)/tests/fuzz/seeds/made: tests/fuzz/make-seeds.py $(SHIM) $(O)/perfrec $(O)/perfrec-collect \
		$(O)/tests/progs/demo $(addprefix $(O)/tests/progs/trace/,coroutines counters \
		flushed ranges switches tsd) $(EVERYTHING) | $(O)/perfrec-reader
	$(say) SEEDS $(@D)
	$(Q)python3 tests/fuzz/make-seeds.py $(O) $(@D)
	$(Q)touch $@

.PHONY: check-fuzz fuzz fuzz-targets
check-fuzz: fuzz-targets $(SEEDS)/made
	$(Q)SEEDS=$(SEEDS) sh scripts/fuzz.sh $(O) $(if $(FUZZ_LIB),--runs,--replay) $(FUZZ_NAMES)
fuzz-targets: all $(FUZZ) $(O)/tests/fuzz/perfrec-reader $(O)/tests/tools/within

# make fuzz TIME=SECONDS [TARGET="X ..."]: clang compiles the collector with
# libFuzzer's coverage.
CLANG	?= clang
TIME	?= 60
TARGET	?= $(FUZZ_NAMES)
FUZZ_BUILD = $(O)/fuzz
FUZZ_MAKE = $(MAKE) --no-print-directory O=$(FUZZ_BUILD) CC="$(CLANG)" HOSTCC="$(CC)" \
	  SAN=fuzzer-no-link,address,undefined SAN_OPT='-fno-sanitize-recover=all $(FUZZ_OPT)'
# -O0 compiles in a quarter of the time, but halves the inputs per second.
FUZZ_OPT =
fuzz: $(SEEDS)/made
	$(Q)$(FUZZ_MAKE) $(ALL_CPUS) fuzz-targets
	$(Q)SEEDS=$(SEEDS) sh scripts/fuzz.sh $(FUZZ_BUILD) $(TIME) $(TARGET)

# A gcc build with AddressSanitizer uses clang's libFuzzer if installed. That has
# a __sanitizer_cov_trace_pc() of its own, which only reports an error.
FUZZ_LIB := $(if $(EDGES),$(wildcard $(shell $(CLANG) \
	  -print-file-name=libclang_rt.fuzzer-$(MACHINE).a 2>/dev/null)))
FUZZ_LINK = $(if $(findstring fuzzer,$(SAN)),-fsanitize=fuzzer, \
	  $(if $(FUZZ_LIB),$(FUZZ_LIB) -lstdc++ -z muldefs))
# libFuzzer has a main function.
FUZZ_MAIN = $(if $(strip $(FUZZ_LINK)),,$(O)/tests/fuzz/replay.o)
$(FUZZ): %: %.o $(FUZZ_MAIN) $(O)/libcollector.a | $(O)/tests/fuzz/perfrec-reader
	$(say) LD $@
	$(link_collector) $(FUZZ_LINK) $(PKG_LIBS)
$(O)/tests/fuzz/count_edges.o: tests/fuzz/count_edges.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) -O2 -c -o $@ $<

$(FUZZ) $(FUZZ:%=%.o) $(O)/tests/fuzz/replay.o: Makefile tests/fuzz/rules.mk
