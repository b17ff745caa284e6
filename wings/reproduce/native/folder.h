/* Changes the order of a folder's entries. */
#ifndef ASSAY_FOLDER_H
#define ASSAY_FOLDER_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Sorts the `size` bytes of entries that one getdents64() call returned. A folder with more entries than fit
 * one call (about a thousand) keeps the file system's order between calls.
 */
void reorder_entries(pid_t tid, uint64_t address, size_t size);

#endif
