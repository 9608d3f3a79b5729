# SPDX-License-Identifier: Apache-2.0

.PHONY: check-viewers
check-viewers: all $(O)/tests/progs/export/hostile_names
	$(Q)O=$(O) sh tests/viewers/run.sh
