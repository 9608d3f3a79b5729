# A daemon under many short programs, for longer than `make check` has time.
SOAK_SECONDS ?= 600
.PHONY: check-soak
check-soak: all
	$(Q)dir=$$(mktemp -d) && script=$$PWD/scripts/soak.sh && \
		o=$$(cd $(O) && pwd) && cd $$dir && \
		O=$$o sh $$script $(SOAK_SECONDS) && cd / && rm -rf $$dir
