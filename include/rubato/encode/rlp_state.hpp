#ifndef RUBATO_ENCODE_RLP_STATE_HPP
#define RUBATO_ENCODE_RLP_STATE_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../pinned.hpp"
#include "encoder.hpp"

namespace rubato::inline RUBATO_ABI {

/// How rlp_state scales its numbers.
enum class rlp_scale : std::uint8_t {
  raw,        ///< as they are: the paper's reading
  normalised  ///< all of the order of 1
};

/// The state of Zhu et al.: of each of the latest ten pushes, newest first, four numbers; zeros for those that
/// were not yet.
///
/// | `@i`          | raw                        | normalised                             | unit when normalised     |
/// | iteration     | n = pushes so far, 1, 2 .. | log1p(n) / 10, 0 to about 2            | log1p(pushes)/10         |
/// | loss          | L = loss before this push  | L / L of the first push, within +-100  | first loss               |
/// | loss_change   | L' - L, by this push       | asinh((L' - L) / rms of all changes)   | asinh(rms)               |
/// | staleness     | l = pushes of others since | l / workers alive now                  | workers                  |
///
/// L' is the loss that comes with the push, L the one before it; a host that smooths its losses (the simulator does)
/// smooths both. At the first measured loss L = L', so that the change is 0. A loss that is not finite, or 0 ("the host
/// has none"), changes neither: L stays, the change is 0. With a loss that the server probes after each update, L' is
/// the loss before this push's update, and the change therefore that of the update before.
///
///     rubato::rlp_state encoder;               // 40 numbers, raw
///     encoder.resize(workers);
///     encoder.observe(step);                   // at every commit
///     encoder.encode(view, what, numbers);
///
/// Cost    observe writes four floats, and moves 36 once in 31 pushes; encode copies 40. No allocation, ever. Not
///         thread-safe.
/// Tests   tests/encode/rlp_state_test.cpp: NumbersByHand, FirstPushHasNoChange, FreezesAtANonFiniteLoss,
///         NormalisedByHand, StaysFinite, FeaturesInOrder, ForetellsAllButTheNewest
/// Source  Zhu et al., "Learning Efficient Parameter Server Synchronization Policies for Distributed SGD", ICLR 2020,
///         section 3.2
template <rlp_scale Scale>
class basic_rlp_state {
  static constexpr std::size_t history = 10;  // pushes
  static constexpr std::size_t width = 4;

 public:
  static constexpr std::size_t dim = width * history;  ///< numbers: those of ten pushes
  static constexpr std::size_t newest = width;         ///< of these, those of the latest push
  static constexpr std::string_view kind = Scale == rlp_scale::raw ? "rlp" : "rlp_normalised";

  /// See StateEncoder.
  void observe(const feedback& step) noexcept {
    ++pushes_;
    double before = loss_;
    double change = 0;
    if (const double loss = static_cast<double>(step.what.loss); pinned::is_finite(loss) && loss != 0) {
      if (measured_ == 0) before = first_ = loss;
      change = loss - before;
      loss_ = loss;
      if (measured_++ > 0) squares_ = pinned::plus_product(squares_, change, change);
    }
    const auto n = static_cast<double>(pushes_);
    std::array<float, width> push;
    push[3] = static_cast<float>(step.what.staleness);
    if constexpr (Scale == rlp_scale::raw) {
      push[0] = static_cast<float>(n);
      push[1] = detail::finite_float(before);
      push[2] = detail::finite_float(change);
    } else {
      const double rms = measured_ > 1 ? std::sqrt(squares_ / static_cast<double>(measured_ - 1)) : 0.0;
      push[0] = static_cast<float>(std::log1p(n) / 10);
      push[1] = measured_ > 0 ? detail::finite_float(std::clamp(before / std::abs(first_), -100.0, 100.0)) : 0.0F;
      push[2] = rms > 0 ? detail::finite_float(std::asinh(change / rms)) : 0.0F;
    }
    std::copy_n(push.begin(), width, room_for_a_push());
  }

  /// See StateEncoder.
  void encode(const cluster_view& view, const event&, std::span<float, dim> out) noexcept {
    alive_ = (std::max)(view.alive(), 1U);
    write(alive_, out);
  }
  /// See HistoryEncoder.
  bool encode_newest(const cluster_view& view, const event&, std::span<float, newest> out) noexcept {
    alive_ = (std::max)(view.alive(), 1U);
    write(alive_, out);
    return pushes_ == foretold_push_ && (Scale == rlp_scale::raw || alive_ == foretold_alive_);
  }
  /// See HistoryEncoder. As many workers as at the latest encode() are taken to be alive at the next.
  void foretell(std::span<float, dim - newest> out) noexcept {
    write(alive_, out);
    foretold_push_ = pushes_ + 1;
    foretold_alive_ = alive_;
  }

  /// See StateEncoder. Any capacity will do: nothing is kept by worker.
  void resize(std::uint32_t) noexcept { *this = {}; }

  /// See StateEncoder.
  void state(archive& bytes) {
    basic_rlp_state read = *this;
    bytes(read.pushes_, read.measured_, read.first_, read.loss_, read.squares_);
    for (std::size_t i = 0; i < dim; ++i) bytes(read.numbers_[read.latest_ + i]);
    read.foretold_push_ = never;
    if (bytes.ok()) *this = read;
  }

  /// See StateEncoder.
  [[nodiscard]] std::vector<feature> features() const {
    constexpr bool raw = Scale == rlp_scale::raw;
    const std::array<feature, width> each{
        feature{"iteration", raw ? "pushes" : "log1p(pushes)/10"}, feature{"loss", raw ? "nats" : "first loss"},
        feature{"loss_change", raw ? "nats" : "asinh(rms)"}, feature{"staleness", raw ? "pushes" : "workers"}};
    std::vector<feature> all;
    for (std::size_t i = 0; i < dim; ++i)
      all.push_back({each[i % width].name + "@" + std::to_string(i / width), each[i % width].unit});
    return all;
  }

 private:
  static constexpr std::uint64_t never = (std::numeric_limits<std::uint64_t>::max)();

  // Newer pushes lie before older ones; where no room is left, the history starts again at the end.
  [[nodiscard]] float* room_for_a_push() noexcept {
    if (latest_ == 0) {
      latest_ = numbers_.size() - dim + width;
      std::copy_n(numbers_.begin(), dim - width, numbers_.begin() + static_cast<std::ptrdiff_t>(latest_));
    }
    latest_ -= width;
    return numbers_.data() + latest_;
  }
  void write(std::uint32_t alive, std::span<float> out) const noexcept {
    std::copy_n(numbers_.begin() + static_cast<std::ptrdiff_t>(latest_), out.size(), out.begin());
    if constexpr (Scale == rlp_scale::normalised) {
      const float share = 1.0F / static_cast<float>(alive);
      for (std::size_t i = width - 1; i < out.size(); i += width) out[i] *= share;
    }
  }

  std::array<float, 4 * dim> numbers_{};
  std::size_t latest_ = numbers_.size() - dim;
  std::uint32_t alive_ = 1;  // at the latest encode()
  std::uint32_t foretold_alive_ = 1;
  std::uint64_t foretold_push_ = never;
  std::uint64_t pushes_ = 0;
  std::uint64_t measured_ = 0;  // pushes that came with a loss
  double first_ = 0;
  double loss_ = 0;
  double squares_ = 0;  // of the changes after the first
};

/// As Zhu et al. print it; "rlp" in files.
using rlp_state = basic_rlp_state<rlp_scale::raw>;
/// The same, each number of the order of 1; "rlp_normalised".
using rlp_normalised_state = basic_rlp_state<rlp_scale::normalised>;

}  // namespace rubato::inline RUBATO_ABI

#endif
