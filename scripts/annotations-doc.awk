# SPDX-License-Identifier: Apache-2.0
#
# annotations-doc.awk - docs/ANNOTATIONS.md with its examples as they are now:
#
#	awk -f scripts/annotations-doc.awk docs/ANNOTATIONS.md >new
#
# Between "<!-- example NAME -->" and "<!-- end -->" goes what docs/examples
# has, without its first comment, and the trace of it that
# tests/e2e/annotate/golden.sh compares with a recording.

function copy(file, code,   line, body, status) {
	body = !code
	while ((status = (getline line <file)) > 0) {
		if (!body) {
			body = line == " */"
			continue
		}
		print (length(line) > 160 ? substr(line, 1, 157) "..." : line)
	}
	close(file)
	if (status < 0) {
		print FILENAME ": cannot read " file >"/dev/stderr"
		bad = 1
	}
}

function exists(file,   line, found) {
	found = (getline line <file) >= 0
	close(file)
	return found
}

function example(name,   source) {
	source = "docs/examples/" name ".c"
	if (!exists(source))
		source = source "c"
	print "\n" (source ~ /cc$/ ? "```cpp" : "```c")
	copy(source, 1)
	print "```\n\n```text"
	copy("tests/golden/annotations/example-" name ".txt", 0)
	print "```\n"
}

/^<!-- end -->$/ { skip = 0 }
!skip { print }
/^<!-- example [a-z]* -->$/ { example($3); skip = 1 }
END { exit bad }
