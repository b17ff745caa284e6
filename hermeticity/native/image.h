/* What the kernel itself reads to run a program: the file, the interpreter of a script, the loader of a binary. */
#ifndef ASSAY_IMAGE_H
#define ASSAY_IMAGE_H

#include "task.h"

void tell_program(struct task *task, const struct place *program);

/* The arguments of the program that the task runs now. */
void tell_image(struct task *task);

#endif
