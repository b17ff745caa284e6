#define _GNU_SOURCE
#include "namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

static int create_user_namespace(int others) {
  unsigned user = geteuid(), group = getegid();
  if (unshare(CLONE_NEWUSER | others) != 0) return errno;
  int error = map_to_itself("/proc/self/uid_map", user);
  if (!error) error = write_file("/proc/self/setgroups", "deny");
  return error ? error : map_to_itself("/proc/self/gid_map", group);
}

/* A new network has a loopback that is down. */
static void start_loopback(void) {
  struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
  int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (handle < 0) return;
  ioctl(handle, SIOCSIFFLAGS, &loopback);
  close(handle);
}

int create_namespaces(bool network) {
  int kinds = CLONE_NEWNS | CLONE_NEWPID | (network ? CLONE_NEWNET : 0);
  int error = unshare(kinds) == 0 ? 0 : create_user_namespace(kinds);
  if (!error && network) start_loopback();
  return error;
}

#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif

/* Recursive, because the source may contain mounts. */
static int bind_to(const struct mount *one) {
  enum { READ_ONLY = 1, WHOLE_TREE = 0x8000 };
  if (mount(one->from, one->at, NULL, MS_BIND | MS_REC, NULL) != 0) return errno;
  if (!one->read_only) return 0;
  struct {
    uint64_t set, clear, propagation, user_space;
  } attributes = {.set = READ_ONLY};
  bool done = syscall(__NR_mount_setattr, AT_FDCWD, one->at, WHOLE_TREE, &attributes, sizeof attributes) == 0;
  return done ? 0 : errno;
}

int set_up_namespaces(const struct mount *mounts, int count) {
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return errno;
  /* Fails if a container hides parts of /proc; then the outer /proc stays, with other process ids. */
  mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
  for (int i = 0; i < count; i++) {
    int error = bind_to(&mounts[i]);
    if (error) return error;
  }
  return 0;
}

/* Uses up ids one by one, if the kernel does not allow setting the next one. */
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
