#ifndef RUBATO_TESTS_MODEL_STATE_HPP
#define RUBATO_TESTS_MODEL_STATE_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "world.hpp"

namespace rubato::test::model {

/// A number of 64 bits for a sequence of numbers; other sequences have others, but for about one pair in 2^64.
class digest {
 public:
  void add(std::uint64_t word) noexcept {
    sum_ = (std::rotl(sum_, 29) ^ word) * 0x9E3779B97F4A7C15U;
    sum_ ^= sum_ >> 32;
  }
  template <class... Words>
  void words(const Words&... each) noexcept {
    (add(bits(each)), ...);
  }
  [[nodiscard]] std::uint64_t value() const noexcept {
    std::uint64_t h = sum_ * 0xD6E8FEB86659FD93U;
    h = (h ^ h >> 32) * 0xD6E8FEB86659FD93U;
    return h ^ h >> 32;
  }

 private:
  template <class Word>
  [[nodiscard]] static std::uint64_t bits(const Word& word) noexcept {
    if constexpr (std::is_same_v<Word, double>)
      return std::bit_cast<std::uint64_t>(word);
    else if constexpr (std::is_same_v<Word, float>)
      return std::bit_cast<std::uint32_t>(word);
    else
      return static_cast<std::uint64_t>(word);
  }
  std::uint64_t sum_ = 0x243F6A8885A308D3U;
};

/// The fingerprint of a state. Two states have the same if one becomes the other by renaming workers and by shifting
/// clocks, versions, rounds, serial numbers, incarnations, tickets and the time: what each worker's record says of its
/// place in every order is in that record, so that the set of the records is what a renaming leaves alone. One clock is
/// like no other: where nobody counts the minimum is 0, so that a return at 0 moves nothing.
class fingerprint_of {
 public:
  fingerprint_of(const plan& p, const world& w) : p_{p}, w_{w}, all_{w.workers()} {
    const vector_clock& clock = all_.clock();
    base_ = clock.minimum();
    if (clock.size() == 0)
      for (std::uint32_t i = 0; i < p.in.workers; ++i) base_ = std::max(base_, clock.clock(i));
    open_ = inside::rounds(w.control).open_round();
    std::uint32_t place = 0;
    for (std::uint32_t i = all_.parked().front(); i != no_worker; i = all_.parked().after(i)) parked_at_[i] = ++place;
    std::uint64_t records = 0;  // a sum: in whatever order
    for (std::uint32_t i = 0; i < p.in.workers; ++i) records += of_worker(i);
    digest d;
    d.add(records);
    of_cluster(d);
    of_policy(d);
    value_ = d.value();
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  [[nodiscard]] std::uint64_t of_worker(std::uint32_t i) const {
    const worker_record& r = all_[i];
    const seat& s = w_.seats[i];
    const bool gone = roster::is_gone(r.state);
    const bool counts = all_.counted(i);
    const bool runs = r.state == worker_state::running;
    const std::int64_t lead = static_cast<std::int64_t>(all_.clock().clock(i) - base_);
    digest d;
    d.words(p_.of.is.named ? i : 0, gone ? worker_state::left : r.state,
            r.excluded | r.linked << 1 | r.withheld << 2 | counts << 3 | s.out << 4 | (s.ticket != 0) << 5 |
                (all_.clock().clock(i) == 0) << 6,
            lead, s.waited, parked_at_[i], inside::place_of_chance(all_, i) * r.linked);
    if (runs) d.words(w_.control.updates() - r.granted.version, s.cancelled);
    if (runs || p_.of.is.cancels) d.words(r.doomed);  // who does not run must begin the next step without
    if (runs || r.withheld || r.state == worker_state::released) d.words(r.granted.batch, r.granted.lr_scale);
    if (runs && p_.of.is.cancels && r.doomed == reason::none) d.add(inside::rank_of_running(all_, i));
    if (counts && p_.of.is.slowest) d.add(inside::rank_of_arrival(all_, i));
    const auto& rest = inside::residue(w_.control);
    d.words(r.round == open_, rest.has_value() && r.round == rest->round);
    if (p_.of.is.rounds && w_.owes(s)) d.add(open_ - s.round);
    if (p_.of.is.timed) {
      d.words(r.step_time, r.smoothed_step_time, r.speed);
      if (runs) d.words(w_.now - r.granted_at);
      if (r.linked) d.words(w_.now - r.parked_at);
    }
    if (s.out) of_admission(d, i);
    return d.value();
  }

  void of_admission(digest& d, std::uint32_t i) const {
    const auto& out = inside::out(w_.control)[i];
    const event& what = out.step.what;
    d.words(out.what_to_do, what.why_dropped, is_of_this_life(i));
    if (p_.of.is.staleness) d.words(what.staleness);
    if (p_.of.is.losses) d.words(what.loss);
    if (p_.of.is.timed) d.words(out.step.step_time);
    if (out.what_to_do != verdict::accumulate) return;
    const auto& slot = inside::slots(w_.control)[out.slot];
    d.words(open_ - slot.round, slot.out, slot.adds, slot.failures);
    if (slot.round != open_) d.words(slot.flush, slot.scale);
    if (p_.of.is.rounds) d.words(w_.is_cut(slot.round));
  }
  [[nodiscard]] bool is_of_this_life(std::uint32_t i) const {
    return w_.seats[i].work.work.worker.incarnation == all_[i].incarnation;
  }

  [[nodiscard]] clock_type shifted(clock_type clock) const { return clock == unbounded ? clock : clock - base_; }

  // The floor of the parked spares work and decides nothing, as after_call sees to, but while it is being found anew.
  void of_cluster(digest& d) const {
    const auto& at = inside::progress(w_.control);
    const auto& slot = inside::slots(w_.control)[inside::rounds(w_.control).open_slot()];
    d.words(at.started | at.may_cancel << 1 | at.withholds << 2 | at.retries << 3 | at.ask_on_poll << 4 |
                w_.started << 5 | w_.useful << 6 | inside::keeps_chance(all_) << 7,
            all_.clock().size() == 0 ? 0 : at.asked_minimum - base_, at.asked_bound, at.batch, at.lr_scale, at.draws,
            at.wake_at - w_.now);
    d.words(w_.control.updates() - w_.control.version(), slot.adds, slot.out, slot.failures);
    d.words(w_.policy, w_.faults, w_.switches, w_.reloads, w_.passes);
    if (const auto& rest = inside::residue(w_.control); rest.has_value()) {
      d.words(rest->what.verb, rest->what.order, rest->what.count, rest->what.worker, rest->what.batch,
              rest->what.lr_scale, open_ - rest->round);
      if (rest->what.verb == release_verb::up_to_clock) d.words(shifted(rest->what.clock), shifted(at.parked_floor));
    }
  }

  void of_policy(digest& d) const {
    if (p_.of.is.absolute) d.words(w_.now, w_.control.updates(), open_, base_);
    const any_policy& policy = w_.control.policy();
    if (p_.of.is.unsaved != nullptr)
      p_.of.is.unsaved(
          policy, [](void* to, std::uint64_t word) { static_cast<digest*>(to)->add(word); }, &d);
    if (!p_.stateful[w_.policy]) return;
    archive bytes;
    const_cast<any_policy&>(policy).state(bytes);
    const std::span<const std::byte> saved = bytes.bytes();
    for (std::size_t i = 0; i < saved.size(); i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, saved.data() + i, std::min(sizeof word, saved.size() - i));
      d.add(word);
    }
  }

  const plan& p_;
  const world& w_;
  const roster& all_;
  clock_type base_ = 0;
  std::uint64_t open_ = 0;
  std::array<std::uint32_t, most_workers> parked_at_{};
  std::uint64_t value_ = 0;
};

}  // namespace rubato::test::model

#endif
