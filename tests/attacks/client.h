/* SPDX-License-Identifier: Apache-2.0
 *
 * client - the parts of a hostile program: it speaks to a collector as the shim
 * does (docs/WIRE.md), and fills an arena of its own with lies. An error on its
 * own side ends the process, with a line on stderr.
 */
#ifndef PERFREC_TESTS_ATTACKS_CLIENT_H
#define PERFREC_TESTS_ATTACKS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/ring_shm.h"
#include "shared/wire.h"

#define CLIENT_FDS_MAX 4

struct client { /* of a collector that has accepted it */
	char *arena;
	uint32_t slots, cells;
	size_t bytes;
	uint64_t device, inode; /* of the arena */
};

void die(const char *what) __attribute__((noreturn));

/* Sets the collector's socket for the functions below. */
void client_set_socket(const char *path);
/* Connects to the collector; client_dial_ctl(): to its control socket. */
int client_dial(void);
int client_dial_ctl(void);
/* Sends @bytes with descriptor @fd, @fds times. The other end may have had
 * enough of us: that is no error. */
void client_send(int socket, const void *bytes, size_t size, int fd,
		 size_t fds);
/* The same with the @fds descriptors at @fd. */
void client_send_fds(int socket, const void *bytes, size_t size, const int *fd,
		     size_t fds);

struct wire_hello client_good_hello(uint32_t slots, uint32_t cells);
/* Makes the arena of a good hello, and returns its memfd. */
int client_make_arena(struct client *client, uint32_t slots, uint32_t cells);
/* Says a good hello with a new arena. False: it was refused. */
bool client_hello(struct client *client, uint32_t slots, uint32_t cells);
/* Unmaps the arena, so that the program has ended for the collector. */
void client_leave(struct client *client);

struct page_shm *client_page(const struct client *client);
struct slot_shm *client_slot(const struct client *client, uint32_t index);
struct record *client_ring(const struct client *client, uint32_t index);
/* The slot as thread @tid of process @pid would claim it. */
struct slot_shm *client_claim(const struct client *client, uint32_t index,
			      pid_t pid, pid_t tid);
/* Appends @count cells, whole records, to the ring of a slot; waits for room.
 * False: the attack is over (client_is_over()). */
bool client_put(const struct client *client, uint32_t index,
		const struct record *cells, size_t count);
/* As the program's clock, which is BOOTTIME. */
uint64_t client_clock(void);
/* Writes a site with the texts @name and @function, and returns its id. 0:
 * there is no room for more. */
uint32_t client_site(const struct client *client, int kind, const char *name,
		     const char *function);

/* The attack has its effect: says so on stdout. */
void client_say_ready(void);
/* Whether stdin has ended: then the attack is over. */
bool client_is_over(void);
/* Waits for that. */
int client_wait_for_end(void);
/* fork(); the child ends with its parent. */
pid_t client_fork(void);
/* From here on this process has nearly as many mappings as it may have. */
void client_be_large(void);

/* --- attacks: each is called with the arguments behind its name, and returns
 * the status to end with --- */
int attack_silent(int argc, char **argv);
int attack_storm(int argc, char **argv);
int attack_linger(int argc, char **argv);
int attack_hellos(int argc, char **argv);
int attack_ctl(int argc, char **argv);
int attack_mappings(int argc, char **argv);
int attack_children(int argc, char **argv);
int attack_arenas(int argc, char **argv);
int attack_forks(int argc, char **argv);
int attack_scribble(int argc, char **argv);
int attack_claim(int argc, char **argv);
int attack_fill(int argc, char **argv);
int attack_threads(int argc, char **argv);
int attack_slices(int argc, char **argv);
int attack_names(int argc, char **argv);
int attack_loads(int argc, char **argv);
int attack_tables(int argc, char **argv);
int attack_mangled(int argc, char **argv);
int attack_fault(int argc, char **argv);
int attack_lease(int argc, char **argv);
int attack_held(int argc, char **argv);
int attack_becomes(int argc, char **argv);

#endif
