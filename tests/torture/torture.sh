#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# torture.sh - each system call of the shim fails in turn, in programs recorded
# with all features. Their output and exit status must stay the same. O is the
# build directory.
set -u
O=$(cd "${O:-build}" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
runs=0 bad=0

# number NAME: prints the number of a system call by the machine's headers.
number()
{
	printf '#include <sys/syscall.h>\n#ifdef SYS_%s\n@ SYS_%s\n#endif\n' \
		"$1" "$1" | ${CC:-cc} -E -P -xc - | sed -n 's/^@ *//p'
}

# try CALL ERRNO NAME COMMAND...: compares with a run without perfrec.
try()
{
	id=$(number "$1") name=$3 what="$1 fails with $2: $3"
	error=$2
	shift 3
	[ "$id" ] || return 0
	timeout 60 "$O/tests/torture/deny" "$id" "$error" "$@" \
		>plain.out 2>plain.err
	plain=$?
	[ $plain = 77 ] && { echo "skipped: no seccomp here"; exit 0; }
	# Skips programs that need the call themselves.
	[ $plain = 0 ] || return 0
	runs=$((runs + 1))
	set -- -- "$O/tests/torture/deny" "$id" "$error" "$@"
	case $error in
	12)	set -- --alloc=sampled:4096 "$@" ;;
	*)	set -- --alloc=exact "$@" ;;
	esac
	timeout 60 "$O/perfrec" record -q --on-full=drop -o data "$@" \
		>"$name.out" 2>"$name.err"
	status=$?
	[ $status = 0 ] && cmp -s plain.out "$name.out" && return 0
	echo "$what: status $status"
	head -n 3 "$name.err"
	bad=$((bad + 1))
}

seq 20000 | sed 's/\(.*\)\(.\)/\2\1/' >numbers
: >log
for call in memfd_create ftruncate fcntl openat newfstatat membarrier mremap socket connect getsockopt setsockopt shutdown sendmsg \
	recvmsg ppoll fstat mmap madvise munmap prlimit64 faccessat getuid \
	geteuid futex futex_waitv process_vm_readv rt_sigprocmask prctl \
	nanosleep close gettid pread64 getrusage clock_gettime; do
	for error in 1 12 38; do # EPERM, ENOMEM, ENOSYS
		try $call $error sort sort --parallel=2 -S 1M numbers
	done
	try $call 38 cxx "$O/tests/shim/victims/alloc_cxx_victim" "$work/log"
done
# A program that sets SIGPROF to SIG_DFL must survive a timer that cannot be deleted.
id=$(number timer_delete)
runs=$((runs + 1))
timeout 60 "$O/perfrec" record -q --cpu=1000,signal -o data -- \
	"$O/tests/torture/deny" "$id" 1 \
	"$O/tests/shim/victims/cpu_victim" default 1000 >timer.out 2>timer.err || {
	echo "timer_delete fails with 1: status $?"
	bad=$((bad + 1))
}
# This machine must have most of the calls; missing ones are not counted.
[ $runs -gt 50 ] || bad=$((bad + 1))
echo "torture: $runs runs, $bad bad"
[ $bad = 0 ]
