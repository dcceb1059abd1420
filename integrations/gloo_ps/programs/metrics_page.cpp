#include "metrics_page.hpp"

#include <rubato/io/metrics_text.hpp>
#include <string_view>
#include <utility>

namespace ps = rubato::gloo_ps;

std::string metrics_page(served_job::server_type& of) {
  auto [seen, policy] = of.decide().inspect([](auto& sync) {
    return std::pair{*sync.watcher().metrics, sync.policy().describe().line};
  });
  std::string text;
  text.reserve(std::size_t{1} << 14);
  auto sink = [&text](std::string_view bytes) noexcept { text += bytes; };
  rubato::metrics_text page{sink};
  seen.write(page, of.decide().seconds(), {.policy = policy});
  page.family("rubato_server_life", "gauge", "Which server of the job this is, from 1.").sample(of.options().life);
  page.family("rubato_connected_workers", "gauge", "Workers with a connection.").sample(of.connected());
  page.family("rubato_checkpoints_total", "counter", "Checkpoints written by this server.").sample(of.saves());
  page.family("rubato_sessions_ended_total", "counter", "Conversations with workers that are over, by how they ended.");
  for (int i = 0; i < static_cast<int>(ps::session_end::count_); ++i)
    page.sample(of.ends(static_cast<ps::session_end>(i)), {{"how", name(static_cast<ps::session_end>(i))}});
  page.family("rubato_refused_total", "counter", "Messages and workers that were turned away, by reason.");
  for (int i = 1; i < static_cast<int>(ps::refusal::count_); ++i)
    page.sample(of.refused(static_cast<ps::refusal>(i)), {{"reason", name(static_cast<ps::refusal>(i))}});
  return text;
}
