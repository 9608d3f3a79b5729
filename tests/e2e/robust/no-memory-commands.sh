# SPDX-License-Identifier: Apache-2.0
#
# perfrec record -q and perfrec export run out of memory, for a moment or for good:
# a command that fails says so. (Both ended with status 1 and without a word.)
. "$TOP/tests/e2e/lib.sh"

cat >fail.c <<'SOURCE'
/* From main() of perfrec on, allocation number FAIL_AT fails, and with FAIL_ON all
 * that follow. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
static int (*real_main)(int, char **, char **);
static long count, fail_at;
static int on;

static int fails(void)
{
	if (!fail_at || ++count < fail_at || (count > fail_at && !on))
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
static int main_below(int argc, char **argv, char **environment)
{
	const char *name = strrchr(argv[0], '/');

	on = getenv("FAIL_ON") != NULL;
	if (name && !strcmp(name, "/perfrec"))
		fail_at = atol(getenv("FAIL_AT"));
	return real_main(argc, argv, environment);
}
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
		      void (*init)(void), void (*fini)(void),
		      void (*end)(void), void *stack)
{
	int (*real)(int (*)(int, char **, char **), int, char **,
		    void (*)(void), void (*)(void), void (*)(void), void *) =
		dlsym(RTLD_NEXT, "__libc_start_main");

	real_main = main;
	return real(main_below, argc, argv, init, fini, end, stack);
}
SOURCE
${CC:-gcc} -O1 -fno-builtin -shared -fPIC -o libfail.so fail.c -ldl ||
	fail 'cannot compile fail.c'

# failing ON COMMAND...: allocations 1 to 40 fail.
failing()
{
	on=$1
	shift
	failed=0
	for at in $(seq 1 40); do
		rm -rf new
		run env FAIL_AT=$at $on LD_PRELOAD="$PWD/libfail.so" \
			timeout 60 "$@"
		[ "$status" -le 2 ] || fail "$*: $at $on: status $status"
		[ "$status" -eq 0 ] && continue
		[ -s err ] || fail "$*: $at $on: status $status, and no word"
		failed=$((failed + 1))
	done
	[ $failed -gt 1 ] || fail "$*: only $failed allocations mattered"
}

build_calls
run "$PERFREC" record -q -o data ./calls 10
expect_status 0
for on in FAIL_ON=1 FAIL_ONCE=1; do
	failing $on "$PERFREC" record -q --cpu=off -o new /bin/true
done
failing FAIL_ON=1 "$PERFREC" export --to csv data
