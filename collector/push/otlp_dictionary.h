/* SPDX-License-Identifier: Apache-2.0
 *
 * otlp_dictionary - what the profiles of one request of OpenTelemetry share:
 * texts, mappings, functions, locations, stacks, attributes and links. Its
 * tables are pools that grow with each profile; element 0 of each is the zero
 * value. The functions that add return the number of an element, which is there
 * once. When memory is short they return 0, and otlp_error() is not 0.
 */
#ifndef PERFREC_COLLECTOR_PUSH_OTLP_DICTIONARY_H
#define PERFREC_COLLECTOR_PUSH_OTLP_DICTIONARY_H

#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/read/pprof_read.h"

#define OTLP_TRACE_ID_BYTES 16
#define OTLP_SPAN_ID_BYTES 8

struct otlp;

struct otlp_link {
	uint8_t trace_id[OTLP_TRACE_ID_BYTES], span_id[OTLP_SPAN_ID_BYTES];
};

/* Sets *@out to a new dictionary (NULL: no memory), which otlp_free() ends even
 * after a failure. 0 or -ENOMEM. */
int otlp_new(struct otlp **out);
void otlp_free(struct otlp *otlp);

uint32_t otlp_add_text(struct otlp *otlp, const char *text);
/* The value is @text, or @number if that is "". */
uint32_t otlp_add_attribute(struct otlp *otlp, const char *key,
			    const char *text, int64_t number);
uint32_t otlp_add_link(struct otlp *otlp, const struct otlp_link *link);
/* Location @index of @from, with its mapping and its functions. */
uint32_t otlp_add_location(struct otlp *otlp, const struct pprof *from,
			   uint32_t index);
/* @locations: the number of each location of the profile that has one. */
uint32_t otlp_add_stack(struct otlp *otlp, const struct pprof_sample *sample,
			const uint32_t *locations);
/* The first failure: -errno, or 0. */
int otlp_error(const struct otlp *otlp);

/* Appends the dictionary, as a field of the request. 0 or -ENOMEM. */
int otlp_put_dictionary(const struct otlp *otlp, struct bytes *body);

#endif
