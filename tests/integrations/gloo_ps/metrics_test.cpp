// gloo_server as Prometheus sees it.
#include "http.hpp"

#ifdef RUBATO_HTTPLIB
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gloo_ps_metrics_test {
namespace {

using rubato::test::get;
using rubato::test::metrics_at;

class Metrics : public rubato::test::metrics_test {};

TEST_F(Metrics, PageHealthAndNothingElse) {
  const pid_t server = start("server", server_words(2, {"--policy", "ssp:2", "--metrics", "0"}));
  const std::string url = url_of("server"), root = url.substr(0, url.rfind('/'));
  EXPECT_TRUE(url.starts_with("http://127.0.0.1:")) << url;
  const auto page = get(url);
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(page.body.find("rubato_policy_info{policy=\"ssp: "), page.body.npos) << page.body;
  EXPECT_TRUE(page.body.ends_with("\n"));
  EXPECT_EQ(get(root + "/healthz").body, "ok\n");
  for (const char* other : {"/", "/metrics/more", "/healthz/", "/../report.json"})
    EXPECT_EQ(get(root + other).status, 404) << other;
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 0);
}

TEST_F(Metrics, PageIsDocumented) {
  const pid_t server = start("server", server_words(2, {"--metrics", "0"}));
  std::istringstream lines{get(url_of("server")).body};
  std::ifstream file{RUBATO_SOURCE_DIR "/docs/operate.md"};
  const std::string docs{std::istreambuf_iterator<char>{file}, {}};
  int families = 0;
  for (std::string hash, word, name, line; std::getline(lines, line);)
    if (std::istringstream words{line}; words >> hash >> word >> name && word == "TYPE") {
      EXPECT_NE(docs.find("`" + name + "`"), docs.npos) << name << " is not in docs/operate.md";
      ++families;
    }
  EXPECT_GT(families, 30);
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 0);
}

TEST_F(Metrics, PortThatIsTakenIsSaid) {
  const pid_t first = start("first", server_words(2, {"--metrics", "0"}));
  const std::string url = url_of("first"), port = url.substr(url.rfind(':') + 1, url.rfind('/') - url.rfind(':') - 1);
  const pid_t second = start("second", server_words(2, {"--metrics", port, "--job", "2"}));
  EXPECT_EQ(wait(second), 1);
  EXPECT_TRUE(logged("second", "gloo_server: --metrics: nothing can listen on 127.0.0.1 port " + port, 1));
  const pid_t third = start("third", server_words(2, {"--metrics", "0", "--metrics-host", "192.0.2.1", "--job", "3"}));
  EXPECT_EQ(wait(third), 1);
  EXPECT_TRUE(logged("third", "--metrics: nothing can listen on 192.0.2.1 port 0", 1));
  EXPECT_EQ(wait(start("fourth", server_words(2, {"--metrics", "65536"}))), 2);
  EXPECT_EQ(get(url).status, 200) << "the first one goes on";
  ::kill(first, SIGTERM);
  EXPECT_EQ(wait(first), 0);
}

TEST_F(Metrics, BodiesAreNotRead) {
  const pid_t server = start("server", server_words(2, {"--metrics", "0"}));
  const std::string url = url_of("server");
  httplib::Client client{url.substr(0, url.rfind('/'))};
  for (const std::size_t size : {std::size_t{1}, std::size_t{100'000}}) {
    const auto answer = client.Post("/metrics", std::string(size, 'x'), "text/plain");
    ASSERT_TRUE(answer) << size;
    EXPECT_EQ(answer->status, 405);
  }
  const rubato::test::raw_connection chunks{url};
  ASSERT_TRUE(chunks.say("POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_TRUE(chunks.answer().starts_with("HTTP/1.1 405 ")) << "before there is a body";
  const rubato::test::raw_connection no_http{url};
  ASSERT_TRUE(no_http.say("hello\r\n\r\n"));
  EXPECT_TRUE(no_http.answer().starts_with("HTTP/1.1 400 "));
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 0);
}

// Each without an end: a chunked body, a header, the first line, headers.
TEST_F(Metrics, MemoryDoesNotGrowWithWhatIsSent) {
  const pid_t server = start("server", server_words(2, {"--metrics", "0"}));
  const std::string url = url_of("server");
  EXPECT_EQ(get(url).status, 200);
  const auto resident = [&] {  // MiB
    const std::string status = read("/proc/" + std::to_string(server) + "/status");
    return std::stol(status.substr(status.find("VmHWM:") + 6)) / 1024;
  };
  const long before = resident();
  const std::string chunk = "ffff\r\n" + std::string(0xffff, 'a') + "\r\n", piece(1 << 16, 'a');
  std::string headers;
  for (int i = 0; i < 100; ++i) headers += "X-" + std::to_string(i) + ": " + std::string(4000, 'b') + "\r\n";
  const std::vector<std::pair<std::string, std::string>> attacks{
      {"POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", chunk},
      {"GET /metrics HTTP/1.1\r\nX: ", piece},
      {"GET /", piece},
      {"GET /metrics HTTP/1.1\r\n", headers}};
  for (const auto& attack : attacks) {
    const rubato::test::raw_connection liar{url};
    ASSERT_TRUE(liar.say(attack.first));
    EXPECT_TRUE(within(10, [&] { return !liar.say(attack.second); })) << attack.first;
  }
  EXPECT_LT(resident() - before, 8);
  EXPECT_EQ(get(url).status, 200);
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 0);
}

TEST_F(Metrics, ARequestByDripsHasADeadline) {
  const pid_t server = start("server", server_words(2, {"--metrics", "0"}));
  const std::string url = url_of("server");
  const rubato::test::half_request slow{url};
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(within(10, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    return !slow.say("x");
  })) << "each byte within the limit, all of them not";
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{4});
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 0);
}

// Many scrapes at once, and some that never end, while workers push: all come out as they should.
TEST_F(Metrics, ScrapesDisturbNobody) {
  const pid_t server = start("server", server_words(3, {"--policy", "bsp:sum", "--metrics", "0"}));
  const std::string url = url_of("server");
  std::vector<pid_t> worker;
  for (int w = 0; w < 3; ++w)
    worker.push_back(start("worker" + std::to_string(w), worker_words(3, w, {"--steps", "400"})));
  std::vector<std::thread> readers;
  std::atomic<int> pages = 0, torn = 0;
  for (int r = 0; r < 3; ++r)
    readers.emplace_back([&] {
      for (auto page = get(url); page.status == 200; page = get(url)) {
        ++pages;
        torn += !page.body.ends_with("\n") || page.body.find("rubato_refused_total{") == page.body.npos;
      }
    });
  EXPECT_TRUE(within(30, [&] { return pages > 0; }));
  const rubato::test::half_request one{url}, other{url};  // as many as it has threads for answers
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 0);
  for (std::thread& r : readers) r.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(numbers("parameters"), (std::vector<double>{-400, -400, -400}));
}

}  // namespace
}  // namespace gloo_ps_metrics_test
#endif
