/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_figures - only a file of /proc has the time that a thread waited for a
 * CPU, so the end of a thread opens one. Meanwhile another thread may close all
 * descriptors (closefrom()) and open files of its own under the same number. So
 * the descriptor is only read by pread(), which takes no data from a pipe and
 * keeps the position in a file. It is closed only if its content looks like
 * schedstat.
 */
#include "preload/start/thread_figures.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#include "preload/core/gate.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "shared/atomic.h"

/* Three numbers of 20 digits, two spaces, a newline. */
#define SCHEDSTAT_BYTES 63
#define SCHEDSTAT_NUMBERS 3

/* Returns true if @text is a line of three numbers: ns on a CPU, ns waited for
 * one, and the number of times on one. */
static bool parse_schedstat(const char *text, long bytes,
			    uint64_t number[SCHEDSTAT_NUMBERS])
{
	const char *end = text + bytes;

	for (int i = 0; i < SCHEDSTAT_NUMBERS; i++) {
		const char after = i + 1 < SCHEDSTAT_NUMBERS ? ' ' : '\n';
		const char *digits = text;

		for (number[i] = 0; text < end && *text >= '0' && *text <= '9';
		     text++)
			number[i] = number[i] * 10 + (uint64_t)(*text - '0');
		if (text == digits || text == end || *text++ != after)
			return false;
	}
	return text == end;
}

/* Sets *@ns to this thread's wait for CPUs. Returns false if unknown. */
static bool read_delay(uint64_t *ns)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	long fd =
		sys(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat", flags);
	uint64_t number[SCHEDSTAT_NUMBERS];
	char text[SCHEDSTAT_BYTES] = { 0 };
	long bytes;

	if (fd < 0)
		return false;
	bytes = sys(SYS_pread64, fd, text, sizeof(text), 0);
	if (!parse_schedstat(text, bytes, number))
		return false;
	sys(SYS_close, fd);
	*ns = number[1];
	/* All 0 without the kernel's statistics. */
	return number[0] || number[1];
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now = { 0 };

	sys(SYS_clock_gettime, clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void tell_figures(struct slot_shm *slot)
{
	struct rusage usage;
	uint64_t delay_ns = 0, cpu_ns, ns;
	uint32_t told = END_TOLD;

	usage = (struct rusage){ 0 };
	/* The kernel updates the files and getrusage() only at ticks and clock
	 * reads; a short thread has no tick. */
	(void)clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (read_delay(&delay_ns))
		told |= END_HAS_DELAY;
	sys(SYS_getrusage, RUSAGE_THREAD, &usage);
	/* Last, so that it includes the calls above. */
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	ns = clock_ns(CLOCK_BOOTTIME);
	/* relaxed, all: ENDTOLD orders them */
	atom_store_rlx(&slot->end_delay_ns, delay_ns);
	atom_store_rlx(&slot->end_user_ns, sys_timeval_ns(&usage.ru_utime));
	atom_store_rlx(&slot->end_system_ns, sys_timeval_ns(&usage.ru_stime));
	atom_store_rlx(&slot->end_minor_faults, (uint64_t)usage.ru_minflt);
	atom_store_rlx(&slot->end_major_faults, (uint64_t)usage.ru_majflt);
	atom_store_rlx(&slot->end_cpu_ns, cpu_ns);
	atom_store_rlx(&slot->end_ns, ns);
	/* order: rel, ENDTOLD: after the figures */
	atom_store_rel(&slot->end_told, told);
}

void thread_figures_tell(void)
{
	struct slot_shm *slot = t_thread.slot;
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);
	uint64_t signals;

	if (!g_shim.tells_end || g_shim.no_syscalls || !slot ||
	    t_thread.in_vfork || !thread_has_slot(gate))
		return;
	/* A child cloned into this memory has the slot as well. */
	if (sys(SYS_gettid) != slot->tid)
		return;
	/* A handler that forks or jumps away would leak the descriptor. */
	signals = sys_block_signals();
	tell_figures(slot);
	sys_restore_signals(signals);
}

/* The last of the shim's destructors, near the end of exit(). */
__attribute__((destructor(101))) static void destructor(void)
{
	thread_figures_tell();
}
