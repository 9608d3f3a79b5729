/* SPDX-License-Identifier: Apache-2.0
 *
 * Tries each service of the kernel and the C library that a recording uses: a
 * version number says little on a kernel of a distribution, and nothing inside
 * a container.
 */
#include "collector/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/perf_open.h"
#include "collector/base/perf_wakings.h"
#include "collector/base/proc.h"
#include "collector/names/kernel_names.h"
#include "collector/replay/clock_sync.h"

/* Set by the C library (2.35 and later): 0 where it has registered no area. */
extern const unsigned int __rseq_size __attribute__((weak));

#define CLOCK_READS 20000

static void look_at_processor(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "kernel");
	struct utsname name;

	if (uname(&name) < 0) {
		doctor_say(finding->found, "unknown: %s", strerror(errno));
		return;
	}
	doctor_say(finding->found, "%s %s, %s", name.sysname, name.release,
		   name.machine);
	if (!strcmp(name.machine, "x86_64"))
		return;
	doctor_judge(finding, DOCTOR_LESS);
	doctor_say(finding->effect,
		   "functions are recorded, but cannot be switched off: "
		   "--overhead and --count need x86-64");
}

static void look_at_libc(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "libc");
	bool rseq = &__rseq_size && __rseq_size;

	doctor_say(finding->found, "glibc %s%s", gnu_get_libc_version(),
		   rseq ? ", restartable sequences" : "");
	if (rseq)
		return;
	doctor_judge(finding, DOCTOR_LESS);
	doctor_say(finding->effect,
		   "hooks take a slower path: there are no restartable "
		   "sequences (rseq)");
	doctor_say(finding->change,
		   "glibc 2.35 and Linux 4.18 have them, unless GLIBC_TUNABLES "
		   "has glibc.pthread.rseq=0 or a seccomp filter forbids them");
}

/* Makes a sealed file in memory, as each recorded program does. Returns 0 or
 * -errno. */
static int try_memfd(void)
{
	int fd =
		memfd_create("perfrec-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, 4096) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int try_pidfd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void look_at_memory_files(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "memfd");
	int memfd = try_memfd(), pidfd = try_pidfd();

	doctor_say(finding->found, "memfd_create %s, pidfd_open %s",
		   memfd ? strerror(-memfd) : "works",
		   pidfd ? strerror(-pidfd) : "works");
	if (!memfd && !pidfd)
		return;
	doctor_judge(finding, DOCTOR_BAD);
	doctor_say(finding->effect, "no program can be recorded");
	doctor_say(finding->change,
		   "use Linux 5.3 or later, or permit both in the seccomp "
		   "filter of this container");
}

static double clock_cost_ns(void)
{
	uint64_t begin = clock_monotonic_ns();

	for (int i = 0; i < CLOCK_READS; i++)
		(void)clock_boottime_ns();
	return (double)(clock_monotonic_ns() - begin) / CLOCK_READS;
}

static void look_at_cpu_clock(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "clock");

	if (clock_ticks_usable()) {
		doctor_say(finding->found,
			   "the CPU's own counter is the kernel's clock");
		return;
	}
	doctor_judge(finding, DOCTOR_LESS);
	doctor_say(finding->found,
		   "the kernel does not trust the CPU's counter: a reading of "
		   "its clock takes %.0f ns",
		   clock_cost_ns());
	doctor_say(finding->effect, "each recorded call reads the clock twice");
	doctor_say(
		finding->change,
		"see the kernel's log for why (dmesg | grep -i clocksource); "
		"in a virtual machine choose the host's tsc");
}

static long read_sysctl(const char *name, long otherwise)
{
	char path[128], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return otherwise;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = '\0';
	close(fd);
	return text[0] ? strtol(text, NULL, 10) : otherwise;
}

static int try_samples(bool no_kernel)
{
	const struct perf_wanted wanted = { .period_ns = 10000000,
					    .stack_bytes = 1024,
					    .no_kernel = no_kernel };
	int fd = perf_open_self(&wanted);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void look_at_samples(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "perf");
	long paranoid = read_sysctl("kernel/perf_event_paranoid", -2);
	int whole = try_samples(false), user = try_samples(true);

	if (!whole) {
		doctor_say(finding->found,
			   "CPU samples, in the kernel too, at up to %ld a "
			   "second, and switches of threads",
			   read_sysctl("kernel/perf_event_max_sample_rate", 0));
		if (kernel_names_are_shown())
			return;
		doctor_judge(finding, DOCTOR_LESS);
		doctor_say(finding->effect,
			   "CPU time in the kernel is one row, [kernel]: it "
			   "hides the addresses of its functions "
			   "(kernel.kptr_restrict is %ld)",
			   read_sysctl("kernel/kptr_restrict", -1));
		doctor_say(finding->change,
			   "as root: sysctl kernel.kptr_restrict=0; 1 permits "
			   "it to root only");
		return;
	}
	doctor_judge(finding, DOCTOR_LESS);
	if (!user) {
		doctor_say(
			finding->found,
			"switches of threads, and CPU samples of programs, "
			"not of the kernel (kernel.perf_event_paranoid is %ld)",
			paranoid);
		doctor_say(finding->effect,
			   "CPU time in the kernel is one row, [kernel]");
		doctor_say(finding->change,
			   "as root: sysctl kernel.perf_event_paranoid=1");
		return;
	}
	doctor_say(finding->found,
		   "no CPU samples and no switches of threads: "
		   "perf_event_open: %s "
		   "(kernel.perf_event_paranoid is %ld)",
		   strerror(-user), paranoid);
	doctor_say(finding->effect,
		   "--cpu needs the other engine, which runs in the program: "
		   "--cpu=99,signal; --sched knows sums of threads, and "
		   "nothing of their calls");
	doctor_say(
		finding->change,
		"as root: sysctl kernel.perf_event_paranoid=2; in a container "
		"permit perf_event_open (CAP_PERFMON)");
}

static void look_at_counters(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "counters");
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = perf_open(&attr, 0, -1);

	if (fd >= 0) {
		close(fd);
		doctor_say(finding->found, "the CPU counts cycles");
		return;
	}
	/* A fact, because perfrec itself needs none. */
	doctor_say(finding->found, "none (%s); perfrec needs none",
		   fd == -ENOENT || fd == -EOPNOTSUPP ? "a virtual machine"
						      : strerror(-fd));
}

static void look_at_wakers(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "wakers");
	struct perf_event_attr attr;
	int err = perf_wakings_attributes(&attr);
	int fd = err ? err : perf_open(&attr, -1, 0);

	if (fd >= 0) {
		close(fd);
		doctor_say(finding->found, "the kernel says who ended a wait "
					   "(--wakers=kernel)");
		return;
	}
	/* A fact, because other users than root have none. */
	doctor_say(finding->found,
		   "known of locks, not of all waits (--wakers=kernel needs "
		   "root, on the machine itself)");
}

static int probe_byte(void)
{
	return 1;
}

/* Writes a byte of our own code unchanged, as states_text.c patches programs.
 * Returns 0 or -errno. */
static int try_text_write(void)
{
	const unsigned char *code =
		(const unsigned char *)(uintptr_t)probe_byte;
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (pwrite(fd, code, 1, (off_t)(uintptr_t)code) != 1)
		err = errno ? -errno : -EIO;
	close(fd);
	return err;
}

static void look_at_text(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "patching");
	int err = try_text_write();

	if (!err) {
		doctor_say(finding->found,
			   "functions can be switched off and on in a running "
			   "program");
		return;
	}
	doctor_judge(finding, DOCTOR_LESS);
	doctor_say(finding->found, "/proc/self/mem cannot be written: %s",
		   strerror(-err));
	doctor_say(
		finding->effect,
		"a function that is off costs a call of the hook, 4 to 6 ns; "
		"entry builds are not recorded");
	doctor_say(finding->change,
		   "see the kernel's option proc_mem.force_override, and the "
		   "security module of this system");
}

static void look_at_sandbox(struct doctor_findings *findings)
{
	struct doctor_finding *finding;
	char status[4096];

	if (!proc_read(getpid(), "status", status, sizeof(status))) {
		finding = doctor_add(findings, "proc");
		doctor_judge(finding, DOCTOR_BAD);
		doctor_say(finding->found, "/proc cannot be read");
		doctor_say(finding->effect, "no program can be recorded");
		doctor_say(finding->change, "mount -t proc proc /proc");
		return;
	}
	if (proc_status_number(status, "Seccomp") <= 0)
		return;
	finding = doctor_add(findings, "seccomp");
	doctor_say(finding->found,
		   "a filter of system calls is on, as in containers; what it "
		   "forbids is named above");
}

void doctor_look_at_kernel(struct doctor_findings *findings)
{
	look_at_processor(findings);
	look_at_libc(findings);
	look_at_memory_files(findings);
	look_at_cpu_clock(findings);
	look_at_samples(findings);
	look_at_counters(findings);
	look_at_wakers(findings);
	look_at_text(findings);
	look_at_sandbox(findings);
}
