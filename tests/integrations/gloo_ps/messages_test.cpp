#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/gloo_ps/messages.hpp>
#include <span>
#include <string>
#include <vector>

namespace gloo_ps_messages_test {
namespace {

namespace ps = rubato::gloo_ps;
using ps::bytes;

const ps::envelope head{.job = 7, .worker = {3, 2}, .step = 11, .shard = 1, .life = 4};

// One message of each kind.
std::vector<bytes> one_of_each() {
  const std::vector<float> values{1.0F, -2.5F, 3.25F};
  return {ps::encode(head, ps::hello_message{.model = {100, 4}, .seen = 9}),
          ps::encode(head, ps::welcome_message{.nominal_samples = 32, .wait = 1.5}),
          ps::encode(head, ps::grant_message{.terms = {5, 16, 0.5F}, .step_limit = 2, .wait = 3}),
          ps::encode(head, ps::pull_message{}),
          ps::encode(head, ps::parameters_message{.version = 6}, values),
          ps::encode(head,
                     ps::push_message{.version = 6,
                                      .samples = 8,
                                      .loss = 0.25F,
                                      .measured = {.compute_time = 2, .memory = 0.5F, .out_of_memory = 64}},
                     values),
          ps::encode(head, ps::cancel_message{}),
          ps::encode(head, ps::bye_message{.done = false, .why = "tea"}),
          ps::encode(head,
                     ps::reject_message{
                         .why = ps::refusal::wrong_job, .connected = true, .known_incarnation = 3, .sentence = "no"})};
}

TEST(Messages, RoundTrip) {
  const std::vector<bytes> all = one_of_each();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ps::decoded read = ps::decode(all[i], 7);
    ASSERT_TRUE(read) << i << ": " << read.sentence;
    EXPECT_EQ(static_cast<std::size_t>(read.what.kind()), i + 1);
    EXPECT_EQ(read.what.head.worker, head.worker);
    EXPECT_EQ(read.what.head.step, 11U);
    EXPECT_EQ(read.what.head.shard, 1U);
    EXPECT_EQ(read.what.head.life, 4U);
  }
  const auto push = std::get<ps::push_message>(ps::decode(all[5], 7).what.body);
  EXPECT_EQ(push.version, 6U);
  EXPECT_EQ(push.samples, 8U);
  EXPECT_EQ(push.loss, 0.25F);
  EXPECT_EQ(push.measured.compute_time, 2);
  EXPECT_EQ(push.measured.memory, 0.5F);
  EXPECT_EQ(push.measured.out_of_memory, 64U);
  EXPECT_TRUE(std::isnan(push.measured.accuracy)) << "what nobody measured stays so";
  EXPECT_EQ(push.gradient, (std::vector<float>{1.0F, -2.5F, 3.25F}));
  const auto terms = std::get<ps::grant_message>(ps::decode(all[2], 7).what.body);
  EXPECT_EQ(terms.terms, (rubato::grant{5, 16, 0.5F}));
  EXPECT_EQ(terms.wait, 3);
  const auto bye = std::get<ps::bye_message>(ps::decode(all[7], 7).what.body);
  EXPECT_FALSE(bye.done);
  EXPECT_EQ(bye.why, "tea");
}

TEST(Messages, SameBytesOnEveryMachine) {
  const bytes pull =
      ps::encode({.job = 0x0102, .worker = {3, 4}, .step = 5, .shard = 6, .life = 7}, ps::pull_message{});
  const unsigned char expected[48] = {'r', 'b', 'P', 'S', 2, 0, 4, 0, 2, 1, 0, 0, 0, 0, 0, 0,  //
                                      3,   0,   0,   0,   4, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0,  //
                                      6,   0,   0,   0,   7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  ASSERT_EQ(pull.size(), sizeof expected);
  for (std::size_t i = 0; i < pull.size(); ++i)
    EXPECT_EQ(std::to_integer<unsigned>(pull[i]), expected[i]) << "byte " << i;
}

TEST(Messages, EveryTruncationIsRefused) {
  for (const bytes& whole : one_of_each())
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const ps::decoded read = ps::decode(std::span{whole}.first(n), 7);
      EXPECT_EQ(read.why, ps::refusal::malformed);
      EXPECT_FALSE(read.sentence.empty());
    }
}

TEST(Messages, EveryExtraByteIsRefused) {
  for (bytes whole : one_of_each()) {
    whole.push_back(std::byte{0});
    EXPECT_EQ(ps::decode(whole, 7).why, ps::refusal::malformed);
  }
}

TEST(Messages, WrongMagicProtocolJobAndKind) {
  const bytes good = ps::encode(head, ps::pull_message{});
  bytes bad = good;
  bad[0] = std::byte{'x'};
  EXPECT_EQ(ps::decode(bad, 7).why, ps::refusal::malformed);
  bad = good;
  bad[4] = std::byte{1};
  EXPECT_EQ(ps::decode(bad, 7).why, ps::refusal::wrong_protocol);
  EXPECT_EQ(ps::decode(bad, 7).sentence, "a message of protocol 1, expected 2");
  EXPECT_EQ(ps::decode(good, 8).why, ps::refusal::wrong_job);
  for (const int kind : {0, 10, 255}) {
    bad = good;
    bad[6] = static_cast<std::byte>(kind);
    EXPECT_EQ(ps::decode(bad, 7).why, ps::refusal::malformed) << kind;
  }
}

TEST(Messages, TimesThatAreNoneAreRefused) {
  for (const double wrong : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_EQ(ps::decode(ps::encode(head, ps::welcome_message{.nominal_samples = 1, .wait = wrong}), head.job).why,
              ps::refusal::malformed);
    EXPECT_EQ(ps::decode(ps::encode(head, ps::grant_message{.step_limit = wrong, .wait = 1}), head.job).why,
              ps::refusal::malformed);
    EXPECT_EQ(ps::decode(ps::encode(head, ps::grant_message{.step_limit = 1, .wait = wrong}), head.job).why,
              ps::refusal::malformed);
  }
}

TEST(Messages, BodyOfAnotherKindIsRefused) {
  bytes bad = ps::encode(head, ps::grant_message{});
  bad[6] = static_cast<std::byte>(ps::message_kind::pull);
  EXPECT_EQ(ps::decode(bad, 7).why, ps::refusal::malformed);
  bad[6] = static_cast<std::byte>(ps::message_kind::bye);  // its first byte is a bool, its second a length
  EXPECT_EQ(ps::decode(bad, 7).why, ps::refusal::malformed);
}

TEST(Messages, RandomBytesNeverPass) {
  rubato::random_sequence random{5};
  for (int round = 0; round < 20'000; ++round) {
    bytes noise(random.below(200));
    for (std::byte& b : noise) b = static_cast<std::byte>(random.below(256));
    EXPECT_FALSE(ps::decode(noise, 7));
  }
}

TEST(Messages, FlippedBitsNeverCrash) {  // they may pass: the transport has a checksum
  rubato::random_sequence random{6};
  const std::vector<bytes> all = one_of_each();
  int passed = 0;
  for (int round = 0; round < 20'000; ++round) {
    bytes one = all[random.below(all.size())];
    for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips)
      one[random.below(one.size())] ^= static_cast<std::byte>(1U << random.below(8));
    const ps::decoded read = ps::decode(one, 7);
    passed += read ? 1 : 0;
    EXPECT_NE(read.sentence.empty(), !read);
  }
  EXPECT_GT(passed, 0);
}

TEST(Messages, ShardsCoverTheParameters) {
  for (const ps::shape model : {ps::shape{1, 1}, ps::shape{10, 3}, ps::shape{64, 64}, ps::shape{1'000'003, 7}}) {
    EXPECT_EQ(model.begin_of(0), 0U);
    EXPECT_EQ(model.begin_of(model.shards), model.parameters);
    for (std::uint32_t s = 0; s < model.shards; ++s) {
      EXPECT_GE(model.size_of(s), 1U);
      EXPECT_LE(model.size_of(s), model.size_of(0));
    }
  }
}

TEST(Messages, LongTextsAreCutNotRefused) {
  const bytes no = ps::encode(head, ps::reject_message{.sentence = std::string(1000, 'x')});
  EXPECT_LE(no.size(), ps::small_message);
  const ps::decoded read = ps::decode(no, 7);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<ps::reject_message>(read.what.body).sentence.size(), 255U);
}

}  // namespace
}  // namespace gloo_ps_messages_test
