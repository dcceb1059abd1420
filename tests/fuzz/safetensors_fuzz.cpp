// Files in the safetensors format. What is accepted is written again and read back alike; a byte more or less is
// refused.
#include <algorithm>
#include <rubato/io/safetensors.hpp>
#include <rubato/io/safetensors_writer.hpp>
#include <rubato/io/utf8.hpp>
#include <string>
#include <string_view>

#include "../support/container_bytes.hpp"
#include "fuzz_target.hpp"

namespace rubato::fuzz {
namespace of_safetensors {

result<safetensors> parsed(std::string_view bytes, safetensors_limits limits = {}) {
  return safetensors::parse(span_of(bytes), "file", limits);
}

std::string rewritten(const safetensors& file) {
  safetensors_writer writer;
  for (const auto& [key, value] : file.metadata()) writer.metadata(key, value);
  for (const tensor& t : file.tensors()) writer.add(t);
  std::string text;
  auto sink = [&](std::string_view bytes) noexcept { text += bytes; };
  const auto size = writer.write(sink);
  require(size && *size == text.size(), "what is read can be written", size ? "" : size.error().message);
  return text;
}

void require_sentence(const error& e) {
  require(e.code == errc::corrupt && e.message.starts_with("file: ") && is_plain(e.message),
          "a refusal says what, in plain text:", e.message);
  require(e.message.size() < 1000, "a refusal is short");
}

// The first bytes are a length and a header where the input asks for it, so that a change of them does not end it all.
std::string file_of(input bytes) {
  input_reader in{bytes};
  if (in.byte() % 2 == 0) return std::string{text_of(in.rest())};
  const std::string_view header = text_of(in.take_part());
  return test::container(header, text_of(in.rest()));
}

void run(input bytes) {
  const std::string text = file_of(bytes);
  const result<safetensors> file = parsed(text);
  if (!file) return require_sentence(file.error());

  for (const tensor& t : file->tensors()) {
    const auto size = rubato::bytes_of(t.type, t.shape);
    require(size && *size == t.bytes.size() && file->find(t.name) == &t, "tensors have the size of their shape");
  }
  const std::string again = rewritten(*file);
  const result<safetensors> second = parsed(again);
  require(second.operator bool(), "what is written is read", second ? "" : second.error().message);
  require(rewritten(*second) == again, "it is the same bytes then");
  require(second->tensors().size() == file->tensors().size(), "no tensor is lost");
  for (const tensor& t : file->tensors()) {
    const tensor* same = second->find(t.name);
    require(
        same != nullptr && same->type == t.type && same->shape == t.shape && std::ranges::equal(same->bytes, t.bytes),
        "every tensor comes back");
  }
  require(std::ranges::equal(second->metadata(), file->metadata(),
                             [](const auto& a, const auto& b) { return a.key == b.key && a.value == b.value; }),
          "metadata come back");

  for (const std::string& other : {text.substr(0, text.size() - 1), text + ' '}) {
    const result<safetensors> refused = parsed(other);
    require(!refused, "a byte less or more is refused");
    require_sentence(refused.error());
  }
  const result<safetensors> tight = parsed(text, {.header = text.size(), .data = 0});
  require(tight.operator bool() == std::ranges::all_of(file->tensors(), [](const auto& t) { return t.bytes.empty(); }),
          "the limit on data holds");
}

const registered here{"safetensors", run};

}  // namespace of_safetensors
}  // namespace rubato::fuzz
