/*
 * How a command ends, told by the process that waits for it. Node and Bun can't tell a command that a real-time signal ended
 * from one that ended well, so neither of them waits for a command.
 */
#ifndef ASSAY_WAIT_H
#define ASSAY_WAIT_H

/* Tells why the command could not be started; answers the helper's exit code. */
int refuse(const char *text, int error);

/* Tells the command's wait status; answers the helper's exit code. */
int tell_end(int status);

/*
 * Runs a command that nobody watches. Signals for the whole process group reach the command without help, and the helper
 * outlives them; a helper that is killed takes the command along. Processes that the command leaves behind go on.
 */
int wait_for_command(char **argv);

#endif
