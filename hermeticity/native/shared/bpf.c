#include "bpf.h"

#include <asm/unistd.h>
#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { LONGEST_PROGRAM = 2048 };

static struct sock_filter program[LONGEST_PROGRAM];
static unsigned short used;

void emit(unsigned short code, unsigned value, unsigned char if_true, unsigned char if_false) {
  if (used < LONGEST_PROGRAM) program[used++] = (struct sock_filter)BPF_JUMP(code, value, if_true, if_false);
}

void answer(unsigned value) { emit(BPF_RET | BPF_K, value, 0, 0); }

void load(unsigned offset) { emit(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0); }

void load_argument(int index) { load((unsigned)(offsetof(struct seccomp_data, args) + 8 * (size_t)index)); }

void load_argument_high(int index) { load((unsigned)(offsetof(struct seccomp_data, args) + 8 * (size_t)index + 4)); }

void stop_on_bits(int argument, unsigned bits) {
  load_argument(argument);
  emit(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

unsigned short leap(void) {
  unsigned short at = used;
  emit(BPF_JMP | BPF_JA, 0, 0, 0);
  return at;
}

void land_here(unsigned short leap) { program[leap].k = used - leap - 1; }

int install_program(void) {
  if (used == LONGEST_PROGRAM) {
    errno = E2BIG;
    return -1;
  }
  struct sock_fprog filter = {.len = used, .filter = program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}
