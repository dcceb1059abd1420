#ifndef RUBATO_SYNC_RIVALS_ADA_SYNC_HPP
#define RUBATO_SYNC_RIVALS_ADA_SYNC_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../../core/number_text.hpp"
#include "../../pinned.hpp"
#include "k_async.hpp"
#include "k_batch_async.hpp"
#include "k_batch_sync.hpp"
#include "k_sync.hpp"
#include "running_loss.hpp"

namespace rubato::inline RUBATO_ABI {

/// AdaSync: one of the K rules, whose k grows as the training loss falls.
///
/// A small k makes many updates of few gradients, which is quickest while the loss is large; the error that remains
/// falls with k. From the running average F of the reported losses, and F_0, the average when the second round begins:
/// k = k_0 sqrt(F_0 / F), or, for K-sync, where a round lasts longer the more of the n workers it waits for, the
/// positive root of k^2 / (n - k) = k_0^2 / (n - k_0) F_0 / F. Rounded, and kept within 1 and the number of workers.
/// (The paper evaluates the whole training loss at the start of each interval, and takes F_0 before the first step. Its
/// law for K-async is that of rounds whose time is proportional to k, which is not quite so where contributors wait.)
///
/// k changes between rounds only, at most once in `interval`. Without losses (0 or none), and while the average is not
/// above 0, it stays as it is.
///
/// Options  by: which rule; initial: k_0, 1 to the number of workers; interval in the host's unit of time, 0: at every
///          round; newest in (0, 1]: how far each loss moves the average; monotone: k never falls
/// Cost     that of the rule, and O(1). No allocation. Not thread-safe.
/// Tests    tests/sync/rivals/ada_sync_test.cpp: KByHand, GrowsAsTheLossFalls, KeepsKWithoutLosses,
///          ChangesBetweenRoundsOnly, OncePerInterval, MonotoneNeverFalls, SavesWhatItLearned;
///          tests/properties/identities_test.cpp: AdaSyncOfASteadyLossIsItsRule
/// Source   Dutta et al., "Slow and Stale Gradients Can Win the Race", IEEE JSAIT 2021 (arXiv 2003.10579)
struct ada_sync {
  /// Which rule has its k set.
  enum class rule : std::uint8_t { k_sync, k_async, k_batch_sync, k_batch_async };
  rule by = rule::k_async;    ///< the rule
  std::uint32_t initial = 1;  ///< k_0, 1 to the number of workers
  double interval = 60.0;     ///< between changes of k at least, in the host's unit of time; 0: at every round
  double newest = 0.1;        ///< how far each loss moves the average, in (0, 1]
  bool monotone = true;       ///< k never falls

  /// The k for a loss that has become `fallen` = F_0 / F times smaller, with so many workers.
  [[nodiscard]] static std::uint32_t k_for(rule of, std::uint32_t initial, double fallen,
                                           std::uint32_t workers) noexcept {
    const auto most = static_cast<double>((std::max)(workers, 1U));
    const double k_0 = (std::min)(static_cast<double>(initial), most);
    double k = k_0 * std::sqrt(fallen);
    if (of == rule::k_sync && k_0 < most) {
      const double c = k_0 * k_0 / (most - k_0) * fallen;
      k = 2.0 * most / (1.0 + std::sqrt(1.0 + 4.0 * most / c));  // of k^2 + c k - c n = 0, without cancellation
    } else if (of == rule::k_sync) {
      k = most;
    }
    return static_cast<std::uint32_t>(std::clamp(std::round(k), 1.0, most));
  }

 private:
  template <class Use>
  auto as_rule(Use&& use) const noexcept {
    switch (by) {
      case rule::k_sync: return use(rubato::k_sync{.k = k()});
      case rule::k_batch_sync: return use(rubato::k_batch_sync{.k = k()});
      case rule::k_batch_async: return use(rubato::k_batch_async{.k = k()});
      default: return use(rubato::k_async{.k = k()});
    }
  }

 public:
  [[nodiscard]] admission admit(const cluster_view& view, const event& what) noexcept {
    if (view.round_admissions() == 0 && loss.measured) adapt(view);
    return as_rule([&](const auto& r) noexcept { return r.admit(view, what); });
  }
  void observe(const feedback& f) noexcept {
    if (!f.what.dropped) loss.add(f.what.loss, newest);
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    return as_rule([&](const auto& r) noexcept { return r.release(view, what); });
  }

  /// The present k.
  [[nodiscard]] std::uint32_t k() const noexcept { return grown == 0 ? initial : grown; }
  [[nodiscard]] double max_legal_wait(std::uint32_t worker) const noexcept {
    return as_rule([&](const auto& r) noexcept { return r.max_legal_wait(worker); });
  }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    return detail::first_of({detail::unless(by <= rule::k_batch_async, "by", by, "one of the four rules"),
                             detail::unless_from_0("interval", interval), detail::unless_a_share("newest", newest),
                             detail::outside("initial", initial, 1, capacity, "the number of workers")});
  }
  void state(archive& bytes) {
    loss.state(bytes);
    bytes(first, next, grown);
    if (!pinned::is_finite(first) || first < 0.0 || pinned::is_nan(next)) bytes.fail();
  }
  [[nodiscard]] description describe() const {
    const std::string_view name = as_rule([](const auto& r) noexcept { return kind_of(r); });
    return {detail::sentence_of("adasync: ", name, " whose k starts at ", initial, " and grows as the loss falls"),
            detail::sentence_of(R"({"kind":"adasync","rule":")", name, R"(","initial":)", initial, R"(,"interval":)",
                                detail::text_of(interval), R"(,"newest":)", detail::text_of(newest),
                                R"(,"monotone":)", monotone ? "true" : "false", "}")};
  }

  static constexpr std::string_view kind = "adasync";

  detail::running_loss loss{};  ///< state, as all below: F
  double first = 0.0;           ///< F_0; 0 while unknown
  double next = 0.0;            ///< when k may change again
  std::uint32_t grown = 0;      ///< k; 0 while it is the initial one

 private:
  void adapt(const cluster_view& view) noexcept {
    const double now = view.now();
    const bool due = now >= next || next - now > interval;  // the latter where a host's clock starts anew after a load
    if (!due || !(loss.average > 0.0)) return;
    next = now + interval;
    if (first == 0.0) {
      first = loss.average;
      return;
    }
    const std::uint32_t wanted = k_for(by, initial, first / loss.average, view.alive());
    grown = monotone ? (std::max)(k(), wanted) : wanted;
  }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
