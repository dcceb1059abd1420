// What a unit computes, with the library's own names: of what several units define, the linker keeps the body of the unit
// that comes first. Compiled once for each set of flags; its own arithmetic is exact.
#include "unit.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/nn/optimiser.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/ssp.hpp>
#include <span>
#include <vector>

namespace {

using namespace rubato;
using network = nn::mlp<40, 64, 32, 3>;

struct hash {
  std::uint64_t value = 0;
  void add(std::uint64_t bits) { value = std::rotl((value ^ bits) * 0x9E3779B97F4A7C15, 29); }
  void add(std::span<const float> numbers) {
    for (const float x : numbers) add(std::uint64_t{std::bit_cast<std::uint32_t>(x)});
  }
};

// Small multiples of 1/64, which every arithmetic has exactly.
class numbers {
 public:
  float next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<float>(static_cast<int>(state_ >> 58) - 32) / 64;
  }
  void fill(std::span<float> all) {
    for (float& x : all) x = next();
  }

 private:
  std::uint64_t state_ = 1;
};

std::uint64_t trained(const nn::kernels::kernel_set<float>& set) {
  constexpr std::size_t rows = 9;
  network net{{}, set};
  numbers from;
  from.fill(net.parameters());
  std::vector<float> batch(rows * 40), slopes(rows * 3), gradients(net.parameters().size()), sums(net.history_size());
  std::array<float, 3> out{};
  network::workspace work{net, rows};
  nn::adam adam{net.parameters().size(), {}, set};
  hash seen;
  for (int step = 0; step < 5; ++step) {
    from.fill(batch);
    from.fill(slopes);
    seen.add(net.forward(batch, work));
    net.backward(slopes, work, gradients);
    adam.step(net.parameters(), gradients);
    const auto sample = std::span{batch}.first(40);
    net.evaluate(sample, out);
    seen.add(out);
    net.begin(4, sample, sums);
    net.finish(4, sample, sums, out);
    seen.add(out);
  }
  seen.add(net.parameters());
  return seen.value;
}

// Also how many pushes were dropped.
template <class Policy>
std::uint64_t decided(Policy policy, hash& seen) {
  constexpr std::uint32_t workers = 12;
  controller<Policy, std::uint32_t> sync{{.capacity = workers}, std::move(policy)};
  std::array<bool, workers> runs{};
  const auto release = [&](std::uint32_t, worker_id who, const grant&) {
    runs[who.index] = true;
    seen.add(std::uint64_t{who.index});
  };
  for (std::uint32_t w = 0; w < workers; ++w) static_cast<void>(sync.join({w, 0}, 0.0, w, release));
  numbers from;
  std::uint64_t dropped = 0;
  for (std::uint32_t push = 0, w = 0; push < 3'000; w = (w + 5) % workers) {
    if (!runs[w]) continue;
    runs[w] = false;
    const float loss = ++push % 100 == 0 ? std::numeric_limits<float>::quiet_NaN() : 2 + from.next();
    const admitted answer = sync.admit({.worker = {w, 0}, .now = push * 0.125, .samples = 16, .loss = loss});
    if (answer.what.what == verdict::drop) ++dropped;
    static_cast<void>(sync.commit(answer.work, push * 0.125, outcome::done, w, release));
  }
  return dropped;
}

}  // namespace

order_bits RUBATO_ORDER_UNIT() {
  order_bits bits{};
  std::size_t at = 0;
  for (const auto* set : nn::kernels::available<float>()) bits.kernels[at++] = trained(*set);
  network net{{}, nn::kernels::reproducible<float>()};
  numbers{}.fill(net.parameters());
  hash seen;
  bits.dropped = decided(q_policy{net, {}, rlp_state{}}, seen);
  bits.dropped += decided(ssp{.staleness = 2}, seen);
  bits.decisions = seen.value;
  return bits;
}
