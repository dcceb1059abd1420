#include "../../examples/lab/real_run.hpp"

#include <gtest/gtest.h>

#include <rubato/core/record.hpp>

namespace {

using namespace rubato;
using namespace rubato::lab;

TEST(PushCounter, TimeBeforeTheFirstStepIsNoWaiting) {
  push_counter pushes{3};
  const auto note = [&](record::kind what, std::uint32_t worker, double now) {
    pushes.note({.what = what, .worker = {worker, 0}, .now = now});
  };
  note(record::kind::join, 0, 1);
  note(record::kind::join, 1, 2);
  note(record::kind::depart, 1, 5);  // after 3
  note(record::kind::join, 2, 6);
  EXPECT_EQ(pushes.waited_before_begin(), 3);
  note(record::kind::release, 0, 10);  // after 9, and of worker 2 after 4
  EXPECT_EQ(pushes.waited_before_begin(), 16);
  note(record::kind::join, 1, 11);
  note(record::kind::release, 1, 20);
  EXPECT_EQ(pushes.waited_before_begin(), 16) << "what comes later is waiting";
}

}  // namespace
