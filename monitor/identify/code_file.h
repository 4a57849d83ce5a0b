/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * code_file.h - code and constants of a program's file, a few pages of it at a time
 *
 * The file is read, never mapped: it belongs to somebody else, who may cut it short at any moment, and that would kill whoever
 * touches a mapping of it. x86-64 programs and libraries only. Addresses are virtual, before relocation.
 */

#include "base/macro.h"
#include "module/build_id.h"
#include "module/file_identity.h"

struct code_file;

/**
 * code_file_open() - the file at @path, if it is still @file, or when that is not known has this build ID
 * Return: NULL: it is not, or it is of no use, or out of memory.
 */
struct code_file *code_file_open(const char *path, const struct file_identity *file,
				 const struct build_id *build_id);
void code_file_free(struct code_file *file); /* accepts NULL */
DEFINE_CLEANUP(struct code_file *, code_file_free);

bool code_file_address(const struct code_file *file, uint64_t offset, uint64_t *ret);
bool code_file_offset(const struct code_file *file, uint64_t address, uint64_t *ret);

enum code_file_part {
	CODE_FILE_CODE,	     /* what can be executed */
	CODE_FILE_CONSTANTS, /* what can be read, and nobody writes */
};

/** code_file_read() - at most @size bytes (of 16) at @address; how many there are */
size_t code_file_read(struct code_file *file, enum code_file_part part, uint64_t address, void *ret,
		      size_t size);
