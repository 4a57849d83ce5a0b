/* SPDX-License-Identifier: Apache-2.0 */

/* x86-64, through Zydis. */

#include <Zydis/Zydis.h>
#include <elf.h>
#include <pthread.h>

#include "arch/arch.h"
#include "arch/x86_64/text.h"

static ZydisDecoder decoder, length_decoder;
static pthread_once_t decoder_once = PTHREAD_ONCE_INIT;

static void decoder_init(void)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	length_decoder = decoder;
	ZydisDecoderEnableMode(&length_decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
}

static const uint8_t class_of_category[ZYDIS_CATEGORY_MAX_VALUE + 1] = {
	[ZYDIS_CATEGORY_BINARY] = INSN_ALU + 1,
	[ZYDIS_CATEGORY_LOGICAL] = INSN_ALU + 1,
	[ZYDIS_CATEGORY_FLAGOP] = INSN_ALU + 1,
	[ZYDIS_CATEGORY_ADOX_ADCX] = INSN_ALU + 1,
	[ZYDIS_CATEGORY_MISC] = INSN_ALU + 1, /* lea */
	[ZYDIS_CATEGORY_BITBYTE] = INSN_SHIFT + 1,
	[ZYDIS_CATEGORY_BMI1] = INSN_SHIFT + 1,
	[ZYDIS_CATEGORY_BMI2] = INSN_SHIFT + 1,
	[ZYDIS_CATEGORY_LZCNT] = INSN_SHIFT + 1,
	[ZYDIS_CATEGORY_SHIFT] = INSN_SHIFT + 1,
	[ZYDIS_CATEGORY_ROTATE] = INSN_SHIFT + 1,
	[ZYDIS_CATEGORY_TBM] = INSN_SHIFT + 1,
	[ZYDIS_CATEGORY_CMOV] = INSN_SELECT + 1,
	[ZYDIS_CATEGORY_SETCC] = INSN_SELECT + 1,
	[ZYDIS_CATEGORY_FCMOV] = INSN_FLOAT + 1,
	[ZYDIS_CATEGORY_DATAXFER] = INSN_MOVE + 1,
	[ZYDIS_CATEGORY_UNCOND_BR] = INSN_JUMP + 1,
	[ZYDIS_CATEGORY_COND_BR] = INSN_BRANCH + 1,
	[ZYDIS_CATEGORY_CALL] = INSN_CALL + 1,
	[ZYDIS_CATEGORY_RET] = INSN_RETURN + 1,
	[ZYDIS_CATEGORY_PUSH] = INSN_STACK + 1,
	[ZYDIS_CATEGORY_POP] = INSN_STACK + 1,
	[ZYDIS_CATEGORY_SSE] = INSN_VECTOR + 1,
	[ZYDIS_CATEGORY_AVX] = INSN_VECTOR + 1,
	[ZYDIS_CATEGORY_AVX2] = INSN_VECTOR + 1,
	[ZYDIS_CATEGORY_AVX512] = INSN_VECTOR + 1,
	[ZYDIS_CATEGORY_MMX] = INSN_VECTOR + 1,
	[ZYDIS_CATEGORY_BLEND] = INSN_VECTOR + 1,
	[ZYDIS_CATEGORY_BROADCAST] = INSN_VECTOR + 1,
	[ZYDIS_CATEGORY_LOGICAL_FP] = INSN_VECTOR + 1,
	[ZYDIS_CATEGORY_GATHER] = INSN_VECTOR + 1,
	[ZYDIS_CATEGORY_AVX2GATHER] = INSN_VECTOR + 1,
	[ZYDIS_CATEGORY_CONVERT] = INSN_FLOAT + 1,
	[ZYDIS_CATEGORY_VFMA] = INSN_FLOAT + 1,
	[ZYDIS_CATEGORY_X87_ALU] = INSN_FLOAT + 1,
	[ZYDIS_CATEGORY_STRINGOP] = INSN_STRING + 1,
	[ZYDIS_CATEGORY_NOP] = INSN_NOP + 1,
	[ZYDIS_CATEGORY_WIDENOP] = INSN_NOP + 1,
	[ZYDIS_CATEGORY_CET] = INSN_NOP + 1, /* endbr64 */
	[ZYDIS_CATEGORY_PREFETCH] = INSN_NOP + 1,
	[ZYDIS_CATEGORY_SYSCALL] = INSN_SYSTEM + 1,
	[ZYDIS_CATEGORY_SYSTEM] = INSN_SYSTEM + 1,
	[ZYDIS_CATEGORY_SEMAPHORE] = INSN_ALU + 1, /* cmpxchg, xadd */
};

/* Categories lump together what costs differently. */
static enum insn_class class_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	uint8_t class = class_of_category[insn->meta.category];

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_MULX: return INSN_MULTIPLY;
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV: return INSN_DIVIDE;
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_MFENCE:
	case ZYDIS_MNEMONIC_SFENCE:
	case ZYDIS_MNEMONIC_PAUSE:
	case ZYDIS_MNEMONIC_CPUID: return INSN_SYSTEM;
	default: break;
	}
	if (class == INSN_VECTOR + 1 || class == INSN_FLOAT + 1) {
		switch (insn->mnemonic) {
		case ZYDIS_MNEMONIC_DIVSS:
		case ZYDIS_MNEMONIC_DIVSD:
		case ZYDIS_MNEMONIC_DIVPS:
		case ZYDIS_MNEMONIC_DIVPD:
		case ZYDIS_MNEMONIC_VDIVSS:
		case ZYDIS_MNEMONIC_VDIVSD:
		case ZYDIS_MNEMONIC_VDIVPS:
		case ZYDIS_MNEMONIC_VDIVPD:
		case ZYDIS_MNEMONIC_SQRTSS:
		case ZYDIS_MNEMONIC_SQRTSD:
		case ZYDIS_MNEMONIC_SQRTPS:
		case ZYDIS_MNEMONIC_SQRTPD:
		case ZYDIS_MNEMONIC_VSQRTSS:
		case ZYDIS_MNEMONIC_VSQRTSD:
		case ZYDIS_MNEMONIC_VSQRTPS:
		case ZYDIS_MNEMONIC_VSQRTPD:
		case ZYDIS_MNEMONIC_FDIV:
		case ZYDIS_MNEMONIC_FDIVP:
		case ZYDIS_MNEMONIC_FDIVR:
		case ZYDIS_MNEMONIC_FDIVRP:
		case ZYDIS_MNEMONIC_FSQRT: return INSN_FLOAT_DIVIDE;
		default: break;
		}
		if (insn->operand_count > 1 && (operands[1].element_type == ZYDIS_ELEMENT_TYPE_FLOAT32 ||
						operands[1].element_type == ZYDIS_ELEMENT_TYPE_FLOAT64 ||
						operands[1].element_type == ZYDIS_ELEMENT_TYPE_FLOAT80))
			return INSN_FLOAT;
	}
	return class ? (enum insn_class)(class - 1) : INSN_OTHER;
}

static uint64_t register_bit(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15)
		return 1ull << (whole - ZYDIS_REGISTER_RAX);
	if (whole >= ZYDIS_REGISTER_ZMM0 && whole <= ZYDIS_REGISTER_ZMM31)
		return 1ull << (32 + whole - ZYDIS_REGISTER_ZMM0);
	if (reg == ZYDIS_REGISTER_RFLAGS || reg == ZYDIS_REGISTER_FLAGS || reg == ZYDIS_REGISTER_EFLAGS)
		return INSN_FLAGS_REGISTER;
	return 0;
}

/* What is added to the registers of an address; without any, the address. */
static int64_t offset_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand,
			 uint64_t address)
{
	bool is_relative = operand->mem.base == ZYDIS_REGISTER_RIP || operand->mem.base == ZYDIS_REGISTER_EIP;

	return (int64_t)((uint64_t)operand->mem.disp.value + (is_relative ? address + insn->length : 0));
}

/* The first operand in memory that is loaded or stored. */
static void memory_describe(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand,
			    uint64_t address, struct insn *ret)
{
	uint64_t base = register_bit(operand->mem.base), index = register_bit(operand->mem.index);

	if (ret->width)
		return;
	ret->width = operand->size / 8;
	ret->offset = offset_of(insn, operand, address);
	if (base)
		ret->base = (uint8_t)__builtin_ctzll(base);
	if (index)
		ret->index = (uint8_t)__builtin_ctzll(index);
	if (operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS)
		ret->base = INSN_OTHER_REGISTER;
}

/* Zen 2 to 5 and Intel since Skylake: two cycles, or three, instead of one (uops.info). */
static bool adds_more(const ZydisDecodedOperand *operand)
{
	return operand->mem.index != ZYDIS_REGISTER_NONE &&
	       (operand->mem.scale > 1 ||
		(operand->mem.base != ZYDIS_REGISTER_NONE && operand->mem.disp.value != 0));
}

static void operand_read(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand,
			 uint64_t address, struct insn *ret)
{
	uint64_t used = 0;

	switch (operand->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		used = register_bit(operand->reg.value);
		if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			ret->reads |= used;
		if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			ret->writes |= used;
		return;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		used = register_bit(operand->mem.base) | register_bit(operand->mem.index);
		ret->addresses |= used;
		ret->reads |= used;
		if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN && adds_more(operand))
			ret->more = 1;
		if (operand->mem.type != ZYDIS_MEMOP_TYPE_MEM || ret->class == INSN_NOP)
			return;
		if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			ret->flags |= INSN_LOADS;
		if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			ret->flags |= INSN_STORES;
		memory_describe(insn, operand, address, ret);
		return;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		if (operand->imm.is_relative)
			ret->target = address + insn->length + (uint64_t)operand->imm.value.s;
		return;
	default: return;
	}
}

/* xor eax, eax and its like need no input. */
static bool is_zeroing(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS: break;
	default: return false;
	}
	return insn->operand_count_visible >= 2 && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[insn->operand_count_visible - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[insn->operand_count_visible - 2].reg.value ==
		       operands[insn->operand_count_visible - 1].reg.value;
}

static enum insn_flow flow_of(const ZydisDecodedInstruction *insn, enum insn_class class)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_HLT: return INSN_TRAPS; /* no program may halt the processor */
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT: return INSN_RETURNS;
	case ZYDIS_MNEMONIC_XABORT: /* their categories are jumps' */
	case ZYDIS_MNEMONIC_XEND: return INSN_FALLS;
	default: break;
	}
	return class == INSN_JUMP   ? INSN_JUMPS :
	       class == INSN_BRANCH ? INSN_BRANCHES :
	       class == INSN_CALL   ? INSN_CALLS :
	       class == INSN_RETURN ? INSN_RETURNS :
				      INSN_FALLS;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

/* All but registers, and where jumps and calls lead. */
static uint32_t what_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
			uint64_t address)
{
	uint64_t hash = mix(1, insn->mnemonic);

	for (int i = 0; i < insn->operand_count_visible; i++) {
		hash = mix(hash, (uint64_t)operands[i].type << 16 | operands[i].size);
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			hash = mix(hash, (uint64_t)offset_of(insn, &operands[i], address));
			hash = mix(hash, (uint64_t)operands[i].mem.scale << 16 | operands[i].mem.segment);
		} else if (operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !operands[i].imm.is_relative) {
			hash = mix(hash, operands[i].imm.value.u);
		}
	}
	return (uint32_t)(hash >> 16);
}

/* jo, jno, jb, jnb ..: pairs by their opcodes; their operation is one. */
static bool is_condition(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_COND_BR &&
	       (insn->opcode & 0xf0) == (insn->opcode_map == ZYDIS_OPCODE_MAP_0F ? 0x80 : 0x70);
}

static bool x86_decode(const uint8_t *code, size_t size, uint64_t address, struct insn *ret)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	pthread_once(&decoder_once, decoder_init);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &insn, operands)))
		return false;
	ret->size = insn.length;
	ret->class = class_of(&insn, operands);
	ret->flow = flow_of(&insn, ret->class);
	if ((insn.attributes & ZYDIS_ATTRIB_HAS_LOCK) ||
	    (insn.mnemonic == ZYDIS_MNEMONIC_XCHG && (insn.attributes & ZYDIS_ATTRIB_HAS_MODRM) &&
	     insn.raw.modrm.mod != 3)) /* with memory, always */
		ret->flags |= INSN_LOCKED;
	for (int i = 0; i < insn.operand_count; i++)
		operand_read(&insn, &operands[i], address, ret);
	if (is_zeroing(&insn, operands))
		ret->reads = 0;
	if ((ret->class == INSN_JUMP || ret->class == INSN_CALL) && !ret->target)
		ret->flags |= INSN_INDIRECT;
	if (is_condition(&insn))
		ret->condition = insn.opcode & 15;
	else
		ret->what = what_of(&insn, operands, address);
	return true;
}

static uint32_t x86_count(const uint8_t *code, size_t size)
{
	uint32_t n = 0;

	pthread_once(&decoder_once, decoder_init);
	for (size_t at = 0; at < size; n++) {
		ZydisDecodedInstruction insn;

		at += ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&length_decoder, NULL, code + at, size - at,
								 &insn)) ?
			      insn.length :
			      1;
	}
	return n;
}

const struct arch arch_x86_64 = {
	.name = "x86-64",
	.machine = EM_X86_64,
	.unit = 1,
	.call_size = 5,
	.stack_pointer = 1ull << 4,
	.decode = x86_decode,
	.count = x86_count,
	.text = x86_text,
};
