#ifndef RUBATO_EXAMPLES_SUPPORT_SHELL_WORD_HPP
#define RUBATO_EXAMPLES_SUPPORT_SHELL_WORD_HPP

#include <string>
#include <string_view>

namespace rubato::support {

/// `text` as a shell takes it for one word: in quotes where it must be.
/// Tests   tests/examples/shell_word_test.cpp: ShellReadsItBack
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace rubato::support

#endif
