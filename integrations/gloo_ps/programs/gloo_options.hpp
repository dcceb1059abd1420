#ifndef RUBATO_GLOO_PS_PROGRAMS_GLOO_OPTIONS_HPP
#define RUBATO_GLOO_PS_PROGRAMS_GLOO_OPTIONS_HPP

#include <CLI/CLI.hpp>
#include <string>

/// How server and workers find and reach each other over Gloo.
struct gloo_options {
  std::string store, host = "127.0.0.1", interface;
  double connect_limit = 5;

  void add_to(CLI::App& app) {
    app.add_option("--store", store, "rendezvous: file:FOLDER that all machines see, or redis:HOST[:PORT]")->required();
    app.add_option("--host", host, "name or address of this machine, by which the others reach it")
        ->capture_default_str();
    app.add_option("--interface", interface, "network interface instead of --host");
    app.add_option("--connect-limit", connect_limit, "seconds that one connection may take")
        ->check(CLI::Range(0.1, 600.0))
        ->capture_default_str();
  }
};

#endif
