/* SPDX-License-Identifier: Apache-2.0
 *
 * process_context - reads the resource that a program publishes in its memory
 * for profilers (OpenTelemetry's OTEP 4719). All values are the program's word.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_CONTEXT_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_CONTEXT_H

#include <stdint.h>
#include <sys/types.h>

struct bytes;
struct who;

/* The location of the context; all zero: not found yet. */
struct process_context {
	uint64_t address, published_ns; /* 0: unknown */
};

/*
 * Reads the published message of process @pid into @payload. Returns 0;
 * -EALREADY: unchanged since *@known; -ENOENT: no context, or no permission;
 * -EAGAIN: the program is changing it; -EBADMSG: malformed; or -ENOMEM. Reads
 * the map and the memory of the process, so the calling thread must be free to
 * wait.
 */
int process_context_read(pid_t pid, struct process_context *known,
			 struct bytes *payload);
/* Sets the attributes in @payload: strings as they are, numbers and booleans as
 * text. Skips other types. */
void process_context_tell(const struct bytes *payload, struct who *who);

#endif
