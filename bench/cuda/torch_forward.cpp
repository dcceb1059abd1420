#include "forward_peers.hpp"

// By libtorch: its own linear layers, captured into one of its graphs, which launch() replays.
#if defined(RUBATO_BENCH_TORCH_CUDA)
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

#include <cstdint>

namespace rubato::bench {
namespace {

class torch_graph final : public forward_peer {
 public:
  explicit torch_graph(const std::vector<float>& parameters) {
    const std::int64_t widths[] = {40, 64, 32, 3};
    const float* at = parameters.data();
    for (int l = 0; l < 3; ++l) {
      // Ours is [inputs x outputs], then the biases; torch's is [outputs x inputs].
      auto* const here = const_cast<float*>(at);
      weights_.push_back(torch::from_blob(here, {widths[l], widths[l + 1]}).t().contiguous().to(torch::kCUDA));
      at += widths[l] * widths[l + 1];
      biases_.push_back(torch::from_blob(const_cast<float*>(at), {widths[l + 1]}).to(torch::kCUDA, torch::kFloat));
      at += widths[l + 1];
    }
  }

  std::string prepare(std::size_t queries, const float* in, float* out, cudaStream_t stream) override {
    const torch::InferenceMode inference;
    const auto ours = c10::cuda::getStreamFromExternal(stream, c10::cuda::current_device());
    const c10::cuda::CUDAStreamGuard guard{ours};
    const auto there = torch::TensorOptions{}.device(torch::kCUDA).dtype(torch::kFloat);
    const auto rows = static_cast<std::int64_t>(queries);
    in_ = torch::from_blob(const_cast<float*>(in), {rows, 40}, there);
    out_ = torch::from_blob(out, {rows, 3}, there);
    for (int i = 0; i < 3; ++i) evaluate();  // what it allocates and chooses at first
    graph_ = std::make_unique<at::cuda::CUDAGraph>();
    graph_->capture_begin();
    evaluate();
    graph_->capture_end();
    return {};
  }
  void launch(cudaStream_t stream) override {
    const c10::cuda::CUDAStreamGuard guard{c10::cuda::getStreamFromExternal(stream, c10::cuda::current_device())};
    graph_->replay();
  }
  [[nodiscard]] bool captured() const noexcept override { return false; }

 private:
  void evaluate() {
    torch::Tensor x = in_;
    for (std::size_t l = 0; l < 3; ++l) {
      x = torch::linear(x, weights_[l], biases_[l]);
      if (l < 2) x.relu_();
    }
    out_.copy_(x);
  }

  std::vector<torch::Tensor> weights_, biases_;
  torch::Tensor in_, out_;
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

}  // namespace

std::unique_ptr<forward_peer> torch_forward(const std::vector<float>& parameters) {
  return std::make_unique<torch_graph>(parameters);
}

}  // namespace rubato::bench
#else
namespace rubato::bench {
std::unique_ptr<forward_peer> torch_forward(const std::vector<float>&) { return nullptr; }
}  // namespace rubato::bench
#endif
