# SPDX-License-Identifier: Apache-2.0
#
# check-rooms.awk - reads the lines that check-rooms.sh makes and says which
# break the ranks, and which modules form a circle. With graph=--graph, prints
# the rooms that each room uses instead.
#
#	room TREE RANK ROOM [ALLOWED]...
#	include FILE HEADER
#	defines MODULE SYMBOL
#	calls MODULE SYMBOL

# The module of a file: its path without the ending and the machine.
function module_of(file)
{
	sub(/\.[chS]$/, "", file)
	sub(/_(x86_64|aarch64)$/, "", file)
	return file
}

function room_of(path)
{
	match(path, /^[a-z]+\/[a-z]+/)
	return substr(path, 1, RLENGTH)
}

# What file @from uses of module @to, by @how.
function uses(from, to, how,    key)
{
	key = from SUBSEP to
	if (from == to || key in edge)
		return
	edge[key] = how
}

function may_use(from, to,    a, b)
{
	a = room_of(from)
	b = room_of(to)
	if (a == b)
		return 1
	if (!(a in rank) || !(b in rank) || rank[b] >= rank[a] && !limited[a])
		return 0
	if (!limited[a])
		return 1
	sub(/^[a-z]+\//, "", to)
	sub(/^[a-z]+\//, "", b)
	return (a SUBSEP b) in allowed || (a SUBSEP to) in allowed
}

$1 == "room" {
	room = $2 "/" $4
	rank[room] = $3
	order[++rooms] = room
	for (i = 5; i <= NF; i++) {
		limited[room] = 1
		allowed[room, $i] = 1
	}
}
$1 == "include" {
	from = module_of($2)
	to = module_of($3)
	if ($3 ~ /_inner\.h$/) {
		if (room_of($2) != room_of($3))
			strange[++n_strange] = $2 " includes " $3
		sub(/_inner$/, "", to)
		part[from] = to
		part[to "_inner"] = to
	}
	include[++n_includes] = from SUBSEP to SUBSEP $2 " includes " $3
}
$1 == "defines" { home[$3] = module_of($2) }
$1 == "calls" { call[++n_calls] = module_of($2) SUBSEP $3 }

# The whole that module @module is a part of.
function whole(module)
{
	return module in part ? part[module] : module
}

# Walks from @module along edges between the modules left, until it meets one
# again; prints this circle and takes it out of left[].
function print_circle(module,    at, path, i, next_one)
{
	for (at = 1; !(module in seen); at++) {
		seen[module] = at
		path[at] = module
		next_one = ""
		for (i in edge) {
			split(i, pair, SUBSEP)
			if (pair[1] == module && pair[2] in left &&
			    (next_one == "" || pair[2] < next_one))
				next_one = pair[2]
		}
		module = next_one
	}
	print "a circle of modules:"
	for (i = seen[module]; i < at; i++) {
		next_one = i + 1 < at ? path[i + 1] : module
		print "    " path[i] " -> " next_one " (" \
			edge[path[i], next_one] ")"
		delete left[path[i]]
	}
	split("", seen)
}

# Takes modules out of left[] that use none of those left, and those that none
# of them uses, until all that stay lie on a circle, or between two. Returns one
# of them, or "" if none stays.
function one_on_a_circle(    i, key, changed, out, in_)
{
	do {
		changed = 0
		split("", out)
		split("", in_)
		for (key in edge) {
			split(key, pair, SUBSEP)
			if (pair[1] in left && pair[2] in left) {
				out[pair[1]]
				in_[pair[2]]
			}
		}
		for (i in left)
			if (!(i in out) || !(i in in_)) {
				delete left[i]
				changed = 1
			}
	} while (changed)
	for (i in left)
		return i
	return ""
}

function print_graph(    i, j, key, used)
{
	for (key in edge) {
		split(key, pair, SUBSEP)
		used[room_of(pair[1]), room_of(pair[2])]
	}
	for (i = 1; i <= rooms; i++) {
		printf "%2d %s:", rank[order[i]], order[i]
		for (j = 1; j <= rooms; j++)
			if (i != j && (order[i], order[j]) in used)
				printf " %s", substr(order[j], index(order[j], "/") + 1)
		print ""
	}
}

END {
	for (i = 1; i <= n_includes; i++) {
		split(include[i], w, SUBSEP)
		if (!may_use(w[1], w[2]))
			wrong[++n_wrong] = w[3]
		uses(whole(w[1]), whole(w[2]), w[3])
	}
	for (i = 1; i <= n_calls; i++) {
		split(call[i], w, SUBSEP)
		if (!(w[2] in home) || room_of(w[1]) == "" ||
		    substr(w[1], 1, 4) != substr(home[w[2]], 1, 4))
			continue
		if (!may_use(w[1], home[w[2]]))
			wrong[++n_wrong] = w[1] " uses " w[2] " of " home[w[2]]
		uses(whole(w[1]), whole(home[w[2]]), w[1] " uses " w[2])
	}
	if (graph) {
		print_graph()
		exit 0
	}
	for (i = 1; i <= n_wrong; i++)
		print "against the ranks of scripts/rooms.txt: " wrong[i]
	for (i = 1; i <= n_strange; i++)
		print "seen by its own room only: " strange[i]
	for (key in edge) {
		split(key, pair, SUBSEP)
		left[pair[1]]
		left[pair[2]]
	}
	while ((module = one_on_a_circle()) != "") {
		print_circle(module)
		circles++
	}
	exit n_wrong > 0 || n_strange > 0 || circles > 0
}
