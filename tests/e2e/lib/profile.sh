# SPDX-License-Identifier: Apache-2.0
#
# profile.sh - wall.pb.gz as tables, by protoc and awk alone.

# profile_text FILE: the profile as protoc prints it.
profile_text()
{
	gunzip -c "$1" | protoc --decode=perftools.profiles.Profile \
		-I "$TOP/proto" profile.proto || fail "protoc cannot decode $1"
}

# profile_functions FILE: calls, self ns as measured, name and module of each
# function that is innermost in some stack, sorted.
profile_functions()
{
	profile_text "$1" | awk '
	function string(number,  text) {
		text = strings[number + 0]
		gsub(/\\"/, "\"", text)
		gsub(/\\\\/, "\\", text)
		return text
	}
	/^[a-z_]+ \{$/ { what = $1; delete field; leaf = values = 0; next }
	/^string_table:/ {
		sub(/^string_table: "/, ""); sub(/"$/, "")
		strings[count++] = $0
		next
	}
	what == "sample" && $1 == "location_id:" && !leaf { leaf = $2 }
	what == "sample" && $1 == "value:" { value[values++] = $2 }
	/^  [a-z_]+:/ { field[$1] = $2 }
	what == "location" && $1 == "function_id:" { field["function"] = $2 }
	/^}$/ && what == "sample" {
		calls[leaf] += value[0]
		self[leaf] += value[2]
	}
	/^}$/ && what == "mapping" { path[field["id:"]] = field["filename:"] }
	/^}$/ && what == "location" {
		id = field["id:"]
		of[id] = field["function"]
		map[id] = field["mapping_id:"]
	}
	/^}$/ && what == "function" { name[field["id:"]] = field["name:"] }
	END {
		for (id in calls) {
			key = string(name[of[id]]) "\t" \
				(map[id] ? string(path[map[id]]) : "[unknown]")
			all_calls[key] += calls[id]
			all_self[key] += self[id]
		}
		for (key in all_calls)
			printf "%.0f\t%.0f\t%s\n", all_calls[key], all_self[key], key
	}' | LC_ALL=C sort
}

# expect_profile FOLDER: its profile and its summary say the same.
expect_profile()
{
	profile_functions "$1/wall.pb.gz" >profile.tsv
	jq -r '.functions[] | "\(.calls)\t\(.measured_self_ns)\t\(.name)\t\(.module)"' \
		"$1/summary.json" | LC_ALL=C sort >summary.tsv
	cmp -s profile.tsv summary.tsv || {
		diff profile.tsv summary.tsv | head -n 10
		fail "profile (<) and summary (>) of $1 differ"
	}
	expect_eq "calls in $1" \
		"$(awk '{ sum += $1 } END { printf "%.0f", sum }' profile.tsv)" \
		"$(json "$1/summary.json" .totals.spans)"
}
