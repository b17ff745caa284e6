/* What differs between architectures when a call is answered in the kernel's place. */
#ifndef ASSAY_REGISTERS_H
#define ASSAY_REGISTERS_H

#include <sys/types.h>

/* The architecture this helper was compiled for, as seccomp and ptrace name it. */
extern const unsigned NATIVE_ARCHITECTURE;

/* The task stands before its call: the call does not happen and `value` is its result. */
void answer_call(pid_t tid, long value);

#endif
