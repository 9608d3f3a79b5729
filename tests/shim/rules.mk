# The shim alone, against a minimal collector: one test program per test_*.c.
# victims/ has the programs and libraries into which the shim is preloaded.

# The longest tests start first.
SHIM_TESTS = $(patsubst %.c,$(O)/%,tests/shim/test_step.c \
	  tests/shim/test_alloc_step.c $(filter-out %_step.c, \
	  $(wildcard tests/shim/test_*.c)))
VICTIMS	= $(O)/tests/shim/victims

.PHONY: check-shim shim-tests
check-shim: shim-tests
	$(Q)O=$(O) sh scripts/run-suites.sh $(SHIM_TESTS)

SHIM_TEST_OBJ = $(SHIM_TESTS:%=%.o) $(O)/tests/shim/mini_collector.o $(O)/tests/suite.o
$(SHIM_TEST_OBJ): $(O)/%.o: %.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -c -o $@ $<
$(SHIM_TESTS): %: %.o $(O)/tests/shim/mini_collector.o $(O)/tests/suite.o
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -o $@ $(filter %.o %.a,$^) $(SHIM_TEST_LIBS) $(CHECK_LIBS)

# It makes thunks as the collector does.
$(O)/tests/shim/test_thunk: $(O)/libcollector.a
$(O)/tests/shim/test_thunk: SHIM_TEST_LIBS = $(PKG_LIBS)

# --- programs -----------------------------------------------------------------
SHIM_VICTIMS = $(patsubst %.c,$(O)/%,$(wildcard tests/shim/victims/*_victim.c)) \
	  $(VICTIMS)/alloc_cxx_victim $(VICTIMS)/cancel_cxx_victim
# -z now: lazy binding would need more stack than the hooks do.
VICTIM_CFLAGS_host = -finstrument-functions -Wl,-z,now
VICTIM_CFLAGS_figures = -finstrument-functions
VICTIM_CFLAGS_sync = -finstrument-functions
VICTIM_CFLAGS_map = -rdynamic
VICTIM_CFLAGS_cancel_cxx = -finstrument-functions -pthread

$(VICTIMS)/%_victim: tests/shim/victims/%_victim.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) $(VICTIM_CFLAGS_$*) -o $@ $< -lpthread
$(VICTIMS)/%_cxx_victim: tests/shim/victims/%_cxx_victim.cc
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -O1 -g -iquote . -MMD -MP -MF $@.d \
		$(VICTIM_CFLAGS_$*_cxx) -o $@ $<

# --- libraries: map_victim's plugins, an allocator beneath alloc_step_victim ---
SHIM_PLUGINS = $(addprefix $(VICTIMS)/lib,map_plugin_0.so map_plugin_1.so \
	  map_plugin_2.so map_plugin_3.so map_opener.so map_bare.so \
	  bump_allocator.so)

$(VICTIMS)/libmap_plugin_%.so: tests/shim/victims/map_plugin.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -DID=$* -finstrument-functions -shared \
		-fPIC -o $@ $<
$(VICTIMS)/libmap_opener.so: tests/shim/victims/map_opener.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -finstrument-functions -shared -fPIC \
		-Wl,-rpath,'$$ORIGIN',--enable-new-dtags -o $@ $<
$(VICTIMS)/libmap_bare.so: tests/shim/victims/map_bare.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -finstrument-functions -shared -fPIC \
		-nostartfiles -o $@ $<
$(VICTIMS)/libbump_allocator.so: tests/shim/victims/bump_allocator.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -Wno-missing-prototypes -O1 -g -fno-builtin -fPIC \
		-shared -o $@ $<

# --- C++ of test_jump: exceptions in plugins and programs, with the runtime of
# the machine and with one of their own, by g++ and, where there is one, clang++ -
JUMP_CXX = -iquote . -fPIC -MMD -MP -MF $@.d
JUMP_FLAGS_gxx_O0 = -O0
JUMP_FLAGS_gxx_O2 = -O2
JUMP_FLAGS_gxx_static = -O1 -static-libstdc++
JUMP_FLAGS_gxx_private = -O1 -static-libstdc++ -static-libgcc -DPRIVATE
JUMP_FLAGS_gxx_noplt = -O2 -fno-plt -Wl,-z,now
JUMP_FLAGS_clang_O0 = -O0
JUMP_FLAGS_clang_O2 = -O2
JUMP_FLAGS_clang_static = -O2 -static-libstdc++
JUMP_FLAGS_pie = -O2 -pie
JUMP_FLAGS_nopie = -O2 -fno-pic -no-pie
JUMP_FLAGS_nopie_now = -O2 -fno-pic -no-pie -Wl,-z,now
JUMP_FLAGS_static = -O2 -static-libstdc++
JUMP_FLAGS_clang = -O2 -pie

CLANGXX ?= $(shell command -v clang++)
jump_cxx = $(if $(findstring clang,$(1)),$(CLANGXX),$(CXX))

JUMP_PLUGINS = $(patsubst %,$(VICTIMS)/jump_plugin_%.so,gxx_O0 gxx_O2 \
	  gxx_static gxx_private gxx_noplt \
	  $(if $(CLANGXX),clang_O0 clang_O2 clang_static))
JUMP_PROGRAMS = $(patsubst %,$(VICTIMS)/jump_program_%,pie nopie \
	  nopie_now static $(if $(CLANGXX),clang))

# Static patterns: others would take the .d files for programs to be made.
$(JUMP_PLUGINS): $(VICTIMS)/jump_plugin_%.so: tests/shim/victims/jump_plugin.cc
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(call jump_cxx,$*) $(JUMP_CXX) $(JUMP_FLAGS_$*) -shared -o $@ $<
$(JUMP_PROGRAMS): $(VICTIMS)/jump_program_%: tests/shim/victims/jump_plugin.cc
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(call jump_cxx,$*) $(JUMP_CXX) $(JUMP_FLAGS_$*) -DPROGRAM -o $@ $<

shim-tests: $(SHIM) $(O)/tests/tools/within $(SHIM_TESTS) $(SHIM_VICTIMS) $(SHIM_PLUGINS) \
		$(JUMP_PLUGINS) $(JUMP_PROGRAMS)

$(SHIM_TESTS) $(SHIM_TEST_OBJ) $(SHIM_VICTIMS) $(SHIM_PLUGINS) $(JUMP_PLUGINS) \
	$(JUMP_PROGRAMS): Makefile tests/shim/rules.mk
