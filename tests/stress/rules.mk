# Long and repeated tests.

STRESS	= $(patsubst tests/stress/%.c,$(O)/tests/stress/%,$(wildcard tests/stress/stress_*.c))
STRESS_SECONDS ?= 5
SEED	?= $(shell date +%s)

# Both halves of rings.
.PHONY: check-stress
check-stress: $(STRESS)
	$(Q)set -e; for s in $(STRESS); do for threads in 1 2 8; do \
		$$s $$threads $(STRESS_SECONDS) $(SEED); done; done

# Repeats until a failure.
.PHONY: check-loop
check-loop:
	$(Q)while $(MAKE) --no-print-directory check-unit check-shim \
		check-stress SEED=$$(date +%s); do :; done

# A daemon under many short programs, for longer than `make check` has time.
SOAK_SECONDS ?= 600
.PHONY: check-soak
check-soak: all
	$(Q)dir=$$(mktemp -d) && script=$$PWD/tests/stress/soak.sh && \
		o=$$(cd $(O) && pwd) && cd $$dir && \
		O=$$o sh $$script $(SOAK_SECONDS) && cd / && rm -rf $$dir

# The states of all functions of a busy program keep changing (flips.sh):
# 1,000,000 sites with FLIPS_ROUNDS=150000.
FLIPS_ROUNDS ?= 4000
.PHONY: check-flips
check-flips: all $(TOOLS) $(O)/tests/progs/libcount_preload.so
	$(Q)dir=$$(mktemp -d) && script=$$PWD/tests/stress/flips.sh && \
		o=$$(cd $(O) && pwd) && cd $$dir && \
		O=$$o sh $$script $(FLIPS_ROUNDS) && cd / && rm -rf $$dir

$(STRESS): %: %.o $(O)/libcollector.a
	$(say) LD $@
	$(link_collector) $(PKG_LIBS)

$(STRESS) $(STRESS:%=%.o): Makefile tests/stress/rules.mk

# The changes that perfrec diff finds in 50 comparisons of equal recordings.
.PHONY: check-diff
DIFF_ROUNDS = 10
check-diff: all
	$(Q)dir=$$(mktemp -d) && top=$$PWD && o=$$(cd $(O) && pwd) && \
		cd $$dir && TOP=$$top O=$$o sh $$top/tests/stress/diff.sh \
			$(DIFF_ROUNDS) && cd / && rm -rf $$dir
