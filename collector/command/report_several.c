/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/report_several.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/text_out.h"
#include "collector/options/opts.h"

int report_several(char *const *dirs, size_t count,
		   const struct together_options *options, bool json)
{
	struct runs runs;
	int err;

	if (count > RUNS_MAX) {
		log_err("give at most %d recordings", RUNS_MAX);
		return OPTS_WRONG;
	}
	if (runs_read(dirs, count, count, false, &runs))
		return OPTS_FAILED;
	err = json ? together_write_json(&runs, options, stdout)
		   : together_print(&runs, options, stdout);
	runs_release(&runs);
	if (!err)
		return OPTS_OK;
	if (err == -EIO)
		(void)text_out_finish();
	else if (err != -EINVAL)
		log_err("cannot write the table: %s", strerror(-err));
	return OPTS_FAILED;
}
