// The server of a job over Gloo. Status 0: the job ended; 1: it could not be, and a sentence says why; 2: wrong
// options.
#include <exception>
#include <rubato/gloo_ps/open_files.hpp>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/stores.hpp>
#include <string>
#include <utility>

#include "gloo_options.hpp"
#include "serving.hpp"

namespace ps = rubato::gloo_ps;

namespace {

int run(const char* program, const gloo_options& where, const common_options& common, serving_options o) {
  const auto fail = [program](const std::string& what) { return complain(program, what); };
  const std::uint32_t workers = o.server.job.workers;
  auto job = served_job::prepare(std::move(o), common);
  if (!job) return complain(program, job.error());
  if (const auto files = ps::allow_open_files(std::uint64_t{workers} + 64); !files)
    return fail(std::to_string(workers) + " workers: " + files.error().message);
  auto device = ps::gloo_device::open(where.host, where.interface);
  if (!device) return complain(program, device.error());
  auto store = ps::open_store(where.store);
  if (!store) return complain(program, store.error());
  if (ps::server_answers(*device, *store, common.job, 2))
    return fail("a server of job " + std::to_string(common.job) + " is at work in this store: end it first");
  auto doors = ps::gloo_doors::open(*device, *store, common.job, where.connect_limit);
  if (!doors) return fail(doors.error().message);
  if (const auto wrong = job->open(doors->life())) return complain(program, *wrong);
  auto& here = job->server();
  job->serve([&](session_threads& talks) -> std::string {
    if (doors->superseded()) here.abandon();
    auto knock = doors->accept(ps::after(0.05));
    if (!knock) return doors->take_trouble();
    return talks.start([&here, k = std::move(*knock)]() mutable {
      if (auto link = std::move(k).finish()) here.serve(*link);
    });
  });
  if (here.abandoned())
    return fail("life " + std::to_string(doors->life() + 1) + " of job " + std::to_string(common.job) +
                " has begun: this server ends, at version " + std::to_string(here.decide().version()));
  const auto wrong = job->finish();
  return wrong ? complain(program, *wrong) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  gloo_options where;
  common_options common;
  serving_options o;
  CLI::App app{"A parameter server over Gloo: decides, at every pushed gradient, who may run next."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  where.add_to(app);
  common.add_to(app);
  app.add_option("--workers", o.server.job.workers, "worker indices go from 0 to this minus 1")
      ->required()
      ->check(CLI::Range(1U, rubato::no_worker - 1));
  o.add_to(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  common.apply();
  try {
    return run(called_as(argv), where, common, std::move(o));
  } catch (const std::exception& e) {
    return complain(called_as(argv), e.what());
  }
}
