# Each system call of the shim fails in turn; a program does everything at once.

TORTURE	= $(O)/tests/torture
RUNS	= $(if $(SHORT),1,5)
EVERYTHING = $(addprefix $(TORTURE)/,everything everything_plugin.so \
	  wrap_preload.so)

.PHONY: check-torture torture
check-torture: all $(TORTURE)/deny $(VICTIMS)/alloc_cxx_victim \
		$(VICTIMS)/cpu_victim torture
	$(Q)$(if $(SHORT),,O=$(O) CC='$(HOST_CC)' sh tests/torture/torture.sh)
torture: all $(EVERYTHING)
	$(Q)O=$(O) sh tests/torture/everything.sh $(RUNS)

$(TORTURE)/deny: tests/torture/deny.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $<
$(TORTURE)/everything: tests/torture/everything.cc
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -O1 -g -Wall -Wextra -Wno-unknown-warning-option \
		-Wno-infinite-recursion -finstrument-functions -o $@ $< -pthread -ldl
$(TORTURE)/everything_plugin.so: tests/torture/everything_plugin.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -fPIC -finstrument-functions -shared -o $@ $<
$(TORTURE)/wrap_preload.so: tests/torture/wrap_preload.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -fno-builtin -fPIC -shared -o $@ $<
