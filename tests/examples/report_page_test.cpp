#include "../../examples/lab/page/report_page.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "../../examples/lab/number_text.hpp"
#include "../../examples/lab/page/log_article.hpp"
#include "../../examples/lab/page/style.hpp"
#include "../../examples/lab/report.hpp"
#include "../../examples/support/user_error.hpp"
#include "lab_bench.hpp"
#include "lab_program.hpp"
#include "logged_run.hpp"

namespace {

using namespace rubato::lab;
using nlohmann::json;
using page::article;
using rubato::support::user_error;
using rubato::test::lab_bench;
using rubato::test::lab_program;
using rubato::test::message_of;
using rubato::test::quick;

const json& result() {
  static const json made = [] {
    lab_bench bench;
    return to_json(bench.compare(quick("bsp:sum,asp,ssp:3", 4)));
  }();
  return made;
}

article article_of(const json& document) { return article_about(page::read_result(document.dump(), "r.json"), "result-1"); }
std::string page_of(const json& document) { return page::report_page({article_of(document)}); }
std::string refusal(const std::string& text) {
  return message_of<user_error>([&] { return page::read_result(text, "r.json"); });
}
std::string refusal(const json& document) { return refusal(document.dump()); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

article log_article(const std::string& text) {
  const rubato::test::temporary_directory folder;
  folder.write("log", text);
  page::log_story story = page::read_story((folder.path() / "log").string());
  story.name = "run.jsonl";
  return article_about(story, "log-1");
}

std::string straggler_log() {
  rubato::sim::cluster_options machines;
  machines.workers = 4;
  machines.step_time = {1, 1, 1, 4};
  return rubato::test::log_text(machines, "asp", 400);
}

TEST(ReportPage, TheNumbersOfTheResultAreThere) {
  const std::string html = page_of(result());
  for (const json& row : result()["rows"]) {
    EXPECT_TRUE(has(html, ">" + row["policy"].get<std::string>() + "<"));
    for (const auto* name : {"time_iqm", "time_lo", "time_hi", "pushes", "updates", "staleness_mean", "staleness_p95"})
      EXPECT_TRUE(has(html, sensible(row[name]))) << row["policy"] << " " << name << " " << row[name];
    for (const auto* name : {"speedup", "speedup_lo", "speedup_hi"}) EXPECT_TRUE(has(html, two_decimals(row[name])));
    EXPECT_TRUE(has(html, percent(row["idle_share"])));
    EXPECT_TRUE(has(html, percent(row["final_accuracy"])));
    for (const auto& [name, bounds] : row["intervals"].items()) {
      if (std::string{name}.ends_with("share") || name == "final_accuracy" || name == "overhead") continue;
      EXPECT_TRUE(has(html, "[" + sensible(bounds[0]) + ", " + sensible(bounds[1]) + "]")) << name;
    }
    EXPECT_TRUE(has(html, sensible(row["curve"].back()["time_iqm"])));
  }
}

TEST(ReportPage, TheHeadingIsTheFinding) {
  const json* best = &result()["rows"][0];
  for (const json& row : result()["rows"])
    if (row["time_iqm"] < (*best)["time_iqm"]) best = &row;
  const article made = article_of(result());
  EXPECT_TRUE(made.heading.starts_with("quick: " + (*best)["policy"].get<std::string>() + " reaches 88.0 % accuracy first, after " +
                                       sensible((*best)["time_iqm"])))
      << made.heading;
  EXPECT_TRUE(has(made.heading, sensible((*best)["time_lo"]) + " to " + sensible((*best)["time_hi"]))) << made.heading;
}

TEST(ReportPage, WhereAPolicyLosesIsSaid) {
  json document = result();
  json& row = document["rows"][1];
  row["speedup"] = 0.5, row["speedup_lo"] = 0.4, row["speedup_hi"] = 0.8;
  EXPECT_TRUE(has(page_of(document), "Lose to bsp:sum: asp (takes 2.00\xC3\x97 as long)"));
  row["speedup_hi"] = 1.2;
  EXPECT_TRUE(has(page_of(document), "Not to be told from bsp:sum by these seeds: asp"));
  row["speedup"] = row["speedup_lo"] = row["speedup_hi"] = nullptr;
  EXPECT_TRUE(has(page_of(document), "fewer than 90 % of the runs arrived: asp (4 of 4)"));
}

TEST(ReportPage, WhatIsMissingIsSaid) {
  json document = result();
  EXPECT_TRUE(has(page_of(document), "compare --scenario quick --clairvoyant"));
  for (json& row : document["rows"]) row["curve"] = json::array();
  EXPECT_TRUE(has(page_of(document), "Accuracy over time: not in this file"));
  document["setting"]["baseline"] = nullptr;
  for (json& row : document["rows"]) row["speedup"] = row["speedup_lo"] = row["speedup_hi"] = nullptr;
  EXPECT_TRUE(has(page_of(document), "there is no bsp whose runs arrive"));
}

TEST(ReportPage, TheRoomIsShownWhereItIs) {
  lab_bench bench;
  auto asked = quick("bsp:sum,asp", 2);
  asked.clairvoyant = true;
  const json document = to_json(bench.compare(asked));
  const std::string html = page_of(document);
  EXPECT_TRUE(has(html, "The room: "));
  EXPECT_FALSE(has(html, "--clairvoyant"));
  for (const json& row : document["rows"]) EXPECT_TRUE(has(html, percent(row["regret"]))) << row["regret"];
}

TEST(ReportPage, SameFilesSameBytes) {
  EXPECT_EQ(page_of(result()), page_of(json::parse(result().dump())));
  EXPECT_EQ(page::report_page({log_article(straggler_log())}), page::report_page({log_article(straggler_log())}));
}

TEST(ReportPage, NothingIsAskedForFromAnywhere) {
  const std::string html = page::report_page({article_of(result()), log_article(straggler_log())});
  for (const auto* part : {"http:", "https:", "src=", "url(", "@import", "<script", "<link", "<iframe", "<object"})
    EXPECT_FALSE(has(html, part)) << part;
  EXPECT_TRUE(has(html, "default-src 'none'"));
}

TEST(ReportPage, HostileNamesStayText) {
  const std::string name = "<script>alert(1)</script>\"'& \xE2\x80\xAE\x07 onload=x";
  json document = result();
  document["rows"][1]["policy"] = document["rows"][1]["used"] = document["setting"]["baseline"] = name;
  document["setting"]["scenario"]["name"] = document["setting"]["scenario"]["description"] = name;
  document["setting"]["data"]["description"] = document["setting"]["version"] = document["setting"]["host"] = name;
  const article made = article_about(page::read_result(document.dump(), name + "\xFF"), "result-1");
  std::string log = straggler_log();
  const std::string header = json{{"format", "rubato.decisions"}, {"version", 1}, {"policy", name}, {"describe", {{"kind", name}}}}.dump();
  const article logged = log_article(header + log.substr(log.find('\n')));
  std::string all = page::report_page({made, logged});
  for (const auto& each : {made, logged})
    for (const page::figure& figure : each.figures) all += as_svg(figure);
  for (const auto* part : {"<script", "\"'&", "\xE2\x80\xAE", "\x07", "\xFF"}) EXPECT_FALSE(has(all, part)) << part;
  EXPECT_TRUE(has(all, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp; \xEF\xBF\xBD\xEF\xBF\xBD"));
}

TEST(ReportPage, LongNamesAreCutInDrawingsAlone) {
  json document = result();
  const std::string name = "file:" + std::string(300, 'x') + "/end.safetensors";
  document["rows"][1]["policy"] = name;
  const article made = article_of(document);
  EXPECT_TRUE(has(made.body, "<th scope=\"row\">" + name));
  EXPECT_EQ(page::shortened(name, 24), "file:xxxxxxx\xE2\x80\xA6" "safetensors");
  EXPECT_EQ(page::shortened("asp", 24), "asp");
}

TEST(ReportPage, NumbersThatCannotBeDrawnDoNoHarm) {
  json document = result();
  for (const json& extreme : {json(nullptr), json(0), json(-1e308), json(1e308), json(5e-324)}) {
    for (json& row : document["rows"])
      for (auto& [name, value] : row.items())
        if (value.is_number() || value.is_null()) value = extreme;
    for (json& each : document["rows"][0]["curve"])
      for (auto& [name, value] : each.items()) value = extreme;
    const std::string html = page_of(document);
    const std::regex coordinate{R"re( (?:x|y|x1|x2|y1|y2|cx|cy|width|height)="([^"%]*)%?")re"};
    for (auto each = std::sregex_iterator{html.begin(), html.end(), coordinate}; each != std::sregex_iterator{}; ++each) {
      const std::string text = (*each)[1];
      std::size_t used = 0;
      const double value = std::stod(text, &used);
      EXPECT_TRUE(used == text.size() && std::isfinite(value)) << text;
    }
  }
}

TEST(ReportPage, BadResultsAreRefused) {
  const std::string text = result().dump();
  EXPECT_TRUE(has(refusal(std::string{"hello"}), "r.json: line 1, byte 1"));
  EXPECT_TRUE(has(refusal(text.substr(0, text.size() / 2)), "r.json: line 1"));
  EXPECT_TRUE(has(refusal(text.substr(0, text.size() - 1) + ",\"rows\":[]}"), "\"rows\" twice"));
  EXPECT_EQ(refusal(json::array()), "r.json: found JSON without setting and rows, expected a result that `rubato-lab "
                                    "compare --json` wrote, or a decision log");
  json bad = result();
  bad["format_version"] = 2;
  EXPECT_EQ(refusal(bad), "r.json: format_version: found 2, expected at most 1: the file is of a newer rubato-lab");
  bad = result();
  bad["format"] = "other";
  EXPECT_EQ(refusal(bad), "r.json: format: found \"other\", expected rubato.comparison");
  bad = result();
  bad["rows"][2]["time_iqm"] = "soon";
  EXPECT_EQ(refusal(bad), "r.json: rows[2].time_iqm: found \"soon\", expected a number or null");
  bad = result();
  bad["rows"][1].erase("pushes");
  EXPECT_EQ(refusal(bad), "r.json: rows[1].pushes: found none, expected what `compare --json` writes");
  bad = result();
  bad["rows"][2]["policy"] = "asp";
  EXPECT_EQ(refusal(bad), "r.json: rows[2].policy: found \"asp\" twice, expected each once");
  bad = result();
  bad["rows"] = json::array();
  EXPECT_EQ(refusal(bad), "r.json: rows: found none, expected one for each policy");
  bad["rows"] = {1};
  EXPECT_EQ(refusal(bad), "r.json: rows[0]: found 1, expected an object");
  bad = result();
  bad["setting"] = 3;
  EXPECT_EQ(refusal(bad), "r.json: setting: found 3, expected an object");
  bad = result();
  bad["rows"][0]["intervals"]["pushes"] = {1, 2, 3};
  EXPECT_TRUE(has(refusal(bad), "r.json: rows[0].intervals.pushes: found [1,2,3], expected two numbers"));
  bad = result();
  bad["setting"]["targets"] = json::array();
  for (json& row : bad["rows"]) row["curve"] = json::array();
  EXPECT_EQ(refusal(bad), "") << "interrupted before its targets were found";
  bad["rows"][1]["curve"] = {{{"share", 0.5}, {"time_iqm", 1}, {"time_lo", 1}, {"time_hi", 1}}};
  EXPECT_EQ(refusal(bad), "r.json: setting.targets: found none, expected the accuracies that the curves lead to");
  bad = result();
  bad["rows"][1]["curve"] = {{{"share", "half"}}};
  EXPECT_EQ(refusal(bad), "r.json: rows[1].curve[0].share: found \"half\", expected a number or null");
  bad = result();
  bad["setting"]["targets"] = {3};
  EXPECT_EQ(refusal(bad), "r.json: setting.targets[0]: found 3, expected an object");
  bad = result();
  bad["setting"]["scenario"] = {{"name", std::string(1 << 20, 'x')}};
  EXPECT_EQ(refusal(bad), "r.json: setting.scenario: found 1048587 bytes, expected at most 1048576");
}

TEST(ReportPage, AResultOfBeforeIsRead) {
  json old = result();
  old.erase("format");
  old.erase("format_version");
  for (json& row : old["rows"]) row.erase("intervals"), row.erase("curve");
  const std::string html = page_of(old);
  EXPECT_TRUE(has(html, "Accuracy over time: not in this file"));
  EXPECT_TRUE(has(html, sensible(old["rows"][0]["pushes"])));
}

TEST(ReportPage, EveryFigureHasATableAndAName) {
  const std::string html = page::report_page({article_of(result()), log_article(straggler_log())});
  const auto count = [&](const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = html.find(part); at != std::string::npos; at = html.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_GE(count("<figure "), 10u);
  EXPECT_EQ(count("<summary>As a table</summary>"), count("<figure "));
  EXPECT_EQ(count("role=\"img\" aria-label=\""), count("<figure "));
  EXPECT_EQ(count("<table>"), count("<caption>"));
  std::set<std::string> ids;
  const std::regex id{R"re( id="([^"]*)")re"};
  for (auto each = std::sregex_iterator{html.begin(), html.end(), id}; each != std::sregex_iterator{}; ++each)
    EXPECT_TRUE(ids.insert((*each)[1]).second) << (*each)[1];
}

TEST(ReportPage, AFewFarValuesDoNotSqueezeTheOthers) {
  const double values[] = {40, 45, 120, 120, 150, 5'000}, highs[] = {60, 60, 200, 300, 310, 9'000};
  EXPECT_DOUBLE_EQ(page::axis_for(values, highs).high(), 300);
  EXPECT_TRUE(page::axis_for(values, highs).beyond(5'000));
  EXPECT_DOUBLE_EQ(page::axis_for(std::span{values}.first(2), std::span{highs}.first(2)).high(), 60);
  EXPECT_DOUBLE_EQ(page::axis_for({}, {}).high(), 1);
}

// WCAG 2.1, 1.4.3 and 1.4.11.
TEST(ReportPage, ColoursCanBeTold) {
  const auto luminance = [](const std::string& hex) {
    double sum = 0;
    const double weights[] = {0.2126, 0.7152, 0.0722};
    for (std::size_t i = 0; i < 3; ++i) {
      const double c = std::stoi(hex.substr(2 * i, 2), nullptr, 16) / 255.0;
      sum += weights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
  };
  const std::string css = page::figure_style();
  const std::size_t dark = css.find("@media (prefers-color-scheme:dark)");
  ASSERT_NE(dark, std::string::npos);
  for (const std::string& scheme : {css.substr(0, dark), css.substr(dark)}) {
    std::map<std::string, double> of;
    const std::regex variable{"--([a-z]+):#([0-9a-f]{6})"};
    for (auto each = std::sregex_iterator{scheme.begin(), scheme.end(), variable}; each != std::sregex_iterator{}; ++each)
      of[(*each)[1]] = luminance((*each)[2]);
    const auto contrast = [&](const std::string& a, const std::string& b) {
      return (std::max(of.at(a), of.at(b)) + 0.05) / (std::min(of.at(a), of.at(b)) + 0.05);
    };
    for (const auto* text : {"ink", "soft", "good"}) EXPECT_GE(contrast(text, "paper"), 4.5) << text;
    EXPECT_GE(contrast("ink", "fill"), 4.5);
    for (const auto* mark : {"good", "bad", "plain"}) EXPECT_GE(contrast(mark, "paper"), 3) << mark;
  }
}

TEST(ReportPage, TheThreeAnswersOfALog) {
  const article made = log_article(straggler_log());
  EXPECT_TRUE(made.heading.starts_with("Log of a run: worker 3 (")) << made.heading;
  EXPECT_TRUE(made.heading.ends_with("\xC3\x97) is slow")) << made.heading;
  EXPECT_TRUE(has(made.body, "Who is missing? Nobody"));
  EXPECT_TRUE(has(made.body, "What happened to the gradients? None of 40")) << made.body;
  EXPECT_TRUE(has(made.body, "asp: "));
  EXPECT_EQ(made.figures.size(), 6u);
}

TEST(ReportPage, WhoWasMissingIsToldToo) {
  rubato::sim::cluster_options machines;
  machines.workers = 3;
  machines.step_time = {1, 1, 1};
  machines.failures = {{.time = 10.5, .worker = 1},
                       {.time = 20.25, .worker = 1, .kind = rubato::sim::failure_kind::join}};
  const article made = log_article(rubato::test::log_text(machines, "asp", 300));
  EXPECT_TRUE(has(made.body, "Who is missing? Nobody"));
  EXPECT_TRUE(has(made.body, "worker 1 came back at 20.2, gone since 10.5")) << made.body;
}

TEST(ReportPage, ALogThatIsCutOffIsShownSoFar) {
  const std::string log = straggler_log();
  const article made = log_article(log.substr(0, log.size() - 30));
  EXPECT_TRUE(has(made.body, "Not read to its end: ")) << made.body;
  EXPECT_TRUE(has(made.body, "Left out: 1 line."));
  const rubato::test::temporary_directory folder;
  folder.write("log", log.substr(0, log.find('\n') + 1));
  const std::string file = (folder.path() / "log").string();
  EXPECT_EQ(message_of<user_error>([&] { return page::read_story(file); }), file + ": found no push, expected at least one");
}

TEST(ReportProgram, WritesThePageAndItsFigures) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies bsp:sum,asp --quiet --json r.json --log run.jsonl").status, 0);
  EXPECT_EQ(lab.run("report r.json run.jsonl -o a.html --svg figures").text, "written: a.html, and 11 figures in figures\n");
  EXPECT_EQ(lab.run("report r.json --log run.jsonl --out b.html").text, "written: b.html\n");
  EXPECT_EQ(lab.content("a.html"), lab.content("b.html"));
  EXPECT_TRUE(has(lab.content("a.html"), "quick: "));
  std::size_t files = 0;
  for (const auto& each : std::filesystem::directory_iterator{lab.folder.path() / "figures"}) {
    ++files;
    const std::string svg = lab.content("figures/" + each.path().filename().string());
    EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")) << each.path();
    EXPECT_TRUE(svg.ends_with("</svg>\n")) << each.path();
  }
  EXPECT_EQ(files, 11u);
  EXPECT_TRUE(has(lab.content("figures/result-1-time.svg"), "How long each takes"));
}

TEST(ReportProgram, AResultThatIsTooLargeIsRefused) {
  const lab_program lab;
  lab.folder.write("r.json", "{");
  const auto said = [&](std::uintmax_t size) {
    std::filesystem::resize_file(lab.folder.path() / "r.json", size);  // by zeros, which no disk has to hold
    return lab.run("report r.json -o a.html 2>&1").text;
  };
  constexpr std::uintmax_t most = std::uintmax_t{1} << 26;
  EXPECT_TRUE(has(said(most + 1), "found more than 67108864 bytes")) << said(most + 1);
  EXPECT_TRUE(has(said(most), "r.json: line 1")) << said(most);
}

TEST(ReportProgram, BadInputIsOneLineAndNothingIsWritten) {
  const lab_program lab;
  ASSERT_EQ(lab.compare("--policies bsp:sum,asp --quiet --json r.json --log run.jsonl").status, 0);
  lab.folder.write("empty.json", "");
  lab.folder.write("half.json", lab.content("r.json").substr(0, 500));
  lab.folder.write("old.html", "old");
  const auto refused = [&](const std::string& arguments, const std::string& said) {
    const auto got = lab.run("report " + arguments + " 2>&1");
    EXPECT_EQ(got.status, 2) << arguments;
    EXPECT_TRUE(got.text.starts_with("rubato-lab: ") && has(got.text, said)) << got.text;
    EXPECT_EQ(std::ranges::count(got.text, '\n'), 1) << got.text;
  };
  refused("-o a.html", "found neither a result nor a log");
  refused("r.json", "--out is required");
  refused("none.json -o a.html", "none.json: found no such file");
  refused(". -o a.html", "found a directory");
  refused("empty.json -o a.html", "empty.json: found an empty file");
  refused("half.json -o a.html", "half.json: line ");
  refused("quick.json -o a.html", "quick.json: found JSON without setting and rows");
  refused("r.json ./r.json -o a.html", "./r.json: found twice");
  refused("run.jsonl --log run.jsonl -o a.html", "run.jsonl: found twice");
  refused("r.json --log r.json -o a.html", "r.json: found twice");
  refused("--log quick.json -o a.html", "quick.json");
  refused("r.json -o none/a.html", "--out: cannot create none/a.html");
  refused("r.json -o r.json", "r.json needs");
  refused("r.json -o a.html --svg none/figures", "--svg: none/figures: cannot be created");
  refused("half.json -o old.html", "half.json: line ");
  EXPECT_EQ(lab.content("old.html"), "old");
  std::set<std::string> left;
  for (const auto& each : std::filesystem::directory_iterator{lab.folder.path()}) left.insert(each.path().filename().string());
  EXPECT_EQ(left, (std::set<std::string>{"empty.json", "half.json", "old.html", "out", "quick.json", "r.json", "run.jsonl"}));
}

}  // namespace
