# SPDX-License-Identifier: Apache-2.0
#
# awk -v shell=bash|zsh|fish [-v program=NAME] -f completion.awk options.tsv TEMPLATE
#
# Writes TEMPLATE, a file of dist/completion, and replaces its lines "#@NAME@" by
# tables of the options. collector/options/opts_dump_main.c describes the fields
# of options.tsv. For fish, the tables have the commands of one program only:
# fish reads the file that has the name of the program.

BEGIN {
	FS = "\t"
	if (!program)
		program = "perfrec"
}

# Text in single quotes, for all three shells.
function quoted(text)
{
	gsub(/'/, shell == "fish" ? "\\'" : "'\\''", text)
	return "'" text "'"
}

# The second word of "perfrec record", or "".
function subcommand(title)
{
	return title ~ / / ? substr(title, index(title, " ") + 1) : ""
}

function words_of(kind, choices)
{
	return kind == "words" ? kind " " choices : kind
}

# --- bash: three tables by command, or by command and option

function bash_command()
{
	operands[$2] = $3 ~ /^director/ ? "folder" : words_of($3, $4)
	if (subcommand($2))
		subcommands = subcommands " " subcommand($2)
}

function bash_option(name)
{
	for (name = 3; name <= 4; name++) {
		if (!$name)
			continue
		options[$2] = options[$2] " " $name
		if ($6)
			values = values sprintf("\t[%s]=%s\n", \
				quoted($2 " " $name), quoted(words_of($6, $7)))
	}
}

function bash_tables(title)
{
	operands["perfrec"] = "words" subcommands
	print "declare -gA _perfrec_operands=("
	for (i = 1; i <= count; i++)
		printf "\t[%s]=%s\n", quoted(titles[i]), quoted(operands[titles[i]])
	print ")\ndeclare -gA _perfrec_options=("
	for (i = 1; i <= count; i++)
		printf "\t[%s]=%s\n", quoted(titles[i]), \
			quoted(substr(options[titles[i]], 2))
	printf ")\ndeclare -gA _perfrec_values=(\n%s)\n", values
}

# --- zsh: what stands for _describe, and for _arguments

function zsh_command()
{
	if ($5)
		commands = commands "\t\t" quoted(subcommand($2) ":" $5) "\n"
	zsh_operands[$2] = $3 == "program" ? \
		"'(-)1:command: _command_names -e' '*::argument: _normal'" : \
		$3 == "directory" ? "'1:folder:_files -/'" : \
		$3 == "recording" ? "'1:recording:_perfrec_recordings'" : \
		$3 == "recordings" ? "'*:recording:_perfrec_recordings'" : \
		$3 == "function" ? "'1:function:_perfrec_functions' " \
			"'2:recording:_perfrec_recordings'" : \
		$3 == "target" ? "'1:target:'" : \
		$3 == "words" ? "'1:command:(" $4 ")' '*:target:'" : ""
}

function zsh_option(action, value, spec, name)
{
	action = $6 == "words" ? "(" $7 ")" : $6 == "folder" ? "_files -/" : \
		$6 == "file" ? "_files" : $6 == "user" ? "_users" : \
		$6 == "function" ? "_perfrec_functions" : ""
	for (name = 3; name <= 4; name++) {
		if (!$name)
			continue
		value = !$6 ? "" : ":" $5 ":" action
		spec = "*" $name ($6 && name == 4 ? "=" : "") "[" $NF "]" value
		arguments[$2] = arguments[$2] " \\\n\t\t\t" quoted(spec)
	}
}

function zsh_arguments()
{
	for (i = 1; i <= count; i++)
		printf "\t(%s)\n\t\t%s_arguments -s -S %s%s ;;\n", \
			quoted(titles[i]), \
			zsh_operands[titles[i]] ~ /_normal/ ? \
			"_perfrec_program || " : "", \
			zsh_operands[titles[i]], arguments[titles[i]]
}

# --- fish: a line for each thing

function fish_condition(title)
{
	return subcommand(title) ? " -n '__fish_seen_subcommand_from " \
		subcommand(title) "'" : title == "perfrec" ? \
		" -n __fish_use_subcommand" : ""
}

function is_of_program(title)
{
	return title == program || index(title, program " ") == 1
}

function fish_add(line)
{
	lines = lines "complete -c " program line "\n"
}

function fish_command()
{
	if (!is_of_program($2))
		return
	if ($5)
		fish_add(" -f -n __fish_use_subcommand -a " subcommand($2) \
			" -d " quoted($5))
	if ($3 == "words")
		fish_add(fish_condition($2) " -f -a " quoted($4))
	if ($3 ~ /^director/)
		fish_add(fish_condition($2) " -f -a '(__fish_complete_directories)'")
	if ($3 == "recording" || $3 == "recordings" || $3 == "function")
		fish_add(fish_condition($2) " -f -a '(__perfrec_recordings)'")
	if ($3 == "function")
		fish_add(fish_condition($2) " -f -a '(__perfrec_functions)'")
	if ($3 == "program")
		programs[$2] = 1
	if ($3 == "none")
		fish_add(" -f")
}

function fish_option(line)
{
	if (!is_of_program($2))
		return
	line = fish_condition($2)
	if ($3)
		line = line " -s " substr($3, 2)
	if ($4)
		line = line " -l " substr($4, 3)
	if ($6)
		line = line ($6 == "file" ? " -r -F" : " -x")
	if ($6 == "words")
		line = line " -a " quoted($7)
	if ($6 == "folder")
		line = line " -a '(__fish_complete_directories)'"
	if ($6 == "function")
		line = line " -a '(__perfrec_functions)'"
	if ($6 == "user")
		line = line " -a '(__fish_complete_users)'"
	fish_add(line " -d " quoted($NF))
	# Options that may stand before the program to start.
	if ($6 && $3)
		skipped[$2] = skipped[$2] " " $3
	if ($6 && $4)
		skipped[$2] = skipped[$2] " " $4
}

# The words that __fish_complete_subcommand skips. It takes long names at the
# start for its own options, so a "-" precedes these words.
function fish_programs(title)
{
	for (i = 1; i <= count; i++)
		if (titles[i] in programs)
			fish_add(fish_condition(titles[i]) " -x -a " \
				quoted("(__fish_complete_subcommand --fcs-skip=2 -" \
				skipped[titles[i]] ")"))
}

# --- the table, then the template

$1 == "command" {
	titles[++count] = $2
	if (shell == "bash")
		bash_command()
	else if (shell == "zsh")
		zsh_command()
	else
		fish_command()
}
$1 == "option" {
	if (shell == "bash")
		bash_option()
	else if (shell == "zsh")
		zsh_option()
	else
		fish_option()
}
FNR == NR { next }
$0 == "#@TABLES@" { bash_tables(); next }
$0 == "#@COMMANDS@" { printf "%s", commands; next }
$0 == "#@ARGUMENTS@" { zsh_arguments(); next }
$0 == "#@LINES@" { fish_programs(); printf "%s", lines; next }
{ print }
