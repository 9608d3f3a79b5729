/* SPDX-License-Identifier: Apache-2.0
 *
 * memcached_load - load for a memcached: every thread has a connection and
 * keys of its own, sets and gets values, and checks what comes back. Waits
 * until the server listens. Prints one line a thread, in order; the same for
 * the same arguments.
 *
 * usage: memcached_load SOCKET THREADS ROUNDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#define THREADS_MAX 64
#define KEYS 100
#define CONNECT_TRIES 2000

struct client {
	pthread_t thread;
	const char *path;
	int number, rounds;
	long long sum;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* A stream to the server, which may still be starting. */
static FILE *connect_to(const char *path)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		die(path);
	strcpy(address.sun_path, path);
	for (int i = 0; i < CONNECT_TRIES; i++) {
		if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
			return fdopen(fd, "r+");
		nanosleep(&pause, NULL);
	}
	die(path);
	return NULL;
}

static void expect(FILE *server, const char *expected)
{
	char line[256];

	if (!fgets(line, sizeof(line), server))
		die("the server has hung up");
	if (strcmp(line, expected) == 0)
		return;
	fprintf(stderr, "got '%s', not '%s'\n", line, expected);
	exit(1);
}

static void set(FILE *server, int key, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	fprintf(server, "set key%d 0 0 %zu\r\n%s\r\n", key, strlen(text), text);
	fflush(server);
	expect(server, "STORED\r\n");
}

static void get(FILE *server, int key, long value)
{
	char value_line[64], text[32];

	snprintf(text, sizeof(text), "%ld\r\n", value);
	snprintf(value_line, sizeof(value_line), "VALUE key%d 0 %zu\r\n", key,
		 strlen(text) - 2);
	fprintf(server, "get key%d\r\n", key);
	fflush(server);
	expect(server, value_line);
	expect(server, text);
	expect(server, "END\r\n");
}

static void *work(void *argument)
{
	struct client *client = argument;
	FILE *server = connect_to(client->path);

	if (!server)
		die("fdopen");
	for (int i = 0; i < client->rounds * KEYS; i++) {
		int key = client->number * KEYS + i % KEYS;
		long value = (long)i * 7919 % 100003;

		set(server, key, value);
		get(server, key, value);
		client->sum += value;
	}
	fclose(server);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct client clients[THREADS_MAX];
	int threads = argc == 4 ? atoi(argv[2]) : 0;

	if (threads < 1 || threads > THREADS_MAX) {
		fputs("usage: memcached_load SOCKET THREADS ROUNDS\n", stderr);
		return 2;
	}
	for (int i = 0; i < threads; i++) {
		clients[i].path = argv[1];
		clients[i].number = i;
		clients[i].rounds = atoi(argv[3]);
		if (pthread_create(&clients[i].thread, NULL, work, &clients[i]))
			die("pthread_create");
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(clients[i].thread, NULL);
		printf("client %d: %lld\n", i, clients[i].sum);
	}
	return 0;
}
