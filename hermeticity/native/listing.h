/*
 * What a folder shows to a task that lists it: names and types, read by the helper while the task is stopped.
 *
 * Guaranteed: a listing that differs from the last reported one of its folder is reported. A change between
 * the helper's reading and the task's is noticed at the task's next call, which asks for further names.
 */
#ifndef ASSAY_LISTING_H
#define ASSAY_LISTING_H

#include "path.h"
#include "task.h"

/*
 * Reports the folder's names if they are not those of the last report; then returns true. The types of all
 * entries are remembered, too: a task that lists a folder probes its entries one by one.
 */
bool report_names(const struct task *task, struct node *folder);

#endif
