# Each system call of the shim fails in turn (tests/torture/).

$(O)/tests/torture/deny: tests/torture/deny.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $<

.PHONY: check-torture
check-torture: all $(O)/tests/torture/deny $(O)/tests/shim/alloc_cxx_victim
	$(Q)O=$(O) CC='$(CC)' sh tests/torture/torture.sh
