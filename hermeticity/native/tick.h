/* The helper's one timer: a SIGALRM again and again, so that a wait for the next stop ends now and then. */
#ifndef ASSAY_TICK_H
#define ASSAY_TICK_H

/* 0: no more. Less than a second. */
void tick_every(int milliseconds);

#endif
