#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Containers by podman, beside the real monitor and the real morphd: what an image has counts as a file of its own, whatever it
# is called; what is the host's own file counts for the host; `morph status` names the container; images never change.

if [ -z "${MORPH_PODMAN_NAMESPACE:-}" ] && [ "$(id -u)" = 0 ]; then
	exec env MORPH_PODMAN_NAMESPACE=1 unshare --mount --propagation private bash "$0"
fi
. "$(dirname "$0")/lib.sh"
. "$MORPH_SOURCE/tests/attack.sh"
export ASAN_OPTIONS=detect_leaks=0

command -v podman >/dev/null || { echo "skipped: there is no podman"; exit 77; }
# crun takes no machine that has both versions of control groups.
[ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ] || mount -t cgroup2 cgroup2 /sys/fs/cgroup ||
	{ echo "skipped: there is no cgroup2"; exit 77; }
pod=$dir/podman
config_write
printf 'watch_file = %s\n' "$dir/run/monitor/watch" >>"$dir/morphd.conf"
mkdir -p "$dir/run/monitor" "$pod"
: >"$dir/monitor.conf"
"$MORPH_BIN/morph-monitor" --config "$dir/monitor.conf" --once --duration 0.2 --output "$dir/probe.samples" 2>"$dir/monitor.log" ||
	{ echo "skipped: $(tail -1 "$dir/monitor.log")"; exit 77; }

podman()
{
	command podman --root "$pod/storage" --runroot "$pod/run" --tmpdir "$pod/tmp" --cgroup-manager=cgroupfs --events-backend=none "$@"
}

# contained COMMAND...: in a container of the image, with the host's program at /host/prog
limits=(--ulimit=nofile=1024:1024 --ulimit=nproc=1000:1000)
contained()
{
	podman run --rm --network=none "${groups[@]}" "${limits[@]}" -v "$prog:/host/prog:ro" localhost/morph-test "$@"
}

# An image from nothing but files of this machine: nobody is asked for one.
prog_install
image=$dir/image
mkdir -p "$image$(dirname "$prog")" "$image"/{proc,sys,dev,tmp,etc,run}
for file in $(ldd "$prog" | grep -o '/[^ ]*'); do
	mkdir -p "$image$(dirname "$file")"
	cp -L "$file" "$image$file"
done
cp "$MORPH_PROGRAMS/shipped" "$image$prog" # the same bytes, at the same path
tar -C "$image" -c . | podman import - morph-test >"$dir/import" 2>&1 || { echo "skipped: podman: $(tail -1 "$dir/import")"; exit 77; }
groups=()
contained "$prog" >"$dir/out" 2>&1 || { # where limits of memory may not be raised, crun makes no groups
	groups=(--cgroups=disabled)
	contained "$prog" >"$dir/out" 2>&1 || { echo "skipped: podman: $(tail -1 "$dir/out")"; exit 77; }
}
says '10 rounds' <"$dir/out" || fail "the container: $(cat "$dir/out")"
image_digest()
{
	podman save localhost/morph-test 2>/dev/null | sha256sum
}
before_image=$(image_digest)

morphd_start
"$MORPH_BIN/morph-monitor" --config "$dir/monitor.conf" --spool "$dir/spool" --run-directory "$dir/run/monitor" --interval 1s \
	2>>"$dir/monitor.log" &
pids+=("$!")
eventually test -s "$dir/run/monitor/status.json"

settled()
{
	sleep 2.5
	spool_wait
}

# samples NUMBER: of a generation of the host's program
samples()
{
	json explain ".generations[$1].samples" "$prog"
}

# ---- the host's own program, on the host: it is known, and has a generation
sampled 5000
host=$(samples 0)

# ---- what the image has is not the host's
contained "$prog" 1000000000 >/dev/null &
running=$!
named()
{
	morph status | says 'the container .* runs programs of these names.*Morph changes nothing in it'
}
eventually named
wait "$running"
settled
is_equal() { [ "$1" = "$2" ]; }
attack_held podman-image-counts-for-the-host is_equal "$host" "$(samples 0)"
apart()
{
	morph status -a --all-users --json | jq -e --arg p "$prog" \
		'.others[] | select(.path == $p and .samples > 20) | .note | test("in another mount namespace")' >/dev/null
}
apart || fail "what the image has was not sampled as what it is: $(morph status -a --all-users)"

# ---- what is the host's counts, whatever it is called in the container
contained /host/prog 1000000000 >/dev/null
settled
[ "$(samples 0)" -gt "$((host + 20))" ] || fail "the host's program in a container: $(samples 0) samples, it was $host"

# ---- a generation is the host's; the image is what it was
morph reoptimize "$prog" >/dev/null
prog_is made || fail "no generation"
says '10 rounds' < <(contained "$prog") || fail "the image's program"
attack_held podman-image-is-changed is_equal "$before_image" "$(image_digest)"
cmp -s "$image$prog" "$MORPH_PROGRAMS/shipped" || fail "the files of the image changed"
attacks_end
