/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/process_words.h"

#include <ctype.h>
#include <string.h>

#include "collector/base/hex.h"
#include "collector/record/attributes.h"
#include "shared/compiler.h"

#define CONTAINER_DIGITS 64

/* --- the environment ----------------------------------------------------- */

static char *variable(char *text, size_t count, const char *name)
{
	size_t length = strlen(name);
	char *end = text + count;

	for (; text < end; text += strlen(text) + 1)
		if (!strncmp(text, name, length) && text[length] == '=')
			return text[length + 1] ? text + length + 1 : NULL;
	return NULL;
}

/* Trims blanks at both ends of the text from *@text to *@end, and decodes %XX
 * in place. Returns false if a % is not followed by two hex digits. */
static bool decode(char **text, char **end)
{
	char *in, *out;
	int high, low;

	while (*text < *end && strchr(" \t", **text))
		(*text)++;
	while (*text < *end && strchr(" \t", (*end)[-1]))
		(*end)--;
	for (in = out = *text; in < *end; in++, out++) {
		*out = *in;
		if (*in != '%')
			continue;
		if (*end - in < 3)
			return false;
		high = hex_value((char)tolower((unsigned char)in[1]));
		low = hex_value((char)tolower((unsigned char)in[2]));
		if (high < 0 || low < 0)
			return false;
		*out = (char)(high << 4 | low);
		in += 2;
	}
	*end = out;
	return true;
}

static bool set_pair(char *text, char *end, struct who *who)
{
	char *equals = memchr(text, '=', (size_t)(end - text));
	char *value;

	if (!equals)
		return false;
	value = equals + 1;
	return decode(&text, &equals) && decode(&value, &end) &&
	       who_set(who, true, text, (size_t)(equals - text), value,
		       (size_t)(end - value));
}

/* Sets the attributes of OTEL_RESOURCE_ATTRIBUTES. Returns the number of parts
 * that are no pairs; a trailing comma is allowed. */
static size_t set_pairs(char *text, struct who *who)
{
	size_t bad = 0;
	char *end;

	for (; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, ',');
		bad += !set_pair(text, end, who);
	}
	return bad;
}

static void set_environment_text(struct who *who, const char *key,
				 const char *value)
{
	if (value)
		(void)who_set(who, true, key, strlen(key), value,
			      strlen(value));
}

size_t process_words_environment(char *text, size_t count, struct who *who)
{
	static const char *const pods[] = { "HOSTNAME", "POD_NAME",
					    "K8S_POD_NAME" };
	/* In a pod HOSTNAME is the name of the pod. */
	bool is_pod = variable(text, count, "KUBERNETES_SERVICE_HOST");
	char *pairs = variable(text, count, "OTEL_RESOURCE_ATTRIBUTES");
	size_t bad;

	for (size_t i = !is_pod; i < ARRAY_SIZE(pods); i++)
		set_environment_text(who, "k8s.pod.name",
				     variable(text, count, pods[i]));
	bad = pairs ? set_pairs(pairs, who) : 0;
	set_environment_text(who, WHO_SERVICE,
			     variable(text, count, "OTEL_SERVICE_NAME"));
	return bad;
}

/* --- containers ---------------------------------------------------------- */

/* Returns the last id after @before in @text, which is the innermost
 * container's, or NULL. */
static const char *find_container_id(const char *text, const char *before)
{
	const char *found = NULL;

	while ((text = strstr(text, before))) {
		size_t digits;

		text += strlen(before);
		digits = strspn(text, "0123456789abcdef");
		if (digits == CONTAINER_DIGITS &&
		    !isalnum((unsigned char)text[64]))
			found = text;
	}
	return found;
}

bool process_words_container(const char *text, bool mounts, struct who *who)
{
	static const char key[] = "container.id";
	const char *id;

	/* "/docker/ID", "/docker-ID.scope", "/cri-containerd-ID.scope"; and
	 * ".../containers/ID/hostname", which is mounted over /etc/hostname. */
	if (mounts) {
		id = find_container_id(text, "containers/");
	} else {
		const char *scope = find_container_id(text, "-");

		id = find_container_id(text, "/");
		if (!id || (scope && scope > id))
			id = scope;
	}
	return id &&
	       who_set(who, true, key, sizeof(key) - 1, id, CONTAINER_DIGITS);
}
