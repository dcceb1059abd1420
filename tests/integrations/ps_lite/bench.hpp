// A server with an adapter, and workers that speak to it one request at a time; every answer is written down.
#ifndef RUBATO_TESTS_INTEGRATIONS_PS_LITE_BENCH_HPP
#define RUBATO_TESTS_INTEGRATIONS_PS_LITE_BENCH_HPP

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <rubato/ps_lite/request_handler.hpp>
#include <rubato/rubato.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ps_stub.hpp"

namespace rubato::test {

using kv_pairs = ps::KVPairs<double>;

/// Parameters of which learning rate and gradients are whole numbers or halves, so that every sum is exact. Moves
/// upwards: values += weight x gradient.
struct sums {
  std::map<ps::Key, double> values;
  std::map<std::uint64_t, std::map<ps::Key, double>> rounds;
  std::vector<std::string> done;  ///< "flush 0 x0.5 n2"
  std::map<ps::Key, bool> refuses;
  ps_lite::push_facts next{};
  std::vector<grant> told;

  outcome apply(const kv_pairs& gradient, float weight) { return move(values, gradient, static_cast<double>(weight)); }
  outcome add(std::uint64_t round, const kv_pairs& gradient, float weight) {
    return move(rounds[round], gradient, static_cast<double>(weight));
  }
  void flush(std::uint64_t round, float scale, std::uint32_t n) {
    for (const auto& [key, sum] : rounds[round]) values[key] += static_cast<double>(scale) * sum;
    rounds.erase(round);
    done.push_back("flush n" + std::to_string(n));
  }
  void discard(std::uint64_t round, std::uint32_t n) {
    rounds.erase(round);
    done.push_back("discard n" + std::to_string(n));
  }
  kv_pairs read(const kv_pairs& request, const grant& terms) {
    told.push_back(terms);
    kv_pairs answer;
    answer.keys = request.keys;
    for (const ps::Key key : request.keys) answer.vals.push_back(values[key]);
    return answer;
  }
  ps_lite::push_facts facts(const ps::KVMeta&, const kv_pairs&) const { return next; }

 private:
  outcome move(std::map<ps::Key, double>& target, const kv_pairs& gradient, double weight) {
    for (const ps::Key key : gradient.keys)
      if (refuses[key]) return outcome::failed;
    int i = 0;
    for (const ps::Key key : gradient.keys) target[key] += weight * gradient.vals[i++];
    return outcome::done;
  }
};

struct server_bench {
  using server_type = ps::KVServer<double>;
  using handler_type = ps_lite::request_handler<server_type, sums>;
  using request = std::array<int, 3>;  ///< sender, customer, timestamp

  double time = 0.0;
  sums store;
  server_type server{0};
  handler_type sync;
  std::map<request, int> answers;        ///< how often each request was answered
  std::map<request, kv_pairs> contents;  ///< with what, at last
  std::map<std::pair<int, int>, int> next_timestamp;

  server_bench(const ps_lite::handler_options& o, any_policy policy)
      : sync{o, std::move(policy), store, [this] { return time; }} {
    server.set_request_handle(std::ref(sync));
    server.sent = [this](const ps::KVMeta& to, const kv_pairs& values) {
      const request r{to.sender, to.customer_id, to.timestamp};
      ++answers[r];
      contents[r] = values;
      if (to.pull) {
        EXPECT_FALSE(values.keys.empty()) << "a worker of ps-lite aborts on a pull that is answered without values";
      }
    };
  }

  static int node(int rank) { return ps::Postoffice::WorkerRankToID(rank); }
  ps_lite::worker_name name(int rank, int customer = 0) const { return {node(rank), customer}; }

  request send(int rank, bool push, bool pull, kv_pairs data, int customer = 0) {
    const request r{node(rank), customer, next_timestamp[{rank, customer}]++};
    resend(r, push, pull, data);
    return r;
  }
  void resend(const request& r, bool push, bool pull, const kv_pairs& data) {
    server.Process({.cmd = 0, .push = push, .pull = pull, .sender = r[0], .timestamp = r[2], .customer_id = r[1]},
                   data);
  }
  static kv_pairs of(double value, ps::Key key = 0) {
    kv_pairs data;
    data.keys.push_back(key);
    data.vals.push_back(value);
    return data;
  }
  static kv_pairs key(ps::Key k = 0) {
    kv_pairs data;
    data.keys.push_back(k);
    return data;
  }
  request pull(int rank) { return send(rank, false, true, key()); }
  request push(int rank, double value) { return send(rank, true, false, of(value)); }
  request push_pull(int rank, double value) { return send(rank, true, true, of(value)); }
  void restart(int rank) { next_timestamp[{rank, 0}] = 0; }  ///< another process under the same node id

  bool answered(const request& r) {
    EXPECT_LE(answers[r], 1) << "answered twice: node " << r[0] << ", timestamp " << r[2];
    return answers[r] > 0;
  }
  double value(const request& r) {
    EXPECT_TRUE(answered(r));
    return contents[r].vals.size() == 1 ? contents[r].vals[0] : -1e9;
  }
  std::uint64_t count(reason why) {
    return sync.inspect([&](const auto& c) { return c.counts().total(why); });
  }
};

}  // namespace rubato::test

#endif
