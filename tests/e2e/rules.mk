# End-to-end tests: shell scripts, one folder for each theme.

E2E_PROGS = $(addprefix $(O)/tests/progs/,alloc_torture cpu_deny cpu_share \
	  cpu_share_static cpu_split demo gaps hostile killer \
	  libcount_alloc_preload.so libcount_preload.so witness)
E2E_TOOLS = $(addprefix $(O)/tests/tools/,count_names trace_check)

.PHONY: check-e2e
check-e2e: all $(E2E_PROGS) $(E2E_TOOLS)
	$(Q)O=$(O) sh scripts/run-e2e.sh
