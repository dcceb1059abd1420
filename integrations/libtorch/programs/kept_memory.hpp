#ifndef RUBATO_LIBTORCH_PROGRAMS_KEPT_MEMORY_HPP
#define RUBATO_LIBTORCH_PROGRAMS_KEPT_MEMORY_HPP

#if defined(__linux__)
#include <malloc.h>
#endif

#include <climits>

/// glibc gives the memory of large tensors back to the kernel when they are freed, and gets it anew, page by page, in
/// the next step: half of the time in which a small convolutional network trains on a processor. From here on it is
/// kept.
inline void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1 << 25);  // the most that it takes
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 1 << 26);
#endif
}

#endif
