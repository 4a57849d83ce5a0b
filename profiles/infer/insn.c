/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/infer/insn.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <pthread.h>

#include "base/macro.h"

/* Latencies: the middle of what Fog's tables (2024) give for Zen 4, Golden Cove and Neoverse V1. */
#define LOAD_LATENCY 4

static const struct {
	const char *name;
	unsigned latency;
} classes[INSN_CLASS_END] = {
	[INSN_ALU] = { "alu", 1 },
	[INSN_MOVE] = { "move", 0 },
	[INSN_SHIFT] = { "shift", 1 },
	[INSN_SELECT] = { "select", 1 },
	[INSN_MULTIPLY] = { "multiply", 3 },
	[INSN_DIVIDE] = { "divide", 14 },
	[INSN_JUMP] = { "jump", 1 },
	[INSN_BRANCH] = { "branch", 1 },
	[INSN_CALL] = { "call", 1 },
	[INSN_RETURN] = { "return", 1 },
	[INSN_STACK] = { "stack", 1 },
	[INSN_FLOAT] = { "float", 4 },
	[INSN_FLOAT_DIVIDE] = { "float-divide", 13 },
	[INSN_VECTOR] = { "vector", 2 },
	[INSN_STRING] = { "string", 20 },
	[INSN_SYSTEM] = { "system", 50 },
	[INSN_NOP] = { "nop", 0 },
	[INSN_OTHER] = { "other", 2 },
};

const char *insn_class_name(enum insn_class class)
{
	return (unsigned)class < INSN_CLASS_END ? classes[class].name : "?";
}

unsigned insn_latency(const struct insn *insn)
{
	return classes[insn->class].latency + (insn->flags & INSN_LOADS ? LOAD_LATENCY : 0) +
	       (insn->flags & INSN_LOCKED ? 16 : 0);
}

bool insn_machine_is_known(uint16_t machine)
{
	return machine == EM_X86_64 || machine == EM_AARCH64;
}

/* ---- x86-64 ---- */

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
		if (operand->mem.type != ZYDIS_MEMOP_TYPE_MEM || ret->class == INSN_NOP)
			return;
		if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			ret->flags |= INSN_LOADS;
		if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			ret->flags |= INSN_STORES;
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

static bool x86_decode(const uint8_t *code, size_t size, uint64_t address, struct insn *ret)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	pthread_once(&decoder_once, decoder_init);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &insn, operands)))
		return false;
	ret->size = insn.length;
	ret->class = class_of(&insn, operands);
	if (insn.attributes & ZYDIS_ATTRIB_HAS_LOCK)
		ret->flags |= INSN_LOCKED;
	for (int i = 0; i < insn.operand_count; i++)
		operand_read(&insn, &operands[i], address, ret);
	if (is_zeroing(&insn, operands))
		ret->reads = 0;
	if ((ret->class == INSN_JUMP || ret->class == INSN_CALL) && !ret->target)
		ret->flags |= INSN_INDIRECT;
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

/* ---- aarch64 ---- */

static uint64_t a64_general(uint32_t number)
{
	/* x16..x31 share the bits of x0..x15: dependencies are over-, never underestimated; 31 is zero or sp. */
	return number == 31 ? 0 : 1ull << (number & 15);
}

static void a64_branch(uint32_t word, uint64_t address, struct insn *ret)
{
	if ((word & 0x7c000000) == 0x14000000) { /* b, bl */
		ret->class = word >> 31 ? INSN_CALL : INSN_JUMP;
		ret->target = address + (uint64_t)((int64_t)((uint64_t)word << 38) >> 36);
	} else if ((word & 0xff000010) == 0x54000000) { /* b.cond */
		ret->class = INSN_BRANCH;
		ret->reads = INSN_FLAGS_REGISTER;
		ret->target = address + (uint64_t)((int64_t)((uint64_t)(word >> 5) << 45) >> 43);
	} else if ((word & 0x7e000000) == 0x34000000) { /* cbz, cbnz */
		ret->class = INSN_BRANCH;
		ret->reads = a64_general(word & 31);
		ret->target = address + (uint64_t)((int64_t)((uint64_t)(word >> 5) << 45) >> 43);
	} else if ((word & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		ret->class = INSN_BRANCH;
		ret->reads = a64_general(word & 31);
		ret->target = address + (uint64_t)((int64_t)((uint64_t)(word >> 5) << 50) >> 48);
	} else if ((word & 0xfe000000) == 0xd6000000) { /* br, blr, ret */
		uint32_t kind = word >> 21 & 3;

		ret->class = kind == 0 ? INSN_JUMP : kind == 1 ? INSN_CALL : INSN_RETURN;
		ret->flags |= kind < 2 ? INSN_INDIRECT : 0;
		ret->reads = a64_general(word >> 5 & 31);
	} else {
		ret->class = (word & 0xfffff01f) == 0xd503201f ? INSN_NOP : INSN_SYSTEM;
	}
}

static void a64_memory(uint32_t word, struct insn *ret)
{
	bool vector = word >> 26 & 1, loads = word >> 22 & 1;

	ret->class = INSN_MOVE;
	if ((word & 0x3b000000) == 0x18000000) /* load literal */
		loads = true;
	ret->flags |= loads ? INSN_LOADS : INSN_STORES;
	if ((word & 0x3f000000) == 0x08000000) /* exclusive, acquire, release */
		ret->flags |= INSN_LOCKED;
	ret->addresses = ret->reads = a64_general(word >> 5 & 31);
	if (vector)
		*(loads ? &ret->writes : &ret->reads) |= 1ull << (32 + (word & 31));
	else
		*(loads ? &ret->writes : &ret->reads) |= a64_general(word & 31);
}

static void a64_register(uint32_t word, struct insn *ret)
{
	uint32_t group = word >> 21 & 0xff;

	ret->reads = a64_general(word >> 5 & 31) | a64_general(word >> 16 & 31);
	ret->writes = a64_general(word & 31);
	if ((word & 0x1f000000) == 0x1b000000)
		ret->class = INSN_MULTIPLY;
	else if (group == 0xd6 && (word >> 30 & 1) == 0 && (word >> 11 & 0x1f) == 1)
		ret->class = INSN_DIVIDE;
	else if ((word & 0x1fe00000) == 0x1a800000)
		ret->class = INSN_SELECT;
	if (word >> 29 & 1)
		ret->writes |= INSN_FLAGS_REGISTER;
}

static void a64_float(uint32_t word, struct insn *ret)
{
	bool scalar = (word & 0x5f000000) == 0x1e000000;

	ret->class = scalar ? INSN_FLOAT : INSN_VECTOR;
	if (scalar && (word & 0x0020fc00) == 0x00201800)
		ret->class = INSN_FLOAT_DIVIDE;
	ret->reads = 1ull << (32 + (word >> 5 & 31)) | 1ull << (32 + (word >> 16 & 31));
	ret->writes = 1ull << (32 + (word & 31));
}

static bool a64_decode(const uint8_t *code, size_t size, uint64_t address, struct insn *ret)
{
	uint32_t word;

	ret->size = 4;
	if (size < 4)
		return false;
	word = (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 | (uint32_t)code[3] << 24;
	ret->class = INSN_ALU;
	switch (word >> 25 & 15) {
	case 8:
	case 9: /* immediates */
		ret->reads = a64_general(word >> 5 & 31);
		ret->writes = a64_general(word & 31) | (word >> 29 & 1 ? INSN_FLAGS_REGISTER : 0);
		break;
	case 10:
	case 11: a64_branch(word, address, ret); break;
	case 4:
	case 6:
	case 12:
	case 14: a64_memory(word, ret); break;
	case 5:
	case 13: a64_register(word, ret); break;
	case 7:
	case 15: a64_float(word, ret); break;
	default: ret->class = INSN_OTHER;
	}
	return true;
}

bool insn_decode(uint16_t machine, const uint8_t *code, size_t size, uint64_t address, struct insn *ret)
{
	*ret = (struct insn){ .size = 1, .class = INSN_OTHER };
	if (size == 0)
		return false;
	return machine == EM_AARCH64 ? a64_decode(code, size, address, ret) :
				       machine == EM_X86_64 && x86_decode(code, size, address, ret);
}

uint32_t insn_count(uint16_t machine, const uint8_t *code, size_t size)
{
	return machine == EM_X86_64 ? x86_count(code, size) : (uint32_t)((size + 3) / 4);
}
