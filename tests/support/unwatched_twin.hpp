#ifndef RUBATO_TESTS_SUPPORT_UNWATCHED_TWIN_HPP
#define RUBATO_TESTS_SUPPORT_UNWATCHED_TWIN_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/controller.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "journal.hpp"

namespace rubato::test {

/// A controller as a host has it, with neither observer nor spy, that is told what the one under test is told: it may
/// do many things at once that the other does one by one, and has to come to the same.
class unwatched_twin {
 public:
  struct unchecked_policy : any_policy {
    [[nodiscard]] static std::string problem(std::uint32_t) { return {}; }  // a spy is not asked, either
  };
  using controller_type = controller<unchecked_policy, std::uint32_t>;
  using ticket = std::optional<std::uint32_t>;

  unwatched_twin(const controller_options& o, any_policy policy)
      : options_{o}, control_{std::make_unique<controller_type>(o, unchecked_policy{std::move(policy)})} {}

  void join(worker_id who, double now, ticket t) { static_cast<void>(control_->join(who, now, t, sink{log_})); }
  void depart(worker_id who, double now, cause why) { static_cast<void>(control_->depart(who, now, why, sink{log_})); }
  void admit(const push_event& push) { static_cast<void>(control_->admit(push)); }
  void commit(const token& work, double now, outcome how, ticket t) {
    static_cast<void>(control_->commit(work, now, how, t, sink{log_}));
  }
  void pull(worker_id who, double now, std::uint32_t t) { static_cast<void>(control_->pull(who, now, t, sink{log_})); }
  void poll(double now) { control_->poll(now, sink{log_}); }
  void switch_to(const any_policy& next, double now, pending_gradients pending) {
    static_cast<void>(control_->switch_to(unchecked_policy{next}, now, pending, sink{log_}));
  }
  /// Begins anew with what was saved; reattach as for controller::load.
  template <class Reattach>
  void load(std::span<const std::byte> saved, any_policy pristine, Reattach&& reattach) {
    control_ = std::make_unique<controller_type>(options_, unchecked_policy{std::move(pristine)});
    archive bytes{saved};
    static_cast<void>(control_->load(bytes, reattach));
  }

  /// What differs from what the other controller did in this call, of which this is the journal, and from what it says
  /// about itself now, if so in all that it would save; empty if nothing does.
  template <class Controller>
  [[nodiscard]] std::string difference_from(const journal& log, const Controller& other, bool saved) {
    const journal mine = std::exchange(log_, {});
    std::size_t next = 0;
    for (const entry& e : log) {
      if (e.what < entry::kind::release) continue;
      if (next == mine.size() || !same(e, mine[next])) return "unwatched, another effect";
      ++next;
    }
    if (next != mine.size()) return "unwatched, one effect more";
    for (std::uint32_t w = 0; w < options_.capacity; ++w)
      if (control_->workers()[w].state != other.workers()[w].state) return "unwatched, another state";
    if (!saved) return "";
    archive its, mine_saved;
    if (control_->save(mine_saved) != other.save(its)) return "unwatched, save()";
    return std::ranges::equal(mine_saved.bytes(), its.bytes()) ? "" : "unwatched, other saved bytes";
  }

 private:
  struct sink {
    journal& log;
    void release(std::uint32_t t, worker_id worker, const grant& terms) const {
      log.push_back({.what = entry::kind::release, .worker = worker, .terms = terms, .ticket = t});
    }
    void flush(std::uint64_t round, float scale, std::uint32_t n) const {
      log.push_back({.what = entry::kind::flush, .round = round, .scale = scale, .gradients = n});
    }
    void discard(std::uint64_t round, std::uint32_t n) const {
      log.push_back({.what = entry::kind::discard, .round = round, .gradients = n});
    }
    void cancel(worker_id worker) const { log.push_back({.what = entry::kind::cancel, .worker = worker}); }
    void abandon(std::uint32_t t, worker_id worker, reason why) const {
      log.push_back({.what = entry::kind::abandon, .worker = worker, .ticket = t, .why = why});
    }
  };
  [[nodiscard]] static bool same(const entry& a, const entry& b) {
    return a.what == b.what && a.worker == b.worker && a.terms == b.terms && a.ticket == b.ticket &&
           a.round == b.round && a.scale == b.scale && a.gradients == b.gradients && a.why == b.why;
  }

  controller_options options_;
  std::unique_ptr<controller_type> control_;
  journal log_;
};

}  // namespace rubato::test

#endif
