#include "interrupt.hpp"

#include <signal.h>

namespace rubato::lab {
namespace {

std::atomic<bool> raised = false;
std::atomic<int> number_of_signal = 0;
static_assert(std::atomic<bool>::is_always_lock_free);  // else the handler could not touch them
static_assert(std::atomic<int>::is_always_lock_free);

void raise_flag(int number) {
  number_of_signal = number;
  raised = true;
}

}  // namespace

const std::atomic<bool>& catch_interrupt() {
  struct sigaction action {};
  action.sa_handler = raise_flag;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
  return raised;
}

int interrupted_status() { return 128 + number_of_signal; }

}  // namespace rubato::lab
