#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Attacks on activation = mount: on the helper, by who may not ask it; on what it is asked, by records that only a
# compromised morphd could write; on the store, and on time. In a mount namespace of the test's own.

if [ -z "${MORPH_MOUNT_NAMESPACE:-}" ] && [ "$(id -u)" = 0 ]; then
	exec env MORPH_MOUNT_NAMESPACE=1 unshare --mount --propagation private bash "$0"
fi
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../attack.sh"

state=$dir/state
prog=$dir/system/usr/bin/prog
mkdir -p "$dir/system/usr/bin"
config_write
cat >>"$dir/morphd.conf" <<-END
	activation = mount
	mount_prefixes = $dir/system/usr
	mount_socket = $dir/run/mount
END
prog_install_here()
{
	cp "$MORPH_PROGRAMS/$1" "$prog.new"
	chmod 755 "$prog.new"
	mv "$prog.new" "$prog"
}
prog_install_here shipped
mkdir -p "$dir/run"
chmod 755 "$dir/run"
# The sanitizers' library has to be found by a program that another user runs, too.
export ASAN_OPTIONS=detect_leaks=0

helper()
{
	"$MORPH_BIN/morph-mount" --config="$dir/morphd.conf" "$@"
}

helper_start()
{
	"$MORPH_BIN/morph-mount" --config="$dir/morphd.conf" --listen="$dir/run/mount" serve 2>>"$dir/helper.log" &
	helper=$!
	pids+=("$helper")
	eventually test -S "$dir/run/mount"
}

as_nobody()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# ask TEXT: say that to the helper, and its answer
ask()
{
	python3 - "$dir/run/mount" "$1" <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.settimeout(30)
		s.sendall(sys.argv[2].encode())
		s.shutdown(socket.SHUT_WR)
		print(s.makefile().readline(), end="")
	END
}

says_error()
{
	says '^error' <<<"$1"
}

n_mounts()
{
	grep -c " ${1:-$prog} " /proc/self/mountinfo || true
}

nothing_at()
{
	[ "$(n_mounts "$1")" = 0 ]
}

helper_start
morphd_start
sampled 5000
morph reoptimize "$prog" >/dev/null
prog_is made || fail "no generation to attack"
record=$(ls "$state"/mounts/*.mount)
placed=${record%.mount}
cp "$record" "$dir/record.good"
cp -p "$placed" "$dir/placed.good"
build_id=$(sed -n 's/^build_id = //p' "$record")
binary=$state/store/${build_id:0:2}/${build_id:2}/generations/1/binary
cp -p "$binary" "$dir/binary.good"

digest_of()
{
	sha256sum "$1" | cut -d' ' -f1
}

name_of()
{
	printf %s "$1" | sha256sum | cut -d' ' -f1
}

# ---- who asks
socket_is_closed_to_others()
{
	! as_nobody /usr/bin/python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$dir/run/mount" 2>/dev/null
}
attack_held integrity-helper-socket-opened-by-a-user socket_is_closed_to_others
# Even a socket that somebody opened to the world does not help: the kernel says who asks.
chmod 666 "$dir/run/mount"
answer=$(as_nobody /usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(30)
s.sendall(b"sync\n"); print(s.makefile().readline(), end="")' "$dir/run/mount" || true)
attack_held integrity-helper-asked-by-a-user says 'only root may' <<<"$answer"
chmod 600 "$dir/run/mount"
user_cannot_unmount()
{
	! as_nobody "$MORPH_BIN/morph-mount" --config="$dir/morphd.conf" suspend 2>/dev/null && prog_is made
}
attack_held integrity-helper-run-by-a-user user_cannot_unmount
user_cannot_suspend()
{
	! as_nobody touch "$dir/run/mounts.suspended" 2>/dev/null && [ ! -e "$dir/run/mounts.suspended" ]
}
attack_held integrity-suspended-by-a-user user_cannot_suspend

# ---- what it is asked
attack_held integrity-helper-asked-for-a-path-with-dots says_error "$(ask "sync $dir/system/usr/../../etc/passwd
")"
attack_held integrity-helper-asked-for-nonsense says_error "$(ask "mount /etc/passwd over /usr/bin/sudo
")"
attack_held integrity-helper-asked-for-ever says_error "$(ask "sync /$(head -c 9000 /dev/zero | tr '\0' a)
")"
# Nothing in a request says what is mounted: without a record there is nothing to mount.
ask "sync $dir/system/usr/bin/other
" >/dev/null
attack_held integrity-helper-asked-for-what-no-record-names nothing_at "$dir/system/usr/bin/other"
# Somebody who says nothing keeps nobody waiting for ever.
python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); time.sleep(60)' "$dir/run/mount" &
pids+=($!)
sleep 0.3
attack_held integrity-helper-held-by-silence says '^ok' <<<"$(ask "sync $prog
")"

# morphd would drop records of programs that it does not know.
morphd_stop

# ---- records that only somebody who is root already could write: the helper believes none of them

# forge PATH SHIPPED GENERATION [DIGEST]: a record for PATH, with the file that it wants mounted
forge()
{
	local name

	name=$(name_of "$1")
	cp "$3" "$state/mounts/$name"
	chmod 755 "$state/mounts/$name"
	printf 'path = %s\nbuild_id = %s\nnumber = 1\ndigest = %s\nshipped = %s\n' "$1" "$build_id" "${4:-$(digest_of "$3")}" \
		"$(digest_of "$2")" >"$state/mounts/$name.mount"
	chmod 600 "$state/mounts/$name.mount"
}

unforge()
{
	rm -f "$state/mounts/$(name_of "$1")" "$state/mounts/$(name_of "$1").mount"
}

# repelled PATH: a sync fails, and nothing is mounted at PATH, or where it leads
repelled()
{
	local status=0 real

	real=$(realpath "$1")
	! helper sync "$1" 2>"$dir/err" || status=1
	[ "$(n_mounts "$real")" = 0 ] || { status=1; umount -l "$real"; }
	return $status
}

victim=$dir/system/usr/bin/victim
cp /bin/true "$victim"
chmod 755 "$victim"
cp /bin/false "$dir/evil"
forge "$victim" "$victim" "$dir/evil"
attack_held integrity-mount-of-what-is-not-in-the-store repelled "$victim"
forge "$victim" "$victim" "$dir/binary.good"
attack_held integrity-mount-of-a-generation-over-another-program repelled "$victim"
forge "$victim" "$MORPH_PROGRAMS/shipped" "$dir/binary.good"
attack_held integrity-mount-over-a-file-that-is-not-the-shipped-one repelled "$victim"
unforge "$victim"

outside=$dir/outside/prog
mkdir -p "$dir/outside"
cp "$MORPH_PROGRAMS/shipped" "$outside"
chmod 755 "$outside"
forge "$outside" "$outside" "$dir/binary.good"
attack_held integrity-mount-outside-of-the-prefixes repelled "$outside"
unforge "$outside"
forge "$dir/system/usrlocal/prog" "$outside" "$dir/binary.good"
mkdir -p "$dir/system/usrlocal" && cp "$outside" "$dir/system/usrlocal/prog"
attack_held integrity-mount-beside-a-prefix repelled "$dir/system/usrlocal/prog"
unforge "$dir/system/usrlocal/prog"

ln -s "$dir/outside" "$dir/system/usr/link"
forge "$dir/system/usr/link/prog" "$outside" "$dir/binary.good"
attack_held integrity-mount-through-a-linked-directory repelled "$dir/system/usr/link/prog"
unforge "$dir/system/usr/link/prog"
ln -s "$outside" "$dir/system/usr/bin/linked"
forge "$dir/system/usr/bin/linked" "$outside" "$dir/binary.good"
attack_held integrity-mount-over-a-link repelled "$dir/system/usr/bin/linked"
unforge "$dir/system/usr/bin/linked"

users=$dir/system/usr/users
mkdir -p "$users"
cp "$MORPH_PROGRAMS/shipped" "$users/prog"
chmod 755 "$users/prog"
chown 65534 "$users"
forge "$users/prog" "$users/prog" "$dir/binary.good"
attack_held integrity-mount-in-a-users-directory repelled "$users/prog"
chown 0 "$users" && chmod 777 "$users"
attack_held integrity-mount-in-a-directory-that-all-may-write repelled "$users/prog"
chmod 755 "$users" && chown 65534 "$users/prog"
attack_held integrity-mount-over-a-users-file repelled "$users/prog"
chown 0 "$users/prog" && chmod 777 "$users/prog"
attack_held integrity-mount-over-a-file-that-all-may-write repelled "$users/prog"
chmod 755 "$users/prog"
chown 65534 "$state/mounts/$(name_of "$users/prog")"
attack_held integrity-mount-of-a-users-file repelled "$users/prog"
chown 0 "$state/mounts/$(name_of "$users/prog")" && chmod 4755 "$state/mounts/$(name_of "$users/prog")"
attack_held integrity-mount-brings-a-set-user-id-bit repelled "$users/prog"
# And without any of that, it works: the attacks fail for the reason that is being tested.
chmod 755 "$state/mounts/$(name_of "$users/prog")"
helper sync "$users/prog" || fail "an honest record is refused"
[ "$(n_mounts "$users/prog")" = 1 ] || fail "an honest record is not carried out"
# Set-user-ID programs below it would get no rights that the packaged file's mount does not give.
grep " $users/prog " /proc/self/mountinfo | says ' ro,' || fail "a mount that can be written"
unforge "$users/prog"
helper sync "$users/prog"
[ "$(n_mounts "$users/prog")" = 0 ] || fail "a mount without a record stays"

# ---- a mount of somebody else's is left alone
forge "$users/prog" "$users/prog" "$dir/binary.good"
cp -p "$users/prog" "$dir/theirs" # the same bytes: nothing but the mount itself speaks against it
mount --bind "$dir/theirs" "$users/prog"
! helper sync "$users/prog" 2>"$dir/err" || true
theirs_stays()
{
	[ "$users/prog" -ef "$dir/theirs" ]
}
attack_held integrity-mount-over-somebodys-mount theirs_stays
unforge "$users/prog"
helper sync "$users/prog"
attack_held integrity-unmount-of-somebodys-mount theirs_stays
umount "$users/prog"

# ---- the store
store_is_closed()
{
	! as_nobody ls "$state/store" 2>/dev/null && ! as_nobody ls "$state/mounts" 2>/dev/null &&
		! as_nobody cp "$dir/evil" "$placed" 2>/dev/null && ! as_nobody mv "$dir/evil" "$state/mounts" 2>/dev/null &&
		! as_nobody sh -c "echo x >>'$prog'" 2>/dev/null && prog_is made
}
attack_held integrity-store-changed-by-a-user store_is_closed
# A writable descriptor cannot be had through the mount either, not even by root.
not_writable()
{
	! { : >>"$prog"; } 2>/dev/null
}
attack_held integrity-generation-written-through-the-mount not_writable

# Changed behind morphd's back, in place: what runs is found out, and it is not mounted again.
printf X | dd of="$placed" bs=1 seek=64 conv=notrunc status=none
found_out()
{
	! morph verify --config="$dir/morphd.conf" "$prog" >"$dir/out" && grep -q DIFFERS "$dir/out"
}
attack_held integrity-mounted-file-changed-in-place-is-found found_out
helper suspend
not_again()
{
	! helper resume 2>"$dir/err" && prog_is shipped
}
attack_held integrity-mounted-file-changed-in-place-comes-back not_again
cp -p "$dir/placed.good" "$placed"
printf X | dd of="$binary" bs=1 seek=64 conv=notrunc status=none
attack_held integrity-generation-changed-in-the-store not_again
store_is_told()
{
	! morph verify --config="$dir/morphd.conf" --all >"$dir/out" && grep -q 'generations/1/binary: damaged' "$dir/out"
}
attack_held integrity-generation-changed-in-the-store-is-found store_is_told
cp -p "$dir/binary.good" "$binary"
printf 'digest = %s\n' "$(digest_of "$dir/evil")" >>"$record"
attack_held integrity-record-changed not_again
cp "$dir/record.good" "$record"
helper resume || fail "the right bytes are refused"
prog_is made || fail "not mounted again"

# ---- time: between the check and the mount the packaged file changes hands, again and again
helper suspend
race()
{
	local i name

	for i in $(seq 400); do
		name=shipped
		((i % 2)) && name=upgraded
		cp "$MORPH_PROGRAMS/$name" "$prog.new$1" && chmod 755 "$prog.new$1"
		mv "$prog.new$1" "$prog" 2>/dev/null || { umount -l "$prog" 2>/dev/null || true; }
	done
}
rm -f "$dir/run/mounts.suspended"
race a &
racer=$!
pids+=("$racer")
bad=0
while kill -0 "$racer" 2>/dev/null; do
	helper sync "$prog" 2>/dev/null || true
	# Mounted, and what lies below is not what it was made for? Looked at with the racer stopped.
	kill -STOP "$racer" 2>/dev/null || break
	if [ "$(n_mounts)" != 0 ]; then
		mkdir -p "$dir/below"
		mount --bind "$dir/system/usr/bin" "$dir/below"
		cmp -s "$dir/below/prog" "$MORPH_PROGRAMS/shipped" || bad=$((bad + 1))
		umount "$dir/below"
	fi
	kill -CONT "$racer" 2>/dev/null || true
done
wait "$racer" || true
attack_held integrity-upgrade-between-check-and-mount test "$bad" = 0
while umount -l "$prog" 2>/dev/null; do :; done

# An upgrade that has happened is never hidden by a mount, whoever asks for it.
prog_install_here upgraded
helper sync 2>/dev/null || true
helper sync "$prog" 2>/dev/null || true
attack_held integrity-upgrade-hidden-by-a-mount prog_is upgraded
prog_install_here shipped

# ---- killed while it mounts: the next one finds a state that it can put right
bad=0
for i in $(seq 60); do
	if ((i % 2)); then cp "$dir/record.good" "$record"; else rm -f "$record"; fi
	"$MORPH_BIN/morph-mount" --config="$dir/morphd.conf" sync "$prog" 2>/dev/null &
	victim_pid=$!
	sleep "0.0$(printf %02d $((i * 7 % 60)))"
	kill -9 "$victim_pid" 2>/dev/null || true
	wait "$victim_pid" 2>/dev/null || true
	prog_is shipped || prog_is made || { bad=$((bad + 1)); echo "round $i: not whole"; }
	helper sync "$prog" || { bad=$((bad + 1)); echo "round $i: cannot be put right"; }
	if ((i % 2)); then
		prog_is made && [ "$(n_mounts)" = 1 ]
	else
		prog_is shipped && [ "$(n_mounts)" = 0 ]
	fi || { bad=$((bad + 1)); echo "round $i: $(n_mounts) mounts"; }
done
attack_held integrity-helper-killed-at-any-moment test "$bad" = 0
attacks_end
