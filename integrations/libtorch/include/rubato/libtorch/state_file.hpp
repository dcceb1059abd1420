#ifndef RUBATO_LIBTORCH_STATE_FILE_HPP
#define RUBATO_LIBTORCH_STATE_FILE_HPP

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/pickler.h>
#include <torch/nn/module.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <rubato/core/result.hpp>
#include <rubato/io/atomic_file.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sentence.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

namespace detail {

inline std::map<std::string, torch::Tensor> named_state(const torch::nn::Module& module) {
  std::map<std::string, torch::Tensor> all;
  for (const auto& each : module.named_parameters()) all.emplace(each.key(), each.value());
  for (const auto& each : module.named_buffers()) all.emplace(each.key(), each.value());
  return all;
}

/// The file that torch.save() writes of a dictionary. torch::pickle_save() would put a type of TorchScript beside it,
/// which torch.load() refuses to build where it loads weights only.
inline std::string saved(const c10::Dict<std::string, torch::Tensor>& state) {
  std::string dictionary, file;
  torch::jit::Pickler pickler{[&](const char* bytes, std::size_t n) { dictionary.append(bytes, n); },
                              nullptr,
                              nullptr,
                              nullptr,
                              nullptr,
                              false};
  pickler.protocol();
  pickler.pushIValue(state);
  pickler.stop();
  caffe2::serialize::PyTorchStreamWriter archive{[&](const void* bytes, std::size_t n) {
    file.append(static_cast<const char*>(bytes), n);
    return n;
  }};
  archive.writeRecord("data.pkl", dictionary.data(), dictionary.size());
  std::size_t nth = 0;
  for (const torch::Tensor& each : pickler.tensorData()) {
    const auto content = torch::jit::getWriteableTensorData(each);
    archive.writeRecord("data/" + std::to_string(nth++), content.data(), content.sizeInBytes());
  }
  archive.writeEndOfFile();
  return file;
}

/// Whether these bytes end as an archive of torch does. Where they do not, torch's own reader looks beyond them.
[[nodiscard]] inline bool ends_as_archive(std::string_view bytes) noexcept {
  constexpr std::string_view mark{"PK\x05\x06"};
  constexpr std::size_t last_record = 22;  // of a zip archive without a comment
  return bytes.size() >= last_record && bytes.substr(bytes.size() - last_record, mark.size()) == mark;
}

/// The dictionary of tensors in a file, all of them, or what is wrong with it.
inline result<std::map<std::string, torch::Tensor>> tensors_in(const std::string& path) {
  std::vector<char> bytes;
  try {  // the standard library throws where a folder is read
    std::ifstream file{path, std::ios::binary};
    if (!file) return error{errc::io, "cannot read " + path};
    bytes.assign(std::istreambuf_iterator<char>{file}, {});
  } catch (const std::exception& e) {
    return error{errc::io, "cannot read " + path + ": " + sentence_of(e)};
  }
  if (!ends_as_archive({bytes.data(), bytes.size()}))
    return error{errc::corrupt, path + ": not a state that torch has saved: it does not end as one, or is cut off"};
  std::map<std::string, torch::Tensor> all;
  try {
    const torch::IValue value = torch::jit::pickle_load(bytes);
    if (!value.isGenericDict()) return error{errc::corrupt, path + ": not a dictionary of tensors"};
    for (const auto& each : value.toGenericDict()) {
      if (!each.key().isString() || !each.value().isTensor())
        return error{errc::corrupt, path + ": not a dictionary of tensors"};
      all.emplace(each.key().toStringRef(), each.value().toTensor());
    }
  } catch (const std::exception& e) {
    return error{errc::corrupt, path + ": not a state that torch has saved: " + sentence_of(e)};
  }
  return all;
}

}  // namespace detail

/// Writes parameters and buffers under their names, as torch.save(module.state_dict(), path) does in Python, complete
/// or not at all:
///
///     model.load_state_dict(torch.load(path))
///
/// Returns the number of bytes. Errors: io.
/// Tests   tests/integrations/libtorch/state_file_test.cpp: RoundTrip, PythonReadsIt
inline result<std::uint64_t> save_state(const std::string& path, const torch::nn::Module& module) {
  const torch::NoGradGuard no_graph;
  try {
    c10::Dict<std::string, torch::Tensor> state;
    // A copy of each: they may be views of one tensor, of which every one would be written whole.
    for (const auto& [name, tensor] : detail::named_state(module)) state.insert(name, tensor.detach().clone());
    return write_file(path, detail::saved(state));
  } catch (const std::exception& e) {
    return error{errc::io, path + ": " + sentence_of(e)};
  }
}

/// Reads what save_state() wrote into a module with the same names and shapes. The number of tensors. All of it is
/// looked at before anything is changed. The file is from somebody whom you trust: libtorch's reader is not made for
/// others.
///
/// Of Python's files it reads torch.save(dict(module.state_dict()), path); libtorch 1.13 wants two tensors in it at
/// least.
///
/// Errors  io; corrupt: not such a file; wrong_kind: of another module, with the name that is wrong
/// Tests   tests/integrations/libtorch/state_file_test.cpp: RoundTrip, ReadsWhatPythonWrote, RefusesOtherModules,
///         RefusesWhatIsNoState
inline result<std::uint64_t> load_state(const std::string& path, const torch::nn::Module& module) {
  const auto read = detail::tensors_in(path);
  if (!read) return read.error();
  const std::map<std::string, torch::Tensor>& saved = *read;
  const torch::NoGradGuard no_graph;
  std::map<std::string, torch::Tensor> wanted = detail::named_state(module);
  for (const auto& [name, tensor] : saved)
    if (!wanted.contains(name)) return error{errc::wrong_kind, path + ": the module has no " + name};
  for (const auto& [name, tensor] : wanted) {
    const auto found = saved.find(name);
    if (found == saved.end()) return error{errc::wrong_kind, path + ": there is no " + name};
    if (found->second.sizes() != tensor.sizes() || found->second.scalar_type() != tensor.scalar_type())
      return error{errc::wrong_kind, path + ": " + name + " is of another shape or type than the module's"};
  }
  for (auto& [name, tensor] : wanted) tensor.copy_(saved.at(name));
  return std::uint64_t{wanted.size()};
}

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
