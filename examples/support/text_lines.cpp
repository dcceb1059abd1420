#include "text_lines.hpp"

#include <algorithm>

namespace rubato::support {

text_lines::text_lines(const std::filesystem::path& file, std::size_t longest)
    : file_{file}, longest_{longest}, buffer_(std::size_t{1} << 16) {}

std::string text_lines::place() const {
  return file_.name() + (number_ > 0 ? ":" + std::to_string(number_) : std::string{});
}

// False at the end, also where a gzip file ends early: what there is of its last line is given first.
bool text_lines::fill() {
  at_ = 0;
  filled_ = file_.read(buffer_);
  if (filled_ == 0 && !file_.problem().empty() && !file_.cut_off()) throw user_error{place() + ": " + file_.problem()};
  return filled_ > 0;
}

bool text_lines::next(std::string& line) {
  line.clear();
  return read(&line);
}

bool text_lines::skip() { return read(nullptr); }

bool text_lines::read(std::string* line) {
  if (within_) to_the_end(nullptr);
  ended_ = false;
  if (at_ == filled_ && !fill()) {
    if (file_.cut_off()) throw ends_early{place() + ": " + file_.problem()};
    return false;
  }
  ++number_;
  to_the_end(line);
  return true;
}

void text_lines::to_the_end(std::string* line) {
  within_ = true;
  do {
    const char* const from = buffer_.data() + at_;
    const char* const to = buffer_.data() + filled_;
    const char* const end = std::find(from, to, '\n');
    if (line != nullptr) line->append(from, end);
    if (line != nullptr && line->size() > longest_)
      throw user_error{place() + ": found a line of more than " + std::to_string(longest_) +
                       " bytes, expected a shorter one"};
    at_ = static_cast<std::size_t>(end - buffer_.data());
    if (end != to) ++at_, ended_ = true;
  } while (!ended_ && fill());
  within_ = false;
}

}  // namespace rubato::support
