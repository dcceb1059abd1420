#include "text_lines.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "user_error.hpp"

namespace rubato::support {

void text_lines::closer::operator()(gzFile_s* file) const noexcept { gzclose_r(file); }

text_lines::text_lines(const std::filesystem::path& file, std::size_t longest)
    : name_{file.string()}, longest_{longest}, buffer_(std::size_t{1} << 16) {
  errno = 0;
  handle_.reset(gzopen(name_.c_str(), "rb"));
  if (!handle_) throw user_error{name_ + ": cannot be opened: " + std::strerror(errno != 0 ? errno : ENOMEM)};
  gzbuffer(handle_.get(), 1U << 17);
}

std::string text_lines::place() const { return name_ + ":" + std::to_string(number_); }

bool text_lines::fill() {
  const int got = gzread(handle_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int code = Z_OK;
  const char* const text = gzerror(handle_.get(), &code);
  if (code == Z_BUF_ERROR)
    cut_off_ = true;
  else if (code == Z_ERRNO)
    throw user_error{name_ + ": cannot be read: " + std::strerror(errno)};
  else if (code != Z_OK && code != Z_STREAM_END)
    throw user_error{name_ + ": found corrupt gzip data (" + text + "), expected intact gzip data"};
  at_ = 0;
  filled_ = got > 0 ? static_cast<std::size_t>(got) : 0;
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
  if (at_ == filled_ && !fill()) return false;
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
