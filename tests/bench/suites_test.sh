#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bench/archive/suites: what packages' suites say in their logs is counted, and added up over directories.

set -eu
python3 - "$MORPH_SOURCE/bench/archive/suites" <<'PYTHON'
import importlib.machinery, importlib.util, sys, tempfile

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("suites", sys.argv[1])
suites = importlib.util.module_from_spec(importlib.util.spec_from_loader("suites", loader))
loader.exec_module(suites)

automake = "PASS: a\nPASS: b\nFAIL: c\n# TOTAL: 3\n# PASS:  2\n# SKIP:  0\n# XFAIL: 0\n# FAIL:  1\n# XPASS: 0\n# ERROR: 0\n"
said = [
    (automake, [2, 1, 0]),
    (automake + "# PASS:  7\n# SKIP:  4\n# XFAIL: 1\n# FAIL:  0\n# ERROR: 1\n", [9, 2, 5]),
    ("PASS: one\nok 2 - two\nnot ok 3 - three\nSKIP: four\n", [2, 1, 1]),
    (" 1/3 Test  #1: a ....   Passed    0.02 sec\n 2/3 Test  #2: b ...***Failed    1 sec\n 3/3 Test #10: c .......***Skipped   0.00 sec\n"
     "50% tests passed, 1 tests failed out of 2\n", [1, 1, 1]),
    ("4 errors out of 1234 tests on vm Linux 64-bit\n", [1230, 4, 0]),
    ("1304 Tests in 134 Categories Complete ... No Failures :-)\n", [1304, 0, 0]),
    ("If you got this far, it looks\nlike you're in business.\n", [1, 0, 0]),
    ("ALL TESTS PASSED\n", [1, 0, 0]),
    ("\t\t*** zlib test OK ***\n\t\t*** zlib shared test OK ***\n\t\t*** zlib 64-bit test FAILED ***\n", [2, 1, 0]),
    ("checking whether build environment is sane... yes\n", [0, 0, 0]),
]
for text, expected in said:
    with tempfile.NamedTemporaryFile("w") as log:
        log.write(text)
        log.flush()
        found = suites.counts(log.name)
    if found != expected:
        print(f"FAILED: {text!r} is counted as {found}, not {expected}")
        sys.exit(1)
PYTHON
