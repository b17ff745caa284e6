#include "filter.h"

#include <asm/unistd.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "registers.h"
#include "world.h"

enum { LONGEST_PROGRAM = 256 };

static struct sock_filter program[LONGEST_PROGRAM];
static unsigned short used;

static void emit(unsigned short code, unsigned value, unsigned char if_true, unsigned char if_false) {
  if (used < LONGEST_PROGRAM) program[used++] = (struct sock_filter)BPF_JUMP(code, value, if_true, if_false);
}

static void answer(unsigned value) { emit(BPF_RET | BPF_K, value, 0, 0); }

static void load(unsigned offset) { emit(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0); }

static void load_argument(int index) { load((unsigned)(offsetof(struct seccomp_data, args) + 8 * (size_t)index)); }

static void stop_at(unsigned call) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
  answer(SECCOMP_RET_TRACE);
}

/* The clocks of other processes and of devices have numbers below zero and are left alone. */
static void stop_at_every_clock(void) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_gettime, 0, 4);
  load_argument(0);
  emit(BPF_JMP | BPF_JGE | BPF_K, 0x80000000, 1, 0);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

static void stop_at_clocks_of_the_day(void) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_gettime, 0, 6);
  load_argument(0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_REALTIME, 3, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_REALTIME_COARSE, 2, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_TAI, 1, 0);
  answer(SECCOMP_RET_ALLOW);
  answer(SECCOMP_RET_TRACE);
}

static void stop_on_bits(unsigned call, int argument, unsigned bits) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
  load_argument(argument);
  emit(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

/* Sleeping until a time of day; how long otherwise is the same by any clock. */
static void stop_at_alarms(void) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_nanosleep, 0, 6);
  load_argument(0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_REALTIME, 0, 3);
  load_argument(1);
  emit(BPF_JMP | BPF_JSET | BPF_K, TIMER_ABSTIME, 0, 1);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

static void stop_at_file_status(void) {
  stop_at(__NR_newfstatat);
  stop_at(__NR_fstat);
  stop_at(__NR_statx);
#ifdef __NR_stat
  stop_at(__NR_stat);
  stop_at(__NR_lstat);
#endif
}

static void stop_at_users(void) {
  static const unsigned calls[] = {__NR_getuid,   __NR_geteuid,   __NR_getgid,    __NR_getegid, __NR_getresuid, __NR_getresgid,
                                   __NR_setuid,   __NR_setgid,    __NR_setreuid,  __NR_setregid, __NR_setresuid, __NR_setresgid};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) stop_at(calls[i]);
}

static void stop_at_time(void) {
  if (world.frozen) stop_at_every_clock();
  else stop_at_clocks_of_the_day();
  stop_at(__NR_gettimeofday);
#ifdef __NR_time
  stop_at(__NR_time);
#endif
  stop_on_bits(__NR_futex, 1, FUTEX_CLOCK_REALTIME);
  stop_at_alarms();
}

/* Programs of another architecture are left alone: they are told the truth. */
static void write_program(void) {
  load(offsetof(struct seccomp_data, arch));
  emit(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 1, 0);
  answer(SECCOMP_RET_ALLOW);
  load(offsetof(struct seccomp_data, nr));
  if (world.has_clock) stop_at_time();
  if (world.has_clock || world.has_user) stop_at_file_status();
  if (world.has_seed) stop_at(__NR_getrandom);
  if (world.host) stop_at(__NR_uname);
  if (world.processors > 0) stop_at(__NR_sched_getaffinity);
  if (world.has_user) stop_at_users();
  if (world.order != ORDER_AS_IT_IS) stop_at(__NR_getdents64);
  answer(SECCOMP_RET_ALLOW);
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
