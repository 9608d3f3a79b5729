/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/process_describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector/record/attributes.h"
#include "collector/record/recording.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_file.h"
#include "shared/ring_shm.h"

#define ARGUMENTS_MAX 256
/* Limits of the trace: number of resource attributes, and length of each. */
#define LABELS_MAX 32
#define LABEL_BYTES 256
#define PACKET_BYTES                                                           \
	(ARGUMENT_BYTES + 4 * ARGUMENTS_MAX + LABELS_MAX * (LABEL_BYTES + 4) + \
	 512)

void process_describe(const struct process_card *card,
		      struct recording *recording, const struct who *who)
{
	const struct process_entry *entry = card->entry;
	char *arguments[ARGUMENTS_MAX + 1] = { NULL };
	char *labels[LABELS_MAX + 1] = { NULL }, text[LABELS_MAX][LABEL_BYTES];
	char name[sizeof(entry->name) + 32];
	uint8_t packet[PACKET_BYTES];
	const char *key, *value;
	size_t offset = 0, count = 0;
	struct out_process out = {
		.uuid = card->uuid,
		.pid = card->pid,
		.name = name,
		.cmdline = arguments,
		.start_ns = entry->start_ns,
		.labels = labels,
	};

	/* All ranks have the same name; the number separates them in viewers.
	 */
	snprintf(name, sizeof(name),
		 entry->rank < 0 ? "%s" : "%s (rank %" PRId64 ")", entry->name,
		 entry->rank);
	while (offset + 1 < entry->cmdline_bytes && count < ARGUMENTS_MAX) {
		arguments[count] = entry->cmdline + offset;
		offset += strlen(arguments[count++]) + 1;
	}
	for (size_t i = 0;
	     who && i < LABELS_MAX && (key = who_attribute(who, i, &value));
	     i++) {
		snprintf(text[i], LABEL_BYTES, "%s=%s", key, value);
		labels[i] = text[i];
	}
	trace_file_append(recording_setup(recording)->trace, 1, packet,
			  out_perfetto_process(packet, sizeof(packet), &out));
}
