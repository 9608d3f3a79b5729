# Tests in builds of another kind: with a sanitizer, for another machine. Each
# build has a directory of its own.

# --- sanitizers: the collector, never the shim --------------------------------
#
# ThreadSanitizer needs fixed addresses (setarch -R), because recent kernels
# randomise more bits of an address than it supports. (check forks before it starts
# threads, so ThreadSanitizer can follow. Without forks some tests would disturb
# each other.)
ASAN_ENV = ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
	  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 CK_TIMEOUT_MULTIPLIER=10
TSAN_ENV = TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=7 \
	  CK_TIMEOUT_MULTIPLIER=30
# A race needs two threads, so only suites that can start a thread matter. The build
# without a sanitizer shows which these are. A recipe expands this, after that build.
THREADED = $(shell sh scripts/threaded-suites.sh $(O) $(UNIT_OBJ))
.PHONY: check-asan check-tsan tsan-tests record-demo
check-asan: $(SEEDS)/made
	$(Q)$(ASAN_ENV) $(MAKE) --no-print-directory O=$(O)/asan \
		SAN=address,undefined SEEDS=$(SEEDS) check-unit check-fuzz record-demo
check-tsan: tsan-tests
	$(Q)$(TSAN_ENV) setarch -R $(MAKE) --no-print-directory O=$(O)/tsan \
		SAN=thread UNIT='$(TSAN_UNIT)' UNIT_SUITES='$(TSAN_SUITES)' \
		check-unit check-stress record-demo
TSAN_SUITES = $(THREADED:%=$(O)/tsan/tests/unit/%)
TSAN_UNIT = $(sort $(foreach suite,$(TSAN_SUITES),$(firstword $(subst :, ,$(suite)))))
tsan-tests: unit-tests
	$(Q)$(MAKE) --no-print-directory O=$(O)/tsan SAN=thread \
		UNIT='$(TSAN_UNIT)' unit-tests $(STRESS:$(O)/%=$(O)/tsan/%)
# Threads, losses and the ways to write, by a collector with a sanitizer.
record-demo: all $(O)/tests/progs/demo $(O)/tests/progs/alloc_torture \
		$(O)/tests/tools/trace_check
	$(Q)O=$(O) sh tests/stress/record-demo.sh

# --- coverage: lines of collector/ and preload/ that all tests together run ------
# Three times the time of make check. A test that fails because of the code that
# clang adds still counts.
COVER_MAKE = $(MAKE) --no-print-directory O=$(O)/cover CC="$(CLANG)" HOSTCC="$(CC)" \
	  COVER=1 WARN=-w CFLAGS='-O1 -g'
COVER_TESTS ?= check-all
.PHONY: coverage
coverage:
	$(Q)$(COVER_MAKE) $(ALL_CPUS) check-programs
	$(Q)sh scripts/coverage.sh begin $(O)/cover
	-$(Q)$(COVER_MAKE) -k $(COVER_TESTS)
	$(Q)sh scripts/coverage.sh report $(O)/cover
$(O)/tests/coverage/shim_counters.os: tests/coverage/shim_counters.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SHIM_CFLAGS) \
		-DSHIM_COUNTERS='"$(abspath $(O))/coverage/shim.counters"' -c -o $@ $<

# --- arm64, on a machine of another kind ---------------------------------------
# Compiles the shim and compares it with its lists; runs both halves of rings,
# with arm64's swaps, in an emulator. Needs gcc-aarch64-linux-gnu, qemu-user.
CROSS	= aarch64-linux-gnu-
ARM	= $(O)/arm64
.PHONY: check-arm64
check-arm64:
	$(Q)command -v $(CROSS)gcc >/dev/null || { \
		echo 'skipped check-arm64: no $(CROSS)gcc'; exit 0; }; \
	$(MAKE) --no-print-directory O=$(ARM) MACHINE=aarch64 CC=$(CROSS)gcc \
		$(ARM)/libperfrec_preload.so $(ARM)/stress_ring && \
	NM=$(CROSS)nm OBJDUMP=$(CROSS)objdump READELF=$(CROSS)readelf sh scripts/check-abi.sh \
		$(ARM)/libperfrec_preload.so && \
	{ command -v qemu-aarch64 >/dev/null || { \
		echo 'skipped arm64 rings: no qemu-aarch64'; exit 0; }; } && \
	qemu-aarch64 -L /usr/aarch64-linux-gnu $(ARM)/stress_ring 2 3 $(SEED)
$(O)/stress_ring: tests/stress/stress_ring.c collector/replay/ring_get.c \
		collector/base/clock.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ tests/stress/stress_ring.c \
		collector/replay/ring_get.c collector/base/clock.c -lpthread
