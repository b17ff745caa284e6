#include "call.h"

#include <stdlib.h>

#include "numbers.h"

#define CALL(name, meaning, folder, path, flags) {__NR_##name, #name, meaning, folder, path, flags},
static struct call calls[] = {
#include "calls.def"
};
#undef CALL

enum { COUNT = sizeof calls / sizeof calls[0] };

static const struct call *by_number[NEWEST_KNOWN + 1];
static int sorted;

static int rising(const void *a, const void *b) {
  return ((const struct call *)a)->number - ((const struct call *)b)->number;
}

static void sort_once(void) {
  if (sorted) return;
  qsort(calls, COUNT, sizeof calls[0], rising);
  for (int i = 0; i < COUNT; i++) by_number[calls[i].number] = &calls[i];
  sorted = 1;
}

const struct call *call_of(long number) {
  sort_once();
  return number >= 0 && number <= NEWEST_KNOWN ? by_number[number] : NULL;
}

const struct call *all_calls(int *count) {
  sort_once();
  *count = COUNT;
  return calls;
}
