/* The seccomp filter of the command and its descendants: only calls with a simulated answer stop. */
#ifndef ASSAY_VARY_FILTER_H
#define ASSAY_VARY_FILTER_H

/*
 * Installs the filter for the calling process and its descendants, as `world` demands. 0, or -1 with errno.
 */
int install_filter(void);

#endif
