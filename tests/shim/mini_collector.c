/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/shim/mini_collector.h"

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/futex.h"

/* See collector_stopped() in preload/ring/wait.c. Ends with the test, or when
 * the word becomes 1. */
static void *park(void *parked)
{
	/* relaxed: nothing else is read */
	while (!atom_load_rlx((uint32_t *)parked))
		syscall(SYS_futex, parked, FUTEX_OP_WAIT, 0, NULL);
	return NULL;
}

void mini_collector_freeze(struct mini_collector *mini)
{
	/* relaxed: the wake orders it */
	atom_store_rlx(&mini->liveness->parked, 1);
	syscall(SYS_futex, &mini->liveness->parked, FUTEX_OP_WAKE, 1);
}

void mini_collector_start(struct mini_collector *mini)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	pthread_t parked;

	*mini = (struct mini_collector){ .directory = "/tmp/mini-XXXXXX",
					 .thunk_fd = -1,
					 .mem_fd = -1 };
	if (!mkdtemp(mini->directory))
		err(1, "mkdtemp");
	snprintf(mini->socket_path, sizeof(mini->socket_path), "%s/socket",
		 mini->directory);
	strcpy(address.sun_path, mini->socket_path);
	mini->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(mini->listener, (struct sockaddr *)&address,
		 sizeof(address)) ||
	    listen(mini->listener, 64))
		err(1, "listen");
	mini->liveness_fd =
		memfd_create("liveness", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ftruncate(mini->liveness_fd, LIVENESS_BYTES) ||
	    fcntl(mini->liveness_fd, F_ADD_SEALS, F_SEAL_SHRINK))
		err(1, "liveness page");
	mini->liveness = mmap(NULL, LIVENESS_BYTES, PROT_READ | PROT_WRITE,
			      MAP_SHARED, mini->liveness_fd, 0);
	if (mini->liveness == MAP_FAILED)
		err(1, "mmap");
	if (pthread_create(&parked, NULL, park, &mini->liveness->parked))
		errx(1, "pthread_create");
}

/* Returns the arena. fds[1] and fds[2] are further descriptors, or -1. */
static int receive_hello(int peer, struct wire_hello *hello, int fds[3])
{
	char control[CMSG_SPACE(3 * sizeof(int))];
	struct iovec data = { hello, sizeof(*hello) };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header;

	if (recvmsg(peer, &message, MSG_CMSG_CLOEXEC) != sizeof(*hello))
		err(1, "recvmsg");
	fds[0] = fds[1] = fds[2] = -1;
	header = CMSG_FIRSTHDR(&message);
	if (header)
		memcpy(fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	return fds[0];
}

void mini_collector_answer(int peer, const struct wire_reply *reply,
			   const int *fds, size_t count)
{
	char control[CMSG_SPACE(MINI_FDS_MAX * sizeof(int))] = "";
	struct iovec data = { (void *)reply, sizeof(*reply) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *header;

	if (count) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(header), fds, count * sizeof(int));
	}
	if (sendmsg(peer, &message, MSG_NOSIGNAL) != sizeof(*reply))
		err(1, "sendmsg");
}

int mini_collector_hear(struct mini_collector *mini, uint32_t control)
{
	struct pollfd comes = { mini->listener, POLLIN, 0 };
	int peer, arena, fds[3];

	/* The test's own limit applies. */
	if (poll(&comes, 1, -1) != 1)
		errx(1, "no program said hello");
	peer = accept4(mini->listener, NULL, NULL, SOCK_CLOEXEC);
	arena = receive_hello(peer, &mini->hello, fds);
	mini->thunk_fd = mini->hello.fds & WIRE_FD_THUNKS ? fds[1] : -1;
	mini->mem_fd = !(mini->hello.fds & WIRE_FD_MEMORY) ? -1
		       : mini->thunk_fd >= 0		   ? fds[2]
							   : fds[1];

	mini->page = mmap(NULL, mini->hello.arena_bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE, arena, 0);
	if (mini->page == MAP_FAILED)
		err(1, "mmap of the arena");
	if (mini->awaited)
		memset(mini->page->awaited, 0xff, sizeof(mini->page->awaited));
	mini->page->control = control;
	close(arena);
	return peer;
}

void mini_collector_accept(struct mini_collector *mini,
			   struct wire_reply settings, uint32_t control)
{
	int peer = mini_collector_hear(mini, control);

	settings.magic = WIRE_REPLY_MAGIC;
	settings.version = WIRE_VERSION;
	if (!settings.block_ns)
		settings.block_ns = WIRE_BLOCK_NS_MAX;
	mini_collector_answer(peer, &settings, &mini->liveness_fd, 1);
	close(peer);
}

static void all_path(const struct mini_collector *mini, char path[128])
{
	snprintf(path, 128, "%s.all", mini->socket_path);
}

void mini_collector_want_all(const struct mini_collector *mini)
{
	char path[128];
	int fd;

	all_path(mini, path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		err(1, "%s", path);
	close(fd);
}

void mini_collector_stop(struct mini_collector *mini)
{
	char path[128];

	all_path(mini, path);
	unlink(path);
	if (mini->page)
		munmap(mini->page, mini->hello.arena_bytes);
	/* The page stays mapped: a thread is parked on it. */
	close(mini->liveness_fd);
	if (mini->thunk_fd >= 0)
		close(mini->thunk_fd);
	if (mini->mem_fd >= 0)
		close(mini->mem_fd);
	close(mini->listener);
	unlink(mini->socket_path);
	rmdir(mini->directory);
}

struct slot_shm *mini_slot(const struct mini_collector *mini, uint32_t i)
{
	return (struct slot_shm *)((char *)mini->page + ARENA_SLOTS) + i;
}

struct record *mini_ring(const struct mini_collector *mini, uint32_t i)
{
	return (struct record *)((char *)mini->page + mini->page->rings_offset +
				 i * arena_slot_bytes(
					     mini->page->ring_cells,
					     function_numbers(
						     mini->page->ring_cells)));
}

struct count_cell *mini_counts(const struct mini_collector *mini, uint32_t i)
{
	return (struct count_cell *)((char *)mini_ring(mini, i) +
				     arena_ring_bytes(mini->page->ring_cells));
}

pid_t mini_spawn(const struct mini_collector *mini, const char *shim,
		 char *const argv[])
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (shim[0])
		setenv("LD_PRELOAD", shim, 1);
	setenv("PERFREC_SOCKET", mini->socket_path, 1);
	/* A busy machine must not look like a silent collector. */
	setenv("PERFREC_DEADLINE_MS", "10000", 0);
	closefrom(3);
	execv(argv[0], argv);
	err(1, "%s", argv[0]);
}

const char *mini_build_path(const char *name)
{
	static char path[4][512];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s",
		 getenv("O") ? getenv("O") : "build", name);
	return path[turn];
}
