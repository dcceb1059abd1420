// Agents that fetch pellets through a tunnel in which there is room for one: who learns what, and what that looks like.
// Prints a line for each training, and a table of what there is. docs/stigmergy.md holds the results.
//
//   stigmergy train METHOD... [--agents 8] [--seeds 1-10] [--out DIR] [--jobs 2]
//   stigmergy table [--out DIR]
//   stigmergy draw METHOD --seed 1 --out DIR
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <rubato/io/atomic_file.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../../../examples/support/parallel.hpp"
#include "../../../examples/support/statistics.hpp"
#include "learning.hpp"
#include "pictures.hpp"
#include "right_of_way.hpp"

namespace {

namespace fs = std::filesystem;
namespace rl = rubato::rl;
using nlohmann::json;
using namespace stigmergy;

constexpr std::uint32_t test_episodes = 100;

/// A learner, what it senses, and how it is taught: dqn+pheromone+curriculum.
struct method {
  std::string name, learner;
  bool pheromone = false, curriculum = false, team = false;
};

method parsed(const std::string& name) {
  method out{.name = name, .learner = name.substr(0, name.find('+'))};
  const bool learns = out.learner == "dqn" || out.learner == "mappo" || out.learner == "maddpg";
  if (!learns && name != "random" && name != "right-of-way")
    throw CLI::ValidationError(
        name, "expected dqn, mappo or maddpg with +pheromone, +curriculum, +team, random, right-of-way");
  for (std::size_t at = name.find('+'); at != std::string::npos;) {
    const std::size_t next = name.find('+', at + 1);
    const std::string part = name.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    if (part == "pheromone")
      out.pheromone = true;
    else if (part == "team")
      out.team = true;
    else if (part == "curriculum" && out.learner != "maddpg")
      out.curriculum = true;
    else
      throw CLI::ValidationError(name, "\"" + part + "\" is not known for " + out.learner);
    at = next;
  }
  return out;
}

struct setting {
  std::size_t agents = 8, tunnel = 8;
  std::uint32_t steps = 300;
  bool deterministic = false;
  double length = 1;  // of trainings
};

tunnel_options world_of(const method& by, const setting& at) {
  return {.length = at.tunnel,
          .agents = at.agents,
          .stochastic = !at.deterministic,
          .steps = at.steps,
          .has_pheromone = by.pheromone};
}

trained training_of(const method& by, const setting& at, std::uint64_t seed) {
  plan plan{.world = world_of(by, at), .seed = seed, .team_share = by.team ? 0.5 : 0.0};
  const auto steps = [&](double of_default) { return static_cast<std::uint64_t>(of_default * at.length); };
  // As many steps of the world for all.
  plan.stages = curriculum(at.agents, steps(80'000), steps(600'000));
  if (!by.curriculum) {
    std::uint64_t sum = 0;
    for (const stage& each : plan.stages) sum += each.steps;
    plan.stages = {{at.agents, sum}};
  }
  if (by.learner == "mappo") plan.stages = settling(plan.stages);
  if (by.learner == "dqn") return train_dqn(plan, dqn_settings());
  if (by.learner == "mappo") return train_mappo(plan, mappo_settings());
  if (by.learner == "maddpg") return train_maddpg(plan, {});
  trained fixed;
  if (by.learner == "random")
    fixed.policy = [](const tunnel&, std::size_t, rubato::random_sequence& random) {
      return static_cast<std::uint32_t>(random.below(tunnel::actions()));
    };
  else
    fixed.policy = right_of_way{};
  return fixed;
}

fs::path file_of(const fs::path& out, const method& by, const setting& at, std::uint64_t seed) {
  return out / (by.name + (at.deterministic ? "-deterministic-" : "-") + std::to_string(at.agents) + "-in-" +
                std::to_string(at.tunnel) + "-" + std::to_string(seed) + ".json");
}

void write(const fs::path& path, const std::string& text) {
  if (const auto written = rubato::write_file(path.string(), text); !written)
    throw std::runtime_error{written.error().message};
}

json train_one(const method& by, const setting& at, std::uint64_t seed) {
  const auto start = std::chrono::steady_clock::now();
  const trained result = training_of(by, at, seed);
  tunnel world{world_of(by, at)};
  const summary test = play(world, result.policy, seed, rl::purpose::test, test_episodes);
  json looks = json::array();
  for (const look& each : result.looks) looks.push_back({each.agents, each.steps, each.delivered});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {{"method", by.name},
          {"agents", at.agents},
          {"tunnel", at.tunnel},
          {"steps", at.steps},
          {"deterministic", at.deterministic},
          {"length", at.length},
          {"seed", seed},
          {"seconds", seconds},
          {"delivered", test.delivered},
          {"gini", test.gini},
          {"idle", test.idle},
          {"collisions", test.collisions},
          {"looks", looks}};
}

// What is there was made in the same world, for as long.
void expect_same(const fs::path& file, const setting& at) {
  std::ifstream from{file};
  const json there = json::parse(from);
  if (there["length"] != at.length || there["steps"] != at.steps)
    throw std::runtime_error{file.string() + ": was made with --length " + there["length"].dump() + " and --steps " +
                             there["steps"].dump() + ", expected those of now: take another folder"};
}

void train(const std::vector<std::string>& names, const setting& at, std::pair<std::uint64_t, std::uint64_t> seeds,
           const fs::path& out, unsigned jobs) {
  fs::create_directories(out);
  std::vector<std::pair<method, std::uint64_t>> tasks;
  for (const std::string& name : names)
    for (std::uint64_t seed = seeds.first; seed <= seeds.second; ++seed) tasks.emplace_back(parsed(name), seed);
  std::mutex printing;
  const std::atomic<bool> stop{false};
  rubato::support::share_out(
      tasks.size(), jobs, stop, [] { return 0; },
      [&](int, std::size_t i) {
        const auto& [by, seed] = tasks[i];
        const fs::path file = file_of(out, by, at, seed);
        if (fs::exists(file)) return expect_same(file, at);
        const json one = train_one(by, at, seed);
        write(file, one.dump(1) + "\n");
        const std::lock_guard lock{printing};
        std::printf("%s, %zu agents, seed %llu: %.1f pellets, Gini %.2f, idle %.2f, %.0f collisions, %.0f s\n",
                    by.name.c_str(), at.agents, static_cast<unsigned long long>(seed), one["delivered"].get<double>(),
                    one["gini"].get<double>(), one["idle"].get<double>(), one["collisions"].get<double>(),
                    one["seconds"].get<double>());
        std::fflush(stdout);
      });
}

void table(const fs::path& out) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::vector<double>>> rows;
  for (const fs::directory_entry& each : fs::directory_iterator{out}) {
    if (each.path().extension() != ".json") continue;
    std::ifstream file{each.path()};
    const json one = json::parse(file);
    const std::string world = std::to_string(one["tunnel"].get<int>()) + " | " +
                              std::to_string(one["agents"].get<int>()) +
                              (one["deterministic"].get<bool>() ? ", deterministic" : "");
    auto& row = rows[{world, one["method"].get<std::string>()}];
    for (const char* key : {"delivered", "gini", "idle", "collisions", "seconds"})
      row[key].push_back(one[key].get<double>());
  }
  std::printf("| tunnel | agents | method | seeds | pellets, 95 %% | Gini | idle | collisions | training, s |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const auto& [key, row] : rows) {
    const auto mean = [&of = row](const char* what) { return rubato::support::mean_with_t_interval(of.at(what)); };
    const auto pellets = mean("delivered");
    std::printf("| %s | `%s` | %zu | %.1f (%.1f to %.1f) | %.2f | %.2f | %.0f | %.0f |\n", key.first.c_str(),
                key.second.c_str(), row.at("delivered").size(), pellets.value, pellets.low, pellets.high,
                mean("gini").value, mean("idle").value, mean("collisions").value, mean("seconds").value);
  }
}

void draw(const std::string& name, const setting& at, std::uint64_t seed, const fs::path& out) {
  fs::create_directories(out);
  const method by = parsed(name);
  const trained result = training_of(by, at, seed);
  tunnel world{world_of(by, at)};
  recording film;
  const summary one =
      play(world, rl::episode_seed(0, rl::purpose::test, 0), result.policy, [&](const tunnel& now) { film(now); });
  write(out / "episode.svg", film.animation(60));
  write(out / "heat.svg", film.heat_map());
  std::string curve = "seed,steps,mean\n";
  for (const look& each : result.looks)
    if (each.agents == at.agents)
      curve += std::to_string(seed) + "," + std::to_string(each.steps) + "," + std::to_string(each.delivered) + "\n";
  write(out / "curve.csv", curve);
  std::printf("%s, seed %llu: %.0f pellets in the episode that was drawn\n", name.c_str(),
              static_cast<unsigned long long>(seed), one.delivered);
}

std::pair<std::uint64_t, std::uint64_t> seeds_of(const std::string& text) {
  unsigned first = 0, last = 0;
  char more = 0;
  const int found = std::sscanf(text.c_str(), "%u-%u%c", &first, &last, &more);
  if (found == 1 && text.find('-') == std::string::npos) last = first;
  if (found < 1 || found > 2 || last < first || text.find_first_not_of("0123456789-") != std::string::npos)
    throw CLI::ValidationError("--seeds", "found \"" + text + "\", expected FIRST-LAST, such as 1-10");
  return {first, last};
}

}  // namespace

int main(int count, char** words) {
  CLI::App app{"Agents that fetch pellets through a tunnel in which there is room for one."};
  app.require_subcommand(1);
  setting at;
  std::string out = "stigmergy", seeds = "1-10";
  std::vector<std::string> names;
  unsigned jobs = 2;
  std::uint64_t seed = 1;
  const auto common = [&](CLI::App* to, const char* what) {
    to->add_option("method", names, what)->required();
    to->add_option("--agents", at.agents, "in the last stage, and in tests")
        ->check(CLI::Range(1, 8))
        ->capture_default_str();
    to->add_option("--tunnel", at.tunnel, "its length")->check(CLI::Range(1, 64))->capture_default_str();
    to->add_option("--steps", at.steps, "of an episode")->check(CLI::Range(1, 100'000))->capture_default_str();
    to->add_flag("--deterministic", at.deterministic,
                 "moves never fail, agents move in order, pellets lie in a fixed order");
    to->add_option("--length", at.length, "of trainings, as a share of the usual")
        ->check(CLI::Range(1e-6, 1000.0))
        ->capture_default_str();
    to->add_option("--out", out, "folder of the results")->capture_default_str();
  };
  CLI::App* const trains = app.add_subcommand("train", "trains, and tests on episodes that nobody has seen");
  common(trains, "dqn, mappo or maddpg, with +pheromone, +curriculum, +team; random; right-of-way");
  trains->add_option("--seeds", seeds, "FIRST-LAST, of trainings")->capture_default_str();
  trains->add_option("--jobs", jobs, "trainings at a time")->check(CLI::Range(1, 256))->capture_default_str();
  CLI::App* const prints = app.add_subcommand("table", "prints what there is in the folder of the results");
  prints->add_option("--out", out)->check(CLI::ExistingDirectory)->capture_default_str();
  CLI::App* const draws = app.add_subcommand("draw", "trains, and draws an episode, a heat map, and a learning curve");
  common(draws, "one of those of train");
  draws->add_option("--seed", seed)->capture_default_str();
  CLI11_PARSE(app, count, words);
  try {
    if (*trains) {
      for (const std::string& name : names) static_cast<void>(parsed(name));
      train(names, at, seeds_of(seeds), out, jobs);
    } else if (*prints) {
      table(out);
    } else {
      draw(names.front(), at, seed, out);
    }
  } catch (const CLI::Error& wrong) {
    return app.exit(wrong);
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "stigmergy: %s\n", wrong.what());
    return 1;
  }
}
