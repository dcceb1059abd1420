#ifndef RUBATO_EXAMPLES_SUPPORT_FILE_LOCK_HPP
#define RUBATO_EXAMPLES_SUPPORT_FILE_LOCK_HPP

#include <string>

namespace rubato::support {

/// An empty file that only one program at a time holds: it is locked as long as the object lives, and goes with it. One
/// that a killed program has left behind is locked by nobody. A file with content is no lock, and left alone.
///
/// Errors  user_error: another program holds it, it has content, or it cannot be created
/// Tests   tests/examples/file_lock_test.cpp: OnlyOneHoldsIt, GoesWithTheObject, LeftBehindIsFree, OtherFilesStay,
///         ManyTakeTurns
class file_lock {
 public:
  /// `held` is what the message says of a file that another program holds.
  file_lock(std::string path, const std::string& held);
  ~file_lock();
  file_lock(const file_lock&) = delete;
  file_lock& operator=(const file_lock&) = delete;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace rubato::support

#endif
