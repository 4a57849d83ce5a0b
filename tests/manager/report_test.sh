#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morph report of what morphd keeps: read beside it as root, asked of it by others.

. "$(dirname "$0")/lib.sh"

prog_install
config_write
morphd_start
sampled 900
"$MORPH_BIN/manager-samples" "$dir/part" /bin/true /bin/true 100 77
mv "$dir/part" "$dir/spool/777777.samples"
spool_wait

report()
{
	morph report --state "$dir/state" --json "$@" >"$dir/report.json" || fail "report $*"
}
# told FILTER EXPECTED: of that report
told()
{
	is "$1" "$2" "$(jq -r "$1" "$dir/report.json")"
}

# ---- totals of files, and places of the program that carries Morph data
report --by image
told .source morphd
told .samples 1000
told '.rows[0] | [.image, .samples, .share_percent] | @csv' "\"$prog\",900,90"
told '.rows[1] | [.image, .samples] | @csv' '"/bin/true",100'
report
told "[.rows[] | select(.image == \"$prog\") | .samples] | add" 900
told "[.rows[] | select(.image == \"$prog\")][0].procedure != \"?\"" true
told '.rows[] | select(.image == "/bin/true") | .procedure' '?'
told '.unnamed[] | select(.image == "/bin/true") | .why | test("keeps no places")' true
name=$(jq -r "[.rows[] | select(.image == \"$prog\")][0].procedure" "$dir/report.json")

# ---- a generation: its samples are its own, and its names are known when it stands nowhere any more
morph reoptimize "$prog" >/dev/null
sampled 300 made
report --by image
told "[.rows[] | select(.image == \"$prog\") | .samples] | add" 1200
morph rollback "$prog" >/dev/null
report
told "[.rows[] | select(.image == \"$prog\") | .samples] | add" 1200
told "[.rows[] | select(.image == \"$prog\") | .procedure] | unique | @csv" "\"$name\""

# ---- times: which files ran, with all of their samples; and that this is so is said
report --by image --since 1h
told .samples 1300
status=0
morph report --state "$dir/state" --by image --until yesterday 2>"$dir/err" || status=$?
is "exit status of a time without samples" 1 "$status"
morph report --state "$dir/state" --by image --since 1h | says 'not when' || fail "the report says what it cannot know"

# ---- the database is only read
before=$(sha256sum "$dir/state/state.db")
report --by mode
is "state.db" "$before" "$(sha256sum "$dir/state/state.db")"
is "samples" 1200 "$(json status '.modules[0].samples')"

# ---- as a page: what Morph made, and what stands; predicted, and measured when it was
sqlite() { /usr/bin/python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]); db.commit()' "$@"; }
morphd_stop
mkdir "$dir/measured"
cp "$dir/state/state.db" "$dir/measured"
sqlite "$dir/measured/state.db" 'UPDATE generation SET measured = 0.079, measured_low = 0.051, measured_high = 0.106 WHERE number = 1'
morphd_start
morph report --state "$dir/measured" --html "$dir/page.html"
/usr/bin/python3 -c 'import html5lib' 2>/dev/null &&
	/usr/bin/python3 "$MORPH_SOURCE/tests/cli/report_page_check.py" "$dir/page.html" "$prog" 'as shipped' active built \
		'7.9 %' '5.1 .. 10.6'
says 'predicted gain' <"$dir/page.html" || fail "the page tells of generations"

# ---- text heat before and after, though only one of the two files stands at the path: the store has the other
morph report --state "$dir/state" --html "$dir/heat.html"
heat=$(sed 's/<[^>]*>//g' "$dir/heat.html" | grep -oE '^(as shipped|generation): 90 % of [0-9]+ samples')
is "text heat" "as shipped: 90 % of 900 samples
generation: 90 % of 300 samples" "$heat"

# ---- without the database morphd is asked, which tells files
if [ ! -e /var/lib/morph/state.db ]; then
	is "files, by morphd" "1300" "$(json report .samples --by image)"
	"$MORPH_BIN/manager-samples" "$dir/own.samples" "$MORPH_PROGRAMS/shipped" "$prog" 50 88
	morph report --html "$dir/asked.html" "$dir/own.samples"
	says 'as shipped' <"$dir/asked.html" || fail "the page has generations as morphd tells them"
fi

# ---- whose time it was, since yesterday: of what the monitor told, by the hour
now=$(date +%s)
for ago in 100 30 2 0; do
	"$MORPH_BIN/sample-log-make" "$dir/owners" <<-END
		rate 250
		time $(((now - ago * 3600) * 1000000000)) 1000000000
		kernel 1000
		owner 600 101 postgres postgresql@15-main.service
		owner $((300 + ago)) 1000 make user@1000.service/app.slice
	END
	mv "$dir/owners" "$dir/spool/owners-$ago.samples"
done
spool_wait
report --since 24h --by unit
told .samples 2000
told .source morphd
told '.cpu_s' 8
told '[.rows[] | [.unit, .samples]] | flatten | @csv' '"postgresql@15-main.service",1200,"user@1000.service/app.slice",602,"?",198'
report --since yesterday --by process
told '.rows[0].process' postgres
report --until 50h --by unit
told '.rows | length' 2
told .samples 1000
morph report --state "$dir/state" --since yesterday --by unit | says 'hours that touch' || fail "hours are not told of"
refused 'nobody.s time from then' morph report --state "$dir/state" --until 2020-01-01 --by unit
status=0
morph report --state "$dir/state" --by unit,image 2>"$dir/err" || status=$?
is "exit status of what was never usable" 2 "$status"
is "its line" 1 "$(grep -c 'not by both' "$dir/err")"

# ---- another user asks morphd: files, and no more
if setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$MORPH_BIN/morph"; then
	refused 'Permission denied' setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$MORPH_BIN/morph" report --state "$dir/state"
fi
morphd_stop

# ---- a database that no morphd of this version has opened has no measured gains
cp -r "$dir/measured" "$dir/old"
for column in measured measured_low measured_high; do
	sqlite "$dir/old/state.db" "ALTER TABLE generation DROP COLUMN $column"
done
morph report --state "$dir/old" --html "$dir/old.html"
says 'as shipped' <"$dir/old.html" || fail "generations of an older database"

# ---- without morphd the database says the same; a damaged one is an error
report --by image
told .samples 5300
printf 'nonsense' | dd of="$dir/state/state.db" bs=1 seek=100 conv=notrunc status=none
refused 'state.db' morph report --state "$dir/state"
echo passed
