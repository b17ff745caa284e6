#define _GNU_SOURCE
#include "tick.h"

#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

_Thread_local volatile sig_atomic_t ticks;

static _Thread_local timer_t timer;
static _Thread_local bool has_timer;

static void count_tick(int signal) {
  (void)signal;
  ticks++;
}

/* Without SA_RESTART: a tick must interrupt waitpid(). */
void catch_ticks(void) {
  struct sigaction tick = {.sa_handler = count_tick};
  sigaction(SIGALRM, &tick, NULL);
}

/* A limit of pending signals may forbid a timer for a thread: then the first thread, which may have to end survivors, ticks alone. */
static bool make_timer(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
  event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
  return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
}

void tick_every(int milliseconds) {
  struct itimerspec interval = {{0, milliseconds * 1000000L}, {0, milliseconds * 1000000L}};
  struct itimerval shared = {{0, milliseconds * 1000}, {0, milliseconds * 1000}};
  if (!has_timer) has_timer = make_timer();
  if (has_timer) timer_settime(timer, 0, &interval, NULL);
  else if (syscall(SYS_gettid) == getpid()) setitimer(ITIMER_REAL, &shared, NULL);
}
