/*
 * Waits for an untraced command and reports its wait status. Node and Bun report a command that a real-time
 * signal killed as successful, so neither of them waits for it.
 */
#ifndef ASSAY_WAIT_H
#define ASSAY_WAIT_H

/* Reports why the command could not be started; returns the helper's exit code. */
int refuse(const char *text, int error);

/* Reports the command's wait status; returns the helper's exit code. */
int report_end(int status);

/*
 * Runs a command untraced. Signals to the process group reach the command directly, and the helper survives
 * them. If the helper is killed, so is the command. Processes that outlive the command go on.
 */
int wait_for_command(char **argv);

#endif
