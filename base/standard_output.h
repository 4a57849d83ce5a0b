/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * standard_output.h - what a program prints arrives, or it does not end with status 0
 */

/**
 * standard_output_end() - the last step of main(): what is still in the buffer is written
 *
 * When that, or any write before, failed, it says so on standard error, once. A pipe that nobody reads any more is no
 * failure: whoever closed it had enough.
 *
 * @program: for the message
 * @status:  what the program would end with
 * Return: @status; 1 in place of 0 after a failure.
 */
int standard_output_end(const char *program, int status);
