# SPDX-License-Identifier: Apache-2.0
#
# page-template.awk DIR/page.html - print the page as one file, which includes
# the style sheets and scripts beside it. Scripts are modules in the sources,
# and one module in the page, so the page has no lines of import, no word export,
# no comments, no licences, and no line breaks and spaces that mean nothing. The line
# "<!-- perfrec:data -->" stays; the data of a recording replaces it.

function fail(text)
{
	print FILENAME ": " text | "cat 1>&2"
	status = 1
	exit 1
}

function folder(path)
{
	sub(/[^\/]*$/, "", path)
	return path
}

function attribute(line, name)
{
	if (!match(line, name "=\"[a-z_]+\\.(css|js)\""))
		fail("no " name " in: " line)
	return substr(line, RSTART + length(name) + 2,
		RLENGTH - length(name) - 3)
}

# Returns true if LINE has only a comment: a type may stand before code.
function is_comment(line,	end)
{
	end = index(line, "*/")
	return line ~ /^[ \t]*\/\*/ && (!end || end > length(line) - 2)
}

function is_word(char)
{
	return char ~ /^[A-Za-z0-9_$]$/
}

# Returns the last place of the string or regular expression that begins at AT of
# LINE.
function end_of(line, at,	quote, c, set)
{
	for (quote = substr(line, at++, 1); at <= length(line); at++) {
		c = substr(line, at, 1)
		if (c == "\\")
			at++
		else if (quote == "/" && c == "[")
			set = 1
		else if (set && c == "]")
			set = 0
		else if (c == quote && !set)
			return at
	}
	fail("a text goes over the end of: " line)
}

# Returns a line of a script without comments, without spaces that separate no
# words, and with "let" for the longer "const". Each text in backquotes, and each
# expression in it, is one level of depth.
function squeeze(line,	out, i, end, c, last, depth, text, braces)
{
	for (i = 1; i <= length(line); i++) {
		c = end = substr(line, i, 1)
		last = substr(out, length(out))
		if (text[depth]) {
			if (c == "\\")
				c = c substr(line, ++i, 1)
			else if (c == "`")
				depth--
			else if (substr(line, i, 2) == "${") {
				c = c substr(line, ++i, 1)
				depth++
				text[depth] = braces[depth] = 0
			}
		} else if (c ~ /[ \t]/) {
			while (end ~ /[ \t]/)
				end = substr(line, ++i, 1)
			i--
			c = is_word(last) && is_word(end) ||
				last == end && end ~ /[-+]/ ? " " : ""
		} else if (substr(line, i, 2) == "//")
			break
		else if (substr(line, i, 2) == "/*") {
			i += index(substr(line, i), "*/")
			c = ""
		} else if (c ~ /['"]/ || c == "/" &&
			   out ~ /(^|[(,=:[!&|?{;]|return)$/) {
			end = end_of(line, i)
			c = substr(line, i, end - i + 1)
			i = end
		} else if (c == "`")
			text[++depth] = 1
		else if (!is_word(last) && substr(line, i, 6) == "const ") {
			c = "let"
			i += 4
		} else if (c == "{")
			braces[depth]++
		else if (depth && c == "}" && !braces[depth]--)
			depth--
		out = out c
	}
	if (depth)
		fail("a text goes over the end of: " line)
	return out
}

# Prints the file NAME; of a script, what a bundle needs.
function put(name, script,	path, line, inside, got, last)
{
	path = folder(FILENAME) name
	while ((got = (getline line < path)) > 0) {
		if (line ~ /<\/(script|style)/)
			fail(name ": ends the element that it stands in: " line)
		if (!inside && is_comment(line))
			inside = "*/"
		else if (!inside && script && line ~ /^import /)
			inside = ";"
		if (inside) {
			if (index(line, inside))
				inside = ""
			continue
		}
		if (script) {
			sub(/^export /, "", line)
			line = squeeze(line)
		} else {
			# gsub() knows no groups: a line break marks spaces.
			gsub(/[:;,{] +/, "&\n", line)
			gsub(/ +\n/, "", line)
			gsub(/ +[{}]/, "\n&", line)
			gsub(/\n +/, "", line)
		}
		sub(/^[ \t]+/, "", line)
		if (line == "")
			continue
		if (!script)
			print line
		else {
			# Each statement ends with a ";" or "}".
			if (last ~ /;$/ && line ~ /^}/)
				last = substr(last, 1, length(last) - 1)
			printf "%s%s", last, is_word(substr(last, length(last))) &&
				is_word(substr(line, 1, 1)) ? "\n" : ""
			last = line
		}
	}
	print last
	if (got < 0)
		fail("cannot read " path)
	close(path)
}

/<link rel="stylesheet"/ {
	print "<style>"
	put(attribute($0, "href"), 0)
	print "</style>"
	next
}
/<script type="module"/ {
	if (!open)
		print "<script type=\"module\">"
	open = 1
	put(attribute($0, "src"), 1)
	next
}
open {
	print "</script>"
	open = 0
}
/perfrec:data/ { data++ }
{ print }
END {
	if (status)
		exit status
	if (data != 1)
		fail("the line perfrec:data is wanted once")
}
