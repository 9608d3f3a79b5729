/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/core/settings.h"

#include <stddef.h>
#include <string.h>

#include "preload/core/say.h"
#include "shared/environment.h"

/* Not getenv(): a program may have replaced it, and this runs before main. */
static const char *find_variable(char **environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (!strncmp(*environment, name, length) &&
		    (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

static bool is_variable_set(char **environment, const char *name)
{
	const char *value = find_variable(environment, name);

	return value && value[0] && strcmp(value, "0");
}

static uint32_t read_number(char **environment, enum env_number which,
			    struct settings *settings)
{
	const struct env_range *range = &env_ranges[which];
	uint32_t value;

	if (!env_number_parse(range, find_variable(environment, range->name),
			      &value))
		settings->wrong = true;
	return value;
}

/* True if the variable @name is off. */
static bool read_switch(char **environment, const char *name,
			struct settings *settings)
{
	bool on;

	if (!env_switch_parse(find_variable(environment, name), &on))
		settings->wrong = true;
	return !on;
}

static uint32_t read_rank(char **environment)
{
	static const char *const names[] = ENV_RANKS;
	uint32_t rank = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !rank; i++)
		rank = env_rank_parse(find_variable(environment, names[i]));
	return rank;
}

static uint32_t round_down_to_power_of_two(uint32_t x)
{
	return 1u << (31 - __builtin_clz(x));
}

void settings_read(char **environment, struct settings *settings)
{
	uint32_t kb;

	settings->wrong = false;
	settings->disabled = is_variable_set(environment, "PERFREC_DISABLE");
	settings->quiet = is_variable_set(environment, "PERFREC_QUIET");
	settings->no_rseq = read_switch(environment, ENV_RSEQ, settings);
	settings->no_inherit = read_switch(environment, ENV_INHERIT, settings);
	kb = read_number(environment, ENV_RING_KB, settings);
	settings->ring_cells =
		round_down_to_power_of_two(kb * ENV_CELLS_PER_KB);
	settings->slot_count = read_number(environment, ENV_SLOTS, settings);
	settings->functions =
		MAX(read_number(environment, ENV_FUNCTIONS, settings),
		    function_numbers(settings->ring_cells));
	settings->deadline_ms =
		read_number(environment, ENV_DEADLINE_MS, settings);
	settings->rank = read_rank(environment);
	settings->socket = find_variable(environment, "PERFREC_SOCKET");
	if (settings->socket && !settings->socket[0])
		settings->socket = NULL;
	settings->runtime_dir = find_variable(environment, "XDG_RUNTIME_DIR");
	settings->temp_dir = find_variable(environment, "TMPDIR");
	if (!settings->temp_dir || !settings->temp_dir[0])
		settings->temp_dir = "/tmp";
	settings->patch_image = find_variable(environment, ENV_PATCH_IMAGE);
}

static void say_number(const struct env_range *range, const char *text,
		       uint32_t used)
{
	char low[SAY_DECIMAL], high[SAY_DECIMAL], instead[SAY_DECIMAL];
	char given[SAY_VALUE];
	const char *parts[] = { range->name,
				" '",
				say_value(text, given),
				"' should be a number from ",
				say_decimal(range->low, low),
				" to ",
				say_decimal(range->high, high),
				": it is taken for ",
				say_decimal(used, instead) };

	say(parts, ARRAY_SIZE(parts));
}

static void say_wrong_switch(char **environment, const char *name)
{
	const char *text = find_variable(environment, name);
	char given[SAY_VALUE];
	bool on;

	if (!env_switch_parse(text, &on))
		say((const char *[]){ name, " '", say_value(text, given),
				      "' should be on or off: it is taken for "
				      "on" },
		    4);
}

void settings_say_wrong(char **environment)
{
	for (size_t i = 0; i < ENV_NUMBERS; i++) {
		const struct env_range *range = &env_ranges[i];
		const char *text = find_variable(environment, range->name);
		uint32_t used;

		if (!env_number_parse(range, text, &used))
			say_number(range, text, used);
	}
	say_wrong_switch(environment, ENV_RSEQ);
	say_wrong_switch(environment, ENV_INHERIT);
}
