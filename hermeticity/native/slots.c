#define _GNU_SOURCE
#include "slots.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

/*
 * Byte 0 is a turnstile: who waits for a slot holds it, so that a run with many commands does not take its own slot
 * again before others can. A stopped process may hold it, so it stops nobody for longer than this.
 */
enum { TURNSTILE = 0, TURNSTILE_MS = 1000 };

static int slots, most, wanted, held;
static bool *is_held, in_turnstile;
/* Whoever holds the turnstile is stopped: this helper goes by until it gets it. */
static bool goes_by;
static long waiting_since;

static long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Locks of the open file description, not of the process: the client has them too. */
static bool lock(short type, int byte) {
  struct flock one = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  if (fcntl(slots, F_OFD_SETLK, &one) == 0) return true;
  if (errno != EAGAIN && errno != EACCES) _exit(CANNOT_START);
  return false;
}

static void leave_turnstile(void) {
  if (in_turnstile) lock(F_UNLCK, TURNSTILE);
  in_turnstile = false;
}

/* From the last to the first: the first ones are left to runs with fewer jobs. */
static bool take(void) {
  if (!in_turnstile) in_turnstile = lock(F_WRLCK, TURNSTILE);
  if (in_turnstile) goes_by = false;
  else if (!goes_by && milliseconds() - waiting_since < TURNSTILE_MS) return false;
  else goes_by = true;
  for (int byte = most; byte > TURNSTILE; byte--) {
    if (is_held[byte] || !lock(F_WRLCK, byte)) continue;
    is_held[byte] = true;
    held++;
    leave_turnstile();
    return true;
  }
  return false;
}

static void give_back(void) {
  for (int byte = most; byte > TURNSTILE; byte--) {
    if (!is_held[byte]) continue;
    lock(F_UNLCK, byte);
    is_held[byte] = false;
    held--;
    return;
  }
}

static void ask(void) {
  if (wanted++ == held) waiting_since = milliseconds();
}

/* False if the client is gone. */
static bool obey(void) {
  char orders[256];
  ssize_t count = read(STDIN_FILENO, orders, sizeof orders);
  if (count < 0 && errno == EINTR) return true;
  for (ssize_t i = 0; i < count; i++) {
    if (orders[i] == '+') {
      ask();
      continue;
    }
    wanted--;
    /* A withdrawn question may have been answered meanwhile. */
    if (orders[i] == '-' || held > wanted) give_back();
  }
  if (wanted <= held) leave_turnstile();
  return count > 0;
}

/* Most waits are short, and a long one ends with a long command. */
static int pause_ms(void) {
  long waited = milliseconds() - waiting_since;
  return waited < 100 ? 2 : waited < TURNSTILE_MS ? 5 : 20;
}

int share_slots(int file, int jobs) {
  slots = file;
  most = jobs;
  is_held = calloc((size_t)jobs + 1, sizeof *is_held);
  if (!is_held) return CANNOT_START;
  /* An interrupt of the terminal is the client's to handle. */
  static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
  for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) signal(ignored[i], SIG_IGN);
  for (;;) {
    struct pollfd client = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready = poll(&client, 1, wanted > held ? pause_ms() : -1);
    if (ready > 0 && !obey()) return 0;
    while (wanted > held && take()) {
      if (write(STDOUT_FILENO, "+", 1) != 1) return 0;
      waiting_since = milliseconds();
    }
  }
}
