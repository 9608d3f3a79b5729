# Programs for tests to record. A preloaded library is never a sanitizer's.

$(O)/tests/progs/%: tests/progs/%.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -finstrument-functions -o $@ $< -pthread $(LDFLAGS)
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
