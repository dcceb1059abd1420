#ifndef RUBATO_GLOO_PS_PROGRAMS_METRICS_PAGE_HPP
#define RUBATO_GLOO_PS_PROGRAMS_METRICS_PAGE_HPP

#include <string>

#include "serving.hpp"

/// What Prometheus reads of a server whose watcher has metrics: those of job_metrics, and the server's own. The lock of
/// the decisions is held for a copy of them, O(workers), and not while the page is written. Any thread.
[[nodiscard]] std::string metrics_page(served_job::server_type& of);

#endif
