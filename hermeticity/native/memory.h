/* Reads what a stopped task points at. */
#ifndef ASSAY_MEMORY_H
#define ASSAY_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How many bytes could be read, which is fewer than asked for at the edge of a mapping; -1 for none. */
ssize_t read_memory(pid_t tid, uint64_t address, void *into, size_t size);

/* The length of the text, which is in `into` with its NUL; -1 where it can't be read or is longer than `size`. */
ssize_t read_text(pid_t tid, uint64_t address, char *into, size_t size);

#endif
