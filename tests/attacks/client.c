/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/attacks/client.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/site_shm.h"

#define ROOM_POLL_US 200
#define MAPPINGS 60000 /* 65,530 are allowed */

static struct sockaddr_un g_address = { .sun_family = AF_UNIX };

void die(const char *what)
{
	perror(what);
	_exit(1);
}

/* --- messages ------------------------------------------------------------ */

void client_set_socket(const char *path)
{
	if (strlen(path) >= sizeof(g_address.sun_path))
		die(path);
	strcpy(g_address.sun_path, path);
}

static int dial(const struct sockaddr_un *address, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		die("connect");
	return fd;
}

int client_dial(void)
{
	return dial(&g_address, SOCK_SEQPACKET);
}

int client_dial_ctl(void)
{
	struct sockaddr_un address = g_address;
	size_t length = strlen(address.sun_path);

	snprintf(address.sun_path + length, sizeof(address.sun_path) - length,
		 ".ctl");
	return dial(&address, SOCK_STREAM);
}

void client_send_fds(int socket, const void *bytes, size_t size, const int *fd,
		     size_t fds)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(CLIENT_FDS_MAX * sizeof(int))];
	} control = { .header = { CMSG_LEN(fds * sizeof(int)), SOL_SOCKET,
				  SCM_RIGHTS } };
	struct iovec data = { (void *)bytes, size };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fds) {
		memcpy(CMSG_DATA(&control.header), fd, fds * sizeof(*fd));
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(fds * sizeof(int));
	}
	(void)!sendmsg(socket, &message, MSG_NOSIGNAL);
}

void client_send(int socket, const void *bytes, size_t size, int fd, size_t fds)
{
	int all[CLIENT_FDS_MAX];

	for (size_t i = 0; i < fds; i++)
		all[i] = fd;
	client_send_fds(socket, bytes, size, all, fds);
}

/* --- the arena ----------------------------------------------------------- */

struct wire_hello client_good_hello(uint32_t slots, uint32_t cells)
{
	return (struct wire_hello){
		.magic = WIRE_HELLO_MAGIC,
		.version = WIRE_VERSION,
		.pid = getpid(),
		.slot_count = slots,
		.ring_cells = cells,
		.functions = function_numbers(cells),
		.arena_bytes =
			arena_bytes(slots, cells, function_numbers(cells)),
		.instrumented = 1,
	};
}

int client_make_arena(struct client *client, uint32_t slots, uint32_t cells)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct page_shm *page;
	struct stat status;

	*client = (struct client){
		.slots = slots,
		.cells = cells,
		.bytes = arena_bytes(slots, cells, function_numbers(cells))
	};
	if (fd < 0 || ftruncate(fd, (off_t)client->bytes) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) <
		    0 ||
	    fstat(fd, &status) < 0)
		die("memfd");
	client->device = status.st_dev;
	client->inode = status.st_ino;
	client->arena = mmap(NULL, client->bytes, PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd, 0);
	if (client->arena == MAP_FAILED)
		die("mmap");
	page = client_page(client);
	page->magic = ARENA_MAGIC;
	page->version = WIRE_VERSION;
	page->slot_count = client->slots;
	page->ring_cells = client->cells;
	page->filter_entries = FILTER_ENTRIES;
	page->rings_offset = arena_rings(client->slots);
	return fd;
}

bool client_hello(struct client *client, uint32_t slots, uint32_t cells)
{
	struct wire_hello hello = client_good_hello(slots, cells);
	struct wire_reply reply;
	int memfd, socket = client_dial();
	ssize_t got;

	memfd = client_make_arena(client, slots, cells);
	client_send(socket, &hello, sizeof(hello), memfd, 1);
	got = recv(socket, &reply, sizeof(reply), 0);
	close(memfd);
	close(socket);
	if (got == sizeof(reply) && reply.status == WIRE_ACCEPTED)
		return true;
	client_leave(client);
	return false;
}

void client_leave(struct client *client)
{
	if (client->arena)
		munmap(client->arena, client->bytes);
	client->arena = NULL;
}

struct page_shm *client_page(const struct client *client)
{
	return (struct page_shm *)client->arena;
}

struct slot_shm *client_slot(const struct client *client, uint32_t index)
{
	return (struct slot_shm *)(client->arena + ARENA_SLOTS) + index;
}

struct record *client_ring(const struct client *client, uint32_t index)
{
	return (struct record *)(client->arena + arena_rings(client->slots) +
				 index * arena_slot_bytes(
						 client->cells,
						 function_numbers(
							 client->cells)));
}

struct slot_shm *client_claim(const struct client *client, uint32_t index,
			      pid_t pid, pid_t tid)
{
	struct slot_shm *slot = client_slot(client, index);

	slot->pid = pid;
	slot->tid = tid;
	slot->claims++;
	slot->claim_clock = client_clock();
	memcpy(slot->name, "hostile", 8);
	atom_store_rel(&slot->state, SLOT_LIVE);
	return slot;
}

static void ring_doorbell(const struct client *client, uint32_t index)
{
	/* The collector looks every 50 ms in any case; a full ring is seen at
	 * once by a worker that is awake. */
	client_page(client)->doorbell[index % DOORBELLS].rings++;
}

bool client_put(const struct client *client, uint32_t index,
		const struct record *cells, size_t count)
{
	struct slot_shm *slot = client_slot(client, index);
	struct record *ring = client_ring(client, index);
	uint64_t head = slot->head;

	while (client->cells - (head - atom_load_acq(&slot->tail)) < count) {
		ring_doorbell(client, index);
		if (client_is_over())
			return false;
		usleep(ROOM_POLL_US);
	}
	while (count--)
		ring[head++ & (client->cells - 1)] = *cells++;
	atom_store_rel(&slot->head, head);
	return true;
}

uint64_t client_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint32_t client_site(const struct client *client, int kind, const char *name,
		     const char *function)
{
	struct page_shm *page = client_page(client);
	uint32_t *offsets = (uint32_t *)(client->arena + ARENA_SITES);
	uint32_t at = page->site_bytes, id = page->site_count + 1;
	size_t name_bytes = strlen(name), function_bytes = strlen(function);
	/* Six texts, four of them empty. */
	size_t bytes =
		sizeof(struct site_shm) + name_bytes + function_bytes + 6;
	struct site_shm *site =
		(struct site_shm *)(client->arena + ARENA_SITE_BYTES + at);

	bytes = (bytes + 15) & ~(size_t)15;
	if (id >= SITES_MAX || bytes > SITE_BYTES - at)
		return 0;
	*site = (struct site_shm){ .bytes = (uint32_t)bytes,
				   .kind = (uint8_t)kind,
				   .multiplier = 1 };
	site->text_bytes[0] = (uint16_t)name_bytes;
	site->text_bytes[3] = (uint16_t)function_bytes;
	memcpy(site + 1, name, name_bytes);
	memcpy((char *)(site + 1) + name_bytes + 3, function, function_bytes);
	page->site_bytes = at + (uint32_t)bytes;
	page->site_count = id;
	atom_store_rel(&offsets[id], at + 1);
	return id;
}

/* --- begin and end ------------------------------------------------------- */

void client_say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

bool client_is_over(void)
{
	struct pollfd end = { STDIN_FILENO, POLLIN, 0 };

	return poll(&end, 1, 0) != 0;
}

int client_wait_for_end(void)
{
	char end;

	return read(STDIN_FILENO, &end, 1) < 0;
}

pid_t client_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

void client_be_large(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, MAPPINGS * page, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; i < MAPPINGS; i += 2)
		if (mprotect(memory + i * page, page, PROT_READ) < 0)
			die("mprotect");
}
