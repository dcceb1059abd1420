#include <rubato/cuda_ps/round_book.cuh>

#include <gtest/gtest.h>

namespace rubato::cuda_ps::round_book_test {
namespace {

gradient_note note(float weight, std::uint64_t read = 0, std::uint32_t step = 1) {
  return {.version_read = read, .step = step, .weight = weight};
}

TEST(CudaPsRoundBook, AnApplyIsOneOrder) {
  round_book book{{.learning_rate = 0.5}};
  book.begin();
  book.admit(verdict::apply, 3, 1, note(2, 7, 9));
  book.finish(std::uint64_t{1} << 3);
  ASSERT_EQ(book.count(), 1u);
  EXPECT_EQ(book[0].what, deed::apply);
  EXPECT_EQ(book[0].worker, 3u);
  EXPECT_EQ(book[0].slot, 1u);
  EXPECT_EQ(book[0].gradient.version_read, 7u);
  EXPECT_EQ(book[0].gradient.step, 9u);
  EXPECT_EQ(book[0].step.rate, 1.0F) << "the rate of the rule times the weight";
  EXPECT_EQ(book[0].released, 8u);
  EXPECT_EQ(book[0].version, 1u);
  EXPECT_EQ(book.version(), 1u);
  EXPECT_EQ(book.entries(), 1u);
}

TEST(CudaPsRoundBook, AGradientWaitsForItsRound) {
  round_book book{rule_options{.kind = rule_kind::adam, .learning_rate = 1}};
  for (std::uint32_t w : {5u, 0u}) {
    book.begin();
    book.admit(verdict::accumulate, w, w == 5 ? 1 : 0, note(w == 5 ? 3.0F : 1.0F));
    if (w == 0) book.flush(0.5F);
    book.finish(w == 0 ? 0b100001 : 0);
    EXPECT_EQ(book.count(), w == 0 ? 1u : 0u);
  }
  EXPECT_EQ(book[0].what, deed::flush);
  EXPECT_EQ(book[0].who, 0b100001u);
  EXPECT_EQ(book[0].slots >> 5 & 1, 1u);
  EXPECT_EQ(book[0].count, 2u);
  EXPECT_FALSE(book[0].adds_up);
  EXPECT_FLOAT_EQ(book[0].step.gradient, 0.25F) << "the mean of gradients whose weights are 4 together";
  EXPECT_EQ(book[0].released, 0b100001u);
  EXPECT_EQ(book.waiting().of[5].weight, 3.0F) << "as the order needs it";
  EXPECT_EQ(book.who_waits(), 0u);
  EXPECT_EQ(book.version(), 1u);
  EXPECT_EQ(book.entries(), 3u) << "two gradients and the flush";
}

TEST(CudaPsRoundBook, WhoComesAgainIsAddedFirst) {
  round_book book{rule_options{}};
  book.begin(), book.admit(verdict::accumulate, 1, 0, note(2, 0, 1)), book.finish(2);
  EXPECT_EQ(book.free_slot(1), 1u);
  book.begin(), book.admit(verdict::accumulate, 1, 1, note(4, 0, 2)), book.finish(2);
  ASSERT_EQ(book.count(), 1u);
  EXPECT_EQ(book[0].what, deed::add);
  EXPECT_EQ(book[0].slot, 0u);
  EXPECT_EQ(book[0].gradient.step, 1u);
  EXPECT_EQ(book[0].released, 2u);
  EXPECT_EQ(book.free_slot(1), 0u);
  book.begin(), book.flush(1), book.finish(0);
  EXPECT_TRUE(book[0].adds_up);
  EXPECT_EQ(book[0].count, 2u);
  book.begin(), book.flush(1), book.finish(0);
  EXPECT_FALSE(book[0].adds_up) << "the next round is empty";
  EXPECT_EQ(book[0].count, 0u);
}

TEST(CudaPsRoundBook, AClearedSlotIsAdded) {
  round_book book{rule_options{}};
  book.begin(), book.admit(verdict::accumulate, 1, 1, note(2, 0, 1)), book.finish(0);
  book.begin(), book.clear_slot(1), book.clear_slot(0), book.flush(1), book.finish(0);
  ASSERT_EQ(book.count(), 2u) << "nothing waits in the slots of worker 0";
  EXPECT_EQ(book[0].what, deed::add);
  EXPECT_EQ(book[0].worker, 1u);
  EXPECT_EQ(book[0].slot, 1u);
  EXPECT_EQ(book[1].what, deed::flush);
  EXPECT_TRUE(book[1].adds_up);
  EXPECT_EQ(book[1].who, 0u);
  EXPECT_EQ(book[1].count, 1u);
}

TEST(CudaPsRoundBook, ADropIsNoOrder) {
  round_book book{rule_options{}};
  book.begin(), book.admit(verdict::drop, 1, 0, note(1)), book.finish(0);
  EXPECT_EQ(book.count(), 0u);
  EXPECT_EQ(book.version(), 0u);
  EXPECT_EQ(book.entries(), 0u);
}

TEST(CudaPsRoundBook, ReleasesGoWithTheLastOrder) {
  round_book book{rule_options{}};
  book.begin(), book.finish(0b11);
  ASSERT_EQ(book.count(), 1u);
  EXPECT_EQ(book[0].what, deed::copy);
  EXPECT_EQ(book[0].released, 0b11u);
  book.begin(), book.admit(verdict::accumulate, 0, 0, note(1)), book.finish(0);
  book.begin(), book.admit(verdict::apply, 0, 1, note(1)), book.flush(1), book.finish(0b1);
  ASSERT_EQ(book.count(), 3u);
  EXPECT_EQ(book[0].what, deed::add);
  EXPECT_EQ(book[0].released, 0u);
  EXPECT_EQ(book[1].what, deed::apply);
  EXPECT_EQ(book[1].released, 0u);
  EXPECT_EQ(book[2].what, deed::flush);
  EXPECT_EQ(book[2].released, 0b1u);
  EXPECT_EQ(book[2].version, 2u);
}

TEST(CudaPsRoundBook, ADiscardForgetsTheRound) {
  round_book book{rule_options{}};
  book.begin(), book.admit(verdict::accumulate, 0, 0, note(1)), book.finish(0);
  book.begin(), book.discard(), book.finish(0);
  EXPECT_EQ(book[0].what, deed::discard);
  EXPECT_EQ(book.version(), 0u) << "it is no update";
  book.begin(), book.flush(1), book.finish(0);
  EXPECT_EQ(book[0].count, 0u);
  EXPECT_EQ(book[0].who, 0u);
}

}  // namespace
}  // namespace rubato::cuda_ps::round_book_test
