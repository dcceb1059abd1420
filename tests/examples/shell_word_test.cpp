#include "../../examples/support/shell_word.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace {

using rubato::support::shell_word;

std::string as_the_shell_reads(const std::string& word) {
  std::FILE* const shell = popen(("printf %s " + word).c_str(), "r");
  std::string text;
  for (int c = std::fgetc(shell); c != EOF; c = std::fgetc(shell)) text += static_cast<char>(c);
  return pclose(shell) == 0 ? text : "the shell failed";
}

TEST(ShellWord, ShellReadsItBack) {
  for (const char* text : {"plain", "a/b.c:d=e,f", "", "two words", "it's", "'", "$HOME", "[0,1]", "a\nb", "\\", "*", "~"})
    EXPECT_EQ(as_the_shell_reads(shell_word(text)), text);
  EXPECT_EQ(shell_word("objective.hidden_layers=0"), "objective.hidden_layers=0") << "no quotes where none are needed";
}

}  // namespace
