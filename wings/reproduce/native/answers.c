#define _GNU_SOURCE
#include "answers.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "random.h"
#include "clock.h"
#include "folder.h"
#include "memory.h"
#include <asm/unistd.h>
#include "registers.h"
#include "world.h"

enum { MOST_RANDOM = 64 * 1024 };

static const char OTHER_DOMAIN[] = "varied-domain";

static void answer_time(struct task *task, long clock, uint64_t into) {
  struct timespec time = simulated_time(task, clock);
  poke(task->tid, into, &time, sizeof time);
  answer_call(task->tid, 0);
}

static void answer_time_of_day(struct task *task, uint64_t into, uint64_t zone) {
  struct timespec time = simulated_time(task, CLOCK_REALTIME);
  struct timeval value = {.tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000};
  struct timezone none = {0};
  if (into) poke(task->tid, into, &value, sizeof value);
  if (zone) poke(task->tid, zone, &none, sizeof none);
  answer_call(task->tid, 0);
}

#ifdef __NR_time
static void answer_seconds(struct task *task, uint64_t into) {
  int64_t seconds = simulated_time(task, CLOCK_REALTIME).tv_sec;
  if (into) poke(task->tid, into, &seconds, sizeof seconds);
  answer_call(task->tid, seconds);
}
#endif

static void answer_random(struct task *task, uint64_t into, uint64_t size) {
  if (size > MOST_RANDOM) size = MOST_RANDOM;
  char *bytes = malloc(size + 1);
  if (!bytes) return;
  fill_random(task, bytes, size);
  if (poke(task->tid, into, bytes, size)) answer_call(task->tid, (long)size);
  free(bytes);
}

/* Overwrites the deadline during the call: the kernel knows only the real time. */
static void translate_deadline(struct task *task, uint64_t at) {
  if (!at || !peek(task->tid, at, &task->deadline, sizeof task->deadline)) return;
  struct timespec real = real_deadline(task->deadline);
  if (!poke(task->tid, at, &real, sizeof real)) return;
  task->deadline_at = at;
  task->waiting = true;
}

/* One group, that of the user. */
static void answer_groups(struct task *task, uint64_t size, uint64_t into) {
  if (size > 0 && !poke(task->tid, into, &world.user, sizeof world.user)) return;
  answer_call(task->tid, 1);
}

void before_call(struct task *task, long call, const uint64_t *arguments) {
  task->call = call;
  memcpy(task->arguments, arguments, sizeof task->arguments);
  switch (call) {
    case __NR_clock_gettime:
      return answer_time(task, (long)arguments[0], arguments[1]);
    case __NR_gettimeofday:
      return answer_time_of_day(task, arguments[0], arguments[1]);
#ifdef __NR_time
    case __NR_time:
      return answer_seconds(task, arguments[0]);
#endif
    case __NR_getrandom:
      return answer_random(task, arguments[0], arguments[1]);
    case __NR_getuid:
    case __NR_geteuid:
    case __NR_getgid:
    case __NR_getegid:
      return answer_call(task->tid, (long)world.user);
    case __NR_getgroups:
      return answer_groups(task, arguments[0], arguments[1]);
    case __NR_setuid:
    case __NR_setgid:
    case __NR_setreuid:
    case __NR_setregid:
    case __NR_setresuid:
    case __NR_setresgid:
      return answer_call(task->tid, 0);
    case __NR_futex:
      return translate_deadline(task, arguments[3]);
    case __NR_clock_nanosleep:
      return translate_deadline(task, arguments[2]);
    default:
      task->waiting = true;
  }
}

/* ---- results ---- */

static uint32_t simulated_user(uint32_t id, uint32_t own) { return world.has_user && id == own ? world.user : id; }

static void alter_stat(struct task *task, uint64_t at) {
  struct stat status;
  if (!peek(task->tid, at, &status, sizeof status)) return;
  if (world.has_clock) {
    status.st_atim = simulated_file_time(status.st_atim.tv_sec, status.st_atim.tv_nsec);
    status.st_mtim = simulated_file_time(status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    status.st_ctim = simulated_file_time(status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
  }
  status.st_uid = simulated_user(status.st_uid, geteuid());
  status.st_gid = simulated_user(status.st_gid, getegid());
  poke(task->tid, at, &status, sizeof status);
}

static void alter_stamp(struct statx_timestamp *stamp) {
  struct timespec simulated = simulated_file_time(stamp->tv_sec, stamp->tv_nsec);
  stamp->tv_sec = simulated.tv_sec;
  stamp->tv_nsec = (uint32_t)simulated.tv_nsec;
}

static void alter_statx(struct task *task, uint64_t at) {
  struct statx status;
  if (!peek(task->tid, at, &status, sizeof status)) return;
  if (world.has_clock) {
    alter_stamp(&status.stx_atime);
    alter_stamp(&status.stx_mtime);
    alter_stamp(&status.stx_ctime);
    alter_stamp(&status.stx_btime);
  }
  status.stx_uid = simulated_user(status.stx_uid, geteuid());
  status.stx_gid = simulated_user(status.stx_gid, getegid());
  poke(task->tid, at, &status, sizeof status);
}

static void alter_name(struct task *task, uint64_t at) {
  struct utsname name;
  if (!peek(task->tid, at, &name, sizeof name)) return;
  memset(name.nodename, 0, sizeof name.nodename);
  strncpy(name.nodename, world.host, sizeof name.nodename - 1);
  memset(name.domainname, 0, sizeof name.domainname);
  strncpy(name.domainname, OTHER_DOMAIN, sizeof name.domainname - 1);
  poke(task->tid, at, &name, sizeof name);
}

static void alter_processors(struct task *task, uint64_t at, int64_t size) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (size <= 0) return;
  for (int i = 0; i < world.processors; i++) CPU_SET(i, &set);
  poke(task->tid, at, &set, (size_t)size < sizeof set ? (size_t)size : sizeof set);
}

static void alter_users(struct task *task) {
  for (int i = 0; i < 3; i++) poke(task->tid, task->arguments[i], &world.user, sizeof world.user);
}

static void restore_deadline(struct task *task) {
  poke(task->tid, task->deadline_at, &task->deadline, sizeof task->deadline);
}

void after_call(struct task *task, int64_t result) {
  const uint64_t *arguments = task->arguments;
  task->waiting = false;
  if (task->call == __NR_futex || task->call == __NR_clock_nanosleep) return restore_deadline(task);
  if (result < 0) return;
  switch (task->call) {
    case __NR_newfstatat:
      return alter_stat(task, arguments[2]);
    case __NR_fstat:
#ifdef __NR_stat
    case __NR_stat:
    case __NR_lstat:
#endif
      return alter_stat(task, arguments[1]);
    case __NR_statx:
      return alter_statx(task, arguments[4]);
    case __NR_uname:
      return alter_name(task, arguments[0]);
    case __NR_sched_getaffinity:
      return alter_processors(task, arguments[2], result);
    case __NR_getresuid:
    case __NR_getresgid:
      return alter_users(task);
    case __NR_getdents64:
      return reorder_entries(task->tid, arguments[1], (size_t)result);
  }
}
