#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <rubato/cuda/mailbox_kernel.cuh>
#include <rubato/cuda_ps/device_memory.cuh>
#include <string>
#include <utility>
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

// What was made, or the end of the program.
template <class T>
T made(result<T>&& what) {
  if (!what) need(what.error());
  return *std::move(what);
}
template <class T>
cuda_ps::mapped_array<T> mapped(std::size_t count = 1) {
  return made(cuda_ps::mapped_array<T>::make(count));
}

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

void round_trips(table& to, const cuda::network<shape>& net) {
  const auto learned = cuda::device_policy<>::learned(net);
  {
    const cuda_ps::stream own = made(cuda_ps::make_stream());
    const cudaStream_t stream = own.get();
    const auto box = mapped<cuda::mailbox<cuda::value_question<shape>, cuda::value_answer<shape>>>();
    need(cuda::launch_values(box.device(), net, stream));
    cuda::mailbox_client client{*box.host()};
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
    const cuda_ps::stream own = made(cuda_ps::make_stream());
    const cudaStream_t stream = own.get();
    const auto box = mapped<cuda::mailbox<cuda::request, record_type>>();
    const device_numbers<state_type> state{std::vector{fresh(learned)}};
    need(cuda::launch_decisions(box.device(), state.data(), stream));
    cuda::mailbox_client client{*box.host()};
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
  const cuda_ps::stream own = made(cuda_ps::make_stream());
  const cudaStream_t stream = own.get();
  const device_numbers<state_type> state{std::vector{fresh(learned)}};
  const auto request = mapped<cuda::request>();
  const auto record = mapped<record_type>();
  const auto words = mapped<std::uint32_t>(capacity);
  const auto decide = [&] {
    need(cuda::launch_decide(state.data(), request.device(), cuda::time_of::request, record.device(),
                             cuda::release_words{words.device()}, stream));
  };
  *request.host() = {.what = request_kind::start};
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
        *request.host() = what;
        const volatile std::uint32_t* const word = words.host() + what.worker;
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

// The update of a parameter server: parameters -= rate x gradient. Where it is to decide, one block does while the
// others update, and whichever is done last tells who goes on: a decision about who may go on needs no update, and
// these rules apply every gradient. (Where one may be dropped, the decision comes first: cuda_ps::launch_push.)
template <bool Decides>
__global__ void __launch_bounds__(256)
    apply_kernel(float4* parameters, const float4* gradient, std::size_t quads, float rate, std::uint32_t* done,
                 state_type* state, const cuda::request* requests, std::uint32_t* pushes, record_type* record,
                 std::uint32_t* words) {
  __shared__ bool is_last;
  if (Decides && blockIdx.x == 0) {
    cuda::decide_by_block(state, requests + *pushes % workers, cuda::time_of::device, record, cuda::no_publication{});
  } else {
    const unsigned of_decision = Decides ? 1 : 0;
    const std::size_t stride = std::size_t{gridDim.x - of_decision} * blockDim.x;
    for (std::size_t i = (blockIdx.x - of_decision) * std::size_t{blockDim.x} + threadIdx.x; i < quads; i += stride) {
      float4 p = parameters[i];
      const float4 g = gradient[i];
      p.x -= rate * g.x, p.y -= rate * g.y, p.z -= rate * g.z, p.w -= rate * g.w;
      parameters[i] = p;
    }
  }
  if constexpr (Decides) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      is_last = atomicAdd(done, 1) == gridDim.x - 1;
      if (is_last) *done = 0, ++*pushes, __threadfence();
    }
    __syncthreads();
    if (is_last) cuda::release_words{words}(*record, *state, cuda::block_lanes{});
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
  // The end of the program if there were other updates than `updates_of` so many pushes in turn, or a worker pushed
  // that had not been let go.
  using count_of_updates = std::uint64_t(std::uint32_t pushes);
  const auto seconds_with = [&](const state_type* decides_by, count_of_updates* updates_of) {
    const device_numbers<state_type> state{std::vector{decides_by != nullptr ? *decides_by : state_type{}}};
    const std::uint32_t before = pushes.host(1)[0];
    need(cuda::launch_decide(state.data(), start.data(), cuda::time_of::device, record.data(), cuda::no_publication{},
                             on.stream));
    const double seconds = seconds_of(on.stream, [&](cudaStream_t stream) {
      const auto kernel = decides_by != nullptr ? apply_kernel<true> : apply_kernel<false>;
      kernel<<<decides_by != nullptr ? blocks + 1 : blocks, 256, 0, stream>>>(
          reinterpret_cast<float4*>(parameters_there.data()), reinterpret_cast<const float4*>(gradient.data()),
          numbers / 4, 1e-3F, done.data(), state.data(), requests.data(), pushes.data(), record.data(), words.data());
      need(cuda::check_launch("an update"));
    });
    if (decides_by == nullptr) return seconds;
    const state_type after = state.host(1)[0];
    const std::uint32_t pushed = pushes.host(1)[0] - before;
    const auto refused = after.counted[static_cast<std::size_t>(reason::repeated)];
    if (pushed == 0 || after.version != updates_of(pushed) || refused != 0)
      need(error{errc::io, "an update that decides: " + std::to_string(after.version) + " updates of " +
                               std::to_string(pushed) + " pushes, " + std::to_string(refused) + " out of turn"});
    return seconds;
  };
  const double alone = seconds_with(nullptr, nullptr);
  to.add({.figure = "update of 2^20 parameters without a decision", .measured = alone, .unit = "s"});
  const auto with = [&](const char* what, const cuda::device_policy<>& policy, std::optional<bound> bar,
                        count_of_updates* updates_of) {
    const state_type state = fresh(policy);
    to.add({.figure = std::string{what} + " decides in it, added",
            .measured = seconds_with(&state, updates_of) - alone,
            .unit = "s",
            .of_measured = bar});
  };
  count_of_updates* const each = [](std::uint32_t pushes) -> std::uint64_t { return pushes; };
  count_of_updates* const rounds = [](std::uint32_t pushes) -> std::uint64_t { return pushes / workers; };
  // The other half of each round is cancelled.
  count_of_updates* const halves = [](std::uint32_t pushes) -> std::uint64_t { return (pushes + 8) / workers; };
  using policy = cuda::device_policy<>;  // not knee: it keeps some back, and here they push in turn
  with("asp", policy::asp(), at_most(3e-6), each);
  with("ssp, staleness 3,", policy::ssp(3), at_most(3e-6), each);
  with("bsp, mean of 16,", policy::bsp(), at_most(3e-6), rounds);
  with("k-sync, 8 of 16,", policy::k_sync(8), {}, halves);
  with("a network 40-64-32-3", policy::learned(net), at_most(3e-6), each);
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
