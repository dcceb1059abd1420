#ifndef RUBATO_TESTS_SUPPORT_COUNTED_ALLOCATIONS_HPP
#define RUBATO_TESTS_SUPPORT_COUNTED_ALLOCATIONS_HPP

#include <cstddef>
#include <cstdlib>
#include <new>

// Replaces the operators of the whole program, so that one file of a test program includes it.
namespace rubato::test {

// clang's thread sanitizer has these operators for itself, and no linker takes two.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RUBATO_TEST_COUNTS_NOTHING
#endif
#endif
#ifdef RUBATO_TEST_COUNTS_NOTHING
inline constexpr bool allocations_are_counted = false;
#else
inline constexpr bool allocations_are_counted = true;
#endif

/// How much was allocated while `counting` was set.
inline bool counting = false;
inline std::size_t allocations = 0;

inline void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (counting) ++allocations;  // in a test with one thread: others leave it alone
  return alignment <= alignof(std::max_align_t)
             ? std::malloc(size == 0 ? 1 : size)
             : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

}  // namespace rubato::test

#ifndef RUBATO_TEST_COUNTS_NOTHING
// Out of memory ends a test as well as an exception would. Inlining one of a pair would look like a mismatch to g++.
#define RUBATO_TEST_OPERATOR [[gnu::noinline]]
RUBATO_TEST_OPERATOR void* operator new(std::size_t size) {
  void* memory = rubato::test::allocate(size, 1);
  if (memory == nullptr) std::abort();
  return memory;
}
RUBATO_TEST_OPERATOR void* operator new(std::size_t size, std::align_val_t alignment) {
  void* memory = rubato::test::allocate(size, static_cast<std::size_t>(alignment));
  if (memory == nullptr) std::abort();
  return memory;
}
RUBATO_TEST_OPERATOR void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return rubato::test::allocate(size, 1);
}
RUBATO_TEST_OPERATOR void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return rubato::test::allocate(size, 1);
}
RUBATO_TEST_OPERATOR void operator delete(void* memory) noexcept { std::free(memory); }
RUBATO_TEST_OPERATOR void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
RUBATO_TEST_OPERATOR void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
RUBATO_TEST_OPERATOR void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
RUBATO_TEST_OPERATOR void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
#endif

#endif
