/* SPDX-License-Identifier: Apache-2.0
 *
 * save_ring FILE CELLS COMMAND... - runs COMMAND with the shim, and writes the
 * first CELLS cells of its first thread's ring to FILE, with clocks in ns: what
 * bench_replay reads. The program is killed when there are enough.
 */
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/futex.h"
#include "tests/shim/mini_collector.h"

static void nap(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	nanosleep(&ms, NULL);
}

static void give_room(struct slot_shm *slot, uint64_t tail)
{
	/* relaxed: only counted */
	atom_store_rlx(&slot->read, tail);
	/* order: sc, TAIL, ROOM: as the collector does */
	atom_store_sc(&slot->tail, tail);
	atom_add_rlx(&slot->room, 1); /* relaxed: the wake orders it */
	syscall(SYS_futex, &slot->room, FUTEX_OP_WAKE, INT32_MAX);
}

/* Writes what lies between @tail and @head. */
static void save(FILE *file, const struct mini_collector *mini, uint64_t tail,
		 uint64_t head)
{
	const struct record *cells = mini_ring(mini, 0);
	uint64_t mask = mini->page->ring_cells - 1;

	for (; tail < head; tail++)
		if (fwrite(&cells[tail & mask], sizeof(*cells), 1, file) != 1)
			err(1, "write");
}

/* Returns how many cells were saved, which are fewer than @most only if the
 * program has ended. */
static uint64_t drain(FILE *file, const struct mini_collector *mini, pid_t pid,
		      uint64_t most)
{
	struct slot_shm *slot = mini_slot(mini, 0);
	uint64_t tail = 0, head;
	bool ended = false;

	while (tail < most) {
		/* order: acq, HEAD: a cell below head is whole */
		head = atom_load_acq(&slot->head);
		if (head == tail) {
			if (ended)
				break;
			ended = waitpid(pid, NULL, WNOHANG | WNOWAIT) > 0;
			nap();
			continue;
		}
		if (head > most)
			head = most;
		save(file, mini, tail, head);
		tail = head;
		give_room(slot, tail);
	}
	return tail;
}

int main(int argc, char **argv)
{
	struct wire_reply settings = { .clock = WIRE_CLOCK_BOOTTIME };
	struct mini_collector mini;
	uint64_t most, count;
	FILE *file;
	pid_t pid;

	if (argc < 4 || !(most = strtoull(argv[2], NULL, 10))) {
		fprintf(stderr, "usage: save_ring FILE CELLS COMMAND...\n");
		return 2;
	}
	file = fopen(argv[1], "w");
	if (!file)
		err(1, "%s", argv[1]);
	mini_collector_start(&mini);
	pid = mini_spawn(&mini, mini_build_path("libperfrec_preload.so"),
			 argv + 3);
	mini_collector_accept(&mini, settings, CONTROL_ON);
	count = drain(file, &mini, pid, most);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	mini_collector_stop(&mini);
	if (fclose(file))
		err(1, "%s", argv[1]);
	fprintf(stderr, "save_ring: %llu cells\n", (unsigned long long)count);
	return 0;
}
