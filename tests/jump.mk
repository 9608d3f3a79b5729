# C++ for tests/shim/test_jump.c: exceptions in plugins and programs, with the
# runtime of the machine and with one of their own, by g++ and, where there is
# one, by clang++.

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

JUMP_PLUGINS = $(patsubst %,$(O)/tests/shim/jump_plugin_%.so,gxx_O0 gxx_O2 \
	  gxx_static gxx_private gxx_noplt \
	  $(if $(CLANGXX),clang_O0 clang_O2 clang_static))
JUMP_PROGRAMS = $(patsubst %,$(O)/tests/shim/jump_program_%,pie nopie \
	  nopie_now static $(if $(CLANGXX),clang))

# Static patterns: others would take the .d files for programs to be made.
$(JUMP_PLUGINS): $(O)/tests/shim/jump_plugin_%.so: tests/shim/jump_plugin.cc
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(call jump_cxx,$*) $(JUMP_CXX) $(JUMP_FLAGS_$*) -shared -o $@ $<
$(JUMP_PROGRAMS): $(O)/tests/shim/jump_program_%: tests/shim/jump_plugin.cc
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(call jump_cxx,$*) $(JUMP_CXX) $(JUMP_FLAGS_$*) -DPROGRAM -o $@ $<

check-shim: $(JUMP_PLUGINS) $(JUMP_PROGRAMS)
