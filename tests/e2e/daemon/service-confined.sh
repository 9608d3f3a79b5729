# SPDX-License-Identifier: Apache-2.0
#
# The collector works as confined as its systemd unit says: with the system calls,
# the protections of memory and the kinds of sockets that the unit allows, the
# recording and the log are the same. systemd need not run: ./confine does the
# same as systemd.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need systemd-analyze
[ "$(uname -m)" = x86_64 ] || skip 'the numbers of system calls are of x86_64'

# The system calls that SystemCallFilter= leaves, as numbers: groups hold names
# and groups.
unit=$TOP/dist/perfrec-collect.service
systemd-analyze syscall-filter --no-pager >groups || skip 'no groups of calls'
# calls NAME...
calls()
{
	for name in "$@"; do
		case $name in
		# shellcheck disable=SC2046 # several names
		@*) calls $(awk -v name="$name" '
			/^@/ { inside = $1 == name; next }
			inside && $1 != "#" && NF { print $1 }' groups) ;;
		*) echo "$name" ;;
		esac
	done
}
if systemd-analyze --help | grep -q -- --threshold; then
	sed "s|@BINDIR@|$O|" $unit >perfrec-collect.service
	systemd-analyze security --no-pager --offline=yes --threshold=65 \
		./perfrec-collect.service >score 2>&1 ||
		fail "the unit is less confined than docs/SERVICE.md says"
fi
# shellcheck disable=SC2046 # several names
calls $(sed -n 's/^SystemCallFilter=\([^~].*\)/\1/p' $unit) | sort -u >allowed
# shellcheck disable=SC2046 # several names
calls $(sed -n 's/^SystemCallFilter=~\(.*\)/\1/p' $unit) | sort -u >denied
[ -s allowed ] && [ -s denied ] || fail 'no SystemCallFilter= in the unit'
comm -23 allowed denied >names
{
	echo '#include <sys/syscall.h>'
	sed 's/.*/#ifdef SYS_&\n@ SYS_&,\n#endif/' names
} | gcc -E -P -xc - | sed -n 's/^@ *//p' >numbers
[ "$(wc -l <numbers)" -gt 200 ] || fail "$(wc -l <numbers) system calls only"
for setting in MemoryDenyWriteExecute=yes SystemCallArchitectures=native \
	'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6'; do
	grep -qx "$setting" $unit || fail "./confine does what '$setting' says"
done

cat >confine.c <<'SOURCE'
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
			  offsetof(struct seccomp_data, at))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
static const unsigned int allowed[] = {
#include "numbers"
};
static struct sock_filter filter[1024] = {
	LOAD(arch), IS(AUDIT_ARCH_X86_64, 1, 0), REFUSE,
	/* No memory both to write and to execute. */
	LOAD(nr), IS(SYS_mmap, 0, 5), LOAD(args[2]),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
	IS(PROT_WRITE | PROT_EXEC, 0, 1), REFUSE, ALLOW,
	LOAD(nr), IS(SYS_mprotect, 0, 4), LOAD(args[2]),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), REFUSE, ALLOW,
	LOAD(nr), IS(SYS_socket, 0, 6), LOAD(args[0]),
	IS(AF_UNIX, 3, 0), IS(AF_INET, 2, 0), IS(AF_INET6, 1, 0), REFUSE, ALLOW,
	LOAD(nr),
};
int main(int argc, char **argv)
{
	struct sock_fprog program = { 0, filter };
	size_t n = 25;

	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		filter[n++] = (struct sock_filter)IS(allowed[i], 0, 1);
		filter[n++] = (struct sock_filter)ALLOW;
	}
	filter[n++] = (struct sock_filter)REFUSE;
	program.len = (unsigned short)n;
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("confine");
		return 77;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
SOURCE
gcc -o confine confine.c || fail 'cannot compile confine.c'
./confine true || skip 'no seccomp here'
# It does confine.
cat >tries.c <<'SOURCE'
#include <errno.h>
#include <stdio.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	printf("%d %d %d %d\n", map == MAP_FAILED, socket(AF_NETLINK, SOCK_RAW, 0),
	       (int)syscall(SYS_ptrace, 0, 0, 0, 0), setuid(getuid()));
	return 0;
}
SOURCE
gcc -o tries tries.c 2>/dev/null || fail 'cannot compile tries.c'
expect_eq 'what is refused' "$(./confine ./tries)" '1 -1 -1 -1'

build work <<'SOURCE'
#include <stdlib.h>
#include <time.h>
static volatile long sum;
__attribute__((noinline)) static void leaf(long i) { free(malloc((size_t)i)); }
int main(void)
{
	for (struct timespec now = { 0 }, first = { 0 };;) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (!first.tv_sec)
			first = now;
		for (long i = 0; i < 5000; i++)
			leaf(i);
		if (now.tv_sec - first.tv_sec > 1)
			return 0;
	}
}
SOURCE

# record HOW PROGRAM...: PROGRAM... starts a collector, which records all its
# kinds of data; the log and parts of the summary go to ./HOW.*.
record()
{
	how=$1
	shift
	rm -rf data
	: >collect.log
	"$@" "$O/perfrec-collect" -o data --overhead 5% --cpu 250 \
		--alloc sampled:4096 2>collect.log &
	collector=$!
	wait_for 60 grep -q 'listening on' collect.log
	preload ./work || fail "$how: the program"
	wait_for 60 has_summary work
	stop_daemon
	mv collect.log $how.log
	json "$(echo data/work-*/summary.json)" \
		'[.functions[] | select(.calls > 0).name] | sort | .[]' >$how.names
	json "$(echo data/work-*/summary.json)" '.notes[]?' >$how.notes
	"$PERFREC" report --view cpu data/work-* >$how.cpu 2>&1
	"$PERFREC" report --view heap data/work-* >$how.heap 2>&1
}
record free env
record confined ./confine
for file in names notes; do
	cmp -s free.$file confined.$file ||
		fail "$file differ: $(diff free.$file confined.$file)"
done
grep -qx leaf confined.names || fail "no leaf: $(cat confined.names)"
for view in cpu heap; do
	! grep -q leaf free.$view || grep -q leaf confined.$view ||
		fail "$view has no leaf: $(cat confined.$view)"
done
# The logs have the same lines, except for numbers.
for how in free confined; do
	sed 's/[0-9][0-9.,]*/N/g' $how.log | sort -u >$how.lines
done
[ -z "$(comm -13 free.lines confined.lines)" ] ||
	fail "the log: $(comm -13 free.lines confined.lines)"
