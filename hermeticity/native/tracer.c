#define _GNU_SOURCE
#include "tracer.h"

#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 512 * 1024, SPINS = 300 };

struct tracer tracers[MOST_TRACERS];
_Thread_local struct tracer *tracer;

/* How many threads have tasks, without the first. */
static int busy;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* The owner holds the lock for microseconds, on another core. To sleep and be woken takes longer than that. */
void lock(void) {
  for (int i = 0; i < SPINS; i++) {
    if (pthread_mutex_trylock(&mutex) == 0) return;
    relax();
  }
  pthread_mutex_lock(&mutex);
}

void unlock(void) { pthread_mutex_unlock(&mutex); }

void begin_tracing(void) {
  tracer = tracers;
  *tracer = (struct tracer){.tid = getpid(), .busy = 1};
}

/*
 * Only what this thread traces. With __WALL the first thread would also see, as their new parent, orphans that
 * another thread traces, and take their stops from it. __WCLONE leaves out children that are not traced by
 * the caller: each of them would send SIGCHLD.
 */
pid_t wait_for_stop(int *status) { return waitpid(-1, status, __WCLONE | __WNOTHREAD); }

static void sleep_while(int *number, int value) {
  if (__atomic_load_n(number, __ATOMIC_ACQUIRE) == value) syscall(SYS_futex, number, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void set(int *number, int value) {
  __atomic_store_n(number, value, __ATOMIC_RELEASE);
  syscall(SYS_futex, number, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool wait_for_others(void) {
  int now = __atomic_load_n(&busy, __ATOMIC_ACQUIRE);
  if (now > 0) sleep_while(&busy, now);
  return now == 0;
}

static void (*serve)(void *first);

static void *run(void *place) {
  tracer = place;
  for (;;) {
    serve(tracer->first);
    lock();
    tracer->busy = 0;
    set(&busy, busy - 1);
    unlock();
    while (!__atomic_load_n(&tracer->busy, __ATOMIC_ACQUIRE)) sleep_while(&tracer->busy, 0);
  }
  return NULL;
}

/* Only one thread at a time allocates memory: more arenas than one would cost each thread a mapping. */
static void share_memory(void) {
#ifdef M_ARENA_MAX
  mallopt(M_ARENA_MAX, 1);
#endif
}

static struct tracer *idle_tracer(int cores) {
  for (int i = 0; i < cores && i < MOST_TRACERS; i++) {
    if (!tracers[i].busy) return &tracers[i];
  }
  return NULL;
}

bool has_idle_tracer(int cores) { return idle_tracer(cores) != NULL; }

static bool start(struct tracer *place) {
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0) return false;
  share_memory();
  pthread_attr_setstacksize(&attributes, STACK);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  bool started = pthread_create(&thread, &attributes, run, place) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

bool wake_tracer(void (*served_by)(void *first), void *first) {
  struct tracer *place = idle_tracer(MOST_TRACERS);
  bool is_running = place->tid != 0;
  serve = served_by;
  place->first = first;
  __atomic_store_n(&busy, busy + 1, __ATOMIC_RELEASE);
  set(&place->busy, 1);
  if (is_running || start(place)) return true;
  place->busy = 0;
  __atomic_store_n(&busy, busy - 1, __ATOMIC_RELEASE);
  return false;
}
