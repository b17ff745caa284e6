/* Runs a command and stays with it and all that it starts until the last of them has ended. */
#ifndef ASSAY_WATCH_H
#define ASSAY_WATCH_H

struct command {
  char **argv;
  /* The folder to run in, as it is called in the run's own namespaces. */
  const char *folder;
  int umask;
  int fixed_addresses;
  /* What the command leaves behind is ended after this. */
  long linger_ms;
};

/* The command's exit code, 128 and the number of the signal that ended it, or 125 with a line on `failures`. */
int run_command(const struct command *command, int failures);

#endif
