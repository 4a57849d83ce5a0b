/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * kernel.bpf.h - the few fields of kernel structures that the sampler reads
 *
 * Declared here, and not taken from the build host's vmlinux.h, so that building needs no BTF; offsets
 * are relocated when the program is loaded (CO-RE). A name with ___suffix is another version's layout
 * of the structure without it.
 */

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define __kernel_layout __attribute__((preserve_access_index))

typedef __u64 u64;
typedef __u32 u32;
typedef __s32 s32;
typedef _Bool bool;
#define true 1
#define false 0

struct qstr {
	const unsigned char *name;
} __kernel_layout;

struct super_block {
	u32 s_dev;
} __kernel_layout;

struct inode {
	unsigned long i_ino;
	u32 i_generation;
	struct super_block *i_sb;
} __kernel_layout;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
} __kernel_layout;

struct vfsmount {
	struct dentry *mnt_root;
} __kernel_layout;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
} __kernel_layout;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} __kernel_layout;

struct file {
	struct inode *f_inode;
	struct path f_path;
} __kernel_layout;

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff;
	struct file *vm_file;
} __kernel_layout;

struct maple_tree {
	void *ma_root;
} __kernel_layout;

typedef struct {
	long counter;
} __kernel_layout atomic_long_t;

struct rw_semaphore {
	atomic_long_t count;
} __kernel_layout;

typedef struct {
	void *vdso;
} __kernel_layout mm_context_t;

struct mm_struct {
	struct maple_tree mm_mt;
	struct rw_semaphore mmap_lock;
	struct file *exe_file;
	mm_context_t context;
} __kernel_layout;

struct seqcount {
	u32 sequence;
} __kernel_layout;

struct mm_struct___6_14 {
	struct seqcount mm_lock_seq;
} __kernel_layout;

struct mm_struct___6_4 {
	int mm_lock_seq;
} __kernel_layout;

struct task_struct {
	int pid, tgid;
	struct mm_struct *mm;
	u64 self_exec_id;
	int exit_code;
} __kernel_layout;

struct linux_binprm {
	struct file *file;
} __kernel_layout;

struct sigaction {
	void *sa_handler;
} __kernel_layout;

struct k_sigaction {
	struct sigaction sa;
} __kernel_layout;

struct hrtimer_cpu_base {
	unsigned int cpu;
} __kernel_layout;

struct hrtimer_clock_base {
	struct hrtimer_cpu_base *cpu_base;
} __kernel_layout;

struct hrtimer {
	struct hrtimer_clock_base *base;
	void *function;
} __kernel_layout;

/* The registers of an interrupted context: where, and in which mode. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs___kernel {
	unsigned long ip, cs, orig_ax;
} __kernel_layout;
#define REGS_IP ip
#define REGS_MODE cs
#define REGS_MODE_IS_USER(mode) (((mode) & 3) == 3)
#define CONTEXT_IP(regs) ((regs)->rip)
#define CONTEXT_MODE(regs) ((regs)->cs)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs___kernel {
	u64 pc, pstate;
} __kernel_layout;
#define REGS_IP pc
#define REGS_MODE pstate
#define REGS_MODE_IS_USER(mode) (((mode) & 0xf) == 0)
#define CONTEXT_IP(regs) ((regs)->pc)
#define CONTEXT_MODE(regs) ((regs)->pstate)
#else
#error "the sampler knows x86-64 and arm64"
#endif
