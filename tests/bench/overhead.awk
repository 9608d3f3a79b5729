# SPDX-License-Identifier: Apache-2.0
#
# The tables of overhead.sh, from lines "PROGRAM ROW CPU-NS": of each the least,
# over that of the same program built plain by the same compiler.

function row(name, base, title,    i, line, there, value, mine, plain, cells) {
	line = sprintf("%-52s", title)
	sub(/^\.\.\. /, "\\&nbsp; ", title)
	cells = "| " title " |"
	for (i = 1; i <= count; i++) {
		value = "-"
		mine = list[i] SUBSEP name
		plain = list[i] SUBSEP base
		if ((mine in least) && (plain in least)) {
			value = sprintf("%.2f", least[mine] / least[plain])
			there = 1
			if (json != "")
				text = text sprintf("%s\n  \"%s.%s\": %s",
					text == "" ? "" : ",", list[i], name,
					value)
		}
		line = line sprintf(" %10s", value)
		cells = cells " " value " |"
	}
	if (there)
		print line
	if (there && markdown != "")
		print cells > markdown
}

NF == 3 {
	key = $1 SUBSEP $2
	if (!(key in least) || $3 < least[key])
		least[key] = $3
}

END {
	count = split(programs, list, " ")
	line = sprintf("%-52s", "CPU time of the program, built plain: 1")
	for (i = 1; i <= count; i++)
		line = line sprintf(" %10s", list[i])
	print line
	if (markdown != "") {
		line = "| CPU time, built plain: 1 |"
		for (i = 1; i <= count; i++)
			line = line " " list[i] " |"
		print line > markdown
		gsub(/[^|]+/, "---", line)
		print line > markdown
	}
	row("entry-alone", "plain", "entry build, gcc: perfrec not there")
	row("entry-off", "plain", "... --exclude '*': all off")
	row("entry-counted", "plain", "... --count '*': all counted")
	row("entry-first", "plain", "... --overhead 5%, nothing known yet")
	row("entry-5", "plain", "... --overhead 5%")
	row("entry-all", "plain-short", "... everything recorded")
	row("calls-alone", "plain", "calls build, gcc: perfrec not there")
	row("calls-off", "plain", "... --exclude '*': all off")
	row("calls-counted", "plain", "... --count '*': all counted")
	row("calls-5", "plain", "... --overhead 5%")
	row("calls-all", "plain-short", "... everything recorded")
	row("clang-alone", "clang", "entry build, clang: perfrec not there")
	row("clang-off", "clang", "... --exclude '*': all off")
	row("clang-5", "clang", "... --overhead 5%")
	row("xray-alone", "clang", "clang XRay, default threshold: not patched")
	row("xray-on", "clang-short", "... patched, basic mode")
	row("uftrace-off", "plain", "uftrace, fentry: nothing patched")
	row("uftrace-patched", "plain", "... -P . -Z 128")
	row("uftrace-t", "plain-short", "uftrace, mcount: -t 10us")
	row("uftrace-all", "plain-short", "... everything recorded")
	if (json != "")
		printf "{%s\n}\n", text >json
}
