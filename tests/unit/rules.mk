# Unit tests, linked with the whole collector: one program for each folder (ROOM_tests),
# and in unit/alone one for each file, because these replace malloc(), close() or the like
# for the whole program.

UNIT_ROOMS = $(filter-out alone,$(patsubst tests/unit/%/,%,$(sort \
	  $(dir $(wildcard tests/unit/*/test_*.c)))))
UNIT_ALONE = $(patsubst tests/unit/alone/%.c,$(O)/tests/unit/%,$(wildcard \
	  tests/unit/alone/test_*.c))
UNIT	= $(UNIT_ROOMS:%=$(O)/tests/unit/%_tests) $(UNIT_ALONE)
# What scripts/run-suites.sh runs, each suite in a process of its own: PROGRAM:SUITE.
UNIT_SUITES = $(foreach room,$(UNIT_ROOMS),$(patsubst test_%.c, \
	  $(O)/tests/unit/$(room)_tests:%,$(notdir $(wildcard tests/unit/$(room)/test_*.c)))) \
	  $(UNIT_ALONE)
UNIT_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard tests/unit/*/test_*.c)) $(O)/tests/suite.o

.PHONY: check-unit unit-tests
unit-tests: all $(UNIT) $(TOOLS) $(O)/tests/unit/perfrec-reader
check-unit: unit-tests
	$(Q)O=$(O) sh scripts/run-suites.sh $(UNIT_SUITES)

# Programs look for perfrec-reader in their own folder.
$(O)/tests/unit/perfrec-reader $(O)/tests/fuzz/perfrec-reader \
		$(O)/tests/bench/perfrec-reader: $(O)/perfrec-reader
	$(Q)mkdir -p $(@D)
	$(Q)ln -sf ../../perfrec-reader $@

$(foreach room,$(UNIT_ROOMS),$(eval $(O)/tests/unit/$(room)_tests: \
	  $(filter $(O)/tests/unit/$(room)/%,$(UNIT_OBJ))))
$(foreach test,$(UNIT_ALONE),$(eval $(test): $(O)/tests/unit/alone/$(notdir $(test)).o))
$(UNIT): $(O)/tests/suite.o $(O)/libcollector.a | $(O)/tests/unit/perfrec-reader
	$(say) LD $@
	$(link_collector) $(CHECK_LIBS) $(PKG_LIBS)

# These two run the checker of traces.
CHECKER_TESTS = $(addprefix $(O)/tests/unit/,tools/test_trace_check.o drain/test_notes.o)
unit-tests: $(O)/tests/tools/trace_check
$(CHECKER_TESTS): CPPFLAGS += \
		-DTRACE_CHECK='"$(abspath $(O))/tests/tools/trace_check"'

# It compiles programs of the source tree.
unit-tests: $(O)/entry.specs
$(O)/tests/unit/code/test_patch.o: CPPFLAGS += -DSOURCES='"$(abspath .)"' \
		-DENTRY_SPECS='"$(abspath $(O))/entry.specs"'

$(O)/tests/unit/states/test_states.o: CPPFLAGS += -DSOURCES='"$(abspath .)"'

$(UNIT) $(UNIT_OBJ): Makefile tests/unit/rules.mk
