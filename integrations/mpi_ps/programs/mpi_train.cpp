// A parameter server and its workers as the ranks of an MPI job: rank 0 is the server, rank n worker n - 1. Status 0:
// the job ended; 1: it could not be, and a sentence says why; 2: wrong options.
#include <exception>
#include <memory>
#include <rubato/mpi_ps/mpi_link.hpp>
#include <string>
#include <utility>

#include "serving.hpp"
#include "working.hpp"

namespace ps = rubato::mpi_ps;

namespace {

int serve(ps::mpi_process& process, const common_options& common, serving_options o) {
  auto job = served_job::prepare(std::move(o), common);
  if (!job) return complain("mpi_train", job.error());
  if (const auto wrong = job->open(1)) return complain("mpi_train", *wrong);
  ps::mpi_doors doors{process};
  auto& here = job->server();
  job->serve([&](session_threads& talks) -> std::string {
    auto link = doors.accept(ps::after(0.05));
    // Ranks that have died do not come back.
    if (!link && here.connected() == 0 && here.ends(rubato::gloo_ps::session_end::done) > 0) here.close();
    if (!link) return {};
    return talks.start([&here, l = std::move(*link)]() mutable { here.serve(l); });
  });
  const auto wrong = job->finish();
  return wrong ? complain("mpi_train", *wrong) : 0;
}

int run(ps::mpi_process& process, int argc, char** argv) {
  common_options common;
  serving_options serving;
  working_options working;
  CLI::App app{"A parameter server over MPI: rank 0 is the server, the others are workers."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  common.add_to(app);
  serving.add_to(app);
  working.add_to(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (process.rank() == 0) app.exit(e);
    return e.get_exit_code() == 0 ? 0 : 2;
  }
  if (process.size() < 2)
    return complain("mpi_train", "one rank, expected the server and at least one worker: mpirun -n 3 mpi_train ...", 2);
  common.apply();
  if (process.rank() > 0) {
    working.index = static_cast<std::uint32_t>(process.rank() - 1);
    return work_to_the_end("mpi_train", common, working, ps::mpi_connector{process, 0});
  }
  serving.server.job.workers = static_cast<std::uint32_t>(process.size() - 1);
  if (serving.done == 0) serving.done = serving.server.job.workers;
  const int status = serve(process, common, std::move(serving));
  if (status != 0) process.abort(status);  // the workers would look for their server
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  auto process = ps::mpi_process::start(argc, argv);
  if (!process) return complain("mpi_train", process.error());
  int status = 1;
  try {
    status = run(**process, argc, argv);
  } catch (const std::exception& e) {
    complain("mpi_train", e.what());
  }
  return (*process)->finish(status);
}
