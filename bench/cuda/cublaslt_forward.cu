#include "forward_peers.hpp"

// By cuBLASLt: a product a layer, bias and ReLU in its epilogue. It has no leaky ReLU.
#if defined(RUBATO_BENCH_CUBLASLT)
#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <rubato/cuda/network.cuh>

#include "measure.cuh"

namespace rubato::bench {
namespace {

using shape = cuda::mlp_shape<40, 64, 32, 3>;
constexpr std::size_t of_workspace = std::size_t{32} << 20;

void need(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "bench_cuda: cuBLASLt: %s\n", cublasLtGetStatusString(status));
  std::exit(EXIT_FAILURE);
}

// Matrices of cuBLASLt have adjacent columns: our rows are its columns, and out = weight * in.
class layer {
 public:
  layer() = default;
  layer(const layer&) = delete;
  layer& operator=(const layer&) = delete;
  ~layer() {
    cublasLtMatrixLayoutDestroy(weight_);
    cublasLtMatrixLayoutDestroy(in_);
    cublasLtMatrixLayoutDestroy(out_);
    cublasLtMatmulDescDestroy(product_);
  }

  std::string prepare(cublasLtHandle_t library, const float* parameters, std::size_t l, std::size_t queries) {
    weights_ = parameters + shape::weight(l);
    const float* const bias = parameters + shape::bias(l);
    const std::size_t inputs = shape::width(l), outputs = shape::width(l + 1);
    const cublasLtEpilogue_t end = l + 1 == shape::layers ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_RELU_BIAS;
    need(cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    need(cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_EPILOGUE, &end, sizeof end));
    need(cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    need(cublasLtMatrixLayoutCreate(&weight_, CUDA_R_32F, outputs, inputs, static_cast<std::int64_t>(outputs)));
    need(cublasLtMatrixLayoutCreate(&in_, CUDA_R_32F, inputs, queries, static_cast<std::int64_t>(inputs)));
    need(cublasLtMatrixLayoutCreate(&out_, CUDA_R_32F, outputs, queries, static_cast<std::int64_t>(outputs)));
    cublasLtMatmulPreference_t preference = nullptr;
    need(cublasLtMatmulPreferenceCreate(&preference));
    need(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &of_workspace,
                                              sizeof of_workspace));
    // It takes 256 for granted, where the third layer's weights do not begin; 16 is all that a load can use.
    const std::uint32_t alignment = 16;
    need(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment,
                                              sizeof alignment));
    found_ = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        library, product_, weight_, in_, out_, out_, preference, static_cast<int>(best_.size()), best_.data(), &found_);
    need(cublasLtMatmulPreferenceDestroy(preference));
    if (status != CUBLAS_STATUS_SUCCESS || found_ == 0) return "cuBLASLt has no kernel for layer " + std::to_string(l);
    return {};
  }

  void launch(cublasLtHandle_t library, const float* in, float* out, void* workspace, cudaStream_t stream) const {
    const float one = 1, zero = 0;
    need(cublasLtMatmul(library, product_, &one, weights_, weight_, in, in_, &zero, out, out_, out, out_,
                        &best_[chosen_].algo, workspace, of_workspace, stream));
  }
  // The quickest of what the heuristics propose.
  void choose(cublasLtHandle_t library, const float* in, float* out, void* workspace, cudaStream_t stream) {
    double least = 0;
    std::size_t quickest = 0;
    for (chosen_ = 0; chosen_ < static_cast<std::size_t>(found_); ++chosen_) {
      const auto once = [&](cudaStream_t on) { launch(library, in, out, workspace, on); };
      const double seconds = seconds_of(stream, once, launching::replayed, 5);
      if (chosen_ == 0 || seconds < least) {
        least = seconds;
        quickest = chosen_;
      }
    }
    chosen_ = quickest;
  }

 private:
  const float* weights_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t weight_ = nullptr, in_ = nullptr, out_ = nullptr;
  std::array<cublasLtMatmulHeuristicResult_t, 8> best_{};
  int found_ = 0;
  std::size_t chosen_ = 0;
};

class cublaslt final : public forward_peer {
 public:
  explicit cublaslt(const float* parameters) : parameters_{parameters} { need(cublasLtCreate(&library_)); }
  ~cublaslt() override { cublasLtDestroy(library_); }

  std::string prepare(std::size_t queries, const float* in, float* out, cudaStream_t stream) override {
    in_ = in;
    out_ = out;
    hidden_ = std::make_unique<device_numbers<float>>(queries * shape::hidden_units);
    layers_ = std::make_unique<std::array<layer, shape::layers>>();
    const float* from = in;
    std::size_t skipped = 0;
    for (std::size_t l = 0; l < shape::layers; ++l) {
      float* const to = l + 1 == shape::layers ? out : hidden_->data() + skipped;
      if (std::string problem = (*layers_)[l].prepare(library_, parameters_, l, queries); !problem.empty())
        return problem;
      (*layers_)[l].choose(library_, from, to, workspace_.data(), stream);
      skipped += queries * shape::width(l + 1);
      from = to;
    }
    queries_ = queries;
    return {};
  }
  void launch(cudaStream_t stream) override {
    const float* from = in_;
    std::size_t skipped = 0;
    for (std::size_t l = 0; l < shape::layers; ++l) {
      float* const to = l + 1 == shape::layers ? out_ : hidden_->data() + skipped;
      (*layers_)[l].launch(library_, from, to, workspace_.data(), stream);
      skipped += queries_ * shape::width(l + 1);
      from = to;
    }
  }
  [[nodiscard]] bool captured() const noexcept override { return true; }

 private:
  const float* parameters_;
  const float* in_ = nullptr;
  float* out_ = nullptr;
  std::size_t queries_ = 0;
  cublasLtHandle_t library_ = nullptr;
  device_numbers<char> workspace_{of_workspace};
  std::unique_ptr<device_numbers<float>> hidden_;
  std::unique_ptr<std::array<layer, shape::layers>> layers_;
};

}  // namespace

std::unique_ptr<forward_peer> cublaslt_forward(const float* parameters) {
  return std::make_unique<cublaslt>(parameters);
}

}  // namespace rubato::bench
#else
namespace rubato::bench {
std::unique_ptr<forward_peer> cublaslt_forward(const float*) { return nullptr; }
}  // namespace rubato::bench
#endif
