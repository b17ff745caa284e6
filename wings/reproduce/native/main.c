/*
 * assay-vary: runs a command with a simulated time, host, user and more.
 *
 *   assay-vary [OPTIONS] --folder DIR -- COMMAND ARGUMENT…
 *   assay-vary --check      prints what this machine allows, one line each: "trace ok", "spaces ok", or why not
 *
 * It answers system calls in the kernel's slot, so static programs get the same answers as others. Standard
 * input, output and error belong to the command. The exit code is the command's (128 + signal), or 125 with a
 * line on descriptor 3 if it could not be started. If the helper ends, the kernel kills the whole process
 * tree.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "namespaces.h"
#include "trace.h"
#include "watch.h"
#include "world.h"

enum { FAILURES = 3, MOST_MOUNTS = 32 };

struct world world = {.hold = 3600LL * 1000000000};

static struct command command = {.folder = ".", .linger_ms = 2000};
static struct mount mounts[MOST_MOUNTS];
static int mount_count, first_pid;
static bool own_namespaces, own_network, umask_given;

enum {
  CLOCK = 256,
  HOLD,
  SINCE,
  FROZEN,
  SEED,
  HOST,
  PROCESSORS,
  LIMITS,
  NETWORK,
  USER,
  ORDER,
  UMASK,
  FIXED_ADDRESSES,
  SPACES,
  FIRST_PID,
  MOUNT,
  READ_ONLY,
  FOLDER,
  CHECK
};

static const struct option OPTIONS[] = {
    /* nanoseconds */
    {"clock", required_argument, NULL, CLOCK},
    {"hold", required_argument, NULL, HOLD},
    {"since", required_argument, NULL, SINCE},
    {"frozen", no_argument, NULL, FROZEN},
    {"seed", required_argument, NULL, SEED},
    {"host", required_argument, NULL, HOST},
    {"processors", required_argument, NULL, PROCESSORS},
    {"limits", no_argument, NULL, LIMITS},
    {"network", no_argument, NULL, NETWORK},
    {"user", required_argument, NULL, USER},
    /* rising or falling */
    {"order", required_argument, NULL, ORDER},
    {"umask", required_argument, NULL, UMASK},
    {"fixed-addresses", no_argument, NULL, FIXED_ADDRESSES},
    {"spaces", no_argument, NULL, SPACES},
    {"first-pid", required_argument, NULL, FIRST_PID},
    /*
     * FROM and AT as two consecutive options, because a path may contain any character; --read-only applies
     * to the last
     */
    {"mount", required_argument, NULL, MOUNT},
    {"read-only", no_argument, NULL, READ_ONLY},
    {"folder", required_argument, NULL, FOLDER},
    {"check", no_argument, NULL, CHECK},
    {NULL, 0, NULL, 0},
};

static void add_mount(const char *path) {
  struct mount *last = mount_count > 0 ? &mounts[mount_count - 1] : NULL;
  if (last && !last->at) last->at = path;
  else if (mount_count < MOST_MOUNTS) mounts[mount_count++].from = path;
}

static bool set_option(int option) {
  switch (option) {
    case CLOCK:
      world.has_clock = true;
      world.clock = atoll(optarg);
      return true;
    case HOLD:
      world.hold = atoll(optarg);
      return world.hold > 0;
    case SINCE:
      world.since = atoll(optarg);
      return true;
    case FROZEN:
      world.frozen = true;
      return true;
    case SEED:
      world.has_seed = true;
      world.seed = strtoull(optarg, NULL, 10);
      return true;
    case HOST:
      world.host = optarg;
      return true;
    case PROCESSORS:
      world.processors = atoi(optarg);
      return world.processors > 0;
    case LIMITS:
      command.other_limits = true;
      return true;
    case NETWORK:
      own_network = true;
      return true;
    case USER:
      world.has_user = true;
      world.user = (uint32_t)strtoul(optarg, NULL, 10);
      return true;
    case ORDER:
      world.order = strcmp(optarg, "falling") == 0 ? ORDER_FALLING : ORDER_RISING;
      return true;
    case UMASK:
      umask_given = true;
      command.umask = (int)strtol(optarg, NULL, 8);
      return true;
    case FIXED_ADDRESSES:
      command.fixed_addresses = true;
      return true;
    case SPACES:
      own_namespaces = true;
      return true;
    case FIRST_PID:
      first_pid = atoi(optarg);
      return first_pid > 1;
    case MOUNT:
      add_mount(optarg);
      return true;
    case READ_ONLY:
      if (mount_count > 0) mounts[mount_count - 1].read_only = true;
      return mount_count > 0;
    case FOLDER:
      command.folder = optarg;
      return true;
    default:
      return false;
  }
}

static int run_in_namespaces(int failures) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int error = set_up_namespaces(mounts, mount_count);
  if (error) {
    dprintf(failures, "mounts: %s\n", strerror(error));
    return CANNOT_START;
  }
  if (first_pid) start_ids_at(first_pid);
  return run_command(&command, failures);
}

static int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_code_of(status);
}

static int run(int failures) {
  start_clock();
  if (!own_namespaces) return run_command(&command, failures);
  int error = create_namespaces(own_network);
  if (error) {
    dprintf(failures, "namespaces: %s\n", strerror(error));
    return CANNOT_START;
  }
  pid_t first = fork();
  if (first == 0) _exit(run_in_namespaces(failures));
  return first < 0 ? CANNOT_START : wait_for(first);
}

/* Tries a run in a child and prints the result. */
static void try(const char *name, bool with_namespaces) {
  int report[2];
  char text[256] = "";
  if (pipe2(report, O_CLOEXEC) != 0) return;
  pid_t child = fork();
  if (child == 0) {
    static char *nothing[] = {"/proc/self/exe", "--nothing", NULL};
    command.argv = nothing;
    own_namespaces = with_namespaces;
    _exit(run(report[1]));
  }
  close(report[1]);
  ssize_t got = read(report[0], text, sizeof text - 1);
  close(report[0]);
  text[strcspn(text, "\n")] = 0;
  bool works = wait_for(child) == 0;
  printf("%s %s\n", name, works ? "ok" : got > 0 ? text : "the test run was killed");
}

static int check(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  world.has_clock = world.has_seed = true;
  try("trace", false);
  try("spaces", true);
  return 0;
}

static int usage(void) {
  fputs("usage: assay-vary [OPTIONS] --folder DIR -- COMMAND ARGUMENT… | assay-vary --check\n", stderr);
  return CANNOT_START;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--nothing") == 0) return 0;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int option; (option = getopt_long(argc, argv, "+", OPTIONS, NULL)) != -1;) {
    if (option == CHECK) return check();
    if (!set_option(option)) return usage();
  }
  if (optind >= argc) return usage();
  if (!umask_given) umask((mode_t)(command.umask = (int)umask(0)));
  command.argv = argv + optind;
  fcntl(FAILURES, F_SETFD, FD_CLOEXEC);
  return run(FAILURES);
}
