#include <cstdio>
#include <rubato/ps_lite/request_window.hpp>

int main() { std::printf("ps_lite: %d\n", rubato::ps_lite::request_window{}.first_time(0) ? 0 : 1); }
