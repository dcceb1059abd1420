#ifndef RUBATO_TESTS_CUDA_THREAD_LANES_HPP
#define RUBATO_TESTS_CUDA_THREAD_LANES_HPP

#include <barrier>
#include <cstddef>
#include <rubato/cuda/lanes.cuh>
#include <thread>
#include <vector>

namespace rubato::test {

/// Threads of this machine as lanes: what a body forgets to synchronise, ThreadSanitizer sees.
class thread_lanes {
 public:
  thread_lanes(unsigned index, unsigned count, std::barrier<>& meeting) noexcept
      : index_{index}, count_{count}, meeting_{&meeting} {}
  [[nodiscard]] unsigned index() const noexcept { return index_; }
  [[nodiscard]] unsigned count() const noexcept { return count_; }
  void sync() const noexcept { meeting_->arrive_and_wait(); }

 private:
  unsigned index_;
  unsigned count_;
  std::barrier<>* meeting_;
};
static_assert(cuda::Lanes<thread_lanes> && cuda::Lanes<cuda::one_lane>);

/// 32 of them, as the compiler knows.
class thread_warp : public thread_lanes {
 public:
  explicit thread_warp(const thread_lanes& lanes) noexcept : thread_lanes{lanes} {}
  [[nodiscard]] static constexpr unsigned count() noexcept { return 32; }
};

/// Calls body(lanes) on each of `count` threads.
template <class Body>
void on_lanes(unsigned count, const Body& body) {
  std::barrier<> meeting{static_cast<std::ptrdiff_t>(count)};
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back([&, i] { body(thread_lanes{i, count, meeting}); });
}

}  // namespace rubato::test

#endif
