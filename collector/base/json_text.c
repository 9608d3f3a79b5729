/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/utf8.h"

json_t *json_text(const char *text)
{
	json_t *json = json_string(text);
	char *clean = json ? NULL : strdup(text);

	if (!clean)
		return json;
	utf8_copy(clean, clean, strlen(clean));
	json = json_string(clean);
	free(clean);
	return json;
}
