/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/who.h"

#include <jansson.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/base/path.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/output/comments.h"
#include "collector/record/attributes.h"
#include "collector/record/recording.h"

#define BUILD_ID "process.executable.build_id.gnu"
#define UNKNOWN "unknown_service"

void who_tell(struct recording *recording, struct who **who)
{
	struct who **slot = recording_who(recording), *old;

	recording_lock(recording);
	old = *slot;
	if (!old || who_pid(old) == who_pid(*who) ||
	    (who_service_is_told(*who) && !who_service_is_told(old))) {
		*slot = *who;
		*who = old;
	}
	recording_unlock(recording);
	who_free(who);
}

/* --- readers ------------------------------------------------------------- */

static void put_attribute_text(json_t *object, const char *key,
			       const char *value)
{
	/* jansson refuses a key that is not UTF-8. */
	json_object_set_new(object, key, json_text(value));
}

static void put_build_id(json_t *object, struct modules *modules,
			 uint64_t address)
{
	struct module_place place;

	if (!modules_place(modules, address, 0, &place))
		return;
	if (place.file && *symbol_file_build_id(place.file))
		put_attribute_text(object, BUILD_ID,
				   symbol_file_build_id(place.file));
	if (place.file)
		symbol_file_put(&place.file);
}

struct json_t *who_json(struct recording *recording)
{
	char *const *command = recording_setup(recording)->options->command;
	struct modules *modules = NULL;
	json_t *object = json_object();
	const char *key, *value;
	const struct who *who;
	uint64_t code = 0;

	/* For a program without attributes yet. */
	put_attribute_text(object, WHO_SERVICE,
			   command ? path_name(command[0]) : UNKNOWN);
	recording_lock(recording);
	who = *recording_who(recording);
	for (size_t i = 0; who && (key = who_attribute(who, i, &value)); i++)
		put_attribute_text(object, key, value);
	if (who)
		modules = who_code(who, &code);
	recording_unlock(recording);
	if (modules) {
		put_build_id(object, modules, code);
		modules_put(&modules);
	}
	return object;
}

void who_comment(struct recording *recording, struct comments *comments)
{
	const char *key, *value;
	const struct who *who;

	comments_add_command(comments,
			     recording_setup(recording)->options->command);
	recording_lock(recording);
	who = *recording_who(recording);
	if (who && !who_service_is_told(who))
		who = NULL;
	for (size_t i = 0; who && (key = who_attribute(who, i, &value)); i++)
		if (!strcmp(key, WHO_SERVICE))
			comments_add(comments, "service: %s", value);
	recording_unlock(recording);
}
