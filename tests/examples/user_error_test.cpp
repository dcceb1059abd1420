#include "../../examples/support/user_error.hpp"

#include <gtest/gtest.h>

namespace {

TEST(UserError, MessageIsOneLineWithoutControlCharacters) {
  EXPECT_STREQ(rubato::support::user_error{"a\nb\x1b[2Jc\td"}.what(), "a?b?[2Jc?d");
}

TEST(UserError, MessageHasNoHiddenCharacters) {
  EXPECT_STREQ(rubato::support::user_error{"a\u202Eb\xC2\x9B\xFF" "c\u00E4"}.what(), "a???b???c\u00E4");
}

}  // namespace
