#ifndef RUBATO_TESTS_EXAMPLES_LAB_PROGRAM_HPP
#define RUBATO_TESTS_EXAMPLES_LAB_PROGRAM_HPP

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "temporary_directory.hpp"

namespace rubato::test {

/// How a program ended, and what it printed.
struct outcome {
  int status = -1;
  std::string text;  ///< standard output, and with 2>&1 standard error
};

/// Runs a command of the shell; what it prints on standard output is kept.
inline outcome shell(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  outcome got;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) got.text.append(buffer, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) got.status = WEXITSTATUS(status);
  return got;
}

/// `rubato-lab` in a folder of its own, which has one file: quick.json, a scenario of a quick quadratic.
struct lab_program {
  temporary_directory folder;
  lab_program() {
    folder.write("quick.json", R"({"name": "quick", "objective": {"kind": "quadratic"}, "cluster": {"cores": 4}})");
  }
  [[nodiscard]] outcome run(const std::string& arguments) const {
    return shell("cd '" + folder.path().string() + "' && '" RUBATO_LAB_BINARY "' " + arguments);
  }
  [[nodiscard]] outcome compare(const std::string& arguments) const {
    return run("compare --scenario quick.json --seeds 3 " + arguments);
  }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream stream{folder.path() / name, std::ios::binary};
    return {std::istreambuf_iterator<char>{stream}, {}};
  }
};

}  // namespace rubato::test

#endif
