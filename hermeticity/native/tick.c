#include "tick.h"

#include <stddef.h>
#include <sys/time.h>

void tick_every(int milliseconds) {
  struct timeval interval = {0, milliseconds * 1000};
  setitimer(ITIMER_REAL, &(struct itimerval){interval, interval}, NULL);
}
