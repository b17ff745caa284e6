#include "clock.h"

#include "world.h"

enum { SECOND = 1000000000, MICROSECOND = 1000 };

/* A task with this many queries waits in a loop for time to pass. */
enum { MOST_QUERIES = 20000 };

/* The value of frozen monotonic clocks. */
static const int64_t FROZEN_AT = 5000LL * SECOND;
/* The kernel stamps files by a clock that is up to one tick late. */
static const int64_t FILE_CLOCK_LAG = 20LL * 1000 * MICROSECOND;

static int64_t real_start, distance_start;

static int64_t nanoseconds_of(struct timespec time) { return (int64_t)time.tv_sec * SECOND + time.tv_nsec; }

static struct timespec timespec_of(int64_t nanoseconds) {
  int64_t seconds = nanoseconds / SECOND, rest = nanoseconds % SECOND;
  if (rest < 0) seconds--, rest += SECOND;
  return (struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)rest};
}

static int64_t real_now(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return nanoseconds_of(now);
}

void start_clock(void) {
  real_start = real_now(CLOCK_REALTIME);
  distance_start = real_now(CLOCK_MONOTONIC);
}

static int64_t elapsed(void) { return real_now(CLOCK_MONOTONIC) - distance_start; }

static int64_t held(int64_t passed) { return passed < 0 ? 0 : passed / world.hold * world.hold; }

/* 0, until the task has asked so often that it must be waiting. */
static int64_t time_for_busy_waiters(const struct task *task) { return task->clock_queries > MOST_QUERIES ? elapsed() : 0; }

/* A little more at each query, because a program may divide by the elapsed time. */
static int64_t progress(const struct task *task) {
  return (int64_t)task->clock_queries * MICROSECOND + time_for_busy_waiters(task);
}

struct timespec simulated_time(struct task *task, long clock) {
  bool time_of_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  task->clock_queries++;
  if (time_of_day) return timespec_of(world.clock + held(elapsed()) + progress(task));
  /*
   * The number of queries of monotonic clocks depends on a runtime's threads, so it must not change the time.
   */
  return timespec_of(FROZEN_AT + time_for_busy_waiters(task));
}

struct timespec simulated_file_time(int64_t seconds, int64_t nanoseconds) {
  int64_t time = seconds * SECOND + nanoseconds;
  bool of_this_run = time >= world.since - FILE_CLOCK_LAG && time <= real_now(CLOCK_REALTIME);
  return timespec_of(of_this_run ? world.clock + held(time - real_start) : time);
}

struct timespec real_deadline(struct timespec simulated) {
  int64_t left = nanoseconds_of(simulated) - (world.clock + held(elapsed()));
  return timespec_of(real_now(CLOCK_REALTIME) + left);
}
