# Programs for tests to record. A preloaded library is never a sanitizer's.

$(O)/tests/progs/%: tests/progs/%.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -finstrument-functions -o $@ $< -pthread $(LDFLAGS)

# Programs of end-to-end tests: progs/heap/ is for e2e/heap/, and so on. They are
# compiled with -O1 and hooks, as build() of tests/e2e/lib.sh compiles smaller
# ones; PROG_FLAGS_* adds to that. The programs that are filtered out are
# compiled by their tests, in several ways or with libraries of the test.
THEME_PROGS = $(filter-out cpu/places families/contained robust/own \
	  who/context who/context_record, \
	  $(patsubst tests/progs/%.c,%,$(foreach theme, \
	  cli cpu export families heap names overhead robust tools trace waits who, \
	  $(wildcard tests/progs/$(theme)/*.c))))
NO_HOOKS = -fno-instrument-functions
PROG_FLAGS_cli/calls = -g
PROG_FLAGS_cpu/children = -g0 $(NO_HOOKS)
PROG_FLAGS_export/hostile_names = -g -I preload
PROG_FLAGS_families/fork_returns = -O2
PROG_FLAGS_who/requests = -I preload
PROG_FLAGS_who/request_contexts = -I preload
PROG_FLAGS_heap/known = -fno-builtin
PROG_FLAGS_heap/lost = -fno-builtin -g0
PROG_FLAGS_heap/native = -fno-builtin -fno-optimize-sibling-calls -g0 $(NO_HOOKS)
PROG_FLAGS_names/jit = -g0 $(NO_HOOKS)
PROG_FLAGS_names/reload = -rdynamic
PROG_FLAGS_names/tells_names = -I preload
PROG_FLAGS_trace/ranges = -g -I preload
PROG_FLAGS_trace/counters = -g -I preload
PROG_FLAGS_trace/flushed = -g -I preload
PROG_FLAGS_trace/many = -g
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
$(O)/tests/progs/libkeep_whole_preload.so: tests/progs/keep_whole_preload.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -fPIC -fvisibility=hidden -shared -o $@ $< $(LDFLAGS)
$(O)/tests/progs/librefuse_writes_preload.so: tests/progs/refuse_writes_preload.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -fPIC -fvisibility=hidden -shared -o $@ $< $(LDFLAGS)
$(O)/tests/progs/libstall_writes_preload.so: tests/progs/stall_writes_preload.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -fPIC -fvisibility=hidden -shared -o $@ $< $(LDFLAGS)
$(O)/tests/progs/libsite_preload.so: tests/progs/site_preload.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -fPIC -fvisibility=hidden -shared -o $@ $< $(LDFLAGS)
# Where there is no static C library, tests do without.
$(O)/tests/progs/cpu_share_static: tests/progs/cpu_share.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	-$(Q)$(TEST_CC) -static -o $@ $< -pthread $(LDFLAGS)
