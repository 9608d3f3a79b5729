# Lua and SQLite at full size, programs built by `perfrec cc`, which are fetched
# and built once, into REAL_DIR, and programs as Debian ships them. Beside it,
# tests/real/programs-of.sh records all programs of any folder.

REAL_DIR ?= $(O)/real

# Without root, what is not installed is named and skipped.
.PHONY: check-real real-tools
check-real:
	$(Q)sh scripts/install-deps.sh build
	$(Q)sh scripts/install-deps.sh check real || true
	$(Q)$(MAKE) --no-print-directory real-tools
	$(Q)sh tests/real/all.sh $(O) $(REAL_DIR)
real-tools: e2e-programs
