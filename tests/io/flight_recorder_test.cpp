#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <limits>
#include <rubato/io/flight_recorder.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "host.hpp"

namespace {

using namespace rubato;
using test::host;

static_assert(Observer<flight_recorder>);

std::string text_of(const flight_recorder& recorder) {
  std::string text;
  test::text_sink sink{&text};
  recorder.write(sink);
  return text;
}

TEST(FlightRecorder, GoldenLines) {
  host<flight_recorder> h{asp{}, 2, flight_recorder{8}};
  EXPECT_EQ(h.join(0, 0.0), errc::ok);
  EXPECT_EQ(h.join(1, 0.5, 3), errc::ok);
  h.step(0, 1.5, 1.625, std::numeric_limits<float>::infinity());
  EXPECT_EQ(h.depart(1, 2.0, cause::death), errc::ok);
  EXPECT_EQ(text_of(h.sync.watcher()), R"({"format":"rubato.flight","version":1,"records":8,"lost":0}
{"now":0,"what":"join","worker":0,"incarnation":0,"clock":0,"version":0,"parked":0}
{"now":0.5,"what":"join","worker":1,"incarnation":3,"clock":0,"version":0,"parked":0}
{"now":0.5,"what":"release","worker":0,"incarnation":0,"clock":0,"version":0,"parked":1}
{"now":0.5,"what":"release","worker":1,"incarnation":3,"clock":0,"version":0,"parked":0}
{"now":1.5,"what":"admit","worker":0,"incarnation":0,"clock":0,"verdict":"drop","staleness":0,"because":"non_finite","version":0,"parked":0}
{"now":1.625,"what":"commit","worker":0,"incarnation":0,"clock":1,"verdict":"drop","staleness":0,"because":"non_finite","version":0,"parked":1}
{"now":1.625,"what":"release","worker":0,"incarnation":0,"clock":1,"version":0,"parked":0}
{"now":2,"what":"depart","worker":1,"incarnation":3,"clock":0,"why":"death","version":0,"parked":0}
)");
}

TEST(FlightRecorder, KeepsTheLatest) {
  flight_recorder recorder{3};
  EXPECT_EQ(recorder.capacity(), 4U) << "the next power of two";
  for (std::uint32_t i = 0; i < 10; ++i) recorder(record{.what = record::kind::cancel, .worker = {i, 0}});
  const flight_recorder moved = std::move(recorder);
  EXPECT_EQ(moved.made(), 10U);
  const std::string text = text_of(moved);
  EXPECT_TRUE(text.starts_with(R"({"format":"rubato.flight","version":1,"records":4,"lost":6})")) << text;
  EXPECT_NE(text.find(R"("worker":6,)"), std::string::npos);
  EXPECT_EQ(text.find(R"("worker":5,)"), std::string::npos);
  EXPECT_LT(text.find(R"("worker":6,)"), text.find(R"("worker":9,)")) << "the oldest first";
}

flight_recorder* on_board = nullptr;

struct standard_error {
  void operator()(std::string_view bytes) noexcept {
    static_cast<void>(!::write(STDERR_FILENO, bytes.data(), bytes.size()));
  }
};

TEST(FlightRecorderDeathTest, WritesFromASignalHandler) {
  const auto crash = [] {
    flight_recorder recorder{16};
    on_board = &recorder;
    std::signal(SIGSEGV, [](int) {
      standard_error sink;
      on_board->write(sink);
      std::_Exit(3);
    });
    recorder(record{.what = record::kind::release, .worker = {7, 0}, .now = 1.25});
    std::raise(SIGSEGV);
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(3), R"("now":1.25,"what":"release","worker":7)");
}

}  // namespace
