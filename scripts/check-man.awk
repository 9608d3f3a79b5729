# SPDX-License-Identifier: Apache-2.0
#
# awk -v title=COMMAND -v section=HEADING -v page=FILE -f check-man.awk
#	options.tsv FORMATTED
#
# Checks that the man page of a command has the options of the table and no
# others (collector/options/opts_dump_main.c describes the fields): the names,
# the argument, the range, the default, the words of a value, and whether an
# option may be repeated. FORMATTED is the page by groff -man -Tascii -P-c
# -rLL=9999n: a paragraph is a line, bold is a letter over itself. The options
# stand under HEADING.

BEGIN { FS = "\t" }

function wrong(text)
{
	print page ": " title ": " text
	bad = 1
}

# Without what makes letters bold or underlined.
function plain(line)
{
	gsub(/.\010/, "", line)
	return line
}

function has_word(text, word)
{
	return index(" " text " ", word) &&
		match(" " text " ", "[^a-z0-9-]" word "[^a-z0-9-]")
}

# Whether @text begins with one of the defaults of option @o, as a clause.
function begins_with_default(text, o, rest)
{
	if (usual[o] != "" && index(text, usual[o]) == 1)
		rest = substr(text, length(usual[o]) + 1)
	else if (bytes[o] != "" && index(text, bytes[o]) == 1)
		rest = substr(text, length(bytes[o]) + 1)
	else
		return 0
	return rest ~ /^([.;,) ]|$)/
}

# --- from the table to the page

function check_default(o, value, text)
{
	if (value != "" && !index(text, "efault: " value) &&
	    !index(text, value " (the default)"))
		wrong(o ": the default is '" value "': say \"default: " value \
			"\" or \"" value " (the default)\"")
}

function check_told(o, text, n, word)
{
	text = body[o]
	if (range[o] && !index(text, range[o]))
		wrong(o ": the range is missing: \"" range[o] "\"")
	check_default(o, usual[o], text)
	check_default(o, bytes[o], text)
	n = split(choices[o], word, " ")
	for (; n; n--)
		if (!has_word(text, word[n]))
			wrong(o ": the word '" word[n] "' is missing")
	if (repeated[o] && text !~ /May be given more than once/)
		wrong(o ": \"May be given more than once\" is missing")
}

# --- from the page to the table

function check_ranges(o, text, found)
{
	while (match(text, /(from [0-9]+[A-Za-z]* to [0-9]+|at (least|most) [0-9]+)[A-Za-z]*/)) {
		found = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		if (found != range[o])
			wrong(o ": '" found "' is not its range" \
				(range[o] ? ", which is '" range[o] "'" : ""))
	}
}

function check_defaults(o, text, found)
{
	while (match(text, /[Dd]efault: /)) {
		text = substr(text, RSTART + RLENGTH)
		if (!begins_with_default(text, o))
			wrong(o ": 'default: " substr(text, 1, 30) \
				"' is not its default, '" usual[o] "'")
	}
	text = body[o]
	while (match(text, /[^ ]+ \(the default\)/)) {
		found = substr(text, RSTART, RLENGTH - length(" (the default)"))
		text = substr(text, RSTART + RLENGTH)
		if (found != usual[o])
			wrong(o ": '" found " (the default)' is not its " \
				"default, '" usual[o] "'")
	}
}

# Bold words of a value that is one of some words. A part of a longer name, such
# as a function, does not count.
function check_words(o, text, word, before, after)
{
	while (choices[o] && match(text, /[a-z]\010[a-z]([a-z0-9]\010[a-z0-9])*/)) {
		before = substr(text, RSTART - 1, 1)
		word = plain(substr(text, RSTART, RLENGTH))
		after = substr(text, RSTART + RLENGTH, 1)
		text = substr(text, RSTART + RLENGTH)
		if (before !~ /[_-]/ && after !~ /[_(-]/ &&
		    !has_word(all_choices, word))
			wrong(o ": the table has no word '" word "'")
	}
}

# "-o, --output directory" is in the table as "-o, --output" with "DIR".
function check_tag(o, argument, wanted)
{
	wanted = tolower(arguments[o])
	if (!wanted != !argument || index(argument, wanted) != 1)
		wrong(o ": its argument is '" argument "', and in the table '" \
			arguments[o] "'")
}

# A short option has its text on the same line, beginning with a capital.
function read_tag(line, tag, n, part, i)
{
	n = split(line, part, " ")
	tag = part[1]
	i = 2
	if (tag ~ /,$/)
		tag = tag " " part[i++]
	current = tag
	if (tag in known) {
		written[tag] = 1
		check_tag(tag, part[i] ~ /^[A-Z]/ ? "" : part[i])
	} else {
		wrong("the table has no option '" tag "'")
	}
	body[tag] = line
}

FNR == NR && $1 == "option" && $2 == title {
	names = $3 ($3 && $4 ? ", " : "") $4
	known[names] = 1
	arguments[names] = $5
	choices[names] = $6 == "words" && $3 $4 != "--cpu" ? $7 : ""
	range[names] = $8
	usual[names] = $9
	bytes[names] = $10
	repeated[names] = $11
	all_choices = all_choices " " $7
	order[++count] = names
}
FNR == NR { next }

plain($0) ~ /^ ? ? ? ? ? ?[^ ]/ {
	inside = plain($0) == section
	current = ""
	next
}
inside && plain($0) ~ /^       -/ { read_tag(plain($0)); next }
# A paragraph that belongs to no option.
inside && plain($0) ~ /^       [^ ]/ { current = "" }
inside && current {
	gsub(/^ +/, "")
	body[current] = body[current] " " plain($0)
	styled[current] = styled[current] " " $0
}

END {
	if (!count)
		wrong("the table has no option of it")
	for (i = 1; i <= count; i++) {
		o = order[i]
		if (!written[o]) {
			if (o != "--help")
				wrong(o " is missing")
			continue
		}
		check_told(o)
		check_ranges(o, body[o])
		check_defaults(o, body[o])
		check_words(o, styled[o])
	}
	exit bad
}
