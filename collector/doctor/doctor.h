/* SPDX-License-Identifier: Apache-2.0
 *
 * doctor - checks what this machine permits a recording, one subject after the
 * other. Changes nothing and leaves no files. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_DOCTOR_DOCTOR_H
#define PERFREC_COLLECTOR_DOCTOR_DOCTOR_H

#include <stddef.h>
#include <stdio.h>

enum doctor_verdict {
	DOCTOR_GOOD,
	DOCTOR_LESS, /* recordings work, but have or cost something less good */
	DOCTOR_BAD, /* nothing can be recorded */
};

#define DOCTOR_TEXT 256

/* The result about one subject. Each text is one line. */
struct doctor_finding {
	const char *subject; /* a constant, one word: "perf" */
	enum doctor_verdict verdict;
	char found[DOCTOR_TEXT]; /* a fact: "Linux 6.1.0-13-amd64" */
	char effect[DOCTOR_TEXT]; /* what that means; "": nothing */
	char change[DOCTOR_TEXT]; /* what a person can do; "": nothing */
};

#define DOCTOR_MAX 32

struct doctor_findings {
	struct doctor_finding list[DOCTOR_MAX];
	size_t count;
};

/*
 * Adds a finding about @subject, a constant, and returns it: its verdict is
 * DOCTOR_GOOD and its texts are empty. There must be room.
 */
struct doctor_finding *doctor_add(struct doctor_findings *findings,
				  const char *subject);
/* Writes a text of a finding, cut to fit. */
void doctor_say(char text[DOCTOR_TEXT], const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the verdict of @finding to @verdict, unless it is worse already. */
void doctor_judge(struct doctor_finding *finding, enum doctor_verdict verdict);

/* Tries which services of the kernel and the C library a program may use. Takes
 * some ms. */
void doctor_look_at_kernel(struct doctor_findings *findings);
/* The room of a recording in folder @dir: disk space, memory, CPUs, limits.
 * Writes 16 MiB to a file without a name, in @dir or, if that does not exist,
 * in the folder that it would be made in. */
void doctor_look_at_room(const char *dir, struct doctor_findings *findings);

/* Checks the sums over the times of the recording in folder @dir; each wrong
 * sum is a finding. 0, or the error of summary_read(). */
int doctor_look_at_recording(const char *dir, struct doctor_findings *findings);

enum doctor_verdict doctor_worst(const struct doctor_findings *findings);
void doctor_print(const struct doctor_findings *findings, FILE *out);
/* Prints @findings as JSON. Returns 0 or -ENOMEM. */
int doctor_print_json(const struct doctor_findings *findings, FILE *out);

#endif
