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
	unsigned long s_flags;
} __kernel_layout;

typedef struct {
	u32 val;
} __kernel_layout kuid_t;

struct inode {
	unsigned long i_ino;
	long long i_size;
	u32 i_generation;
	struct super_block *i_sb;
} __kernel_layout;

/* When it changed: since 6.11, since 6.6, before. */
struct inode___6_11 {
	long long i_ctime_sec;
	u32 i_ctime_nsec;
} __kernel_layout;

struct inode_time {
	long long tv_sec;
	long tv_nsec;
};

struct inode___6_6 {
	struct inode_time __i_ctime;
} __kernel_layout;

struct inode___old {
	struct inode_time i_ctime;
} __kernel_layout;

struct dentry {
	struct dentry *d_parent;
	struct inode *d_inode;
	struct qstr d_name;
} __kernel_layout;

struct vfsmount {
	struct dentry *mnt_root;
} __kernel_layout;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	void *mnt_ns;
} __kernel_layout;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} __kernel_layout;

struct file {
	u32 f_mode;
	struct inode *f_inode;
	struct path f_path;
} __kernel_layout;

/* Since 6.8 a mapping of a file in overlayfs has such a file, with the path of the inode below in f_path. */
struct backing_file {
	struct file file;
	struct path user_path;
} __kernel_layout;

struct ns_common {
	u32 inum;
} __kernel_layout;

struct mnt_namespace {
	struct ns_common ns;
} __kernel_layout;

struct nsproxy {
	struct mnt_namespace *mnt_ns;
} __kernel_layout;

struct user_namespace {
	struct user_namespace *parent;
	kuid_t owner;
} __kernel_layout;

struct cred {
	kuid_t uid;
	struct user_namespace *user_ns;
} __kernel_layout;

struct upid {
	int nr;
} __kernel_layout;

struct pid {
	u32 level;
	struct upid numbers[1];
} __kernel_layout;

union __sifields {
	struct {
		int _pid;
	} _kill;
} __kernel_layout;

struct kernel_siginfo {
	struct {
		int si_signo;
		int si_errno;
		int si_code;
		union __sifields _sifields;
	};
} __kernel_layout;

struct mm_struct;

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff;
	struct mm_struct *vm_mm;
	struct file *vm_file;
	unsigned long vm_flags;
	u32 vm_lock_seq; /* since 6.4, with CONFIG_PER_VMA_LOCK */
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

struct kernfs_node {
	const char *name;
} __kernel_layout;

/* Its directory: since 6.15, before. */
struct kernfs_node___6_15 {
	struct kernfs_node *__parent;
} __kernel_layout;

struct kernfs_node___old {
	struct kernfs_node *parent;
} __kernel_layout;

struct cgroup {
	struct kernfs_node *kn;
} __kernel_layout;

struct css_set {
	struct cgroup *dfl_cgrp;
} __kernel_layout;

struct task_struct {
	int pid, tgid;
	struct mm_struct *mm;
	u64 self_exec_id;
	int exit_code;
	struct task_struct *real_parent, *group_leader;
	struct cred *cred;
	struct nsproxy *nsproxy;
	struct pid *thread_pid;
	struct css_set *cgroups;
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

/* Any structure that begins with a 64-bit number: lets one be read anywhere. */
struct timespec64 {
	long long tv_sec;
} __kernel_layout;

/* The registers of an interrupted context: where, and in which mode. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs___kernel {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp;
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

/*
 * Reading kernel memory through an address that may be stale. Since Linux 6.2 an address can be cast to
 * a read-only pointer, and each field is one instruction whose faults read as zero; before, each is
 * a call. Only one of the two is left when the program is loaded.
 */
extern void *bpf_rdonly_cast(void *address, __u32 btf_id) __ksym __weak;

#define KERNEL_READ(address, type, field)                                                                    \
	({                                                                                                   \
		__typeof__(((type *)0)->field) value_;                                                       \
		if (bpf_rdonly_cast)                                                                         \
			value_ = ((type *)bpf_rdonly_cast((void *)(address), bpf_core_type_id_kernel(type))) \
					 ->field;                                                            \
		else                                                                                         \
			value_ = BPF_CORE_READ((type *)(address), field);                                    \
		value_;                                                                                      \
	})

static __always_inline u64 kernel_read_u64(u64 address)
{
	return (u64)KERNEL_READ(address, struct timespec64, tv_sec);
}
