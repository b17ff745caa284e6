#define _GNU_SOURCE
#include "park.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory.h"
#include "status.h"

#if defined(__x86_64__)

enum { CODE_64 = 0x33 };
static const unsigned char CALL_INSTRUCTION[] = {0x0f, 0x05};

/* Reading its memory needs the same right as attaching to it again. */
static bool follows_call(pid_t tid, const struct user_regs_struct *registers) {
  unsigned char code[sizeof CALL_INSTRUCTION];
  return registers->cs == CODE_64 && peek(tid, registers->rip - sizeof code, code, sizeof code) &&
         memcmp(code, CALL_INSTRUCTION, sizeof code) == 0;
}

/* The helper's filters and the one that it installed. */
static bool has_no_filter_of_its_own(pid_t tid) {
  static const char key[] = "Seccomp_filters:";
  static long inherited = -1;
  if (inherited < 0) inherited = number_in_status(getpid(), key, -1);
  return inherited >= 0 && number_in_status(tid, key, -1) == inherited + 1;
}

/* Repeats the instruction of the last call as poll(NULL, 0, PARKED_MS). What could run after it finds no stack. */
static struct user_regs_struct waiting(const struct user_regs_struct *registers) {
  struct user_regs_struct wait = {.rip = registers->rip - sizeof CALL_INSTRUCTION, .rax = SYS_poll, .rdx = PARKED_MS};
  wait.orig_rax = (unsigned long long)-1;
  wait.eflags = registers->eflags;
  wait.cs = registers->cs;
  wait.ss = registers->ss;
  wait.ds = registers->ds;
  wait.es = registers->es;
  wait.fs = registers->fs;
  wait.gs = registers->gs;
  wait.fs_base = registers->fs_base;
  wait.gs_base = registers->gs_base;
  return wait;
}

bool park(pid_t tid, struct parked *parked) {
  static const uint64_t all = ~0ull;
  struct user_regs_struct *registers = &parked->registers;
  if (ptrace(PTRACE_GETREGS, tid, 0, registers) != 0 || !follows_call(tid, registers)) return false;
  if (ptrace(PTRACE_GETSIGMASK, tid, sizeof parked->mask, &parked->mask) != 0 || !has_no_filter_of_its_own(tid)) return false;
  struct user_regs_struct wait = waiting(registers);
  if (ptrace(PTRACE_SETSIGMASK, tid, sizeof all, &all) != 0) return false;
  if (ptrace(PTRACE_SETREGS, tid, 0, &wait) == 0) return true;
  ptrace(PTRACE_SETSIGMASK, tid, sizeof parked->mask, &parked->mask);
  return false;
}

/* Before the call's instruction, or in the call. */
static bool is_where_it_was(const struct user_regs_struct *now, const struct user_regs_struct *parked) {
  return now->rsp == 0 && (now->rip == parked->rip || now->rip == parked->rip - sizeof CALL_INSTRUCTION);
}

bool unpark(pid_t tid, const struct parked *parked) {
  struct user_regs_struct now;
  if (ptrace(PTRACE_GETREGS, tid, 0, &now) != 0) return errno == ESRCH;
  if (!is_where_it_was(&now, &parked->registers)) return false;
  ptrace(PTRACE_SETREGS, tid, 0, &parked->registers);
  ptrace(PTRACE_SETSIGMASK, tid, sizeof parked->mask, &parked->mask);
  return true;
}

#else

bool park(pid_t tid, struct parked *parked) {
  (void)tid;
  (void)parked;
  return false;
}

bool unpark(pid_t tid, const struct parked *parked) {
  (void)tid;
  (void)parked;
  return true;
}

#endif
