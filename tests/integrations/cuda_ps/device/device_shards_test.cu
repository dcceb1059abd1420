#include <rubato/cuda_ps/device_shards.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <rubato/cuda_ps/host_shards.hpp>
#include <rubato/cuda_ps/replay.hpp>
#include <rubato/cuda_ps/round_book.cuh>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/device/device.hpp"
#include "integrations/cuda_ps/numbers.hpp"

namespace rubato::cuda_ps {
namespace {

using CudaPsDeviceShards = rubato::test::OnDevice;
using floats = std::vector<float>;

// The same orders here and there: parameters, copies and log have the same bits.
TEST_F(CudaPsDeviceShards, HasTheBitsOfTheHost) {
  constexpr std::size_t size = 70'001;
  for (const rule_kind kind : {rule_kind::sgd, rule_kind::momentum, rule_kind::adam}) {
    const floats initial = test::numbers(size, 1);
    const auto there = device_shards::make(initial, 4, 3, kind, 100);
    ASSERT_TRUE(there) << there.error().message;
    host_shards here{initial, 4, 3, 100};
    round_book book{{.kind = kind, .learning_rate = 0.05}};
    for (std::uint32_t n = 0; n < 12; ++n) {
      const std::uint32_t w = n * 7 % 4, slot = n / 4 % 2;
      const floats gradient = test::numbers(size, 2, n);
      std::ranges::copy(gradient, here.gradient(w, slot).begin());
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // an order before this one may still read the slot
      ASSERT_EQ(cudaMemcpy((*there)->gradient(w, slot), gradient.data(), size * sizeof(float), cudaMemcpyHostToDevice),
                cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
      book.begin();
      const gradient_note note{.version_read = n, .step = n, .weight = 0.3F + static_cast<float>(n)};
      book.admit(n % 3 == 0 ? verdict::apply : verdict::accumulate, w, slot, note);
      if (n % 5 == 4) book.flush(0.25F);
      if (n % 7 == 6) book.discard();
      book.finish(n % 2 == 0 ? 0b1010 : 0);
      for (unsigned i = 0; i < book.count(); ++i) {
        ASSERT_EQ((*there)->carry_out(book[i], book.waiting()).code, errc::ok);
        static_cast<void>(here.carry_out(book[i], book.waiting()));
      }
    }
    rubato::test::device_array<float> values{size};
    ASSERT_EQ((*there)->copy_to(values.data(), nullptr).code, errc::ok);
    EXPECT_EQ(values.host(), floats(here.values().begin(), here.values().end()));
    floats copy(size);
    ASSERT_EQ(cudaMemcpy(copy.data(), (*there)->copy(3), size * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_TRUE(std::ranges::equal(copy, here.copy(3)));
    const auto log = (*there)->log();
    ASSERT_TRUE(log);
    const auto entries = in_order(*log), expected = in_order(here.log());
    ASSERT_TRUE(entries && expected);
    ASSERT_EQ(entries->size(), expected->size());
    for (std::size_t i = 0; i < entries->size(); ++i) {
      EXPECT_EQ((*entries)[i].what, (*expected)[i].what);
      EXPECT_EQ((*entries)[i].worker, (*expected)[i].worker);
      EXPECT_EQ((*entries)[i].version, (*expected)[i].version);
      EXPECT_EQ((*entries)[i].factor, (*expected)[i].factor);
    }
  }
}

// A thread that has never spoken of a device has the first as its present one.
TEST_F(CudaPsDeviceShards, AnyThreadMayCarryOutAnOrder) {
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  const int last = devices - 1;
  ASSERT_EQ(cudaSetDevice(last), cudaSuccess);
  const auto there = device_shards::make(floats(9, 1), 2, 2, rule_kind::sgd, 0);
  rubato::test::device_array<float> values{9};
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_TRUE(there) << there.error().message;
  round_book book{{.learning_rate = 1}};
  book.begin();
  book.flush(1);
  book.finish(0b11);
  std::jthread{[&] {
    const error e = (*there)->carry_out(book[0], book.waiting());
    EXPECT_EQ(e.code, errc::ok) << e.message;
    const error copied = (*there)->copy_to(values.data(), nullptr);
    EXPECT_EQ(copied.code, errc::ok) << copied.message;
    int present = -1;
    EXPECT_EQ(cudaGetDevice(&present), cudaSuccess);
    EXPECT_EQ(present, 0) << "it is given back";
  }}.join();
  const on_device here{last};
  EXPECT_EQ(values.host(), floats(9, 1));
}

TEST_F(CudaPsDeviceShards, OwnersFreeWhatTheyHave) {
  std::size_t before = 0, after = 0, all = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &all), cudaSuccess);
  for (int n = 0; n < 40; ++n) ASSERT_TRUE(device_array<float>::make(all / 8));
  ASSERT_EQ(cudaMemGetInfo(&after, &all), cudaSuccess);
  EXPECT_GT(after, before / 2);
}

}  // namespace
}  // namespace rubato::cuda_ps
