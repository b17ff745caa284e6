/* A timer for each thread: a periodic SIGALRM, which interrupts the thread's wait for the next stop. */
#ifndef ASSAY_TICK_H
#define ASSAY_TICK_H

#include <signal.h>

/* The number of ticks of this thread; may be set back to 0. */
extern _Thread_local volatile sig_atomic_t ticks;

/* Counts ticks from now on. Without it a tick would end the helper. */
void catch_ticks(void);

/* Less than a second; 0 stops the timer. */
void tick_every(int milliseconds);

#endif
