#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <rubato/io/decision_log.hpp>
#include <rubato/io/metrics_text.hpp>
#include <rubato/sync/extras/job_metrics.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#ifdef RUBATO_HTTPLIB
#include <httplib.h>
#endif

#include "../io/host.hpp"
#include "lab/http_get.hpp"
#include "lab/metrics_page.hpp"
#include "lab/watch.hpp"
#include "lab/watch_log.hpp"
#include "lab_program.hpp"
#include "support/user_error.hpp"
#include "temporary_directory.hpp"

namespace watch_test {
namespace {

using namespace rubato::lab;
using rubato::job_metrics;
using rubato::support::user_error;
using rubato::test::temporary_directory;
using rubato::test::text_sink;

template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const user_error& e) {
    return e.what();
  }
  return "nothing was refused";
}

struct both {
  rubato::decision_log<text_sink> log;
  job_metrics metrics;
  void operator()(const rubato::record& r) noexcept { log(r), metrics(r); }
};
// A run with deaths, drops and switches: its log, and its page at the end.
struct logged_run {
  std::string log, page;
  explicit logged_run(std::uint64_t seed, int events = 1200) {
    rubato::test::host<both> h{rubato::asp{}, 5, both{{text_sink{&log}, rubato::asp{}}, job_metrics{5}}};
    rubato::test::random_run(h, seed, events);
    const std::string last = log.substr(log.rfind("\"now\":") + 6);
    text_sink sink{&page};
    rubato::metrics_text to{sink};
    h.sync.watcher().metrics.write(to, std::stod(last), {.workers = true, .policy = "asp: whatever"});
  }
};

TEST(Watch, PageIsRead) {
  std::vector<metric_sample> all;
  read_metrics("# HELP a b\n\na 1\nb{x=\"1\\\"\\\\\\n\",y=\"\"} +Inf 1700000000\nc:d_e{} NaN\nz{q=\"}\",} -2.5", "page",
               [&](const metric_sample& sample) { all.push_back(sample); });
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[0].value, 1);
  EXPECT_EQ(all[1].labels.at("x"), "1\"\\\n");
  EXPECT_EQ(all[1].labels.at("y"), "");
  EXPECT_TRUE(std::isinf(all[1].value));
  EXPECT_EQ(all[2].name, "c:d_e");
  EXPECT_TRUE(std::isnan(all[2].value));
  EXPECT_EQ(all[3].labels.at("q"), "}");
  EXPECT_EQ(all[3].value, -2.5);
}

TEST(Watch, WhatIsNoPageIsSaid) {
  const auto said = [](const std::string& page) {
    return refusal([&] { static_cast<void>(job_of_page(page, "URL")); });
  };
  EXPECT_EQ(said("a 1\n<html>\n"), "URL:2: found \"<html>\", expected a name");
  EXPECT_EQ(said("a{b} 1"), "URL:1: found \"} 1\", expected a label's =\"");
  EXPECT_EQ(said("a{b=\"c} 1"), "URL:1: found \"\", expected a quote");
  EXPECT_EQ(said("a{b=\"c\"d=\"e\"} 1"), "URL:1: found \"d=\"e\"} 1\", expected , or }");
  EXPECT_EQ(said("a one"), "URL:1: found \"one\", expected a number");
  EXPECT_EQ(said("a"), "URL:1: found \"\", expected a number");
  EXPECT_EQ(said("up 1\n"), "URL: no rubato_seconds in it, expected the metrics of a rubato server");
  EXPECT_EQ(said("rubato_seconds 1\nrubato_worker_late{worker=\"4000000\"} 1\n"),
            "URL: found worker \"4000000\", expected an index below 65536");
  const watched_job odd = job_of_page("rubato_seconds 1\nrubato_policy_info{policy=\"\x1b[2J\\n\"} 1\n", "URL");
  EXPECT_EQ(odd.policy.find('\x1b'), odd.policy.npos) << "text of others does not steer a terminal";
}

TEST(Watch, ASampleThatIsTooLongIsRefused) {
  const auto said = [](std::size_t size) {
    const std::string front = "a{b=\"", back = "\"} 1";
    const std::string line = front + std::string(size - front.size() - back.size(), 'x') + back;
    return refusal([&] { static_cast<void>(job_of_page("rubato_seconds 1\n" + line + "\n", "URL")); });
  };
  EXPECT_EQ(said(65'536), "nothing was refused");
  EXPECT_EQ(said(65'537), "URL:2: found a line of more than 65536 bytes, expected a sample");
}

TEST(Watch, LogAndPageAgree) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const logged_run run{seed};
    const temporary_directory folder;
    folder.write("run.jsonl", run.log);
    log_watcher log{folder.path() / "run.jsonl"};
    log.look();
    const watched_job a = job_of_page(run.page, "page"), b = log.job();
    EXPECT_GT(a.pushed, 100);
    EXPECT_EQ(a.pushed, b.pushed);
    EXPECT_EQ(a.applied, b.applied);
    EXPECT_EQ(a.flushed, b.flushed);
    EXPECT_EQ(a.dropped, b.dropped);
    EXPECT_EQ(a.parked, b.parked);
    EXPECT_EQ(a.pushed, a.applied + a.flushed + a.dropped + a.parked);
    EXPECT_EQ(a.updates, b.updates);
    EXPECT_EQ(a.staleness, b.staleness);
    ASSERT_EQ(a.workers.size(), b.workers.size());
    for (std::size_t w = 0; w < a.workers.size(); ++w) {
      EXPECT_EQ(a.workers[w].pushed, b.workers[w].pushed);
      EXPECT_EQ(a.workers[w].dropped, b.workers[w].dropped);
      EXPECT_EQ(a.workers[w].here, b.workers[w].here);
      EXPECT_EQ(a.workers[w].late, b.workers[w].late);
      EXPECT_NEAR(a.workers[w].push_age, b.workers[w].push_age, 1e-9);
      EXPECT_NEAR(a.workers[w].waited, b.workers[w].waited, 1e-6);
    }
  }
}

TEST(Watch, GrowingLogIsFollowed) {
  const logged_run run{3};
  const temporary_directory folder;
  const auto path = folder.path() / "run.jsonl";
  folder.write("run.jsonl", "");
  log_watcher growing{path};
  growing.look();
  EXPECT_EQ(growing.job().pushed, 0);
  double before = 0;
  for (std::size_t at = 0, piece = 7001; at < run.log.size(); at += piece) {  // which ends in the middle of a line
    std::ofstream{path, std::ios::app | std::ios::binary} << run.log.substr(at, piece);
    growing.look();
    EXPECT_GE(growing.job().pushed, before);
    before = growing.job().pushed;
  }
  log_watcher whole{path};
  whole.look();
  EXPECT_EQ(view_of(growing.job(), nullptr), view_of(whole.job(), nullptr));
  EXPECT_FALSE(whole.complete());
  std::ofstream{path, std::ios::app} << "nonsense\n";
  EXPECT_NE(refusal([&] { growing.look(); }).find("run.jsonl:"), std::string::npos);
}

TEST(Watch, DraftOfALogIsFound) {
  const logged_run run{4};
  const temporary_directory folder;
  const auto path = folder.path() / "run.jsonl";
  EXPECT_EQ(refusal([&] { log_watcher none{path}; }), path.string() + ": no such file, and no draft of it");
  folder.write("run.jsonl.123.0.tmp", run.log.substr(0, run.log.size() / 2));
  log_watcher log{path};
  log.look();
  const double half = log.job().pushed;
  EXPECT_GT(half, 0);
  EXPECT_FALSE(log.complete());
  std::ofstream{folder.path() / "run.jsonl.123.0.tmp", std::ios::app | std::ios::binary}
      << run.log.substr(run.log.size() / 2);
  std::filesystem::rename(folder.path() / "run.jsonl.123.0.tmp", path);
  EXPECT_TRUE(log.complete());
  log.look();
  EXPECT_GT(log.job().pushed, half);
}

TEST(Watch, ANewerDraftIsTheRunThatGoesOn) {
  const logged_run run{4};
  const temporary_directory folder;
  const auto path = folder.path() / "run.jsonl", draft = folder.path() / "run.jsonl.123.0.tmp";
  folder.write("run.jsonl", run.log);
  folder.write("run.jsonl.123.0.tmp", run.log.substr(0, run.log.size() / 2));
  const auto now = std::filesystem::last_write_time(path);
  const auto pushed = [&] {
    log_watcher log{path};
    log.look();
    return log.job().pushed;
  };
  std::filesystem::last_write_time(draft, now - std::chrono::seconds{1});  // left behind by a crash
  const double whole = pushed();
  std::filesystem::last_write_time(draft, now + std::chrono::seconds{1});
  EXPECT_LT(pushed(), whole);
  log_watcher log{path};
  EXPECT_FALSE(log.complete());
  std::filesystem::rename(draft, path);
  EXPECT_TRUE(log.complete());
}

// Neither a step nor a wait begins anew where a worker is cancelled, excluded or readmitted.
TEST(Watch, WhatIsDoneToAWorkerDoesNotRenewItsStep) {
  std::string text;
  rubato::decision_log log{text_sink{&text}, rubato::asp{}};
  using kind = rubato::record::kind;
  const auto add = [&](kind what, std::uint32_t worker, double now) {
    log({.what = what, .worker = {worker, 0}, .now = now, .value = 1});
  };
  for (const std::uint32_t w : {0U, 1U}) add(kind::join, w, 0), add(kind::release, w, 0);
  for (const std::uint32_t w : {0U, 1U}) add(kind::admit, w, 2), add(kind::commit, w, 2);
  add(kind::release, 0, 3);
  for (const kind done : {kind::cancel, kind::exclude, kind::readmit})
    for (const std::uint32_t w : {0U, 1U}) add(done, w, 8);
  add(kind::join, 2, 10);
  const temporary_directory folder;
  folder.write("run.jsonl", text);
  log_watcher watcher{folder.path() / "run.jsonl"};
  watcher.look();
  const watched_job job = watcher.job();
  EXPECT_EQ(job.workers[0].lateness, 10 - 3 - 2);
  EXPECT_EQ(job.workers[0].waited, 1);
  EXPECT_EQ(job.workers[1].waited, 10 - 2);
}

watched_job some_job() {
  watched_job job;
  job.policy = "ssp: no worker starts a step more than 2 steps ahead of the slowest";
  job.now = 20;
  job.updates = job.applied = 90;
  job.pushed = 100, job.dropped = 8, job.parked = 2;
  job.actions = {{"apply", 92}, {"drop", 8}, {"cancel", 0}};
  job.staleness = {{"0", 60}, {"1", 40}, {"2-3", 0}};
  job.dropped_for = {{"stale", 8}};
  job.workers = {{.index = 0,
                  .state = "running",
                  .here = true,
                  .push_age = 0.5,
                  .step = 1,
                  .relative = 1,
                  .individual = 0.9,
                  .waited = 3,
                  .pushed = 60},
                 {.index = 1, .state = "dead", .push_age = 12, .step = 1, .relative = 1, .pushed = 20},
                 {.index = 2,
                  .state = "running",
                  .here = true,
                  .late = true,
                  .lateness = 1.5,
                  .push_age = 6,
                  .step = 4,
                  .relative = 0.25,
                  .individual = 1,
                  .pushed = 20,
                  .dropped = 8},
                 {.index = 3, .state = "absent"}};
  return job;
}

TEST(Watch, ViewSaysWhoIsLateFirst) {
  EXPECT_EQ(view_of(some_job(), nullptr),
            R"(20.0 s  ssp: no worker starts a step more than 2 steps ahead of the slowest
gradients  100 pushed (5.0/s) = 90 applied + 0 flushed + 8 dropped + 2 parked
updates    90 (4.5/s)
dropped    stale 8 (100.0 %)
actions    apply 92 (92.0 %), drop 8 (8.0 %)
staleness  0 60 (60.0 %), 1 40 (40.0 %)
workers    absent 1, dead 1, running 2

worker  state    late by  last push  step   waited  relative  individual  pushed  dropped
2       running  1.500    6.000      4.000  0.000   0.25      1.00        20      8        joined late
0       running  0.000    0.500      1.000  3.000   1.00      0.90        60      0
1       dead     -        12.000     1.000  0.000   1.00      -           20      0
3       absent
)");
  watched_job before = some_job();
  before.now = 18, before.pushed = 80;
  EXPECT_EQ(line_of(some_job(), &before),
            "20.0 s: 100 pushed (10.0/s) = 90 applied + 0 flushed + 8 dropped + 2 parked; workers: absent 1, dead 1, "
            "running 2; worker 2 is late by 1.500 s");
}

TEST(Watch, RedrawnFitsTheScreen) {
  EXPECT_EQ(redrawn("one\nlonger than that\nthree\n", 2, 8), "\x1b[Hone\x1b[K\nlonge...\x1b[K\n\x1b[J");
  EXPECT_EQ(redrawn("one\n", 20, 80), "\x1b[Hone\x1b[K\n\x1b[J");
}

TEST(Watch, ProgramShowsALogOnce) {
  const rubato::test::lab_program lab;
  const logged_run run{5};
  lab.folder.write("run.jsonl", run.log);
  const auto shown = lab.run("watch run.jsonl --once");
  EXPECT_EQ(shown.status, 0);
  log_watcher log{lab.folder.path() / "run.jsonl"};
  log.look();
  EXPECT_EQ(shown.text, view_of(log.job(), nullptr));
  for (const char* wrong : {"watch none.jsonl", "watch http://127.0.0.1:1/metrics", "watch ftp://a/b", "watch"}) {
    const auto said = lab.run(std::string{wrong} + " 2>&1");
    EXPECT_EQ(said.status, 2) << wrong;
    EXPECT_TRUE(said.text.starts_with("rubato-lab: ")) << said.text;
  }
}

#ifdef RUBATO_HTTPLIB
// A server with one page: an answer of this status after the first.
struct page_server {
  httplib::Server http;
  std::string root;
  std::atomic<int> asked = 0;
  std::thread thread;
  explicit page_server(std::string page, int later = 200) {
    http.Get("/metrics", [this, later, page = std::move(page)](const httplib::Request&, httplib::Response& answer) {
      answer.set_content(page, "text/plain");
      if (++asked > 1) answer.status = later;
    });
    root = "http://127.0.0.1:" + std::to_string(http.bind_to_any_port("127.0.0.1"));
    thread = std::thread{[this] { http.listen_after_bind(); }};
    while (!http.is_running()) std::this_thread::yield();
  }
  ~page_server() {
    http.stop();
    thread.join();
  }
};

TEST(Watch, PageIsReadOverHttp) {
  const logged_run run{6};
  page_server at{run.page};
  EXPECT_EQ(http_get(at.root), run.page);
  EXPECT_EQ(http_get(at.root + "/metrics"), run.page);
  EXPECT_EQ(refusal([&] { static_cast<void>(http_get(at.root + "/other")); }),
            at.root + "/other: status 404, expected 200");
  const rubato::test::lab_program lab;
  const auto shown = lab.run("watch " + at.root + " --once");
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.text, view_of(job_of_page(run.page, "page"), nullptr));
}

TEST(Watch, AServerThatHasGoneIsTheEndAndNothingElseIs) {
  const rubato::test::lab_program lab;
  const logged_run run{6};
  {
    page_server at{run.page};
    std::thread end{[&] {
      while (at.asked < 2) std::this_thread::yield();
      at.http.stop();
    }};
    const auto shown = lab.run("watch " + at.root + " --every 0.05 2>&1");
    end.join();
    EXPECT_EQ(shown.status, 0) << shown.text;
    EXPECT_TRUE(shown.text.ends_with(at.root + ": nobody listens there: the job has ended, or its server\n")) << shown.text;
  }
  page_server failing{run.page, 500};
  const auto shown = lab.run("watch " + failing.root + " --every 0.05 2>&1");
  EXPECT_EQ(shown.status, 1);
  EXPECT_TRUE(shown.text.ends_with("rubato-lab: " + failing.root + ": status 500, expected 200\n")) << shown.text;
}

TEST(Watch, PageThatIsTooLargeIsRefused) {
  page_server at{std::string(largest_page + 1, '\n')};
  EXPECT_EQ(refusal([&] { static_cast<void>(http_get(at.root)); }), at.root + ": more than 67108864 bytes");
}

// A server that says to each who comes what no server should.
class odd_server {
 public:
  explicit odd_server(std::function<void(int socket)> talk) : socket_{::socket(AF_INET, SOCK_STREAM, 0)} {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(socket_, 4), 0);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size);
    root = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    thread_ = std::thread{[this, talk = std::move(talk)] {
      for (int peer; (peer = ::accept(socket_, nullptr, nullptr)) >= 0; ::close(peer)) talk(peer);
    }};
  }
  ~odd_server() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  static bool say(int socket, std::string_view bytes) {
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  std::string root;

 private:
  int socket_;
  std::thread thread_;
};

TEST(Watch, EndlessHeadersAreRefused) {
  const std::string header = "X: " + std::string(4000, 'b') + "\r\n";
  const odd_server at{[&](int peer) {
    for (bool goes_on = odd_server::say(peer, "HTTP/1.1 200 OK\r\n"); goes_on;) goes_on = odd_server::say(peer, header);
  }};
  EXPECT_EQ(refusal([&] { static_cast<void>(http_get(at.root)); }), at.root + ": more than 65536 bytes of headers");
}

TEST(Watch, EndlessBodiesAreRefused) {
  const std::string piece(1 << 16, '\n');
  const odd_server at{[&](int peer) {
    for (bool goes_on = odd_server::say(peer, "HTTP/1.1 200 OK\r\n\r\n"); goes_on;)
      goes_on = odd_server::say(peer, piece);
  }};
  EXPECT_EQ(refusal([&] { static_cast<void>(http_get(at.root)); }), at.root + ": more than 67108864 bytes");
}

TEST(Watch, AnAnswerByDripsHasADeadline) {
  for (const std::string begin : {"HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\n\r\n"}) {
    const odd_server at{[&](int peer) {
      for (bool goes_on = odd_server::say(peer, begin); goes_on;) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        goes_on = odd_server::say(peer, "x");
      }
    }};
    EXPECT_EQ(refusal([&] { static_cast<void>(http_get(at.root, std::chrono::milliseconds{300})); }),
              at.root + ": no whole answer within 300 ms");
  }
}

// Who is connected with it has no answer, and who comes when its queue is full no connection.
TEST(Watch, AServerThatIsBusyIsNotGone) {
  std::atomic<bool> over = false;
  const odd_server at{[&](int) {
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }};
  const auto get = [&] { static_cast<void>(http_get(at.root, std::chrono::milliseconds{100})); };
  std::vector<int> others(8);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(at.root.substr(at.root.rfind(':') + 1))));
  for (int& other : others) {
    EXPECT_THROW(get(), user_error);
    try {
      get();
    } catch (const no_server&) {
      ADD_FAILURE() << "it is there";
    } catch (const user_error& said) {
      EXPECT_EQ(said.what(), at.root + ": no whole answer within 100 ms");
    }
    other = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    static_cast<void>(::connect(other, reinterpret_cast<const sockaddr*>(&to), sizeof to));
  }
  rlimit open_files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &open_files), 0);
  const rlimit none{0, open_files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string said = refusal(get);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &open_files), 0);
  EXPECT_EQ(said, at.root + ": no connection: Too many open files");
  over = true;
  for (const int other : others) ::close(other);
}

TEST(Watch, AnswersThatMakeNoSenseAreRefused) {
  const auto said = [](const std::string& answer) {
    const odd_server at{[&](int peer) {
      char request[1024];
      static_cast<void>(::recv(peer, request, sizeof request, 0));
      odd_server::say(peer, answer);
    }};
    return refusal([&] { static_cast<void>(http_get(at.root)); }).substr(at.root.size());
  };
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  EXPECT_EQ(said(""), ": no answer: it hung up");
  EXPECT_EQ(said("SSH-2.0\r\n\r\n"), ": no answer: it does not speak HTTP");
  EXPECT_EQ(said(ok + "Content-Length: -1\r\n\r\nabc"), ": no answer: a length that is no number");
  EXPECT_EQ(said(ok + "content-length: 9223372036854775808\r\n\r\nabc"), ": more than 67108864 bytes");
  EXPECT_EQ(said(ok + "Content-Length: 4\r\n\r\nabc"), ": no answer: it hung up in the middle");
  EXPECT_EQ(said(ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            ": no answer: it is encoded, expected a plain one");
  EXPECT_EQ(said("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"), ": status 302, expected 200");
  for (const char* no_url :
       {"http://", "http://a:99999/", "http://a:/", "http://[::1", "http://a/b c", "http://a/\r\nX:"})
    EXPECT_TRUE(refusal([&] { static_cast<void>(http_get(no_url)); }).ends_with(": expected http://HOST:PORT/metrics"))
        << no_url;
}
#endif

}  // namespace
}  // namespace watch_test
