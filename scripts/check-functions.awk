# SPDX-License-Identifier: Apache-2.0
#
# Counts the functions of C files that clang-format has formatted: the braces of
# a function stand alone at the start of a line. For check-functions.sh.

# The line without comments and strings.
function code_of(line,    end)
{
	if (in_comment) {
		end = index(line, "*/")
		if (!end)
			return ""
		in_comment = 0
		line = substr(line, end + 2)
	}
	gsub(/\\./, "", line)
	gsub(/"[^"]*"/, "\"\"", line)
	gsub(/'[^']*'/, "", line)
	while ((end = index(line, "/*"))) {
		rest = substr(line, end + 2)
		line = substr(line, 1, end - 1)
		if (!index(rest, "*/")) {
			in_comment = 1
			break
		}
		line = line " " substr(rest, index(rest, "*/") + 2)
	}
	return line
}

# A function with its address taken is a callback: no caller can have its body.
function end_file(    name)
{
	for (name in statics) {
		static_count++
		if (words[name] - statics[name] == 1 &&
		    called[name] - statics[name] == 1) {
			once++
			if (list)
				print "once: " file ": " name
		}
	}
	split("", words)
	split("", called)
	split("", statics)
}

# @head: from the start of a declaration to its body or its semicolon.
function name_of(head)
{
	while (match(head, /[A-Za-z_][A-Za-z_0-9]* *\(/)) {
		name = substr(head, RSTART, RLENGTH - 1)
		sub(/ *$/, "", name)
		if (name !~ /^(__attribute__|ATTR_[A-Z]*|ElfW)$/)
			return name
		head = substr(head, RSTART + RLENGTH)
	}
	return ""
}

FNR == 1 {
	end_file()
	file = FILENAME
	head = ""
	in_comment = 0
	begin = 0
}
{
	line = code_of($0)
	count = split(line, word, /[^A-Za-z_0-9]+/)
	for (i = 1; i <= count; i++)
		words[word[i]]++
	rest = line
	while (match(rest, /[A-Za-z_][A-Za-z_0-9]* *\(/)) {
		name = substr(rest, RSTART, RLENGTH - 1)
		sub(/ *$/, "", name)
		called[name]++
		rest = substr(rest, RSTART + RLENGTH)
	}
}
line ~ /^\{$/ && head ~ /\)[^()]*$/ {
	begin = FNR
	name = name_of(head)
	if (name != "" && !((file, name) in seen)) {
		seen[file, name] = 1
		files[name] = files[name] " " file
		file_count[name]++
	}
	if (head ~ /^static /)
		statics[name]++
	head = ""
	next
}
line ~ /^\}/ {
	if (begin && FNR - begin - 1 > 80) {
		long++
		if (list)
			print "long: " file ": " name
	}
	begin = 0
	head = ""
	next
}
begin || line ~ /^#/ {
	next
}
line ~ /;[ \t]*$/ {
	# A static prototype is no call.
	if ((head line) ~ /^static [^={]*\([^{]*;/) {
		name = name_of(head line)
		if (name != "")
			statics[name]++
	}
	head = ""
	next
}
{
	head = line ~ /^[ \t]*$/ ? "" : head line " "
}
END {
	end_file()
	for (name in file_count)
		if (file_count[name] > 1 && name != "main") {
			shared++
			if (list)
				print "shared: " name ":" files[name]
		}
	share = static_count ? 100 * once / static_count : 100
	printf "%.1f %% of %d static functions called once, %d above 80 lines, ", \
		share, static_count, long
	printf "%d names in more than one file\n", shared
	if (share > once_limit + 0.05)
		bad = "more static functions that are called once"
	if (long > long_limit)
		bad = "longer functions"
	if (shared > shared_limit)
		bad = "more names that stand in more than one file"
	if (bad) {
		print "check-functions.sh: " bad " than its limit (--list)" \
			>"/dev/stderr"
		exit 1
	}
}
