// A parameter server and its workers as the ranks of an MPI job: rank 0 is the server, rank n worker n - 1. Status 0:
// the job ended; 1: it could not be, and a sentence says why; 2: wrong options.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
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

// MPI starts no rank again: who has not come in a certain time has failed, or hangs.
class late_quorum {
 public:
  explicit late_quorum(double limit) : limit_{limit} {}

  // Lets the job begin with those who are here, once it has waited for the others for so long.
  void look(served_job::server_type& server) {
    if (begun_ || ps::steady::now() < until_) return;
    begun_ = server.decide().inspect([](auto& sync) { return sync.watcher().begun; });
    const std::uint32_t here = server.connected();
    if (begun_ || here == 0 || std::exchange(told_, here) == here) return;
    std::printf("%u of %u workers have come within %g s: the job begins with them\n", here,
                server.options().job.workers, limit_);
    static_cast<void>(server.decide().set_quorum(here));
  }

 private:
  double limit_;  // seconds
  ps::steady::time_point until_ = ps::after(limit_);
  bool begun_ = false;
  std::uint32_t told_ = 0;
};

int serve(const char* program, ps::mpi_process& process, const common_options& common, serving_options o,
          emptiness without_workers) {
  auto job = served_job::prepare(std::move(o), common);
  if (!job) return complain(program, job.error());
  if (const auto wrong = job->open(1)) return complain(program, *wrong);
  ps::mpi_doors doors{process};
  auto& here = job->server();
  if (const std::string wrong = ps::problem(here.options().job.model); !wrong.empty())
    return complain(program, wrong, 2);
  late_quorum missing{without_workers.at_first};
  job->serve([&](session_threads& talks) -> std::string {
    auto link = doors.accept(ps::after(0.05));
    if (without_workers.is_final(link || here.connected() > 0)) here.close();
    missing.look(here);
    if (!link) return doors.take_trouble();
    return talks.start([&here, l = std::move(*link)]() mutable { here.serve(l); });
  });
  const auto wrong = job->finish();
  return wrong ? complain(program, *wrong) : 0;
}

// Whether the other ranks live on when one dies: Open MPI's `mpirun --enable-recovery`.
bool others_live_on() {
  const char* const recovery = std::getenv("OMPI_MCA_orte_enable_recovery");
  return recovery != nullptr && *recovery != '\0' && *recovery != '0';
}

// How a rank ends.
struct ending {
  bool recovers = others_live_on();
  bool ends_all = false;                           // if it has failed: the others would wait for it, or look for it
  double limit = recovers ? 5 : ps::longest_time;  // seconds that it then waits for the others
};

int run(ps::mpi_process& process, int argc, char** argv, ending& end) {
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
    if (process.rank() == 0) app.exit(e);  // the others have the same options
    return e.get_exit_code() == 0 ? 0 : 2;
  }
  if (process.size() < 2)
    return complain(called_as(argv), "one rank, expected the server and at least one worker: mpirun -n 3 ...", 2);
  common.apply();
  const char* const program = called_as(argv);
  end.ends_all = process.rank() == 0 || !end.recovers;
  if (process.rank() > 0) {
    bool has_begun = false;
    working.index = static_cast<std::uint32_t>(process.rank() - 1);
    const int status = work_to_the_end(program, common, working, ps::mpi_connector{process, 0}, &has_begun);
    if (has_begun) end.ends_all = false;
    return status;
  }
  // Once the job is over, a worker is told so when its step is; one that is not told then hangs.
  if (!end.recovers) end.limit = serving.server.job.limits.ceiling + 5;
  serving.server.job.workers = static_cast<std::uint32_t>(process.size() - 1);
  if (serving.done == 0) serving.done = serving.server.job.workers;
  return serve(program, process, common, std::move(serving), {.limit = linger, .at_first = working.give_up});
}

}  // namespace

int main(int argc, char** argv) {
  auto process = ps::mpi_process::start(argc, argv);
  if (!process) return complain(called_as(argv), process.error());
  int status = 1;
  ending end;
  try {
    status = run(**process, argc, argv, end);
  } catch (const std::exception& e) {
    complain(called_as(argv), e.what());
  }
  if (status != 0 && end.ends_all) (*process)->abort(status);
  return (*process)->finish(status, end.limit);
}
