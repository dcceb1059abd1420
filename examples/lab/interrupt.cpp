#include "interrupt.hpp"

#include <signal.h>

namespace rubato::lab {
namespace {

std::atomic<bool> raised = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // else the handler could not touch it

void raise_flag(int) { raised = true; }

}  // namespace

const std::atomic<bool>& catch_interrupt() {
  struct sigaction action {};
  action.sa_handler = raise_flag;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  return raised;
}

}  // namespace rubato::lab
