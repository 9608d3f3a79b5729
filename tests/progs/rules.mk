# Programs for tests to record. A preloaded library is never a sanitizer's.

$(O)/tests/progs/%: tests/progs/%.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -finstrument-functions -o $@ $< -pthread $(LDFLAGS)

# Those of end-to-end tests, in folders as these have. Each is compiled as its
# test expects it: with -O1, as tests/e2e/lib.sh compiles small ones, hooks, and
# what is said here. What a test compiles by itself, in several ways or with
# libraries that it has made, is left out.
THEME_PROGS = $(filter-out cpu/places families/contained robust/own, \
	  $(patsubst tests/progs/%.c,%,$(foreach theme, \
	  cpu families heap names robust tools trace, \
	  $(wildcard tests/progs/$(theme)/*.c))))
NO_HOOKS = -fno-instrument-functions
PROG_FLAGS_cpu/children = -g0 $(NO_HOOKS)
PROG_FLAGS_families/fork_returns = -O2
PROG_FLAGS_heap/known = -fno-builtin
PROG_FLAGS_heap/lost = -fno-builtin -g0
PROG_FLAGS_heap/native = -fno-builtin -fno-optimize-sibling-calls -g0 $(NO_HOOKS)
PROG_FLAGS_names/jit = -g0 $(NO_HOOKS)
PROG_FLAGS_names/reload = -rdynamic
PROG_FLAGS_robust/others = -g0 $(NO_HOOKS) -Wno-deprecated-declarations
PROG_FLAGS_robust/steps = -Wl,-z,now
$(addprefix $(O)/tests/progs/,$(THEME_PROGS)): $(O)/tests/progs/%: tests/progs/%.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -Wno-missing-prototypes -O1 -finstrument-functions \
		$(PROG_FLAGS_$*) -o $@ $< -pthread $(LDFLAGS)
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
