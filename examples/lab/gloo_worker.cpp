// A worker of the Gloo host: a process that the lab starts.
#include <unistd.h>

#include <csignal>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/stores.hpp>
#include <rubato/gloo_ps/worker.hpp>
#include <stdexcept>
#include <string>

#include "gloo_host.hpp"
#include "gloo_order.hpp"
#include "real_worker.hpp"
#include "run_board.hpp"
#include "support/child_process.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

namespace ps = gloo_ps;

// What happens to this process does not depend on what the one that started it was about to do.
[[nodiscard]] bool settle(const gloo_worker_arguments& given) {
  if (!support::end_with_parent(given.parent)) return false;
  close_range(3, ~0U, 0);  // connections of the server, whose peers wait for them to end
  std::signal(SIGPIPE, SIG_IGN);
  return true;
}

[[nodiscard]] training_data data_of(const gloo_order& order) {
  training_data data = load_data(order.at.scenario, order.data);
  if (data.fingerprint != order.fingerprint)
    throw support::user_error{order.data.string() + ": found other images than when the comparison began"};
  return data;
}

void train(const gloo_order& order, const gloo_worker_arguments& who, const sim::image_data& images) {
  run_board board{board_in(who.folder)};
  run_board::seat& seat = board.of(who.index);
  real_worker self{order.at, images, order.seed, who.index};
  auto cores = board.cores(who.index, quantum_of(order.at));
  const auto now = [&] { return board.seconds_since_begin() / order.at.unit_seconds; };
  const auto gone = [&] { return board.stopped() || seat.leaves.load(std::memory_order_relaxed); };
  const auto in_vain = [&] { return gone() || seat.cancelled.load(std::memory_order_relaxed); };

  const auto device = support::value_or_refuse(ps::gloo_device::open("127.0.0.1"));
  const auto store = support::value_or_refuse(ps::open_store(store_in(who.folder)));
  ps::worker server{ps::worker_options{.job = gloo_job,
                                       .id = {who.index, who.incarnation},
                                       .model = {self.parameters().size(), gloo_shards},
                                       .reply_limit = 30},
                    ps::gloo_connector{device, store, gloo_job}};
  for (;;) {
    const auto terms = support::value_or_refuse(server.begin(self.parameters()));
    if (!terms) return;  // the run is over
    seat.made = self.step(++seat.steps, terms->terms.batch, cores, now, in_vain);
    if (board.stopped()) return;
    if (gone()) return server.leave(false);
    const float loss = board.seen_loss(seat.made.work, seat.cancelled);
    static_cast<void>(server.push(self.gradient(), seat.made.work.samples, loss));  // if it breaks, begin() says so
  }
}

}  // namespace

int run_gloo_worker(const std::vector<std::string>& arguments) {
  const auto given = gloo_worker_arguments::from(arguments);
  if (!settle(given)) return 0;
  const gloo_order order = gloo_order::read(given.folder);
  alarm(order.time_limit);
  const training_data data = data_of(order);
  train(order, given, *data.prepared);
  return 0;
}

}  // namespace rubato::lab
