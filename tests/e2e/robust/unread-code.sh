# SPDX-License-Identifier: Apache-2.0
# long: records many times
#
# The collector cannot read the code of an entry build, or has no memory for its
# functions: the program runs as ever, lacks spans, and it is said why. (Nothing was
# said but "no function of this program is instrumented".)
. "$TOP/tests/e2e/lib.sh"

cat >calls.c <<'SOURCE'
#include <stdio.h>
__attribute__((noinline)) static void leaf(void) { __asm__(""); }
int main(void)
{
	leaf();
	puts("done");
	return 0;
}
SOURCE
"$PERFREC" cc --hooks=entry "${CC:-gcc}" -O1 -o calls calls.c ||
	fail 'cannot compile calls.c'
cat >fail.c <<'SOURCE'
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
/* Allocation number FAIL_AT of the thread perfrec-states fails, or every pread(). */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
static long count;
static int fails(void)
{
	const char *at = getenv("FAIL_AT");
	char name[16] = "";

	if (!at || prctl(PR_GET_NAME, name) || strcmp(name, "perfrec-states") ||
	    ++count != atol(at))
		return 0;
	errno = ENOMEM;
	return 1;
}
void *malloc(size_t bytes)
{
	return fails() ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *block, size_t bytes)
{
	return fails() ? NULL : __libc_realloc(block, bytes);
}
ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
	if (getenv("FAIL_AT") ||
	    strcmp(program_invocation_short_name, "perfrec-collect"))
		return syscall(SYS_pread64, fd, to, bytes, at);
	errno = EIO;
	return -1;
}
SOURCE
${CC:-gcc} -O1 -fno-builtin -shared -fPIC -o libfail.so fail.c || fail 'cannot compile fail.c'

run_ok "$PERFREC" record -q -o data ./calls
expect_eq spans "$(json data/summary.json .totals.spans)" 2
run_ok env LD_PRELOAD="$PWD/libfail.so" "$PERFREC" record -q --no-cache \
	-o data ./calls
expect_eq output "$(cat out)" done
expect_eq spans "$(json data/summary.json .totals.spans)" 0
expect_match err '/calls can be changed, and none of an entry build is recorded: it cannot be read'

lacking=0
for at in $(seq 1 45); do
	run_ok env FAIL_AT=$at LD_PRELOAD="$PWD/libfail.so" "$PERFREC" record -q \
		--no-cache -o data ./calls
	expect_eq output "$(cat out)" done
	[ "$(json data/summary.json .totals.spans)" -eq 2 ] && continue
	lacking=$((lacking + 1))
	[ -s err ] || [ "$(json data/summary.json \
		.totals.functions_refused)" -gt 0 ] || fail "$at: no word"
done
[ $lacking -gt 1 ] || fail 'no allocation mattered'
