/* The seccomp filter that the command carries, and all that it starts: only calls that are answered differently stop. */
#ifndef ASSAY_VARY_FILTER_H
#define ASSAY_VARY_FILTER_H

/* For the calling process and its descendants, by what `world` says. 0, or -1 with errno. */
int install_filter(void);

#endif
