#ifndef RUBATO_CORE_INDEX_LIST_HPP
#define RUBATO_CORE_INDEX_LIST_HPP

#include <cstdint>

#include "types.hpp"

namespace rubato::inline RUBATO_ABI {

/// A worker's place in an index_list.
struct index_link {
  std::uint32_t before = no_worker;  ///< no_worker: it is the first
  std::uint32_t after = no_worker;   ///< no_worker: it is the last
};

/// A doubly linked list of worker indices. The links live with the caller: links[i] is that of worker i.
///
/// Cost    O(1) each. No allocation.
/// Tests   tests/core/index_list_test.cpp: AgreesWithAStdList
struct index_list {
  std::uint32_t front = no_worker;  ///< the first; no_worker in an empty list
  std::uint32_t back = no_worker;   ///< the last, likewise
  std::uint32_t size = 0;           ///< workers in it
  /// Appends a worker. Precondition: it is in no list that uses these links.
  template <class Links>
  constexpr void push_back(std::uint32_t worker, Links& links) noexcept {
    links[worker] = {.before = back, .after = no_worker};
    (back == no_worker ? front : links[back].after) = worker;
    back = worker;
    ++size;
  }
  /// Takes a worker out. Precondition: it is in this list.
  template <class Links>
  constexpr void erase(std::uint32_t worker, Links& links) noexcept {
    const index_link gone = links[worker];
    (gone.before == no_worker ? front : links[gone.before].after) = gone.after;
    (gone.after == no_worker ? back : links[gone.after].before) = gone.before;
    --size;
  }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
