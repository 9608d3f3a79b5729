# The page in a headless Chromium (tests/page/README.md). `make check-page` fails
# without Chromium; `make check` skips it and says so.
check-all: PAGE_MAY_SKIP = 1

.PHONY: check-page
check-page: all $(O)/page_template.html $(O)/tests/progs/demo $(O)/tests/tools/within
	$(Q)O=$(O) REAL_DIR=$(REAL_DIR) PAGE_MAY_SKIP=$(PAGE_MAY_SKIP) sh tests/page/run.sh

# The same with Lua and SQLite; it fetches and builds them from Debian's sources.
# If they exist already, check-page includes them.
.PHONY: check-page-real
check-page-real: all $(O)/page_template.html $(O)/tests/progs/demo $(O)/tests/tools/within
	$(Q)sh tests/real/fetch-build.sh $(REAL_DIR)
	$(Q)O=$(O) REAL_DIR=$(REAL_DIR) PAGE_ALL=1 sh tests/page/run.sh Recorded

# docs/images/page.png and waits.png, for the README.
.PHONY: page-picture
page-picture: all $(O)/tests/progs/demo
	$(Q)PYTHONDONTWRITEBYTECODE=1 python3 tests/page/picture.py $(O)

# Pictures of all tabs of five recordings, for a person, in $(O)/page-look. Obstacles
# by axe too, if check-viewers has fetched it.
.PHONY: page-look
page-look: all $(O)/page_template.html
	$(Q)PYTHONDONTWRITEBYTECODE=1 python3 tests/page/look.py $(O) $(O)/page-look
