# Targets of libFuzzer, fuzz_X.c. Without it a target replays files: seeds, and
# inputs that fuzzing found (corpus/X).

FUZZ_NAMES = $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ	= $(FUZZ_NAMES:%=$(O)/tests/fuzz/fuzz_%)

.PHONY: check-fuzz fuzz fuzz-targets
check-fuzz: fuzz-targets
	$(Q)set -e; for f in $(FUZZ_NAMES); do \
		sh scripts/fuzz.sh $(O) --replay $$f; done
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

# libFuzzer has a main function.
FUZZ_MAIN = $(if $(findstring fuzzer,$(SAN)),,$(O)/tests/fuzz/replay.o)
$(O)/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(O)/libcollector.a \
		$(O)/tests/fuzz/replay.o | $(O)/tests/fuzz/perfrec-reader
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(PKG_CFLAGS) \
		$(if $(FUZZ_MAIN),,-fsanitize=fuzzer) -o $@ $< $(FUZZ_MAIN) \
		$(O)/libcollector.a $(PKG_LIBS) $(LDFLAGS)
$(O)/tests/fuzz/replay.o: tests/fuzz/replay.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) -c -o $@ $<

$(FUZZ): Makefile tests/fuzz/rules.mk
