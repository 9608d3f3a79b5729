/* SPDX-License-Identifier: Apache-2.0
 *
 * limits - the limits and some defaults of the values of options. opts.def says
 * which option has which limit.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_LIMITS_H
#define PERFREC_COLLECTOR_OPTIONS_LIMITS_H

#include "shared/record.h"
#include "shared/ring_shm.h"
#include "shared/wire.h"

/* The default folder for recording and for reading. */
#define RECORDING_DIR "perfrec.data"

/* --workers: the number of doorbells in an arena. */
#define DRAIN_WORKERS_MAX 8

#define SPAN_DEPTH_MAX WIRE_DEPTH_MAX /* --depth */
#define CPU_HZ_MAX WIRE_CPU_HZ_MAX /* --cpu: samples a second */
#define CPU_HZ_USUAL 99u
#define CPU_HZ_FREE 499u /* --cpu auto without --overhead */
#define CPU_HZ_AUTO UINT32_MAX /* the number of --cpu auto */

/* --min-duration, in ns */
#define MIN_DURATION_NS_MAX (3600 * UINT64_C(1000000000))

/* --alloc sampled:BYTES: bytes between two samples */
#define ALLOC_PERIOD_DEFAULT (512u << 10)
#define ALLOC_PERIOD_MAX WIRE_ALLOC_PERIOD_MAX

/* --counters: at a time, because many CPUs have no more */
#define COUNTERS_MAX 4

/* --stack-size, in bytes */
#define STACK_BYTES_DEFAULT (16u << 10)
#define STACK_BYTES_MIN 512
#define STACK_BYTES_MAX WIRE_STACK_BYTES_MAX

/* --snapshot-interval, in ns */
#define INTERVAL_NS_MIN (100 * UINT64_C(1000000))
#define INTERVAL_NS_MAX (24 * 3600 * UINT64_C(1000000000))

/* --block-timeout, in ns */
#define BLOCK_NS_MIN (100 * UINT64_C(1000000))
#define BLOCK_NS_MAX WIRE_BLOCK_NS_MAX

/* --metrics: the path of a socket follows */
#define METRICS_SOCKET "unix:"

/* --on-finish-timeout, in ns */
#define ON_FINISH_NS_MIN UINT64_C(1000000000)
#define ON_FINISH_NS_MAX (24 * 3600 * UINT64_C(1000000000))

/* perfrec ctl flush --timeout, in ns */
#define FLUSH_NS_MIN UINT64_C(1000000)
#define FLUSH_NS_USUAL (30 * UINT64_C(1000000000))
#define FLUSH_NS_MAX (24 * 3600 * UINT64_C(1000000000))

/* --ring-size, in bytes */
#define RING_BYTES_MIN (RING_CELLS_MIN * sizeof(struct record))
#define RING_BYTES_MAX (RING_CELLS_MAX * sizeof(struct record))

/* --max-size, in bytes: a trace that has no room for one block of events and
 * for its own end shows nothing. trace_file.c checks that this is enough. */
#define TRACE_BYTES_MIN (256u << 10)
/* --keep last divides the trace into this many parts. Each has room for the
 * largest write (trace_keep.c). */
#define KEEP_PARTS 16
#define KEEP_BYTES_MIN (UINT64_C(8) << 20)

/* --flight: --memory in bytes, --keep and --margin in ns. A window may take at
 * most half of --keep, so that its start is still in memory when it ends. */
#define FLIGHT_BYTES_MIN (16u << 20)
#define FLIGHT_BYTES_MAX (UINT64_C(1) << 40)
#define FLIGHT_KEEP_NS_MIN (100 * UINT64_C(1000000))
#define FLIGHT_KEEP_NS_MAX (24 * 3600 * UINT64_C(1000000000))
#define FLIGHT_MARGINS 4 /* in --keep, at least */
#define FLIGHT_SNAPSHOTS_MAX 9999
#define FLIGHT_DISK_MIN (1u << 20)

/* --keep, in the order of its words */
enum keep_word { KEEP_FIRST, KEEP_LAST };

/* --push-interval, in ns, and --push-spool, in bytes */
#define PUSH_NS_MIN UINT64_C(1000000000)
#define PUSH_NS_MAX (3600 * UINT64_C(1000000000))
#define PUSH_BYTES_MIN (1u << 20)
#define OTLP_VERSION_MAX 1000000

/* --compress, in the order of its words */
enum compress_when { COMPRESS_AUTO, COMPRESS_ON, COMPRESS_OFF };

#endif
