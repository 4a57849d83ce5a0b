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

#include "base/macro.h"
#include "monitor/interpret.h"
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

static bool interpret_load(struct interpreter *m, uint64_t address, unsigned size, uint64_t *ret)
{
	const pid_t *child = m->user;
	struct iovec to = { ret, size }, from = { (void *)address, size };

	*ret = 0;
	return process_vm_readv(*child, &to, 1, &from, 1, 0) == (ssize_t)size;
}

static void registers_take(struct interpreter *m, const struct user_regs_struct *r)
{
	const uint64_t registers[X86_REGISTERS] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
						    r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };

	memcpy(m->registers, registers, sizeof(registers));
	m->ip = r->rip;
	m->flags = (uint32_t)r->eflags & X86_STATUS;
	m->known_flags = X86_STATUS;
	m->known = 0xffff;
	m->n_stores = 0;
	m->stores_anywhere = false;
}

struct findings {
	unsigned steps, understood, branches, stops;
	unsigned wrong_registers, wrong_flags, wrong_ip;
};

static void compare(const struct interpreter *m, const struct user_regs_struct *r, uint64_t was, struct findings *ret)
{
	struct interpreter real = { 0 };

	registers_take(&real, r);
	for (unsigned i = 0; i < X86_REGISTERS; i++)
		if (m->known >> i & 1 && m->registers[i] != real.registers[i]) {
			if (!ret->wrong_registers++)
				fprintf(stderr, "%llx: register %u is %llx, not %llx\n", (unsigned long long)was, i,
					(unsigned long long)real.registers[i], (unsigned long long)m->registers[i]);
		}
	if ((m->flags ^ real.flags) & m->known_flags && !ret->wrong_flags++)
		fprintf(stderr, "%llx: flags are %x, not %x (known: %x)\n", (unsigned long long)was, real.flags, m->flags,
			m->known_flags);
	if (m->ip != real.ip && !ret->wrong_ip++)
		fprintf(stderr, "%llx: goes to %llx, not %llx\n", (unsigned long long)was, (unsigned long long)real.ip,
			(unsigned long long)m->ip);
}

static void child_run(char *const argv[])
{
	int null = open("/dev/null", O_WRONLY);

	dup2(null, 1);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execv(argv[0], argv);
	_exit(127);
}

static struct findings follow(char *const argv[])
{
	struct findings found = { 0 };
	struct user_regs_struct r;
	struct interpreter m = { 0 };
	unsigned window = 0;
	int status;
	pid_t child = fork();

	if (child == 0)
		child_run(argv);
	waitpid(child, &status, 0);
	m.user = &child;
	while (found.steps < STEPS && WIFSTOPPED(status) && ptrace(PTRACE_GETREGS, child, NULL, &r) == 0) {
		uint64_t was = r.rip;
		enum interpret_event event;

		if (!window) {
			registers_take(&m, &r);
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
		{ "/usr/bin/perl", "-e", "for (1..3000) { $h{$_ % 37} .= chr(65 + $_ % 26) } print sort { $a <=> $b } keys %h", NULL },
		{ "/usr/bin/awk", "BEGIN { for (i = 0; i < 3000; i++) { s[i % 17] += i * 1.5; t = t substr(\"abcdef\", i % 6, 1) } print t }", NULL },
		{ "/bin/sh", "-c", "i=0; while [ $i -lt 900 ]; do i=$((i + 1)); case $i in *7) echo $i;; esac; done", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct findings found = follow(programs[i]);

		printf("%s: %u steps, %u understood, %u branches\n", programs[i][0], found.steps, found.understood,
		       found.branches);
		CHECK(found.steps > STEPS / 2);
		CHECK(found.understood > found.steps * 8 / 10);
		CHECK(found.branches > found.steps / 20);
		CHECK_INT(found.wrong_registers, 0);
		CHECK_INT(found.wrong_flags, 0);
		CHECK_INT(found.wrong_ip, 0);
	}
}

#endif

TEST_MAIN()
