// Policy files: a container, a card, and weights that make a policy, or one for batches. One that is made can decide,
// within its limits, and that for batches is written again and read back equal.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <rubato/adapt/batch_policy_file.hpp>
#include <rubato/adapt/batch_size.hpp>
#include <rubato/io/utf8.hpp>
#include <rubato/learned/loader.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/controller.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../support/container_bytes.hpp"
#include "fuzz_target.hpp"
#include "scratch_folder.hpp"

namespace rubato::fuzz {
namespace of_policy_file {

struct sink {
  std::uint32_t releases = 0;
  void release(std::uint32_t, worker_id, const grant&) { ++releases; }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};

void let_decide(any_policy policy) {
  require(!policy.describe().line.empty(), "a policy describes itself");
  controller<any_policy, std::uint32_t> control{{.capacity = 3, .guard = {.enabled = true}}, std::move(policy)};
  sink host;
  for (std::uint32_t w = 0; w < 3; ++w) static_cast<void>(control.join({w, 0}, 0.0, w, host));
  for (std::uint32_t step = 0; step < 12; ++step)
    for (std::uint32_t w = 0; w < 3; ++w)
      if (control.workers()[w].state == worker_state::running)
        static_cast<void>(
            control.push({.worker = {w, 0}, .now = 0.5 + step + 0.1 * w, .samples = 4, .loss = 2.0F}, w, host));
  require(host.releases > 3, "somebody goes on");
}

void require_refusal(const error& e, std::string_view from) {
  require((e.code == errc::corrupt || e.code == errc::wrong_kind) && e.message.starts_with(from) &&
              e.message.substr(from.size()).starts_with(": ") && is_plain(e.message) && e.message.size() < 2000,
          "a refusal says what, in plain text:", e.message);
}

std::string content_of(const std::string& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

constexpr adapt::batch_options limits{
    .usual = 64, .initial = 64, .least = 32, .most = 256, .period = adapt::learned_period};

// Each grant has a batch within the limits, which was changed by one of the deltas since the last.
struct batch_sink {
  std::array<std::uint32_t, 3> last{limits.initial, limits.initial, limits.initial};
  std::uint32_t releases = 0;
  void release(std::uint32_t, worker_id who, const grant& terms) {
    require(terms.batch >= limits.least && terms.batch <= limits.most, "a batch keeps its limits");
    require(std::isfinite(terms.lr_scale) && terms.lr_scale > 0, "a learning rate is a factor");
    std::uint32_t& before = last[who.index];
    require(std::ranges::any_of(adapt::batch_deltas,
                                [&](int delta) {
                                  return terms.batch ==
                                         std::clamp(adapt::changed_by(before, delta), limits.least, limits.most);
                                }),
            "a batch changes by a delta");
    before = terms.batch;
    ++releases;
  }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};

void let_size_batches(const adapt::learned_batches& policy) {
  require(!policy.describe().line.empty(), "a policy describes itself");
  using sized = adapt::batch_sized<bsp, adapt::learned_batches>;
  controller<sized, std::uint32_t> control{{.capacity = 3}, sized{{}, limits, policy}};
  batch_sink host;
  for (std::uint32_t w = 0; w < 3; ++w) static_cast<void>(control.join({w, 0}, 0.0, w, host));
  for (std::uint32_t step = 0; step < 12; ++step)
    for (std::uint32_t w = 0; w < 3; ++w) {
      if (control.workers()[w].state != worker_state::running) continue;
      const float share = 0.25F * static_cast<float>(w + 1);
      static_cast<void>(control.measured(
          {w, 0}, {.compute_time = share, .throughput = share, .accuracy = 0.05F * static_cast<float>(step)}));
      static_cast<void>(control.push({.worker = {w, 0},
                                      .now = 0.5 + step + 0.1 * w,
                                      .samples = host.last[w],
                                      .loss = 2.0F - 0.1F * static_cast<float>(step)},
                                     w, host));
    }
  require(host.releases > 3 && control.policy().periods() > 0, "somebody goes on, and decides");
}

void size_batches(std::string_view text) {
  static const scratch_folder folder;
  const std::string file = folder.write("batches", text);
  const auto policy = adapt::load_batch_policy(file);
  if (!policy) return require_refusal(policy.error(), file);
  let_size_batches(*policy);
  const auto weights = policy->network.parameters();
  const auto written = adapt::save_batch_policy(file, *policy);
  require(written.operator bool(), "what was read is written:", written ? "" : written.error().message);
  const std::string first = content_of(file);
  require(first.size() == *written, "it says how much");
  const auto back = adapt::load_batch_policy(file);
  require(back.operator bool(), "what was written is read:", back ? "" : back.error().message);
  require(std::ranges::equal(back->network.parameters(), weights) && back->describe().json == policy->describe().json &&
              nn::to_text(back->network.options().hidden) == nn::to_text(policy->network.options().hidden),
          "it comes back equal");
  require(adapt::save_batch_policy(file, *back) && content_of(file) == first, "the same policy, the same bytes");
}

// A policy for batches, parts of whose header and weights are replaced as the input says: of its 32 features' names
// nobody would find the first.
std::string batch_file(input_reader& in) {
  static const std::array<std::string, 2> whole = [] {
    std::array<std::string, 2> made;
    const scratch_folder folder;
    const std::string file = folder.at("batches").string();
    for (std::size_t hidden : {0U, 1U}) {
      const std::vector<std::size_t> widths =
          hidden > 0 ? std::vector<std::size_t>{32, 3, 5} : std::vector<std::size_t>{32, 5};
      adapt::learned_batches policy{*nn::dynamic_mlp::make(widths)};
      float weight = -1;
      for (float& each : policy.network.parameters()) each = weight = -0.9F * weight + 0.1F;
      require(adapt::save_batch_policy(file, policy).operator bool(), "a policy is written");
      made[hidden] = content_of(file);
    }
    return made;
  }();
  const std::string& all = whole[in.byte() % 2];
  std::size_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::size_t{static_cast<std::uint8_t>(all[i])} << (8 * i);
  std::array<std::string, 2> part{all.substr(8, length), all.substr(8 + length)};
  while (!in.empty()) {
    const std::uint8_t what = in.byte();
    std::string& text = part[what % 2];
    const std::size_t at = in.number<std::uint16_t>() % (text.size() + 1);
    const std::string_view put = text_of(in.take(in.byte()));
    text.replace(at, what / 2 % 2 == 0 ? put.size() : what / 4, put);
  }
  return test::container(part[0], part[1]);
}

void run(input bytes) {
  input_reader in{bytes};
  const std::uint8_t how = in.byte();
  std::string text;
  if (how % 8 == 2) {
    text = batch_file(in);
  } else if (how % 2 == 0) {
    text = text_of(in.rest());
  } else {
    const std::string_view header = text_of(in.take_part());
    text = test::container(header, text_of(in.rest()));
  }
  const result<safetensors> file = safetensors::parse(span_of(text), "file");
  if (!file) return;  // another target's
  size_batches(text);
  result<any_policy> policy = policy_of<any_policy>(*file);
  if (policy) return let_decide(*std::move(policy));
  require_refusal(policy.error(), "file");
}

const registered here{"policy_file", run};

}  // namespace of_policy_file
}  // namespace rubato::fuzz
