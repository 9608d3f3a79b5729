/* SPDX-License-Identifier: Apache-2.0
 *
 * json_at FILE EXPRESSION - what `jq -r EXPRESSION FILE` prints, without the time that
 * jq takes to start. Reads members of objects and arrays (.totals.spans,
 * .files[0].name), and leaves the rest to jq: other expressions, and values whose
 * form jq chooses.
 */
#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXACT_MAX (INT64_C(1) << 53) /* numbers of jq are doubles */
#define NAME_MAX_BYTES 128

/* Moves *@at behind the next step of @path. Sets *@value to the member there, or to
 * NULL for null. Returns false if only jq knows. */
static bool take_step(const char **at, json_t **value)
{
	const char *from = *at + 1;
	char name[NAME_MAX_BYTES];
	size_t length;

	if (**at == '[' && isdigit((unsigned char)*from)) {
		char *end;
		unsigned long number = strtoul(from, &end, 10);

		if (*end != ']' || (*value && !json_is_array(*value)))
			return false;
		*at = end + 1;
		*value = json_array_get(*value, number);
		return true;
	}
	length = strspn(from, "abcdefghijklmnopqrstuvwxyz_0123456789");
	if (**at != '.' || !length || isdigit((unsigned char)*from) ||
	    length >= sizeof(name) || (*value && !json_is_object(*value)))
		return false;
	memcpy(name, from, length);
	name[length] = '\0';
	*at = from + length;
	*value = json_object_get(*value, name);
	if (json_is_null(*value))
		*value = NULL;
	return true;
}

/* Prints @value (NULL: null). Returns false if jq chooses its form. */
static bool print_value(const json_t *value)
{
	json_int_t number = json_integer_value(value);

	if (!value || json_is_null(value))
		puts("null");
	else if (json_is_boolean(value))
		puts(json_is_true(value) ? "true" : "false");
	else if (json_is_string(value))
		puts(json_string_value(value));
	else if (json_is_integer(value) && number <= EXACT_MAX &&
		 number >= -EXACT_MAX)
		printf("%lld\n", (long long)number);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	const char *at;
	json_t *root, *value;

	if (argc != 3) {
		fputs("usage: json_at FILE EXPRESSION\n", stderr);
		return 2;
	}
	at = argv[2];
	/* jq takes several values in a file, and reports errors. */
	root = *at == '.' && at[1] ? json_load_file(argv[1], 0, NULL) : NULL;
	value = root;
	while (root && *at && take_step(&at, &value))
		;
	if (root && !*at && print_value(value))
		return fflush(stdout) ? 1 : 0;
	execlp("jq", "jq", "-r", argv[2], argv[1], (char *)NULL);
	perror("jq");
	return 1;
}
