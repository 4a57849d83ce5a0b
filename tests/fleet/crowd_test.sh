#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A crowd at the fleet's database, as bench/fleet/fleet makes a large one: 40 machines at four connections, modules that all
# have and modules that few have. All that is reported as taken counts, what is kept does not grow with who comes, and what
# is pulled is a profile.

. "$(dirname "$0")/cluster.sh"
cluster_make
fleet init >/dev/null
"$MORPH_BIN/bench-fleet" machines "$url" 40 "$dir/credentials"
is "credentials" 40 "$(wc -l <"$dir/credentials")"
mkdir "$dir/modules"
for v in 0 1 2; do
	profile "$dir/v$v" "$(printf '%040x' 1)" $((300 + v)) 1:7:$((100 + v)),50,0,x 2:9:10,20 "3:5:$(seq -s , 200)"
done
"$MORPH_BIN/bench-fleet" modules "$dir/modules" 0 1 6 "$dir/v0" "$dir/v1" "$dir/v2"
is "profiles of modules" 18 "$(find "$dir/modules" -type f | wc -l)"

crowd()
{
	"$MORPH_BIN/bench-fleet" "$@" credentials="$dir/credentials" profiles="$dir/modules" state="$dir/state" modules=6 variants=3 \
		uses=4 machines=40 workers=4 postmaster="$(head -n 1 "$dir/data/postmaster.pid")"
}
crowd push batches=3 visits=80 >"$dir/pushes"
jq -e '.visits == 80 and .taken == 240 and .failed == 0 and .again == 0 and .later == 0 and .refused == 0
	and .database_cpu_s > 0 and .push_ms_p99 >= .push_ms_p50' "$dir/pushes" >/dev/null || fail "pushes: $(cat "$dir/pushes")"
is "batches that count" 240 "$(sql "SELECT sum(batches) FROM fleet.machine")"
is "rows of functions" t "$(sql "SELECT count(*) <= 2 * 3 * 6 FROM fleet.count")"
crowd pull visits=40 >"$dir/pulls"
jq -e '.visits == 40 and .failed == 0 and .nothing < 40 and .pull_ms_p99 > 0' "$dir/pulls" >/dev/null || fail "pulls: $(cat "$dir/pulls")"

# A liar's counts are of functions that are there, so that they are taken.
"$MORPH_BIN/bench-fleet" lie "$dir/v0" "$dir/lie"
profile --show "$dir/lie" | grep -q '^1:7:0.000/[0-9]*,0.000/[0-9]*,1.000/255,' || fail "a lie: $(profile --show "$dir/lie")"

# The day after a day of very many: those who come are drawn, and all is taken as before.
sql "UPDATE fleet.setting SET turnout = 20" "UPDATE fleet.day SET epoch = epoch - 1, machines = 80" \
	"UPDATE fleet.contribution SET epoch = epoch - 1"
crowd push batches=1 visits=160 >"$dir/pushes"
jq -e '.taken == 160 and .failed == 0' "$dir/pushes" >/dev/null || fail "pushes of the day after: $(cat "$dir/pushes")"
is "batches that count, with the day after" 400 "$(sql "SELECT sum(batches) FROM fleet.machine")"
is "who was not drawn and counts" 0 "$(sql "SELECT count(*) FROM fleet.contribution c JOIN fleet.day d USING (build, epoch)
	WHERE epoch = fleet.today() AND fleet.lot(machine, build, epoch) >= part")"
is "the part that was drawn" 0.25 "$(sql "SELECT DISTINCT part FROM fleet.day WHERE epoch = fleet.today()")"
