#include "registers.h"

#include <elf.h>
#include <linux/audit.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#if defined(__aarch64__)

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif

const unsigned NATIVE_ARCHITECTURE = AUDIT_ARCH_AARCH64;

void answer_call(pid_t tid, long value) {
  int no_call = -1;
  struct iovec number = {&no_call, sizeof no_call};
  ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &number);
  struct user_regs_struct registers;
  struct iovec general = {&registers, sizeof registers};
  if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &general) != 0) return;
  registers.regs[0] = (unsigned long long)value;
  ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &general);
}

#elif defined(__x86_64__)

const unsigned NATIVE_ARCHITECTURE = AUDIT_ARCH_X86_64;

void answer_call(pid_t tid, long value) {
  struct user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, tid, 0, &registers) != 0) return;
  registers.orig_rax = (unsigned long long)-1;
  registers.rax = (unsigned long long)value;
  ptrace(PTRACE_SETREGS, tid, 0, &registers);
}

#else
#error "the helpers support arm64 and x86-64 only"
#endif
