// Reads a Chrome trace as an importer does, which takes its events in the order of the file for each track.
#ifndef RUBATO_TESTS_SUPPORT_TRACE_CHECK_HPP
#define RUBATO_TESTS_SUPPORT_TRACE_CHECK_HPP

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rubato::test {

struct trace_span {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  nlohmann::json args{};  // of begin and end
};
struct trace_mark {
  std::string name;
  std::int64_t at = 0;
  nlohmann::json args{};
};
// One gradient: the spans that it goes through.
struct trace_arrow {
  std::vector<int> threads{};
  std::vector<std::string> spans{};
  std::string phases{};  // "stf", say
};

struct read_trace {
  std::map<int, std::vector<trace_span>> spans{};  // by thread
  std::map<int, std::vector<trace_mark>> marks{};
  std::map<std::uint64_t, trace_arrow> arrows{};  // by id
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> curves{};
  std::map<int, std::string> names{};  // of threads
  nlohmann::json other{};

  [[nodiscard]] std::vector<trace_span> of(int thread, const std::string& name) const {
    std::vector<trace_span> chosen;
    if (const auto at = spans.find(thread); at != spans.end())
      for (const trace_span& each : at->second)
        if (each.name == name) chosen.push_back(each);
    return chosen;
  }
};

// Whatever would make an importer drop or misplace something is a failure of the test.
inline read_trace check_trace(const std::string& text, int workers) {
  read_trace read;
  const nlohmann::json all = nlohmann::json::parse(text, nullptr, false);
  EXPECT_FALSE(all.is_discarded()) << text.substr(0, 200);
  if (all.is_discarded()) return read;
  std::map<int, std::optional<trace_span>> open;
  std::map<std::string, std::int64_t> latest;  // of each track
  for (const nlohmann::json& e : all.at("traceEvents")) {
    const std::string phase = e.at("ph"), name = e.value("name", "");
    EXPECT_TRUE(e.at("pid").is_number_integer()) << e;
    if (phase == "M") {
      if (name == "thread_name") {
        EXPECT_TRUE(read.names.emplace(e.at("tid"), e.at("args").at("name")).second) << e;
      }
      continue;
    }
    EXPECT_TRUE(e.at("ts").is_number_integer()) << e;
    const std::int64_t at = e.at("ts");
    const std::string track = phase == "C" ? name : std::to_string(e.at("tid").get<int>());
    const auto [before, is_first] = latest.emplace(track, at);
    EXPECT_LE(before->second, at) << "times run back on track " << track << ": " << e;
    before->second = at;
    if (phase == "C") {
      EXPECT_TRUE(e.at("args").at(name).is_number()) << e;
      read.curves[name].emplace_back(at, e.at("args").at(name));
      continue;
    }
    const int thread = e.at("tid");
    EXPECT_TRUE(thread >= 1 && thread <= workers + 1) << e;
    std::optional<trace_span>& now = open[thread];
    if (phase == "B") {
      EXPECT_FALSE(now) << "a span within a span: " << e;
      EXPECT_FALSE(name.empty()) << e;
      now = trace_span{name, at, at, e.value("args", nlohmann::json::object())};
    } else if (phase == "E") {
      EXPECT_TRUE(now) << "an end without a begin: " << e;
      if (!now) continue;
      now->end = at;
      now->args.update(e.value("args", nlohmann::json::object()));
      read.spans[thread].push_back(*now);
      now.reset();
    } else if (phase == "i") {
      EXPECT_EQ(e.at("s"), "t") << e;
      EXPECT_FALSE(name.empty()) << e;
      read.marks[thread].push_back({name, at, e.at("args")});
    } else if (phase == "s" || phase == "t" || phase == "f") {
      trace_arrow& arrow = read.arrows[e.at("id")];
      EXPECT_EQ(phase == "s", arrow.phases.empty()) << "an arrow begins once, and first: " << e;
      EXPECT_EQ(arrow.phases.find('f'), std::string::npos) << "an arrow goes on after its end: " << e;
      EXPECT_TRUE(now) << "an arrow that is bound to no span: " << e;
      EXPECT_EQ(e.at("cat"), "gradient") << e;
      if (phase == "f") {
        EXPECT_EQ(e.at("bp"), "e") << "bound to the span that comes next: " << e;
      }
      arrow.phases += phase;
      arrow.threads.push_back(thread);
      arrow.spans.push_back(now ? now->name : "");
    } else {
      ADD_FAILURE() << "a phase that is not expected: " << e;
    }
  }
  for (const auto& [thread, span] : open) {
    EXPECT_FALSE(span) << "without an end on thread " << thread;
    EXPECT_TRUE(read.names.contains(thread)) << "thread " << thread << " has no name";
  }
  read.other = all.at("otherData");
  return read;
}

}  // namespace rubato::test

#endif
