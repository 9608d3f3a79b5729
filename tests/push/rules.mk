# SPDX-License-Identifier: Apache-2.0

.PHONY: check-push
check-push: $(O)/perfrec-push
	$(Q)O=$(O) sh tests/push/run.sh
