# Unit tests: one program for each test_*.c, linked with the whole collector.

UNIT	= $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(wildcard tests/unit/test_*.c))

.PHONY: check-unit unit-tests
unit-tests: all $(UNIT) $(TOOLS) $(O)/tests/unit/perfrec-reader
check-unit: unit-tests
	$(Q)O=$(O) sh scripts/run-suites.sh $(UNIT)

# A program looks for perfrec-reader beside itself.
$(O)/tests/unit/perfrec-reader $(O)/tests/fuzz/perfrec-reader \
		$(O)/tests/bench/perfrec-reader: $(O)/perfrec-reader
	$(Q)mkdir -p $(@D)
	$(Q)ln -sf ../../perfrec-reader $@

$(O)/tests/unit/%: tests/unit/%.c $(O)/libcollector.a \
		| $(O)/tests/unit/perfrec-reader
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(PKG_CFLAGS) -o $@ $< \
		$(O)/libcollector.a $(CHECK_LIBS) $(PKG_LIBS) $(LDFLAGS)

# It tests the checker, which is no part of the collector.
$(O)/tests/unit/test_trace_check: tests/unit/test_trace_check.c \
		$(O)/tests/tools/trace_check
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) $(SANFLAGS) \
		-DTRACE_CHECK='"$(abspath $(O))/tests/tools/trace_check"' \
		-o $@ $< $(CHECK_LIBS) -lz $(LDFLAGS)
# It runs the checker on what the collector has written.
$(O)/tests/unit/test_notes: $(O)/tests/tools/trace_check
$(O)/tests/unit/test_notes: CPPFLAGS += \
		-DTRACE_CHECK='"$(abspath $(O))/tests/tools/trace_check"'

# It compiles programs of the source tree.
$(O)/tests/unit/test_patch: $(wildcard tests/unit/victims/*) $(O)/entry.specs
$(O)/tests/unit/test_patch: CPPFLAGS += -DSOURCES='"$(abspath .)"' \
		-DENTRY_SPECS='"$(abspath $(O))/entry.specs"'

$(O)/tests/unit/test_states: CPPFLAGS += -DSOURCES='"$(abspath .)"'

$(UNIT): Makefile tests/unit/rules.mk
