# Unit tests: one program for each test_*.c, linked with the whole collector. One program
# for several tests would link faster, but 13 of them have a malloc(), close() or the like
# of their own, which the others must not get.

UNIT	= $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(wildcard tests/unit/test_*.c))

.PHONY: check-unit unit-tests
unit-tests: all $(UNIT) $(TOOLS) $(O)/tests/unit/perfrec-reader
check-unit: unit-tests
	$(Q)O=$(O) sh scripts/run-suites.sh $(UNIT)

# Programs look for perfrec-reader in their own folder.
$(O)/tests/unit/perfrec-reader $(O)/tests/fuzz/perfrec-reader \
		$(O)/tests/bench/perfrec-reader: $(O)/perfrec-reader
	$(Q)mkdir -p $(@D)
	$(Q)ln -sf ../../perfrec-reader $@

$(UNIT): %: %.o $(O)/libcollector.a | $(O)/tests/unit/perfrec-reader
	$(say) LD $@
	$(link_collector) $(CHECK_LIBS) $(PKG_LIBS)

# These two run the checker of traces.
CHECKER_TESTS = $(O)/tests/unit/test_trace_check $(O)/tests/unit/test_notes
$(CHECKER_TESTS): $(O)/tests/tools/trace_check
$(CHECKER_TESTS:%=%.o): CPPFLAGS += \
		-DTRACE_CHECK='"$(abspath $(O))/tests/tools/trace_check"'

# Compiles programs of the source tree.
$(O)/tests/unit/test_patch: $(wildcard tests/unit/victims/*) $(O)/entry.specs
$(O)/tests/unit/test_patch.o: CPPFLAGS += -DSOURCES='"$(abspath .)"' \
		-DENTRY_SPECS='"$(abspath $(O))/entry.specs"'

$(O)/tests/unit/test_states.o: CPPFLAGS += -DSOURCES='"$(abspath .)"'

$(UNIT) $(UNIT:%=%.o): Makefile tests/unit/rules.mk
