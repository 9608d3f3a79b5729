/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/doctor/doctor.h"

#include <inttypes.h>

#include "collector/base/size.h"
#include "collector/read/summary_read.h"
#include "collector/read/summary_times.h"

/* Adds a finding about the part @ran_ns of @whole_ns. Without an error
 * @surplus_ns is 0. */
static void judge_sum(struct doctor_findings *findings, const char *subject,
		      const char *who, uint64_t ran_ns, const char *whole,
		      uint64_t whole_ns, uint64_t surplus_ns)
{
	struct doctor_finding *finding = doctor_add(findings, subject);
	char ran[SIZE_TEXT], all[SIZE_TEXT];

	doctor_say(finding->found, "%s ran for %s; %s: %s", who,
		   size_format_ns(ran_ns, ran), whole,
		   size_format_ns(whole_ns, all));
	if (!surplus_ns)
		return;
	doctor_judge(finding, DOCTOR_BAD);
	doctor_say(finding->effect,
		   "the summary has on-CPU time that was not there");
}

int doctor_look_at_recording(const char *dir, struct doctor_findings *findings)
{
	struct summary_times times;
	struct summary *summary;
	int err = summary_read(dir, &summary);
	struct doctor_finding *finding;

	if (err)
		return err;
	times = summary_check_times(summary);
	summary_free(&summary);
	judge_sum(findings, "functions", "functions", times.sums.functions_ns,
		  "their threads", times.sums.threads_ns + times.sums.stolen_ns,
		  times.surplus.functions_ns);
	judge_sum(findings, "threads", "threads", times.sums.threads_ns,
		  "CPU time of all processes, if known", times.sums.cpu_ns,
		  times.surplus.threads_ns);
	judge_sum(findings, "silent", "threads without records",
		  times.sums.silent_ns, "CPU time of all processes, if known",
		  times.sums.cpu_ns, times.surplus.silent_ns);
	finding = doctor_add(findings, "states");
	doctor_say(finding->found,
		   "%" PRIu64 " of %" PRIu64
		   " threads have more or less time in all states than they "
		   "were there",
		   times.odd_threads, times.threads);
	if (times.odd_threads) {
		doctor_judge(finding, DOCTOR_BAD);
		doctor_say(finding->effect, "the first is thread %d",
			   times.odd_tid);
	}
	return 0;
}
