/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_call - the kernel prints the line with "%d 0x%llx ... 0x%llx 0x%llx",
 * "-1 0x%llx 0x%llx" or "running" (fs/proc/base.c). The parser refuses anything
 * else: the kernel never writes it, but a file system mounted over /proc could.
 */
#include "collector/samples/wait_call.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "shared/compiler.h"

/* --- the line ------------------------------------------------------------ */

/* Parses " 0xHEX" at *@text, and advances *@text. Returns false if the text is
 * different, or the number has more than 64 bits. */
static bool take_hex(const char **text, uint64_t *out)
{
	char *end;

	if (strncmp(*text, " 0x", 3) != 0 || !isxdigit((*text)[3]))
		return false;
	errno = 0;
	*out = strtoull(*text + 3, &end, 16);
	*text = end;
	return !errno;
}

static bool take_places(const char *text, struct wait_call *out)
{
	return take_hex(&text, &out->sp) && take_hex(&text, &out->pc) &&
	       (!strcmp(text, "\n") || !*text);
}

int wait_call_parse(const char *text, struct wait_call *out)
{
	char *end;

	*out = (struct wait_call){ .in_call = false };
	if (!strcmp(text, "running\n") || !strcmp(text, "running"))
		return -EAGAIN;
	if (!strncmp(text, "-1 ", 3))
		return take_places(text + 2, out) ? 0 : -EBADMSG;
	if (!isdigit(text[0]))
		return -EBADMSG;
	errno = 0;
	out->number = strtol(text, &end, 10);
	out->in_call = true;
	text = end;
	if (errno)
		return -EBADMSG;
	for (size_t i = 0; i < WAIT_CALL_ARGS; i++)
		if (!take_hex(&text, &out->arg[i]))
			return -EBADMSG;
	return take_places(text, out) ? 0 : -EBADMSG;
}

/* --- system calls that block --------------------------------------------- */

#define ON_FD(call, argument)                                \
	{                                                    \
		SYS_##call, #call, WAIT_DESCRIPTOR, argument \
	}
#define ON(call, kind)                     \
	{                                  \
		SYS_##call, #call, kind, 0 \
	}

static const struct wait_call_kind kinds[] = {
	ON(futex, WAIT_FUTEX),
#ifdef SYS_futex_wait
	ON(futex_wait, WAIT_OTHER),
#endif
#ifdef SYS_futex_waitv
	ON(futex_waitv, WAIT_FUTEXES),
#endif
	ON_FD(read, 0),
	ON_FD(write, 0),
	ON_FD(readv, 0),
	ON_FD(writev, 0),
	ON_FD(pread64, 0),
	ON_FD(pwrite64, 0),
	ON_FD(preadv, 0),
	ON_FD(pwritev, 0),
	ON_FD(preadv2, 0),
	ON_FD(pwritev2, 0),
	ON_FD(recvfrom, 0),
	ON_FD(recvmsg, 0),
	ON_FD(recvmmsg, 0),
	ON_FD(sendto, 0),
	ON_FD(sendmsg, 0),
	ON_FD(sendmmsg, 0),
	ON_FD(accept, 0),
	ON_FD(accept4, 0),
	ON_FD(connect, 0),
	ON_FD(sendfile, 1),
	ON_FD(splice, 0),
	ON_FD(tee, 0),
	ON_FD(vmsplice, 0),
	ON_FD(copy_file_range, 0),
	ON_FD(fsync, 0),
	ON_FD(fdatasync, 0),
	ON_FD(sync_file_range, 0),
	ON_FD(syncfs, 0),
	ON_FD(ftruncate, 0),
	ON_FD(fallocate, 0),
	ON_FD(flock, 0),
	ON_FD(fcntl, 0),
	ON_FD(ioctl, 0),
	ON_FD(getdents64, 0),
	ON_FD(close, 0),
	ON_FD(epoll_pwait, 0),
#ifdef SYS_epoll_wait
	ON_FD(epoll_wait, 0),
#endif
#ifdef SYS_epoll_pwait2
	ON_FD(epoll_pwait2, 0),
#endif
#ifdef SYS_io_uring_enter
	ON_FD(io_uring_enter, 0),
#endif
#ifdef SYS_poll
	ON(poll, WAIT_POLL),
#endif
	ON(ppoll, WAIT_POLL),
#ifdef SYS_select
	ON(select, WAIT_SELECT),
#endif
	ON(pselect6, WAIT_SELECT),
	ON(nanosleep, WAIT_SLEEP),
	ON(clock_nanosleep, WAIT_SLEEP),
	ON(wait4, WAIT_CHILD),
	ON(waitid, WAIT_CHILD),
#ifdef SYS_vfork
	ON(vfork, WAIT_CHILD),
#endif
	/* posix_spawn() waits until the child has called exec(). */
	ON(clone, WAIT_CHILD),
#ifdef SYS_clone3
	ON(clone3, WAIT_CHILD),
#endif
#ifdef SYS_pause
	ON(pause, WAIT_SIGNAL),
#endif
	ON(rt_sigsuspend, WAIT_SIGNAL),
	ON(rt_sigtimedwait, WAIT_SIGNAL),
	ON(semop, WAIT_OTHER),
	ON(semtimedop, WAIT_OTHER),
	ON(msgrcv, WAIT_OTHER),
	ON(msgsnd, WAIT_OTHER),
	ON_FD(mq_timedreceive, 0),
	ON_FD(mq_timedsend, 0),
	ON(io_getevents, WAIT_OTHER),
	ON(openat, WAIT_OTHER),
#ifdef SYS_open
	ON(open, WAIT_OTHER),
#endif
	ON(sync, WAIT_OTHER),
	ON(msync, WAIT_OTHER),
	ON(munmap, WAIT_OTHER),
	ON(mmap, WAIT_OTHER),
	ON(mprotect, WAIT_OTHER),
	ON(madvise, WAIT_OTHER),
	ON(brk, WAIT_OTHER),
	ON(execve, WAIT_OTHER),
	ON(exit_group, WAIT_OTHER),
	ON(membarrier, WAIT_OTHER),
	/* A signal has interrupted a sleep or a wait with a time limit. The
	 * original call is unknown. */
	ON(restart_syscall, WAIT_OTHER),
};

const struct wait_call_kind *wait_call_kind(long number)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].number == number)
			return &kinds[i];
	return NULL;
}

bool wait_call_reads(long number)
{
	switch (number) {
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
#ifdef SYS_poll
	case SYS_poll:
	case SYS_select:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
		return true;
	default:
		return false;
	}
}
