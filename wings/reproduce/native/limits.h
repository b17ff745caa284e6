/* Limits and a priority that differ from the caller's, and with which every program still works. */
#ifndef ASSAY_LIMITS_H
#define ASSAY_LIMITS_H

/* Changes those of the calling process. A limit that may not be changed stays as it is. */
void change_limits(void);

#endif
