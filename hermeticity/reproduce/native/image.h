/* What a program finds on its stack at its start. */
#ifndef ASSAY_VARY_IMAGE_H
#define ASSAY_VARY_IMAGE_H

#include "task.h"

/*
 * A task has just become another program. The kernel's own library of quick calls is hidden from it, so that it asks for
 * the time by a call that can be answered; the random bytes and the user that the kernel left there are replaced.
 */
void alter_image(struct task *task);

#endif
