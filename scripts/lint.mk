# What must hold of the sources.

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
	$(say) LINT rooms
	$(Q)O=$(O) sh scripts/check-rooms.sh
	$(say) LINT atomics
	$(Q)awk -f scripts/check-atomics.awk docs/RING.md $(ATOMIC_SRC)
	$(say) LINT ABI
	$(Q)sh scripts/check-abi.sh $(SHIM)
	$(say) LINT man
	$(Q)sh scripts/check-man.sh $(O) $(MANS)
	$(say) LINT counters
	$(Q)CC='$(CC)' sh scripts/check-counters.sh
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
