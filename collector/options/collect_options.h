/* SPDX-License-Identifier: Apache-2.0
 *
 * collect_options - parses the command line of perfrec-collect. The man page is
 * docs/man/perfrec-collect.1.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_COLLECT_OPTIONS_H
#define PERFREC_COLLECTOR_OPTIONS_COLLECT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/log.h"
#include "collector/names/call_signature.h"
#include "collector/names/filter.h"
#include "collector/options/keep_limits.h"
#include "collector/options/limits.h"
#include "collector/options/listen_options.h"
#include "collector/options/push_options.h"
#include "shared/wire.h"

struct opts_value;
struct trigger;

/* --alloc, in the order of opts.def */
enum alloc_mode {
	ALLOC_OFF,
	ALLOC_AUTO, /* EXACT in instrumented programs, else SAMPLED; with
		     * --overhead it becomes SAMPLED */
	ALLOC_EXACT,
	ALLOC_SAMPLED,
};

/* of --cpu, in the order of opts.def */
enum cpu_engine {
	CPU_PERF, /* perf_event: nothing in the program */
	CPU_SIGNAL, /* timers and SIGPROF in the program: only if asked for */
};

/* --flight and its options. */
struct flight_options {
	bool on; /* nothing of what follows matters otherwise */
	uint64_t keep_ns, bytes; /* in memory, at most */
	uint64_t margin_ns;
	uint32_t snapshots; /* on the disk, at most */
	uint64_t disk_bytes; /* the same */
	struct trigger *triggers; /* --trigger */
	size_t trigger_count; /* at most TRIGGERS_MAX, once it was checked */
};

/* The given options that may exclude each other. All zero at first. */
struct flight_mix {
	struct flight_options options;
	const char *only; /* an option that needs --flight */
	const char *keep_time; /* the value of --keep, if it is a time */
	const char *keep_word; /* the same, if it is none */
	uint64_t max_bytes; /* 0: not given */
	bool keep_last;
	const char *never; /* an option that excludes --flight */
};

struct collect_options {
	const char *output; /* folder */
	const char *socket; /* NULL: the usual place */
	enum wire_on_full on_full;
	uint64_t block_ns; /* --block-timeout */
	enum compress_when compress; /* --compress */
	bool sync; /* recordings end when their files are on the disk */
	bool keep_last; /* of the trace the newest max_bytes */
	uint64_t max_bytes; /* 0: by the free space */
	const char *metrics; /* where to; NULL: nowhere */
	uint64_t max_total; /* of the daemon's recordings; 0: the same */
	const char *on_finish; /* a command; NULL: none */
	uint64_t on_finish_ns; /* it may take */
	struct keep_limits keep_limits; /* --keep-recordings */
	struct filter filter;
	const char *const *count; /* the patterns of --count, as in a filter */
	size_t count_count;
	/* --patch: "": the usual files, "all", or any text: those of
	 * patch_globs. NULL: off */
	const char *patch;
	const char *const *patch_globs;
	size_t patch_glob_count;
	const char *const *calls_to; /* [LIBRARY:]FUNCTION globs. NULL: off */
	size_t calls_to_count;
	struct call_signature *args; /* --args */
	const char *const *args_given; /* the same, as texts */
	size_t args_count;
	bool args_strings; /* --args-strings */
	uint32_t overhead; /* --overhead: 1/1000 of a percent; 0: off */
	bool no_cache; /* --no-cache */
	uint32_t depth; /* 0: all */
	uint64_t min_ns; /* --min-duration; 0: none */
	uint32_t workers; /* 0: by the number of CPUs */
	enum alloc_mode alloc; /* --alloc */
	uint64_t alloc_period; /* of --alloc=sampled */
	uint32_t cpu_hz; /* --cpu: samples a second of each thread; 0: none */
	bool cpu_auto; /* --cpu auto: cpu_hz may become another rate */
	bool cpu_given; /* --cpu is no default */
	enum cpu_engine cpu_engine;
	bool kernel; /* --kernel: names of its functions */
	bool sched; /* --sched: when threads ran and waited */
	bool locks; /* --locks: contended calls of locks, if sched */
	bool kernel_wakers; /* --wakers=kernel */
	bool faults; /* --faults: page faults, by call */
	uint32_t counters; /* --counters: a mask (samples/perf_counters.h) */
	uint32_t stack_bytes; /* --stack-size: the most to copy for a sample */
	uint64_t snapshot_ns; /* --snapshot-interval; 0: none */
	const char *categories; /* --categories; NULL: the usual ones */
	struct flight_options flight;
	struct push_options push;
	struct listen_options listen;
	int control_fd; /* --recording; -1: daemon */
	const uid_t *allowed;
	size_t allowed_count;
	enum log_level log_level;
	bool quiet_notes; /* see recording_note() */
	char *const *command; /* of the recording, NULL-terminated; or NULL */
};

/* Returns true if programs without hooks have calls to record. Pure. */
static inline bool collect_options_add_calls(
	const struct collect_options *options)
{
	return options->patch || options->calls_to;
}

/* Returns true if programs record waits for locks, and writes that end waits for
 * data. The trace gets such waits when all threads' records are there, maybe long
 * after the end of their thread. --keep last forgets its tracks then. Pure. */
static inline bool collect_options_record_wakers(
	const struct collect_options *options)
{
	return options->sched && options->locks && !options->keep_last;
}

/* Returns true if programs without hooks connect as well: the command line asks
 * for samples or allocations, which all programs have, or for calls that need no
 * hooks. Pure. */
static inline bool collect_options_want_all(
	const struct collect_options *options)
{
	return options->alloc != ALLOC_OFF ||
	       collect_options_add_calls(options) ||
	       (options->cpu_given && options->cpu_hz);
}

/*
 * Parses the command line of perfrec-collect. *@out points to words of @argv
 * and to lists that are never freed. Call it once, in a process with one
 * thread. Returns OPTS_GO_ON, or the status to exit with: OPTS_OK after --help
 * and --version, OPTS_WRONG after one line in the log.
 */
int collect_options_parse(int argc, char **argv, struct collect_options *out);

/* Stores @value if it is an option of --flight, or excludes one. One thread. */
void flight_mix_take(struct flight_mix *mix, const struct opts_value *value);
/* After all options: rejects contradictions. OPTS_GO_ON, or OPTS_WRONG after
 * one line in the log. */
int flight_mix_check(const struct flight_mix *mix);

/* Returns true if @glob of --calls-to includes function @name of the file @path of
 * a library. NULL: of any library. Any thread. */
bool collect_options_calls(const char *glob, const char *name,
			   const char *path);
/* Returns true if the text and the slots of the file @path stay as they are: of
 * the C library, the dynamic linker and perfrec. Any thread. */
bool collect_options_never_patch(const char *path);
/* Rejects options that contradict each other. @args, @strings: the command line
 * has --args, --args-strings. @adds_calls: it has --patch or --calls-to. Returns
 * OPTS_GO_ON, or OPTS_WRONG after one line in the log. */
int collect_options_check_args(bool args, bool strings, bool adds_calls);

/* Returns true if @glob matches the name of the file @path, with or without its
 * end from ".so" on. Pure. */
bool collect_options_names_file(const char *glob, const char *path);

/* Returns true if --patch includes the file @path of a module. @is_program: it is
 * the program itself. Pure. */
bool collect_options_patch(const struct collect_options *options,
			   const char *path, bool is_program);

/* Names for summary.json, as the options take them: "exact", "signal".
 * Constants. */
const char *collect_options_alloc_name(enum alloc_mode mode);
const char *collect_options_cpu_name(enum cpu_engine engine);
/* The name of counter @number of --counters. */
const char *collect_options_counter_name(uint32_t number);

#endif
