# Checks of the sources.

LINT_C	= $(shell git ls-files 'preload/*.c' 'collector/*.c')
# perfrec.h includes nothing of ours.
ATOMIC_SRC = $(filter-out shared/atomic.h preload/perfrec.h,$(shell git ls-files \
	  'preload/*.[chS]' 'collector/*.[ch]' 'shared/*.h'))
# cppcheck looks for no system headers, and needs some of their macros.
QUEUE_H	= $(shell printf '\043include <sys/queue.h>' | $(CC) -M -xc - | \
	  tr ' ' '\n' | grep 'queue.h$$')
CPPCHECK = cppcheck -q -j2 --error-exitcode=1 --std=c11 \
	  --enable=warning,performance,portability --suppress=missingInclude \
	  -D_GNU_SOURCE -D__cppcheck__ -D__x86_64__ -D__linux__ -D__LP64__ -DPERFREC_VERSION='""' \
	  '-DElfW(type)=Elf64_\#\#type' --include=$(QUEUE_H) -I.
TIDY	= clang-tidy --quiet
# The analyzer goes through at most so many states of a function. By default
# they are 225,000, which takes about three times as long. It first goes where it
# has not been: in the six files that took longest it visited the same blocks
# with 75,000 as with 225,000. TIDY_NODES=225000 is the default.
TIDY_NODES ?= 50000
TIDY_FLAGS = -std=gnu11 $(DEFS) -iquote . -iquote $(O) $(PKG_CFLAGS) \
	  -DPAGE_TEMPLATE='"$(abspath $(O))/page_template.html"' \
	  -Xclang -analyzer-config -Xclang max-nodes=$(TIDY_NODES)

.PHONY: lint lint-all lint-fast lint-cppcheck lint-tidy lint-web format
lint:
	$(Q)sh scripts/install-deps.sh build check lint
	$(Q)$(MAKE) --no-print-directory lint-all
lint-all: lint-fast lint-cppcheck lint-tidy
	$(Q)! command -v npm >/dev/null || $(MAKE) --no-print-directory lint-web
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
	$(say) LINT metrics
	$(Q)CC='$(CC)' sh scripts/check-metrics.sh
	$(say) LINT sizes
	$(Q)sh scripts/check-sizes.sh
	$(say) LINT functions
	$(Q)sh scripts/check-functions.sh >/dev/null
	$(say) LINT docs
	$(Q)sh scripts/check-docs.sh
	$(say) LINT format
	$(Q)sh scripts/check-format.sh
	$(say) LINT prose
	$(Q)sh scripts/check-prose.sh
	$(say) LINT subjects
	$(Q)sh scripts/check-subjects.sh
lint-cppcheck:
	$(say) LINT cppcheck
	$(Q)$(CPPCHECK) $(LINT_C)
# One file for each process: in its second file, the analyzer of LLVM 14
# believes that a va_list was never started.
lint-tidy: all
	$(say) LINT clang-tidy
	$(Q)printf '%s\n' $(LINT_C) | xargs -P2 -I{} \
		$(TIDY) {} -- $(TIDY_FLAGS) 2>$(O)/tidy.err || \
		{ grep -v 'warnings\{0,1\} \(generated\|treated\)' $(O)/tidy.err; exit 1; }
# The page's JavaScript. npm fetches the checkers into $(O), once for each
# change of their versions; nothing of them is in the page.
WEB	= collector/page/web
WEB_TOOLS = $(O)/lint-web
lint-web: $(WEB_TOOLS)/node_modules/.package-lock.json $(O)/page_template.html
	$(say) LINT tsc
	$(Q)$(WEB_TOOLS)/node_modules/.bin/tsc -p $(WEB)
	$(say) LINT biome
	$(Q)$(WEB_TOOLS)/node_modules/.bin/biome lint --error-on-warnings \
		--config-path=$(WEB) $(WEB) >$(WEB_TOOLS)/biome.out 2>&1 || \
		{ cat $(WEB_TOOLS)/biome.out; exit 1; }
	$(say) LINT bundle
	$(Q)awk '/^<\/script>/ { on = 0 } on; /^<script type="module">/ { on = 1 }' \
		$(O)/page_template.html >$(WEB_TOOLS)/page.mjs
	$(Q)node --check $(WEB_TOOLS)/page.mjs
	$(Q)test $$(wc -c <$(O)/page_template.html) -le 174080 || \
		{ echo 'the page without data has more than 170 KB' >&2; exit 1; }
$(WEB_TOOLS)/node_modules/.package-lock.json: $(WEB)/package.json $(WEB)/package-lock.json
	$(say) NPM $(WEB_TOOLS)
	$(Q)mkdir -p $(@D)
	$(Q)cp $(WEB)/package.json $(WEB)/package-lock.json $(WEB_TOOLS)
	$(Q)cd $(WEB_TOOLS) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(Q)touch $@
format:
	$(Q)clang-format -i $$(git ls-files '*.[ch]')
