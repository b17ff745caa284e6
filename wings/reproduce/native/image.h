/* Changes the initial stack of a program. */
#ifndef ASSAY_VARY_IMAGE_H
#define ASSAY_VARY_IMAGE_H

#include "task.h"

/*
 * Call this after exec. Hides the vDSO, so that the program asks for the time by system calls, and replaces
 * the kernel's random bytes and user ids.
 */
void alter_image(struct task *task);

#endif
