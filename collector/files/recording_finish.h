/* SPDX-License-Identifier: Apache-2.0
 *
 * recording_finish - the last job of a recording: write all files that are not
 * written as the recording goes on.
 */
#ifndef PERFREC_COLLECTOR_FILES_RECORDING_FINISH_H
#define PERFREC_COLLECTOR_FILES_RECORDING_FINISH_H

struct recording;

/*
 * Close the trace of @recording, and write its profiles and summary.json. Once,
 * when nobody records into it any more; it stays the caller's. Any thread that
 * may wait: it reads symbol tables. 0, or -errno of the first file that is not
 * whole; the log has one line for each cause, with the files it concerns.
 */
int recording_finish(struct recording *recording);

#endif
