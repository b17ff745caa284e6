/* Runs a command and waits until it and all its descendants have ended. */
#ifndef ASSAY_WATCH_H
#define ASSAY_WATCH_H

struct command {
  char **argv;
  /* The working directory, as named in the run's namespaces. */
  const char *folder;
  int umask;
  int fixed_addresses;
  /* Limits and priority other than the caller's. */
  int other_limits;
  /* Processes that outlive the command by this time are killed. */
  long linger_ms;
};

/* The command's exit code, 128 + signal, or 125 with a line on `failures`. */
int run_command(const struct command *command, int failures);

#endif
