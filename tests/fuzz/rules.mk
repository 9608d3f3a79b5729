# Targets of libFuzzer, fuzz_X.c. Without it a target replays files: seeds, and
# inputs that fuzzing found (corpus/X).

FUZZ_NAMES = $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ	= $(FUZZ_NAMES:%=$(O)/tests/fuzz/fuzz_%)

.PHONY: check-fuzz fuzz fuzz-targets
check-fuzz: fuzz-targets
	$(Q)sh scripts/fuzz.sh $(O) $(if $(FUZZ_LIB),--runs,--replay) $(FUZZ_NAMES)
fuzz-targets: all $(FUZZ) $(O)/tests/fuzz/perfrec-reader

# make fuzz TIME=SECONDS [TARGET="X ..."]: clang compiles the collector with what
# shows libFuzzer which code an input reaches.
CLANG	?= clang
TIME	?= 60
TARGET	?= $(FUZZ_NAMES)
FUZZ_BUILD = $(O)/fuzz
FUZZ_MAKE = $(MAKE) --no-print-directory O=$(FUZZ_BUILD) CC="$(CLANG)" HOSTCC="$(CC)" \
	  SAN=fuzzer-no-link,address,undefined SAN_OPT='-fno-sanitize-recover=all $(FUZZ_OPT)'
# -O0: compiles in a quarter of the time, and runs half as many inputs.
FUZZ_OPT =
fuzz:
	$(Q)$(FUZZ_MAKE) $(ALL_CPUS) fuzz-targets
	$(Q)sh scripts/fuzz.sh $(FUZZ_BUILD) $(TIME) $(TARGET)

# A build by gcc with AddressSanitizer takes libFuzzer from clang, if it is there.
# libFuzzer has a __sanitizer_cov_trace_pc(), which only says that it is none.
FUZZ_LIB := $(if $(EDGES),$(wildcard $(shell $(CLANG) \
	  -print-file-name=libclang_rt.fuzzer-$(MACHINE).a 2>/dev/null)))
FUZZ_LINK = $(if $(findstring fuzzer,$(SAN)),-fsanitize=fuzzer, \
	  $(if $(FUZZ_LIB),$(FUZZ_LIB) -lstdc++ -z muldefs))
# libFuzzer has a main function.
FUZZ_MAIN = $(if $(strip $(FUZZ_LINK)),,$(O)/tests/fuzz/replay.o)
$(O)/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(O)/libcollector.a \
		$(O)/tests/fuzz/replay.o | $(O)/tests/fuzz/perfrec-reader
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(PKG_CFLAGS) \
		-o $@ $< $(FUZZ_MAIN) \
		$(O)/libcollector.a $(FUZZ_LINK) $(PKG_LIBS) $(LDFLAGS)
$(O)/tests/fuzz/count_edges.o: tests/fuzz/count_edges.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) -O2 -c -o $@ $<
$(O)/tests/fuzz/replay.o: tests/fuzz/replay.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) -c -o $@ $<

$(FUZZ): Makefile tests/fuzz/rules.mk
