/* SPDX-License-Identifier: Apache-2.0
 *
 * worker - the drain workers: threads that empty the rings of all programs.
 * worker.c has the design.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_WORKER_H
#define PERFREC_COLLECTOR_DRAIN_WORKER_H

#include <stdint.h>

struct collector;
struct workers;

/* Returns the number of workers for this machine: one for two CPUs, at most
 * DRAIN_WORKERS_MAX. */
uint32_t workers_default(void);

/* Starts the workers of collector->drain. @collector must outlive them. The
 * caller ends *@out with workers_stop(). Returns 0 or -errno. */
int workers_start(struct collector *collector, struct workers **out);
/* Ends the threads. All arenas must have been removed. Accepts NULL. */
void workers_stop(struct workers **workers);

#endif
