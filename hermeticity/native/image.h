/* Reports what the kernel reads to start a program: the file, a script's interpreter, a binary's loader. */
#ifndef ASSAY_IMAGE_H
#define ASSAY_IMAGE_H

#include "task.h"

void report_program(struct task *task, const struct resolved_path *program);

/* Reports the argv of the task's current program. */
void report_image(struct task *task);

#endif
