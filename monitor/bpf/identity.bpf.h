/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * identity.bpf.h - which file is mapped there, and whose process is it? As the kernel knows them, not by name
 */

#include "monitor/bpf/mapping.bpf.h"

static __always_inline void changed_read(struct inode *inode, struct sampler_file *ret)
{
	if (bpf_core_field_exists(struct inode___6_11, i_ctime_sec)) {
		ret->changed_s = BPF_CORE_READ((struct inode___6_11 *)inode, i_ctime_sec);
		ret->changed_ns = BPF_CORE_READ((struct inode___6_11 *)inode, i_ctime_nsec);
	} else if (bpf_core_field_exists(struct inode___6_6, __i_ctime)) {
		struct inode_time time = BPF_CORE_READ((struct inode___6_6 *)inode, __i_ctime);

		ret->changed_s = time.tv_sec;
		ret->changed_ns = time.tv_nsec;
	} else {
		struct inode_time time = BPF_CORE_READ((struct inode___old *)inode, i_ctime);

		ret->changed_s = time.tv_sec;
		ret->changed_ns = time.tv_nsec;
	}
	ret->changed_ns &= CHANGED_NS_MASK;
}

/*
 * Is it overlayfs' own file, embedded in a struct backing_file? The flag that says so has changed places, so what must
 * hold, too, is that it was opened by a mount that only the kernel has, of a file system that users mount.
 */
static __always_inline bool is_backing(struct file *file, struct inode *inode)
{
	struct mount *mount;

	if (!bpf_core_field_exists(struct backing_file, user_path) ||
	    !(KERNEL_READ(file, struct file, f_mode) & MODE_BACKING))
		return false;
	mount = (void *)BPF_CORE_READ(file, f_path.mnt) - bpf_core_field_offset(struct mount, mnt);
	return (long)BPF_CORE_READ(mount, mnt_ns) == NAMESPACE_INTERNAL &&
	       !(BPF_CORE_READ(inode, i_sb, s_flags) & SUPER_KERNEL);
}

/* Where the mapping's file has another below it (overlayfs): the one whose name the process used. */
static __always_inline struct inode *user_inode(struct file *file, struct inode *inode)
{
	if (!is_backing(file, inode))
		return inode;
	return BPF_CORE_READ((struct backing_file *)file, user_path.dentry, d_inode);
}

/* Most processes have the namespaces that the kernel's own threads have. */
static __always_inline u32 space_of(struct task_struct *task)
{
	u64 namespaces = kernel_read_u64((u64)task + bpf_core_field_offset(struct task_struct, nsproxy));
	u32 space;

	if (namespaces && namespaces == control.host_namespaces)
		return 0;
	space = BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
	if (space != control.host_space)
		return space;
	if (namespaces && namespaces == control.initial_namespaces)
		control.host_namespaces = namespaces;
	return 0;
}

static __always_inline u64 size_of(struct file *file)
{
	struct inode *inode = KERNEL_READ(file, struct file, f_inode);

	return KERNEL_READ(inode, struct inode, i_size);
}

/* All but the size. */
static __always_inline void file_read(struct file *file, struct task_struct *task, struct sampler_file *ret)
{
	struct inode *inode = KERNEL_READ(file, struct file, f_inode), *shown = user_inode(file, inode);
	struct super_block *super = KERNEL_READ(shown, struct inode, i_sb);

	ret->inode = KERNEL_READ(shown, struct inode, i_ino);
	ret->device = KERNEL_READ(super, struct super_block, s_dev);
	ret->generation = KERNEL_READ(inode, struct inode, i_generation);
	changed_read(inode, ret);
	ret->space = space_of(task);
}

/*
 * Whose process? Who may make user namespaces has many IDs in them, so what counts is who made the outermost;
 * when that was root (a container of the administrator's) the process' own.
 */
__noinline u32 user_find(u64 credentials)
{
	struct cred *cred = (void *)credentials;
	struct user_namespace *space = BPF_CORE_READ(cred, user_ns);
	u32 owner = 0;

	if (space && (u64)space == control.initial_user_space)
		return BPF_CORE_READ(cred, uid.val);
	for (int i = 0; i < MAX_SPACES; i++) {
		struct user_namespace *parent = BPF_CORE_READ(space, parent);

		if (!parent) {
			control.initial_user_space = (u64)space;
			break;
		}
		owner = BPF_CORE_READ(space, owner.val);
		space = parent;
	}
	return owner ? owner : BPF_CORE_READ(cred, uid.val);
}

static __always_inline u32 user_of(struct task_struct *task)
{
	/* As a number, which a function that is verified by itself can take. */
	return user_find(kernel_read_u64((u64)task + bpf_core_field_offset(struct task_struct, cred)));
}

static __always_inline bool has_lock_sequence(void)
{
	return has_sequence() && bpf_core_field_exists(struct vm_area_struct, vm_lock_seq);
}

static __always_inline u32 lock_sequence_of(u64 mapping)
{
	return has_lock_sequence() ? KERNEL_READ(mapping, struct vm_area_struct, vm_lock_seq) : 0;
}

/* The parts of @ret that the mapping itself tells; false: it is not the one for @ip, or no more. */
static __always_inline bool mapping_read(struct mm_struct *mm, u64 ip, u64 mapping, struct place *ret)
{
	/* First: a writer changes it before anything else. */
	ret->lock_sequence = lock_sequence_of(mapping);
	ret->mapping = mapping;
	ret->start = KERNEL_READ(mapping, struct vm_area_struct, vm_start);
	ret->end = KERNEL_READ(mapping, struct vm_area_struct, vm_end);
	ret->base =
		ret->start - (KERNEL_READ(mapping, struct vm_area_struct, vm_pgoff) << control.page_shift);
	ret->file = KERNEL_READ(mapping, struct vm_area_struct, vm_file);
	ret->is_code = !bpf_core_field_exists(struct vm_area_struct, vm_flags) ||
		       KERNEL_READ(mapping, struct vm_area_struct, vm_flags) & MAPPING_EXEC;
	return ip >= ret->start && ip < ret->end && KERNEL_READ(mapping, struct vm_area_struct, vm_mm) == mm;
}

/*
 * Step 2c. A writer first puts the address space's (odd) sequence number into the mapping, then changes
 * it. So a mapping that does not hold the current number, and holds the same as when we began, was whole.
 */
static __always_inline bool is_stable(struct mm_struct *mm, const struct place *place, u32 sequence)
{
	u32 now = sequence_of(mm);

	if (has_lock_sequence())
		return place->lock_sequence != now &&
		       lock_sequence_of(place->mapping) == place->lock_sequence;
	return now == sequence && !is_being_written(mm, now);
}

static __always_inline void place_classify(struct task_struct *task, struct mm_struct *mm, struct place *ret)
{
	void *vdso = mm->context.vdso;

	ret->kind = 0;
	if (ret->file) {
		file_read(ret->file, task, &ret->id);
	} else if (ret->start == (u64)vdso) {
		ret->kind = SAMPLER_VDSO;
		ret->base = ret->start;
	} else {
		ret->kind = SAMPLER_ANONYMOUS;
	}
}

/*
 * Steps 2b and 2c. Return: SAMPLER_ATTRIBUTED when @ret is filled, else the counter of what went wrong:
 * without a mapping while nobody writes there is none; while somebody writes it is a race.
 */
static __always_inline u32 place_find(struct task_struct *task, struct mm_struct *mm, u64 ip,
				      struct place *ret)
{
	u32 cause = SAMPLER_RACE;

	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
		u32 sequence = sequence_of(mm);
		u64 root = kernel_read_u64((u64)mm + bpf_core_field_offset(struct mm_struct, mm_mt.ma_root));
		u64 mapping = mapping_find(root, ip);

		if (mapping && mapping_read(mm, ip, mapping, ret)) {
			ret->sequence = sequence;
			place_classify(task, mm, ret);
			if (is_stable(mm, ret, sequence))
				return SAMPLER_ATTRIBUTED;
		} else if (sequence_of(mm) == sequence && !is_being_written(mm, sequence)) {
			cause = SAMPLER_NO_MAPPING;
			break;
		}
	}
	return cause;
}
