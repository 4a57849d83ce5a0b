#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The file of metrics: what is in it, what readers of its format make of it (Prometheus' node exporter itself, where it is
# installed), whatever programs are called; that it is there whole or not at all, and only when it was asked for.

. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../attack.sh"

file=$dir/metrics/morph.prom
mkdir "$dir/metrics"
prog=$dir/bin/$'od"d\\ \nmorph_x{a="b"} 1\n n\xc3\xa9'
prog_install
config_write
for wrong in morph.prom /var/lib/morph.txt "$dir/.prom/" /.prom; do
	! "$MORPH_BIN/morphd" --config="$dir/morphd.conf" --set="metrics_file=$wrong" --bus=none 2>"$dir/err" || fail "$wrong is taken"
	grep -q 'metrics_file = .*: must be none, or an absolute path that ends in .prom' "$dir/err" || fail "$wrong: $(cat "$dir/err")"
done

# ---- off, unless asked for
morphd_start
sampled 1000
morphd_stop
[ -z "$(ls "$dir/metrics")" ] || fail "metrics are written that nobody asked for"

# ---- strictly by the format: metric NAME [LABELS] prints the value
cat >"$dir/tools/read" <<-'END'
	import re, sys
	name = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
	label = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
	line_of = re.compile(rf'({name})(\{{{label}(?:,{label})*\}})? (-?[0-9.]+(?:e[+-]?[0-9]+)?)$')
	seen, typed, wanted = {}, {}, sys.argv[2]
	text = open(sys.argv[1], 'rb').read().decode('utf-8')
	assert text.endswith('\n')
	for line in text[:-1].split('\n'):
	    if line.startswith('# TYPE '):
	        _, _, metric, kind = line.split(' ')
	        assert metric not in typed and kind in ('counter', 'gauge'), line
	        typed[metric] = kind
	    elif line.startswith('# HELP '):
	        assert len(line.split(' ', 3)) == 4, line
	    else:
	        match = line_of.match(line)
	        assert match, line
	        assert match[1] in typed, line
	        assert (typed[match[1]] == 'counter') == match[1].endswith('_total'), line
	        key = match[1] + (match[2] or '')
	        assert key not in seen, line
	        seen[key] = float(match[3])
	found = [value for key, value in seen.items() if key.startswith(wanted)]
	print(*found)
END
metric()
{
	python3 "$dir/tools/read" "$file" "$1"
}

echo "metrics_file = $file" >>"$dir/morphd.conf"
morphd_start
file_is_there()
{
	[ -s "$file" ]
}
eventually file_is_there
is "mode" 644 "$(stat -c %a "$file")"
is "user's samples" "$(json status .daemon.total_user)" "$(metric 'morph_samples_total{place="user"' | cut -d. -f1)"
is "programs that are as shipped" 1.0 "$(metric 'morph_programs{optimized="no"}')"
is "activations" '' "$(metric 'morph_events_total{event="activated"}')"
morph reoptimize "$prog" >/dev/null
is_counted()
{
	[ "$(metric 'morph_events_total{event="activated"}')" = 1.0 ]
}
eventually is_counted
is "programs that are optimized" 1.0 "$(metric 'morph_programs{optimized="yes"}')"
is "size of its generations" "$(stat -c %s "$MORPH_PROGRAMS/made").0" "$(metric morph_generations_bytes)"
sqlite3_gain()
{
	python3 -c 'import sqlite3, sys
c = sqlite3.connect(sys.argv[1]); c.execute("UPDATE generation SET gain = 0.125, measured = 0.1, measured_low = 0.05, measured_high = 0.15 WHERE number = 1"); c.commit()' "$dir/state/state.db"
}
morphd_stop
sqlite3_gain
morphd_start
is_shown()
{
	[ "$(metric morph_program_predicted_gain_ratio)" = 0.125 ]
}
eventually is_shown
is "measured" 0.1 "$(metric morph_program_measured_gain_ratio)"
attack_held metrics-injected-by-a-file-name [ -z "$(metric morph_x)" ]
is "activations of all its runs" 1.0 "$(metric 'morph_events_total{event="activated"}')"

# ---- whoever reads it
if command -v prometheus-node-exporter >/dev/null && command -v curl >/dev/null; then
	prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.textfile.directory="$dir/metrics" \
		--web.listen-address=127.0.0.1:0 2>"$dir/exporter.log" &
	pids+=("$!")
	port_is_known()
	{
		port=$(sed -n 's/.*[Ll]istening on.*127\.0\.0\.1:\([0-9]*\).*/\1/p' "$dir/exporter.log" | head -n 1)
		[ -n "$port" ]
	}
	eventually port_is_known
	curl -s --noproxy '*' "http://127.0.0.1:$port/metrics" >"$dir/exported"
	grep -q '^node_textfile_scrape_error 0$' "$dir/exported" || fail "the node exporter cannot read it: $(cat "$dir/exporter.log")"
	grep -q '^morph_events_total{event="activated"} 1$' "$dir/exported" || fail "the node exporter lacks a metric"
	! grep -q '^morph_x' "$dir/exported" || fail "a file's name became a metric"
else
	echo "the node exporter is not installed; only the format was checked"
fi

# ---- never half of it; and a place that cannot be written stops nothing else
ls "$dir/metrics" | grep -vx morph.prom && fail "something else lies there"
mv "$dir/metrics" "$dir/gone"
says_so()
{
	grep -q 'metrics_file needs a directory that morphd may write to' "$dir/morphd.log"
}
eventually says_so
sampled 10
sleep 2
is "it is said once" 1 "$(grep -c 'metrics_file needs' "$dir/morphd.log")"
mv "$dir/gone" "$dir/metrics"
rm "$file"
eventually file_is_there
morphd_stop
attacks_end
