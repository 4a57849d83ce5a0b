/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * interrupt.h - signals that end an edit do so after its work directory is gone
 */

/** interrupt_catch() - from now on they are kept; a hangup or a broken pipe that is ignored stays so */
void interrupt_catch(void);

/** interrupt_came() - the last one; 0: none */
int interrupt_came(void);

/** interrupt_end() - at the end: whoever reads us no more is told nothing, a broken pipe ends us as it ends any program */
void interrupt_end(void);
