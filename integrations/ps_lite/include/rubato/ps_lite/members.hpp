#ifndef RUBATO_PS_LITE_MEMBERS_HPP
#define RUBATO_PS_LITE_MEMBERS_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include <rubato/core/types.hpp>

#include "request_window.hpp"
#include "store.hpp"

namespace rubato::ps_lite {

/// A worker as ps-lite names it: the node that sends, and the customer on it. Threads of one node have one customer
/// each.
struct worker_name {
  int sender = 0;       ///< node id (KVMeta::sender)
  int customer_id = 0;  ///< of the worker's KVWorker
  friend constexpr bool operator==(worker_name, worker_name) noexcept = default;
};

/// What the adapter keeps of one worker.
template <class Request, class Pairs>
struct member {
  worker_name name{};              ///< the node's; a successor of a dead one has the same
  request_window seen{};           ///< numbers of its requests that have come
  std::vector<Request> waiting{};  ///< requests that are answered when it is released
  std::vector<Pairs> parts{};      ///< pushes of the step that has not come in whole
  std::uint32_t pushes = 0;        ///< how many of them came, also of those that are not kept
  push_facts facts{};              ///< of that step
  grant terms{};                   ///< of the step that it runs
  std::uint64_t read_version = 0;  ///< updates that were in when it last read values; 0 before
  double heard_at = 0.0;           ///< seconds of the handler's clock, at its latest new request
  std::map<int, Request> again{};  ///< by number, which had come: repeats, or the first requests of a successor
  std::vector<Request> early{};    ///< pulls that came before a request that their worker sent before them
  double early_at = 0.0;           ///< when the first of them came
  int last_pull = -1;              ///< the highest number of a pull
  bool asked = false;              ///< the controller holds a ticket of it
  bool entering = false;           ///< it has joined and was not released yet
  bool opening = false;            ///< it began with a push, whose step is in `parts` until the release
  bool discards = false;           ///< it was gone: the gradient of this step is not used
};

/// Workers, numbered densely in the order in which they are first heard of. One keeps its index for good: ps-lite gives
/// the number of a dead node to the one that replaces it.
///
/// Cost    O(1) a look-up; allocates when a worker is first seen.
/// Tests   tests/integrations/ps_lite/members_test.cpp
template <class Member>
class member_list {
 public:
  explicit member_list(std::uint32_t capacity) : capacity_{capacity} { all_.reserve(capacity); }  ///< nobody yet

  /// Its index; nothing if it was never heard of.
  [[nodiscard]] std::optional<std::uint32_t> find(worker_name who) const {
    const auto at = index_.find(key(who));
    return at == index_.end() ? std::nullopt : std::optional{at->second};
  }
  /// Its index, a new one if need be; nothing if all are taken.
  [[nodiscard]] std::optional<std::uint32_t> find_or_add(worker_name who) {
    if (const auto known = find(who)) return known;
    if (all_.size() == capacity_) return std::nullopt;
    const auto index = static_cast<std::uint32_t>(all_.size());
    all_.emplace_back().name = who;
    index_.emplace(key(who), index);
    return index;
  }
  /// Precondition: index < size().
  [[nodiscard]] Member& operator[](std::uint32_t index) noexcept { return all_[index]; }
  [[nodiscard]] const Member& operator[](std::uint32_t index) const noexcept { return all_[index]; }     ///< to read
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(all_.size()); }  ///< heard of

 private:
  static std::uint64_t key(worker_name who) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(who.sender)} << 32 | static_cast<std::uint32_t>(who.customer_id);
  }
  std::uint32_t capacity_;
  std::vector<Member> all_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
};

}  // namespace rubato::ps_lite

#endif
