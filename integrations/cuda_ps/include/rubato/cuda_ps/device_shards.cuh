#ifndef RUBATO_CUDA_PS_DEVICE_SHARDS_CUH
#define RUBATO_CUDA_PS_DEVICE_SHARDS_CUH

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <rubato/cuda/error.cuh>
#include <span>
#include <utility>
#include <vector>

#include "apply.cuh"
#include "device_memory.cuh"
#include "devices.cuh"
#include "host_shards.hpp"

namespace rubato::inline RUBATO_ABI::cuda_ps {

namespace detail {

inline constexpr unsigned threads_of_block = 256;

// All threads of a launch, for bodies in which no number concerns another one.
struct grid_lanes {
  [[nodiscard]] __device__ static unsigned index() noexcept { return blockIdx.x * blockDim.x + threadIdx.x; }
  [[nodiscard]] __device__ static unsigned count() noexcept { return gridDim.x * blockDim.x; }
  __device__ static void sync() noexcept { __syncthreads(); }
};

// Waiting is nobody_waits but for a flush, whose launch carries a kilobyte more.
template <class Waiting>
__global__ void __launch_bounds__(threads_of_block)
    carry_out_kernel(const __grid_constant__ order o, const __grid_constant__ Waiting waiting, shard_view at,
                     log_view log) {
  cuda_ps::carry_out(o, waiting, at, grid_lanes{});
  if (grid_lanes::index() == 0) write_log(o, waiting, log);
}

}  // namespace detail

/// The shards in memory of a device, with a stream each: a kernel of one order is the single writer of its shard.
///
/// A number of the parameters is written by one thread, once an order, so that the bits are those of host_shards. What
/// an order releases may be read by whatever comes behind follow() in a stream.
///
/// Thread  carry_out(), copy_to() and log() under the mutex of the decisions; follow() by the worker that was released.
/// Cost    carry_out(): a launch for each shard, and an event where somebody is released. It does not wait, and
///         allocates nothing.
/// Tests   tests/integrations/cuda_ps/device/device_shards_test.cu: HasTheBitsOfTheHost, OwnersFreeWhatTheyHave
class device_shards {
 public:
  /// Errors  what the runtime answers; memory is that of the present device
  [[nodiscard]] static result<std::unique_ptr<device_shards>> make(std::span<const float> initial,
                                                                   std::uint32_t workers, std::uint32_t shards,
                                                                   rule_kind rule, std::size_t log_capacity) {
    std::unique_ptr<device_shards> all{new device_shards};
    if (error wrong = all->begin(initial, workers, shards, rule, log_capacity); wrong.code != errc::ok) return wrong;
    return result<std::unique_ptr<device_shards>>{std::move(all)};
  }
  device_shards(const device_shards&) = delete;
  device_shards& operator=(const device_shards&) = delete;
  /// Waits for what its streams have to do.
  ~device_shards() {
    for (const part& each : parts_) static_cast<void>(cudaStreamSynchronize(each.own.get()));
  }

  /// Gives the order to the shards' streams. Errors: what the launches answer; some shards may have it then.
  [[nodiscard]] error carry_out(const order& o, const waiting_gradients& waiting) {
    const on_device here{device_};  // by whichever thread has pushed
    error wrong;
    for (std::uint32_t s = 0; s < layout_.shards; ++s) {
      const log_view log = s == 0 ? log_view{log_.data(), log_.size()} : log_view{};
      if (o.what == deed::flush)
        launch(s, o, waiting, log);
      else
        launch(s, o, nobody_waits{}, log);
      if (failed(cuda::check_launch("the kernel of a shard"), wrong)) return wrong;
    }
    return o.released == 0 ? wrong : mark(o.released);
  }
  /// `stream` goes on once all shards have carried out the order that released this worker.
  [[nodiscard]] error follow(std::uint32_t worker, cudaStream_t stream) const {
    error wrong;
    for (const part& each : parts_)
      if (failed(cuda::check(cudaStreamWaitEvent(stream, each.marks[released_by_[worker]].get(), 0), "a wait"), wrong))
        return wrong;
    return wrong;
  }
  /// Copies the parameters, as they are after the orders so far, to memory of the device; `stream` goes on after that.
  [[nodiscard]] error copy_to(float* to, cudaStream_t stream) {
    const on_device here{device_};
    error wrong;
    for (std::uint32_t s = 0; s < layout_.shards; ++s) {
      const std::size_t at = layout_.begin(s), end = (std::min)(layout_.begin(s + 1), layout_.size);
      if (failed(cuda::check(cudaMemcpyAsync(to + at, values_.data() + at, (end - at) * sizeof(float),
                                             cudaMemcpyDeviceToDevice, parts_[s].own.get()),
                             "a copy of the parameters"),
                 wrong) ||
          failed(cuda::check(cudaEventRecord(parts_[s].copied.get(), parts_[s].own.get()), "an event"), wrong) ||
          failed(cuda::check(cudaStreamWaitEvent(stream, parts_[s].copied.get(), 0), "a wait"), wrong))
        return wrong;
    }
    return wrong;
  }
  /// The log so far, as a ring (in_order()). Waits for the first shard.
  [[nodiscard]] result<std::vector<log_entry>> log() {
    const on_device here{device_};
    std::vector<log_entry> entries(log_.size());
    const cudaStream_t own = parts_[0].own.get();
    error wrong;
    if (failed(cuda::check(cudaMemcpyAsync(entries.data(), log_.data(), entries.size() * sizeof(log_entry),
                                           cudaMemcpyDeviceToHost, own),
                           "the log"),
               wrong) ||
        failed(cuda::check(cudaStreamSynchronize(own), "the orders before the log"), wrong))
      return wrong;
    return entries;
  }

  [[nodiscard]] const shard_layout& layout() const noexcept { return layout_; }  ///< size and shards
  /// Where a worker writes its gradient; slot is 0 or 1. Memory of the device, as are copies and views.
  [[nodiscard]] float* gradient(std::uint32_t worker, std::uint32_t slot) const noexcept {
    return gradients_.data() + (worker * std::size_t{slots_of_worker} + slot) * layout_.padded();
  }
  /// The parameters as they were when this worker was released last; zeros before that.
  [[nodiscard]] const float* copy(std::uint32_t worker) const noexcept {
    return copies_.data() + worker * layout_.padded();
  }
  /// Shard s, valid as long as this.
  [[nodiscard]] shard_view view(std::uint32_t s) const noexcept { return view(layout_.begin(s), layout_.size_of(s)); }
  /// All shards as one.
  [[nodiscard]] shard_view whole() const noexcept { return view(0, layout_.padded()); }
  /// Where the log lies, for kernels that write it.
  [[nodiscard]] log_view log_memory() const noexcept { return {log_.data(), log_.size()}; }

 private:
  static constexpr std::size_t marks = 2 * max_workers;
  struct part {
    stream own;
    event copied;
    std::vector<event> marks;
    unsigned blocks = 1;
  };

  device_shards() = default;

  [[nodiscard]] error begin(std::span<const float> initial, std::uint32_t workers, std::uint32_t shards, rule_kind rule,
                            std::size_t log_capacity) {
    layout_ = {initial.size(), shards};
    const std::size_t size = layout_.padded();
    int processors = 1;
    error wrong;
    if (failed(cuda::check(cudaGetDevice(&device_), "the device"), wrong) ||
        failed(cuda::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device_), "the device"),
               wrong) ||
        failed(device_array<float>::make(size), values_, wrong) ||
        failed(device_array<float>::make(rule == rule_kind::sgd ? 0 : size), first_, wrong) ||
        failed(device_array<float>::make(rule == rule_kind::adam ? size : 0), second_, wrong) ||
        failed(device_array<float>::make(size), sum_, wrong) ||
        failed(device_array<float>::make(size * workers * slots_of_worker), gradients_, wrong) ||
        failed(device_array<float>::make(size * workers), copies_, wrong) ||
        failed(device_array<log_entry>::make(log_capacity), log_, wrong) ||
        failed(cuda::check(cudaMemcpy(values_.data(), initial.data(), initial.size_bytes(), cudaMemcpyHostToDevice),
                           "the initial parameters"),
               wrong))
      return wrong;
    parts_.resize(shards);
    for (std::uint32_t s = 0; s < shards; ++s) {
      part& each = parts_[s];
      // A thread takes four numbers at once; more blocks than the device holds at once bring nothing.
      const std::size_t wanted = (layout_.size_of(s) / 4 + detail::threads_of_block - 1) / detail::threads_of_block;
      const auto most = std::size_t{8} * static_cast<std::size_t>(processors);
      each.blocks = static_cast<unsigned>(std::clamp(wanted, std::size_t{1}, most));
      if (failed(make_stream(), each.own, wrong) || failed(make_event(), each.copied, wrong)) return wrong;
      each.marks.resize(marks);
      for (event& one : each.marks)
        if (failed(make_event(), one, wrong)) return wrong;
    }
    // Not of the whole device, on which others may keep a kernel for good.
    return cuda::check(cudaStreamSynchronize(nullptr), "the memory of the server");
  }
  template <class Waiting>
  void launch(std::uint32_t s, const order& o, const Waiting& waiting, const log_view& log) const {
    detail::carry_out_kernel<<<parts_[s].blocks, detail::threads_of_block, 0, parts_[s].own.get()>>>(o, waiting,
                                                                                                     view(s), log);
  }
  [[nodiscard]] shard_view view(std::size_t at, std::size_t size) const noexcept {
    return {.size = size,
            .values = values_.data() + at,
            .first = first_.data() + at,
            .second = second_.data() + at,
            .sum = sum_.data() + at,
            .gradients = gradients_.data() + at,
            .copies = copies_.data() + at,
            .stride = layout_.padded()};
  }
  // An event is used again after `marks` others; who has not waited for it by then waits for a later order.
  [[nodiscard]] error mark(std::uint64_t released) {
    const std::size_t at = next_mark_++ % marks;
    error wrong;
    for (const part& each : parts_)
      if (failed(cuda::check(cudaEventRecord(each.marks[at].get(), each.own.get()), "an event"), wrong)) return wrong;
    for (std::uint32_t w = 0; w < max_workers; ++w)
      if ((released >> w & 1) != 0) released_by_[w] = at;
    return wrong;
  }

  int device_ = 0;
  shard_layout layout_{};
  device_array<float> values_, first_, second_, sum_, gradients_, copies_;
  device_array<log_entry> log_;
  std::vector<part> parts_;
  std::size_t next_mark_ = 0;
  std::array<std::size_t, max_workers> released_by_{};
};

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
