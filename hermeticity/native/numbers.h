/*
 * System call numbers from the kernel headers. Those newer than the headers of a stable distribution are
 * defined here: from 424 on, a call has the same number on every architecture.
 */
#ifndef ASSAY_NUMBERS_H
#define ASSAY_NUMBERS_H

#include <asm/unistd.h>

#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#define __NR_listmount 458
#endif
#ifndef __NR_lsm_get_self_attr
#define __NR_lsm_get_self_attr 459
#define __NR_lsm_list_modules 461
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#define __NR_getxattrat 464
#define __NR_listxattrat 465
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468
#define __NR_file_setattr 469
#endif

/* Newer calls fail with ENOSYS, as on an older kernel: a program then falls back to a known call. */
#define NEWEST_KNOWN 469

#endif
