/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/arch.h"

#include <elf.h>
#include <errno.h>

#include "base/macro.h"
#include "tests/test.h"

#define RAX (1ull << 0)
#define RCX (1ull << 1)
#define RDX (1ull << 2)
#define RDI (1ull << 7)
#define XMM0 (1ull << 32)

static struct insn x86(const char *bytes, size_t n)
{
	struct insn insn;

	CHECK(insn_decode(EM_X86_64, (const uint8_t *)bytes, n, 0x1000, &insn));
	CHECK_INT(insn.size, n);
	return insn;
}
#define X86(bytes) x86(bytes, sizeof(bytes) - 1)

TEST(x86_loads_stores_and_registers)
{
	struct insn load = X86("\x48\x8b\x04\x8f"); /* mov rax, [rdi + rcx * 4] */
	struct insn store = X86("\x48\x89\x07");    /* mov [rdi], rax */
	struct insn update = X86("\x48\x01\x07");   /* add [rdi], rax */

	CHECK_INT(load.class, INSN_MOVE);
	CHECK_INT(load.flags, INSN_LOADS);
	CHECK_INT(load.writes, RAX);
	CHECK_INT(load.addresses, RDI | RCX);
	CHECK_INT(store.flags, INSN_STORES);
	CHECK_INT(store.reads, RDI | RAX);
	CHECK_INT(store.writes, 0);
	CHECK_INT(update.class, INSN_ALU);
	CHECK_INT(update.flags, INSN_LOADS | INSN_STORES);
	CHECK_INT(update.writes, INSN_FLAGS_REGISTER);
	CHECK_INT(insn_latency(&load), 4);
	CHECK_INT(insn_latency(&update), 5);
}

TEST(x86_address_arithmetic_is_no_load)
{
	struct insn lea = X86("\x48\x8d\x04\x8f"); /* lea rax, [rdi + rcx * 4] */

	CHECK_INT(lea.class, INSN_ALU);
	CHECK_INT(lea.flags, 0);
	CHECK_INT(lea.reads, RDI | RCX);
}

TEST(x86_additions_of_three_parts_take_longer)
{
	struct insn scaled = X86("\x48\x8d\x04\x8f");	 /* lea rax, [rdi + rcx * 4] */
	struct insn three = X86("\x48\x8d\x44\x0f\x10"); /* lea rax, [rdi + rcx + 16] */
	struct insn two = X86("\x48\x8d\x47\x10");	 /* lea rax, [rdi + 16] */

	CHECK_INT(insn_latency(&scaled), 2);
	CHECK_INT(insn_latency(&three), 2);
	CHECK_INT(insn_latency(&two), 1);
}

TEST(x86_exchanges_with_memory_are_locked_always)
{
	struct insn memory = X86("\x48\x87\x06");    /* xchg [rsi], rax */
	struct insn registers = X86("\x48\x87\xc6"); /* xchg rsi, rax */

	CHECK_INT(memory.flags, INSN_LOADS | INSN_STORES | INSN_LOCKED);
	CHECK_INT(registers.flags, 0);
}

TEST(x86_operations_are_known_without_their_registers)
{
	struct insn compare = X86("\x83\x7f\x08\x03"),
		    other = X86("\x83\x7e\x08\x03"); /* cmp dword [rdi, rsi + 8], 3 */
	struct insn elsewhere = X86("\x83\x7f\x0c\x03"), with = X86("\x83\x7f\x08\x04");
	struct insn narrow = X86("\x80\x7f\x08\x03"), tests = X86("\xf7\x47\x08\x03\x00\x00\x00");

	CHECK(compare.what == other.what);
	CHECK(compare.what != elsewhere.what && compare.what != with.what);
	CHECK(compare.what != narrow.what && compare.what != tests.what);
}

TEST(x86_an_address_is_the_same_from_wherever_it_is_named)
{
	struct insn here = X86("\x83\x3d\x10\x00\x00\x00\x00"), there; /* cmp dword [rip + 16], 0 */
	struct insn lea = X86("\x48\x8d\x05\x10\x00\x00\x00"), other;  /* lea rax, [rip + 16] */

	CHECK(insn_decode(EM_X86_64, (const uint8_t *)"\x83\x3d\x00\x00\x00\x00\x00", 7, 0x1010, &there));
	CHECK(insn_decode(EM_X86_64, (const uint8_t *)"\x48\x8d\x1d\x00\x00\x00\x00", 7, 0x1010, &other));
	CHECK(here.what == there.what && lea.what == other.what);
	CHECK(insn_decode(EM_X86_64, (const uint8_t *)"\x83\x3d\x10\x00\x00\x00\x00", 7, 0x1010, &there));
	CHECK(here.what != there.what);
}

TEST(x86_conditions_that_exclude_each_other_differ_in_a_bit)
{
	struct insn equal = X86("\x74\x10"), not_equal = X86("\x75\x10"), less = X86("\x7c\x10");
	struct insn far = X86("\x0f\x85\x00\x01\x00\x00"); /* jne */

	CHECK_INT(equal.condition ^ not_equal.condition, 1);
	CHECK_INT(not_equal.condition, far.condition);
	CHECK((equal.condition ^ less.condition) > 1);
	CHECK(equal.what == not_equal.what && equal.what == far.what);
}

TEST(x86_control_flow_has_targets)
{
	struct insn branch = X86("\x74\x10");		/* je +16 */
	struct insn jump = X86("\xe9\x00\x01\x00\x00"); /* jmp +256 */
	struct insn call = X86("\xe8\xfb\xff\xff\xff"); /* call 0x1000 */
	struct insn indirect = X86("\xff\x24\xc7");	/* jmp [rdi + rax * 8] */
	struct insn ret = X86("\xc3");

	CHECK_INT(branch.class, INSN_BRANCH);
	CHECK_INT(branch.target, 0x1012);
	CHECK_INT(branch.reads, INSN_FLAGS_REGISTER);
	CHECK_INT(jump.class, INSN_JUMP);
	CHECK_INT(jump.target, 0x1105);
	CHECK_INT(call.class, INSN_CALL);
	CHECK_INT(call.target, 0x1000);
	CHECK_INT(indirect.flags, INSN_INDIRECT | INSN_LOADS);
	CHECK_INT(indirect.target, 0);
	CHECK_INT(ret.class, INSN_RETURN);
}

TEST(x86_flow_is_not_cost)
{
	CHECK_INT(X86("\x74\x10").flow, INSN_BRANCHES); /* je */
	CHECK_INT(X86("\xe2\x10").flow, INSN_BRANCHES); /* loop */
	CHECK_INT(X86("\xe9\x00\x01\x00\x00").flow, INSN_JUMPS);
	CHECK_INT(X86("\xff\x24\xc7").flow, INSN_JUMPS); /* jmp [rdi + rax * 8] */
	CHECK_INT(X86("\xe8\xfb\xff\xff\xff").flow, INSN_CALLS);
	CHECK_INT(X86("\xff\xd0").flow, INSN_CALLS); /* call rax */
	CHECK_INT(X86("\xc3").flow, INSN_RETURNS);
	CHECK_INT(X86("\x48\xcf").flow, INSN_RETURNS);	 /* iretq */
	CHECK_INT(X86("\x0f\x0b").flow, INSN_TRAPS);	 /* ud2, whose cost is that of arithmetic */
	CHECK_INT(X86("\xcc").flow, INSN_TRAPS);	 /* int3 */
	CHECK_INT(X86("\xf4").flow, INSN_TRAPS);	 /* hlt */
	CHECK_INT(X86("\x0f\x05").flow, INSN_FALLS);	 /* syscall */
	CHECK_INT(X86("\x0f\x01\xd5").flow, INSN_FALLS); /* xend, a jump by its category */
	CHECK_INT(X86("\x90").flow, INSN_FALLS);
}

TEST(x86_memory_is_described)
{
	struct insn indexed = X86("\x0f\xb7\x44\x8f\xf8");	    /* movzx eax, word [rdi + rcx * 4 - 8] */
	struct insn relative = X86("\x48\x8b\x05\x10\x00\x00\x00"); /* mov rax, [rip + 16] */
	struct insn thread = X86("\x64\x48\x8b\x04\x25\x28\x00\x00\x00"); /* mov rax, fs:[40] */
	struct insn none = X86("\x48\x01\xc8");				  /* add rax, rcx */

	CHECK_INT(indexed.base, 7);
	CHECK_INT(indexed.index, 1);
	CHECK_INT(indexed.offset, -8);
	CHECK_INT(indexed.width, 2);
	CHECK_INT(relative.base, INSN_NO_REGISTER);
	CHECK_INT(relative.offset, 0x1017);
	CHECK_INT(relative.width, 8);
	CHECK_INT(thread.base, INSN_OTHER_REGISTER);
	CHECK_INT(thread.offset, 40);
	CHECK_INT(none.width, 0);
	CHECK_INT(none.base, INSN_NO_REGISTER);
}

TEST(x86_classes_by_cost)
{
	CHECK_INT(X86("\x48\xf7\xf1").class, INSN_DIVIDE);	     /* div rcx */
	CHECK_INT(X86("\x48\x0f\xaf\xc1").class, INSN_MULTIPLY);     /* imul rax, rcx */
	CHECK_INT(X86("\xf2\x0f\x58\xc1").class, INSN_FLOAT);	     /* addsd xmm0, xmm1 */
	CHECK_INT(X86("\xf2\x0f\x5e\xc1").class, INSN_FLOAT_DIVIDE); /* divsd xmm0, xmm1 */
	CHECK_INT(X86("\x66\x0f\xfe\xc1").class, INSN_VECTOR);	     /* paddd xmm0, xmm1 */
	CHECK_INT(X86("\x0f\x44\xc1").class, INSN_SELECT);	     /* cmove eax, ecx */
	CHECK_INT(X86("\xf3\x48\xa5").class, INSN_STRING);	     /* rep movsq */
	CHECK_INT(X86("\xc1\xe0\x05").class, INSN_SHIFT);	     /* shl eax, 5 */
	CHECK_INT(X86("\x55").class, INSN_STACK);		     /* push rbp */
	CHECK_INT(X86("\x0f\x1f\x40\x00").class, INSN_NOP);
	CHECK_INT(X86("\xf3\x0f\x1e\xfa").class, INSN_NOP);	/* endbr64 */
	CHECK_INT(X86("\x0f\x05").class, INSN_SYSTEM);		/* syscall */
	CHECK(X86("\xf0\x48\x0f\xb1\x0f").flags & INSN_LOCKED); /* lock cmpxchg [rdi], rcx */
}

TEST(x86_zeroing_waits_for_nothing)
{
	struct insn zero = X86("\x31\xc0");	      /* xor eax, eax */
	struct insn vector = X86("\x66\x0f\xef\xc0"); /* pxor xmm0, xmm0 */

	CHECK_INT(zero.reads, 0);
	CHECK_INT(zero.writes, RAX | INSN_FLAGS_REGISTER);
	CHECK_INT(vector.reads, 0);
	CHECK_INT(vector.writes, XMM0);
	CHECK(X86("\x31\xc8").reads == (RAX | RCX));
}

TEST(bytes_that_are_no_instruction_advance_by_one)
{
	struct insn insn;

	CHECK(!insn_decode(EM_X86_64, (const uint8_t *)"\x06\x06", 2, 0,
			   &insn)); /* push es: not in 64 bits */
	CHECK_INT(insn.size, 1);
	CHECK_INT(insn.class, INSN_OTHER);
	CHECK(!insn_decode(EM_X86_64, (const uint8_t *)"\x48\x8b", 2, 0, &insn)); /* cut off */
	CHECK_INT(insn.size, 1);
	CHECK(!insn_decode(EM_X86_64, (const uint8_t *)"", 0, 0, &insn));
}

/* This program's own code, and what a wrong start makes of it. */
TEST(as_many_instructions_are_counted_as_decoded)
{
	const uint8_t *code = (const uint8_t *)insn_decode;
	const size_t size = 2048;

	for (size_t start = 0; start < 64; start++) {
		uint32_t n = 0;

		for (size_t at = start; at < size; n++) {
			struct insn insn;

			insn_decode(EM_X86_64, code + at, size - at, 0, &insn);
			at += insn.size;
		}
		CHECK_INT(insn_count(EM_X86_64, code + start, size - start), n);
	}
	CHECK_INT(insn_count(EM_AARCH64, code, 12), 3);
	CHECK_INT(insn_count(EM_AARCH64, code, 0), 0);
}

static struct insn a64_at(uint32_t word, uint64_t address)
{
	uint8_t bytes[4] = { (uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
			     (uint8_t)(word >> 24) };
	struct insn insn;

	CHECK(insn_decode(EM_AARCH64, bytes, 4, address, &insn));
	CHECK_INT(insn.size, 4);
	return insn;
}

static struct insn a64(uint32_t word)
{
	return a64_at(word, 0x1000);
}

TEST(aarch64_operations_are_known_without_their_registers)
{
	CHECK(a64(0x71000c1f).what == a64(0x71000cbf).what); /* cmp w0, #3; cmp w5, #3 */
	CHECK(a64(0x71000c1f).what != a64(0x7100101f).what); /* cmp w0, #4 */
	CHECK(a64(0xf9400401).what == a64(0xf9400462).what); /* ldr x1, [x0, #8]; ldr x2, [x3, #8] */
	CHECK(a64(0xf9400401).what != a64(0xf9400801).what); /* ldr x1, [x0, #16] */
	CHECK(a64(0xeb01001f).what == a64(0xeb03005f).what); /* cmp x0, x1; cmp x2, x3 */
	CHECK(a64_at(0x90000020, 0).what ==
	      a64_at(0xf0000001, 0x1000).what); /* adrp x0, 0x4000, from page 0 and page 1 */
	CHECK(a64_at(0x90000020, 0).what != a64_at(0x90000020, 0x1000).what);
}

TEST(aarch64_conditions_that_exclude_each_other_differ_in_a_bit)
{
	struct insn equal = a64(0x54000080), not_equal = a64(0x54000081), less = a64(0x5400008b);
	struct insn zero = a64(0xb4000080), not_zero = a64(0xb5000083); /* cbz x0; cbnz x3 */
	struct insn bit = a64(0x36180080), no_bit = a64(0x37180081), other = a64(0x37200081); /* tbz, tbnz */

	CHECK_INT(equal.condition ^ not_equal.condition, 1);
	CHECK((equal.condition ^ less.condition) > 1);
	CHECK(equal.what == not_equal.what);
	CHECK_INT(zero.condition ^ not_zero.condition, 1);
	CHECK(zero.what == not_zero.what && zero.what != equal.what);
	CHECK_INT(bit.condition ^ no_bit.condition, 1);
	CHECK(bit.what == no_bit.what && bit.what != other.what && bit.what != zero.what);
}

TEST(architectures_are_a_table)
{
	struct fault fault;
	struct insn insn;

	CHECK_STR(arch_of(EM_X86_64)->name, "x86-64");
	CHECK_STR(arch_of(EM_AARCH64)->name, "aarch64");
	CHECK(arch_of(EM_RISCV) == NULL && arch_of(EM_NONE) == NULL);
	CHECK_INT(arch_require(EM_X86_64, "prog", &fault), 0);
	CHECK_INT(arch_require(EM_RISCV, "prog", &fault), -ENOTSUP);
	CHECK_STR(fault.text,
		  "prog: instructions of ELF machine 243 are not known, only those of x86-64, aarch64");
	/* ret of x86-64, but the code is another machine's. */
	CHECK(!insn_decode(EM_RISCV, (const uint8_t *)"\xc3", 1, 0, &insn));
	CHECK_INT(insn.flow, INSN_UNKNOWN);
}

TEST(aarch64_groups)
{
	CHECK_INT(a64(0x8b020020).class, INSN_ALU);    /* add x0, x1, x2 */
	CHECK_INT(a64(0x8b020020).reads, RCX | RDX);   /* bits 1 and 2 */
	CHECK_INT(a64(0xf9400020).flags, INSN_LOADS);  /* ldr x0, [x1] */
	CHECK_INT(a64(0xf9000020).flags, INSN_STORES); /* str x0, [x1] */
	CHECK_INT(a64(0xb4000080).class, INSN_BRANCH); /* cbz x0, +16 */
	CHECK_INT(a64(0xb4000080).target, 0x1010);
	CHECK_INT(a64(0x54ffffe0).target, 0xffc);    /* b.eq -4 */
	CHECK_INT(a64(0x94000002).class, INSN_CALL); /* bl +8 */
	CHECK_INT(a64(0x94000002).target, 0x1008);
	CHECK_INT(a64(0xd65f03c0).class, INSN_RETURN);
	CHECK_INT(a64(0xd61f0000).flags, INSN_INDIRECT); /* br x0 */
	CHECK_INT(a64(0x9b027c20).class, INSN_MULTIPLY);
	CHECK_INT(a64(0x9ac20820).class, INSN_DIVIDE);	     /* udiv x0, x1, x2 */
	CHECK_INT(a64(0x1e622820).class, INSN_FLOAT);	     /* fadd d0, d1, d2 */
	CHECK_INT(a64(0x1e621820).class, INSN_FLOAT_DIVIDE); /* fdiv d0, d1, d2 */
	CHECK_INT(a64(0x9a820020).class, INSN_SELECT);	     /* csel x0, x1, x2, eq */
	CHECK_INT(a64(0xd503201f).class, INSN_NOP);
}

TEST_MAIN()
