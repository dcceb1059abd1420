#ifndef RUBATO_BENCH_EXPERIMENTS_STIGMERGY_PICTURES_HPP
#define RUBATO_BENCH_EXPERIMENTS_STIGMERGY_PICTURES_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tunnel.hpp"

namespace stigmergy {

/// What an episode looked like, step by step.
class recording {
 public:
  void operator()(const tunnel& world) {
    if (frames_.empty()) {
      columns_ = world.columns(), rows_ = world.rows();
      for (std::int32_t row = 0; row < rows_; ++row)
        for (std::int32_t column = 0; column < columns_; ++column)
          if (!world.is_wall({column, row})) open_.push_back({column, row});
      occupied_.assign(open_.size(), 0);
      trace_.assign(open_.size(), 0);
    }
    frame now;
    for (std::size_t i = 0; i < world.agents(); ++i) now.agents.push_back({world.place(i), world.carries(i)});
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const cell at = open_[i];
      now.pellets.push_back(world.has_pellet(at));
      now.pheromone.push_back(world.pheromone(at));
      occupied_[i] += world.occupant(at) >= 0 ? 1 : 0;
      trace_[i] += static_cast<double>(world.pheromone(at));
    }
    frames_.push_back(std::move(now));
  }

  /// The episode as an SVG file that moves: agents (filled while they carry), pellets, and pheromone as shade.
  [[nodiscard]] std::string animation(double seconds) const {
    std::string out = head(1);
    const auto animate = [&](const char* what, const auto& value) {
      out += std::string{"<animate attributeName=\""} + what +
             "\" calcMode=\"discrete\" repeatCount=\"indefinite\" dur=\"" + text("%g", seconds) + "s\" values=\"";
      for (std::size_t t = 0; t < frames_.size(); ++t) out += (t > 0 ? ";" : "") + value(frames_[t]);
      out += "\"/>";
    };
    for (std::size_t i = 0; i < open_.size(); ++i) {
      out += square(open_[i], "#3366cc", 0);
      animate("fill-opacity", [&](const frame& f) { return text("%.2g", shade(f.pheromone[i])); });
      out += "</rect>\n";
    }
    for (std::size_t i = 0; i < open_.size(); ++i) {
      bool ever = false;
      for (const frame& f : frames_) ever = ever || f.pellets[i];
      if (!ever) continue;
      out += text("<circle cx=\"%d\"", middle(open_[i].column)) +
             text(" cy=\"%d\" r=\"3\" fill=\"#2a7f3f\">", middle(open_[i].row));
      animate("visibility", [&](const frame& f) { return std::string{f.pellets[i] ? "visible" : "hidden"}; });
      out += "</circle>\n";
    }
    for (std::size_t a = 0; a < frames_[0].agents.size(); ++a) {
      out += "<circle r=\"7\" stroke=\"#b03a2e\" stroke-width=\"2\" fill=\"#b03a2e\">";
      animate("cx", [&](const frame& f) { return text("%d", middle(f.agents[a].at.column)); });
      animate("cy", [&](const frame& f) { return text("%d", middle(f.agents[a].at.row)); });
      animate("fill-opacity", [&](const frame& f) { return std::string{f.agents[a].carries ? "1" : "0.15"}; });
      out += "</circle>\n";
    }
    return out + "</svg>\n";
  }

  /// Where agents were, above, and how much pheromone there was on average, below.
  [[nodiscard]] std::string heat_map() const {
    std::string out = head(2);
    double most = 0, strongest = 0;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      most = occupied_[i] > most ? occupied_[i] : most;
      strongest = trace_[i] > strongest ? trace_[i] : strongest;
    }
    for (std::size_t i = 0; i < open_.size(); ++i) {
      out += square(open_[i], "#b03a2e", most > 0 ? occupied_[i] / most : 0) + "</rect>\n";
      out += square({open_[i].column, open_[i].row + rows_}, "#3366cc", strongest > 0 ? trace_[i] / strongest : 0) +
             "</rect>\n";
    }
    return out + "</svg>\n";
  }

 private:
  static constexpr std::int32_t size = 18;  // of a cell

  struct agent {
    cell at;
    bool carries;
  };
  struct frame {
    std::vector<agent> agents;
    std::vector<bool> pellets;
    std::vector<float> pheromone;
  };

  template <class Number>
  [[nodiscard]] static std::string text(const char* format, Number number) {
    std::array<char, 64> memory{};
    std::snprintf(memory.data(), memory.size(), format, number);
    return memory.data();
  }
  [[nodiscard]] static int middle(std::int32_t at) { return at * size + size / 2; }
  [[nodiscard]] static double shade(float pheromone) {
    return pheromone < 1 ? static_cast<double>(pheromone) * 0.8 : 0.8;
  }
  // An open cell, of which the element is not closed yet.
  [[nodiscard]] static std::string square(cell at, const char* colour, double opacity) {
    return text("<rect x=\"%d\"", at.column * size) + text(" y=\"%d\"", at.row * size) + text(" width=\"%d\"", size) +
           text(" height=\"%d\"", size) + " fill=\"" + colour + "\"" + text(" fill-opacity=\"%.2g\">", opacity);
  }
  // Walls all over, with the open cells cut out: `panels` maps one below the other.
  [[nodiscard]] std::string head(std::int32_t panels) const {
    const std::int32_t width = columns_ * size, height = rows_ * size * panels;
    std::string out = text("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\"", width) +
                      text(" height=\"%d\"", height) + text(" viewBox=\"0 0 %d", width) + text(" %d\">\n", height) +
                      "<rect width=\"100%\" height=\"100%\" fill=\"#777\"/>\n";
    for (std::int32_t panel = 0; panel < panels; ++panel)
      for (const cell at : open_) out += square({at.column, at.row + panel * rows_}, "#fff", 1) + "</rect>\n";
    return out;
  }

  std::int32_t columns_ = 0, rows_ = 0;
  std::vector<cell> open_;
  std::vector<frame> frames_;
  std::vector<double> occupied_, trace_;
};

}  // namespace stigmergy

#endif
