/* Reads and writes the memory of a stopped task. */
#ifndef ASSAY_MEMORY_H
#define ASSAY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The number of bytes read, which is smaller than `size` at the edge of a mapping; -1 for none. */
ssize_t read_memory(pid_t tid, uint64_t address, void *into, size_t size);

/* The length of the string, which is in `into` with its NUL; -1 if it is unreadable or does not fit. */
ssize_t read_text(pid_t tid, uint64_t address, char *into, size_t size);

/* Read or write exactly `size` bytes; false if that is not possible. */
bool peek(pid_t tid, uint64_t address, void *into, size_t size);
bool poke(pid_t tid, uint64_t address, const void *from, size_t size);

#endif
