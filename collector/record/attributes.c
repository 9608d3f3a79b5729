/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/attributes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/names/modules.h"

struct who {
	pid_t pid;
	struct modules *modules; /* a reference; NULL: unknown */
	uint64_t code;
	bool told; /* an attribute came from the program */
	bool service_told;
	size_t count;
	struct attribute {
		char *key, *value; /* one block: key, then value */
	} attribute[WHO_ATTRIBUTES_MAX];
};

int who_new(pid_t pid, struct who **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->pid = pid;
	return 0;
}

void who_free(struct who **who)
{
	struct who *old = *who;

	*who = NULL;
	if (!old)
		return;
	if (old->modules)
		modules_put(&old->modules);
	for (size_t i = 0; i < old->count; i++)
		free(old->attribute[i].key);
	free(old);
}

bool who_set(struct who *who, bool told, const char *key, size_t key_bytes,
	     const char *value, size_t value_bytes)
{
	static const char pid[] = "process.pid";
	size_t at;
	char *text;

	if (key_bytes == strlen(pid) && !memcmp(key, pid, key_bytes))
		return true;
	if (!key_bytes || key_bytes > WHO_KEY_MAX || !value_bytes ||
	    value_bytes > WHO_VALUE_MAX || memchr(key, 0, key_bytes) ||
	    memchr(value, 0, value_bytes))
		return false;
	at = 0;
	while (at < who->count &&
	       (strncmp(who->attribute[at].key, key, key_bytes) ||
		who->attribute[at].key[key_bytes]))
		at++;
	if (at == WHO_ATTRIBUTES_MAX)
		return false;
	text = calloc(1, key_bytes + value_bytes + 2);
	if (!text)
		return false;
	memcpy(text, key, key_bytes);
	memcpy(text + key_bytes + 1, value, value_bytes);
	if (at < who->count)
		free(who->attribute[at].key);
	else
		who->count++;
	who->attribute[at].key = text;
	who->attribute[at].value = text + key_bytes + 1;
	who->told = who->told || told;
	if (told && !strcmp(text, WHO_SERVICE))
		who->service_told = true;
	return true;
}

void who_set_code(struct who *who, struct modules *modules, uint64_t address)
{
	if (who->modules)
		modules_put(&who->modules);
	who->modules = modules_get(modules);
	who->code = address;
}

bool who_is_told(const struct who *who)
{
	return who->told;
}

bool who_service_is_told(const struct who *who)
{
	return who->service_told;
}

pid_t who_pid(const struct who *who)
{
	return who->pid;
}

struct modules *who_code(const struct who *who, uint64_t *address)
{
	*address = who->code;
	return who->modules ? modules_get(who->modules) : NULL;
}

const char *who_attribute(const struct who *who, size_t index,
			  const char **value)
{
	if (index >= who->count)
		return NULL;
	*value = who->attribute[index].value;
	return who->attribute[index].key;
}
