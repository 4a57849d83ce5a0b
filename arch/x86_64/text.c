/* SPDX-License-Identifier: Apache-2.0 */

/* The text of x86-64's instructions (decision 93). */

#include "arch/x86_64/text.h"

#include <Zydis/Zydis.h>
#include <pthread.h>

static ZydisDecoder decoder;
static ZydisFormatter formatter;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void formatter_init(void)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
}

bool x86_text(const uint8_t *code, size_t size, uint64_t address, char *ret, size_t n)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	pthread_once(&once, formatter_init);
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &insn, operands)) &&
	       ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
		       &formatter, &insn, operands, insn.operand_count_visible, ret, n, address, ZYAN_NULL));
}
