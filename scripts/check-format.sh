#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-format.sh - .clang-format's view of every C file in git, as a diff.
# clang-format is the one of Debian 12 (14): others see some lines differently.
set -u
bad=0

# One process for all: each takes longer to start than to read a file.
git ls-files '*.[ch]' | while read -r file; do
	[ ! -f "$file" ] || echo "$file"
done | xargs clang-format --dry-run --Werror 2>/dev/null && exit 0

for file in $(git ls-files '*.[ch]'); do
	[ -f "$file" ] || continue
	clang-format "$file" | diff -u --label "$file" \
		--label "$file, formatted" "$file" - || bad=1
done
exit $bad
