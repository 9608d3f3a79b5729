/* SPDX-License-Identifier: Apache-2.0
 *
 * of_rings - attacks by what a program writes into its arena, after a good
 * hello.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/record_ext.h"
#include "shared/site_shm.h"
#include "tests/attacks/client.h"

#define SLOTS 16
#define CELLS RING_CELLS_MIN
#define LARGE_CELLS (1u << 16)
#define POLL_US 1000

static int count_of(int argc, char **argv)
{
	return argc > 0 ? atoi(argv[0]) : 1;
}

static void hello_or_die(struct client *client, uint32_t slots, uint32_t cells)
{
	if (!client_hello(client, slots, cells)) {
		fputs("hostile: the hello was refused\n", stderr);
		_exit(1);
	}
}

/* --- scribble ------------------------------------------------------------ */

static void random_bytes(void *to, size_t size)
{
	char *bytes = to;

	while (size--)
		*bytes++ = (char)rand();
}

static struct slot_shm *claim_own(const struct client *client, int index)
{
	return client_claim(client, (uint32_t)index, getpid(), getpid());
}

/* Writes records in good order, except for the last one. */
static void write_records(const struct client *client, int index)
{
	struct slot_shm *slot = claim_own(client, index);
	struct record *cell = client_ring(client, (uint32_t)index);

	for (int i = 0; i < 64; i++)
		cell[i] = (struct record){ record_word(i & 1 ? RECORD_END
							     : RECORD_BEGIN,
						       0x1000, 0),
					   0 };
	if (rand() % 2)
		random_bytes(&cell[63], sizeof(*cell) * (rand() % 2000 + 1));
	atom_store_rel(&slot->head, (uint64_t)(64 + rand() % 2048));
}

static void scribble(const struct client *client, int kind)
{
	struct slot_shm *slot = claim_own(client, rand() % SLOTS);
	char *slots = client->arena + ARENA_SLOTS;

	switch (kind) {
	case 0: /* heads that run backward and beyond the end */
		for (int i = 0; i < 100; i++) {
			slot->head = (uint64_t)(rand() % 3 * CELLS - CELLS);
			usleep(50);
		}
		slot->head = (uint64_t)rand() << 32;
		break;
	case 1: /* cells */
		for (int i = 0; i < SLOTS; i++)
			write_records(client, i);
		break;
	case 2: /* slots: states, ids, names without an end */
		random_bytes(slots, SLOTS * sizeof(struct slot_shm));
		break;
	case 3: /* a name that is never finished, ids of others */
		memset(slot->name, 'x', sizeof(slot->name));
		slot->name_changes = 1;
		slot->pid = 1;
		slot->tid = -1;
		slot->pthread = ~0ULL;
		break;
	case 4: /* the page: doorbells, flags, a layout it never had */
		write_records(client, 0);
		random_bytes(client->arena, sizeof(struct page_shm));
		break;
	default: /* everything, again and again, as it is read */
		for (int i = 0; i < 20; i++) {
			random_bytes(slots, SLOTS * sizeof(struct slot_shm));
			random_bytes(client->arena, sizeof(struct page_shm));
			claim_own(client, i % SLOTS)->head =
				(uint64_t)(rand() % CELLS);
			usleep(500);
		}
	}
}

static void ring_all(struct page_shm *page)
{
	for (int i = 0; i < DOORBELLS; i++)
		page->doorbell[i].rings++;
	usleep(60000); /* the collector looks every 50 ms in any case */
}

static int scribble_once(int kind)
{
	struct client client;

	if (!client_hello(&client, SLOTS, CELLS))
		return 1;
	scribble(&client, kind);
	ring_all(client_page(&client));
	return 0;
}

int attack_scribble(int argc, char **argv)
{
	int count = count_of(argc, argv), status, failed = 0;
	unsigned int seed = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;

	for (int i = 0; i < count; i++) {
		if (client_fork() == 0) {
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

/* --- claim --------------------------------------------------------------- */

/* Never returns. */
static void be_large(int ready)
{
	client_be_large();
	if (write(ready, "", 1) != 1)
		die("write");
	for (;;)
		pause();
}

int attack_claim(int argc, char **argv)
{
	int count = count_of(argc, argv), ready[2];
	struct client client;
	pid_t pid[SLOTS];
	char byte;

	if (count > SLOTS || pipe(ready) < 0)
		return 2;
	for (int i = 0; i < count; i++) {
		pid[i] = client_fork();
		if (pid[i] == 0)
			be_large(ready[1]);
	}
	for (int i = 0; i < count; i++)
		if (read(ready[0], &byte, 1) != 1)
			die("read");
	hello_or_die(&client, SLOTS, CELLS);
	client_say_ready();
	for (; !client_is_over(); usleep(POLL_US))
		for (int i = 0; i < count; i++) {
			struct slot_shm *slot =
				client_slot(&client, (uint32_t)i);

			if (atom_load_acq(&slot->state) == SLOT_FREE)
				client_claim(&client, (uint32_t)i, pid[i],
					     pid[i]);
		}
	return 0;
}

/* --- arenas, forks ------------------------------------------------------- */

#define ARENAS 64

int attack_arenas(int argc, char **argv)
{
	static struct client client[ARENAS];
	uint32_t slots = SLOT_COUNT_MAX;

	(void)argc;
	(void)argv;
	/* Each arena takes all slots that are still free. */
	for (int i = 0; i < ARENAS && slots; i++)
		while (slots &&
		       !client_hello(&client[i], slots, RING_CELLS_MAX))
			slots /= 2;
	client_say_ready();
	return client_wait_for_end();
}

/* Records a call as a forked child, and stays. */
static void be_child(const struct client *client, uint32_t index)
{
	const struct record cell[] = {
		{ record_word(RECORD_FORK, (uint64_t)getppid(), 0),
		  client_clock() },
		{ record_word(RECORD_BEGIN, 0x1000, 0x200), client_clock() },
	};

	client_claim(client, index, getpid(), getpid());
	client_put(client, index, cell, 2);
	for (;;)
		pause();
}

int attack_forks(int argc, char **argv)
{
	uint32_t count = (uint32_t)count_of(argc, argv);
	struct client client;

	hello_or_die(&client, count, CELLS);
	for (uint32_t i = 0; i < count; i++)
		if (client_fork() == 0)
			be_child(&client, i);
	/* A slot whose cells were read belongs to a process that is known. */
	for (uint32_t i = 0; i < count; i++)
		while (!atom_load_acq(&client_slot(&client, i)->read))
			usleep(POLL_US);
	client_say_ready();
	return client_wait_for_end();
}

/* --- fill ---------------------------------------------------------------- */

#define FILL_PAIRS 512
#define FILL_FUNCTION 0x7f0000001000ULL

struct filler {
	const struct client *client;
	uint32_t index;
};

static void *run_filler(void *context)
{
	const struct filler *filler = context;
	struct record cell[2 * FILL_PAIRS];

	client_claim(filler->client, filler->index, getpid(), gettid());
	do {
		uint64_t now = client_clock();

		for (uint64_t i = 0; i < 2 * FILL_PAIRS; i++) {
			enum record_kind kind =
				i & 1 ? RECORD_END : RECORD_BEGIN;
			uint64_t function = FILL_FUNCTION + (i / 2) * 16;

			cell[i].word = record_word(kind, function, 0x200);
			cell[i].clock = now + i;
		}
	} while (client_put(filler->client, filler->index, cell,
			    2 * FILL_PAIRS));
	return NULL;
}

int attack_fill(int argc, char **argv)
{
	uint32_t count = (uint32_t)count_of(argc, argv);
	struct client client;
	struct filler filler[SLOTS];
	pthread_t thread[SLOTS];

	if (count > SLOTS)
		return 2;
	hello_or_die(&client, SLOTS, LARGE_CELLS);
	for (uint32_t i = 0; i < count; i++) {
		filler[i] = (struct filler){ &client, i };
		if (pthread_create(&thread[i], NULL, run_filler, &filler[i]))
			die("pthread_create");
	}
	client_say_ready();
	return client_wait_for_end();
}

/* --- threads ------------------------------------------------------------- */

#define THREAD_SLOTS 1024

int attack_threads(int argc, char **argv)
{
	struct record cell[2];
	struct client client;
	pid_t tid = 1;

	(void)argc;
	(void)argv;
	hello_or_die(&client, THREAD_SLOTS, CELLS);
	client_say_ready();
	for (; !client_is_over(); usleep(POLL_US))
		for (uint32_t i = 0; i < THREAD_SLOTS; i++) {
			struct slot_shm *slot = client_slot(&client, i);

			if (atom_load_acq(&slot->state) != SLOT_FREE)
				continue;
			slot->head = slot->tail;
			client_claim(&client, i, getpid(), ++tid);
			cell[0].word =
				record_word(RECORD_BEGIN, FILL_FUNCTION, 0x200);
			cell[0].clock = client_clock();
			cell[1].word =
				record_word(RECORD_END, FILL_FUNCTION, 0x200);
			cell[1].clock = cell[0].clock + 1;
			client_put(&client, i, cell, 2);
			atom_store_rel(&slot->state, SLOT_DEAD);
		}
	return 0;
}

/* --- slices -------------------------------------------------------------- */

#define SLICE_TEXT 944 /* 64 cells in all: they never wrap around the ring */
#define SLICES_OF_TRACK 64

/* An argument of SLICE_TEXT bytes, and a slice that begins. */
struct slice_cells {
	struct record args;
	struct note_arg arg;
	char key[16];
	char text[SLICE_TEXT];
	struct record begin;
	uint64_t track, handle;
};

_Static_assert(LARGE_CELLS * sizeof(struct record) %
			       sizeof(struct slice_cells) ==
		       0,
	       "a part of the ring");

int attack_slices(int argc, char **argv)
{
	int count = count_of(argc, argv);
	struct slice_cells slice = {
		.arg = { NOTE_STRING, 0, 4, SLICE_TEXT, SLICE_TEXT },
		.key = "text",
	};
	struct client client;
	uint32_t site;

	hello_or_die(&client, SLOTS, LARGE_CELLS);
	site = client_site(&client, SITE_SPAN, "slice", "attack");
	client_claim(&client, 0, getpid(), getpid());
	slice.args.word =
		record_ext_word(EXT_ARGS, 2 + SLICE_TEXT / 16, 1, 0x200);
	slice.begin.word = record_ext_word(EXT_ASYNC_BEGIN, 1, site, 0x200);
	for (int i = 0; i < count; i++) {
		slice.args.clock = slice.begin.clock = client_clock();
		slice.track = 1 + (uint64_t)i / SLICES_OF_TRACK;
		slice.handle = (uint64_t)i;
		memset(slice.text, 'x', SLICE_TEXT);
		snprintf(slice.text, SLICE_TEXT, "%d", i);
		if (!client_put(&client, 0, (struct record *)&slice,
				sizeof(slice) / sizeof(struct record)))
			return 0;
		if (i == count / 2)
			client_say_ready();
	}
	return client_wait_for_end();
}

/* --- names --------------------------------------------------------------- */

#define NAME_BYTES 1000

static void tell_names(const struct client *client, int round)
{
	char name[NAME_BYTES + 1], function[NAME_BYTES + 1];
	struct record cell;
	uint32_t site;

	memset(name, 'n', NAME_BYTES);
	memset(function, 'f', NAME_BYTES);
	name[NAME_BYTES] = function[NAME_BYTES] = '\0';
	client_claim(client, 0, getpid(), getpid());
	for (int i = 0;; i++) {
		memcpy(name + snprintf(name, 32, "%d %d", round, i), "n", 1);
		memcpy(function + snprintf(function, 32, "%d %d", round, i),
		       "f", 1);
		site = client_site(client, SITE_SPAN, name, function);
		if (!site)
			return;
		cell.word = record_ext_word(EXT_INSTANT, 0, site, 0x200);
		cell.clock = client_clock();
		if (!client_put(client, 0, &cell, 1))
			return;
	}
}

int attack_names(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int round = 0; !client_is_over(); round++) {
		struct client client;

		if (!client_hello(&client, SLOTS, LARGE_CELLS)) {
			usleep(100 * POLL_US);
			continue;
		}
		tell_names(&client, round);
		if (round == 1)
			client_say_ready();
		/* The same process says hello again, as after exec. */
		client_leave(&client);
	}
	return 0;
}

/* --- loads --------------------------------------------------------------- */

static const char *const g_paths[] = {
	"/dev/zero",  "/dev/full",   "/dev/ptmx",      "/proc/1/mem",
	"/proc/kmsg", "/",	     "/proc/self/exe", "../../etc/passwd",
	"/dev/stdin", "/proc/kcore",
};

#define PATHS (sizeof(g_paths) / sizeof(g_paths[0]))

static void tell_load(const struct client *client, uint64_t number)
{
	struct page_shm *page = client_page(client);
	struct map_entry_shm *entry =
		(struct map_entry_shm *)(client->arena + ARENA_MAP +
					 number % MAP_ENTRIES *
						 MAP_ENTRY_BYTES);

	entry->kind = number % 3 ? MAP_LOAD : MAP_UNLOAD;
	entry->pid = number % 5 ? getpid() : 1;
	entry->generation = (uint32_t)(number / 3);
	entry->build_id_bytes = (uint16_t)(number % 40);
	entry->start = 0x7f0000000000ULL + number % 999 * (1 << 20);
	entry->end = entry->start + (1 << 20) * (1 + number % 7);
	entry->bias = entry->start;
	strcpy(entry->path, g_paths[number % PATHS]);
	atom_store_rel(&page->map_head, number + 1);
	atom_store_rel(&entry->sequence, number + 1);
}

int attack_loads(int argc, char **argv)
{
	struct client client;
	uint64_t number = 0;

	(void)argc;
	(void)argv;
	hello_or_die(&client, SLOTS, LARGE_CELLS);
	client_claim(&client, 0, getpid(), getpid());
	for (; !client_is_over();) {
		uint64_t clock = client_clock();
		uint64_t function = 0x7f0000000000ULL + number % 999 * 1048576;
		const struct record cell[] = {
			{ record_word(RECORD_MAP, number / 3, 0x200), clock },
			{ record_word(RECORD_BEGIN, function, 0x200), clock },
			{ record_word(RECORD_END, function, 0x200), clock + 1 },
		};

		if (number - atom_load_acq(&client_page(&client)->map_tail) <
		    MAP_ENTRIES / 2)
			tell_load(&client, number++);
		else
			usleep(POLL_US);
		if (!client_put(&client, 0, cell, 3))
			break;
		if (number == MAP_ENTRIES)
			client_say_ready();
	}
	return 0;
}
