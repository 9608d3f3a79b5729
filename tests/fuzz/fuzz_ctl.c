/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_ctl - sends the input to the socket of `perfrec ctl` while a program is
 * recorded. An answer must be a JSON object. A client without an answer hangs
 * up while its request is under way.
 */
#include <errno.h>
#include <jansson.h>

#include "collector/serve/ctl_server.h"
#include "tests/fuzz/collector_rig.h"

#define ROUNDS 4 /* of the loop, for requests without another thread */

static struct ctl_server *g_server;

static void run(void)
{
	rig_run();
	ctl_server_reap(g_server);
}

/* This process plays the program. */
static void begin_session(void)
{
	const struct wire_hello hello = {
		.magic = WIRE_HELLO_MAGIC,
		.version = WIRE_VERSION,
		.pid = getpid(),
		.slot_count = RIG_SLOTS,
		.ring_cells = RIG_CELLS,
		.functions = function_numbers(RIG_CELLS),
		.arena_bytes = arena_bytes(RIG_SLOTS, RIG_CELLS,
					   function_numbers(RIG_CELLS)),
	};
	int socket = rig_connect(g_rig.socket, SOCK_SEQPACKET);
	int arena = rig_arena();

	rig_seal(arena);
	rig_send(socket, &hello, sizeof(hello), arena, 1);
	close(arena);
	rig_hear();
	close(socket);
	fuzz_must(g_rig.collector.arenas != NULL, "no session");
}

/* Appends the collector's answer so far to @answer. */
static void hear(int client, char *answer, size_t room, size_t *count)
{
	ssize_t got;

	while ((got = recv(client, answer + *count, room - *count,
			   MSG_DONTWAIT)) > 0)
		*count += (size_t)got;
}

static void check_answer(const char *answer, size_t count)
{
	json_t *json = json_loadb(answer, count, 0, NULL);

	fuzz_must(json_is_object(json), "the answer is no JSON");
	json_decref(json);
}

static void ask(const uint8_t *data, size_t size)
{
	static char answer[1 << 16];
	int client = rig_connect(g_rig.control, SOCK_STREAM);
	size_t count = 0;

	/* Data beyond the longest request stays unread. */
	(void)!send(client, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
	for (int i = 0; i < ROUNDS; i++) {
		run();
		hear(client, answer, sizeof(answer), &count);
	}
	if (count)
		check_answer(answer, count);
	close(client);
	do
		run();
	while (ctl_server_is_busy(g_server));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned int sessions;

	rig_start();
	if (!g_rig.collector.arenas)
		begin_session();
	fuzz_must(!ctl_server_new(&g_rig.collector, g_rig.socket, &g_server),
		  "ctl server");
	ask(data, size);
	ctl_server_free(&g_server);
	/* Undoes changes; a stop may be under way. */
	if (++sessions % 64 == 0 || g_rig.collector.closing ||
	    g_rig.collector.paused)
		rig_end_sessions();
	return 0;
}
