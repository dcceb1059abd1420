#ifndef RUBATO_TESTS_SOAK_BOOKS_HPP
#define RUBATO_TESTS_SOAK_BOOKS_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/core/admission.hpp>
#include <rubato/core/result.hpp>
#include <rubato/sync/counters.hpp>
#include <string>
#include <vector>

namespace rubato::test {

/// What answers one waiting request.
struct ticket {
  std::uint32_t worker = 0, number = 0;
};

/// What a host gave to a controller and got back: tickets, gradients, and how often each reason must have been counted.
/// Learns it from answers and effects alone. O(1) each; allocates at construction alone, unless something is wrong.
class books {
 public:
  std::string problem;  ///< the first thing that is wrong

  explicit books(std::uint32_t workers) : open_(workers), given_(workers), out_(workers) { rounds_.reserve(256); }

  // --- tickets: each ends once

  [[nodiscard]] ticket new_ticket(std::uint32_t w) {
    const ticket t{w, ++given_[w]};
    if (open_[w][0] != 0 && open_[w][1] != 0) fail(w, "has three tickets");
    open_[w][open_[w][0] == 0 ? 0 : 1] = t.number;
    return t;
  }
  [[nodiscard]] std::uint32_t open_of(std::uint32_t w) const {
    return static_cast<std::uint32_t>(open_[w][0] != 0) + static_cast<std::uint32_t>(open_[w][1] != 0);
  }
  [[nodiscard]] ticket ticket_of(std::uint32_t w) const { return {w, std::max(open_[w][0], open_[w][1])}; }
  void released(ticket t) { ++released_, end(t); }
  void abandoned(ticket t, reason why) {
    end(t);
    if (why == reason::replaced) ++expected(why);
  }
  void lost(std::uint32_t w) {
    open_[w] = {};
    ++expected(reason::departed_worker);
  }

  // --- gradients: each has one fate

  void admitted_as(const admitted& got, double now) {
    if (got.work.what == verdict::refused) return void(++expected(got.work.why));
    passes(now);
    if (got.work.serial == 0) return;
    ++accepted_;
    ++in_flight_;
    out_[got.work.worker.index] = got.work.serial;
    if (got.what.what == verdict::drop) {
      ++dropped_;
      ++expected(got.what.why);
      return;
    }
    if (got.what.weight != 1.0F) ++expected(reason::scaled);
    if (got.what.what == verdict::accumulate) ++round_of(got.round).out;
  }
  /// Before the call, since its effects come within it. What is no admission that is out changes nothing.
  void about_to_commit(const admitted& what, double now, outcome how) {
    const std::uint32_t w = what.work.worker.index;
    if (what.work.serial == 0 || !std::isfinite(now) || w >= out_.size() || out_[w] != what.work.serial) return;
    out_[w] = 0;
    --in_flight_;
    const bool done = how == outcome::done;
    if (what.what.what == verdict::drop) return;
    if (!done) ++failed_, ++expected(reason::failed);
    if (what.what.what == verdict::apply) {
      applied_ += done;
    } else {
      round& r = round_of(what.round);
      --r.out;
      r.adds += done;
    }
  }
  void committed(const admitted& what, errc result, double now) {
    if (what.work.what != verdict::refused) answered(result, now);  // else it was counted when it was refused
  }
  void flushed(std::uint64_t number, std::uint32_t n) {
    close(number, n);
    flushed_ += n;
    ++flushes_;
    if (n == 0) fail(0, "a flush of nothing");
  }
  void discarded(std::uint64_t number, std::uint32_t n) {
    close(number, n);
    discarded_ += n;
    expected(reason::switched) += n;
  }
  /// Is a gradient of this worker, by whichever life of it, admitted and not committed?
  [[nodiscard]] bool is_out(std::uint32_t w) const { return out_[w] != 0; }
  [[nodiscard]] bool is_out(const token& t) const { return t.serial != 0 && out_[t.worker.index] == t.serial; }
  [[nodiscard]] std::uint64_t updates() const { return applied_ + flushes_; }  ///< that are in

  // --- answers, and the time

  void answered(errc result, double now) {
    if (result != errc::ok) ++expected(reason_of(result));
    if (result == errc::ok || result == errc::repeated) passes(now);
  }
  void polled(double now) { std::isfinite(now) ? passes(now) : static_cast<void>(++expected(reason::invalid_time)); }
  /// A controller that was loaded takes any time for its first.
  void begin_time() { latest_ = -std::numeric_limits<double>::infinity(); }

  /// What does not agree with a controller at which nothing is out; empty if all does. O(workers).
  template <class Controller>
  [[nodiscard]] std::string difference_from(const Controller& control) const {
    constexpr std::array known{reason::unknown_worker, reason::departed_worker, reason::old_incarnation,
                               reason::invalid_time,   reason::invalid_token,   reason::no_pulls,
                               reason::invalid_cause,  reason::repeated,        reason::replaced,
                               reason::stale,          reason::non_finite,      reason::cancelled,
                               reason::excluded,       reason::unwanted,        reason::failed,
                               reason::switched,       reason::scaled,          reason::time_clamped};
    const counters& counted = control.counts();
    for (const reason why : known)
      if (counted.total(why) != expected_[index(why)])
        return std::string{name(why)} + " was counted " + std::to_string(counted.total(why)) + " times, expected " +
               std::to_string(expected_[index(why)]);
    for (std::size_t r = 0; r < counters::reasons; ++r) {
      std::uint64_t sum = 0;
      for (std::uint32_t w = 0; w < given_.size(); ++w) sum += counted.of(w, static_cast<reason>(r));
      const auto why = static_cast<reason>(r);
      const bool always_of_one = why >= reason::repeated && why <= reason::failed;
      if (sum > counted.total(why) || (always_of_one && sum != counted.total(why)))
        return std::string{name(why)} + ": the workers' counts are " + std::to_string(sum) + " of " +
               std::to_string(counted.total(why));
    }
    if (in_flight_ != 0) return std::to_string(in_flight_) + " admissions are out";
    if (control.version() != control.updates()) return "decided updates that are not in";
    const std::uint64_t ended = applied_ + failed_ + dropped_ + flushed_ + discarded_ + control.pending();
    if (ended != accepted_) return std::to_string(accepted_) + " gradients, and the fate of " + std::to_string(ended);
    return {};
  }
  /// The sums in words.
  [[nodiscard]] std::string words() const {
    const auto n = [](std::uint64_t count) { return std::to_string(count); };
    return n(accepted_) + " gradients = " + n(applied_) + " applied + " + n(flushed_) + " flushed + " + n(dropped_) +
           " dropped + " + n(discarded_) + " discarded + " + n(failed_) + " failed + " +
           n(accepted_ - applied_ - flushed_ - dropped_ - discarded_ - failed_) + " pending; " + n(released_) +
           " releases";
  }

 private:
  struct round {
    std::uint64_t number = 0;
    std::uint32_t adds = 0, out = 0;
  };

  [[nodiscard]] static std::size_t index(reason why) { return static_cast<std::size_t>(why); }
  [[nodiscard]] std::uint64_t& expected(reason why) { return expected_[index(why)]; }
  [[nodiscard]] static reason reason_of(errc result) {
    for (std::size_t r = 1; r < counters::reasons; ++r)
      if (error_of(static_cast<reason>(r)) == result) return static_cast<reason>(r);
    return reason::none;
  }
  void fail(std::uint32_t w, const char* what) {
    if (problem.empty()) problem = "worker " + std::to_string(w) + ' ' + what;
  }
  void end(ticket t) {
    const auto slot = std::ranges::find(open_[t.worker], t.number);
    if (slot == open_[t.worker].end()) return fail(t.worker, "has a ticket that ended twice");
    *slot = 0;
  }
  [[nodiscard]] round& round_of(std::uint64_t number) {
    for (std::size_t i = rounds_.size(); i > 0; --i)
      if (rounds_[i - 1].number == number) return rounds_[i - 1];
    return rounds_.emplace_back(round{.number = number});
  }
  void close(std::uint64_t number, std::uint32_t n) {
    const round ended = round_of(number);
    if (ended.adds != n || ended.out != 0) fail(0, "and others: a round ended with other gradients than were added");
    std::erase_if(rounds_, [number](const round& r) { return r.number == number; });
  }
  void passes(double now) {
    if (now < latest_) ++expected(reason::time_clamped);
    latest_ = std::max(latest_, now);
  }

  std::vector<std::array<std::uint32_t, 2>> open_;
  std::vector<std::uint32_t> given_;
  std::vector<std::uint64_t> out_;
  std::vector<round> rounds_;
  std::array<std::uint64_t, counters::reasons> expected_{};
  std::uint64_t accepted_ = 0, applied_ = 0, failed_ = 0, dropped_ = 0, flushed_ = 0, flushes_ = 0, discarded_ = 0;
  std::uint64_t released_ = 0;
  std::uint32_t in_flight_ = 0;
  double latest_ = -std::numeric_limits<double>::infinity();
};

}  // namespace rubato::test

#endif
