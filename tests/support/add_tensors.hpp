#ifndef RUBATO_TESTS_SUPPORT_ADD_TENSORS_HPP
#define RUBATO_TESTS_SUPPORT_ADD_TENSORS_HPP

#include <gtest/gtest.h>

#include <initializer_list>
#include <rubato/io/safetensors.hpp>
#include <rubato/io/safetensors_writer.hpp>
#include <string>
#include <vector>

namespace rubato::test {

/// Writes a file anew, with these tensors besides those that it has; all of them have these values.
template <class Number>
void add_tensors(const std::string& path, std::initializer_list<const char*> names, const std::vector<Number>& values) {
  const auto file = safetensors::load(path);
  ASSERT_TRUE(file) << file.error().message;
  safetensors_writer out;
  for (const auto& [key, text] : file->metadata()) out.metadata(key, text);
  for (const tensor& each : file->tensors()) out.add(each);
  for (const char* name : names) out.add(name, {values.size()}, values);
  ASSERT_TRUE(out.save(path));
}

}  // namespace rubato::test

#endif
