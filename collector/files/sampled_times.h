/* SPDX-License-Identifier: Apache-2.0
 *
 * sampled_times - gives the functions and the profiles of a recording the times
 * that samples tell, where those of its recorded calls tell too little.
 */
#ifndef PERFREC_COLLECTOR_FILES_SAMPLED_TIMES_H
#define PERFREC_COLLECTOR_FILES_SAMPLED_TIMES_H

#include "collector/profile/time_from.h"

struct recording;

/*
 * Chooses the source of the times of @recording (time_from.h), and returns it.
 * If it is samples, the times of its functions, of wall.pb.gz and of span.pb.gz
 * are those from now on. After cpu_profile_write() and offcpu_profile_write(),
 * when own costs were subtracted from times, before wall.pb.gz is written.
 * Without memory the times of calls stay, and the log says so. The thread that
 * finishes the recording; reads debug information.
 */
enum time_from sampled_times_take(struct recording *recording);

#endif
