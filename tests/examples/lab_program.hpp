#ifndef RUBATO_TESTS_EXAMPLES_LAB_PROGRAM_HPP
#define RUBATO_TESTS_EXAMPLES_LAB_PROGRAM_HPP

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
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
  /// The same with a signal as soon as a first result is in the cache.
  [[nodiscard]] outcome interrupted(const std::string& arguments, const std::string& signal = "INT") const {
    return shell(
        "cd '" + folder.path().string() + "' || exit; '" RUBATO_LAB_BINARY "' " + arguments +
        " & for i in $(seq 600); do cat out/cache/* 2>/dev/null | grep -q . && break; sleep 0.05; done; kill -" +
        signal + " $!; wait $!");
  }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream stream{folder.path() / name, std::ios::binary};
    return {std::istreambuf_iterator<char>{stream}, {}};
  }
};

/// That what such a command keeps when it is interrupted is enough for it to go on, as if nothing had happened.
inline void expect_it_goes_on(const std::string& command) {
  const lab_program lab;
  const outcome got = lab.interrupted(command + " --quiet --json a.json --threads 1 2>&1");
  EXPECT_EQ(got.status, 130) << got.text;
  EXPECT_NE(got.text.find("INTERRUPTED"), std::string::npos) << got.text;
  EXPECT_NE(got.text.find("rubato-lab: interrupted; partial result in a.json.partial; the same command goes on\n"),
            std::string::npos)
      << got.text;
  EXPECT_FALSE(std::filesystem::exists(lab.folder.path() / "a.json"));
  EXPECT_EQ(nlohmann::json::parse(lab.content("a.json.partial"))["interrupted"], true);
  EXPECT_EQ(lab.run(command + " --quiet --json a.json").status, 0);
  EXPECT_EQ(lab.run(command + " --quiet --json b.json --no-cache").status, 0);
  EXPECT_EQ(lab.content("a.json"), lab.content("b.json"));
  EXPECT_FALSE(std::filesystem::exists(lab.folder.path() / "a.json.partial"));
}

}  // namespace rubato::test

#endif
