# End-to-end tests: shell scripts, one folder for each theme.

E2E_PROGS = $(addprefix $(O)/tests/progs/,alloc_torture cpu_deny cpu_share \
	  cpu_share_static cpu_split demo gaps killer \
	  libcount_alloc_preload.so libcount_preload.so \
	  libkeep_whole_preload.so \
	  librefuse_writes_preload.so libsite_preload.so \
	  libstall_writes_preload.so witness \
	  $(THEME_PROGS)) $(HOSTILE) $(VICTIM) \
	  $(addprefix $(O)/tests/bench/,page_calls profile slow_threads spans \
	  symbolize)
E2E_TOOLS = $(patsubst %.c,$(O)/%,$(filter-out tests/tools/bench_%, \
	  $(wildcard tests/tools/*.c)))

.PHONY: check-e2e check-kill check-ranges check-what-if check-whom e2e-programs
e2e-programs: all $(E2E_PROGS) $(E2E_TOOLS)
check-e2e: e2e-programs
	$(Q)O=$(O) sh scripts/run-e2e.sh $(if $(SHORT),--short)

# More than in make check-full.
check-kill: e2e-programs
	$(Q)O=$(O) KILLS=$${KILLS:-100} sh scripts/run-e2e.sh robust/killed-index
# Names of holders and wakers beside the logs of a program.
check-whom: all $(O)/tests/progs/waits/whom
	$(Q)sh tests/tools/whom_runs.sh $(O) $(RUNS)
# Predictions beside runs in which a function really takes half of its time.
check-what-if: all $(O)/tests/progs/waits/halved
	$(Q)sh tests/tools/what_if_check.sh $(O)
# Above 1,000 ranges.
check-ranges: e2e-programs
	$(Q)O=$(O) RANGES=$${RANGES:-8} sh scripts/run-e2e.sh cli/ranges \
		trace/cut trace/index trace/reindex

# Some quick tests of each theme, for `make check-fast`.
E2E_QUICK = annotate/control annotate/golden annotate/install cli/bad-input \
	  cli/quiet cli/report cli/report-views cli/same-figures cli/status \
	  cli/usage cpu/daemon daemon/attached daemon/ctl daemon/limits \
	  daemon/restart families/every-way families/fork-returns \
	  families/went-on heap/exact heap/points heap/snapshots \
	  heap/temporary names/dlopen names/modules names/replaced \
	  overhead/count overhead/excluded overhead/live \
	  profile/flush profile/wall robust/ifunc-resolvers robust/limits \
	  robust/seccomp-probes trace/contexts trace/early-late trace/filter \
	  trace/protoc-decode trace/unseen-jumps

$(E2E_PROGS): Makefile tests/progs/rules.mk
