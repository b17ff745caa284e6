#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <linux/sockios.h>

#include "bpf.h"
#include "call.h"
#include "numbers.h"
#include "registers.h"

#ifndef CLONE_UNTRACED
#define CLONE_UNTRACED 0x00800000
#endif

/* Stops only if a pointer is not NULL. */
static void stop_on_pointer(int argument) {
  load_argument(argument);
  emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2);
  load_argument_high(argument);
  emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

/*
 * Current C libraries implement fstat() as newfstatat(handle, "", …, AT_EMPTY_PATH), by far the most frequent
 * call. A filter cannot see whether the path is empty, only the flag and that a handle was given.
 */
static void stop_unless_fstat(int flags) {
  load_argument(flags);
  emit(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 2);
  load_argument(0);
  emit(BPF_JMP | BPF_JSET | BPF_K, 0x80000000, 0, 1);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

static void stop_on_new_listener(void) {
  load_argument(0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_SET_MODE_FILTER, 0, 3);
  load_argument(1);
  emit(BPF_JMP | BPF_JSET | BPF_K, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

/* Every C library asks for the other three at a program's start. */
static void stop_on_rare_limit(int argument) {
  load_argument(argument);
  emit(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_STACK, 3, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_NOFILE, 2, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_NPROC, 1, 0);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

/* Commands about network interfaces; 0x8B is for wireless ones. */
static void stop_on_interface(void) {
  load_argument(1);
  emit(BPF_JMP | BPF_JGE | BPF_K, SIOCGIFNAME, 0, 2);
  emit(BPF_JMP | BPF_JGT | BPF_K, 0x8bff, 1, 0);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

/* Sockets of UNIX and IP tell nothing before they have an address, unless they are raw. */
static void stop_on_telling_socket(void) {
  load_argument(0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 6, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 3);
  load_argument(1);
  emit(BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, SOCK_RAW, 0, 1);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

static void verdict_on(const struct call *call) {
  switch (call->number) {
    case __NR_newfstatat:
    case __NR_statx:
      return stop_unless_fstat(call->flags);
    case __NR_sendto:
      return stop_on_pointer(4);
    case __NR_clone:
      return stop_on_bits(0, CLONE_NEWNS | CLONE_UNTRACED | CLONE_FS);
    case __NR_unshare:
      return stop_on_bits(0, CLONE_NEWNS | CLONE_FS);
    case __NR_getrlimit:
      return stop_on_rare_limit(0);
    case __NR_prlimit64:
      return stop_on_rare_limit(1);
    case __NR_ioctl:
      return stop_on_interface();
    case __NR_socket:
      return stop_on_telling_socket();
    case __NR_seccomp:
      return stop_on_new_listener();
    default:
      return answer(SECCOMP_RET_TRACE);
  }
}

/* A binary search over calls[from..to), because the filter runs at every system call. */
static void search(const struct call *calls, int from, int to) {
  if (to - from == 1) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, calls[from].number, 1, 0);
    answer(SECCOMP_RET_ALLOW);
    verdict_on(&calls[from]);
    return;
  }
  int middle = (from + to) / 2;
  emit(BPF_JMP | BPF_JGE | BPF_K, calls[middle].number, 0, 1);
  unsigned short upper = leap();
  search(calls, from, middle);
  land_here(upper);
  search(calls, middle, to);
}

/* Every call of a foreign architecture stops, so that the tracer can report the gap. */
static void write_program(void) {
  int count;
  const struct call *calls = all_calls(&count);
  load(offsetof(struct seccomp_data, arch));
  emit(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 1, 0);
  answer(SECCOMP_RET_TRACE);
  load(offsetof(struct seccomp_data, nr));
  emit(BPF_JMP | BPF_JGT | BPF_K, NEWEST_KNOWN, 0, 1);
  answer(SECCOMP_RET_ERRNO | ENOSYS);
  search(calls, 0, count);
}

int install_filter(void) {
  write_program();
  return install_program();
}
