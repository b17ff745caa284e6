#define _GNU_SOURCE
#include "memory.h"

#include <string.h>
#include <sys/uio.h>

ssize_t read_memory(pid_t tid, uint64_t address, void *into, size_t size) {
  struct iovec local = {into, size};
  struct iovec remote = {(void *)(uintptr_t)address, size};
  return process_vm_readv(tid, &local, 1, &remote, 1, 0);
}

/* Never crosses a page in one read: the next page may be unmapped, and the string may end before it. */
static size_t step(uint64_t address, size_t room) {
  enum { PAGE = 4096, TYPICAL = 256 };
  size_t to_edge = PAGE - (address & (PAGE - 1));
  size_t size = to_edge < TYPICAL ? to_edge : TYPICAL;
  return size < room ? size : room;
}

ssize_t read_text(pid_t tid, uint64_t address, char *into, size_t size) {
  size_t length = 0;
  while (length < size) {
    ssize_t got = read_memory(tid, address + length, into + length, step(address + length, size - length));
    if (got <= 0) return -1;
    char *end = memchr(into + length, 0, (size_t)got);
    if (end) return end - into;
    length += (size_t)got;
  }
  return -1;
}

bool peek(pid_t tid, uint64_t address, void *into, size_t size) {
  return read_memory(tid, address, into, size) == (ssize_t)size;
}

bool poke(pid_t tid, uint64_t address, const void *from, size_t size) {
  struct iovec local = {(void *)(uintptr_t)from, size};
  struct iovec remote = {(void *)(uintptr_t)address, size};
  return process_vm_writev(tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}
