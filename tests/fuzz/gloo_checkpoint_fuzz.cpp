// Checkpoints of a gloo_ps server. What is accepted is byte for byte what encode() writes; a server that cannot go on
// from it has not changed, and one that can does go on.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <rubato/core/archive.hpp>
#include <rubato/gloo_ps/decision_maker.hpp>
#include <rubato/sync/bsp.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_target.hpp"

namespace rubato::fuzz {
namespace of_gloo_checkpoint {

namespace ps = gloo_ps;

// The first line and the checksum are put there where the input asks for it, and that of the controller's state in it,
// too: nobody finds those by chance.
std::string file_of(input bytes) {
  input_reader in{bytes};
  const std::uint8_t how = in.byte();
  if (how % 2 == 0) return std::string{text_of(in.rest())};
  std::string text{ps::detail::checkpoint_magic};
  text += text_of(in.rest());
  const std::uint64_t sum = ps::detail::checksum_of(text);
  text.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  if (how / 2 % 2 == 0) return text;
  result<ps::checkpoint> read = ps::decode_checkpoint(text, "file");
  if (!read || read->controller.size() < sizeof sum) return text;
  archive sealed;
  for (std::byte each : std::span{read->controller}.first(read->controller.size() - sizeof sum)) sealed(each);
  sealed.seal();
  read->controller.assign(sealed.bytes().begin(), sealed.bytes().end());
  return ps::encode(*read);
}

class job {
 public:
  job() : decide_{{.job = 3, .model = {3, 2}, .workers = 2}, {"bsp", bsp{}}, std::vector<float>(3)} {
    for (auto& box : boxes_) box = std::make_shared<ps::mailbox>();
  }
  ps::decision_maker<>& decide() { return decide_; }
  [[nodiscard]] std::string state() { return ps::encode(decide_.take_checkpoint().value_or(ps::checkpoint{})); }
  // Everybody comes back, and each takes three steps.
  void go_on() {
    std::uint32_t life = 0;
    decide_.inspect([&](const auto& sync) {
      for (std::uint32_t w = 0; w < 2; ++w) life = std::max(life, sync.workers()[w].incarnation);
    });
    if (life == ~std::uint32_t{0}) return;  // the last that there is: nobody can come back with a higher one
    const std::uint64_t before = decide_.version();
    for (std::uint32_t w = 0; w < 2; ++w)
      require(decide_.join({w, life + 1}, boxes_[w]) == errc::ok, "a worker comes back");
    for (std::uint64_t step = 1; step < 4; ++step)
      for (std::uint32_t w = 0; w < 2; ++w) {
        const auto letter = boxes_[w]->take(ps::steady::now());
        require(letter && letter->granted, "a barrier answers everybody");
        const ps::step_limits limits = decide_.limits(w);
        require(std::isfinite(limits.step) && limits.step > 0 && std::isfinite(limits.wait), "limits are times");
        const admitted answer = decide_.push({.worker = {w, life + 1}, .step = step, .samples = 4}, letter->terms,
                                             {{0.5F, 1.0F}, {1.5F}}, boxes_[w]);
        require(answer.what.what == verdict::accumulate, "a gradient counts");
      }
    // The difference is right even where the count begins anew. A round more ends if one was open or the first to come
    // did not wait for the second, one less if 2^32 gradients were said to be in the one that was open.
    const std::uint64_t updates = decide_.version() - before;
    require(updates >= 2 && updates <= 4, "rounds end:", std::to_string(updates));
    require(ps::decode_checkpoint(state(), "saved").has_value(), "what it saves then can be read");
    require(decide_.take_failure().empty(), "no shard fails");
  }

 private:
  ps::decision_maker<> decide_;
  ps::ticket boxes_[2];
};

void run(input bytes) {
  const std::string text = file_of(bytes);
  result<ps::checkpoint> read = ps::decode_checkpoint(text, "file");
  if (!read) {
    require(read.error().code == errc::corrupt || read.error().code == errc::wrong_kind, "a known refusal");
    return require(read.error().message.starts_with("file: ") && read.error().message.size() > 12, "it says why");
  }
  require(ps::encode(*read) == text, "what is accepted is what encode() writes");

  job one;
  const std::string before = one.state();
  const auto restored = one.decide().restore(*std::move(read));
  if (!restored) {
    require(!restored.error().message.empty(), "a refusal says why");
    return require(one.state() == before, "who cannot go on has not changed");
  }
  require(one.decide().version() >= *restored, "no update is taken back");
  one.go_on();
}

const registered here{"gloo_checkpoint", run};

}  // namespace of_gloo_checkpoint
}  // namespace rubato::fuzz
