#ifndef RUBATO_EXAMPLES_LAB_COMMANDS_HPP
#define RUBATO_EXAMPLES_LAB_COMMANDS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rubato::lab {

struct search_agent;

/// Folder of results, unless given.
inline constexpr const char* default_cache = "out/cache";

/// Options of `rubato-lab compare` and `room` as they are given.
struct compare_arguments {
  std::string scenario = "shared4";
  std::vector<std::string> settings;
  std::string host = "simulator";  ///< or threads, gloo
  double time_scale = 0.02;        ///< seconds of a unit of time, in real time
  std::string policies = "bsp:mean,bsp:sum,asp,ssp:1,ssp:2,ssp:3,ssp:5,ssp:8";
  std::uint64_t seed = 1;
  std::uint32_t seeds = 10;
  unsigned threads = 0;  ///< 0: as many as the machine has
  std::string data;      ///< empty: the images in the source tree
  std::string json;
  std::string csv;
  std::string trace;
  std::string log;
  std::string cache = default_cache;
  bool no_cache = false;
  bool tune = false;
  std::uint32_t tuning_seeds = 12;
  bool by_hidden_layers = false;
  bool clairvoyant = false;
  bool quiet = false;
};

/// Options of `rubato-lab train` as they are given.
struct train_arguments {
  std::string scenario = "paper";
  std::vector<std::string> settings;
  std::string agent;
  std::string state;  ///< empty: the agent's
  std::optional<std::uint64_t> episodes;  ///< the agent's unless given
  std::uint64_t seed = 1;
  std::optional<std::uint32_t> expert_runs;      ///< likewise
  std::optional<std::uint64_t> evaluate_every;  ///< likewise
  std::optional<std::uint32_t> evaluation_episodes;  ///< 20 unless given
  std::optional<std::uint32_t> test_seeds;  ///< 20 unless given
  std::string initial;
  // Of searches; the defaults are those of search_request.
  std::optional<std::uint64_t> generations;
  std::optional<std::uint32_t> population;
  std::optional<std::uint32_t> clusters;
  std::optional<std::uint32_t> rounds;
  std::optional<std::uint32_t> hidden;
  std::string corrections;  ///< empty: both
  std::optional<std::uint64_t> select_every;
  std::optional<std::uint32_t> selection_clusters;
  std::string out;
  std::string curve;
  std::string tensorboard;  ///< folder; empty: none
  std::string licence;
  bool resume = false;
  unsigned threads = 0;  ///< 0: as many as the machine has
  std::string data;      ///< empty: the images in the source tree
  bool quiet = false;
};

/// Options of `rubato-lab explain` as they are given.
struct explain_arguments {
  std::string file;
  std::string scenario = "shared4";
  std::vector<std::string> settings;
  std::uint64_t seed = 1;
  std::uint32_t seeds = 20;
  std::string map;
  unsigned threads = 0;  ///< 0: as many as the machine has
  std::string data;      ///< empty: the images in the source tree
};

/// Options of `rubato-lab fit` as they are given.
struct fit_arguments {
  std::string log;
  std::string scenario = "shared4";  ///< what is trained
  std::vector<std::string> settings;
  std::string policy;       ///< of the log; empty: found by its description
  std::uint32_t cores = 0;  ///< 0: not known
  std::string out;          ///< empty: standard output
  std::uint64_t seed = 1;
};

/// Options of `rubato-lab advise` as they are given.
struct advise_arguments {
  fit_arguments fit;
  std::string policies;  ///< to choose from; empty: advised_rules
  std::uint32_t members = 16;
  double threshold = 3;  ///< per cent
  std::string json;
  unsigned threads = 0;  ///< 0: as many as the machine has
  std::string data;      ///< empty: the images in the source tree
  bool quiet = false;
};

/// Options of `rubato-lab stats` as they are given.
struct stats_arguments {
  std::string log;
  std::string json;
};

/// Options of `rubato-lab timeline` as they are given.
struct timeline_arguments {
  std::string log;
  std::string out;
  double unit_seconds = 1;  ///< seconds to a unit of the log's time
};

/// Options of `rubato-lab replay` as they are given.
struct replay_arguments {
  std::string log;
  std::string policy = "recorded";
  std::uint32_t workers = 0;  ///< capacity of the controller; 0: as many as the log has
  std::uint64_t seed = 1;     ///< of the controller
  std::string json;
};

/// Options of `rubato-lab search-switch` as they are given.
struct search_switch_arguments {
  std::string scenario;  ///< empty: logs
  std::vector<std::string> settings;
  std::string logs;  ///< empty: simulations
  std::string workload;
  std::optional<std::uint64_t> pushes;       ///< 2,000 unless given
  std::optional<std::uint64_t> seed;         ///< 1 unless given
  std::optional<std::uint32_t> target_runs;  ///< 5 unless given
  std::optional<std::uint32_t> runs;         ///< likewise
  std::optional<double> target_accuracy;     ///< stored target
  std::optional<double> target_time;         ///< likewise
  double beta = 0.01;
  std::string acceptance = "mean";  ///< or welch
  std::optional<double> level;      ///< 0.05 unless given
  std::uint32_t candidates = 8;
  bool go_on = false;
  bool charge_diverged = false;
  std::string json;
  std::optional<std::string> cache;  ///< default_cache unless given
  bool no_cache = false;
  unsigned threads = 0;  ///< 0: as many as the machine has
  std::string data;      ///< empty: the images in the source tree
  bool quiet = false;
};

/// Options of `rubato-lab experiment` as they are given.
struct experiment_arguments {
  std::string name;  ///< empty: list them
  std::vector<std::string> parts;  ///< empty: all
  std::string scenario;            ///< empty: the experiment's own
  std::vector<std::string> settings;
  std::uint64_t seed = 1;
  std::uint32_t seeds = 0;  ///< 0: the experiment's own number
  std::optional<double> switch_time;
  std::string other_data;  ///< a folder; empty: what needs other data is left out
  std::string svg;
  std::string json;
  std::string cache = default_cache;
  bool no_cache = false;
  unsigned threads = 0;  ///< 0: as many as the machine has
  std::string data;      ///< empty: the images in the source tree
  bool quiet = false;
};

/// Options of `rubato-lab growth eval` as they are given.
struct growth_eval_arguments {
  std::string weights;
  std::string tables;
  std::string vocabulary;  ///< empty: vocab.json beside the tables
  std::string json;
};

/// Options of `rubato-lab growth train` as they are given.
struct growth_train_arguments {
  std::string tables;
  std::string on = "all";      ///< tasks, see tasks_named()
  std::string reinforce;       ///< stages, see stages_in(); empty: by the expectation of the gradient
  bool leave_one_out = false;  ///< an agent for each task, without it
  std::string from;            ///< weights; empty: an agent that knows nothing
  std::string vocabulary;      ///< empty: that of `from`, or vocab.json beside the tables; or drawn
  std::string network = "actions";  ///< of an agent that knows nothing: "actions" or "blocks"
  std::string time = "cosines";
  std::uint64_t updates = 6000;
  double learning_rate = 0;  ///< 0: the method's
  double entropy = -1;       ///< of the end, or of REINFORCE; below 0: the method's
  double time_noise = 0;
  bool baseline = false;
  std::string temperature_form = "second-softmax";
  std::uint32_t seeds = 1;
  std::uint64_t first_seed = 1;
  std::string save;
  std::string json;
  unsigned threads = 0;  ///< 0: as many as the machine has
  bool quiet = false;
};

/// Options of `rubato-lab growth tables` as they are given.
struct growth_tables_arguments {
  std::string pattern = "checkers";  ///< see points_of()
  std::string data;                  ///< folder of images instead
  std::string name;                  ///< of the model; empty: the pattern, or "images"
  std::string hidden = "8,8,8";      ///< widths
  bool widen = false;                ///< is an action, too
  double widening_noise = 1;
  double epochs = 60;
  std::size_t samples = 4'000;
  double learning_rate = 0.01;
  std::uint32_t steps = 3;
  std::uint32_t repeats = 3;
  std::uint64_t first_seed = 1;
  std::string out;       ///< folder
  unsigned threads = 0;  ///< 0: as many as the machine has
  bool quiet = false;
};

/// Options of `rubato-lab batch train` as they are given; the defaults are those of batch_training_request.
struct batch_train_arguments {
  std::uint64_t seed = 1;
  std::uint32_t updates = 160;
  std::uint64_t generations = 500;
  std::uint32_t population = 40;
  std::uint32_t tasks = 48;
  std::uint32_t select_every = 50;
  std::uint32_t selection_tasks = 256;
  std::string out;
  std::string licence;
  bool resume = false;
  unsigned threads = 0;  ///< 0: as many as the machine has
  bool quiet = false;
};

/// Options of `rubato-lab watch` as they are given.
struct watch_arguments {
  std::string source;  ///< URL of a server's metrics, or a decision log
  bool once = false;
  double every = 1;  ///< seconds
};

/// Options of `rubato-lab report` as they are given.
struct report_arguments {
  std::vector<std::string> files;  ///< results, and logs
  std::vector<std::string> logs;
  std::string out;
  std::string svg;  ///< folder; empty: no files of figures
};

/// Each returns the exit status. Errors: user_error.
[[nodiscard]] int run_compare(const compare_arguments&);
[[nodiscard]] int run_train(const train_arguments&);
/// The same for agents that search, see search_agents().
[[nodiscard]] int run_search(const train_arguments&, const search_agent&);
/// A policy that sets batches.
[[nodiscard]] int run_batch_train(const batch_train_arguments&);
/// An agent that grows models, by tables.
[[nodiscard]] int run_growth_eval(const growth_eval_arguments&);
[[nodiscard]] int run_growth_train(const growth_train_arguments&);
[[nodiscard]] int run_growth_tables(const growth_tables_arguments&);
[[nodiscard]] int run_policies(bool json);
[[nodiscard]] int run_inspect(const std::string& file, bool json);
[[nodiscard]] int run_explain(const explain_arguments&);
[[nodiscard]] int run_export(const std::string& file);
[[nodiscard]] int run_fit(const fit_arguments&);
[[nodiscard]] int run_advise(const advise_arguments&);
[[nodiscard]] int run_stats(const stats_arguments&);
[[nodiscard]] int run_timeline(const timeline_arguments&);
[[nodiscard]] int run_replay(const replay_arguments&);
[[nodiscard]] int run_search_switch(const search_switch_arguments&);
[[nodiscard]] int run_experiment(const experiment_arguments&);
[[nodiscard]] int run_watch(const watch_arguments&);
[[nodiscard]] int run_report(const report_arguments&);
[[nodiscard]] int run_scenarios(const std::string& name, bool keys);

}  // namespace rubato::lab

#endif
