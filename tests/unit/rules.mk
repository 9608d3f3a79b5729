# Unit tests: one program for each test_*.c, linked with the whole collector. One program
# for several tests would link faster, but 13 of them have a malloc(), close() or the like
# of their own, which the others must not get.

UNIT_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard tests/unit/*/test_*.c))
UNIT	= $(patsubst %.o,$(O)/tests/unit/%,$(notdir $(UNIT_OBJ)))

.PHONY: check-unit unit-tests
unit-tests: all $(UNIT) $(TOOLS) $(O)/tests/unit/perfrec-reader
check-unit: unit-tests
	$(Q)O=$(O) sh scripts/run-suites.sh $(UNIT)

# Programs look for perfrec-reader in their own folder.
$(O)/tests/unit/perfrec-reader $(O)/tests/fuzz/perfrec-reader \
		$(O)/tests/bench/perfrec-reader: $(O)/perfrec-reader
	$(Q)mkdir -p $(@D)
	$(Q)ln -sf ../../perfrec-reader $@

$(foreach object,$(UNIT_OBJ),$(eval \
	  $(O)/tests/unit/$(basename $(notdir $(object))): $(object)))
$(UNIT): $(O)/libcollector.a | $(O)/tests/unit/perfrec-reader
	$(say) LD $@
	$(link_collector) $(CHECK_LIBS) $(PKG_LIBS)

# These two run the checker of traces.
CHECKER_TESTS = $(O)/tests/unit/tools/test_trace_check.o $(O)/tests/unit/drain/test_notes.o
unit-tests: $(O)/tests/tools/trace_check
$(CHECKER_TESTS): CPPFLAGS += \
		-DTRACE_CHECK='"$(abspath $(O))/tests/tools/trace_check"'

# Compiles programs of the source tree.
unit-tests: $(O)/entry.specs
$(O)/tests/unit/code/test_patch.o: CPPFLAGS += -DSOURCES='"$(abspath .)"' \
		-DENTRY_SPECS='"$(abspath $(O))/entry.specs"'

$(O)/tests/unit/states/test_states.o: CPPFLAGS += -DSOURCES='"$(abspath .)"'

$(UNIT) $(UNIT_OBJ): Makefile tests/unit/rules.mk
