/*
 * The seccomp filter of the traced command and its descendants: calls of the table stop for the tracer, all
 * others run at full speed.
 */
#ifndef ASSAY_FILTER_H
#define ASSAY_FILTER_H

/* Installs the filter for the calling process and its descendants, permanently. 0, or -1 with errno. */
int install_filter(void);

#endif
