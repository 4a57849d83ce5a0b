#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A fleet's counts, through a real database under TLS: a new machine's program is edited when its package is installed, with no
# sample of this machine; of programs that nobody may tell of nobody asks; pushing does not wait for asking, nor the other way
# round; whatever is killed meanwhile, in the end they are used.

if [ -z "${MORPH_MOUNT_NAMESPACE:-}" ] && [ "$(id -u)" = 0 ]; then
	exec env MORPH_MOUNT_NAMESPACE=1 unshare --mount --propagation private bash "$0"
fi
. "$(dirname "$0")/lib.sh"
. "$MORPH_SOURCE/tests/fleet/cluster.sh"
command -v openssl >/dev/null || { echo "skipped: there is no openssl"; exit 77; }
: "${KILLS:=8}" "${SEED:=$$}"
RANDOM=$SEED

automatic=yes
real_config_write
mkdir -p "$dir/bin" "$dir/sidecars"
sources=$MORPH_SOURCE/tests/programs/vm

# ---- programs of packages; each has a build of its own
for i in 1 2 3 4 5; do
	mkdir -p "$dir/v$i"
	sed "s/stack is empty/stack $i is empty/" "$sources/vm.c" >"$dir/v$i/vm.c"
	cp "$sources"/main.c "$sources"/*.h "$dir/v$i"
	(cd "$dir/v$i" && morph cc -O2 -o vm vm.c main.c)
done
mkdir -p "$dir/dpkg/info" "$dir/dpkg/updates"
mount --bind "$dir/dpkg" /var/lib/dpkg
build_id()
{
	readelf -n "$dir/v$1/vm" | sed -n 's/.*Build ID: //p'
}
# arrive NUMBER: as a package that has its sidecar, and the link to the program
arrive()
{
	local id

	id=$(build_id "$1")
	cp "$dir/v$1/vm" "$dir/bin/prog$1"
	(cd / && md5sum "${dir#/}/bin/prog$1") >"$dir/dpkg/info/prog$1.md5sums"
	mkdir -p "$dir/sidecars/${id:0:2}"
	ln -s "$dir/bin/prog$1" "$dir/sidecars/${id:0:2}/${id:2}.program"
}
# of NUMBER FILTER: of the program with that number
of()
{
	json status ".modules[] | select(.path == \"$dir/bin/prog$1\") | $2"
}
patiently()
{
	within 90 "$@" || fail "never: $* ($(tail -n 3 "$dir/morphd.log"))"
}

# ---- what five machines counted
cluster_make
certificate localhost
cluster_listen
echo "log_statement = all" >>"$dir/data/postgresql.conf"
socket_url=$url
unprivileged "$pg/pg_ctl" -D "$dir/data" -m fast -s stop
cluster_start
url="$socket_url&port=$port"
export PGPORT=$port
fleet init >/dev/null
sql "UPDATE fleet.setting SET first_cap = 1e9, max_cap = 1e9"
machine_add m1 m2 m3 m4 m5
fleet machine add here -o "$dir/here.url" --for "host=localhost port=$port dbname=fleet sslrootcert=$dir/localhost.crt"
morph record --files -F 3000 -o "$dir/use.samples" -- "$dir/v1/vm" 4000000 4 >/dev/null 2>&1
morph profile "$dir/v1/vm" "$dir/use.samples" -o "$dir/1.prof" >/dev/null
# Of the first program what was seen is pushed, as machines do that have it as it is shipped.
morph profile "$dir/v1/vm" "$dir/use.samples" --seen -o "$dir/1.seen" >/dev/null
for i in 2 3 4 5; do
	morph profile carry "$dir/1.prof" "$dir/v$i/vm" -o "$dir/$i.prof" >/dev/null
done
pushed=0
# counted NUMBER [SUFFIX]: by all five
counted()
{
	local name

	pushed=$((pushed + 1))
	for name in m1 m2 m3 m4 m5; do
		push "$name" "$pushed=$dir/$1.${2:-prof}" >/dev/null
	done
}

configure()
{
	sed -i '/^fleet_\|^fetch_socket\|^sidecar_directory/d' "$dir/morphd.conf"
	cat >>"$dir/morphd.conf" <<-END
		sidecar_directory = $dir/sidecars
		fetch_socket = /nonexistent
		fleet_credential = $dir/here.url
		fleet_certificates = $dir/localhost.crt
		fleet_programs = ${1:-packages}
		fleet_interval = 1s
	END
}
configure
morphd_start

# ---- installed before the fleet knows it: it is asked again, and then edited, with no sample of this machine
arrive 1
asked()
{
	grep -A 1 'fleet\.pull' "$dir/log" | grep -q "parameters: .1 = '.x$(build_id "$1")'"
}
patiently asked 1
sleep 2
is "generation before the fleet knows it" 0 "$(of 1 .generation)"
counted 1 seen
edited()
{
	[ "$(of "$1" .generation)" = 1 ]
}
patiently edited 1
is "samples of this machine" 0 "$(of 1 .samples)"
is "output" "$("$dir/v1/vm" 3000 2)" "$("$dir/bin/prog1" 3000 2)"
morph explain "$dir/bin/prog1" >"$dir/out"
says "made from [0-9]* samples: 0 of this machine (0 %), [0-9]* of the fleet's machines (100 %)" <"$dir/out" || fail "explain: $(cat "$dir/out")"
says "samples counted by the fleet's machines" <"$dir/out" || fail "explain: $(cat "$dir/out")"
# Functions of one name are among them: in the same build it is known which is whose.
all=$(morph profile show --json "$dir/1.prof" | jq '.samples')
jq -en --argjson got "$(of 1 .fleet_samples)" --argjson one "$all" '$got > 4.95 * $one and $got < 5.05 * $one' >/dev/null ||
	fail "$(of 1 .fleet_samples) samples of five machines with $all each"

# ---- of a program that no package has as it is, and of one that is not listed, nobody asks
not_asked()
{
	arrive "$1"
	[ "$2" = listed ] && echo "changed" >>"$dir/dpkg/info/prog$1.md5sums" && sed -i 's/^[0-9a-f]\{8\}/00000000/' "$dir/dpkg/info/prog$1.md5sums"
	known()
	{
		[ "$(of "$1" .build_id)" = "$(build_id "$1")" ]
	}
	eventually known "$1"
	sleep 2.5
	! asked "$1"
}
counted 2
attack_held fleet-is-asked-of-a-file-that-no-package-has not_asked 2 listed
configure "/somewhere/* $dir/bin/prog[!3]"
kill -HUP "$morphd"
sleep 0.5
attack_held fleet-is-asked-of-what-is-not-listed not_asked 3 unlisted
configure
morphd_stop

# ---- the fleet takes nothing, and yet answers; it answers nothing, and yet takes
claimed()
{
	sql "SELECT coalesce(sum(claimed), 0) FROM fleet.day WHERE build = '\\x$(build_id 4)'"
}
signature=$(sql "SELECT oid::regprocedure FROM pg_proc WHERE proname = 'push' AND pronamespace = 'fleet'::regnamespace ORDER BY pronargs DESC LIMIT 1")
counted 4
before=$(claimed)
sql "REVOKE EXECUTE ON FUNCTION $signature FROM morph_fleet_machine"
morphd_start
morph record --files -F 500 -o "$dir/own.samples" -- "$dir/bin/prog1" 4000000 4 >/dev/null 2>&1
mv "$dir/own.samples" "$dir/spool/own.samples"
patiently grep -q 'were not handed over' "$dir/morphd.log"
arrive 4
patiently edited 4
morphd_stop
sql "GRANT EXECUTE ON FUNCTION $signature TO morph_fleet_machine" "REVOKE EXECUTE ON FUNCTION fleet.pull(bytea) FROM morph_fleet_machine"
counted 5
morphd_start
arrive 5
patiently grep -q 'fleet was not asked' "$dir/morphd.log"
morph record --files -F 500 -o "$dir/own.samples" -- "$dir/bin/prog4" 4000000 4 >/dev/null 2>&1
mv "$dir/own.samples" "$dir/spool/own4.samples"
arrived()
{
	[ "${1%.*}" -lt "$(claimed | cut -d . -f 1)" ]
}
patiently arrived "$before"
is "a program that nobody could ask about" 0 "$(of 5 .generation)"
morphd_stop
sql "GRANT EXECUTE ON FUNCTION fleet.pull(bytea) TO morph_fleet_machine"

# ---- kills, of morphd and of the postmaster, while it is asked
for ((kill = 0; kill < KILLS; kill++)); do
	morphd_start
	sleep "$(printf '%d.%03d' $((RANDOM % 3)) $((RANDOM % 1000)))"
	if ((kill % 3 == 2)); then
		cluster_kill
		cluster_start 2>/dev/null
	fi
	kill -9 "$morphd"
	wait "$morphd" || true
done
morphd_start
patiently edited 5
nothing_under_way()
{
	[ -z "$(ls -A "$dir/state/asking" "$dir/state/fitting" 2>/dev/null | grep -v :)" ]
}
eventually nothing_under_way

# ---- revoked: it is said, and programs are none of it
fleet machine revoke here
morphd_stop
: >"$dir/morphd.log"
morphd_start
patiently grep -q 'fleet was not asked.*\(authentication\|no longer\|permitted\)' "$dir/morphd.log"
morph reoptimize "$dir/bin/prog5" >/dev/null || fail "no edit without the fleet: $(tail -n 3 "$dir/morphd.log")"
morphd_stop
attacks_end
