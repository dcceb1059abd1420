#ifndef RUBATO_CUDA_PS_DEVICE_MEMORY_CUH
#define RUBATO_CUDA_PS_DEVICE_MEMORY_CUH

#include <cuda_runtime_api.h>

#include <cstddef>
#include <rubato/core/result.hpp>
#include <rubato/cuda/error.cuh>
#include <span>
#include <type_traits>
#include <utility>

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// What is CUDA's and has one owner: freed with it. Errors of freeing are lost; whoever wants them synchronises first.
/// Tests   tests/integrations/cuda_ps/device/device_shards_test.cu: OwnersFreeWhatTheyHave
template <class Handle, auto Free>
class owner {
 public:
  owner() = default;
  /// Takes over what it is given; Handle{} is nothing.
  explicit owner(Handle held) noexcept : held_{held} {}
  /// Leaves the other one with nothing.
  owner(owner&& other) noexcept : held_{std::exchange(other.held_, Handle{})} {}
  /// The other one gets, and frees, what this one had.
  owner& operator=(owner&& other) noexcept { return std::swap(held_, other.held_), *this; }
  ~owner() {
    if (held_ != Handle{}) static_cast<void>(Free(held_));
  }
  [[nodiscard]] Handle get() const noexcept { return held_; }  ///< still owned; Handle{}: nothing

 private:
  Handle held_{};
};

using stream = owner<cudaStream_t, cudaStreamDestroy>;  ///< see make_stream()
using event = owner<cudaEvent_t, cudaEventDestroy>;     ///< see make_event()

/// One of the present device that does not wait for the default stream.
/// Errors  what the runtime answers
[[nodiscard]] inline result<stream> make_stream() {
  cudaStream_t made = nullptr;
  if (error e = cuda::check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "a stream"); e.code != errc::ok)
    return e;
  return stream{made};
}
/// One that orders streams and takes no times.
/// Errors  what the runtime answers
[[nodiscard]] inline result<event> make_event() {
  cudaEvent_t made = nullptr;
  if (error e = cuda::check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "an event"); e.code != errc::ok)
    return e;
  return event{made};
}

namespace detail {

inline cudaError_t free_device(void* what) noexcept { return cudaFree(what); }
inline cudaError_t free_mapped(void* what) noexcept { return cudaFreeHost(what); }

}  // namespace detail

/// `size()` objects of T in memory of the present device, zeros at first, whichever stream looks at them.
template <class T>
class device_array {
  static_assert(std::is_trivially_copyable_v<T>, "device_array: its objects are copied byte by byte");

 public:
  device_array() = default;
  /// May wait for the device, as cudaMalloc does.
  /// Errors  what the runtime answers
  [[nodiscard]] static result<device_array> make(std::size_t size) {
    void* made = nullptr;
    const std::size_t bytes = (size == 0 ? 1 : size) * sizeof(T);
    if (error e = cuda::check(cudaMalloc(&made, bytes), "memory of the device"); e.code != errc::ok) return e;
    device_array all{made, size};
    if (error e = cuda::check(cudaMemset(made, 0, bytes), "memory of the device"); e.code != errc::ok) return e;
    // The null stream writes them, and other streams do not wait for it.
    if (error e = cuda::check(cudaStreamSynchronize(nullptr), "memory of the device"); e.code != errc::ok) return e;
    return result<device_array>{std::move(all)};
  }
  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(memory_.get()); }  ///< an address of the device
  [[nodiscard]] std::size_t size() const noexcept { return size_; }                  ///< objects

 private:
  device_array(void* made, std::size_t size) noexcept : memory_{made}, size_{size} {}
  owner<void*, detail::free_device> memory_;
  std::size_t size_ = 0;
};

/// `size()` objects of T in memory of the host that the device sees too, zeros at first.
template <class T>
class mapped_array {
  static_assert(std::is_trivially_copyable_v<T>, "mapped_array: its objects are begun by zeros");

 public:
  mapped_array() = default;
  /// Pinned memory, for all devices of the process. May wait for the device.
  /// Errors  what the runtime answers
  [[nodiscard]] static result<mapped_array> make(std::size_t size) {
    void* made = nullptr;
    void* seen = nullptr;
    const std::size_t bytes = (size == 0 ? 1 : size) * sizeof(T);
    if (error e =
            cuda::check(cudaHostAlloc(&made, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "mapped memory");
        e.code != errc::ok)
      return e;
    mapped_array all{made, size};
    for (std::size_t i = 0; i < bytes; ++i) static_cast<volatile unsigned char*>(made)[i] = 0;
    if (error e = cuda::check(cudaHostGetDevicePointer(&seen, made, 0), "mapped memory"); e.code != errc::ok) return e;
    all.seen_ = static_cast<T*>(seen);
    return result<mapped_array>{std::move(all)};
  }
  [[nodiscard]] T* host() const noexcept { return static_cast<T*>(memory_.get()); }  ///< where the host sees them
  [[nodiscard]] T* device() const noexcept { return seen_; }                         ///< where the device does
  [[nodiscard]] std::size_t size() const noexcept { return size_; }                  ///< objects

 private:
  mapped_array(void* made, std::size_t size) noexcept : memory_{made}, size_{size} {}
  owner<void*, detail::free_mapped> memory_;
  T* seen_ = nullptr;
  std::size_t size_ = 0;
};

/// Puts what a call made into its place; true where it made none, and then the error is in `wrong`.
///
///     error wrong;
///     if (failed(make_stream(), stream_, wrong)) return wrong;
template <class T>
[[nodiscard]] bool failed(result<T>&& made, T& place, error& wrong) {
  if (!made) return wrong = made.error(), true;
  place = std::move(*made);
  return false;
}
/// The same of a call that makes nothing.
[[nodiscard]] inline bool failed(error&& answer, error& wrong) {
  if (answer.code == errc::ok) return false;
  return wrong = std::move(answer), true;
}

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
