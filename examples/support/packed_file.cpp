#include "packed_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace rubato::support {
namespace {

constexpr const char* something_follows = "found bytes after the end of the gzip data, expected nothing there";
constexpr uLong magic_size = 2;  // of a member

}  // namespace

void packed_file::closer::operator()(z_stream_s* stream) const noexcept {
  inflateEnd(stream);
  delete stream;
}

packed_file::packed_file(const std::filesystem::path& file) : file_{file}, buffer_(std::size_t{1} << 17) {
  refill();
  if (filled_ < magic_size || buffer_[0] != '\x1f' || buffer_[1] != '\x8b') return;
  unpacking_.reset(new z_stream{});
  constexpr int gzip = 16 + MAX_WBITS;
  if (inflateInit2(unpacking_.get(), gzip) != Z_OK) throw std::bad_alloc{};
}

void packed_file::refill() {
  at_ = 0;
  filled_ = file_.read(buffer_);
}

std::size_t packed_file::read(std::span<char> to) { return unpacking_ ? unpack(to) : copy(to); }

std::size_t packed_file::copy(std::span<char> to) {
  const std::size_t known = std::min(to.size(), filled_ - at_);
  std::copy_n(buffer_.data() + at_, known, to.data());
  at_ += known;
  return known + (known < to.size() ? file_.read(to.subspan(known)) : 0);
}

std::size_t packed_file::unpack(std::span<char> to) {
  constexpr std::size_t most = std::numeric_limits<uInt>::max();
  z_stream& z = *unpacking_;
  std::size_t done = 0;
  while (done < to.size() && problem_.empty()) {
    if (at_ == filled_) refill();
    if (filled_ == 0) {
      if (!between_) end_early();
      break;
    }
    if (between_) {
      inflateReset(&z);
      between_ = first_ = false;
    }
    const std::size_t room = std::min(to.size() - done, most);
    z.next_in = reinterpret_cast<Bytef*>(buffer_.data() + at_);
    z.avail_in = static_cast<uInt>(filled_ - at_);
    z.next_out = reinterpret_cast<Bytef*>(to.data() + done);
    z.avail_out = static_cast<uInt>(room);
    const int code = inflate(&z, Z_NO_FLUSH);
    at_ = filled_ - z.avail_in;
    done += room - z.avail_out;
    note(code);
  }
  return done;
}

void packed_file::end_early() {
  cut_off_ = first_ || unpacking_->total_in >= magic_size;
  problem_ = cut_off_ ? "found a gzip file that ends early, expected the rest of it" : something_follows;
}

void packed_file::note(int code) {
  if (code == Z_STREAM_END)
    between_ = true;
  else if (code == Z_DATA_ERROR && !first_ && unpacking_->total_in <= magic_size)
    problem_ = something_follows;
  else if (code == Z_MEM_ERROR)
    throw std::bad_alloc{};
  else if (code != Z_OK && code != Z_BUF_ERROR)
    problem_ = std::string{"found corrupt gzip data ("} + (unpacking_->msg ? unpacking_->msg : zError(code)) +
               "), expected intact gzip data";
}

}  // namespace rubato::support
