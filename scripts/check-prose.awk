# SPDX-License-Identifier: Apache-2.0
#
# awk -f check-prose.awk [-v MODE=...] scripts/prose.txt FILE... - find sentences
# in comments and docs that a reader has to read twice.
#
# A marked sentence hides its actor or its noun ("what is due", "those that it
# was told of"), or turns the English order of words around ("Of these, ...").
# Rewrite it: the actor first, then a verb, then a noun.
#
# scripts/prose.txt has the permitted marks per 1,000 sentences of each folder.
# Without a MODE, names folders that have more, and exits with 1 if there are any.
# MODE=list prints all marked sentences, MODE=count the marks per 1,000 sentences
# of each folder.

BEGIN {
	# The first pattern that matches counts. judge() puts spaces around each
	# word and each punctuation mark before it compares.
	marks = 0
	add("starts with a preposition or relative", "^ (Of|Nor|Neither|Who|Whom|Whose|Whoever|Whatever|Those|But for|Else) ")
	add("starts with What or Which", "^ (What|Which) [^?]*$")
	add("starts with So many, As long as", "^ (So|As) (many|much|far|long) ")
	add("pronoun instead of a noun", " (those|Those|that|one|all|nobody|nothing|anybody|everybody|somebody) (that|which|who|whom|whose) ")
	add("clause instead of a noun", " what (is|are|was|were|it|they|he|she|nobody|somebody|one|there) ")
	add("tell", " (is|are|was|were|be|been|has|have|had|being) told | tells? (of|so) | told (of|so) ")
	add("meet", " (is|are|was|were|be|been|has|have) met | meets? (it|them) ")
	add("passive without an actor", " (is|are|was|were) (given|taken|left|wanted|due) ")
	add("preposition before which", " (of|by|to|from|in|on|with|for|at|behind|around) (which|whom|whose) ")
	add("in the place of", " in (the )?place of ")
	add("but for, nothing but", " (but for|nothing but|all but) ")
	add("as many as", " as (many|much|far|long) (as|of) ")
	add("pronoun at the end", " (of|in|to|by|for|with) (it|them|these|others) [.;:]")
	add("too at the end", " , too [.,;:]")
	add("begin is a verb", " (the|its|a|each|this) begin ")
}

function add(what, pattern)
{
	mark_name[marks] = what
	mark[marks++] = pattern
}

# The folder whose sentences count together: the first two parts of a path.
function folder_of(path,    part, parts)
{
	parts = split(path, part, "/")
	if (parts < 2)
		return "."
	return parts == 2 ? part[1] : part[1] "/" part[2]
}

function judge(sentence,    i, spaced)
{
	spaced = sentence
	gsub(/[.,;:?!()"]/, " & ", spaced)
	gsub(/[ \t]+/, " ", spaced)
	sub(/^ /, "", spaced)
	if (split(spaced, words, " ") < 5)
		return
	spaced = " " spaced " "
	folder = folder_of(file)
	total[folder]++
	for (i = 0; i < marks; i++)
		if (spaced ~ mark[i]) {
			marked[folder]++
			if (MODE == "list")
				printf "%s:%d: %s:%s\n", file, at, \
					mark_name[i], substr(sentence, 1, 120)
			return
		}
}

# Judge the sentences of a paragraph that ends here.
function flush(    i, n, sentence, parts)
{
	n = split(text, parts, " ")
	sentence = ""
	for (i = 1; i <= n; i++) {
		sentence = sentence " " parts[i]
		if (i == n || (parts[i] ~ /[.;:?!][)"']*$/ &&
			       parts[i + 1] ~ /^["'`(@]*[A-Z]/)) {
			judge(sentence)
			sentence = ""
		}
	}
	text = ""
}

function take(line)
{
	if (line ~ /^[ \t]*[-*] /)
		flush()
	sub(/^[ \t]*([-*] )?/, "", line)
	if (line == "" || line ~ /^[-= \t]*$/) {
		flush()
		return
	}
	if (text == "") {
		file = FILENAME
		at = FNR
	}
	text = text " " line
}

# All comments of a line of C: a line may end one and start the next.
function take_c(line,    end)
{
	for (;;) {
		if (!open) {
			if (!match(line, /\/\*/)) {
				if (match(line, /(^|[ \t])\/\/ /)) {
					take(substr(line, RSTART + RLENGTH))
					flush()
				}
				return
			}
			line = substr(line, RSTART + 2)
			open = 1
		} else
			sub(/^[ \t]*\*($|[^\/]|\/\/)/, "", line)
		end = index(line, "*/")
		if (!end) {
			take(line)
			return
		}
		take(substr(line, 1, end - 1))
		flush()
		open = 0
		line = substr(line, end + 2)
	}
}

NR == FNR {
	if ($0 !~ /^#/ && NF == 2)
		limit[$1] = $2
	next
}

FNR == 1 {
	flush()
	open = fenced = 0
}

FILENAME ~ /\.md$/ {
	if (/^[ \t]*```/)
		fenced = !fenced
	if (fenced || /^(```|    |\t|\||#)/ || NF == 0)
		flush()
	else
		take($0)
	next
}

FILENAME ~ /\.[1-8]$/ {
	if (/^[.']/ && !/^\.(B|I|BR|IR|RB|RI|BI|IB) /)
		flush()
	else {
		sub(/^\.[A-Z]+ /, "")
		gsub(/\\f.|\\|"/, "")
		take($0)
	}
	next
}

FILENAME ~ /\.(sh|py|awk|mk|txt)$|Makefile$/ {
	if (/^[ \t]*#[^!]/) {
		sub(/^[ \t]*#/, "")
		take($0)
	} else
		flush()
	next
}

{ take_c($0) }

END {
	flush()
	for (folder in total) {
		rate = int(1000 * marked[folder] / total[folder])
		allowed = folder in limit ? limit[folder] : 20
		if (MODE == "count")
			printf "%s %d\n", folder, rate
		else if (MODE == "" && rate > allowed) {
			printf "%s: %d of 1,000 sentences are hard to read, %d may be (sh scripts/check-prose.sh %s)\n", \
				folder, rate, allowed, folder
			bad = 1
		}
	}
	exit bad + 0
}
