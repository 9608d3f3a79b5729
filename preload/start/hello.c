/* SPDX-License-Identifier: Apache-2.0
 *
 * hello - finds the collector and sends it the arena, without harm to the
 * program. All calls share one deadline, and none blocks. Limits are checked
 * before they are reached: ftruncate() beyond RLIMIT_FSIZE raises SIGXFSZ, and
 * the program needs the address space below RLIMIT_AS. Any error closes and
 * unmaps everything. The memfd is made only after a collector has accepted the
 * connection, so a program without a collector only pays for a failed
 * connect().
 */
#include "preload/start/hello.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "preload/core/clock.h"
#include "preload/core/path.h"
#include "preload/core/sys.h"
#include "preload/load/bind_now.h"
#include "preload/load/debugger.h"
#include "preload/load/opening.h"
#include "preload/ring/slot_memory.h"
#include "preload/start/instrumented.h"
#include "preload/start/thunks.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/futex.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000L
/* Percentage of the deadline that is kept for the collector to finish a write
 * into the program's text. */
#define TEXT_PERCENT 30
/* Interval of liveness checks while the collector holds the program. */
#define HOLD_STEP_NS (50 * (long)NS_PER_MS)
#define TEXT_STEP_NS 50000L
#define SLOTS_MIN 4
/* Limits the delay of a fork. The collector may find the child by itself. */
#define CHILD_DEADLINE_MS 2

/* State of hello that a forked child needs to report itself. */
static struct {
	/* The collector's address. Not on the stack, which may be tiny. Only
	 * one start at a time. */
	struct sockaddr_un address;
	uint64_t device, inode; /* of the arena */
	uint64_t deadline; /* of hello, ns of CLOCK_MONOTONIC */
	/* Parts of the time limit: for the lookup of functions, and for a write
	 * of text that is still under way then. */
	uint64_t plan_ns, text_ns;
	int32_t peer; /* pid of the collector here; 0: not visible */
	int32_t tracer; /* the same, if it may trace us; else 0 */
	/* The first socket of another user, with that user's id; or "". */
	char foreign[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 64];
} g_hello;

static long remaining_ns(uint64_t deadline)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	return now < deadline ? (long)(deadline - now) : 0;
}

static void close_fd(long fd)
{
	if (fd >= 0)
		sys(SYS_close, fd);
}

/* SO_LINGER might make the close of a socket wait for its peer. */
static void close_unknown(int fd)
{
	const struct linger at_once = { 0 };

	sys(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, &at_once,
	    sizeof(at_once));
	close_fd(fd);
}

/* Only a collector of root or of this user may have the program's memory. */
static bool trust_peer(long fd)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	if (sys(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return false;
	g_hello.peer = peer.pid;
	return peer.uid == 0 || (long)peer.uid == sys(SYS_geteuid);
}

/* Control data of a reply, with room for SCM_MAX_FD descriptors. Not on the
 * stack, which may be tiny. */
static union {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(253 * sizeof(int))];
} g_received;

/* CMSG_NXTHDR() may call the C library. The headers are the kernel's. */
static struct cmsghdr *next_header(const struct msghdr *message,
				   struct cmsghdr *header)
{
	char *end = (char *)message->msg_control + message->msg_controllen;
	char *next = (char *)header + CMSG_ALIGN(header->cmsg_len);

	return next + sizeof(*header) <= end ? (struct cmsghdr *)next : NULL;
}

/* Closes @message's descriptors; the first becomes *@fd if that is -1. */
static void close_received(struct msghdr *message, int *fd)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);

	for (; header; header = next_header(message, header)) {
		const char *data = (const char *)CMSG_DATA(header);
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (header->cmsg_level != SOL_SOCKET ||
		    header->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int got;

			memcpy(&got, data + i * sizeof(got), sizeof(got));
			if (*fd == -1)
				*fd = got;
			else
				close_unknown(got);
		}
	}
}

/* The kernel queues no more messages on a socket. */
#define MESSAGES_MAX 1024

/* Closes @socket, and before it the descriptors of unread messages: the kernel
 * would close them with the socket, and a sender's linger could block that. */
static void hang_up(long socket)
{
	int none = -2;

	if (socket < 0)
		return;
	/* Stops further messages. */
	sys(SYS_shutdown, socket, SHUT_RD);
	for (int i = 0; i < MESSAGES_MAX; i++) {
		char byte;
		struct iovec data = { &byte, 1 };
		struct msghdr message = {
			.msg_iov = &data,
			.msg_iovlen = 1,
			.msg_control = &g_received,
			.msg_controllen = sizeof(g_received),
		};

		if (sys(SYS_recvmsg, socket, &message,
			MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0)
			break;
		close_received(&message, &none);
	}
	sys(SYS_close, socket);
}

/* Returns a connection, or -errno. Retries while the backlog is full. */
static long connect_to(const struct sockaddr_un *address, uint64_t deadline)
{
	struct timespec pause = { 0, (long)NS_PER_MS };
	long fd = sys(SYS_socket, AF_UNIX,
		      SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	long err;

	if (fd < 0)
		return fd;
	for (;;) {
		err = sys(SYS_connect, fd, address, sizeof(*address));
		if (err != -EAGAIN || !remaining_ns(deadline))
			break;
		sys(SYS_nanosleep, &pause, 0);
	}
	if (!err && !trust_peer(fd))
		err = -EPERM;
	if (!err)
		return fd;
	hang_up(fd);
	return err;
}

/* A folder in /tmp. */
#define PLACE_TEMP 2

/* Sets @path to the @i-th place of the socket. Returns false after the last. */
static bool candidate_path(const struct settings *settings, int i, char *path,
			   size_t size)
{
	unsigned long uid = (unsigned long)sys(SYS_getuid);
	const char *directory = settings->runtime_dir;

	path[0] = '\0';
	if (settings->socket)
		return i == 0 && path_add(path, size, settings->socket);
	switch (i) {
	case 0:
		if (directory && directory[0])
			return path_add(path, size, directory) &&
			       path_add(path, size, "/perfrec.sock");
		__attribute__((fallthrough));
	case 1:
		return path_add(path, size, "/run/user/") &&
		       path_add_number(path, size, uid) &&
		       path_add(path, size, "/perfrec.sock");
	case PLACE_TEMP:
		return path_add(path, size, settings->temp_dir) &&
		       path_add(path, size, "/perfrec-") &&
		       path_add_number(path, size, uid) &&
		       path_add(path, size, "/perfrec.sock");
	default:
		return false;
	}
}

/* Returns true if @path's folder, the @i-th place, may be created by any user
 * (in /tmp) and belongs to another user, *@owner. Its files are not accessed: a
 * link there may lead to a slow file system. */
static bool is_foreign_folder(const struct settings *settings, int i,
			      const char *path, uid_t *owner)
{
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8] = "";
	size_t end = strlen(path);
	struct stat status;

	/* clang-tidy does not know that the system call fills it. */
	status.st_uid = 0;
	if (settings->socket || i != PLACE_TEMP || end >= sizeof(folder))
		return false;
	while (end && path[--end] != '/')
		;
	memcpy(folder, path, end);
	if (sys(SYS_newfstatat, AT_FDCWD, folder, &status, AT_SYMLINK_NOFOLLOW))
		return false;
	*owner = status.st_uid;
	return status.st_uid && (long)status.st_uid != sys(SYS_geteuid);
}

bool hello_find_socket(const struct settings *settings, const char *suffix,
		       char path[HELLO_SOCKET_BYTES])
{
	uid_t owner;

	for (int i = 0;
	     candidate_path(settings, i, path, HELLO_SOCKET_BYTES - 8); i++)
		if (!is_foreign_folder(settings, i, path, &owner) &&
		    path_add(path, HELLO_SOCKET_BYTES, suffix) &&
		    !sys(SYS_faccessat, AT_FDCWD, path, F_OK))
			return true;
	return false;
}

bool hello_has_socket(const struct settings *settings, const char *suffix)
{
	char path[HELLO_SOCKET_BYTES];

	return hello_find_socket(settings, suffix, path);
}

/* Keeps the path and owner of a socket of another user, for a message. */
static void note_foreign(const char *path, uid_t owner)
{
	char *text = g_hello.foreign;

	if (text[0] || !path_add(text, sizeof(g_hello.foreign), path))
		return;
	path_add(text, sizeof(g_hello.foreign), " is of the user with id ");
	path_add_number(text, sizeof(g_hello.foreign), owner);
}

static void note_foreign_socket(const char *path)
{
	struct stat status;

	/* clang-tidy does not know that the system call fills it. */
	status.st_uid = 0;
	if (!sys(SYS_newfstatat, AT_FDCWD, path, &status, 0))
		note_foreign(path, status.st_uid);
}

/* Returns the socket, or -errno. -EPERM: all belong to another user. */
static long connect_any(const struct settings *settings, uint64_t deadline)
{
	struct sockaddr_un *address = &g_hello.address;
	long fd = -ENAMETOOLONG;
	uid_t owner;

	address->sun_family = AF_UNIX;
	g_hello.foreign[0] = '\0';
	for (int i = 0; candidate_path(settings, i, address->sun_path,
				       sizeof(address->sun_path));
	     i++) {
		if (is_foreign_folder(settings, i, address->sun_path, &owner)) {
			note_foreign(address->sun_path, owner);
			fd = -EPERM;
			continue;
		}
		fd = connect_to(address, deadline);
		if (fd >= 0)
			return fd;
		if (fd == -EPERM || fd == -EACCES)
			note_foreign_socket(address->sun_path);
	}
	return g_hello.foreign[0] && fd != -EAGAIN ? -EPERM : fd;
}

static uint64_t hello_arena_bytes(const struct wire_hello *ask)
{
	return arena_bytes(ask->slot_count, ask->ring_cells, ask->functions);
}

/* Shrinks the arena to the program's limits. Returns false if impossible. */
static bool fit_limits(struct wire_hello *ask)
{
	uint64_t as = sys_limit(RLIMIT_AS);
	uint64_t room =
		MIN(sys_limit(RLIMIT_FSIZE),
		    as == RLIM_INFINITY ? as : as / ADDRESS_SPACE_SHARE);

	while (hello_arena_bytes(ask) > room) {
		if (ask->functions > function_numbers(ask->ring_cells))
			ask->functions = function_numbers(ask->ring_cells);
		else if (ask->slot_count > SLOTS_MIN)
			ask->slot_count /= 2;
		else if (ask->ring_cells > RING_CELLS_MIN)
			ask->ring_cells /= 2;
		else
			return false;
	}
	ask->arena_bytes = hello_arena_bytes(ask);
	return true;
}

/* Returns a sealed memfd of @bytes, or -errno. */
static long make_memfd(uint64_t bytes)
{
	const unsigned int no_exec_seal = 8; /* MFD_NOEXEC_SEAL, Linux 6.3 */
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	long fd = sys(SYS_memfd_create, "perfrec", flags | no_exec_seal);
	long err;

	if (fd == -EINVAL)
		fd = sys(SYS_memfd_create, "perfrec", flags);
	if (fd < 0)
		return fd;
	err = sys(SYS_ftruncate, fd, bytes);
	if (!err)
		err = sys(SYS_fcntl, fd, F_ADD_SEALS,
			  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	if (!err)
		return fd;
	close_fd(fd);
	return err;
}

/* Copies the command line into the arena, because a collector that reads it
 * from /proc could block on the program's memory. */
static void put_arguments(struct page_shm *page)
{
	long fd = sys(SYS_openat, AT_FDCWD, "/proc/self/cmdline",
		      O_RDONLY | O_CLOEXEC, 0);
	long count;

	if (fd < 0)
		return;
	count = sys(SYS_read, fd, page->arguments, sizeof(page->arguments));
	if (count > 0)
		page->argument_bytes = (uint32_t)count;
	close_fd(fd);
}

/* Maps the arena; its rings stay inaccessible (slot_memory.h). Returns its
 * page, or NULL. */
static struct page_shm *map_arena(long fd, const struct wire_hello *ask)
{
	uint64_t rings = arena_rings(ask->slot_count);
	long address = sys(SYS_mmap, 0, ask->arena_bytes, PROT_NONE,
			   MAP_SHARED | MAP_NORESERVE, fd, 0);
	struct page_shm *page;

	if (sys_failed(address))
		return NULL;
	if (sys(SYS_mprotect, address, rings, PROT_READ | PROT_WRITE)) {
		sys(SYS_munmap, address, ask->arena_bytes);
		return NULL;
	}
	page = (struct page_shm *)address;
	sys(SYS_madvise, address, ask->arena_bytes, MADV_DONTDUMP);
	page->magic = ARENA_MAGIC;
	page->version = WIRE_VERSION;
	page->slot_count = ask->slot_count;
	page->ring_cells = ask->ring_cells;
	page->filter_entries = FILTER_ENTRIES;
	page->rings_offset = rings;
	put_arguments(page);
	return page;
}

#define FDS_MAX 3

/* Control data of a message, aligned for a cmsghdr. */
union fd_message {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

static long send_with_fds(long socket, const void *bytes, size_t size,
			  const int *fds, size_t count)
{
	union fd_message control = {
		.header = { CMSG_LEN(count * sizeof(int)), SOL_SOCKET,
			    SCM_RIGHTS },
	};
	struct iovec data = { (void *)bytes, size };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)),
	};

	memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	return sys(SYS_sendmsg, socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static long send_hello(long socket, const struct wire_hello *ask, long memfd,
		       const struct thunk_offer *offer)
{
	int fds[FDS_MAX] = { (int)memfd };

	memcpy(fds + 1, offer->fd, offer->count * sizeof(int));
	return send_with_fds(socket, ask, sizeof(*ask), fds, 1 + offer->count);
}

/* Receives the reply before the deadline. *@fd becomes its first descriptor, if
 * any; others are closed. Returns the reply's bytes, or -errno. */
static long receive_reply(long socket, struct wire_reply *reply, int *fd,
			  uint64_t deadline)
{
	struct iovec data = { reply, sizeof(*reply) };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &g_received,
		.msg_controllen = sizeof(g_received),
	};
	struct pollfd wait = { (int)socket, POLLIN, 0 };
	long left = remaining_ns(deadline);
	struct timespec timeout = { left / NS_PER_S, left % NS_PER_S };
	long bytes;

	if (sys(SYS_ppoll, &wait, 1, &timeout, 0, 0) <= 0)
		return -ETIMEDOUT;
	bytes = sys(SYS_recvmsg, socket, &message,
		    MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (bytes >= 0)
		close_received(&message, fd);
	return bytes;
}

/* Returns true if @fd is a memory file of a liveness page's size that cannot
 * shrink. A read from a truncated page would kill the program. */
static bool is_liveness(int fd)
{
	struct stat status;
	/* Fails if it is no memory file. */
	long seals = sys(SYS_fcntl, fd, F_GET_SEALS);

	status.st_size = 0;
	return seals >= 0 && (seals & F_SEAL_SHRINK) &&
	       !sys(SYS_fstat, fd, &status) && status.st_size == LIVENESS_BYTES;
}

static const struct liveness_shm *map_liveness(int fd)
{
	long address;

	if (fd < 0 || !is_liveness(fd))
		return NULL;
	address =
		sys(SYS_mmap, 0, LIVENESS_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (sys_failed(address))
		return NULL;
	return (const struct liveness_shm *)address;
}

/* Returns true if the settings of @reply are within bounds. */
static bool is_reply_bounded(const struct wire_reply *reply)
{
	return reply->clock <= WIRE_CLOCK_BOOTTIME &&
	       reply->on_full <= WIRE_ON_FULL_DROP &&
	       reply->depth <= WIRE_DEPTH_MAX &&
	       reply->alloc <= WIRE_ALLOC_SAMPLED &&
	       reply->alloc_period <= WIRE_ALLOC_PERIOD_MAX &&
	       reply->cpu_hz <= WIRE_CPU_HZ_MAX &&
	       reply->stack_bytes <= WIRE_STACK_BYTES_MAX &&
	       reply->block_ns <= WIRE_BLOCK_NS_MAX &&
	       !(reply->asks & ~(uint32_t)WIRE_ASKS_ALL);
}

static bool is_dead(const struct liveness_shm *liveness)
{
	/* relaxed: one word, nothing is read through it */
	return atom_load_rlx(&liveness->owner) & LIVENESS_OWNER_DIED;
}

/* Waits while the collector looks up excluded functions. Returns false if it
 * takes too long or the collector dies. */
static bool wait_while_held(struct page_shm *page,
			    const struct liveness_shm *liveness)
{
	uint64_t until = g_hello.deadline - g_hello.text_ns;

	for (;;) {
		struct timespec step = { 0, MIN(remaining_ns(until),
						HOLD_STEP_NS) };

		/* order: acq, CONTROL: a filter that is on is whole */
		if (atom_load_acq(&page->control) != CONTROL_HOLD)
			return true;
		if (is_dead(liveness) || !step.tv_nsec)
			return false;
		sys(SYS_futex, &page->control, FUTEX_OP_WAIT, CONTROL_HOLD,
		    &step);
	}
}

/* Starts although the collector holds the program. Waits until it has finished
 * a write into the text, which must not run meanwhile. */
static void leave_hold(struct page_shm *page,
		       const struct liveness_shm *liveness)
{
	struct timespec step = { 0, TEXT_STEP_NS };

	/* order: sc, UNHELD: the collector sees it, or we see it writing */
	atom_or_sc(&page->flags, PAGE_UNHELD);
	/* order: sc, UNHELD: as above */
	while (atom_load_sc(&page->writing_text) && !is_dead(liveness) &&
	       remaining_ns(g_hello.deadline))
		sys(SYS_nanosleep, &step, 0);
}

static const char *refusal_text(uint32_t status)
{
	switch (status) {
	case WIRE_REFUSED_VERSION:
		return "the collector is another version of perfrec (stop it "
		       "and start the one that belongs to this library)";
	case WIRE_REFUSED_LIMIT:
		return "the collector has too many programs already";
	case WIRE_REFUSED_CLOSING:
		return "the collector is closing";
	default:
		return "the collector refused this program";
	}
}

/* Permits the collector to trace this process, where Yama permits only
 * ancestors. Without Yama this fails, and is not needed. */
static void permit_look(void)
{
	if (g_hello.tracer > 0)
		sys(SYS_prctl, PR_SET_PTRACER, g_hello.tracer, 0, 0, 0);
}

/* Sends hello over @socket and receives the reply; result->page is mapped.
 * Returns NULL, or why nothing can be recorded. */
static const char *exchange_hello(long socket, long memfd,
				  struct thunk_offer *offer,
				  struct hello_result *result)
{
	int liveness_fd = -1;
	long bytes = send_hello(socket, &result->hello, memfd, offer);

	/* They might leave no number for the reply's descriptor. */
	thunks_close(offer);
	if (bytes >= 0)
		bytes = receive_reply(socket, &result->reply, &liveness_fd,
				      g_hello.deadline);
	result->liveness = map_liveness(liveness_fd);
	if (liveness_fd >= 0)
		close_unknown(liveness_fd);
	if (bytes < 0)
		return "the collector does not answer";
	if (bytes != sizeof(result->reply) ||
	    result->reply.magic != WIRE_REPLY_MAGIC)
		return "the collector sent an invalid reply";
	if (result->reply.status != WIRE_ACCEPTED)
		return refusal_text(result->reply.status);
	if (result->reply.version != WIRE_VERSION)
		return refusal_text(WIRE_REFUSED_VERSION);
	if (!is_reply_bounded(&result->reply))
		return "the collector's settings are out of bounds";
	if (!result->liveness)
		return "the collector sent no liveness page";
	if (result->reply.asks & WIRE_ASK_LOOK)
		g_hello.tracer = g_hello.peer;
	permit_look();
	if (result->reply.asks & WIRE_ASK_BIND) {
		bind_now();
		/* order: sc, FLAGS: the slots are written before */
		atom_or_sc(&result->page->flags, PAGE_BOUND);
	}
	result->unheld = !wait_while_held(result->page, result->liveness);
	if (result->unheld)
		leave_hold(result->page, result->liveness);
	debugger_show_thunks();
	if (result->reply.asks & WIRE_ASK_OPENING &&
	    opening_begin(g_hello.plan_ns, g_hello.text_ns))
		/* order: sc, FLAGS: as every flag; it stands alone */
		atom_or_sc(&result->page->flags, PAGE_OPENINGS);
	return NULL;
}

static void give_up_arena(struct hello_result *result)
{
	/* order: sc, FLAGS: the collector may have accepted meanwhile */
	atom_or_sc(&result->page->flags, PAGE_GAVE_UP);
	sys(SYS_munmap, result->page, result->hello.arena_bytes);
	if (result->liveness)
		sys(SYS_munmap, result->liveness, LIVENESS_BYTES);
}

/* Reports why this program cannot be recorded. Returns @text. */
static const char *send_regret(long socket, enum wire_regret_why why,
			       const char *text)
{
	const struct wire_regret message = {
		.magic = WIRE_REGRET_MAGIC,
		.version = WIRE_VERSION,
		.why = why,
	};

	sys(SYS_sendto, socket, &message, sizeof(message), MSG_NOSIGNAL, 0, 0);
	return text;
}

/* Returns the arena's memfd, or -errno; result->page may be NULL. */
static long make_arena(struct hello_result *result)
{
	long memfd = make_memfd(result->hello.arena_bytes);
	struct stat status;

	result->page = memfd < 0 ? NULL : map_arena(memfd, &result->hello);
	/* clang-tidy does not know that the system call fills it. */
	status.st_dev = 0;
	status.st_ino = 0;
	if (result->page && !sys(SYS_fstat, memfd, &status)) {
		g_hello.device = status.st_dev;
		g_hello.inode = status.st_ino;
	}
	return memfd;
}

/* Halves the slots of the arena. Returns false below the minimum. */
static bool halve_arena(struct wire_hello *ask)
{
	if (ask->slot_count <= SLOTS_MIN)
		return false;
	ask->slot_count /= 2;
	ask->arena_bytes = hello_arena_bytes(ask);
	return true;
}

static const char *offer_arena(long socket, const struct settings *settings,
			       struct hello_result *result)
{
	struct thunk_offer offer;
	const char *why;
	long memfd;

	if (!fit_limits(&result->hello))
		return send_regret(
			socket, WIRE_REGRET_LIMITS,
			"RLIMIT_FSIZE or RLIMIT_AS leaves no room for "
			"rings");
	/* Before the arena, which would occupy places near the libraries. */
	offer = thunks_offer(&result->hello, settings->patch_image);
	memfd = make_arena(result);
	if (memfd == -EMFILE && offer.count) {
		thunks_close(&offer);
		thunks_withdraw(&result->hello);
		memfd = make_arena(result);
	}
	/* valgrind leaves 64 GiB to its program, some machines little more. */
	while (memfd >= 0 && !result->page && halve_arena(&result->hello)) {
		close_fd(memfd);
		memfd = make_arena(result);
	}
	if (memfd < 0) {
		why = send_regret(socket, WIRE_REGRET_MEMFD,
				  "cannot make memory for the rings");
	} else if (result->page) {
		thunks_describe(result->page);
		why = exchange_hello(socket, memfd, &offer, result);
		if (why)
			give_up_arena(result);
	} else {
		why = send_regret(socket, WIRE_REGRET_MAP,
				  "cannot map memory for the rings");
	}
	/* After hello the collector may have accepted, and change text. */
	if (!result->page)
		thunks_withdraw(&result->hello);
	thunks_close(&offer);
	close_fd(memfd);
	return why;
}

const char *hello(const struct settings *settings, struct hello_result *result,
		  const char **detail)
{
	uint64_t ns = settings->deadline_ms * NS_PER_MS;
	struct timespec now;
	struct rusage usage;
	const char *why;
	long socket;

	g_hello.deadline = clock_ns(CLOCK_MONOTONIC) + ns;
	g_hello.text_ns = ns * TEXT_PERCENT / 100;
	g_hello.plan_ns = ns - g_hello.text_ns;
	socket = connect_any(settings, g_hello.deadline);
	*detail = "";
	if (socket == -EPERM) {
		*detail = g_hello.foreign;
		return "the collector's socket belongs to another user: ";
	}
	if (socket == -EAGAIN)
		return "the collector does not answer";
	if (socket == -ENAMETOOLONG) {
		*detail = settings->socket ? settings->socket
					   : settings->runtime_dir;
		return "a socket's path has 107 bytes at most (set "
		       "PERFREC_SOCKET to a shorter one): ";
	}
	if (socket < 0 && settings->socket) {
		*detail = settings->socket;
		return "no collector is listening at PERFREC_SOCKET: ";
	}
	if (socket < 0) {
		*detail = " (start perfrec-collect, or use perfrec record)";
		return "no collector is listening";
	}
	usage = (struct rusage){ 0 };
	/* As in thread_figures.c. */
	sys(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	sys(SYS_getrusage, RUSAGE_THREAD, &usage);
	result->hello = (struct wire_hello){
		.magic = WIRE_HELLO_MAGIC,
		.version = WIRE_VERSION,
		.pid = (int32_t)sys(SYS_getpid),
		.slot_count = settings->slot_count,
		.ring_cells = settings->ring_cells,
		.functions = settings->functions,
		.tsc_allowed = clock_allowed(),
		.instrumented = instrumented(),
		.entry_build = entry_build(),
		.rank = settings->rank,
		.user_ns = sys_timeval_ns(&usage.ru_utime),
		.system_ns = sys_timeval_ns(&usage.ru_stime),
		.minor_faults = (uint64_t)usage.ru_minflt,
		.major_faults = (uint64_t)usage.ru_majflt,
		.tid = (int32_t)sys(SYS_gettid),
	};
	result->connected = true;
	why = offer_arena(socket, settings, result);
	hang_up(socket);
	return why;
}

void hello_permit_child(void)
{
	if (!g_hello.tracer)
		return;
	/* In a new pid namespace the number belongs to another process. */
	if (!sys(SYS_getppid))
		g_hello.tracer = 0;
	permit_look();
}

void hello_from_child(void)
{
	const struct wire_child child = {
		.magic = WIRE_CHILD_MAGIC,
		.version = WIRE_VERSION,
		.pid = (int32_t)sys(SYS_getpid),
		.device = g_hello.device,
		.inode = g_hello.inode,
	};
	uint64_t deadline =
		clock_ns(CLOCK_MONOTONIC) + CHILD_DEADLINE_MS * NS_PER_MS;
	long memory = thunks_open_memory(), socket;
	int fd = (int)memory;

	thunks_forked();
	if (memory < 0)
		return;
	socket = connect_to(&g_hello.address, deadline);
	if (socket >= 0)
		send_with_fds(socket, &child, sizeof(child), &fd, 1);
	hang_up(socket);
	close_fd(memory);
}
