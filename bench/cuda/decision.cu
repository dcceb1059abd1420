#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <rubato/cuda/mailbox_kernel.cuh>
#include <rubato/cuda/waiting.cuh>
#include <string>
#include <vector>

#include "measure.cuh"
#include "sections.hpp"

// What a decision takes: for a host that asks the device and waits for the answer, and for a kernel that updates
// parameters and decides as well.
namespace rubato::bench {
namespace {

using shape = cuda::q_shape;
constexpr std::uint32_t capacity = 64, workers = 16;
using state_type = cuda::controller_state<capacity>;
using record_type = cuda::decision_record<capacity>;
using request_kind = cuda::request::kind;

// Memory of the host that is mapped into the device, zero at first.
template <class T>
class mapped {
 public:
  explicit mapped(std::size_t count = 1) {
    need(cudaHostAlloc(&here_, count * sizeof(T), cudaHostAllocMapped), "mapped memory");
    std::memset(here_, 0, count * sizeof(T));
    need(cudaHostGetDevicePointer(&there_, here_, 0), "mapped memory");
  }
  mapped(const mapped&) = delete;
  mapped& operator=(const mapped&) = delete;
  ~mapped() { cudaFreeHost(here_); }
  [[nodiscard]] T* here() const noexcept { return static_cast<T*>(here_); }
  [[nodiscard]] T* there() const noexcept { return static_cast<T*>(there_); }

 private:
  void* here_ = nullptr;
  void* there_ = nullptr;
};

struct latencies {
  double middle, high;
};

// Median and 99 % quantile of the seconds that one call of ask(n) takes, of 20000.
template <class Ask>
latencies latencies_of(const Ask& ask) {
  using clock = std::chrono::steady_clock;
  std::vector<double> all;
  for (std::uint32_t n = 0; n < 22'000; ++n) {
    const auto begin = clock::now();
    ask(n);
    const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
    if (n >= 2'000) all.push_back(seconds);
  }
  std::sort(all.begin(), all.end());
  return {all[all.size() / 2], all[all.size() * 99 / 100]};
}

void add(table& to, const std::string& what, const latencies& seen, double bar) {
  to.add({.figure = what + ", median", .measured = seen.middle, .unit = "s", .of_measured = at_most(bar)});
  to.add({.figure = what + ", 99 %", .measured = seen.high, .unit = "s"});
}

// A network that lets the submitter go whatever it is asked, at the cost of any other.
std::vector<float> parameters() {
  std::vector<float> all(shape::parameters);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = 1e-6F * static_cast<float>(i % 7);
  all[shape::bias(2) + 1] = 1.0F;
  return all;
}

state_type fresh(const cuda::device_policy<>& policy) {
  state_type state;
  state.policy = policy;
  state.workers = workers;
  return state;
}

cuda::request push_of(std::uint32_t n) { return {.worker = n % workers, .now = 1e-3 * (n + 1.0), .loss = 1.0F}; }

class own_stream {
 public:
  own_stream() { need(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }
  own_stream(const own_stream&) = delete;
  own_stream& operator=(const own_stream&) = delete;
  ~own_stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const noexcept { return stream_; }  // NOLINT(*-explicit-*)

 private:
  cudaStream_t stream_{};
};

void round_trips(table& to, const cuda::network<shape>& net) {
  const auto learned = cuda::device_policy<>::learned(net);
  {
    const own_stream stream;
    const mapped<cuda::mailbox<cuda::value_question<shape>, cuda::value_answer<shape>>> box;
    need(cuda::launch_values(box.there(), net, stream));
    cuda::mailbox_client client{*box.here()};
    const auto alive = [&] { return cuda::is_running(stream); };
    cuda::value_question<shape> question{};
    cuda::value_answer<shape> answer;
    add(to, "values of a network by the mailbox", latencies_of([&](std::uint32_t n) {
          question.inputs[0] = static_cast<float>(n);
          need(client.ask(question, answer, 1.0, alive));
        }),
        5e-6);
    need(client.stop(1.0, alive));
  }
  {
    const own_stream stream;
    const mapped<cuda::mailbox<cuda::request, record_type>> box;
    const device_numbers<state_type> state{std::vector{fresh(learned)}};
    need(cuda::launch_decisions(box.there(), state.data(), stream));
    cuda::mailbox_client client{*box.here()};
    const auto alive = [&] { return cuda::is_running(stream); };
    record_type record;
    need(client.ask({.what = request_kind::start}, record, 1.0, alive));
    add(to, "a learned decision by the mailbox", latencies_of([&](std::uint32_t n) {
          need(client.ask(push_of(n), record, 1.0, alive));
          if (record.action != cuda::release_action::submitter) need(error{errc::io, "the mailbox: a wrong decision"});
        }),
        5e-6);
    need(client.stop(1.0, alive));
  }
  const own_stream stream;
  const device_numbers<state_type> state{std::vector{fresh(learned)}};
  const mapped<cuda::request> request;
  const mapped<record_type> record;
  const mapped<std::uint32_t> words{capacity};
  const auto decide = [&] {
    need(cuda::launch_decide(state.data(), request.there(), cuda::time_of::request, record.there(),
                             cuda::release_words{words.there()}, stream));
  };
  *request.here() = {.what = request_kind::start};
  decide();
  need(cudaStreamSynchronize(stream), "a decision");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
  decide();
  need(cudaStreamEndCapture(stream, &graph), "capturing");
  need(cudaGraphInstantiate(&ready, graph, 0), "a graph");
  add(to, "a learned decision by a graph", latencies_of([&](std::uint32_t n) {
        const cuda::request what = push_of(n);
        *request.here() = what;
        const volatile std::uint32_t* const word = words.here() + what.worker;
        const std::uint32_t before = *word;
        need(cudaGraphLaunch(ready, stream), "a graph");
        for (std::uint32_t spins = 1; *word == before; ++spins)
          if (spins % (1U << 24) == 0 && cudaStreamQuery(stream) != cudaErrorNotReady)
            need(error{errc::io, "a graph: nobody was let go"});
      }),
      12e-6);
  need(cudaStreamSynchronize(stream), "a decision");
  need(cudaGraphExecDestroy(ready), "a graph");
  need(cudaGraphDestroy(graph), "a graph");
}

// The update of a parameter server: parameters -= rate x gradient. The block that is done last decides, where it is to.
template <bool Decides>
__global__ void __launch_bounds__(256)
    apply_kernel(float4* parameters, const float4* gradient, std::size_t quads, float rate, std::uint32_t* done,
                 state_type* state, const cuda::request* requests, std::uint32_t* pushes, record_type* record,
                 std::uint32_t* words) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < quads;
       i += std::size_t{gridDim.x} * blockDim.x) {
    float4 p = parameters[i];
    const float4 g = gradient[i];
    p.x -= rate * g.x, p.y -= rate * g.y, p.z -= rate * g.z, p.w -= rate * g.w;
    parameters[i] = p;
  }
  if constexpr (Decides) {
    __shared__ bool is_last;
    __shared__ std::uint32_t push;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      is_last = atomicAdd(done, 1) == gridDim.x - 1;
      if (is_last) *done = 0, push = (*pushes)++;
    }
    __syncthreads();
    if (is_last)
      cuda::decide_by_block(state, requests + push % workers, cuda::time_of::device, record,
                            cuda::release_words{words});
  }
}

void cost_in_an_update(table& to, const card& on, const cuda::network<shape>& net) {
  constexpr std::size_t numbers = std::size_t{1} << 20;
  const device_numbers<float> parameters_there{numbers}, gradient{numbers};
  const device_numbers<std::uint32_t> done{1}, pushes{1}, words{capacity};
  const device_numbers<record_type> record{1};
  std::vector<cuda::request> asked;
  for (std::uint32_t w = 0; w < workers; ++w) asked.push_back({.worker = w, .loss = 1.0F});
  const device_numbers<cuda::request> requests{asked};
  const device_numbers<cuda::request> start{std::vector<cuda::request>{{.what = request_kind::start}}};
  const auto blocks = static_cast<unsigned>(2 * on.processors);
  const auto seconds_with = [&](const state_type* decides_by) {
    const device_numbers<state_type> state{std::vector{decides_by != nullptr ? *decides_by : state_type{}}};
    need(cuda::launch_decide(state.data(), start.data(), cuda::time_of::device, record.data(), cuda::no_publication{},
                             on.stream));
    return seconds_of(on.stream, [&](cudaStream_t stream) {
      const auto kernel = decides_by != nullptr ? apply_kernel<true> : apply_kernel<false>;
      kernel<<<blocks, 256, 0, stream>>>(
          reinterpret_cast<float4*>(parameters_there.data()), reinterpret_cast<const float4*>(gradient.data()),
          numbers / 4, 1e-3F, done.data(), state.data(), requests.data(), pushes.data(), record.data(), words.data());
      need(cuda::check_launch("an update"));
    });
  };
  const double alone = seconds_with(nullptr);
  to.add({.figure = "update of 2^20 parameters without a decision", .measured = alone, .unit = "s"});
  const auto with = [&](const char* what, const cuda::device_policy<>& policy, std::optional<bound> bar) {
    const state_type state = fresh(policy);
    to.add({.figure = std::string{what} + " decides in it, added",
            .measured = seconds_with(&state) - alone,
            .unit = "s",
            .of_measured = bar});
  };
  using policy = cuda::device_policy<>;  // not knee: it keeps some back, and here they push in turn
  with("asp", policy::asp(), at_most(3e-6));
  with("ssp, staleness 3,", policy::ssp(3), at_most(3e-6));
  with("bsp, mean of 16,", policy::bsp(), at_most(3e-6));
  with("k-sync, 8 of 16,", policy::k_sync(8), {});
  with("a network 40-64-32-3", policy::learned(net), at_most(3e-6));
}

}  // namespace

void decision(table& to, const card& on) {
  to.section("Decisions, 16 workers");
  const device_numbers<float> there{parameters()};
  const cuda::network<shape> net{.parameters = there.data()};
  round_trips(to, net);
  cost_in_an_update(to, on, net);
}

}  // namespace rubato::bench
