// `rubato-lab watch`: shows a running job again and again.
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "commands.hpp"
#include "http_get.hpp"
#include "interrupt.hpp"
#include "support/user_error.hpp"
#include "watch.hpp"
#include "watch_log.hpp"

namespace rubato::lab {
namespace {

// The size of the terminal, so that no line of a view wraps.
struct terminal_size {
  std::size_t rows = 24, columns = 80;
  static terminal_size now() {
    winsize size{};
    terminal_size s;
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 && size.ws_col > 0)
      s = {.rows = size.ws_row, .columns = size.ws_col};
    return s;
  }
};

void show(const watched_job& job, const watched_job* before, bool terminal, bool once) {
  if (once)
    std::cout << view_of(job, before);
  else if (!terminal)
    std::cout << line_of(job, before) << '\n';
  else {
    const terminal_size size = terminal_size::now();
    std::cout << redrawn(view_of(job, before), size.rows - 1, size.columns);
  }
  std::cout.flush();
}

// A server that ends closes the connection in the middle of an answer, and is gone when it is asked again.
watched_job job_at(const std::string& url, bool known) {
  try {
    return job_of_page(http_get(url), url);
  } catch (const no_server&) {
    throw;
  } catch (const support::user_error&) {
    if (!known) throw;
  }
  return job_of_page(http_get(url), url);
}

}  // namespace

int run_watch(const watch_arguments& given) {
  const bool is_url = given.source.find("://") != given.source.npos;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const std::atomic<bool>& interrupted = catch_interrupt();
  std::optional<log_watcher> log;
  if (!is_url) log.emplace(given.source);
  std::optional<watched_job> before;
  for (;;) {
    bool over = false;
    watched_job job;
    if (is_url) {
      try {
        job = job_at(given.source, before.has_value());
      } catch (const no_server& gone) {
        if (!before) throw;
        std::cout << gone.what() << ": the job has ended, or its server\n";
        return 0;
      } catch (const support::user_error& wrong) {
        if (!before) throw;
        throw std::runtime_error{wrong.what()};  // not of what was given: it was right before
      }
    } else {
      over = log->complete();  // before the look, so that it takes in the end
      log->look();
      job = log->job();
    }
    show(job, before ? &*before : nullptr, terminal, given.once);
    if (given.once || over) return 0;
    before = std::move(job);
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>{given.every};
    while (std::chrono::steady_clock::now() < until && !interrupted)
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
    if (interrupted) return 0;  // which is how it ends
  }
}

}  // namespace rubato::lab
