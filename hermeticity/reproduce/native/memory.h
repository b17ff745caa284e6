/* Reads and writes what a stopped task points at. False where not all of it is there. */
#ifndef ASSAY_VARY_MEMORY_H
#define ASSAY_VARY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

bool peek(pid_t tid, uint64_t address, void *into, size_t size);
bool poke(pid_t tid, uint64_t address, const void *from, size_t size);

#endif
