#ifndef RUBATO_CUDA_PS_TRAIN_CUH
#define RUBATO_CUDA_PS_TRAIN_CUH

#include <concepts>
#include <cstdint>
#include <rubato/core/result.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "device_server.cuh"
#include "server.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// Gives kernels to step.stream that make, of *step.parameters, the mean gradient of step.samples examples and their
/// mean loss. Called by all workers at once, each with its own `worker`.
template <class G>
concept GradientFunction = requires(G& gradient, std::uint32_t worker, const lane_step& step) {
  { gradient(worker, step) } -> std::same_as<error>;
};

/// How a worker has ended.
struct worker_end {
  std::uint64_t steps = 0;  ///< pushed
  error failure{};          ///< of the gradient, or of the server; ok after an ordinary end
};

namespace detail {

// The end of all is no failure.
[[nodiscard]] inline error unless_shut(error what) { return what.code == errc::departed_worker ? error{} : what; }

// Workers 0 to workers - 1, in a thread each.
template <class Work>
std::vector<worker_end> in_threads(std::uint32_t workers, Work&& work) {
  std::vector<worker_end> ends(workers);
  std::vector<std::jthread> threads;
  for (std::uint32_t w = 0; w < workers; ++w) threads.emplace_back([&, w] { ends[w] = work(w); });
  threads.clear();
  return ends;
}

}  // namespace detail

/// Trains with workers 0 to workers - 1, a thread each, until shutdown() or until each has made `steps`. A gradient
/// that fails ends its worker, as a death does.
///
/// Tests   tests/integrations/cuda_ps/device/train_test.cu: TrainsWithBothServers, AFailingGradientEndsItsWorker
template <SyncPolicy Policy, Observer Watcher, GradientFunction Gradient>
std::vector<worker_end> train(server<Policy, Watcher>& ps, std::uint32_t workers, std::uint64_t steps,
                              Gradient&& gradient) {
  return detail::in_threads(workers, [&](std::uint32_t w) {
    worker_end end;
    auto me = ps.join({w});
    if (!me) return worker_end{.failure = detail::unless_shut(me.error())};
    for (; end.steps < steps && (*me)->here(); ++end.steps) {
      if (error wrong = gradient(w, (*me)->step()); wrong.code != errc::ok) return end.failure = std::move(wrong), end;
      if (const auto pushed = (*me)->push(); !pushed) return end.failure = detail::unless_shut(pushed.error()), end;
    }
    if ((*me)->here()) static_cast<void>((*me)->finish());
    return end;
  });
}
/// The same on the device, which it starts: until stop(), or `steps`. Waits until the streams are through. Whoever is
/// declared dead meanwhile ends without a failure.
///
/// Tests   tests/integrations/cuda_ps/device/train_test.cu: TrainsWithBothServers, AFailingGradientEndsItsWorker,
///         WhoHasJoinedElsewhereIsNotWaitedFor
template <std::uint32_t Capacity, class Shape, GradientFunction Gradient>
std::vector<worker_end> train(device_server<Capacity, Shape>& ps, std::uint32_t workers, std::uint64_t steps,
                              Gradient&& gradient) {
  const error begun = ps.start();
  if (begun.code != errc::ok) return std::vector<worker_end>(workers, {.failure = begun});
  return detail::in_threads(workers, [&](std::uint32_t w) {
    worker_end end;
    auto me = ps.join(w);
    if (!me) {
      static_cast<void>(ps.die(w));  // it has started, and would be waited for
      return worker_end{.failure = me.error()};
    }
    for (; end.steps < steps; ++end.steps) {
      const auto step = (*me)->begin();
      if (!step) {
        end.failure = detail::unless_shut(step.error());
        break;
      }
      if (end.failure = gradient(w, *step); end.failure.code != errc::ok) return end;
      if (end.failure = (*me)->push(); end.failure.code != errc::ok) return end;
    }
    if (error wrong = (*me)->finish(); end.failure.code == errc::ok) end.failure = std::move(wrong);
    return end;
  });
}

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
