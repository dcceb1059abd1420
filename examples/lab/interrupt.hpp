#ifndef RUBATO_EXAMPLES_LAB_INTERRUPT_HPP
#define RUBATO_EXAMPLES_LAB_INTERRUPT_HPP

#include <atomic>

namespace rubato::lab {

/// From now on Ctrl-C (SIGINT) and SIGTERM raise the flag that is returned; a second one of a kind ends the program at
/// once.
[[nodiscard]] const std::atomic<bool>& catch_interrupt();

/// Exit status after the signal that came: 130 for SIGINT, 143 for SIGTERM. Precondition: the flag is raised.
[[nodiscard]] int interrupted_status();

}  // namespace rubato::lab

#endif
