# SPDX-License-Identifier: Apache-2.0
#
# page-template.awk DIR/page.html - print the page as one file, which includes
# the style sheets and scripts beside it. Scripts are modules in the sources,
# and one module in the page, so the page has no lines of import, no word export,
# no comments, no licences, no indentation and few other spaces. The line
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

# Prints the file NAME; of a script, what a bundle needs.
function put(name, script,	path, line, inside, got)
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
			gsub(/\/\*\* @(type|param) [^*]*\*\/ ?/, "", line)
		} else {
			gsub(/[:;,{] +/, "&\n", line)
			gsub(/ +\n/, "", line)
			gsub(/ +[{}]/, "\n&", line)
			gsub(/\n +/, "", line)
		}
		sub(/^[ \t]+/, "", line)
		if (line !~ /^(\/\/.*)?$/)
			print line
	}
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
