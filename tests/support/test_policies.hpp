#ifndef RUBATO_TESTS_SUPPORT_TEST_POLICIES_HPP
#define RUBATO_TESTS_SUPPORT_TEST_POLICIES_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <rubato/sync/concepts.hpp>
#include <span>
#include <vector>

#include "draw_source.hpp"

// Small policies that between them use every verb of the vocabulary. Each is total over all causes and, chaos apart,
// keeps the cluster alive by itself: the guard never has to step in.
namespace rubato::test {

inline constexpr double never = std::numeric_limits<double>::infinity();

/// Gradients of weight 1/2, two an update; who gave them waits for it and then goes on, the others never wait.
struct pairs {
  [[nodiscard]] admission admit(const cluster_view&, const event&) const noexcept {
    return admission::accumulate(0.5F);
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    if (view.busy() == 0) return decision::all().with_flush();
    if (view.pending() >= 2) return decision::contributors().with_flush(2.0F);
    if (what.why == cause::enter) return decision::all();
    if (what.why == cause::join) return decision::only(what.worker);
    return what.why == cause::push && !what.pending ? decision::submitter() : decision::hold();
  }
  static constexpr std::string_view kind = "pairs";
};

/// One worker at a time, the slowest next.
struct one_by_one {
  [[nodiscard]] decision release(const cluster_view& view, const event&) const noexcept {
    return view.busy() == 0 && view.alive() > 0 ? decision::only(view.slowest()) : decision::hold();
  }
  static constexpr std::string_view kind = "one_by_one";
};

/// Sends the slowest worker away when it falls too far behind, and takes it back eight updates later.
struct excluding {
  clock_type lag = 3;

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    if (view.excluded() == 0) {
      away = no_worker;
      if (view.alive() > 1 && view.maximum_clock() - view.minimum_clock() > lag && what.why == cause::push) {
        away = view.slowest();
        until = view.updates() + 8;
        return decision::hold().with_exclude(away);
      }
    } else if (view.alive() == 0 || view.updates() >= until || away >= view.capacity() || !view.is_excluded(away)) {
      away = 0;
      while (!view.is_excluded(away)) ++away;
      return decision::hold().with_readmit(away);
    }
    return what.why == cause::push ? decision::submitter() : decision::all();
  }
  void state(archive& bytes) { bytes(away, until); }
  static constexpr std::string_view kind = "excluding";

  // State.
  std::uint32_t away = no_worker;
  std::uint64_t until = 0;
};

/// A round lasts at most `period` after its first gradient; whoever is not in by then finds itself in the next.
struct timed_rounds {
  double period = 1.5;

  [[nodiscard]] admission admit(const cluster_view&, const event&) const noexcept { return admission::accumulate(); }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    if (view.busy() == 0 || what.why == cause::deadline || what.why == cause::enter) {
      armed = false;
      return decision::all().with_flush().with_wake_at(never);
    }
    if (what.why == cause::join) return decision::only(what.worker);
    if (what.why != cause::push) return decision::hold();
    if (!what.pending) return decision::submitter();
    if (armed) return decision::hold();
    armed = true;
    return decision::hold().with_wake_at(what.now + period);
  }
  void state(archive& bytes) { bytes(armed); }
  static constexpr std::string_view kind = "timed_rounds";

  // State.
  bool armed = false;
};

/// SSP whose bound alternates between tight and loose every `period` pushes; tightening re-bases the clocks if asked
/// to.
struct breathing_ssp {
  clock_type tight = 1;
  clock_type loose = 5;
  bool rebases = true;
  std::uint32_t period = 20;

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    const clock_type before = clock_bound();
    if (what.why == cause::push) ++pushes;
    if (rebases && clock_bound() < before) return decision::up_to_clock(tight).with_rebase(tight);
    return decision::up_to_clock(saturating_add(view.minimum_clock(), clock_bound()));
  }
  [[nodiscard]] clock_type clock_bound() const noexcept { return pushes / period % 2 == 0 ? loose : tight; }
  void state(archive& bytes) { bytes(pushes); }
  static constexpr std::string_view kind = "breathing_ssp";

  // State.
  std::uint64_t pushes = 0;
};

/// ASP that weighs gradients by their staleness, drops the oldest, and gives each worker its own batch and learning
/// rate.
struct weighing {
  std::uint64_t limit = 6;

  void resize(std::uint32_t capacity) { losses.assign(capacity, 0.0F); }
  void reset(std::uint32_t worker) noexcept { losses[worker] = 0.0F; }
  void observe(const feedback& f) noexcept { losses[f.what.worker] = std::isfinite(f.what.loss) ? f.what.loss : 0.0F; }
  [[nodiscard]] admission admit(const cluster_view&, const event& what) const noexcept {
    if (what.staleness > limit) return admission::drop(reason::stale);
    return admission::apply(1.0F / (1.0F + static_cast<float>(what.staleness)));
  }
  [[nodiscard]] decision release(const cluster_view&, const event& what) const noexcept {
    return (what.why == cause::push ? decision::submitter() : decision::all()).with_batch(32).with_lr_scale(0.5F);
  }
  void shape(const cluster_view& view, std::uint32_t worker, grant& terms) const noexcept {
    terms.batch += worker + static_cast<std::uint32_t>(view.clock_of(worker) % 3);
    terms.lr_scale *= 1.0F + 0.25F * losses[worker];
  }
  void state(archive& bytes) {
    for (float& loss : losses) bytes(loss);
  }
  [[nodiscard]] double max_legal_wait(std::uint32_t) const noexcept { return 0.0; }
  static constexpr std::string_view kind = "weighing";

  // State.
  std::vector<float> losses;
};

/// Any output at all. Only for runs with the guard.
struct chaos {
  std::uint64_t seed = 1;
  clock_type bound = unbounded;
  bool shaping = true;
  std::span<const std::uint8_t> script{};  // answers come from these bytes, as long as there are any

  [[nodiscard]] admission admit(const cluster_view&, const event&) noexcept {
    draw_source r = next(1);
    const float weight = number(r);
    const float scale = number(r);
    switch (r.below(8)) {
      case 0:
        return admission::drop(static_cast<reason>(r.below(40)));
      case 1:
        return {.what = static_cast<verdict>(r.below(9)), .completes = true, .weight = weight, .scale = scale};
      case 2:
        return admission::accumulate_and_flush(weight, scale);
      case 3:
      case 4:
        return admission::accumulate(weight);
      default:
        return admission::apply(weight);
    }
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    draw_source r = next(2);
    const auto worker = [&] { return static_cast<std::uint32_t>(r.below(view.capacity() + 1)); };
    decision d = decision::hold();
    switch (r.below(9)) {
      case 0:
        d = decision::submitter();
        break;
      case 1:
        d = decision::only(worker());
        break;
      case 2:
        d = decision::all();
        break;
      case 3:
        d = decision::up_to(static_cast<std::uint32_t>(r.below(4)), static_cast<release_order>(r.below(2)));
        break;
      case 4:
        d = decision::up_to_clock(view.minimum_clock() + r.below(4));
        break;
      case 5:
        d = decision::contributors();
        break;
      case 6:
        d = decision::up_to_clock(r());
        break;
      default:
        break;
    }
    if (r.below(4) == 0) d = d.with_flush(number(r));
    if (r.below(4) == 0) d = d.with_cancel_below(r.below(2) == 0 ? view.version() + r.below(3) : r());
    if (r.below(8) == 0) d = d.with_exclude(worker());
    if (r.below(8) == 0) d = d.with_readmit(worker());
    if (r.below(8) == 0) d = d.with_wake_at(r.below(4) == 0 ? std::nan("") : what.now + r.uniform() * 3 - 1);
    if (r.below(64) == 0) d = d.with_wake_at(-std::numeric_limits<double>::infinity());
    if (r.below(16) == 0) d = d.with_rebase(r.below(2) == 0 ? r.below(4) : unbounded);
    if (r.below(4) == 0) d = d.with_batch(static_cast<std::uint32_t>(r.below(64)));
    if (r.below(4) == 0) d = d.with_lr_scale(number(r));
    if (r.below(4) == 0) d = d.with_degraded();
    return d;
  }
  void shape(const cluster_view&, std::uint32_t, grant& terms) noexcept {
    draw_source r = next(3);
    if (r.below(3) == 0) terms = {.version = r(), .batch = 7, .lr_scale = number(r)};
  }
  [[nodiscard]] bool shapes() const noexcept { return shaping; }
  [[nodiscard]] clock_type clock_bound() const noexcept { return bound; }
  void state(archive& bytes) { bytes(draws); }
  static constexpr std::string_view kind = "chaos";

  [[nodiscard]] static float number(draw_source& r) noexcept {
    switch (r.below(12)) {
      case 0:
        return std::numeric_limits<float>::quiet_NaN();
      case 1:
        return std::numeric_limits<float>::infinity();
      case 2:
        return -1.0F;
      case 3:
        return 20.0F;
      default:
        return static_cast<float>(r.uniform() * 2);
    }
  }

  std::uint64_t draws = 0;  // state

 private:
  [[nodiscard]] draw_source next(std::uint64_t stream) noexcept {
    constexpr std::uint64_t stride = 6;  // about what an answer takes
    const std::uint64_t n = draws++;
    return {script.subspan(std::min(stride * n, std::uint64_t{script.size()})), random_sequence{seed, stream, n}};
  }
};

}  // namespace rubato::test

#endif
