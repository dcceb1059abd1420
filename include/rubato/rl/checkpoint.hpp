#ifndef RUBATO_RL_CHECKPOINT_HPP
#define RUBATO_RL_CHECKPOINT_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/archive.hpp"
#include "../core/result.hpp"
#include "../io/atomic_file.hpp"
#include "../io/regular_file.hpp"
#include "../io/utf8.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// Files that hold a training between two episodes: the configuration it belongs to, its state, and a checksum.
///
/// Tests   tests/rl/training_test.cpp: AnotherConfigurationIsRefused, DamagedCheckpointsAreRefused,
///         MissingCheckpointIsAnIoError, WhatCannotBeLoadedIsNotWritten,
///         OfNoRegularFileAndOfTooLargeOnesNothingIsRead
namespace detail {

inline constexpr std::string_view checkpoint_kind = "rubato.training";
inline constexpr std::uint32_t checkpoint_version = 2;
inline constexpr std::uint64_t largest_checkpoint = std::uint64_t{1} << 32;  // bytes: more is neither written nor read

/// Writes what `state(archive&)` saves under this configuration, whole or not at all; so not what it would not load.
template <class State>
[[nodiscard]] result<std::uint64_t> write_checkpoint(const std::string& path, std::vector<std::string> configuration,
                                                     State&& state) {
  archive out;
  std::string kind{checkpoint_kind};
  std::uint32_t version = checkpoint_version;
  auto lines = static_cast<std::uint32_t>(configuration.size());
  out.text(kind);
  out(version, lines);
  for (std::string& line : configuration) out.text(line);
  state(out);
  if (!out.ok()) return error{errc::corrupt, path + ": not written: found a state that could not be loaded again"};
  out.seal();
  if (out.bytes().size() > largest_checkpoint)
    return error{errc::io, path + ": not written: found " + std::to_string(out.bytes().size()) +
                               " bytes of state, expected at most " + std::to_string(largest_checkpoint)};
  return write_file(path, {reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()});
}

/// Loads what write_checkpoint() wrote under the same configuration, by calling state(archive&).
/// Errors  io; corrupt: not what was written; wrong_kind: no checkpoint, or one of another version or configuration,
///         naming the first setting that differs.
template <class State>
[[nodiscard]] error read_checkpoint(const std::string& path, const std::vector<std::string>& configuration,
                                    State&& state) {
  const auto unreadable = [&](const std::string& why) { return error{errc::io, "cannot read " + path + ": " + why}; };
  result<regular_file> file = regular_file::open(path);
  if (!file) return unreadable(file.error().message);
  archive begin;
  std::string own_kind{checkpoint_kind};
  begin.text(own_kind);
  const result<file_bytes> bytes = file->content(largest_checkpoint, begin.bytes());
  if (!bytes) return unreadable(bytes.error().message);
  if (peek_kind(bytes->span()) != checkpoint_kind) return {errc::wrong_kind, path + ": not a training checkpoint"};

  archive in{bytes->span()};
  if (!in.unseal()) return {errc::corrupt, path + ": the checksum does not match; the file is damaged"};
  std::string kind;
  std::uint32_t version = 0, lines = 0;
  in.text(kind);
  in(version, lines);
  if (version != checkpoint_version)
    return {errc::wrong_kind, path + ": checkpoint version " + std::to_string(version) + ", expected " +
                                  std::to_string(checkpoint_version)};
  for (std::uint32_t i = 0; i < lines && in.ok(); ++i) {
    std::string line;
    in.text(line);
    const bool more = i >= configuration.size();
    const std::string expected = more ? "no more settings" : configuration[i];
    if (in.ok() && (more || line != expected)) {
      const std::string found = is_plain(line) ? line : in_quotes(line);
      return {errc::wrong_kind, path + ": trained with " + found + ", expected " + expected};
    }
  }
  if (in.ok() && lines < configuration.size())
    return {errc::wrong_kind, path + ": trained without " + configuration[lines]};
  state(in);
  if (!in.finished()) return {errc::corrupt, path + ": the content does not fit its configuration"};
  return {};
}

}  // namespace detail
}  // namespace rubato::inline RUBATO_ABI::rl

#endif
