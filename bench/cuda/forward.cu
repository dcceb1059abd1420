#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <rubato/core/rng.hpp>
#include <rubato/cuda/batched_forward.cuh>
#include <rubato/cuda/evaluate.cuh>
#include <rubato/cuda/tensor_core_forward.cuh>
#include <string>
#include <vector>

#include "forward_peers.hpp"
#include "measure.cuh"
#include "sections.hpp"

// Q values of many queries, 40-64-32-3. Floors: as many multiply-adds as the network has weights; for tensor cores the
// inputs and outputs, read and written once.
namespace rubato::bench {
namespace {

using shape = cuda::mlp_shape<40, 64, 32, 3>;
constexpr double products = 40 * 64 + 64 * 32 + 32 * 3, traffic = sizeof(float) * (shape::inputs + shape::outputs);
constexpr unsigned most = 22;  // 2^22 queries: 0.7 GB of inputs, more than any cache

std::vector<float> random_numbers(std::size_t count, double size, std::uint64_t seed) {
  random_sequence random{seed};
  std::vector<float> all(count);
  for (float& x : all) x = static_cast<float>(size * (2 * random.uniform() - 1));
  return all;
}

std::string with_size(const std::string& what, unsigned power) { return what + ", B = 2^" + std::to_string(power); }

// Ends the program if somebody computes something else than expected: further apart than this share of the largest
// output, or nothing that could be compared.
void need_same(const std::vector<float>& expected, const std::vector<float>& found, double allowed,
               const std::string& who) {
  double largest = 0;
  bool finite = expected.size() == found.size();
  for (const float y : expected) {
    finite = finite && std::isfinite(y);
    largest = (std::max)(largest, static_cast<double>(std::fabs(y)));
  }
  if (!finite || !(largest > 0)) need(error{errc::io, who + ": no outputs to compare with"});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double apart = std::fabs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    if (!(apart <= allowed * largest))  // as NaN is not
      need(error{errc::io, who + ": output " + std::to_string(i) + " is " + std::to_string(found[i]) + ", expected " +
                               std::to_string(expected[i])});
  }
}

struct data {
  std::vector<float> here = random_numbers(shape::parameters, 0.25, 1);
  device_numbers<float> parameters{here};
  device_numbers<float> in{(std::size_t{1} << most) * shape::inputs}, out{(std::size_t{1} << most) * shape::outputs};
  device_numbers<std::uint32_t> bf16{cuda::packed_words<shape, cuda::bf16_operands>};
  device_numbers<std::uint32_t> tf32{cuda::packed_words<shape, cuda::tf32_operands>};
  cuda::network<shape> net{parameters.data()};

  explicit data(cudaStream_t stream) {
    constexpr std::size_t period = std::size_t{1} << 16;
    const device_numbers<float> once{random_numbers(period, 1, 2)};
    for (std::size_t at = 0; at < (std::size_t{1} << most) * shape::inputs; at += period)
      need(cudaMemcpyAsync(in.data() + at, once.data(), period * sizeof(float), cudaMemcpyDeviceToDevice, stream),
           "inputs");
    need(cuda::pack_weights<cuda::bf16_operands>(net, bf16.data(), stream));
    need(cuda::pack_weights<cuda::tf32_operands>(net, tf32.data(), stream));
    need(cudaStreamSynchronize(stream), "inputs");
  }
};

void peers(table& to, const card& on, const data& d) {
  cuda::network<shape> net = d.net;
  net.hidden = nn::activation{.kind = nn::activation_kind::relu};
  const struct {
    const char* name;
    std::unique_ptr<forward_peer> peer;
    std::optional<bound> at_2_to_16;
  } all[] = {{"cuBLASLt", cublaslt_forward(d.parameters.data()), {}},
             {"libtorch with CUDA graphs", torch_forward(d.here), at_least(3)}};
  for (const auto& [name, peer, bar] : all)
    for (const unsigned power : {16u, 20u}) {
      const std::size_t queries = std::size_t{1} << power;
      const std::string figure = with_size(std::string{"fp32, ReLU: times of "} + name, power);
      const device_numbers<float> theirs{queries * shape::outputs};
      const std::string problem =
          peer == nullptr ? "not found" : peer->prepare(queries, d.in.data(), theirs.data(), on.stream);
      const std::optional<bound> held = power == 16 ? bar : std::nullopt;
      if (!problem.empty()) {
        to.missing(figure, problem, held ? "≥ 3.00" : "");
        continue;
      }
      const auto launch = [&](cudaStream_t stream) {
        need(cuda::forward_batch(net, queries, d.in.data(), d.out.data(), stream));
      };
      launch(on.stream);
      peer->launch(on.stream);
      need_same(d.out.host(queries * shape::outputs), theirs.host(queries * shape::outputs), 1e-5, name);
      // Who brings a graph of its own is launched forward by forward, and so are we beside it.
      const double ours =
          seconds_of(on.stream, launch, peer->captured() ? launching::replayed : launching::replayed_singly);
      const double other = seconds_of(
          on.stream, [&](cudaStream_t stream) { peer->launch(stream); },
          peer->captured() ? launching::replayed : launching::direct);
      to.add({.figure = with_size(name, power), .measured = static_cast<double>(queries) / other, .unit = "queries/s"});
      to.add({.figure = figure, .measured = other / ours, .unit = "", .of_measured = held});
    }
}

}  // namespace

void forward(table& to, const card& on) {
  to.section("Q values, 40-64-32-3, a batch in the device's memory");
  const data d{on.stream};
  const double of_products = on.multiply_adds / products, of_traffic = on.bytes / traffic;

  // What is timed is right, to the last rows of the largest batch.
  {
    constexpr std::size_t all = std::size_t{1} << most, rows = 1000;
    const cuda::network<shape> here{d.here.data(), d.net.hidden, d.net.output};
    std::vector<float> scratch(cuda::evaluate_scratch<shape>), expected(rows * shape::outputs);
    const std::vector<float> in = d.in.host(rows * shape::inputs, (all - rows) * shape::inputs);
    for (std::size_t q = 0; q < rows; ++q)
      cuda::evaluate(here, cuda::one_lane{}, in.data() + q * shape::inputs, scratch.data(),
                     expected.data() + q * shape::outputs);
    const auto compare = [&](const char* who, double allowed, const error& launched) {
      need(launched);
      need_same(expected, d.out.host(rows * shape::outputs, (all - rows) * shape::outputs), allowed, who);
      need(cudaMemset(d.out.data(), 0xff, all * shape::outputs * sizeof(float)), "outputs");  // NaN
      need(cudaDeviceSynchronize(), "outputs");
    };
    compare("evaluate_batch", 0, cuda::evaluate_batch(d.net, all, d.in.data(), d.out.data(), on.stream));
    compare("forward_batch", 1e-5, cuda::forward_batch(d.net, all, d.in.data(), d.out.data(), on.stream));
    compare("tensor_core_forward, bf16", 0.02,
            cuda::tensor_core_forward<cuda::bf16_operands>(d.net, d.bf16.data(), all, d.in.data(), d.out.data(),
                                                           on.stream));
    compare("tensor_core_forward, tf32", 0.002,
            cuda::tensor_core_forward<cuda::tf32_operands>(d.net, d.tf32.data(), all, d.in.data(), d.out.data(),
                                                           on.stream));
  }

  const auto rate = [&](unsigned power, const auto& launch) {
    const std::size_t queries = std::size_t{1} << power;
    const double seconds = seconds_of(on.stream, [&](cudaStream_t stream) { need(launch(queries, stream)); });
    return static_cast<double>(queries) / seconds;
  };
  for (unsigned power = 6; power <= most; power += 2) {
    const bool held = power >= 20;
    to.add({.figure = with_size("a warp for each query, fp32, two roundings", power),
            .measured = rate(power,
                             [&](std::size_t queries, cudaStream_t stream) {
                               return cuda::evaluate_batch(d.net, queries, d.in.data(), d.out.data(), stream);
                             }),
            .unit = "queries/s",
            .floor = of_products});
    to.add({.figure = with_size("tiles, fp32", power),
            .measured = rate(power,
                             [&](std::size_t queries, cudaStream_t stream) {
                               return cuda::forward_batch(d.net, queries, d.in.data(), d.out.data(), stream);
                             }),
            .unit = "queries/s",
            .floor = of_products,
            .of_measured = held ? std::optional{at_least(3.5e9)} : std::nullopt,
            .of_ratio = held ? std::optional{at_least(0.5)} : std::nullopt});
    to.add({.figure = with_size("tensor cores, bf16", power),
            .measured = rate(power,
                             [&](std::size_t queries, cudaStream_t stream) {
                               return cuda::tensor_core_forward<cuda::bf16_operands>(d.net, d.bf16.data(), queries,
                                                                                     d.in.data(), d.out.data(), stream);
                             }),
            .unit = "queries/s",
            .floor = of_traffic,
            .of_measured = held ? std::optional{at_least(10e9)} : std::nullopt,
            .of_ratio = held ? std::optional{at_least(0.4)} : std::nullopt});
    to.add({.figure = with_size("tensor cores, tf32", power),
            .measured = rate(power,
                             [&](std::size_t queries, cudaStream_t stream) {
                               return cuda::tensor_core_forward<cuda::tf32_operands>(d.net, d.tf32.data(), queries,
                                                                                     d.in.data(), d.out.data(), stream);
                             }),
            .unit = "queries/s",
            .floor = of_traffic});
  }
  peers(to, on, d);
}

}  // namespace rubato::bench
