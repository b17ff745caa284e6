#include "tick.h"

#include <stddef.h>
#include <sys/time.h>

volatile sig_atomic_t ticks;

static void count_tick(int signal) {
  (void)signal;
  ticks++;
}

/* Without SA_RESTART: a tick must interrupt waitpid(). */
void catch_ticks(void) {
  struct sigaction tick = {.sa_handler = count_tick};
  sigaction(SIGALRM, &tick, NULL);
}

void tick_every(int milliseconds) {
  struct timeval interval = {0, milliseconds * 1000};
  setitimer(ITIMER_REAL, &(struct itimerval){interval, interval}, NULL);
}
