#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is seen of a fleet: which build got slower, what Grafana's dashboard asks, and profiles for tools that read pprof.

. "$(dirname "$0")/cluster.sh"
cluster_make
fleet init >/dev/null
old=$(printf '%040x' 1) new=$(printf '%040x' 2) same=$(printf '%040x' 3) other=$(printf '%040x' 4)
machine_add m1 m2 m3 m4 m5 m6

# pushed_by BUILD SAMPLES...: each of the machines, as a stream of its own
stream=0
pushed_by()
{
	local build=$1 n=0 samples

	shift
	stream=$((stream + 1))
	for samples; do
		profile "$dir/p" "$build" "$samples" 1:7:128,64,0,x 2:9:32,32
		"$MORPH_BIN/morph-fleet" push --credential "$dir/m$((++n)).url" --stream $stream "1=$dir/p" >/dev/null
	done
}
pushed_by "$old" 900 1000 1100 1000 950 1050
pushed_by "$old" 100 100 100 100 100 100
pushed_by "$same" 300 600 900 400 500 800
sql "UPDATE fleet.day SET epoch = epoch - 3" "UPDATE fleet.contribution SET epoch = epoch - 3"
pushed_by "$new" 1900 2000 2100 2000 1950 2050
pushed_by "$other" 310 590 880 450 500 790
is "squares of what each claimed" "$((1000 ** 2 + 1100 ** 2 + 1200 ** 2 + 1100 ** 2 + 1050 ** 2 + 1150 ** 2))" \
	"$(sql "SELECT squares FROM fleet.day WHERE build = '\\x$old'")"

# ---- diff: names make packages
is "packages without a name" 0 "$(fleet diff --json | jq length)"
fleet name "$old" "gzip 1.12-1"
fleet name "$new" "gzip 1.13-1"
fleet name "$same" "sed 4.9-1"
fleet name "$other" "sed 4.9-2"
fleet diff --json >"$dir/diff"
jq -e 'length == 2 and .[0].package == "gzip" and .[0].before == "gzip 1.12-1" and .[0].after == "gzip 1.13-1"
	and .[0].ratio == 1.818 and .[0].low > 1.7 and .[0].high < 1.95 and .[0].verdict == "slower"
	and .[0].machine_days_before == 6 and .[0].machine_days_after == 6 and .[0].samples_before == 1100' "$dir/diff" >/dev/null ||
	fail "diff: $(cat "$dir/diff")"
jq -e '.[1].package == "sed" and .[1].verdict == "no difference seen" and .[1].low < 1 and .[1].high > 1' "$dir/diff" >/dev/null ||
	fail "diff of what is alike: $(cat "$dir/diff")"
fleet diff | grep -q '^gzip  *gzip 1.12-1 .*slower' || fail "diff: $(fleet diff)"
is "of the last two days" 0 "$(fleet diff --days 2 --json | jq length)"
sql "UPDATE fleet.setting SET k = 7"
is "of fewer than k machines" 0 "$(fleet diff --json | jq length)"
sql "UPDATE fleet.setting SET k = 5"

# ---- what the dashboard asks, as the role that Grafana has
sql "CREATE ROLE grafana LOGIN PASSWORD 'of-grafana' IN ROLE morph_fleet_viewer"
dashboard=$MORPH_SOURCE/docs/grafana-fleet.json
panels=$(jq '.panels | length' "$dashboard")
((panels >= 6)) || fail "the dashboard has $panels panels"
for ((i = 0; i < panels; i++)); do
	title=$(jq -r ".panels[$i].title" "$dashboard")
	# Grafana's macro, as its PostgreSQL source puts it
	jq -r ".panels[$i].targets[].rawSql" "$dashboard" |
		sed -E "s/\\\$__timeFilter\(([a-z.]+)\)/\1 BETWEEN now() - interval '30 days' AND now()/g" >"$dir/panel.sql"
	! grep -q '\$' "$dir/panel.sql" || fail "$title: a macro that this test does not know: $(cat "$dir/panel.sql")"
	PGPASSWORD=of-grafana "$pg/psql" -X -q -A -t -v ON_ERROR_STOP=1 -h "$socket" -U grafana -d fleet -f "$dir/panel.sql" \
		>"$dir/rows" 2>"$dir/err" || fail "$title: $(cat "$dir/err")"
	[ -s "$dir/rows" ] || fail "$title: shows nothing"
done
is "who got slower, in the dashboard's view" "gzip|slower" \
	"$(PGPASSWORD=of-grafana "$pg/psql" -X -q -A -t -h "$socket" -U grafana -d fleet -c \
		"SELECT package, verdict FROM fleet.upgrades WHERE ratio > 1.5")"

# ---- pprof, read by pprof; OTLP, decoded, says the same
command -v go >/dev/null && go tool -n pprof >/dev/null 2>&1 || { echo "skipped: there is no pprof; install golang-go"; exit 77; }
"$MORPH_BIN/morph-fleet" pull "$old" --credential "$dir/m1.url" -o "$dir/fleet.prof"
"$MORPH_BIN/morph" profile export --format pprof "$dir/fleet.prof" -o "$dir/fleet.pb.gz"
HOME=$dir go tool pprof -raw "$dir/fleet.pb.gz" >"$dir/raw" 2>"$dir/err" || fail "pprof: $(cat "$dir/err")"
grep -q 'samples/count' "$dir/raw" || fail "pprof: $(cat "$dir/raw")"
samples=$("$MORPH_BIN/morph" profile show --json "$dir/fleet.prof" | jq '.samples | round')
is "samples that pprof reads" "$samples" "$(awk '/^Samples:/ { on = 1; next } /^Locations/ { on = 0 }
	on && /^ +[0-9]+ +[0-9]+:/ { sum += $1 } END { print sum + 0 }' "$dir/raw")"
command -v protoc >/dev/null || { echo "skipped: there is no protoc; install protobuf-compiler"; exit 77; }
"$MORPH_BIN/morph" profile export --format otlp "$dir/fleet.prof" -o "$dir/fleet.otlp"
"$MORPH_SOURCE/tests/otlp_check.py" "$dir/fleet.otlp" "$dir/fleet.pb.gz" || fail "OTLP: not what pprof's form says"
