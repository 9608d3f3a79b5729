# The tests' own tools. They share no code with what they check, so they are
# linked without libcollector.a; these rules win over the Makefile's patterns.
CHECKER_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard tests/tools/checker/*.c))
TEST_CC	= $(CC) $(BASE) $(CPPFLAGS) $(CFLAGS)

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
$(O)/tests/unit/test_trace_check: tests/unit/test_trace_check.c \
		$(O)/tests/tools/trace_check
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) $(SANFLAGS) \
		-DTRACE_CHECK='"$(abspath $(O))/tests/tools/trace_check"' \
		-o $@ $< $(CHECK_LIBS) -lz $(LDFLAGS)
# Looks at what the collector writes with other eyes.
$(O)/tests/unit/test_notes: $(O)/tests/tools/trace_check
$(O)/tests/unit/test_notes: CPPFLAGS += \
		-DTRACE_CHECK='"$(abspath $(O))/tests/tools/trace_check"'

# Programs to record. A preloaded library is never a sanitizer's.
$(O)/tests/progs/libcount_preload.so: tests/progs/count_preload.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -fPIC -fvisibility=hidden \
		-shared -Wl,-z,now,-z,defs -o $@ $< $(LDFLAGS)
$(O)/tests/progs/libcount_alloc_preload.so: tests/progs/count_alloc_preload.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -fPIC -fvisibility=hidden \
		-shared -Wl,-z,now,-z,defs -o $@ $< -pthread $(LDFLAGS)
# Where there is no static C library, tests do without.
$(O)/tests/progs/cpu_share_static: tests/progs/cpu_share.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	-$(Q)$(TEST_CC) -static -o $@ $< -pthread $(LDFLAGS)
$(O)/tests/progs/%: tests/progs/%.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -finstrument-functions -o $@ $< -pthread $(LDFLAGS)

# What the end-to-end tests use beside the product.
E2E_TOOLS = $(addprefix $(O)/tests/,tools/trace_check tools/count_names \
	  progs/libcount_preload.so progs/libcount_alloc_preload.so \
	  progs/alloc_torture progs/demo progs/cpu_split progs/cpu_deny \
	  progs/cpu_share progs/cpu_share_static)
check-e2e: $(E2E_TOOLS)

# Lua and SQLite at full size, programs built by `perfrec cc`, which are fetched
# and built once, into REAL_DIR, and programs as Debian ships them. Beside it,
# tests/real/programs-of.sh records all programs of any folder.
REAL_DIR ?= $(O)/real
# Without root, what is not installed is named and skipped.
.PHONY: check-real real-tools
check-real:
	$(Q)sh scripts/install-deps.sh build
	$(Q)sh scripts/install-deps.sh check real || true
	$(Q)$(MAKE) --no-print-directory real-tools
	$(Q)sh tests/real/all.sh $(O) $(REAL_DIR)
real-tools: all $(E2E_TOOLS)
