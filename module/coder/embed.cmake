# SPDX-License-Identifier: Apache-2.0
# cmake -DINPUT=FILE -DOUTPUT=FILE -P embed.cmake: the bytes of the example (example.h) as C
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT} "/* Made from module/coder/example.bin by embed.cmake */\n#include <stddef.h>\n"
	"extern const unsigned char example_bytes[];\nextern const size_t example_size;\n"
	"const unsigned char example_bytes[] = {${bytes}};\nconst size_t example_size = sizeof(example_bytes);\n")
