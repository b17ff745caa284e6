/*
 * The seccomp filter that the traced command carries, and with it everything that it starts: calls of the table stop
 * for the tracer, all others run at full speed.
 */
#ifndef ASSAY_FILTER_H
#define ASSAY_FILTER_H

/* For the calling process and all its descendants, for ever. 0, or -1 with errno. */
int install_filter(void);

#endif
