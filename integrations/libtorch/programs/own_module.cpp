// A module, an optimizer and a policy of one's own, trained by processes: the server and its workers in one program.
//
//     mkdir store                                # of this job alone, a folder that all machines see
//     own_module file:store 127.0.0.1 &          # the server: the address of this machine, as the others reach it
//     own_module file:store 127.0.0.1 0 &        # worker 0
//     own_module file:store 127.0.0.1 1; wait    # worker 1
#include <torch/nn.h>
#include <torch/optim.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <rubato/gloo_ps/gloo_link.hpp>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/server.hpp>
#include <rubato/gloo_ps/stores.hpp>
#include <rubato/gloo_ps/worker.hpp>
#include <rubato/libtorch/optimizer_rule.hpp>
#include <rubato/libtorch/replica.hpp>
#include <string>
#include <thread>
#include <utility>

namespace lt = rubato::libtorch;
namespace ps = rubato::gloo_ps;

namespace {

constexpr std::uint64_t job = 17;
constexpr std::uint32_t workers = 2, shards = 2;

// What is trained: to multiply.
struct NetImpl : torch::nn::Module {
  torch::nn::Linear hidden{register_module("hidden", torch::nn::Linear(2, 16))};
  torch::nn::Linear out{register_module("out", torch::nn::Linear(16, 1))};
  torch::Tensor forward(const torch::Tensor& x) { return out(torch::tanh(hidden(x))); }
};
TORCH_MODULE(Net);
using replica = lt::replica<Net>;

// Who may run: whoever is no more than two steps ahead of the slowest.
struct near_the_slowest {
  rubato::decision release(const rubato::cluster_view& view, const rubato::event&) const noexcept {
    return rubato::decision::up_to_clock(view.minimum_clock() + 2);
  }
};
static_assert(rubato::SyncPolicy<near_the_slowest>);

// How a process meets the others.
struct meeting_place {
  std::shared_ptr<ps::gloo_device> device;
  std::shared_ptr<gloo::rendezvous::Store> store;
};

int complain(const std::string& what) { return std::fprintf(stderr, "own_module: %s\n", what.c_str()), 1; }

int serve(const meeting_place& here, replica& net) {
  const auto adam = lt::optimizer_rule::of<torch::optim::Adam>(torch::optim::AdamOptions(3e-3));
  if (!adam) return complain(adam.error().message);
  if (ps::server_answers(here.device, here.store, job, 2)) return complain("a server of this job is at work");
  auto doors = ps::gloo_doors::open(here.device, here.store, job);
  if (!doors) return complain(doors.error().message);
  auto made = ps::server<>::make({.job = {.job = job,
                                          .model = {net.size(), shards},
                                          .workers = workers,
                                          .nominal_samples = 32,
                                          .max_updates = 2000,
                                          .rule = *adam},
                                  .life = doors->life()},
                                 {"near_the_slowest", near_the_slowest{}}, net.values(),
                                 [](const std::string& refusal) { std::printf("%s\n", refusal.c_str()); });
  if (!made) return complain(made.error().message);
  ps::server<>& server = **made;
  std::list<std::jthread> talks;  // a thread for each worker
  while (!server.closed()) {
    if (auto knock = doors->accept(ps::after(0.05)))
      talks.emplace_back([&server, k = std::move(*knock)]() mutable {
        if (auto link = std::move(k).finish()) server.serve(*link);
      });
    if (doors->superseded()) server.abandon();  // this one hung, and was replaced
  }
  talks.clear();  // the workers have been told
  std::ranges::copy(server.parameters(), net.parameters().begin());
  std::printf("0.5 * 0.5 = %.2f\n", net->forward(torch::tensor({{0.5F, 0.5F}})).item<double>());
  return 0;
}

int work(const meeting_place& here, std::uint32_t index, replica& net) {
  torch::manual_seed(1 + index);  // data of its own
  ps::worker w{ps::worker_options{.job = job, .id = {index, 0}, .model = {net.size(), shards}},
               ps::gloo_connector{here.device, here.store, job}};
  for (;;) {
    const auto step = w.begin(net.parameters());       // straight into the module
    if (!step) return complain(step.error().message);  // no server, or one that refuses this worker for good
    if (!*step) break;                                 // the job has ended
    const torch::Tensor x = torch::rand({(*step)->samples, 2});
    const torch::Tensor loss = torch::mse_loss(net->forward(x), x.prod(1, true));
    w.push(net.gradient(loss), (*step)->samples, loss.item<float>());
  }
  std::printf("worker %u: %s\n", index, w.farewell().c_str());
  w.leave();  // of one that ends before the job does
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return complain("expected STORE ADDRESS [INDEX]");
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  at::set_num_threads(1);
  torch::manual_seed(1);
  auto device = ps::gloo_device::open(argv[2]);
  if (!device) return complain(device.error().message);
  auto store = ps::open_store(argv[1]);
  if (!store) return complain(store.error().message);
  auto net = replica::make(Net{});
  if (!net) return complain(net.error().message);
  if (argc == 3) return serve({*device, *store}, *net);
  return work({*device, *store}, static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10)), *net);
}
