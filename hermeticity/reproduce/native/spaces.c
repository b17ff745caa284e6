#define _GNU_SOURCE
#include "spaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  int error = write(file, text, strlen(text)) < 0 ? errno : 0;
  close(file);
  return error;
}

static int map_to_itself(const char *path, unsigned id) {
  char line[64];
  snprintf(line, sizeof line, "%u %u 1", id, id);
  return write_file(path, line);
}

static int make_user_space(void) {
  unsigned user = geteuid(), group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0) return errno;
  int error = map_to_itself("/proc/self/uid_map", user);
  if (!error) error = write_file("/proc/self/setgroups", "deny");
  return error ? error : map_to_itself("/proc/self/gid_map", group);
}

int make_spaces(void) {
  if (unshare(CLONE_NEWNS | CLONE_NEWPID) == 0) return 0;
  return make_user_space();
}

int furnish_spaces(const struct mount *mounts, int count) {
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return errno;
  /* Refused where a container hides parts of /proc; the outer one then still knows every process by another number. */
  mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
  for (int i = 0; i < count; i++) {
    if (mount(mounts[i].from, mounts[i].at, NULL, MS_BIND, NULL) != 0) return errno;
  }
  return 0;
}

/* One by one, where the kernel does not let the number be set. */
static void use_up_ids(int pid) {
  for (;;) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0) return;
    waitpid(child, NULL, 0);
    if (child >= pid - 1) return;
  }
}

void start_ids_at(int pid) {
  char text[32];
  snprintf(text, sizeof text, "%d", pid - 1);
  if (write_file("/proc/sys/kernel/ns_last_pid", text) != 0) use_up_ids(pid);
}
