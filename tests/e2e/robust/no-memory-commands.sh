# SPDX-License-Identifier: Apache-2.0
# long: lets many allocations fail in turn
#
# perfrec record -q and perfrec export run out of memory, for a moment or for good,
# or cannot read the trace. They say when they fail, and when calls or times are
# missing. (Both ended with status 1 and without a word. Unread switches and an
# unread first call were never reported.)
. "$TOP/tests/e2e/lib.sh"

cat >fail.c <<'SOURCE'
/* From main() of perfrec on, allocation number FAIL_AT fails, and with FAIL_ON all
 * that follow; with FAIL_READS not the allocation, but the pread(). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
static int (*real_main)(int, char **, char **);
static long count, fail_at;
static int on, reads;

static int fails(int is_read)
{
	if (is_read != reads || !fail_at || ++count < fail_at || (count > fail_at && !on))
		return 0;
	errno = reads ? EIO : ENOMEM;
	return 1;
}
void *malloc(size_t bytes)
{
	return fails(0) ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
	return fails(0) ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *block, size_t bytes)
{
	return fails(0) ? NULL : __libc_realloc(block, bytes);
}
ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
	return fails(1) ? -1 : syscall(SYS_pread64, fd, to, bytes, at);
}
static int main_below(int argc, char **argv, char **environment)
{
	const char *name = strrchr(argv[0], '/');

	on = getenv("FAIL_ON") != NULL;
	reads = getenv("FAIL_READS") != NULL;
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
run_ok "$PERFREC" record -q -o data ./calls 10
for on in FAIL_ON=1 FAIL_ONCE=1; do
	failing $on "$PERFREC" record -q --cpu=off -o new /bin/true
done
failing FAIL_ON=1 "$PERFREC" export --to csv data

# left_out N [READS] COMMAND...: allocations, or reads, 1 to N fail once. The
# output of the command is then the same, or a message reports the failure.
left_out()
{
	last=$1 reads=
	shift
	if [ "$1" = READS ]; then
		reads=FAIL_READS=1
		shift
	fi
	"$@" >whole || fail "$*"
	said=0
	for at in $(seq 1 $last); do
		run env FAIL_AT=$at $reads LD_PRELOAD="$PWD/libfail.so" \
			timeout 60 "$@"
		[ "$status" -le 2 ] || fail "$*: $at $reads: status $status"
		if [ -s err ]; then
			said=$((said + 1))
		elif [ "$status" -ne 0 ] || ! cmp -s out whole; then
			fail "$*: $at $reads: status $status, other output," \
				"and no word"
		fi
	done
	[ $said -gt 1 ] || fail "$*: only $said failures mattered"
}

left_out 250 "$PERFREC" dump data
left_out 12 READS "$PERFREC" dump data

# A cut that could not be read to its end left a file behind.
"$PERFREC" cut --from 0s --to 1s -o whole data >out || fail 'perfrec cut'
for at in $(seq 1 30); do
	rm -f part
	run env FAIL_AT=$at FAIL_ON=1 FAIL_READS=1 \
		LD_PRELOAD="$PWD/libfail.so" timeout 60 "$PERFREC" cut \
		--from 0s --to 1s -o part data
	if [ "$status" -ne 0 ]; then
		[ -s err ] || fail "cut: $at: status $status, and no word"
		expect_none part
	else
		cmp -s part whole || fail "cut: $at: another cut, and status 0"
	fi
done
expect_eq 'status of the last cut' "$status" 0
