# SPDX-License-Identifier: Apache-2.0
#
# perfrec report --view io counts bytes that functions of _FORTIFY_SOURCE read, and NULL
# as a failure of functions that return a pointer. It counts no bytes for a file that
# stdio has closed, and leaves out a function of the program with a name of the C library.
. "$TOP/tests/e2e/lib.sh"
need jq gcc

cat >odd.c <<'C'
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char text[64];
	size_t size = 63 + argc;
	int fd, pair[2];

	fopen("no file", "r");
	opendir("no folder");
	fd = creat("first", 0600);
	write(fd, "0123456789", 10);
	fd = openat(AT_FDCWD, "first", argc == 1 ? O_RDWR : argc);
	pread(fd, text, size, 2);
	dup2(fd, fd);
	fdopen(fd, "?");
	read(fd, text, 3);
	fclose(fdopen(fd, "r"));
	/* The number of "first". */
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	write(pair[0], "hello", 5);
	recv(pair[1], text, size, 0);
	read(eventfd(1, 0), text, 8);
	return 0;
}
C
gcc -O2 -w -D_FORTIFY_SOURCE=2 -o odd odd.c || fail 'cannot compile odd.c'
run "$PERFREC" record -q --calls-to='*' --alloc=off --cpu=off -o data -- ./odd
expect_status 0
run "$PERFREC" report --view io --json data
expect_status 0
expect_eq 'rows' "$(jq -r '.files[] | "\(.file): \(.calls) calls, \(.errors
	) errors, \(.read_bytes) read, \(.written_bytes) written"' out | sort)" \
'[eventfd]: 2 calls, 0 errors, 8 read, 0 written
fd 4: 1 calls, 0 errors, 0 read, 5 written
fd 5: 1 calls, 0 errors, 5 read, 0 written
first: 8 calls, 1 errors, 11 read, 10 written
no file: 1 calls, 1 errors, 0 read, 0 written
no folder: 1 calls, 1 errors, 0 read, 0 written'

# The rows of a trace without its end lack calls.
cp -r data cut
truncate -s -3 cut/trace.pftrace
run "$PERFREC" report --view io cut
expect_status 1
expect_match err "'cut/trace.pftrace' was cut"
expect_match out 'eventfd'

cat >own.c <<'C'
#include <stdio.h>
__attribute__((noinline)) int send(const char *to, double weight)
{
	__asm__ volatile("");
	return *to + (int)weight;
}
int main(void)
{
	printf("%d\n", send("a", 5.5));
	return 0;
}
C
gcc -O1 -g -w -o own own.c || fail 'cannot compile own.c'
run "$PERFREC" record -q --patch --args='*' --alloc=off --cpu=off -o data -- ./own
expect_status 0
run "$PERFREC" report --view io data
expect_error 1 "'data' has no calls of functions for files"

# A name stands for its fortified variants as well.
run "$PERFREC" record -q --calls-to='read,pread*,recv,openat' --alloc=off --cpu=off -o data \
	-- ./odd
expect_status 0
expect_eq 'calls of functions that --calls-to names' "$(json data/summary.json \
	'[.functions[] | "\(.name) \(.calls)"] | sort | join(", ")')" \
	'__openat_2 1, __pread_chk 1, __recv_chk 1, read 2'
