# perfrec beside floors and peers (scripts/bench.sh, docs/BENCHMARKS.md).

BENCH	= $(addprefix $(O)/tests/bench/,spans spans.plain one_call measure annotate \
	  libhooks_empty.so libhooks_floor.so libhooks_floor_shared.so \
	  libmeter.so alloc liballoc_wrapper.so liballoc_floor.so \
	  liballoc_floor_read.so own_cost own_cost.plain)
# Programs of single targets.
BENCH_LOADS = $(addprefix $(O)/tests/bench/,locks page_calls flight_load push_load push_away)
BENCH_CC = $(Q)mkdir -p $(@D) && $(CC) $(BASE) $(CPPFLAGS) -O2 -g

$(O)/tests/bench/spans: tests/bench/spans.c
	$(say) CC $@
	$(BENCH_CC) -finstrument-functions \
		-finstrument-functions-exclude-function-list=clock_ -o $@ $< -lpthread
$(O)/tests/bench/one_call: tests/bench/one_call.c
	$(say) CC $@
	$(BENCH_CC) -finstrument-functions -o $@ $<
$(O)/tests/bench/spans.plain: tests/bench/spans.c
	$(say) CC $@
	$(BENCH_CC) -o $@ $< -lpthread
$(O)/tests/bench/measure: tests/bench/measure.c
	$(say) CC $@
	$(BENCH_CC) -o $@ $<
$(O)/tests/bench/annotate: tests/bench/annotate.c
	$(say) CC $@
	$(BENCH_CC) -o $@ $<
$(O)/tests/bench/own_cost: tests/bench/own_cost.c
	$(say) CC $@
	$(BENCH_CC) -fno-builtin-malloc -fno-builtin-free \
		-finstrument-functions -o $@ $< -lpthread
$(O)/tests/bench/own_cost.plain: tests/bench/own_cost.c
	$(say) CC $@
	$(BENCH_CC) -fno-builtin-malloc -fno-builtin-free -o $@ $< -lpthread
$(O)/tests/bench/alloc: tests/bench/alloc.c
	$(say) CC $@
	$(BENCH_CC) -fno-builtin-malloc -fno-builtin-free -o $@ $< -lpthread
$(O)/tests/bench/liballoc_wrapper.so: tests/bench/alloc_floor.c
	$(say) CC $@
	$(BENCH_CC) $(BENCH_SO) -o $@ $<
$(O)/tests/bench/liballoc_floor.so: tests/bench/alloc_floor.c
	$(say) CC $@
	$(BENCH_CC) $(BENCH_SO) -DFLOOR_RECORD -o $@ $<
$(O)/tests/bench/liballoc_floor_read.so: tests/bench/alloc_floor.c
	$(say) CC $@
	$(BENCH_CC) $(BENCH_SO) -DFLOOR_RECORD -DFLOOR_READ -o $@ $<
$(O)/tests/bench/lib%_shared.so: tests/bench/%.c
	$(say) CC $@
	$(BENCH_CC) $(BENCH_SO) -DFLOOR_SHARED -o $@ $<
$(O)/tests/bench/lib%.so: tests/bench/%.c
	$(say) CC $@
	$(BENCH_CC) $(BENCH_SO) -o $@ $<
BENCH_SO = -shared -fPIC -fvisibility=hidden -ftls-model=initial-exec -Wl,-z,now

$(O)/tests/bench/page_calls: tests/bench/page_calls.c
	$(say) CC $@
	$(BENCH_CC) -finstrument-functions -o $@ $< -lpthread

# --- recordings of 10^9 spans and of 1,000 threads (docs/BENCHMARKS.md, large
# recordings). LARGE has options: LARGE='--spans 1e8 --only lua'. ---------------
LARGE_PROGS = $(O)/tests/bench/slow_threads $(O)/tests/bench/save_ring

$(O)/tests/bench/slow_threads: tests/bench/slow_threads.c
	$(say) CC $@
	$(BENCH_CC) -finstrument-functions -o $@ $< -lpthread
$(O)/tests/bench/save_ring: tests/bench/save_ring.c tests/shim/mini_collector.c
	$(say) CC $@
	$(BENCH_CC) -o $@ $< tests/shim/mini_collector.c -lpthread

# --- uncontended pairs of calls of locks: LOCKS=10 is the number of rounds ---
$(O)/tests/bench/locks: tests/bench/locks.c
	$(say) CC $@
	$(BENCH_CC) -o $@ $< -lpthread

.PHONY: bench-locks
bench-locks: all $(O)/tests/bench/locks
	$(Q)echo 'plain'; $(O)/tests/bench/locks $(LOCKS)
	$(Q)for locks in off on; do echo "recorded, --locks $$locks"; \
		rm -rf $(O)/bench-locks; \
		$(O)/perfrec record -q --locks $$locks -o $(O)/bench-locks \
			$(O)/tests/bench/locks $(LOCKS) || exit 1; \
	done; rm -rf $(O)/bench-locks

.PHONY: bench-patch
bench-patch: all
	$(Q)O=$(O) sh tests/bench/patch.sh $(PATCH)

.PHONY: bench-large
bench-large: all $(LARGE_PROGS) $(O)/tests/tools/bench_replay
	$(Q)O=$(O) REAL_DIR=$(REAL_DIR) sh tests/bench/large.sh $(LARGE)

# --- the flight recorder (docs/BENCHMARKS.md). FLIGHT has options:
# FLIGHT='--seconds 600 --slow 1000 --only planted'. -----------------------------
$(O)/tests/bench/flight_load: tests/bench/flight_load.c
	$(say) CC $@
	$(BENCH_CC) -finstrument-functions \
		-finstrument-functions-exclude-function-list=now_ns,sleep_until,slow_at \
		-o $@ $< -lpthread

.PHONY: bench-flight
bench-flight: all $(O)/tests/bench/flight_load $(O)/tests/bench/save_ring \
		$(O)/tests/tools/bench_snapshot
	$(Q)O=$(O) REAL_DIR=$(REAL_DIR) sh tests/bench/flight.sh $(FLIGHT)

# --- --push while no server takes anything (docs/BENCHMARKS.md): half an hour, as
# root (it mounts a small file system). Options are variables: CASES='away full
# slow', PAIRS=3, WINDOWS=240, LINES=FILE for what perfrec says. ------------------
$(O)/tests/bench/push_away: tests/bench/push_away.c
	$(say) CC $@
	$(BENCH_CC) -finstrument-functions -o $@ $<

.PHONY: bench-push-away
bench-push-away: all $(O)/tests/bench/push_away
	$(Q)python3 tests/bench/push_away.py $(O)/perfrec $(O)/tests/bench/push_away

# Needs 2.3 GB in $(O).
.PHONY: bench-page
bench-page: all $(O)/page_template.html $(O)/tests/bench/page_calls
	$(Q)O=$(O) sh tests/bench/page.sh

# Peers that nobody can install are skipped, with a line that says so.
.PHONY: bench bench-quick
bench bench-quick:
	$(Q)sh scripts/install-deps.sh build
	$(Q)sh scripts/install-deps.sh bench || true
	$(Q)$(MAKE) --no-print-directory all $(BENCH)
	$(Q)O=$(O) REAL_DIR=$(REAL_DIR) sh scripts/bench.sh \
		$(if $(filter bench-quick,$@),--quick) --json $(O)/bench.json
	$(Q)O=$(O) sh tests/bench/annotate.sh
	$(Q)O=$(O) sh tests/bench/own_cost.sh
	$(Q)O=$(O) sh tests/bench/alloc.sh $(if $(filter bench-quick,$@),--quick)
	$(Q)$(MAKE) --no-print-directory bench-overhead \
		$(if $(filter bench-quick,$@),OVERHEAD=--quick)

# Starts the programs of all benchmarks, and measures nothing.
.PHONY: check-bench
check-bench: all $(BENCH) $(LARGE_PROGS) $(BENCH_LOADS) \
		$(addprefix $(O)/tests/tools/,bench_replay bench_snapshot trace_check)
	$(Q)O=$(O) sh tests/bench/start.sh

# What recording costs whole programs: the section overhead alone. OVERHEAD has
# options: OVERHEAD='--only lua,zstd'.
.PHONY: bench-overhead
bench-overhead: all $(O)/tests/bench/libmeter.so
	$(Q)O=$(O) REAL_DIR=$(REAL_DIR) sh tests/bench/overhead.sh $(OVERHEAD) \
		--json $(O)/bench-overhead.json

# How far the times that are reported are from those of a sampled plain build: some
# minutes. TRUE_TIME has options: TRUE_TIME='--only lua --rounds 5'.
.PHONY: bench-true-time
bench-true-time: all
	$(Q)O=$(O) REAL_DIR=$(REAL_DIR) sh tests/bench/true_time.sh $(TRUE_TIME)

# Whether the first table of a recording is right, within budgets and without: ten
# minutes. TRUTH has options: TRUTH='--only lua --cells entry-5'.
.PHONY: check-truth
check-truth: all
	$(Q)sh scripts/install-deps.sh bench || true
	$(Q)O=$(O) REAL_DIR=$(REAL_DIR) sh tests/bench/truth.sh $(TRUTH)

# The promises, the cost and the output of --overhead: some minutes. BUDGET has
# options: BUDGET='--only lua --long --budgets 5 --rounds 5'.
.PHONY: bench-budget
bench-budget: all
	$(Q)O=$(O) REAL_DIR=$(REAL_DIR) sh tests/bench/budget.sh $(BUDGET)

# --- of the collector: a profile of 100,000 distinct stacks, and 100 MB of debug
# information, both made for the purpose ------------------------------------------
BENCH	+= $(O)/tests/bench/profile $(O)/tests/bench/symbolize
$(O)/tests/bench/profile $(O)/tests/bench/symbolize: %: %.o $(O)/libcollector.a \
		| $(O)/tests/bench/perfrec-reader
	$(say) LD $@
	$(link_collector) $(PKG_LIBS)

# --- what --push costs a daemon with 200 programs: four minutes. PUSH has options:
# PUSH='--windows 8 --dir /dev/shm'. ------------------------------------------------
$(O)/tests/bench/push_load: tests/bench/push_load.c
	$(say) CC $@
	$(BENCH_CC) -o $@ $<

.PHONY: bench-push
bench-push: all $(O)/tests/bench/push_load
	$(Q)O=$(O) python3 tests/bench/push.py $(PUSH)
