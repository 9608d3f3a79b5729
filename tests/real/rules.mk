# Lua and SQLite at full size, programs built by `perfrec cc`, which are fetched
# and built once, into REAL_DIR, the test suites of such programs, and programs
# as Debian ships them. Beside it, tests/real/programs-of.sh records all programs
# of any folder.

REAL_DIR ?= $(O)/real

# Without root, missing packages are named and their programs skipped.
.PHONY: check-real real-tools
check-real:
	$(Q)sh scripts/install-deps.sh build
	$(Q)sh scripts/install-deps.sh check real || true
	$(Q)$(MAKE) --no-print-directory real-tools
	$(Q)sh tests/real/all.sh $(O) $(REAL_DIR)

# glibc's own tests of threads and locks, NPTL of their kinds (nptl.sh).
NPTL ?=
.PHONY: check-nptl
check-nptl: all
	$(Q)sh scripts/install-deps.sh build
	$(Q)sh tests/real/nptl.sh $(O) $(REAL_DIR) $(NPTL)

# Programs as Debian ships them, each call recorded (unmodified.sh --patch):
# PATCHED of them; and PATCH_RUNS of a program that throws, switches stacks and
# prints backtraces (stress/patched.sh). 10 minutes each on two CPUs.
PATCHED ?=
PATCH_RUNS ?= 1000
.PHONY: check-patch
check-patch:
	$(Q)sh scripts/install-deps.sh build
	$(Q)sh scripts/install-deps.sh check real || true
	$(Q)$(MAKE) --no-print-directory real-tools
	$(Q)sh tests/real/unmodified.sh --patch $(O) $(REAL_DIR) $(PATCHED)
	$(Q)dir=$$(mktemp -d) && script=$$PWD/tests/stress/patched.sh && \
		o=$$(cd $(O) && pwd) && cd $$dir && \
		O=$$o sh $$script $(PATCH_RUNS) && cd / && rm -rf $$dir

# Programs within a budget, REAL_PROGRAMS of them (overhead-real.sh); each takes
# half a minute on two CPUs with nothing else to do, the first time two.
REAL_PROGRAMS ?=
.PHONY: check-real-overhead
check-real-overhead:
	$(Q)sh scripts/install-deps.sh build
	$(Q)sh scripts/install-deps.sh check real || true
	$(Q)$(MAKE) --no-print-directory real-tools
	$(Q)sh tests/real/overhead-real.sh $(O) $(REAL_DIR) $(REAL_PROGRAMS)

real-tools: e2e-programs
