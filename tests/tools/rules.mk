# The tests' own tools: one program for each .c file of this folder. trace_check
# and count_names check the output of the collector, so they do not link its code,
# libcollector.a.

TOOLS	= $(patsubst tests/tools/%.c,$(O)/tests/tools/%,$(wildcard tests/tools/*.c))
CHECKER_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard tests/tools/checker/*.c))

TOOLS_ALONE = $(addprefix $(O)/tests/tools/,trace_check count_names within json_at)
$(filter-out $(TOOLS_ALONE),$(TOOLS)): %: %.o $(O)/libcollector.a
	$(say) LD $@
	$(link_collector) $(PKG_LIBS)
$(O)/tests/tools/checker/%.o: tests/tools/checker/%.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) $(SANFLAGS) -c -o $@ $<
$(O)/tests/tools/trace_check: tests/tools/trace_check.c $(CHECKER_OBJ)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) $(SANFLAGS) -o $@ $< $(CHECKER_OBJ) -lz $(LDFLAGS)
$(O)/tests/tools/count_names: tests/tools/count_names.c \
		$(O)/tests/tools/checker/table.o
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) $(SANFLAGS) -o $@ $< \
		$(O)/tests/tools/checker/table.o $(LDFLAGS)
$(O)/tests/tools/json_at: TOOL_LIBS = -ljansson
$(O)/tests/tools/within $(O)/tests/tools/json_at: $(O)/%: %.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) $(SANFLAGS) -o $@ $< $(LDFLAGS) $(TOOL_LIBS)

$(TOOLS) $(TOOLS:%=%.o) $(CHECKER_OBJ): Makefile tests/tools/rules.mk
