/* SPDX-License-Identifier: Apache-2.0
 *
 * histograms - how long the calls of each function took: a histogram for every
 * function of one process, for the threads that one drain worker reads. So
 * there is one writer, and a thousand threads have one histogram of a function.
 *
 * Its owner says which thread may call it: first the drain worker; then, when
 * all threads of the process have ended, whoever sums them up.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_HISTOGRAMS_H
#define PERFREC_COLLECTOR_REPLAY_HISTOGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/histogram.h"
#include "collector/names/map_log.h"

struct budget;
struct histograms;

/* What map_log_unloaded() says of the process. */
typedef size_t histograms_unloaded(void *context, uint32_t after, uint32_t upto,
				   struct address_range *out, size_t room);

/* Makes *@out for no functions yet. @budget pays for all; it, and @context,
 * must outlive it. 0 or -ENOMEM; after 0 the caller ends it by
 * histograms_free(). */
int histograms_new(histograms_unloaded *unloaded, void *context,
		   struct budget *budget, struct histograms **out);
/* Frees *@histograms, which may be NULL, and makes it NULL. */
void histograms_free(struct histograms **histograms);

/*
 * The histogram of the function that was at @address when the process had
 * unloaded @generation modules; it stays where it is until histograms_free().
 * NULL: there is no room for it.
 */
struct histogram *histograms_find(struct histograms *histograms,
				  uint64_t address, uint32_t generation);

/* Says that the function of @histogram, which histograms_find() returned, is
 * @name of @module, unless that was said before. The texts must outlive it.
 * While others find and count, one thread may say names. */
void histograms_set_name(struct histogram *histogram, const char *name,
			 const char *module);
/* Calls @visit for each histogram with a name; it may take what is in it. */
typedef void histograms_visit(void *context, const char *name,
			      const char *module, struct histogram *histogram);
void histograms_each(struct histograms *histograms, histograms_visit *visit,
		     void *context);

#endif
