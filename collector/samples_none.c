/* SPDX-License-Identifier: Apache-2.0
 *
 * samples_none - stands in for the sampler until it is there: whoever defines
 * these otherwise is taken instead. To be removed then.
 */
#include <errno.h>
#include <stdlib.h>

#include "collector/samples.h"

#define STAND_IN __attribute__((weak))

STAND_IN int sampler_new(struct sampler **out)
{
	*out = NULL;
	return 0;
}

STAND_IN void sampler_free(struct sampler **sampler)
{
	*sampler = NULL;
}

STAND_IN int samples_new(struct sampler *sampler, struct recording *recording,
			 struct modules *modules, pid_t pid, const char *name,
			 struct samples **out)
{
	(void)sampler;
	(void)recording;
	(void)modules;
	(void)pid;
	(void)name;
	*out = NULL;
	return -ENOMEM;
}

STAND_IN struct samples *samples_get(struct samples *samples)
{
	return samples;
}

STAND_IN void samples_put(struct samples **samples)
{
	*samples = NULL;
}

STAND_IN struct sample *sample_new(uint32_t stack_bytes)
{
	return calloc(1, sizeof(struct sample) + stack_bytes);
}

STAND_IN bool samples_post(struct samples *samples, struct sample *sample)
{
	(void)samples;
	free(sample);
	return false;
}
