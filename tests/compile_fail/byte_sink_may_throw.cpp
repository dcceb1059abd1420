// expect: (template argument deduction failed|no viable constructor or deduction guide) *(:|for .*json_writer)
#include <rubato/io/json_writer.hpp>

void write() {
  auto sink = [](std::string_view) {};
  rubato::json_writer json{sink};
}
