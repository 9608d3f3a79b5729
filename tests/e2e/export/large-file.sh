# SPDX-License-Identifier: Apache-2.0
#
# An export of more than 200 MB is written, and a warning says that most viewers
# cannot open it, with its size and a way to a smaller one. (A long name makes a
# large file of few calls.)
. "$TOP/tests/e2e/lib.sh"

name=$(printf 'f%.0s' $(seq 1900))
build long <<SOURCE
__attribute__((noinline)) static void $name(void) { __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 120000; i++) $name(); return 0; }
SOURCE
run_ok "$PERFREC" record -q --alloc=off --cpu=off -o data ./long
run_ok "$PERFREC" export --to chrome -o large.json data
expect_match err "warning: 'large.json' has 2[0-9.]+ MiB, more than most viewers can open: .*--until TIME"
rm large.json
run_ok "$PERFREC" export --to chrome --until 1ms -o small.json data
expect_no_match err 'warning'
