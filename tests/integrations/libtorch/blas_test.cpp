#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/nn/functional.h>

#include <atomic>
#include <thread>
#include <vector>

namespace libtorch_blas_test {
namespace {

// As the workers of a trainer do. OpenBLAS built without threads lets them write into each other's buffers now and
// then.
TEST(Blas, ThreadsAtOnceGetTheSameProduct) {
  at::set_num_threads(1);
  const torch::NoGradGuard no_graph;
  auto generator = at::detail::createCPUGenerator(1);
  const torch::Tensor samples = torch::rand({16, 16}, generator), weights = torch::rand({16, 16}, generator);
  const torch::Tensor alone = torch::linear(samples, weights);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> workers;
    for (int w = 0; w < 4; ++w)
      workers.emplace_back([&] {
        at::set_num_threads(1);
        for (int i = 0; i < 100'000; ++i) wrong += torch::equal(torch::linear(samples, weights), alone) ? 0 : 1;
      });
  }
  EXPECT_EQ(wrong, 0) << "the BLAS of this machine may not be called by several threads, expected one that may, such "
                         "as libopenblas0-openmp: see \"BLAS\" in integrations/libtorch/README.md";
}

}  // namespace
}  // namespace libtorch_blas_test
