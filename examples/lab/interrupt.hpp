#ifndef RUBATO_EXAMPLES_LAB_INTERRUPT_HPP
#define RUBATO_EXAMPLES_LAB_INTERRUPT_HPP

#include <atomic>

namespace rubato::lab {

/// Exit status after Ctrl-C.
inline constexpr int interrupted_status = 130;

/// From now on Ctrl-C raises the flag that is returned; a second one ends the program at once.
[[nodiscard]] const std::atomic<bool>& catch_interrupt();

}  // namespace rubato::lab

#endif
