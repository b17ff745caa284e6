/*
 * Slots for commands that all runs of a user share: locks on the bytes of a file (docs/decisions/0605). The locks
 * belong to the client's open file, so they end with the client and this process, however they end.
 */
#ifndef ASSAY_SLOTS_H
#define ASSAY_SLOTS_H

/*
 * Serves a client on standard input and output until that is closed. The client sends '+' to ask for a slot, '-'
 * to give one back, 'c' to withdraw a question. It gets '+' for each slot. `file` is open for writing; `jobs` slots
 * of it may be taken. Returns the helper's exit code: not 0 if nothing can be locked here.
 */
int share_slots(int file, int jobs);

#endif
