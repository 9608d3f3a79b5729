# Fuzzers, as programs that replay files: seeds, and inputs that fuzzing found.

FUZZ	= $(patsubst tests/fuzz/%.c,$(O)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: check-fuzz
check-fuzz: all $(FUZZ) $(O)/tests/fuzz/perfrec-reader
	$(Q)set -e; for f in $(FUZZ); do \
		$$f tests/fuzz/corpus/$${f##*/fuzz_}/*; done

$(O)/tests/fuzz/%: tests/fuzz/%.c $(O)/libcollector.a
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(PKG_CFLAGS) -o $@ $< \
		$(O)/libcollector.a $(CHECK_LIBS) $(PKG_LIBS) $(LDFLAGS)

$(FUZZ): Makefile tests/fuzz/rules.mk
