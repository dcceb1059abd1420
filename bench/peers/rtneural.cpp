// RTNeural, its xsimd backend: one sample at a time is all that it does. It reads whole packs of inputs and of their
// weights, also where there are none: 40 is a multiple of eight, and with packs of sixteen the network gets eight
// inputs more, without weights.
#ifdef __AVX512F__
#define RTNEURAL_DEFAULT_ALIGNMENT 64
#define RUBATO_BENCH_INPUTS 48
#else
#define RTNEURAL_DEFAULT_ALIGNMENT 32
#define RUBATO_BENCH_INPUTS 40
#endif
#define RTNEURAL_USE_XSIMD 1

#include "network.hpp"

#include <RTNeural/RTNeural.h>

namespace rubato::bench {
namespace {

class network final : public network_peer {
 public:
  explicit network(const float* parameters) {
    const float* at = parameters;
    set(model_.get<0>(), 40, at);
    set(model_.get<2>(), 64, at);
    set(model_.get<4>(), 32, at);
    model_.get<1>().setAlphaVals({0.01F});
    model_.get<3>().setAlphaVals({0.01F});
    model_.reset();
  }
  void evaluate(const float* in, float* out) override {
    model_.forward(in);
    std::copy_n(model_.getOutputs(), peer_outputs, out);
  }
  void forward(std::size_t rows, const float* in, float* out) override {
    alignas(64) float padded[48] = {};
    for (std::size_t row = 0; row < rows; ++row) {
      std::copy_n(in + 40 * row, 40, padded);
      evaluate(padded, out + 3 * row);
    }
  }

 private:
  template <class Layer>
  static void set(Layer& layer, std::size_t inputs, const float*& at) {
    constexpr std::size_t outputs = Layer::out_size;
    std::vector<std::vector<float>> weight(outputs, std::vector<float>(Layer::in_size));
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t j = 0; j < outputs; ++j) weight[j][i] = *at++;
    layer.setWeights(weight);
    layer.setBias(at);
    at += outputs;
  }

  template <int Inputs, int Outputs>
  using dense = RTNeural::DenseT<float, Inputs, Outputs>;
  template <int Size>
  using leaky = RTNeural::PReLUActivationT<float, Size>;
  RTNeural::ModelT<float, RUBATO_BENCH_INPUTS, 3, dense<RUBATO_BENCH_INPUTS, 64>, leaky<64>, dense<64, 32>, leaky<32>,
                   dense<32, 3>>
      model_;
};

}  // namespace

extern const network_library rtneural{
    "rtneural", 0.01F, false,
    [](const float* parameters) -> std::unique_ptr<network_peer> { return std::make_unique<network>(parameters); }};

}  // namespace rubato::bench
