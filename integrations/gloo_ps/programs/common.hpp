#ifndef RUBATO_GLOO_PS_PROGRAMS_COMMON_HPP
#define RUBATO_GLOO_PS_PROGRAMS_COMMON_HPP

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <rubato/core/result.hpp>
#include <string>
#include <string_view>

#include "task.hpp"

/// Options that server and worker have, whatever moves the bytes.
struct common_options {
  task_options task;
  std::uint64_t job = 1;
  std::uint32_t shards = 2, time_limit = 0;

  common_options() { task.name = task_names.front(); }
  void add_to(CLI::App& app) {
    app.failure_message([](const CLI::App* of, const CLI::Error& e) {
      if (e.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return CLI::FailureMessage::simple(of, e);
      return "not expected: " + CLI::detail::join(of->remaining(), " ") +  // CLI11 itself begins with the last
             "\nRun with --help for more information.\n";
    });
    app.add_option("--job", job, "number of the job; server and workers must agree")
        ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
        ->capture_default_str();
    app.add_option("--task", task.name, "what is trained (count: exact sums, for tests); server and workers must agree")
        ->check(CLI::IsMember(task_names))
        ->capture_default_str();
    app.add_option("--data", task.data, "folder with the training files of MNIST or CIFAR-10, for images");
    if (tasks_have_sizes) {
      app.add_option("--dimension", task.dimension, "parameters of regression and count")
          ->check(CLI::Range(1, 100'000'000))
          ->capture_default_str();
      app.add_option("--hidden-units", task.hidden_units, "of the network for images")
          ->check(CLI::Range(1, 65'535))
          ->capture_default_str();
    }
    app.add_option("--shards", shards, "threads of the server that hold them")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    app.add_option("--seed", task.seed, "of data and stragglers")->capture_default_str();
    app.add_option("--time-limit", time_limit, "seconds after which the process is ended by force; 0: never")
        ->capture_default_str();
  }

  /// To be called once they are known.
  void apply() const {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // a file above the shell's limit is an error of the write
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::signal(SIGALRM, [](int number) {
      constexpr std::string_view said = "ended by its --time-limit\n";
      static_cast<void>(!::write(STDERR_FILENO, said.data(), said.size()));
      std::signal(number, SIG_DFL);
      std::raise(number);
    });
    if (time_limit > 0) ::alarm(time_limit);
  }
};

/// What a program was called as, for what it says: gloo_server, or torch_server, which is the same with another task.
inline const char* called_as(char** argv) {
  const char* const slash = std::strrchr(argv[0], '/');
  return slash == nullptr ? argv[0] : slash + 1;
}
inline int complain(const char* program, const std::string& what, int status = 1) {
  std::fprintf(stderr, "%s: %s\n", program, what.c_str());
  return status;
}
/// What cannot be made of the options: status 2 where they are wrong, 1 where the machine is.
inline int complain(const char* program, const rubato::error& e) {
  return complain(program, e.message, e.code == rubato::errc::invalid_option ? 2 : 1);
}

#endif
