#define _GNU_SOURCE
#include "memory.h"

#include <sys/uio.h>

bool peek(pid_t tid, uint64_t address, void *into, size_t size) {
  struct iovec local = {into, size}, remote = {(void *)(uintptr_t)address, size};
  return process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool poke(pid_t tid, uint64_t address, const void *from, size_t size) {
  struct iovec local = {(void *)(uintptr_t)from, size}, remote = {(void *)(uintptr_t)address, size};
  return process_vm_writev(tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}
