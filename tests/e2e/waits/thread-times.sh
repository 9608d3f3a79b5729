# SPDX-License-Identifier: Apache-2.0
#
# User and system time and page faults of each thread are in summary.json: the
# values that the thread itself reads at its end, since the start of the recording.
# For a thread that was killed, and without --sched, they are null.
. "$TOP/tests/e2e/lib.sh"

# ./times: three threads, which print their times: "NAME TID USER SYSTEM FAULTS".
build times <<'SOURCE'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define NO_HOOKS __attribute__((no_instrument_function))
static volatile long g_calls;
static char g_bytes[1 << 20];
__attribute__((noinline)) static void span(void) { g_calls++; }
NO_HOOKS static long long cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}
NO_HOOKS static void tell(const char *name)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	printf("%s %ld %ld %ld %ld\n", name, syscall(SYS_gettid),
	       usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec,
	       usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec,
	       usage.ru_minflt);
	fflush(stdout);
}
NO_HOOKS static void *in_user(void *unused)
{
	span();
	while (cpu_ns() < 100000000)
		for (int i = 0; i < 100000; i++)
			g_calls++;
	tell("user");
	return unused;
}
NO_HOOKS static void *in_system(void *unused)
{
	int fd = open("/dev/zero", O_RDONLY);

	span();
	while (cpu_ns() < 100000000 && read(fd, g_bytes, sizeof(g_bytes)) > 0)
		;
	tell("system");
	return unused;
}
NO_HOOKS static void *with_faults(void *unused)
{
	char *memory = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(memory, 4 << 20, MADV_NOHUGEPAGE);
	span();
	memset(memory, 1, 4 << 20);
	tell("faults");
	return unused;
}
NO_HOOKS int main(int argc, char **argv)
{
	void *(*const function[])(void *) = { in_user, in_system, with_faults };
	pthread_t thread[3];

	span();
	tell("begin");
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, function[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	tell("end");
	if (argc > 1 && strcmp(argv[1], "kill") == 0)
		kill(getpid(), SIGKILL);
	return 0;
}
SOURCE

# thread NAME FIELD: a member of the thread that calls itself NAME.
thread()
{
	tid=$(awk -v name="$1" '$1 == name { print $2 }' out)
	jq ".processes[].threads[] | select(.tid == $tid) | .$2" \
		data/summary.json
}

# said NAME COLUMN: the printed value; times are in us.
said()
{
	awk -v name="$1" -v column="$2" '$1 == name { print $column }' out
}

# expect_least WHAT IS LEAST, expect_most WHAT IS MOST
expect_least()
{
	[ "$2" -ge "$3" ] || fail "$1: $2, less than $3"
}
expect_most()
{
	[ "$2" -le "$3" ] || fail "$1: $2, more than $3"
}

run_ok "$PERFREC" record -q --sched on -o data ./times
for name in user system faults; do
	user=$(thread $name user_ns) system=$(thread $name system_ns)
	faults=$(thread $name minor_faults)
	expect_least "$name: user" "$user" $(($(said $name 3) * 1000))
	expect_least "$name: system" "$system" $(($(said $name 4) * 1000))
	expect_least "$name: faults" "$faults" "$(said $name 5)"
	# The rest is the end of the thread, most of it in the kernel.
	expect_most "$name: faults" "$faults" $(($(said $name 5) + 200))
done
# Each thread mainly uses the kind of time in its name.
expect_least 'user of user' "$(thread user user_ns)" 60000000
expect_least 'system of system' "$(thread system system_ns)" 60000000
expect_least 'faults of faults' "$(thread faults minor_faults)" 1000
# The first thread had faults before it was recorded: those are not its.
expect_least 'faults of main' "$(thread end minor_faults)" \
	$(($(said end 5) - $(said begin 5)))
expect_most 'faults of main' "$(thread end minor_faults)" $(($(said end 5) - 20))

run_ok "$PERFREC" record -q --sched off -o data ./times
expect_eq 'without --sched' "$(thread user user_ns) $(thread end minor_faults)" \
	'null null'

# Threads that ended have reported; a killed thread has not. The collector may still
# read it before its parent waits for it, and then has all its times.
run "$PERFREC" record -q --sched on -o data ./times kill
expect_least 'user of user' "$(thread user user_ns)" 60000000
case $(thread end user_ns) in
null)	expect_eq 'killed' "$(thread end minor_faults)" null ;;
*)	expect_least 'killed' "$(thread end minor_faults)" \
		$(($(said end 5) - $(said begin 5))) ;;
esac
