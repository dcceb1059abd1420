// Two workers at a server of the README, of which one does not move.
#ifndef RUBATO_TESTS_INTEGRATIONS_PS_LITE_README_HPP
#define RUBATO_TESTS_INTEGRATIONS_PS_LITE_README_HPP

#include <gtest/gtest.h>

#include "ps_stub.hpp"

namespace rubato::test {

inline ps::KVPairs<float> one_value(float value) {
  ps::KVPairs<float> data;
  data.keys.push_back(5);
  data.vals.push_back(value);
  return data;
}

/// How many steps the one takes before it is not answered, at most 100.
inline int lead_of_a_fast_worker(ps::KVServer<float>& server, int train) {
  int answers = 0;
  server.sent = [&](const ps::KVMeta&, const ps::KVPairs<float>&) { ++answers; };
  const auto send = [&](int node, int timestamp, bool push) {
    const int before = answers;
    server.Process({train, push, !push, node, timestamp, 0}, one_value(1.0F));
    return answers > before;
  };
  send(9, 0, false), send(11, 0, false);
  EXPECT_EQ(answers, 2);
  for (int step = 1; step <= 100; ++step)
    if (!send(9, step, true)) return step - 1;
  return 100;
}

}  // namespace rubato::test

#endif
