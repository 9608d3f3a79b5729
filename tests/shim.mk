# The shim alone, against a collector that only says hello (tests/shim/).

SHIM_TESTS = $(patsubst %.c,$(O)/%,$(wildcard tests/shim/test_*.c))
SHIM_VICTIMS = $(patsubst %.c,$(O)/%,$(wildcard tests/shim/*_victim.c))
# -z now: lazy binding would need more stack than the hooks do.
VICTIM_CFLAGS_host = -finstrument-functions -Wl,-z,now
VICTIM_CFLAGS_map = -rdynamic
SHIM_PLUGINS = $(addprefix $(O)/tests/shim/plugins/libmap_,\
	  $(addsuffix .so,plugin_0 plugin_1 plugin_2 plugin_3 opener bare))

$(O)/tests/shim/%_victim: tests/shim/%_victim.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) $(VICTIM_CFLAGS_$*) -o $@ $< -lpthread
$(O)/tests/shim/test_%: tests/shim/test_%.c tests/shim/mini_collector.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $< \
		tests/shim/mini_collector.c $(CHECK_LIBS)

$(O)/tests/shim/plugins/libmap_plugin_%.so: tests/shim/map_plugin.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -DID=$* -finstrument-functions -shared \
		-fPIC -o $@ $<
$(O)/tests/shim/plugins/libmap_opener.so: tests/shim/map_opener.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -finstrument-functions -shared -fPIC \
		-Wl,-rpath,'$$ORIGIN',--enable-new-dtags -o $@ $<

$(O)/tests/shim/plugins/libmap_bare.so: tests/shim/map_bare.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -finstrument-functions -shared -fPIC \
		-nostartfiles -o $@ $<

.PHONY: check-shim
check-shim: $(SHIM) $(SHIM_TESTS) $(SHIM_VICTIMS) $(SHIM_PLUGINS)
	$(Q)O=$(O) sh scripts/run-suites.sh $(SHIM_TESTS)
