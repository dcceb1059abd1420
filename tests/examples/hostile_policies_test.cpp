// What the program does with files that anybody may have written.
#include "hostile_policies.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "lab_program.hpp"

namespace {

namespace fs = std::filesystem;
using rubato::test::foreign_policies;
using rubato::test::hostile_cards;
using rubato::test::hostile_containers;
using rubato::test::hostile_policy;
using rubato::test::lab_program;
using rubato::test::outcome;

// "byte 17" as "byte N": where in a file something is depends on how long the version's name is.
std::string without_places(std::string text) {
  constexpr std::string_view word = "byte ";
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    at += word.size();
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    if (end > at) text.replace(at, end - at, "N");
  }
  return text;
}

// One line on standard error, status 2, nothing else.
void expect_refusal(const lab_program& lab, const std::string& arguments, const std::string& line) {
  const auto files = [&] { return std::distance(fs::directory_iterator{lab.folder.path()}, {}); };
  const auto before = files();
  const outcome all = lab.run(arguments + " 2>&1");
  EXPECT_EQ(all.status, 2) << arguments << '\n' << all.text;
  EXPECT_EQ(without_places(all.text), "rubato-lab: " + line + '\n');
  EXPECT_EQ(lab.run(arguments + " 2>/dev/null").text, "") << arguments;
  EXPECT_EQ(files(), before) << arguments;
}

void write(const lab_program& lab, const hostile_policy& policy) {
  lab.folder.write(policy.name + ".safetensors", std::string_view{policy.bytes});
}

TEST(HostilePolicies, AreRefusedInOneLine) {
  for (const auto& list : {hostile_containers(), hostile_cards()})
    for (const hostile_policy& each : list) {
      const lab_program lab;
      write(lab, each);
      const std::string path = each.name + ".safetensors", line = path + ": " + each.message;
      expect_refusal(lab, "compare --scenario quick.json --policies asp,file:" + path, "--policies: " + line);
      expect_refusal(lab, "inspect " + path, line);
    }
}

TEST(HostilePolicies, OfOtherBuildsAreShownButNotRun) {
  for (const hostile_policy& each : foreign_policies()) {
    const lab_program lab;
    write(lab, each);
    const std::string path = each.name + ".safetensors", line = path + ": " + each.message;
    expect_refusal(lab, "compare --scenario quick.json --policies file:" + path, "--policies: " + line);
    const outcome shown = lab.run("inspect " + path + " 2>&1");
    EXPECT_EQ(shown.status, 0) << shown.text;
    EXPECT_NE(shown.text.find("runs here    no: " + line + '\n'), std::string::npos) << shown.text;
  }
}

TEST(HostilePolicies, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const auto& list : {hostile_containers(), hostile_cards(), foreign_policies()})
    for (const hostile_policy& each : list) EXPECT_TRUE(names.insert(each.name).second) << each.name;
}

TEST(HostilePolicies, WhatIsNoFile) {
  const lab_program lab;
  fs::create_directory(lab.folder.path() / "folder");
  ASSERT_EQ(::mkfifo((lab.folder.path() / "pipe").c_str(), 0600), 0);
  for (const auto& [path, why] : std::vector<std::pair<std::string, std::string>>{
           {"missing", "No such file or directory"},
           {"quick.json/x", "Not a directory"},
           {"folder", "found a directory, expected a regular file"},
           {"pipe", "found a device or pipe, expected a regular file"},
           {"/dev/zero", "found a device or pipe, expected a regular file"}}) {
    expect_refusal(lab, "compare --policies file:" + path, "--policies: cannot read " + path + ": " + why);
    expect_refusal(lab, "compare --policies rlp:" + path, "--policies: cannot read " + path + ": " + why);
    expect_refusal(lab, "inspect --json " + path, "cannot read " + path + ": " + why);
  }
}

}  // namespace
