#include <stdio.h>

void farewell(void) { puts("farewell"); }
