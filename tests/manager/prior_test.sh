#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A package brings what its packager counted: its program is edited when it is installed, with no sample of this machine. Samples
# that agree change nothing; a machine that uses it in another way is optimized for itself, soon, and as well as by its own counts
# alone. What was counted passes on to the next build, by a job; garbage is not used, and costs nothing.

. "$(dirname "$0")/lib.sh"

automatic=yes
real_config_write
mkdir -p "$dir/bin" "$dir/sidecars"
echo "sidecar_directory = $dir/sidecars" >>"$dir/morphd.conf"
sources=$MORPH_SOURCE/tests/programs/vm

# version NUMBER SED-COMMAND: a program whose vm.c is edited like this
version()
{
	mkdir -p "$dir/v$1"
	sed "$2" "$sources/vm.c" >"$dir/v$1/vm.c"
	cp "$sources"/main.c "$sources"/*.h "$dir/v$1"
	(cd "$dir/v$1" && morph cc -O2 -o vm vm.c main.c)
}
version 1 ''
version 2 's/stack is empty/the stack is empty/'
version 3 's/stack is empty/a stack is empty/'

install_version()
{
	cp "$dir/v$1/vm" "$prog.new"
	mv "$prog.new" "$prog"
}
build_id()
{
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}
# beside NUMBER SUFFIX: the name of a file beside the sidecar of this version
beside()
{
	local id

	id=$(build_id "$dir/v$1/vm")
	mkdir -p "$dir/sidecars/${id:0:2}"
	echo "$dir/sidecars/${id:0:2}/${id:2}$2"
}
# put FILE NAME: as a package manager does
put()
{
	cp "$1" "$2.new"
	mv "$2.new" "$2"
}
now()
{
	json status ".modules[] | select(.path) | $1"
}
stored()
{
	local id

	id=$(build_id "$dir/v$1/vm")
	echo "$dir/state/store/${id:0:2}/${id:2}/$2"
}
generation_is()
{
	[ "$(now .generation)" = "$1" ]
}
# patiently COMMAND...: within a minute; edits take a while
patiently()
{
	within 60 "$@" || fail "never: $* ($(now .verdict)): $(morph explain "$prog")"
}
# recorded NAME RATE ARGUMENT...: samples of the installed program in that use
recorded()
{
	local name=$1 rate=$2

	shift 2
	morph record --files -F "$rate" -o "$dir/$name.samples" -- "$prog" "$@" >/dev/null 2>&1
}
spool()
{
	put "$dir/$1.samples" "$dir/spool/$1.samples"
	spool_wait
}

# ---- the packager's counts: the interpreter runs long programs
install_version 1
recorded packager 4000 9000000 4
morph profile "$prog" "$dir/packager.samples" -o "$dir/packager.prof" >/dev/null
morph profile prior "$dir/packager.prof" "$prog" -o "$dir/prior" >"$dir/out"
says 'of what others counted' <"$dir/out"
! grep -q "$dir\|vm_run" "$dir/prior" || fail "names or paths are in what is shipped"
all=$(morph profile show --json "$dir/prior" | jq '.samples | floor')
[ "$all" -gt 1500 ] || fail "only $all samples"
# rate N: N a second where the packager's run had 6000 samples; a slower machine takes longer and is to have as many
rate()
{
	echo $(($1 * 6000 / all))
}

# ---- installed with it: edited with no sample of this machine
put "$dir/prior" "$(beside 1 .prior)"
morphd_start
sleep 1.5
is "modules before the package is there" 0 "$(json status '.modules | length')"
ln -s "$prog" "$(beside 1 .program)"
patiently generation_is 1
is "own samples" 0 "$(now .samples)"
is "output" "$("$dir/v1/vm" 3000 2)" "$("$prog" 3000 2)"
is "whose counts it was made from" "0 null true" \
	"$(json explain '.generations[-1] | "\(.profile_samples) \(.fleet_samples) \(.package_samples > 1000)"' "$prog")"
morph explain "$prog" >"$dir/out"
says 'made from [0-9]* samples: 0 of this machine (0 %), [0-9]* of its packager (100 %)' <"$dir/out" || fail "explain: $(cat "$dir/out")"
says "$all samples counted by its packager" <"$dir/out" || fail "explain: $(cat "$dir/out")"
says 'new samples, [0-9]* of them of others' <"$dir/out" || fail "the decision: $(cat "$dir/out")"
morph history "$prog" | says 'prior .*what its packager counted is used, too' || fail "history: $(morph history "$prog")"

# ---- the same use: a tenth of minimum_samples is looked at, and nothing is edited for it
# Long, for a host that takes the CPU away while the program starts makes its start look like much of its work.
recorded same "$(rate 50)" 36000000 4
spool same
postponed()
{
	json explain '.decisions[-1].outcome' "$prog" | grep -q 'agree with what others counted'
}
patiently postponed
is "generation, in the same use" 1 "$(now .generation)"
few=$(now .samples)
[ "$few" -gt 100 ] && [ "$few" -lt 800 ] || fail "$few samples"

# ---- another use: it assembles, over and over; long before minimum_samples it is edited again, for itself
recorded other "$(rate 1000)" 1 500000
spool other
own=$(now .samples)
[ "$own" -lt 1000 ] || fail "$own samples are as many as any other edit waits for"
patiently generation_is 2
is "output, for itself" "$("$dir/v1/vm" 3000 2)" "$("$prog" 3000 2)"
json explain '.generations[-1] | "\(.profile_samples | floor) \(.package_samples // 0 | floor)"' "$prog" >"$dir/parts"
read -r here there <"$dir/parts"
echo "made from $here samples of this machine, $there of its packager"
[ "$there" -lt $((here / 3)) ] || fail "the packager's counts weigh $there samples against $here that contradict"
morph profile "$dir/v1/vm" "$dir/same.samples" "$dir/other.samples" --generation "$(stored 1 generations/1/binary)" \
	-o "$dir/alone.prof" >/dev/null
morph profile diff --json "$dir/alone.prof" "$(stored 1 generations/2/profile)" >"$dir/diff.json"
jq -e '.function_overlap > 0.9' "$dir/diff.json" >/dev/null || fail "not optimized for itself: $(cat "$dir/diff.json")"
morph profile diff --json "$dir/packager.prof" "$(stored 1 generations/2/profile)" >"$dir/diff2.json"
jq -e --argjson alone "$(jq .function_overlap "$dir/diff.json")" '.function_overlap < $alone' "$dir/diff2.json" >/dev/null ||
	fail "it is optimized for others: $(cat "$dir/diff2.json")"

# ---- the next builds, whose package counts nothing: what was counted passes on, by a job
passed_on()
{
	[ "$(now .build_id)" = "$(build_id "$dir/v$1/vm")" ] && [ "$(now '.package_of_before')" = 1 ] && [ -s "$(stored "$1" prior-package)" ]
}
sed -i 's/^automatic = .*/automatic = no/' "$dir/morphd.conf"
kill -HUP "$morphd"
install_version 2
eventually passed_on 2
# There are two functions of one name: which is whose is known in one build only.
passed=$(now '.package_samples | floor')
[ "$passed" -gt $((all * 3 / 4)) ] && [ "$passed" -lt "$all" ] || fail "$passed of $all samples are passed on"
morph explain "$prog" | says 'counted by its packager, in the build before' || fail "explain: $(morph explain "$prog")"
kill -9 "$morphd"
wait "$morphd" || true
install_version 3
morphd_start
eventually passed_on 3
left=$(now '.package_samples | floor')
[ "$left" -gt 0 ] && [ "$left" -lt "$all" ] || fail "$left of $all samples are passed on once more"

# ---- garbage, of another program, too large, a link: none is used, it is said, and what was there stays
not_used()
{
	morph history "$prog" | grep -c 'counted is not used' || true
}
more_not_used()
{
	[ "$(not_used)" -gt "$1" ]
}
refuses()
{
	local before

	before=$(not_used)
	put "$1" "$(beside 3 .prior)"
	eventually more_not_used "$before"
	is "samples of others after $1" "$left" "$(now '.package_samples | floor')"
}
head -c 3000 /dev/urandom >"$dir/garbage"
refuses "$dir/garbage"
head -c 100 "$dir/prior" >"$dir/truncated"
refuses "$dir/truncated"
truncate -s 20M "$dir/large"
before=$(not_used)
put "$dir/large" "$(beside 3 .prior)"
ln -sf "$dir/prior" "$(beside 3 .prior)"
sleep 1.5
is "what is too large or a link is not looked at" "$before $left" "$(not_used) $(now '.package_samples | floor')"
rm "$(beside 3 .prior)"
put "$dir/prior" "$(beside 3 .prior)"
own_build()
{
	[ "$(now '.package_of_before')" = null ]
}
eventually own_build

# ---- a prior that went bad in the store: the edit fails once, and is made without it the next time; asked for, it may have no samples
morph reoptimize "$prog" || fail "no edit by a prior alone: $(tail -n 3 "$dir/morphd.log")"
is "generation by a prior alone" 1 "$(now .generation)"
cp "$dir/garbage" "$(stored 3 prior-package)"
recorded third 2000 3000000 4
spool third
! morph reoptimize "$prog" 2>"$dir/err" || fail "an edit with garbage"
says 'prior' <"$dir/err" || fail "the failure: $(cat "$dir/err")"
morph reoptimize "$prog" || fail "no edit without it"
is "others' counts in it" null "$(json explain '.generations[-1].package_samples' "$prog")"

# ---- morphd is killed while others' counts are taken in: in the end they are
for ((kill = 0; kill < ${KILLS:-6}; kill++)); do
	install_version $((1 + kill % 3))
	put "$dir/prior" "$(beside $((1 + kill % 3)) .prior)"
	sleep "$(printf '%d.%03d' $((RANDOM % 2)) $((RANDOM % 1000)))"
	kill -9 "$morphd"
	wait "$morphd" || true
	morphd_start
done
install_version 2
put "$dir/prior" "$(beside 2 .prior)"
taken()
{
	[ "$(now .build_id)" = "$(build_id "$dir/v2/vm")" ] && [ "$(now '.package_samples | floor')" = "$passed" ] && own_build
}
eventually taken
nothing_under_way()
{
	[ -z "$(ls -A "$dir/state/fitting" 2>/dev/null)" ]
}
eventually nothing_under_way
morphd_stop
