# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=FILE -DFUNCTIONS=FILE -DSTEPS=FILE... -P embed.cmake: the SQL files as C, each a text of its own
set(c "/* Made from fleet/schema by embed.cmake */\n#include \"fleet/schema.h\"\n")
function(embed name file)
	file(READ ${file} hex HEX)
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
	set(c "${c}static const char ${name}[] = {${bytes}0};\n" PARENT_SCOPE)
endfunction()

set(n 0)
string(REPLACE "," ";" STEPS "${STEPS}")
foreach(file ${STEPS})
	math(EXPR n "${n} + 1")
	embed(step_${n} ${file})
	string(APPEND table "step_${n}, ")
endforeach()
embed(functions ${FUNCTIONS})
file(WRITE ${OUTPUT} "${c}const char *const schema_steps[] = { ${table}NULL };\nconst char *const schema_functions = functions;\n")
