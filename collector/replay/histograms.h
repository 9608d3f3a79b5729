/* SPDX-License-Identifier: Apache-2.0
 *
 * histograms - how long calls took: a histogram for each function of one
 * process, for the threads that one drain worker reads. So there is one writer,
 * and a thousand threads share one histogram of a function.
 *
 * Its owner decides which thread may call it: first the drain worker; then,
 * when all threads of the process have ended, the thread that sums up.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_HISTOGRAMS_H
#define PERFREC_COLLECTOR_REPLAY_HISTOGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/histogram.h"
#include "collector/names/map_log.h"

struct budget;
struct histograms;

/* As map_log_unloaded() for the process. */
typedef size_t histograms_unloaded(void *context, uint32_t after, uint32_t upto,
				   struct address_range *out, size_t room);

/* Creates *@out. @budget pays for everything; it and @context must outlive
 * *@out. Returns 0 or -ENOMEM. The caller ends it with histograms_free(). */
int histograms_new(histograms_unloaded *unloaded, void *context,
		   struct budget *budget, struct histograms **out);
void histograms_free(struct histograms **histograms);

/* Returns the histogram of the function that was at @address when the process
 * had unloaded @generation modules. It stays in its place until
 * histograms_free(). Returns NULL without memory. */
struct histogram *histograms_find(struct histograms *histograms,
				  uint64_t address, uint32_t generation);

/* Names the function of @histogram, unless it has a name. The texts must
 * outlive the histogram. One thread may set names while others find and
 * count. */
void histograms_set_name(struct histogram *histogram, const char *name,
			 const char *module);
/* Calls @visit for each histogram with a name. It may take the contents. */
typedef void histograms_visit(void *context, const char *name,
			      const char *module, struct histogram *histogram);
void histograms_each(struct histograms *histograms, histograms_visit *visit,
		     void *context);

#endif
