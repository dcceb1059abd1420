#ifndef RUBATO_GLOO_PS_PROGRAMS_FAULT_RECORD_HPP
#define RUBATO_GLOO_PS_PROGRAMS_FAULT_RECORD_HPP

#include <optional>
#include <rubato/core/result.hpp>
#include <rubato/io/flight_recorder.hpp>
#include <string>

/// Writes a flight record to a file when the process goes down by a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) or
/// by its time limit (SIGALRM), and then lets the signal do what it did before; SIGUSR1 asks for it.
///
/// The file appears complete or not at all; a symbolic link to a file keeps pointing where it does, and what is there
/// and no regular file is left alone. Nobody waits at a pipe that somebody laid where the draft goes. A thread that
/// faults while another one's fault is written waits for it. An overflow of the stack is written if it is that of the
/// thread which made this object: others have no second stack for handlers. What SIGKILL ends leaves none. At most one
/// object at a time.
/// Tests   tests/integrations/gloo_ps/fault_record_test.cpp, flight_record_test.cpp
class fault_record {
 public:
  fault_record(const rubato::flight_recorder& of, const std::string& file);
  fault_record(const fault_record&) = delete;
  fault_record& operator=(const fault_record&) = delete;
  ~fault_record();

  /// Whether SIGUSR1 has come since this was last asked.
  [[nodiscard]] bool asked() const noexcept;
  /// Writes it now; while no record is made. What is wrong, or nothing.
  [[nodiscard]] std::optional<rubato::error> write() const;
};

#endif
