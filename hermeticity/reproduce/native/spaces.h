/*
 * Namespaces of the run's own: process ids that start where they are told to, and mounts that nobody else sees. As root
 * directly, for everybody else within a user namespace that maps the user to himself.
 */
#ifndef ASSAY_SPACES_H
#define ASSAY_SPACES_H

#include <stdbool.h>

struct mount {
  const char *from, *at;
  bool read_only;
};

/* For the calling process's next child, which will be process 1 of them. 0, or errno. */
int make_spaces(void);

/* Called by process 1: its own /proc, and the mounts in their order. 0, or errno. */
int furnish_spaces(const struct mount *mounts, int count);

/* Called by process 1: the next process gets this id. */
void start_ids_at(int pid);

#endif
