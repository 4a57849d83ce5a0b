#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morphd with its own default commands on a real program: built by morph cc, sampled, edited by the
# real editor as another user, put into place, sampled again as that generation, edited again.

. "$(dirname "$0")/lib.sh"

real_config_write
real_program
chmod 0751 "$prog"
touch -d '2001-02-03 04:05:06.789' "$prog"
before=$(prog_stat)
expected=$("$prog" 3000 2)
morphd_start

trained 1
first=$(json status '.modules[0].samples')
[ "$first" -gt 500 ] || fail "only $first samples"
morph reoptimize "$prog"
is "generation" 1 "$(json status '.modules[0].generation')"
is "output of generation 1" "$expected" "$("$prog" 3000 2)"
is "owner, mode, time" "$before" "$(prog_stat)"
! cmp -s "$prog" "$dir/tools/vm" || fail "the file did not change"

trained 2
[ "$(json explain '.generations[1].samples' "$prog")" -gt 500 ] || fail "samples of generation 1"
morph reoptimize "$prog"
is "output of the next generation" "$expected" "$("$prog" 3000 2)"
used=$(json explain '.generations[-1].profile_samples' "$prog")
[ "${used%.*}" -gt "$first" ] || fail "the second edit used $used samples, not those of both generations"

morph rollback "$prog"
cmp "$prog" "$dir/tools/vm" || fail "not as shipped"
is "owner, mode, time after the rollback" "$before" "$(prog_stat)"

# IR that was packed beside other constants than the file has is refused as damaged.
other=$dir/bin/other
(cd "$dir/tools" && morph cc -O1 -o other "$sources/vm.c" "$sources/main.c")
at=$(LC_ALL=C grep -abo 'vm: program too long' "$dir/tools/other" | head -n 1 | cut -d : -f 1)
cp "$dir/tools/other" "$other"
printf 'V' | dd of="$other" bs=1 seek="$at" conv=notrunc status=none
morph record --files -F 4000 -o "$dir/spool/.3" -- "$other" 3000000 4 >/dev/null 2>&1
mv "$dir/spool/.3" "$dir/spool/3.samples"
spool_wait
! morph reoptimize "$other" 2>"$dir/err.txt" || fail "what does not regenerate was edited"
says "packed beside other loaded bytes" <"$dir/err.txt" || fail "the refusal: $(cat "$dir/err.txt")"

# Text that does not regenerate is refused, unless morphd.conf names the program: then its IR is taken at its word, and morphd says so.
other=$dir/bin/otherwise
(cd "$dir/tools" && morph cc -O1 -Wl,-z,now -o otherwise "$sources/vm.c" "$sources/main.c")
padding=$(LC_ALL=C grep -abPo '\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00' "$dir/tools/otherwise" | head -n 1 | cut -d : -f 1)
cp "$dir/tools/otherwise" "$other"
printf '\x01' | dd of="$other" bs=1 seek=$((padding + 9)) conv=notrunc status=none
altered() { LC_ALL=C grep -aqP '\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x01' "$other"; }
altered || fail "nothing was altered"
morph record --files -F 4000 -o "$dir/spool/.4" -- "$other" 3000000 4 >/dev/null 2>&1
mv "$dir/spool/.4" "$dir/spool/4.samples"
spool_wait
! morph reoptimize "$other" 2>"$dir/err.txt" || fail "what does not regenerate was edited"
says "not the program.*rebase in morphd.conf" <"$dir/err.txt" || fail "the refusal: $(cat "$dir/err.txt")"
morphd_stop
echo "rebase = /nowhere/* $dir/bin/oth*" >>"$dir/morphd.conf"
morphd_start
morph reoptimize "$other"
is "output of the rebased generation" "$expected" "$("$other" 3000 2)"
! altered || fail "the rebased generation does not have what the IR says"
morph history "$other" | says "rebased: " || fail "the history: $(morph history "$other")"
morph rollback "$other"
altered || fail "not as shipped"

# What LLVM cannot optimize is placed anew, and the history says why no more was done.
other=$dir/bin/labelled
(cd "$dir/tools" && morph cc -O2 -o labelled "$MORPH_SOURCE/tests/programs/labelled/labelled.c")
cp "$dir/tools/labelled" "$other"
morph record --files -F 4000 -o "$dir/spool/.5" -- "$other" 20000000 >/dev/null 2>&1
mv "$dir/spool/.5" "$dir/spool/5.samples"
spool_wait
morph reoptimize "$other"
is "output of what was placed" "$("$dir/tools/labelled" 3000)" "$("$other" 3000)"
! cmp -s "$other" "$dir/tools/labelled" || fail "$other is as shipped"
morph history "$other" | says "as shipped in a new order, .*already defined" || fail "the history: $(morph history "$other")"
morphd_stop
