# SPDX-License-Identifier: Apache-2.0
#
# perfrec record --calls-to: calls of the C library's functions for files have their
# arguments and results in the trace. A pointer to nothing harms nobody.
. "$TOP/tests/e2e/lib.sh"
need jq gcc

cat >files.c <<'C'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static char byte;
static void write_some(int fd)
{
	for (int i = 0; i < 3; i++)
		write(fd, "1234567890", 10);
}
int main(void)
{
	char text[8];
	int fd = open("made", O_CREAT | O_RDWR | O_TRUNC, 0640), other;

	write_some(fd);
	printf("%ld\n", (long)pread(fd, text, 8, 25));
	other = dup(fd);
	printf("%ld\n", (long)read(other, text, 8));
	close(fd);
	printf("%ld\n", (long)write(other, "x", 1));
	close(other);
	printf("%d %d\n", open("missing", O_RDONLY), errno);
	printf("%d %d\n", open((char *)8, O_RDONLY), errno);
	printf("%d %d\n", open(NULL, O_RDONLY), errno);
	printf("%ld %d\n", (long)write(-1, &byte, 1), errno);
	/* The same number for another file. */
	fd = open("/dev/zero", O_RDONLY);
	printf("%ld\n", (long)read(fd, text, 4));
	close(fd);
	write(socket(AF_UNIX, SOCK_STREAM, 0), "x", 0);
	return 0;
}
C
gcc -O2 -w -o files files.c || fail 'cannot compile files.c'
./files >expected
run "$PERFREC" record -q --calls-to='open,read,pread,write,close,dup,socket' \
	--alloc=off --cpu=off -o data -- ./files
expect_status 0
cmp -s out expected || fail "the output has changed: $(diff out expected)"
run "$PERFREC" dump data
expect_status 0
jq -r 'select(.kind == "begin" and .name == "open64") | .arguments["args.path"]' \
	out >paths
expect_eq paths "$(cat paths)" "made
missing
<bad address>
0x0
/dev/zero"
expect_eq 'sizes written' "$(jq -r 'select(.kind == "begin" and .name == "write") |
	"\(.arguments["args.fd"]) \(.arguments["args.size"])"' out | tr '\n' ,)" \
	'3 10,3 10,3 10,4 1,-1 1,3 0,'
expect_eq 'results of write()' "$(jq -r 'select(.kind == "end" and .name == "write") |
	.arguments.ret' out | tr '\n' ,)" '10,10,10,1,-1,-1,'
expect_eq 'results of pread()' "$(jq -r 'select(.kind == "end" and
	(.name | startswith("pread"))) | .arguments.ret' out)" 5
"$O/tests/tools/trace_check" data/trace.pftrace >checked || fail "$(cat checked)"

# Types for another function.
run "$PERFREC" record -q --calls-to='dup' --args 'dup(number:int)->int' --alloc=off \
	--cpu=off -o data -- ./files
expect_status 0
run "$PERFREC" dump data
expect_eq 'a given type' "$(jq -r 'select(.kind == "begin" and .name == "dup") |
	.arguments["args.number"]' out)" 3
