/* Answers a system call in the kernel's place: the part that differs between architectures. */
#ifndef ASSAY_REGISTERS_H
#define ASSAY_REGISTERS_H

#include <sys/types.h>

/* The architecture of this build, as seccomp and ptrace number it. */
extern const unsigned NATIVE_ARCHITECTURE;

/* The task is stopped before a call. The call does not run, and `value` becomes its result. */
void answer_call(pid_t tid, long value);

#endif
