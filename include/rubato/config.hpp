#ifndef RUBATO_CONFIG_HPP
#define RUBATO_CONFIG_HPP

#include "version.hpp"

// RUBATO_ASSERT(condition, message) states a precondition. It is on when RUBATO_CHECKED is 1 (by default: without
// NDEBUG) and calls `assert`; define RUBATO_ASSERT yourself to send failures elsewhere. A release build never aborts
// its host.
#ifndef RUBATO_CHECKED
#ifdef NDEBUG
#define RUBATO_CHECKED 0
#else
#define RUBATO_CHECKED 1
#endif
#endif

#ifdef RUBATO_ASSERT
#define RUBATO_DETAIL_MODE _custom
#else
#if RUBATO_CHECKED
#define RUBATO_DETAIL_MODE _checked
#include <cassert>
#define RUBATO_ASSERT(condition, message) assert((condition) && (message))
#else
#define RUBATO_DETAIL_MODE
#define RUBATO_ASSERT(condition, message) static_cast<void>(0)
#endif
#endif

// What nvcc compiles for host and device:
//
//   RUBATO_DETAIL_SHARED     attribute of such a function
//   RUBATO_DETAIL_UNCHECKED  before one whose template arguments may have functions for the host alone
#if defined(__CUDACC__)
#define RUBATO_DETAIL_SHARED __host__ __device__
#define RUBATO_DETAIL_UNCHECKED _Pragma("nv_exec_check_disable")
#else
#define RUBATO_DETAIL_SHARED
#define RUBATO_DETAIL_UNCHECKED
#endif

// The inline namespace of every public name. It carries the version, and the assertion mode because that changes
// function bodies: units built in different modes then fail to link instead of silently sharing one of the two bodies.
#define RUBATO_DETAIL_JOIN(prefix, major, minor, suffix) prefix##major##_##minor##suffix
#define RUBATO_DETAIL_ABI(major, minor, suffix) RUBATO_DETAIL_JOIN(v, major, minor, suffix)
#define RUBATO_ABI RUBATO_DETAIL_ABI(RUBATO_VERSION_MAJOR, RUBATO_VERSION_MINOR, RUBATO_DETAIL_MODE)

#endif
