# C++ and an allocator of its own, for tests/shim/test_alloc.c.

$(O)/tests/shim/alloc_cxx_victim: tests/shim/alloc_cxx_victim.cc
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -O1 -g -iquote . -MMD -MP -MF $@.d \
		-o $@ $<

$(O)/tests/shim/libbump_allocator.so: tests/shim/bump_allocator.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -Wno-missing-prototypes -O1 -g -fno-builtin -fPIC \
		-shared -o $@ $<

check-shim: $(O)/tests/shim/libbump_allocator.so $(O)/tests/shim/alloc_cxx_victim
