# A profile of 100,000 distinct stacks, made for the purpose; part of make bench.
BENCH	+= $(O)/tests/bench/profile
$(O)/tests/bench/profile: tests/bench/profile.c $(O)/libcollector.a
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(PKG_CFLAGS) -o $@ $< \
		$(O)/libcollector.a $(PKG_LIBS) $(LDFLAGS)
