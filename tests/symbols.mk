# Tests that start the program which reads debug information.

check-unit check-fuzz: $(O)/perfrec-symbolize

# Of 100 MB of debug information, made for the purpose; part of make bench.
BENCH	+= $(O)/tests/bench/symbolize
$(O)/tests/bench/symbolize: tests/bench/symbolize.c $(O)/libcollector.a
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(PKG_CFLAGS) -o $@ $< \
		$(O)/libcollector.a $(PKG_LIBS) $(LDFLAGS)
