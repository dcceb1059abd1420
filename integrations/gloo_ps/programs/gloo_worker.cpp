// One worker of a job over Gloo. Status 0: it has made its steps, or the job has ended, or goes on without it; 1: it
// could not, and a sentence says why; 2: wrong options.
#include <cstdio>
#include <rubato/gloo_ps/gloo_link.hpp>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/stores.hpp>
#include <string>
#include <utility>

#include "gloo_options.hpp"
#include "working.hpp"

namespace ps = rubato::gloo_ps;

int main(int argc, char** argv) {
  gloo_options where;
  common_options common;
  working_options o;
  CLI::App app{"A worker of a parameter server over Gloo."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  where.add_to(app);
  common.add_to(app);
  app.add_option("--index", o.index, "of this worker, from 0")->required();
  app.add_option("--incarnation", o.incarnation, "the lowest to try")->capture_default_str();
  o.add_to(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  common.apply();
  const char* const program = called_as(argv);
  auto device = ps::gloo_device::open(where.host, where.interface);
  if (!device) return complain(program, device.error());
  auto store = ps::open_store(where.store);
  if (!store) return complain(program, store.error());
  ps::gloo_connector knock{*device, *store, common.job, where.connect_limit};
  bool told = false, told_where = false;
  return work_to_the_end(program, common, o, [&](rubato::worker_id who, ps::steady::time_point until) {
    auto link = knock(who, until);
    if (!link && !std::exchange(told, true))
      std::printf("worker %u: no server of job %llu answers in %s; looks for one for up to %g s\n", o.index,
                  static_cast<unsigned long long>(common.job), where.store.c_str(), o.give_up);
    if (const std::string why = knock.take_trouble(); !why.empty() && !std::exchange(told_where, true))
      std::printf("worker %u: %s: --host?\n", o.index, why.c_str());
    if (link) told = told_where = false;
    return link;
  });
}
