/*
 * Tells the dynamic loader and the program apart.
 *
 * Nearly every program begins with the loader's open of /etc/ld.so.cache, and a path is reported once. So a
 * program that opens this file itself would never be seen. Both run in one process; only the address of the
 * code that makes the call differs.
 */
#ifndef ASSAY_LOADER_H
#define ASSAY_LOADER_H

#include "task.h"

/*
 * The node under which a look at `node` is reported. It is `node` itself, except for a look at
 * /etc/ld.so.cache that does not come from glibc's loader: that one has a node of its own.
 */
struct node *node_for_caller(struct task *task, struct node *node);

/* Call this when a process runs another program. */
void forget_loader(struct process *process);

#endif
