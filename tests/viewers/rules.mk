# SPDX-License-Identifier: Apache-2.0

.PHONY: check-viewers
check-viewers: all $(O)/tests/tools/trace_check \
		$(addprefix $(O)/tests/progs/,demo export/hostile_names \
		trace/coroutines waits/tasks)
	$(Q)O=$(O) sh tests/viewers/run.sh
