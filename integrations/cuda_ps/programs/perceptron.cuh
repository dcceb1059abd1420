#ifndef RUBATO_CUDA_PS_PROGRAMS_PERCEPTRON_CUH
#define RUBATO_CUDA_PS_PROGRAMS_PERCEPTRON_CUH

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <rubato/cuda_ps/device_memory.cuh>
#include <rubato/cuda_ps/worker_lane.cuh>
#include <string>
#include <utility>
#include <vector>

#include "support/image_files.hpp"

// Images, one hidden layer of ReLU, ten classes: loss, gradient and accuracy on a device, the products by cuBLAS.
// Parameters in the order of nn::mlp: weights [inputs x hidden], biases, weights [hidden x classes], biases.

namespace ps = rubato::cuda_ps;

inline rubato::error checked(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return {rubato::errc::io, std::string{what} + ": " + cublasGetStatusString(status)};
}

struct perceptron_shape {
  int inputs = 784, hidden = 128, classes = 10;

  [[nodiscard]] std::size_t bias1() const {
    return static_cast<std::size_t>(inputs) * static_cast<std::size_t>(hidden);
  }
  [[nodiscard]] std::size_t weight2() const { return bias1() + static_cast<std::size_t>(hidden); }
  [[nodiscard]] std::size_t bias2() const {
    return weight2() + static_cast<std::size_t>(hidden) * static_cast<std::size_t>(classes);
  }
  [[nodiscard]] std::size_t parameters() const { return bias2() + static_cast<std::size_t>(classes); }

  // Uniform in sqrt(6 / inputs), of He; biases are zeros.
  [[nodiscard]] std::vector<float> initial(std::uint64_t seed) const {
    rubato::random_sequence random{seed, 0, 0};
    std::vector<float> all(parameters());
    const auto fill = [&](std::size_t begin, std::size_t end, int from) {
      const double width = std::sqrt(6.0 / from);
      for (std::size_t i = begin; i < end; ++i) all[i] = static_cast<float>(width * (2 * random.uniform() - 1));
    };
    fill(0, bias1(), inputs);
    fill(weight2(), bias2(), hidden);
    return all;
  }
};

namespace kernels {

inline constexpr unsigned threads = 256;
inline unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

// A number of 64 bits for each counter: the finaliser of MurmurHash3.
static __device__ unsigned long long mixed(unsigned long long x) {
  x ^= x >> 33, x *= 0xff51afd7ed558ccdULL, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}
// Image `row` of a batch: drawn by seed, worker, step and row alone, or with `drawn` false the one at first + row.
static __device__ unsigned image_of(unsigned long long key, unsigned row, unsigned images, unsigned first, bool drawn) {
  return drawn ? static_cast<unsigned>(mixed(key ^ mixed(row + 1)) % images) : first + row;
}
static __global__ void gather(const std::uint8_t* pixels, const std::uint8_t* labels, unsigned inputs, unsigned rows,
                              unsigned long long key, unsigned images, unsigned first, bool drawn, float mean,
                              float scale, float* to, std::uint8_t* classes) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * inputs; i += gridDim.x * blockDim.x) {
    const unsigned row = i / inputs, image = image_of(key, row, images, first, drawn);
    to[i] = (static_cast<float>(pixels[static_cast<std::size_t>(image) * inputs + i % inputs]) - mean) * scale;
    if (i % inputs == 0) classes[row] = labels[image];
  }
}
static __global__ void bias_and_relu(const float* bias, unsigned width, unsigned count, float* x) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    x[i] = fmaxf(x[i] + bias[i % width], 0.0F);
}
static __global__ void through_relu(const float* activated, unsigned count, float* delta) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    if (activated[i] <= 0) delta[i] = 0;
}
// One block: the mean cross-entropy of softmax, and what the scores are to move by; always in the same order.
static __global__ void softmax_loss(const float* bias, const std::uint8_t* labels, unsigned rows, unsigned classes,
                                    float* scores, float* loss) {
  __shared__ float sums[threads];
  float sum = 0;
  for (unsigned row = threadIdx.x; row < rows; row += blockDim.x) {
    float* const own = scores + row * classes;
    float most = -INFINITY, all = 0;
    for (unsigned c = 0; c < classes; ++c) own[c] += bias[c], most = fmaxf(most, own[c]);
    for (unsigned c = 0; c < classes; ++c) all += expf(own[c] - most);
    sum += logf(all) + most - own[labels[row]];
    for (unsigned c = 0; c < classes; ++c)
      own[c] = (expf(own[c] - most) / all - (c == labels[row] ? 1.0F : 0.0F)) / static_cast<float>(rows);
  }
  sums[threadIdx.x] = sum;
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *loss = sums[0] / static_cast<float>(rows);
}
static __global__ void sum_of_rows(const float* x, unsigned rows, unsigned width, float* to) {
  const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= width) return;
  float sum = 0;
  for (unsigned row = 0; row < rows; ++row) sum += x[row * width + column];
  to[column] = sum;
}
static __global__ void count_right(const float* scores, const float* bias, const std::uint8_t* labels, unsigned rows,
                                   unsigned classes, unsigned* right) {
  const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  unsigned best = 0;
  for (unsigned c = 1; c < classes; ++c)
    if (scores[row * classes + c] + bias[c] > scores[row * classes + best] + bias[best]) best = c;
  if (best == labels[row]) atomicAdd(right, 1U);
}
// Asleep until so many nanoseconds are over.
static __global__ void dawdle(unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    __nanosleep(1000);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

}  // namespace kernels

/// The images in memory of a device.
struct device_images {
  ps::device_array<std::uint8_t> pixels, labels;
  unsigned inputs = 0, training = 0, judged = 0;
  float mean = 0, scale = 1;  ///< of the training images: x becomes (x - mean) * scale

  [[nodiscard]] static rubato::result<device_images> make(const rubato::support::image_set& from) {
    device_images all;
    rubato::error wrong;
    if (ps::failed(ps::device_array<std::uint8_t>::make(from.pixels.size()), all.pixels, wrong) ||
        ps::failed(ps::device_array<std::uint8_t>::make(from.labels.size()), all.labels, wrong) ||
        ps::failed(rubato::cuda::check(
                       cudaMemcpy(all.pixels.data(), from.pixels.data(), from.pixels.size(), cudaMemcpyHostToDevice),
                       "the images"),
                   wrong) ||
        ps::failed(rubato::cuda::check(
                       cudaMemcpy(all.labels.data(), from.labels.data(), from.labels.size(), cudaMemcpyHostToDevice),
                       "the labels"),
                   wrong))
      return wrong;
    all.inputs = from.inputs;
    all.training = static_cast<unsigned>(from.training_samples());
    all.judged = static_cast<unsigned>(from.samples()) - all.training;
    double sum = 0, squares = 0;
    const std::size_t count = from.training_samples() * from.inputs;
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = static_cast<double>(from.pixels[i]);
      sum += x, squares += x * x;
    }
    const double mean = sum / static_cast<double>(count);
    all.mean = static_cast<float>(mean);
    all.scale = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(count) - mean * mean));
    return rubato::result<device_images>{std::move(all)};
  }
};

/// Room for the gradient of one worker on one device. All of it runs in the stream that it is given.
class perceptron {
 public:
  [[nodiscard]] static rubato::result<perceptron> make(const perceptron_shape& shape, const device_images& images,
                                                       int rows) {
    perceptron net;
    net.shape_ = shape;
    net.images_ = &images;
    net.rows_ = rows;
    const auto count = [rows](int width) { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width); };
    cublasHandle_t made = nullptr;
    rubato::error wrong;
    if (ps::failed(checked(cublasCreate(&made), "cuBLAS"), wrong)) return wrong;
    net.blas_ = handle{made};
    if (ps::failed(ps::device_array<float>::make(count(shape.inputs)), net.in_, wrong) ||
        ps::failed(ps::device_array<float>::make(count(shape.hidden)), net.hidden_, wrong) ||
        ps::failed(ps::device_array<float>::make(count(shape.hidden)), net.hidden_delta_, wrong) ||
        ps::failed(ps::device_array<float>::make(count(shape.classes)), net.scores_, wrong) ||
        ps::failed(ps::device_array<std::uint8_t>::make(count(1)), net.classes_, wrong) ||
        ps::failed(ps::device_array<unsigned char>::make(workspace), net.workspace_, wrong) ||
        ps::failed(ps::device_array<unsigned>::make(1), net.right_, wrong))
      return wrong;
    return rubato::result<perceptron>{std::move(net)};
  }

  /// Mean gradient and loss of step.samples images.
  [[nodiscard]] rubato::error gradient(const ps::lane_step& step, std::uint64_t key) {
    const int rows = (std::min)(static_cast<int>(step.samples), rows_);
    const int h = shape_.hidden, c = shape_.classes, n = shape_.inputs;
    float* const to = step.gradient;
    const float* const weight2 = step.parameters + shape_.weight2();
    const auto units = static_cast<unsigned>(rows * h);
    rubato::error wrong;
    if (ps::failed(forward(step.parameters, rows, key, 0, true, step.stream), wrong)) return wrong;
    kernels::softmax_loss<<<1, kernels::threads, 0, step.stream>>>(step.parameters + shape_.bias2(), classes_.data(),
                                                                   static_cast<unsigned>(rows),
                                                                   static_cast<unsigned>(c), scores_.data(), step.loss);
    kernels::sum_of_rows<<<1, kernels::threads, 0, step.stream>>>(scores_.data(), static_cast<unsigned>(rows),
                                                                  static_cast<unsigned>(c), to + shape_.bias2());
    if (ps::failed(product(CUBLAS_OP_N, CUBLAS_OP_T, c, h, rows, scores_.data(), c, hidden_.data(), h,
                           to + shape_.weight2(), c),
                   wrong) ||
        ps::failed(
            product(CUBLAS_OP_T, CUBLAS_OP_N, h, rows, c, weight2, c, scores_.data(), c, hidden_delta_.data(), h),
            wrong))
      return wrong;
    kernels::through_relu<<<kernels::blocks_for(units), kernels::threads, 0, step.stream>>>(hidden_.data(), units,
                                                                                            hidden_delta_.data());
    kernels::sum_of_rows<<<kernels::blocks_for(static_cast<std::size_t>(h)), kernels::threads, 0, step.stream>>>(
        hidden_delta_.data(), static_cast<unsigned>(rows), static_cast<unsigned>(h), to + shape_.bias1());
    if (ps::failed(product(CUBLAS_OP_N, CUBLAS_OP_T, h, n, rows, hidden_delta_.data(), h, in_.data(), n, to, h), wrong))
      return wrong;
    return rubato::cuda::check_launch("the gradient of a step");
  }

  /// Share of the held-out images that are recognised. Waits for the stream.
  [[nodiscard]] rubato::result<double> accuracy(const float* parameters, cudaStream_t stream) {
    unsigned right = 0;
    rubato::error wrong;
    if (ps::failed(rubato::cuda::check(cudaMemsetAsync(right_.data(), 0, sizeof right, stream), "a count"), wrong))
      return wrong;
    for (unsigned from = 0; from < images_->judged; from += static_cast<unsigned>(rows_)) {
      const unsigned rows = (std::min)(static_cast<unsigned>(rows_), images_->judged - from);
      if (ps::failed(forward(parameters, static_cast<int>(rows), 0, images_->training + from, false, stream), wrong))
        return wrong;
      kernels::count_right<<<kernels::blocks_for(rows), kernels::threads, 0, stream>>>(
          scores_.data(), parameters + shape_.bias2(), classes_.data(), rows, static_cast<unsigned>(shape_.classes),
          right_.data());
      if (ps::failed(rubato::cuda::check_launch("a judgement"), wrong)) return wrong;
    }
    if (ps::failed(rubato::cuda::check(
                       cudaMemcpyAsync(&right, right_.data(), sizeof right, cudaMemcpyDeviceToHost, stream), "a count"),
                   wrong) ||
        ps::failed(rubato::cuda::check(cudaStreamSynchronize(stream), "a judgement"), wrong))
      return wrong;
    return static_cast<double>(right) / static_cast<double>(images_->judged);
  }

 private:
  static constexpr std::size_t workspace = 4 << 20;
  using handle = ps::owner<cublasHandle_t, cublasDestroy>;

  // Scores without their biases, and the hidden layer.
  [[nodiscard]] rubato::error forward(const float* parameters, int rows, std::uint64_t key, unsigned first, bool drawn,
                                      cudaStream_t stream) {
    const int h = shape_.hidden, c = shape_.classes, n = shape_.inputs;
    const auto pixels = static_cast<std::size_t>(rows) * static_cast<std::size_t>(n);
    const auto units = static_cast<unsigned>(rows * h);
    rubato::error wrong;
    if (ps::failed(checked(cublasSetStream(blas_.get(), stream), "cuBLAS"), wrong) ||
        ps::failed(checked(cublasSetWorkspace(blas_.get(), workspace_.data(), workspace), "cuBLAS"), wrong))
      return wrong;
    kernels::gather<<<kernels::blocks_for(pixels), kernels::threads, 0, stream>>>(
        images_->pixels.data(), images_->labels.data(), images_->inputs, static_cast<unsigned>(rows), key,
        images_->training, first, drawn, images_->mean, images_->scale, in_.data(), classes_.data());
    if (ps::failed(product(CUBLAS_OP_N, CUBLAS_OP_N, h, rows, n, parameters, h, in_.data(), n, hidden_.data(), h),
                   wrong))
      return wrong;
    kernels::bias_and_relu<<<kernels::blocks_for(units), kernels::threads, 0, stream>>>(
        parameters + shape_.bias1(), static_cast<unsigned>(h), units, hidden_.data());
    return product(CUBLAS_OP_N, CUBLAS_OP_N, c, rows, h, parameters + shape_.weight2(), c, hidden_.data(), h,
                   scores_.data(), c);
  }
  // c[m x n] = a b, column by column: what is a row here is a column there.
  [[nodiscard]] rubato::error product(cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
                                      const float* a, int lda, const float* b, int ldb, float* c, int ldc) {
    const float one = 1, zero = 0;
    return checked(cublasSgemm(blas_.get(), of_a, of_b, m, n, k, &one, a, lda, b, ldb, &zero, c, ldc), "cublasSgemm");
  }

  perceptron_shape shape_{};
  const device_images* images_ = nullptr;
  int rows_ = 0;
  ps::device_array<float> in_, hidden_, hidden_delta_, scores_;
  ps::device_array<std::uint8_t> classes_;
  ps::device_array<unsigned char> workspace_;
  ps::device_array<unsigned> right_;
  handle blas_;
};

#endif
