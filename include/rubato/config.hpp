#ifndef RUBATO_CONFIG_HPP
#define RUBATO_CONFIG_HPP

#include "version.hpp"

#if __cplusplus < 202002L
#error "rubato needs C++20: compile with -std=c++20 or later"
#endif

// Where clang is told that there are no infinities, from 17 on it takes it for granted that no function is given or
// returns one: a deadline that is none becomes any number. Tests: tests/flags/infinities.py
#if defined(__clang__) && __clang_major__ >= 17 && __FINITE_MATH_ONLY__
#error "rubato needs infinities, which this clang breaks: give -fno-finite-math-only after -ffast-math or -Ofast"
#endif

// RUBATO_ASSERT(condition, message) states a precondition. It is on when RUBATO_CHECKED is 1 (by default: without
// NDEBUG), and ends the program then; define RUBATO_ASSERT yourself to send failures elsewhere. A release build never
// aborts its host.
#ifndef RUBATO_CHECKED
#ifdef NDEBUG
#define RUBATO_CHECKED 0
#else
#define RUBATO_CHECKED 1
#endif
#endif

// To the preprocessor a word such as ON is 0, whatever it is in C++.
#if RUBATO_CHECKED
static_assert((RUBATO_CHECKED) == 1, "RUBATO_CHECKED: expected 0 or 1");
#else
static_assert((RUBATO_CHECKED) == 0, "RUBATO_CHECKED: expected 0 or 1");
#endif

#ifdef RUBATO_ASSERT
#define RUBATO_DETAIL_MODE _custom
#elif RUBATO_CHECKED
#define RUBATO_DETAIL_MODE _checked
#else
#define RUBATO_DETAIL_MODE
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

#ifndef RUBATO_ASSERT
#if RUBATO_CHECKED
#include <cstdio>
#include <cstdlib>

namespace rubato::inline RUBATO_ABI::assertion {

// Not `assert`, which NDEBUG switches off.
[[noreturn]] inline void failed(const char* condition, const char* message, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: rubato: %s (%s)\n", file, line, message, condition);
  std::abort();
}

}  // namespace rubato::inline RUBATO_ABI::assertion

#define RUBATO_ASSERT(condition, message) \
  ((condition) ? static_cast<void>(0) : ::rubato::assertion::failed(#condition, message, __FILE__, __LINE__))
#else
#define RUBATO_ASSERT(condition, message) static_cast<void>(0)
#endif
#endif

#endif
