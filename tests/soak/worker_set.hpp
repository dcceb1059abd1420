#ifndef RUBATO_TESTS_SOAK_WORKER_SET_HPP
#define RUBATO_TESTS_SOAK_WORKER_SET_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rubato::test {

/// A set of workers of which any can be drawn. O(1) each; allocates at construction alone.
class worker_set {
 public:
  explicit worker_set(std::uint32_t capacity) : place_(capacity, nowhere) { all_.reserve(capacity); }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(all_.size()); }
  [[nodiscard]] bool contains(std::uint32_t worker) const { return place_[worker] != nowhere; }
  [[nodiscard]] std::uint32_t operator[](std::uint64_t i) const { return all_[static_cast<std::size_t>(i)]; }

  void insert(std::uint32_t worker) {
    if (contains(worker)) return;
    place_[worker] = size();
    all_.push_back(worker);
  }
  void erase(std::uint32_t worker) {
    if (!contains(worker)) return;
    const std::uint32_t hole = place_[worker];
    all_[hole] = all_.back();
    place_[all_[hole]] = hole;
    all_.pop_back();
    place_[worker] = nowhere;
  }

 private:
  static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> all_, place_;
};

}  // namespace rubato::test

#endif
