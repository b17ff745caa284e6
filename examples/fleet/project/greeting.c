#include <stdio.h>

void greeting(void) { puts("greeting"); }
