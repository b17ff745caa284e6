/*
 * Namespaces for one run: process ids from a given start, and private mounts. Root creates them directly,
 * other users in a user namespace that maps the user to itself.
 */
#ifndef ASSAY_NAMESPACES_H
#define ASSAY_NAMESPACES_H

#include <stdbool.h>

struct mount {
  const char *from, *at;
  bool read_only;
};

/* Creates namespaces for the next child, which becomes process 1 in them. 0, or errno. */
int create_namespaces(bool network);

/* Called by process 1: mounts its own /proc, then `mounts` in order. 0, or errno. */
int set_up_namespaces(const struct mount *mounts, int count);

/* Called by process 1: the next process gets this id. */
void start_ids_at(int pid);

#endif
