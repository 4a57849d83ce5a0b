#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A morphd as root, and a user beside it who wants in: by questions that write or tell too much, by connections, by
# messages, by files.

. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../attack.sh"

export PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH # a python3 that user nobody can reach, too
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
command -v setpriv >/dev/null || { echo "skipped: there is no setpriv"; exit 77; }

socket=$dir/run/socket
home=$dir/home
mkdir -p "$dir/public" "$home"
cp "$MORPH_BIN/manager-call" "$MORPH_BIN/morph" "$dir/public/"
chmod 755 "$dir/public" "$dir/public"/*
export ASAN_OPTIONS=detect_leaks=0
prefixes="$dir/bin /usr /bin"
prog_install
config_write
morphd_start
sampled 3000

as()
{
	local uid=$1

	shift
	setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}
not()
{
	! "$@"
}
nobody()
{
	as 65534 "$@"
}
call()
{
	nobody "$dir/public/manager-call" "$socket" "$@" || true
}

# The rows themselves, not what morphd says of them.
rows()
{
	python3 - "$dir/state/state.db" <<-'END'
		import sqlite3, sys
		db = sqlite3.connect(sys.argv[1])
		for table in ("module", "target", "generation", "refusal", "event", "pin", "swap"):
		    for row in db.execute(f"SELECT * FROM {table} ORDER BY 1"):
		        print(table, row)
	END
}

# ---- questions
user_copy=$home/private/prog
mkdir -m 700 "$home/private"
cp "$MORPH_PROGRAMS/shipped" "$user_copy"
chown -R 65534:65534 "$home"
cp "$MORPH_PROGRAMS/shipped" "$dir/bin/second"
mkfifo "$dir/bin/fifo"
mkdir "$dir/bin/directory"
cp "$dir/bin/second" "$dir/bin/unreadable"
chmod 600 "$dir/bin/unreadable"
ln -s second "$dir/bin/link"
# What morphd thinks of the program by itself it writes once, at its next tick.
verdict_is_there() { rows | grep -q 'only on request'; }
eventually verdict_is_there
before=$(rows)
oracle()
{
	for path in "$dir/bin/second" "$dir/bin/missing" "$dir/bin/fifo" "$dir/bin/directory" "$dir/bin/unreadable" \
		"$dir/bin/link" "$user_copy" "$home/missing" /root/x /root/.bashrc /etc/shadow /dev/null "$dir/state/state.db"; do
		for method in Explain History; do
			call "$method" "$path" | sed "s|$path|PATH|g"
		done
	done | sort -u | tee "$dir/told" | wc -l
}
attack_held bus-explain-is-no-oracle test "$(oracle)" = 1
grep -q 'not known to morphd' "$dir/told" || fail "it says: $(cat "$dir/told")"
attack_held bus-explain-registers-nothing test "$before" = "$(rows)"

# What used to follow: the next edit replaced the copies of whoever had asked for them.
morph reoptimize "$prog" >/dev/null
untouched()
{
	cmp -s "$user_copy" "$MORPH_PROGRAMS/shipped" && cmp -s "$dir/bin/second" "$MORPH_PROGRAMS/shipped"
}
attack_held bus-copy-in-a-directory-of-mode-0700 untouched
prog_is made || fail "the program that was meant is edited"
refused 'is not where packages install' morph reoptimize "$user_copy"

# The path of a question, resolved with the rights of him who asks.
explained()
{
	nobody "$dir/public/morph" explain "$1" 2>&1 || true
}
explained "$prog" | says 'generation 1 is active' || fail "the system's programs are explained to everybody"
explained "$user_copy" | says 'is not where packages install' || fail "his own file is explained: $(explained "$user_copy")"
explained "$dir/bin/unreadable" | says 'cannot read' || fail "what he may not read is not: $(explained "$dir/bin/unreadable")"
explained "$dir/bin/missing" | says 'missing: does not exist' || fail "$(explained "$dir/bin/missing")"
explained /bin/true | says 'not known to morphd: /bin/true: carries no Morph data' || fail "$(explained /bin/true)"
explained "$dir/bin/second" | says 'was not seen running yet' || fail "$(explained "$dir/bin/second")"

# ---- what others run
"$MORPH_BIN/manager-samples" "$dir/part" "$MORPH_PROGRAMS/upgraded" "/home/alice/secret project/prog" 500 900
mv "$dir/part" "$dir/spool/900900.samples"
spool_wait
sees()
{
	nobody "$dir/public/morph" status -a "$@" --json 2>&1 | grep -q alice
}
morph status -a | says 'alice/secret' || fail "root sees all"
attack_held bus-status-shows-other-users not sees
attack_held bus-all-users-is-for-root not sees --all-users
(nobody "$dir/public/morph" status --all-users 2>&1 || true) | says 'only root may see' || fail "it says why"
attack_held bus-explain-shows-other-users test "$(call Explain '/home/alice/secret project/prog')" = \
	"$(call Explain '/home/bob/nothing')"
nobody "$dir/public/morph" status | says "$prog" || fail "the system's are shown"

# ---- whoever may not, on the socket
for attempt in "Reoptimize $prog" "Rollback $prog 0" RollbackAll "Pin $prog mine" "Unpin $prog" \
	"PinPart $prog function main 0 mine" "UnpinPart $prog function main"; do
	# shellcheck disable=SC2086
	attack_held "bus-socket-${attempt%% *}-by-nobody" grep -q "AccessDenied\|LimitsExceeded" <(sleep 0.2; call $attempt)
done
prog_is made || fail "nobody changed something"

# ---- connections
cat >"$dir/public/hold.py" <<-'END'
	import os, socket, sys, time
	path, n, seconds, half = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "half"
	held = []
	for i in range(n):
	    s = socket.socket(socket.AF_UNIX)
	    try:
	        s.settimeout(0.2)
	        s.connect(path)
	        if half:
	            s.send(b"\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\nl\1\0\1\x10\0\0\0\1\0\0\0\x60\0\0\0half of it")
	        held.append(s)
	    except OSError:
	        pass
	print(len(held), flush=True)
	end = time.time() + seconds
	while time.time() < end and held:
	    time.sleep(0.1)
	    for s in held[:]:
	        s.setblocking(False)
	        try:
	            while s.recv(4096):
	                pass
	            held.remove(s)
	        except BlockingIOError:
	            pass
	        except OSError:
	            held.remove(s)
	print(len(held), flush=True)
END
answers()
{
	timeout 5 "$@" >/dev/null 2>&1
}
hold()
{
	as "$1" python3 "$dir/public/hold.py" "$socket" "$2" 3 "$3" >"$dir/held" &
	holder=$!
	eventually test -s "$dir/held"
}
for n in 64 1000; do
	hold 65534 "$n" idle
	attack_held "bus-$n-idle-connections" answers "$MORPH_BIN/morph" status
	attack_held "bus-$n-idle-connections-and-another-user" answers setpriv --reuid=65533 --regid=65533 --clear-groups "$dir/public/morph" status
	wait "$holder"
done
hold 65534 200 half
attack_held bus-half-messages answers "$MORPH_BIN/morph" status
wait "$holder"

# Users without number (a range of subordinate IDs, say): root has connections of its own, others get one when it is old.
crowd=()
for uid in $(seq 70000 70011); do
	as "$uid" python3 "$dir/public/hold.py" "$socket" 16 4 idle >/dev/null &
	crowd+=($!)
done
sleep 1.5
attack_held bus-connections-of-twelve-users answers "$MORPH_BIN/morph" status
attack_held bus-connections-of-twelve-users-and-another answers setpriv --reuid=65533 --regid=65533 --clear-groups "$dir/public/morph" status
for pid in "${crowd[@]}"; do wait "$pid"; done

# A connection that says nothing, or half a message, is not for ever.
as 65534 python3 "$dir/public/hold.py" "$socket" 4 14 half >"$dir/held"
attack_held bus-slow-loris test "$(tail -1 "$dir/held")" = 0

# ---- messages
peak()
{
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$morphd/status"
}
grown_less()
{
	[ $(($(peak) - $2)) -lt "$1" ]
}
before=$(peak)
nobody python3 - "$socket" <<-'END'
	import socket, struct, sys
	for i in range(8):
	    s = socket.socket(socket.AF_UNIX)
	    s.connect(sys.argv[1])
	    try:
	        s.sendall(b"\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n" + b"l\1\0\1" + struct.pack("<III", 100 << 20, 1, 0))
	        for _ in range(400):
	            s.sendall(b"x" * (256 << 10))
	    except OSError:
	        pass
END
attack_held bus-huge-messages grown_less 16000 "$before"
storm()
{
	nobody "$dir/public/manager-call" "$socket" 'Status*120' | grep -c LimitsExceeded
}
attack_held bus-storm-of-status test "$(storm)" -gt 20
answers "$MORPH_BIN/morph" status || fail "root is not counted"

# ---- files that morphd looks into
python3 - "$MORPH_PROGRAMS/shipped.plain" "$dir/bomb.morph" "$MORPH_PROGRAMS/shipped.morph" <<-'END'
	import struct, sys, zlib
	data = open(sys.argv[1], "rb").read()
	at = data.index(b"GNU\0", data.index(b"\x14\0\0\0\3\0\0\0GNU\0")) + 4
	payload = b"\x14" + data[at:at + 20] + b"\0" + b"\x0622.1.8" + b"\0" * (190 << 20)
	stored = zlib.compress(payload, 9)
	kind, version = struct.unpack("<HH", open(sys.argv[3], "rb").read()[8:12])
	head = b"\x89MORPH\r\n" + struct.pack("<HHIQI", kind, version, 1, len(payload), len(stored))
	open(sys.argv[2], "wb").write(head + struct.pack("<I", zlib.crc32(stored, zlib.crc32(head))) + stored)
END
"$MORPH_LLVM_DIR/bin/llvm-objcopy" --add-section .morph="$dir/bomb.morph" "$MORPH_PROGRAMS/shipped.plain" "$dir/bin/bomb"
before=$(peak)
morph reoptimize "$dir/bin/bomb" >/dev/null 2>&1 || true
attack_held gate-payload-of-190-megabytes-in-190-kilobytes grown_less 32000 "$before"
answers "$MORPH_BIN/morph" status || fail "morphd lives on"

# Another file with the build ID of a known program.
cp "$MORPH_PROGRAMS/shipped" "$dir/bin/double"
printf 'payload' >>"$dir/bin/double"
"$MORPH_BIN/manager-samples" "$dir/part" "$MORPH_PROGRAMS/shipped" "$dir/bin/double" 500 902
mv "$dir/part" "$dir/spool/900902.samples"
spool_wait
explained "$dir/bin/double" | says 'left alone: .*other bytes (SHA-256' || fail "$(explained "$dir/bin/double")"
refused 'other bytes' morph reoptimize "$dir/bin/double"
attack_held gate-double-is-edited-with-the-others-counts cmp -s -n "$(stat -c %s "$MORPH_PROGRAMS/shipped")" "$dir/bin/double" \
	"$MORPH_PROGRAMS/shipped"

# A name that a terminal would obey.
evil=$dir/bin/$'x\e[2J\e]0;title\a\n\xe2\x80\xaeevil\xff'
cp "$MORPH_PROGRAMS/upgraded" "$evil"
"$MORPH_BIN/manager-samples" "$dir/part" "$MORPH_PROGRAMS/upgraded" "$evil" 500 901
mv "$dir/part" "$dir/spool/900901.samples"
spool_wait
printed()
{
	morph status -a
	morph status -a --json
	morph history
	morph explain "$evil"
	morph reoptimize "$evil"
	morph inspect "$evil"
	morph dump "$evil"
	morph inspect "$dir/bin/"$'\e[31m'
	morph "$(printf '\e[31m')"
}
harmless()
{
	! (printed 2>&1 || true) | LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f\xff]\|\xe2\x80\xae'
}

attack_held gate-escapes-in-what-verbs-print harmless
(printed 2>&1 || true) | says '\\x1b\[2J' || fail "the name is shown, escaped"
attack_held gate-escapes-in-the-log not grep -q $'[\x01-\x08\x0b-\x1f]' "$dir/morphd.log"

attacks_end
