#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call.h"
#include "numbers.h"

#if defined(__aarch64__)
const unsigned NATIVE_ARCHITECTURE = AUDIT_ARCH_AARCH64;
#elif defined(__x86_64__)
const unsigned NATIVE_ARCHITECTURE = AUDIT_ARCH_X86_64;
#else
#error "the tracer knows arm64 and x86-64"
#endif

#ifndef CLONE_UNTRACED
#define CLONE_UNTRACED 0x00800000
#endif

enum { LONGEST_PROGRAM = 2048 };

static struct sock_filter program[LONGEST_PROGRAM];
static unsigned short used;

static void emit(unsigned short code, unsigned value, unsigned char if_true, unsigned char if_false) {
  if (used < LONGEST_PROGRAM) program[used++] = (struct sock_filter)BPF_JUMP(code, value, if_true, if_false);
}

static void answer(unsigned value) { emit(BPF_RET | BPF_K, value, 0, 0); }

static void load_argument(int index, int high) {
  unsigned offset = offsetof(struct seccomp_data, args) + 8 * index + (high ? 4 : 0);
  emit(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

/* Stops only if one of `bits` is set in an argument. */
static void stop_on_bits(int argument, unsigned bits) {
  load_argument(argument, 0);
  emit(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

/* Stops only if a pointer is not NULL. */
static void stop_on_pointer(int argument) {
  load_argument(argument, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2);
  load_argument(argument, 1);
  emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

/*
 * fstat() is newfstatat(handle, "", …, AT_EMPTY_PATH) in the C libraries of these years, and by far the most frequent
 * call. A filter can't see whether the path is empty, only that the flag is there and that a handle was given.
 */
static void stop_unless_fstat(int flags) {
  load_argument(flags, 0);
  emit(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 2);
  load_argument(0, 0);
  emit(BPF_JMP | BPF_JSET | BPF_K, 0x80000000, 0, 1);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

static void stop_on_new_listener(void) {
  load_argument(0, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_SET_MODE_FILTER, 0, 3);
  load_argument(1, 0);
  emit(BPF_JMP | BPF_JSET | BPF_K, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1);
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
    case __NR_seccomp:
      return stop_on_new_listener();
    default:
      return answer(SECCOMP_RET_TRACE);
  }
}

/* A binary search over calls[from..to), because the filter runs at every traced call. */
static void search(const struct call *calls, int from, int to) {
  if (to - from == 1) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, calls[from].number, 1, 0);
    answer(SECCOMP_RET_ALLOW);
    verdict_on(&calls[from]);
    return;
  }
  int middle = (from + to) / 2;
  emit(BPF_JMP | BPF_JGE | BPF_K, calls[middle].number, 0, 1);
  unsigned short leap = used;
  emit(BPF_JMP | BPF_JA, 0, 0, 0);
  search(calls, from, middle);
  program[leap].k = used - leap - 1;
  search(calls, middle, to);
}

/* Calls of a foreign architecture all stop, so that the tracer can say that it does not understand them. */
static void write_program(void) {
  int count;
  const struct call *calls = all_calls(&count);
  emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 1, 0);
  answer(SECCOMP_RET_TRACE);
  emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
  emit(BPF_JMP | BPF_JGT | BPF_K, NEWEST_KNOWN, 0, 1);
  answer(SECCOMP_RET_ERRNO | ENOSYS);
  search(calls, 0, count);
}

int install_filter(void) {
  write_program();
  if (used == LONGEST_PROGRAM) {
    errno = E2BIG;
    return -1;
  }
  struct sock_fprog filter = {.len = used, .filter = program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}
