/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_hello - sends the input to the programs' socket: struct said, then a
 * message (hello, regret or child). The rest becomes the head of the arena.
 * Afterwards a good program must be accepted.
 */
#include "collector/base/closer.h"
#include "shared/compiler.h"
#include "tests/fuzz/collector_rig.h"

struct said {
	uint8_t length; /* of the message */
	uint8_t fds; /* number of descriptors in the message */
	uint8_t unsealed; /* 1: the arena is not sealed */
	/* SAID_*: parts of a hello that keep the input's value; other parts are
	 * corrected, as versions change */
	uint8_t as_said;
};

enum { SAID_VERSION = 1, SAID_PID = 2, SAID_BYTES = 4 };

/* A new recording starts before this one runs out of memory. */
#define SESSIONS_MAX 20000

/* Returns the status of the reply on @socket; -1: no reply. */
static int reply_status(int socket)
{
	struct wire_reply reply;
	ssize_t got = recv(socket, &reply, sizeof(reply), MSG_DONTWAIT);

	if (got <= 0)
		return -1;
	fuzz_must(got == sizeof(reply) && reply.magic == WIRE_REPLY_MAGIC &&
			  reply.version == WIRE_VERSION,
		  "no reply");
	return (int)reply.status;
}

static struct wire_hello good_hello(void)
{
	return (struct wire_hello){
		.magic = WIRE_HELLO_MAGIC,
		.version = WIRE_VERSION,
		.pid = getpid(),
		.slot_count = RIG_SLOTS,
		.ring_cells = RIG_CELLS,
		.functions = function_numbers(RIG_CELLS),
		.arena_bytes = arena_bytes(RIG_SLOTS, RIG_CELLS,
					   function_numbers(RIG_CELLS)),
	};
}

static int say(const void *message, size_t length, int arena, size_t fds)
{
	int socket = rig_connect(g_rig.socket, SOCK_SEQPACKET), status;

	rig_send(socket, message, length, arena, fds);
	close(arena);
	rig_hear();
	status = reply_status(socket);
	close(socket);
	return status;
}

static void make_right(uint8_t *message, uint8_t as_said)
{
	const struct wire_hello good = good_hello();
	struct wire_hello hello;

	memcpy(&hello, message, sizeof(hello));
	if (!(as_said & SAID_VERSION))
		hello.version = good.version;
	if (!(as_said & SAID_PID))
		hello.pid = good.pid;
	if (!(as_said & SAID_BYTES))
		hello.arena_bytes = good.arena_bytes;
	memcpy(message, &hello, sizeof(hello));
}

static void say_input(const struct said *said, const uint8_t *data, size_t size)
{
	size_t length = MIN((size_t)said->length, size);
	int arena = rig_arena();
	uint8_t message[UINT8_MAX];

	memcpy(message, data, length);
	if (length >= sizeof(struct wire_hello))
		make_right(message, said->as_said);
	data += length;
	size = MIN(size - length, sizeof(struct page_shm));
	fuzz_must(pwrite(arena, data, size, 0) == (ssize_t)size, "arena");
	if (!said->unsealed)
		rig_seal(arena);
	say(message, length, arena, said->fds % 8);
}

static void say_good(void)
{
	const struct wire_hello hello = good_hello();
	int arena = rig_arena();

	/* Descriptors of inputs are closed by threads that may lack a CPU. */
	while (closer_is_full())
		usleep(1000);
	rig_seal(arena);
	fuzz_must(say(&hello, sizeof(hello), arena, 1) == WIRE_ACCEPTED,
		  "a good program is refused");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned int sessions;
	struct said said;

	if (size <= sizeof(said))
		return 0;
	rig_start();
	memcpy(&said, data, sizeof(said));
	say_input(&said, data + sizeof(said), size - sizeof(said));
	rig_end_sessions();
	if (++sessions % 16 == 0)
		say_good();
	rig_end_sessions();
	if (sessions % SESSIONS_MAX == 0)
		rig_new_recording();
	return 0;
}
