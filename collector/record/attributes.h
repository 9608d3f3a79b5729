/* SPDX-License-Identifier: Apache-2.0
 *
 * attributes - the resource attributes of one program: texts by name. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_RECORD_ATTRIBUTES_H
#define PERFREC_COLLECTOR_RECORD_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct modules;
struct who;

#define WHO_ATTRIBUTES_MAX 128
#define WHO_KEY_MAX 255 /* bytes */
#define WHO_VALUE_MAX 2048 /* bytes */

#define WHO_SERVICE "service.name"
#define WHO_EXECUTABLE "process.executable.name"

/* Makes the attributes of process @pid. The caller ends *@out with who_free(),
 * or passes it to who_tell() of who.h. Returns 0 or -ENOMEM. */
int who_new(pid_t pid, struct who **out);
/* Frees *@who, which may be NULL, and sets it to NULL. */
void who_free(struct who **who);

/* Sets attribute @key, of @key_bytes bytes, to @value, of @value_bytes, and
 * replaces an earlier value. @told: the value comes from the program or its
 * container, not only from perfrec. Returns false without a change if a text is
 * empty, too long or holds a NUL, or if there are too many attributes. Accepts
 * but ignores process.pid: it would make a new series of each run. */
bool who_set(struct who *who, bool told, const char *key, size_t key_bytes,
	     const char *value, size_t value_bytes);
/* Sets the code of the executable, at @address of @modules; its build-id is an
 * attribute. Takes a reference to @modules. */
void who_set_code(struct who *who, struct modules *modules, uint64_t address);

/* Returns the key of attribute @index, and its value in *@value; NULL: no such
 * attribute. Both are valid until @who changes. */
const char *who_attribute(const struct who *who, size_t index,
			  const char **value);
/* Return true if any attribute, or service.name, was set with @told. */
bool who_is_told(const struct who *who);
bool who_service_is_told(const struct who *who);
pid_t who_pid(const struct who *who);
/* Returns a new reference to the modules of who_set_code(), and its address.
 * NULL: not set. */
struct modules *who_code(const struct who *who, uint64_t *address);

#endif
