/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The interpreter against the processor: a real program is executed step by step, and what the interpreter claims to
 * know of registers, flags and the next address must be so, over windows of many instructions.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/interpret.h"
#include "base/macro.h"
#include "tests/test.h"

#ifdef __x86_64__

#define STEPS 40000u
#define WINDOW 24u

static unsigned interpret_fetch(struct interpreter *m, uint64_t address, uint8_t code[INTERPRET_BYTES])
{
	const pid_t *child = m->user;
	struct iovec to = { code, INTERPRET_BYTES }, from = { (void *)address, INTERPRET_BYTES };
	ssize_t n;

	memset(code, 0, INTERPRET_BYTES);
	n = process_vm_readv(*child, &to, 1, &from, 1, 0);
	if (n < 0) {
		to.iov_len = from.iov_len = 4096 - (address & 4095);
		n = to.iov_len < INTERPRET_BYTES ? process_vm_readv(*child, &to, 1, &from, 1, 0) : -1;
	}
	return n < 0 ? 0 : (unsigned)n;
}

/* What child_compute() writes, and what was there when the registers were taken. */
static uint64_t memory[16], memory_before[16];

static bool interpret_load(struct interpreter *m, uint64_t address, unsigned size, uint64_t *ret)
{
	const pid_t *child = m->user;
	struct iovec to = { ret, size }, from = { (void *)address, size };

	*ret = 0;
	if (address - (uintptr_t)memory < sizeof(memory) - 7) {
		memcpy(ret, (const uint8_t *)memory_before + (address - (uintptr_t)memory), size);
		return true;
	}
	return process_vm_readv(*child, &to, 1, &from, 1, 0) == (ssize_t)size;
}

static void registers_take(struct interpreter *m, const struct user_regs_struct *r)
{
	const uint64_t registers[X86_REGISTERS] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp,
						    r->rsi, r->rdi, r->r8,  r->r9,  r->r10, r->r11,
						    r->r12, r->r13, r->r14, r->r15 };

	memcpy(m->registers, registers, sizeof(registers));
	m->ip = r->rip;
	m->flags = (uint32_t)r->eflags & X86_STATUS;
	m->known_flags = X86_STATUS;
	m->known = 0xffff;
	m->n_stores = 0;
	m->stores_anywhere = false;
}

static void memory_take(pid_t child)
{
	struct iovec to = { memory_before, sizeof(memory) }, from = { memory, sizeof(memory) };

	CHECK(process_vm_readv(child, &to, 1, &from, 1, 0) == (ssize_t)sizeof(memory));
}

struct findings {
	unsigned steps, understood, branches, stops;
	unsigned wrong_registers, wrong_flags, wrong_ip;
};

static void compare(const struct interpreter *m, const struct user_regs_struct *r, uint64_t was,
		    struct findings *ret)
{
	struct interpreter real = { 0 };

	registers_take(&real, r);
	for (unsigned i = 0; i < X86_REGISTERS; i++)
		if (m->known >> i & 1 && m->registers[i] != real.registers[i]) {
			if (!ret->wrong_registers++)
				fprintf(stderr, "%llx: register %u is %llx, not %llx\n",
					(unsigned long long)was, i, (unsigned long long)real.registers[i],
					(unsigned long long)m->registers[i]);
		}
	if ((m->flags ^ real.flags) & m->known_flags && !ret->wrong_flags++)
		fprintf(stderr, "%llx: flags are %x, not %x (known: %x)\n", (unsigned long long)was,
			real.flags, m->flags, m->known_flags);
	if (m->ip != real.ip && !ret->wrong_ip++)
		fprintf(stderr, "%llx: goes to %llx, not %llx\n", (unsigned long long)was,
			(unsigned long long)real.ip, (unsigned long long)m->ip);
}

static void child_run(char *const argv[])
{
	int null = open("/dev/null", O_WRONLY);

	dup2(null, 1);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execv(argv[0], argv);
	_exit(127);
}

/*
 * What compilers for x86-64-v3 take: BMI and three-operand vectors, in a loop over random numbers, each result and each flag used.
 * RBX, R8, R9: random; R10: memory.
 */
void bmi_loop(void *memory);

__asm__(".text\n"
	"bmi_loop:\n\t"
	"push %rbx\n\t"
	"mov %rdi, %r10\n\t"
	"mov $88172645463325252, %rbx\n"
	"1:\n\t" /* xorshift; now and then a narrow one, or nothing */
	"mov %rbx, %rax\n\t"
	"shl $13, %rax\n\t"
	"xor %rax, %rbx\n\t"
	"mov %rbx, %rax\n\t"
	"shr $7, %rax\n\t"
	"xor %rax, %rbx\n\t"
	"mov %rbx, %rax\n\t"
	"shl $17, %rax\n\t"
	"xor %rax, %rbx\n\t"
	"mov %rbx, %r8\n\t"
	"mov %ebx, %ecx\n\t"
	"and $127, %ecx\n\t"
	"shrx %rcx, %r8, %r8\n\t"
	"rorx $23, %rbx, %r9\n\t"
	"test $3, %bl\n\t"
	"jne 2f\n\t"
	"xor %r8d, %r8d\n"
	"2:\n\t"
	/* results */
	"andn %r8, %r9, %rax\n\t sets %al\n\t jne 3f\n\t nop\n3:\n\t"
	"andn %r8d, %r9d, %eax\n\t sete %al\n\t"
	"blsr %r8, %rax\n\t setb %cl\n\t jne 3f\n\t nop\n3:\n\t"
	"blsr %r8d, %eax\n\t sets %cl\n\t"
	"blsmsk %r8, %rax\n\t jb 3f\n\t nop\n3:\n\t"
	"blsmsk %r8d, %eax\n\t sets %cl\n\t"
	"blsi %r8, %rax\n\t jb 3f\n\t nop\n3:\n\t"
	"blsi %r8d, %eax\n\t sete %cl\n\t"
	"bzhi %r9, %r8, %rax\n\t jb 3f\n\t nop\n3:\n\t"
	"bzhi %r9d, %r8d, %eax\n\t sets %cl\n\t"
	"bextr %r9, %r8, %rax\n\t je 3f\n\t nop\n3:\n\t"
	"mov %ebx, %r11d\n\t and $0x1f1f, %r11d\n\t"
	"bextr %r11, %r8, %rax\n\t sete %cl\n\t"
	"bextr %r11d, %r8d, %eax\n\t sete %cl\n\t"
	"pext %r9, %r8, %rax\n\t"
	"pext %r9d, %r8d, %r11d\n\t"
	"pdep %r9, %r8, %rax\n\t"
	"pdep %r9d, %r8d, %r11d\n\t"
	"mov %rbx, %rdx\n\t"
	"mulx %r9, %rax, %r11\n\t"
	"mulx %r9d, %eax, %r11d\n\t"
	"mulx %r8, %rax, %rax\n\t"
	"shlx %r9, %r8, %rax\n\t shlx %r9d, %r8d, %r11d\n\t"
	"sarx %r9, %r8, %rax\n\t sarx %r9d, %r8d, %r11d\n\t"
	"shrx %r9, %r8, %rax\n\t shrx %r9d, %r8d, %r11d\n\t"
	"rorx $11, %r8d, %eax\n\t"
	"popcnt %r8, %rax\n\t je 3f\n\t nop\n3:\n\t"
	"popcnt %r8d, %eax\n\t setb %cl\n\t"
	"tzcnt %r8, %rax\n\t tzcnt %r8d, %eax\n\t"
	"lzcnt %r8, %rax\n\t lzcnt %r8d, %eax\n\t"
	"bsf %r8, %rax\n\t bsr %r8, %rax\n\t bsr %r8d, %eax\n\t"
	/* vectors, and what they leave in memory and in registers */
	"mov %r8, (%r10)\n\t"
	"mov %r9, 16(%r10)\n\t"
	"mov %rbx, 24(%r10)\n\t"
	"vmovdqu (%r10), %ymm0\n\t"
	"vpaddd %ymm0, %ymm0, %ymm9\n\t"
	"vpshufd $27, %xmm9, %xmm2\n\t"
	"vpsrldq $3, %xmm9, %xmm3\n\t"
	"vpermq $78, %ymm9, %ymm1\n\t"
	"vpmovmskb %ymm1, %eax\n\t"
	"cmp $7, %eax\n\t"
	"vmovdqu %ymm9, 32(%r10)\n\t"
	"mov 56(%r10), %rax\n\t"
	"test %r8, %r8\n\t"
	"vptest %ymm1, %ymm1\n\t je 3f\n\t nop\n3:\n\t"
	"vextracti128 $1, %ymm9, 64(%r10)\n\t"
	"mov 72(%r10), %rax\n\t"
	"vmovd %xmm9, %eax\n\t"
	"vmovq %xmm9, 80(%r10)\n\t"
	"mov 80(%r10), %rax\n\t"
	"vpextrw $2, %xmm9, %eax\n\t"
	"vpextrd $1, %xmm9, 88(%r10)\n\t"
	"vcvtsi2sd %r8, %xmm4, %xmm4\n\t"
	"vcvttsd2si %xmm4, %rax\n\t"
	"vfmadd231sd %xmm4, %xmm4, %xmm5\n\t"
	"test %r8, %r8\n\t"
	"vucomisd %xmm4, %xmm5\n\t jp 3f\n\t nop\n3:\n\t"
	"vzeroupper\n\t"
	"jmp 1b\n");

static void child_compute(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	bmi_loop(memory);
}

/* Follows a program, or what child_compute() does. */
static struct findings follow(char *const argv[])
{
	struct findings found = { 0 };
	struct user_regs_struct r;
	struct interpreter m = { 0 };
	unsigned window = 0;
	int status;
	pid_t child = fork();

	if (child == 0 && argv)
		child_run(argv);
	else if (child == 0)
		child_compute();
	waitpid(child, &status, 0);
	m.user = &child;
	while (found.steps < STEPS && WIFSTOPPED(status) && ptrace(PTRACE_GETREGS, child, NULL, &r) == 0) {
		uint64_t was = r.rip;
		enum interpret_event event;

		if (!window) {
			registers_take(&m, &r);
			if (!argv)
				memory_take(child);
			window = WINDOW;
		}
		event = interpret_step(&m);
		found.steps++;
		found.branches += event == INTERPRET_BRANCH;
		if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) < 0)
			break;
		waitpid(child, &status, 0);
		if (!WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, child, NULL, &r) < 0)
			break;
		window--;
		if (event == INTERPRET_STOP) {
			found.stops++;
			window = 0;
			continue;
		}
		found.understood++;
		compare(&m, &r, was, &found);
		if (m.ip != r.rip)
			window = 0;
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return found;
}

TEST(what_the_interpreter_knows_is_so)
{
	static char *const programs[][6] = {
		{ "/usr/bin/perl", "-e",
		  "for (1..3000) { $h{$_ % 37} .= chr(65 + $_ % 26) } print sort { $a <=> $b } keys %h",
		  NULL },
		{ "/usr/bin/awk",
		  "BEGIN { for (i = 0; i < 3000; i++) { s[i % 17] += i * 1.5; t = t substr(\"abcdef\", i % "
		  "6, 1) } print t }",
		  NULL },
		{ "/bin/sh", "-c",
		  "i=0; while [ $i -lt 900 ]; do i=$((i + 1)); case $i in *7) echo $i;; esac; done", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct findings found = follow(programs[i]);

		printf("%s: %u steps, %u understood, %u branches\n", programs[i][0], found.steps,
		       found.understood, found.branches);
		CHECK(found.steps > STEPS / 2);
		CHECK(found.understood > found.steps * 8 / 10);
		CHECK(found.branches > found.steps / 20);
		CHECK_INT(found.wrong_registers, 0);
		CHECK_INT(found.wrong_flags, 0);
		CHECK_INT(found.wrong_ip, 0);
	}
}

/* Its instructions are all known; what it does not claim to know are vectors, and what comes of them. */
TEST(what_it_knows_of_bmi_and_vectors_is_so)
{
	struct findings found;

	__builtin_cpu_init();
	if (!__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("avx2") ||
	    !__builtin_cpu_supports("fma")) {
		printf("this processor has no BMI2, AVX2 or FMA\n");
		return;
	}
	found = follow(NULL);
	printf("%u steps, %u understood, %u branches, %u stops\n", found.steps, found.understood,
	       found.branches, found.stops);
	CHECK(found.understood > found.steps * 9 / 10);
	CHECK(found.branches > found.steps / 30);
	CHECK_INT(found.wrong_registers, 0);
	CHECK_INT(found.wrong_flags, 0);
	CHECK_INT(found.wrong_ip, 0);
}

#endif

TEST_MAIN()
