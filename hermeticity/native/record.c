#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

enum { BUFFER = 64 * 1024, HEADER = 16 };

static unsigned char buffer[BUFFER];
static size_t used;
static int output = -1;
static struct timespec start;

bool records_to(int descriptor) {
  output = descriptor;
  clock_gettime(CLOCK_MONOTONIC, &start);
  return fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
}

/*
 * The reader is gone: the command must not go on untraced. The kernel kills it with the helper
 * (PTRACE_O_EXITKILL).
 */
static void write_all(const unsigned char *bytes, size_t length) {
  while (length > 0) {
    ssize_t written = write(output, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) _exit(CANNOT_START);
    bytes += written;
    length -= (size_t)written;
  }
}

void flush_records(void) {
  write_all(buffer, used);
  used = 0;
}

static void append(const void *bytes, size_t length) {
  if (used + length > BUFFER) flush_records();
  if (length > BUFFER) {
    write_all(bytes, length);
    return;
  }
  memcpy(buffer + used, bytes, length);
  used += length;
}

uint32_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint32_t)((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000);
}

static void append_header(struct origin origin, size_t length) {
  unsigned char header[HEADER] = {(unsigned char)origin.kind, origin.flags};
  uint32_t time = milliseconds(), size = (uint32_t)length;
  memcpy(header + 2, &origin.code, 2);
  memcpy(header + 4, &origin.process, 4);
  memcpy(header + 8, &time, 4);
  memcpy(header + 12, &size, 4);
  append(header, HEADER);
}

static void append_parts(const void *first, size_t first_length, const void *second, size_t second_length) {
  append(first, first_length);
  if (!second) return;
  append("", 1);
  append(second, second_length);
}

void report(struct origin origin, const void *first, size_t first_length, const void *second, size_t second_length) {
  append_header(origin, first_length + (second ? 1 + second_length : 0));
  append_parts(first, first_length, second, second_length);
}

void report_stamped(struct origin origin, const uint64_t stamp[2], const char *first, const char *second) {
  size_t first_length = strlen(first), second_length = second ? strlen(second) : 0;
  origin.flags |= FLAG_STAMPED;
  append_header(origin, 2 * sizeof *stamp + first_length + (second ? 1 + second_length : 0));
  append(stamp, 2 * sizeof *stamp);
  append_parts(first, first_length, second, second_length);
}

void report_text(struct origin origin, const char *first, const char *second) {
  report(origin, first, strlen(first), second, second ? strlen(second) : 0);
}

void report_numbers(struct origin origin, const uint32_t *numbers, int count) {
  report(origin, numbers, sizeof(uint32_t) * (size_t)count, NULL, 0);
}

void report_gap(uint32_t process, const char *reason) {
  static uint32_t last_process;
  static const char *last_reason;
  if (process == last_process && reason == last_reason) return;
  last_process = process;
  last_reason = reason;
  report_text((struct origin){.kind = KIND_GAP, .process = process}, reason, NULL);
}
