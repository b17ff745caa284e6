// For the trial under qemu-user: makes large mappings of files smaller. qemu-user reserves memory for the whole length
// of a shared mapping, and Assay's index maps 64 GiB (indexMapBytes), of which a trial uses the first pages.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LARGEST (1ul << 32)

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
    if (file >= 0 && length > LARGEST) length = LARGEST;
    return (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int file, off_t offset) {
    return mmap(address, length, protection, flags, file, offset);
}
