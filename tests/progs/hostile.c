/* SPDX-License-Identifier: Apache-2.0
 *
 * hostile - a program that means harm to the collector at SOCKET:
 *
 *	hostile SOCKET silent N		N connections that say nothing, until
 *					the end of stdin; "ready" when open
 *	hostile SOCKET storm N		N connections, one after another, each
 *					with a message of random form
 *	hostile SOCKET scribble N SEED	N programs with arenas that are good at
 *					hello, then random bytes
 *	hostile SOCKET claim N		claims again and again that its threads
 *					are those of N programs with MAPPINGS
 *					mappings, until the end of stdin;
 *					"ready" when they are there
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/ring_shm.h"
#include "shared/wire.h"

#include <fcntl.h>

#define SLOTS 16
#define CELLS RING_CELLS_MIN
#define FDS_MAX 4
#define MAPPINGS 60000 /* 65,530 are allowed */

static struct sockaddr_un g_address = { .sun_family = AF_UNIX };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	if (connect(fd, (struct sockaddr *)&g_address, sizeof(g_address)) < 0)
		die("connect");
	return fd;
}

static void send_with_fds(int socket, const void *bytes, size_t size, int fd,
			  size_t fds)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = { .header = { CMSG_LEN(fds * sizeof(int)), SOL_SOCKET,
				  SCM_RIGHTS } };
	struct iovec data = { (void *)bytes, size };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	size_t i;

	for (i = 0; i < fds; i++)
		memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &fd,
		       sizeof(fd));
	if (fds) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(fds * sizeof(int));
	}
	/* It may have had enough of us. */
	(void)!sendmsg(socket, &message, MSG_NOSIGNAL);
}

static struct wire_hello good_hello(void)
{
	return (struct wire_hello){
		.magic = WIRE_HELLO_MAGIC,
		.version = WIRE_VERSION,
		.pid = getpid(),
		.slot_count = SLOTS,
		.ring_cells = CELLS,
		.arena_bytes = arena_bytes(SLOTS, CELLS),
		.tsc_allowed = 1,
	};
}

/* --- silent ------------------------------------------------------------------
 */

static int be_silent(int count)
{
	char end;
	int i;

	for (i = 0; i < count; i++)
		dial();
	puts("ready");
	fflush(stdout);
	return read(STDIN_FILENO, &end, 1) < 0;
}

/* --- storm -------------------------------------------------------------------
 */

static int storm(int count)
{
	char bytes[2 * sizeof(struct wire_hello)];
	struct wire_hello hello = good_hello();
	int i, socket, junk = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (i = 0; i < count; i++) {
		size_t size = (size_t)rand() % sizeof(bytes);

		memset(bytes, rand(), sizeof(bytes));
		if (i % 3)
			memcpy(bytes, &hello, sizeof(hello));
		if (i % 3 == 1)
			size = sizeof(hello);
		if (i % 6 == 1)
			bytes[(size_t)rand() % sizeof(hello)] = (char)rand();
		socket = dial();
		send_with_fds(socket, bytes, size, junk,
			      (size_t)(rand() % FDS_MAX));
		close(socket);
	}
	return 0;
}

/* --- scribble ----------------------------------------------------------------
 */

static char *make_arena(int *memfd)
{
	size_t size = arena_bytes(SLOTS, CELLS);
	struct page_shm *page;
	char *arena;

	*memfd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*memfd < 0 || ftruncate(*memfd, (off_t)size) < 0 ||
	    fcntl(*memfd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		die("memfd");
	arena = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *memfd, 0);
	if (arena == MAP_FAILED)
		die("mmap");
	page = (struct page_shm *)arena;
	page->magic = ARENA_MAGIC;
	page->version = WIRE_VERSION;
	page->slot_count = SLOTS;
	page->ring_cells = CELLS;
	page->filter_entries = FILTER_ENTRIES;
	page->rings_offset = arena_rings(SLOTS);
	return arena;
}

/* A slot as a thread of this process would claim it. */
static struct slot_shm *claim(char *arena, int index)
{
	struct slot_shm *slot =
		(struct slot_shm *)(arena + ARENA_SLOTS) + index;

	slot->pid = getpid();
	slot->tid = getpid();
	slot->claims = 1;
	memcpy(slot->name, "hostile", 8);
	atom_store_rel(&slot->state, SLOT_LIVE);
	return slot;
}

static void random_bytes(void *to, size_t size)
{
	char *bytes = to;

	while (size--)
		*bytes++ = (char)rand();
}

/* Records in good order but for the last. */
static void write_records(char *arena, struct slot_shm *slot, int index)
{
	struct record *cell =
		(struct record *)(arena + arena_rings(SLOTS) +
				  (size_t)index * arena_slot_bytes(CELLS));
	uint64_t i;

	for (i = 0; i < 64; i++)
		cell[i] = (struct record){ record_word(i & 1 ? RECORD_END
							     : RECORD_BEGIN,
						       0x1000, 0),
					   0 };
	if (rand() % 2)
		random_bytes(&cell[63], sizeof(*cell) * (rand() % 2000 + 1));
	atom_store_rel(&slot->head, (uint64_t)(64 + rand() % 2048));
}

static void scribble(char *arena, int kind)
{
	struct slot_shm *slot = claim(arena, rand() % SLOTS);
	int i;

	switch (kind) {
	case 0: /* heads that run backward and beyond the end */
		for (i = 0; i < 100; i++) {
			slot->head = (uint64_t)(rand() % 3 * CELLS - CELLS);
			usleep(50);
		}
		slot->head = (uint64_t)rand() << 32;
		break;
	case 1: /* cells */
		for (i = 0; i < SLOTS; i++)
			write_records(arena, claim(arena, i), i);
		break;
	case 2: /* slots: states, ids, names without an end */
		random_bytes(arena + ARENA_SLOTS,
			     SLOTS * sizeof(struct slot_shm));
		break;
	case 3: /* a name that is never finished, ids of others */
		memset(slot->name, 'x', sizeof(slot->name));
		slot->name_changes = 1;
		slot->pid = 1;
		slot->tid = -1;
		slot->pthread = ~0ULL;
		break;
	case 4: /* the page: doorbells, flags, a layout it never had */
		write_records(arena, claim(arena, 0), 0);
		random_bytes(arena, sizeof(struct page_shm));
		break;
	default: /* everything, again and again, as it is read */
		for (i = 0; i < 20; i++) {
			random_bytes(arena + ARENA_SLOTS,
				     SLOTS * sizeof(struct slot_shm));
			random_bytes(arena, sizeof(struct page_shm));
			claim(arena, i % SLOTS)->head =
				(uint64_t)(rand() % CELLS);
			usleep(500);
		}
	}
}

static void ring_all(struct page_shm *page)
{
	int i;

	for (i = 0; i < DOORBELLS; i++)
		page->doorbell[i].rings++;
	usleep(60000); /* the collector looks every 50 ms in any case */
}

/* The arena of a program that has been accepted; NULL: it was not. */
static char *say_hello(void)
{
	struct wire_hello hello = good_hello();
	struct wire_reply reply;
	int memfd, socket = dial();
	char *arena = make_arena(&memfd);

	send_with_fds(socket, &hello, sizeof(hello), memfd, 1);
	if (recv(socket, &reply, sizeof(reply), 0) != sizeof(reply) ||
	    reply.status != WIRE_ACCEPTED)
		return NULL;
	close(socket);
	return arena;
}

static int scribble_once(int kind)
{
	char *arena = say_hello();

	if (!arena)
		return 1;
	scribble(arena, kind);
	ring_all((struct page_shm *)arena);
	return 0;
}

static int scribbles(int count, unsigned int seed)
{
	int i, status, failed = 0;

	for (i = 0; i < count; i++) {
		if (fork() == 0) {
			srand(seed + (unsigned int)i);
			_exit(scribble_once(i % 6));
		}
		if (i % 8 != 7)
			continue;
		while (wait(&status) > 0)
			failed += status != 0;
	}
	while (wait(&status) > 0)
		failed += status != 0;
	if (failed)
		fprintf(stderr, "hostile: %d hellos were refused\n", failed);
	return failed != 0;
}

/* --- claim -------------------------------------------------------------------
 */

/* Never returns. */
static void be_large(int ready)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), i;
	char *memory = mmap(NULL, MAPPINGS * page, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (memory == MAP_FAILED)
		die("mmap");
	for (i = 0; i < MAPPINGS; i += 2)
		if (mprotect(memory + i * page, page, PROT_READ) < 0)
			die("mprotect");
	if (write(ready, "", 1) != 1)
		die("write");
	for (;;)
		pause();
}

static int claim_others(int count)
{
	struct pollfd end = { STDIN_FILENO, POLLIN, 0 };
	int ready[2], i;
	pid_t pid[SLOTS];
	char *arena, byte;

	if (count > SLOTS || pipe(ready) < 0)
		return 2;
	for (i = 0; i < count; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			be_large(ready[1]);
	}
	for (i = 0; i < count; i++)
		if (read(ready[0], &byte, 1) != 1)
			die("read");
	arena = say_hello();
	if (!arena)
		return 1;
	puts("ready");
	fflush(stdout);
	while (poll(&end, 1, 1) == 0)
		for (i = 0; i < count; i++) {
			struct slot_shm *slot =
				(struct slot_shm *)(arena + ARENA_SLOTS) + i;

			if (atom_load_acq(&slot->state) != SLOT_FREE)
				continue;
			slot->pid = pid[i];
			slot->tid = pid[i];
			slot->claims++;
			atom_store_rel(&slot->state, SLOT_LIVE);
		}
	return 0;
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[3]) : 0;
	struct rlimit files;

	if (argc < 4 || strlen(argv[1]) >= sizeof(g_address.sun_path))
		return 2;
	strcpy(g_address.sun_path, argv[1]);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (!strcmp(argv[2], "silent"))
		return be_silent(count);
	if (!strcmp(argv[2], "storm"))
		return storm(count);
	if (!strcmp(argv[2], "claim"))
		return claim_others(count);
	return scribbles(count, argc > 4 ? (unsigned int)atoi(argv[4]) : 1);
}
