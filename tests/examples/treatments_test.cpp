#include "../../examples/lab/treatments.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/controller.hpp>
#include <string>

#include "../../examples/lab/gone.hpp"
#include "../../examples/lab/policies.hpp"
#include "../../examples/support/user_error.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::lab;

nlohmann::json described(const std::string& name) {
  return nlohmann::json::parse(parse_policy(name).policy.describe().json);
}

TEST(Treatments, EveryVariantGoesOnEveryRule) {
  for (const treatment& each : treatments())
    for (const auto& suffix : each.variants)
      for (const rule& known : rules()) {
        if (known.of_file || known.variants.empty()) continue;
        const std::string name = std::string{known.variants.back()} + std::string{suffix};
        const named_policy parsed = parse_policy(name);
        EXPECT_EQ(parsed.name, name);
        const std::string_view kind = known.of_batches ? "bsp" : known.name;
        EXPECT_EQ(parsed.policy.kind(), kind);
        EXPECT_EQ(described(name).at("kind"), kind);
        EXPECT_EQ(described(name).at("of"), described(std::string{known.variants.back()}));
      }
}

TEST(Treatments, NamesMeanWhatTheySay) {
  EXPECT_EQ(described("asp+scale:1/tau").at("weight"), "1/tau");
  EXPECT_EQ(described("asp+scale:1/(tau+1)").at("weight"), "1/(tau+1)");
  EXPECT_EQ(described("asp+scale:dyn"), described("asp+scale:1/(tau+1)"));
  EXPECT_EQ(described("asp+scale:poly:0.5").at("weight"), "(tau+1)^-0.5");
  EXPECT_EQ(described("asp+scale:hinge:0.5:4").at("weight"), "1/(0.5 max(tau-4,0)+1)");
  EXPECT_EQ(described("asp+const:0.1").at("weight"), "0.1");
  EXPECT_EQ(described("asp+lr:1/M").at("lr_scale"), "1/M in [0, 1]");
  EXPECT_EQ(described("asp+lr:10/M").at("lr_scale"), "10/M in [0, 1]");
  EXPECT_EQ(described("asp+decay").at("loss_decay"), (std::vector{5.0, 0.35, 1.0, 0.1, 10.0}));
}

TEST(Treatments, FromThenOnNobodyIsReleased) {
  EXPECT_EQ(described("asp+gone:0.5").at("gone"), "0.5");
  rubato::controller<gone<rubato::asp>, int> sync{{.capacity = 2}, {rubato::asp{}, 20}};
  int released = 0;
  const auto count = [&](int, rubato::worker_id, const rubato::grant&) { ++released; };
  const auto push = [&](std::uint32_t worker, double now) {
    EXPECT_EQ(sync.push({.worker = {worker, 0}, .now = now}, 0, count), rubato::errc::ok);
  };
  for (std::uint32_t w = 0; w < 2; ++w) EXPECT_EQ(sync.join({w, 0}, 0, 0, count), rubato::errc::ok);
  EXPECT_EQ(released, 2);
  for (std::uint32_t w = 0; w < 2; ++w) push(w, 19);
  EXPECT_EQ(released, 4) << "each goes on at once";
  push(0, 20);
  EXPECT_EQ(released, 4);
  push(1, 21);
  EXPECT_EQ(released, 5) << "the guard lets one go";
}

TEST(Treatments, FromThenOnRoundsStayOpen) {
  struct sink {
    int released = 0, flushed = 0;
    void release(int, rubato::worker_id, const rubato::grant&) { ++released; }
    void flush(std::uint64_t, float, std::uint32_t) { ++flushed; }
    void discard(std::uint64_t, std::uint32_t) {}
  } host;
  rubato::controller<gone<rubato::bsp>, int> sync{{.capacity = 2}, {rubato::bsp{}, 20}};
  for (std::uint32_t w = 0; w < 2; ++w) EXPECT_EQ(sync.join({w, 0}, 0, 0, host), rubato::errc::ok);
  for (const double now : {10.0, 30.0})
    for (std::uint32_t w = 0; w < 2; ++w)
      EXPECT_EQ(sync.push({.worker = {w, 0}, .now = now}, 0, host), rubato::errc::ok);
  EXPECT_EQ(host.flushed, 1) << "the round before";
  EXPECT_EQ(sync.pending(), 2U);
  EXPECT_EQ(host.released, 5) << "the guard lets one go";
}

TEST(Treatments, SeveralFollowEachOther) {
  const auto outer = described("ssp:3+scale:1/(tau+1)+lr:1/M+decay");
  EXPECT_TRUE(outer.contains("loss_decay"));
  EXPECT_TRUE(outer.at("of").contains("lr_scale"));
  EXPECT_TRUE(outer.at("of").at("of").contains("weight"));
  EXPECT_EQ(outer.at("of").at("of").at("of"), described("ssp:3"));
}

// Only a '+' before the name of a treatment begins one.
TEST(Treatments, OtherPlusSignsBelongToTheName) {
  EXPECT_EQ(without_treatments("ssp:3"), "ssp:3");
  EXPECT_EQ(without_treatments("ssp:3+decay"), "ssp:3");
  EXPECT_EQ(without_treatments("asp+scale:1/(tau+1)"), "asp");
  EXPECT_EQ(without_treatments("file:a+b.safetensors"), "file:a+b.safetensors");
  EXPECT_EQ(without_treatments("file:a+decayed+b"), "file:a+decayed+b");
  EXPECT_EQ(without_treatments("file:a+b+const:0.5+decay"), "file:a+b");
}

TEST(Treatments, BadOnesAreRefused) {
  const auto bad = [](const std::string& suffix, const std::string& what) {
    const std::string name = "asp" + suffix;
    const std::string said =
        rubato::test::message_of<rubato::support::user_error>([&] { static_cast<void>(parse_policy(name)); });
    EXPECT_EQ(said.find("\"" + name + "\": found " + what + " (usage: "), 0u) << said;
  };
  bad("+decay+nope",
      "\"decay+nope\", expected treatments, each after a +: scale, const, lr, decay, batch, gone, static, "
      "lb-bsp, warm-up, goodput, goodput-balanced, dynamix, random");
  bad("+decay+",
      "\"decay+\", expected treatments, each after a +: scale, const, lr, decay, batch, gone, static, "
      "lb-bsp, warm-up, goodput, goodput-balanced, dynamix, random");
  bad("+scale", "\"\", expected 1/tau, 1/(tau+1), dyn, poly:A or hinge:A:B");
  bad("+scale:2/tau", "\"2/tau\", expected 1/tau, 1/(tau+1), dyn, poly:A or hinge:A:B");
  bad("+scale:1/tau:3", "\"3\", expected nothing more");
  bad("+scale:poly", "\"\", expected a number above 0");
  bad("+scale:poly:0", "\"0\", expected a number above 0");
  bad("+scale:hinge:1:x", "\"x\", expected a number of updates");
  bad("+const:", "\"\", expected a number above 0");
  bad("+const:-1", "\"-1\", expected a number above 0");
  bad("+lr:M", "\"M\", expected R/M, as in 1/M");
  bad("+lr:0/M", "\"0\", expected R/M, as in 1/M");
  bad("+gone:-1", "\"-1\", expected a time, 0 or more");
  bad("+decay:2", "\"2\", expected nothing more");
  EXPECT_NE(rubato::test::message_of<rubato::support::user_error>([] {
              static_cast<void>(parse_policy("asp+slower"));
            }).find("found \"asp+slower\", expected one of bsp"),
            std::string::npos);
}

TEST(Treatments, TuningKeepsThem) {
  const auto list = parse_policies("ssp+decay", true);
  ASSERT_EQ(list[0].candidates.size(), 6u);
  EXPECT_EQ(list[0].candidates[1].name, "ssp:1+decay");
  EXPECT_TRUE(described(list[0].candidates[1].name).contains("loss_decay"));
}

}  // namespace
