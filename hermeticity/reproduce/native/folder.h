/* The order in which a folder's names are told. */
#ifndef ASSAY_FOLDER_H
#define ASSAY_FOLDER_H

#include <stdint.h>
#include <sys/types.h>

/*
 * `size` bytes of entries that getdents64() has just given: sorted one way or the other. Each call for itself: in a folder
 * with more names than fit into one call (about a thousand) the pieces stay in the file system's order.
 */
void reorder_entries(pid_t tid, uint64_t address, size_t size);

#endif
