#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sidecars from debuginfod servers: the real one of this distribution, and servers that lie.

. "$(dirname "$0")/lib.sh"
. "$MORPH_SOURCE/tests/attack.sh"
export ASAN_OPTIONS=detect_leaks=0
unset DEBUGINFOD_URLS http_proxy HTTP_PROXY all_proxy ALL_PROXY

command -v debuginfod >/dev/null || { echo "skipped: there is no debuginfod; install the package of that name"; exit 77; }
setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$MORPH_BIN/morph-fetch" ||
	{ echo "skipped: user nobody cannot reach $MORPH_BIN"; exit 77; }

# What a distribution builds, what it ships, and what another program has.
prog_install
config_write
mkdir -p "$dir/built" "$dir/sidecars"
cp "$MORPH_PROGRAMS/shipped" "$dir/built/prog"
morph split -o "$dir/right" "$prog" >/dev/null
cp "$MORPH_PROGRAMS/upgraded" "$dir/other-prog"
morph split -o "$dir/other" "$dir/other-prog" >/dev/null
id=$(readelf -n "$prog" | sed -n 's/.*Build ID: //p')

python3 "$MORPH_SOURCE/tests/manager/fetch_server.py" "$dir/port" "$dir/right" "$dir/other" 2>"$dir/server.log" &
pids+=($!)
eventually test -s "$dir/port"
liar=http://127.0.0.1:$(cat "$dir/port")
real_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
debuginfod -F -d "$dir/debuginfod.sqlite" -p "$real_port" -t 0 "$dir/built" >"$dir/debuginfod.log" 2>&1 &
pids+=($!)
real=http://127.0.0.1:$real_port

# ---- by hand
refused 'not installed' morph dump "$prog"
serves()
{
	morph fetch --url "$real" -o "$dir/got" "$prog" >/dev/null 2>&1
}
eventually serves
cmp "$dir/got" "$dir/right" || fail "debuginfod's section is not the sidecar"
rm "$dir/got"
DEBUGINFOD_URLS="$liar/none $real" morph fetch --dir "$dir/cache" "$prog" >"$dir/out" 2>"$dir/err" || fail "$(cat "$dir/err")"
says "$dir/cache/${id:0:2}/${id:2}.morph" <"$dir/out" || fail "where it is: $(cat "$dir/out")"
morph inspect --sidecar-dir "$dir/cache" "$prog" >/dev/null || fail "what was fetched is not taken"
is "its hash" "$(sha256sum <"$dir/right" | cut -d' ' -f1)" \
	"$(morph fetch --json --url "$liar/right" -o "$dir/got" "$prog" | jq -r .sha256)"
rm "$dir/got"
setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent "$MORPH_BIN/morph" fetch --url "$liar/right" "$prog" \
	>"$dir/out" 2>"$dir/err" && fail "a home that is none"
status=0
morph fetch "$prog" 2>"$dir/err" || status=$?
is "without a server" 2 "$status"
refused 'nothing is to be fetched' morph fetch --url "$real" "$MORPH_PROGRAMS/shipped"

# lies HOW WHY: nothing is taken, and the user is told why
lies()
{
	! morph fetch --url "$liar/$1" -o "$dir/got" "$prog" >"$dir/out" 2>"$dir/err" && [ ! -e "$dir/got" ] &&
		grep -q -- "$2" "$dir/err" && ! grep -q $'\x1b' "$dir/err"
}
attack_held fetch-garbage lies garbage 'not the sidecar'
attack_held fetch-sidecar-of-another-program lies other 'not the sidecar'
attack_held fetch-a-byte-more lies longer 'not the sidecar'
attack_held fetch-cut-short lies cut 'curl\|transfer\|Transferred'
attack_held fetch-says-it-is-huge lies large 'sends more than'
attack_held fetch-endless lies endless 'sends more than'
attack_held fetch-endless-headers lies headers 'sends more than'
attack_held fetch-terminal-codes lies says 'HTTP status 500'
attack_held fetch-redirect-to-a-file lies file 'which is not followed'
: >"$dir/port.asked"
attack_held fetch-redirect-elsewhere lies elsewhere 'which is not followed'
! grep -q '^/right/' "$dir/port.asked" || fail "a server chose whom this machine talks to: $(cat "$dir/port.asked")"
# The right bytes, at a place that is no server.
mkdir -p "$dir/local/buildid/$id/section"
cp "$dir/right" "$dir/local/buildid/$id/section/.morph"
chmod -R a+rX "$dir/local"
from_a_file()
{
	! morph fetch --url "file://$dir/local" -o "$dir/got" "$prog" >"$dir/out" 2>"$dir/err" && [ ! -e "$dir/got" ]
}
attack_held fetch-from-a-file from_a_file
drips()
{
	local start=$SECONDS

	! "$MORPH_BIN/morph-fetch" --build-id "$id" --sha256 "$(sha256sum <"$dir/right" | cut -d' ' -f1)" \
		-o "$dir/got" --timeout 3 "$liar/slow" 2>"$dir/err" && [ ! -e "$dir/got" ] &&
		grep -q 'takes too long' "$dir/err" && ((SECONDS - start < 20))
}
attack_held fetch-slow drips

# ---- morphd
# daemon URL [SOCKET]: morphd with these, and no memory
daemon()
{
	[ -z "${morphd:-}" ] || morphd_stop
	rm -rf "$dir/state"
	sed -i '/^debuginfod_urls\|^fetch_\|^sidecar_directory/d' "$dir/morphd.conf"
	cat >>"$dir/morphd.conf" <<-END
		debuginfod_urls = $1
		fetch_socket = ${2:-/nonexistent}
		fetch_timeout = 10s
		sidecar_directory = $dir/sidecars
	END
	: >"$dir/morphd.log"
	: >"$dir/port.asked"
	morphd_start
}
carries()
{
	[ "$(json explain '.carries' "$prog" 2>/dev/null)" = yes ] || json status '.modules[].path' | grep -q "$prog"
}
told()
{
	grep -q -- "$1" "$dir/morphd.log"
}
nothing_taken()
{
	[ ! -e "$dir/state/sidecars/${id:0:2}/${id:2}.morph" ] && ! carries
}

daemon none
sampled 4000
sleep 2.5
[ ! -s "$dir/port.asked" ] || fail "a server was asked though nobody said so"
nothing_taken || fail "nothing can be known"
morph explain "$prog" | says 'sidecar that is not installed' || fail "explain: $(morph explain "$prog")"

daemon "$liar/right"
sampled 400
sleep 2.5
[ ! -s "$dir/port.asked" ] || fail "a server was asked for a program with few samples"

daemon "$liar/garbage"
sampled 4000
eventually told 'not the sidecar'
attack_held fetch-garbage-for-morphd nothing_taken
asked=$(grep -c . "$dir/port.asked")
sleep 2.5
is "questions after a failure" "$asked" "$(grep -c . "$dir/port.asked")"
morph history "$prog" --all-users | says 'was not fetched' || morph history | says 'was not fetched' || fail "history: $(morph history)"

daemon "$liar/file"
sampled 4000
eventually told 'not followed'
attack_held fetch-redirect-for-morphd nothing_taken

python3 "$MORPH_SOURCE/tests/manager/fetch_worker.py" "$dir/taken-over" &
pids+=($!)
eventually test -S "$dir/taken-over"
daemon "$liar/right" "$dir/taken-over"
sampled 4000
eventually told 'not the sidecar that'
attack_held fetch-by-a-fetcher-that-was-taken-over nothing_taken

daemon "$real"
sampled 4000
eventually carries
cmp "$dir/state/sidecars/${id:0:2}/${id:2}.morph" "$dir/right" || fail "what was fetched"
is "who may read it" "644" "$(stat -c %a "$dir/state/sidecars/${id:0:2}/${id:2}.morph")"
is "what was sampled before counts" 4000 "$(json status '.modules[0].samples')"
is "nothing is left" "" "$(ls -A "$dir/state/fetching" 2>/dev/null)"
morph history "$prog" | says 'sidecar was fetched' || fail "history: $(morph history "$prog")"
# The commands of an edit find it, too.
sed -i "s|^editor_command.*|editor_command = $dir/tools/edit {sidecars} {build_id} {output}|" "$dir/morphd.conf"
cat >"$dir/tools/edit" <<-END
	#!/bin/bash
	[ -r "\$1/\${2:0:2}/\${2:2}.morph" ] && cp $dir/tools/made "\$3"
END
chmod 755 "$dir/tools/edit"
morphd_stop
morphd_start
morph reoptimize "$prog" >/dev/null
prog_is made || fail "not edited"
morphd_stop
attacks_end
