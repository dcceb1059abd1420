#ifndef RUBATO_TESTS_EXAMPLES_LOG_RUN_HPP
#define RUBATO_TESTS_EXAMPLES_LOG_RUN_HPP

#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/core/record.hpp>

#include "../../examples/lab/log_stats.hpp"

namespace rubato::test {

/// A course of events, told to log_stats step by step.
struct log_run {
  lab::log_stats stats;
  double now = 0;

  void add(record r) {
    r.now = now;
    ASSERT_EQ(stats.add(r), "");
    ASSERT_TRUE(stats.gradients().adds_up());
  }
  [[nodiscard]] std::string refusal(record r) {
    r.now = now;
    return stats.add(r);
  }
  void join(std::uint32_t w, std::uint32_t incarnation = 0) {
    add({.what = record::kind::join, .worker = {w, incarnation}});
  }
  void release(std::uint32_t w) { add({.what = record::kind::release, .worker = {w, 0}, .value = 1}); }
  void depart(std::uint32_t w, cause why) { add({.what = record::kind::depart, .why = why, .worker = {w, 0}}); }
  void admit(std::uint32_t w, verdict decided, std::uint64_t staleness = 0, reason because = reason::none,
             std::uint64_t round = 0) {
    add({.what = record::kind::admit,
         .decided = decided,
         .because = because,
         .worker = {w, 0},
         .staleness = staleness,
         .round = round,
         .value = 1});
  }
  void commit(std::uint32_t w, verdict decided, reason because = reason::none) {
    add({.what = record::kind::commit, .decided = decided, .because = because, .worker = {w, 0}});
  }
  /// A step that takes so long, and whose gradient is applied.
  void step(std::uint32_t w, double duration) {
    release(w);
    now += duration;
    admit(w, verdict::apply);
    commit(w, verdict::apply);
  }
};

}  // namespace rubato::test

#endif
