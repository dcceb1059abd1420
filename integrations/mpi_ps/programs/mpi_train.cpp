// A parameter server and its workers as the ranks of an MPI job: rank 0 is the server, rank n worker n - 1. Status 0:
// the job ended; 1: it could not be, and a sentence says why; 2: wrong options.
#include <exception>
#include <memory>
#include <optional>
#include <rubato/mpi_ps/mpi_link.hpp>
#include <string>
#include <utility>

#include "serving.hpp"
#include "working.hpp"

namespace ps = rubato::mpi_ps;

namespace {

// As long as a rank is missing that has not been done, it may come back: it hangs, or is between two connections.
struct emptiness {
  double limit = 0, at_first = 0;  // seconds
  ps::steady::time_point until = ps::after(at_first);

  // Whether nobody has been connected for so long that nobody will come any more.
  bool is_final(bool anybody_is_here) {
    if (anybody_is_here) until = ps::after(limit);
    return !anybody_is_here && ps::steady::now() >= until;
  }
};

int serve(ps::mpi_process& process, const common_options& common, serving_options o, emptiness without_workers) {
  auto job = served_job::prepare(std::move(o), common);
  if (!job) return complain("mpi_train", job.error());
  if (const auto wrong = job->open(1)) return complain("mpi_train", *wrong);
  ps::mpi_doors doors{process};
  auto& here = job->server();
  job->serve([&](session_threads& talks) -> std::string {
    auto link = doors.accept(ps::after(0.05));
    if (without_workers.is_final(link || here.connected() > 0)) here.close();
    if (!link) return doors.take_trouble();
    return talks.start([&here, l = std::move(*link)]() mutable { here.serve(l); });
  });
  const auto wrong = job->finish();
  return wrong ? complain("mpi_train", *wrong) : 0;
}

int run(ps::mpi_process& process, int argc, char** argv, std::optional<double>& end_limit) {
  common_options common;
  serving_options serving;
  working_options working;
  double linger = 15;  // longer than a worker may take to notice that its connection is over
  CLI::App app{"A parameter server over MPI: rank 0 is the server, the others are workers."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  common.add_to(app);
  serving.add_to(app);
  working.add_to(app);
  app.add_option("--linger", linger, "seconds without any worker after which the job ends, whoever was not done")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
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
  // Once the job is over, a worker is told so when its step is; one that is not told then hangs.
  if (!ps::mpi_process::outlives_others()) end_limit = serving.server.job.limits.ceiling + 5;
  serving.server.job.workers = static_cast<std::uint32_t>(process.size() - 1);
  if (serving.done == 0) serving.done = serving.server.job.workers;
  const int status = serve(process, common, std::move(serving), {.limit = linger, .at_first = working.give_up});
  if (status != 0) process.abort(status);  // the workers would look for their server
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  auto process = ps::mpi_process::start(argc, argv);
  if (!process) return complain("mpi_train", process.error());
  int status = 1;
  std::optional<double> end_limit;
  try {
    status = run(**process, argc, argv, end_limit);
  } catch (const std::exception& e) {
    complain("mpi_train", e.what());
  }
  return (*process)->finish(status, end_limit);
}
