# Each system call of the shim fails in turn.

.PHONY: check-torture
check-torture: all $(O)/tests/torture/deny $(VICTIMS)/alloc_cxx_victim \
		$(VICTIMS)/cpu_victim
	$(Q)O=$(O) CC='$(CC)' sh tests/torture/torture.sh

$(O)/tests/torture/deny: tests/torture/deny.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $<
