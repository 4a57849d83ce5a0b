#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs whose libraries lie where only their run path says, as below /opt: they are edited, and the sandbox is shown no other
# file for it.
set -euo pipefail
. "$(dirname "$0")/../attack.sh"
. "$(dirname "$0")/work.sh"

mkdir -p app/bin app/lib
cat >it.c <<-'C'
	unsigned it(unsigned n) { unsigned sum = 0; for (unsigned i = 0; i < n; i++) sum ^= i * n + sum / 3; return sum; }
C
cat >main.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	extern unsigned it(unsigned n);
	int main(int argc, char **argv)
	{
		unsigned sum = 0;

		for (unsigned i = 0; i < strtoul(argv[1], 0, 10); i++)
			sum += it(i % 100) + i % 7;
		printf("%u\n", sum);
		return 0;
	}
C
morph cc -O2 -shared -fPIC it.c -Wl,-soname,libit.so.1 -o app/lib/libit.so.1.0
morph cc -O2 -shared -fPIC it.c -Wl,-soname,libidle.so.1 -o app/lib/libidle.so.1
ln -s libit.so.1.0 app/lib/libit.so.1

# built RUN-PATH: app/bin/main, and its profile
built()
{
	morph cc -O2 main.c app/lib/libit.so.1 -Wl,--as-needed app/lib/libidle.so.1 -Wl,-rpath,"$1" -o app/bin/main
	exact_samples app/bin/main samples 2000
	morph profile app/bin/main samples --estimator exact -o profile >/dev/null
}

# edited OPTION...: there is a generation, which does the same
edited()
{
	rm -f app/bin/new
	morph optimize app/bin/main --force --profile profile -o app/bin/new "$@" 2>err.txt || fail "$(cat err.txt)"
	[ "$(app/bin/new 3000)" = "$(app/bin/main 3000)" ] || fail "the generation does something else"
}

# unseen WHAT: there is no generation, and no file in the work directory has the word of @secret
unseen()
{
	rm -rf app/bin/new stages
	mkdir stages
	chmod 755 stages
	morph optimize app/bin/main --force --profile profile -o app/bin/new --work-dir stages --keep-work-dir >err.txt 2>&1 || true
	[ "$(find stages -name 'morph-edit.*' | wc -l)" -ge 1 ] || fail "$1: the stages are not there: $(cat err.txt)"
	attack_held "own-libraries-$1" bash -c '! grep -rq MORPHSECRET stages'
	[ ! -e app/bin/new ] || fail "$1: there is a generation"
}

echo "an absolute run path, and a library that is a link"
built "$work/app/lib"
edited
edited --layout-only

echo "a run path from where the program is"
built '$ORIGIN/../lib'
edited
mkdir elsewhere
cp app/bin/main elsewhere/copy
morph optimize elsewhere/copy --force --profile profile -o elsewhere/new 2>err.txt || fail "a copy in a store: $(cat err.txt)"

echo "what is no library, or not for everybody, is not shown to the sandbox"
mv app/lib/libit.so.1.0 kept
printf 'MORPHSECRET\n' >secret
chmod 600 secret
ln -sf "$work/secret" app/lib/libit.so.1
unseen file
rm app/lib/libit.so.1
mkdir app/lib/libit.so.1
cp secret app/lib/libit.so.1/
unseen directory
rm -r app/lib/libit.so.1
mkfifo app/lib/libit.so.1
echo word >app/lib/libit.so.1 2>/dev/null &
writer=$!
unseen pipe
attack_held own-libraries-pipe-was-opened kill -0 $writer
kill $writer
wait $writer 2>/dev/null || true
rm app/lib/libit.so.1
if [ "$(id -u)" = 0 ]; then
	{ cat kept; printf 'MORPHSECRET\n'; } >app/lib/libit.so.1
	chmod 600 app/lib/libit.so.1
	unseen roots-library
	chmod 644 app/lib/libit.so.1
	chmod 700 app/lib
	unseen roots-directory
	chmod 755 app/lib
	edited
fi
attacks_end
