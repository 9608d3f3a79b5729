/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_load - a server for tests of the flight recorder: threads that serve
 * requests at a rate, some slow requests, and a metronome.
 *
 * usage: flight_load THREADS SPANS_PER_S SECONDS SLOW PHASE_S
 *
 * THREADS make SPANS_PER_S calls a second together. SLOW requests, spread over
 * the SECONDS and the threads, take SLOW_NS longer; the file "planted" has a
 * line with the thread, the start and the end (CLOCK_BOOTTIME) of each. The
 * metronome calls tick() each ms. The file "with" exists in each second phase
 * of PHASE_S seconds. For either kind of phase, a line has the number of ticks,
 * the longest tick, and the number of ticks above a ms.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MOST 64
#define STEPS 49 /* of a request: with it 50 spans */
#define SLOW_NS 20000000
#define TICK_ROUNDS 4000 /* some us */
#define NS_PER_S 1000000000ull

struct server {
	pthread_t thread;
	unsigned int number;
	uint64_t requests, slow;
};

static unsigned int g_threads;
static uint64_t g_start_ns, g_end_ns, g_pause_ns, g_phase_ns, g_slow;
static struct server g_server[THREADS_MOST];
static FILE *g_planted;
static struct {
	uint64_t ticks, longest_ns, late;
} g_phase[2]; /* without and with */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = { .tv_sec = (time_t)(ns / NS_PER_S),
					.tv_nsec = (long)(ns % NS_PER_S) };

	clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, NULL);
}

__attribute__((noinline)) static void step(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) static void request(uint64_t more_ns)
{
	for (int i = 0; i < STEPS; i++)
		step();
	if (more_ns)
		sleep_until(now_ns() + more_ns);
}

static void plant(struct server *server)
{
	uint64_t begin_ns = now_ns();

	request(SLOW_NS);
	server->slow++;
	fprintf(g_planted, "%ld %llu %llu\n", (long)syscall(SYS_gettid),
		(unsigned long long)begin_ns, (unsigned long long)now_ns());
}

/* The time of slow request @number of @server. */
static uint64_t slow_at(const struct server *server)
{
	uint64_t number = server->slow * g_threads + server->number;

	return number < g_slow
		       ? g_start_ns + (g_end_ns - g_start_ns) / (g_slow + 1) *
					      (number + 1)
		       : UINT64_MAX;
}

static void *serve(void *context)
{
	struct server *server = context;
	uint64_t due_ns = g_start_ns, now;

	while ((now = now_ns()) < g_end_ns) {
		if (now >= slow_at(server)) {
			plant(server);
			continue;
		}
		/* Some at once, so that sleeping costs little. */
		for (int i = 0; i < 20; i++, server->requests++)
			request(0);
		due_ns += 20 * g_pause_ns;
		if (due_ns > now)
			sleep_until(due_ns);
		else if (now - due_ns > NS_PER_S)
			due_ns = now; /* it cannot do that much */
	}
	return NULL;
}

__attribute__((noinline)) static void tick(void)
{
	for (volatile int i = 0; i < TICK_ROUNDS; i++)
		;
}

static void *beat(void *unused)
{
	(void)unused;
	for (uint64_t ns = g_start_ns; ns < g_end_ns; ns += 1000000) {
		unsigned int with = (ns - g_start_ns) / g_phase_ns % 2;
		uint64_t begin_ns, took_ns;

		if ((ns - g_start_ns) % g_phase_ns == 0) {
			if (with)
				fclose(fopen("with", "w"));
			else
				unlink("with");
		}
		sleep_until(ns);
		begin_ns = now_ns();
		tick();
		took_ns = now_ns() - begin_ns;
		g_phase[with].ticks++;
		g_phase[with].late += took_ns > 1000000;
		if (took_ns > g_phase[with].longest_ns)
			g_phase[with].longest_ns = took_ns;
	}
	unlink("with");
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t requests = 0;
	pthread_t metronome;

	if (argc != 6) {
		fprintf(stderr, "usage: flight_load THREADS SPANS_PER_S "
				"SECONDS SLOW PHASE_S\n");
		return 2;
	}
	g_threads = (unsigned int)atoi(argv[1]);
	if (!g_threads || g_threads > THREADS_MOST)
		return 2;
	g_pause_ns = NS_PER_S * g_threads * (STEPS + 1) /
		     strtoull(argv[2], NULL, 10);
	g_start_ns = now_ns();
	g_end_ns = g_start_ns + NS_PER_S * strtoull(argv[3], NULL, 10);
	g_slow = strtoull(argv[4], NULL, 10);
	g_phase_ns = NS_PER_S * strtoull(argv[5], NULL, 10);
	g_planted = fopen("planted", "w");
	if (!g_planted)
		return 1;
	pthread_create(&metronome, NULL, beat, NULL);
	for (unsigned int i = 0; i < g_threads; i++) {
		g_server[i].number = i;
		pthread_create(&g_server[i].thread, NULL, serve, &g_server[i]);
	}
	for (unsigned int i = 0; i < g_threads; i++) {
		pthread_join(g_server[i].thread, NULL);
		requests += g_server[i].requests + g_server[i].slow;
	}
	pthread_join(metronome, NULL);
	fclose(g_planted);
	printf("spans %llu\n", (unsigned long long)requests * (STEPS + 1));
	for (int i = 0; i < 2; i++)
		printf("%s %llu %llu %llu\n", i ? "with" : "without",
		       (unsigned long long)g_phase[i].ticks,
		       (unsigned long long)g_phase[i].longest_ns,
		       (unsigned long long)g_phase[i].late);
	return 0;
}
