#include "result_output.hpp"

#include <iostream>

#include "interrupt.hpp"

namespace rubato::lab {
namespace {

[[nodiscard]] output_file opened(const std::string& name, const std::vector<named_file>& inputs) {
  check_outputs(inputs, {{"--json", name}});
  return {name == "-" ? "" : name, "--json"};
}

}  // namespace

result_output::result_output(const std::string& name, const std::vector<named_file>& inputs)
    : to_screen_{name == "-"}, file_{opened(name, inputs)} {}

int result_output::put(const std::string& document, const std::string& text) {
  file_.write(document);  // before the text: whoever reads that may close the pipe
  file_.remove_partial();
  std::cout << (to_screen_ ? document : text) << std::flush;
  return 0;
}

int result_output::put_partial(const std::string& document, const std::string& text, bool kept) {
  const std::string partial = file_.write_partial(document);
  if (!to_screen_) std::cout << text << std::flush;
  std::cerr << "rubato-lab: interrupted" << (to_screen_ ? "; --json -: nothing printed" : "")
            << (partial.empty() ? "" : "; partial result in " + partial)
            << (kept ? "; the same command goes on" : "; nothing else is kept") << '\n';
  return interrupted_status();
}

}  // namespace rubato::lab
