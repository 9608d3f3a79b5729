# What must hold of the sources, and the sanitizers' runs. Each sanitizer and
# machine has a build directory of its own.

LINT_C	= $(shell git ls-files 'preload/*.c' 'collector/*.c')
# perfrec.h includes nothing of ours.
ATOMIC_SRC = $(filter-out shared/atomic.h preload/perfrec.h,$(shell git ls-files \
	  'preload/*.[chS]' 'collector/*.[ch]' 'shared/*.h'))
# cppcheck looks for no system headers, and needs some of their macros.
QUEUE_H	= $(shell printf '\043include <sys/queue.h>' | $(CC) -M -xc - | \
	  tr ' ' '\n' | grep 'queue.h$$')
CPPCHECK = cppcheck -q -j2 --error-exitcode=1 --std=c11 \
	  --enable=warning,performance,portability --suppress=missingInclude \
	  -D_GNU_SOURCE -D__x86_64__ -D__linux__ -D__LP64__ -DPERFREC_VERSION='""' \
	  '-DElfW(type)=Elf64_\#\#type' --include=$(QUEUE_H) -I.
TIDY	= clang-tidy --quiet
TIDY_FLAGS = -std=gnu11 $(DEFS) -iquote . -iquote $(O) $(PKG_CFLAGS)

.PHONY: lint lint-all lint-fast lint-cppcheck lint-tidy format
lint:
	$(Q)sh scripts/install-deps.sh build check lint
	$(Q)$(MAKE) --no-print-directory lint-all
lint-all: lint-fast lint-cppcheck lint-tidy
lint-fast: all
	$(say) LINT layers
	$(Q)O=$(O) CC='$(CC)' sh scripts/check-layers.sh
	$(say) LINT atomics
	$(Q)awk -f scripts/check-atomics.awk docs/RING.md $(ATOMIC_SRC)
	$(say) LINT ABI
	$(Q)sh scripts/check-abi.sh $(SHIM)
	$(say) LINT man
	$(Q)sh scripts/check-man.sh $(O) $(MANS)
	$(say) LINT docs
	$(Q)sh scripts/check-docs.sh
	$(say) LINT format
	$(Q)sh scripts/check-format.sh
lint-cppcheck:
	$(say) LINT cppcheck
	$(Q)$(CPPCHECK) $(LINT_C)
# One file for each process: the analyzer of LLVM 14 takes a va_list of its
# second file for one that was never started.
lint-tidy: all
	$(say) LINT clang-tidy
	$(Q)printf '%s\n' $(LINT_C) | xargs -P2 -I{} \
		$(TIDY) {} -- $(TIDY_FLAGS) 2>$(O)/tidy.err || \
		{ grep -v 'warnings\{0,1\} \(generated\|treated\)' $(O)/tidy.err; exit 1; }
format:
	$(Q)clang-format -i $$(git ls-files '*.[ch]')

# --- rings under stress -------------------------------------------------------
STRESS_SECONDS ?= 5
SEED	?= $(shell date +%s)
.PHONY: check-stress check-loop
check-stress: $(STRESS)
	$(Q)set -e; for s in $(STRESS); do for threads in 1 2 8; do \
		$$s $$threads $(STRESS_SECONDS) $(SEED); done; done
# Until something fails.
check-loop: all $(UNIT) $(TOOLS) $(STRESS)
	$(Q)while $(MAKE) --no-print-directory check-unit check-shim \
		check-stress SEED=$$(date +%s); do :; done

# --- sanitizers: the collector, never the shim --------------------------------
# ThreadSanitizer wants its addresses where they were before the kernel
# randomised more of them: setarch -R. (check forks before there are threads,
# which it can follow; without forks some tests would be in each other's way.)
ASAN_ENV = ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
	  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 CK_TIMEOUT_MULTIPLIER=10
TSAN_ENV = TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=7 \
	  CK_TIMEOUT_MULTIPLIER=30
.PHONY: check-asan check-tsan record-demo
check-asan:
	$(Q)$(ASAN_ENV) $(MAKE) --no-print-directory O=$(O)/asan \
		SAN=address,undefined check-unit check-fuzz record-demo
check-tsan:
	$(Q)$(TSAN_ENV) setarch -R $(MAKE) --no-print-directory O=$(O)/tsan \
		SAN=thread check-unit check-stress record-demo
# Threads, losses and the ways to write, by a collector with a sanitizer.
record-demo: all $(O)/tests/progs/demo $(O)/tests/progs/alloc_torture \
		$(O)/tests/tools/trace_check
	$(Q)O=$(O) sh tests/stress/record-demo.sh

# --- arm64, as far as a machine without it can tell ----------------------------
# Compiles the shim and holds it against its lists; runs both halves of rings,
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
$(O)/stress_ring: tests/stress/stress_ring.c collector/replay/ring_get.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ tests/stress/stress_ring.c \
		collector/replay/ring_get.c -lpthread
