# The tests' own tools: one program for each .c file of this folder. trace_check
# and count_names check what the collector writes, so they share no code with
# it: they are linked without libcollector.a.

TOOLS	= $(patsubst tests/tools/%.c,$(O)/tests/tools/%,$(wildcard tests/tools/*.c))
CHECKER_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard tests/tools/checker/*.c))

$(O)/tests/tools/%: tests/tools/%.c $(O)/libcollector.a
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(PKG_CFLAGS) -o $@ $< \
		$(O)/libcollector.a $(PKG_LIBS) $(LDFLAGS)
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

$(TOOLS) $(CHECKER_OBJ): Makefile tests/tools/rules.mk
