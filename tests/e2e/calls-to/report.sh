# SPDX-License-Identifier: Apache-2.0
#
# perfrec report --view io: files by time, calls and bytes, with the function that made
# the calls; the same counts as strace's.
. "$TOP/tests/e2e/lib.sh"
need jq gcc

cat >files.c <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
static int shared;
__attribute__((noinline)) static void write_some(int fd)
{
	for (int i = 0; i < 3; i++)
		write(fd, "1234567890", 10);
	__asm__ volatile("");
}
/* Another thread reads from the file that the first one opened. */
static void *read_all(void *unused)
{
	char text[8];

	while (read(shared, text, 8) > 0)
		;
	return unused;
}
int main(void)
{
	char text[8];
	pthread_t thread;
	int fd = open("made", O_CREAT | O_RDWR | O_TRUNC, 0640);

	write_some(fd);
	shared = dup(fd);
	lseek(fd, 0, SEEK_SET);
	pthread_create(&thread, 0, read_all, 0);
	pthread_join(thread, 0);
	close(fd);
	close(shared);
	/* The same number for another file. */
	fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < 100; i++)
		read(fd, text, 4);
	close(fd);
	open("missing", O_RDONLY);
	/* Longer than the 64 bytes of a recorded text. */
	open("a12345678901234567890123456789012345678901234567890123456789/bcdef",
	     O_RDONLY);
	open(0, O_RDONLY);
	read(0, text, 0);
	return 0;
}
C
gcc -O2 -w -o files files.c -pthread || fail 'cannot compile files.c'
run "$PERFREC" record -q --calls-to='open,read,write,close,dup' --patch --alloc=off \
	--cpu=off -o data -- ./files
expect_status 0
run "$PERFREC" report --view io --json data
expect_status 0
expect_eq 'rows' "$(jq -r '.files[] | "\(.file) \(.function): \(.calls) calls, \(.errors
	) errors, \(.read_bytes) read, \(.written_bytes) written"' out | sort)" \
'/dev/zero main: 102 calls, 0 errors, 400 read, 0 written
[no path] main: 1 calls, 1 errors, 0 read, 0 written
a12345678901234567890123456789012345678901234567890123456789/bcd... main: 1 calls, 1 errors, 0 read, 0 written
fd 0 main: 1 calls, 0 errors, 0 read, 0 written
made main: 4 calls, 0 errors, 0 read, 0 written
made read_all: 5 calls, 0 errors, 30 read, 0 written
made write_some: 3 calls, 0 errors, 0 read, 30 written
missing main: 1 calls, 1 errors, 0 read, 0 written'
# The times are those of the calls in the trace.
total=$(jq '[.files[].total_ns] | add' out)
run "$PERFREC" dump data
expect_eq 'time' "$total" "$(jq -s '[.[] | select(.kind == "end" and
	(.name | test("^(open64|read|write|close|dup)$"))) | .took_ns] | add' out)"
run "$PERFREC" report --view io --sort calls --limit 1 data
expect_status 0
expect_match out ' +time +calls +read +written +errors +function +file$' \
	' 102 +400 B +0 B +0 +main +/dev/zero$' 'and 7 rows more'
run "$PERFREC" report --view io --sort self data
expect_error 2 "--sort 'self': choose total, calls or name"
run "$PERFREC" record -q --alloc=off --cpu=off -o none -- ./files
run "$PERFREC" report --view io none
expect_error 1 "'none' has no calls of functions for files"

# A program of the system: as strace counts them, without those of the C library and of
# the dynamic linker.
if command -v strace >/dev/null && strace -o traced true; then
	head -c 300000 /dev/urandom >input
	strace -f -o traced gzip -c input >expected
	run "$PERFREC" record -q --calls-to='read,write' --alloc=off --cpu=off -o data \
		-- gzip -c input
	expect_status 0
	cmp -s out expected || fail 'gzip: the output has changed'
	for call in read write; do
		expect_eq "gzip: $call" "$(json data/summary.json "[.functions[] |
			select(.name == \"$call\") | .calls] | add")" \
			"$(grep "$call([0-9]*, \"" traced | grep -vc 'ELF')"
	done
fi
