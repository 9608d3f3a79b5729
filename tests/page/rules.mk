# The page in a headless Chromium (tests/page/README.md).

.PHONY: check-page
check-page: all $(O)/page_template.html $(O)/tests/progs/demo
	$(Q)O=$(O) sh tests/page/run.sh

# docs/images/page.png, for the README.
.PHONY: page-picture
page-picture: all $(O)/tests/progs/demo
	$(Q)PYTHONDONTWRITEBYTECODE=1 python3 tests/page/picture.py $(O)
