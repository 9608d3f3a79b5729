/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/limit_hint.h"

#include <errno.h>

const char *limit_hint(int err)
{
	switch (err) {
	case -EMFILE:
		return " (raise ulimit -n)";
	case -EAGAIN: /* pthread_create() also returns it without memory for a
		       * stack */
		return " (raise ulimit -u or ulimit -v)";
	case -ENOMEM:
		return " (raise ulimit -v, or the limit of the container)";
	default:
		return "";
	}
}
