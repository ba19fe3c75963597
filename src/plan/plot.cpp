#include "plan/plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "plan/formula.h"
#include "plot/page.h"
#include "plot/picture.h"

namespace vitrine::plan {
namespace {

constexpr double kWidth = 800;
constexpr double kHeight = 320;
constexpr double kLeft = 70;
constexpr double kRight = 36;
constexpr double kTop = 56;
constexpr double kBottom = 36;
constexpr int kNumMarks = 4;  // on the axis of bytes
constexpr double kGiB = 1073741824.0;

// From values to places in the picture: lengths by their logarithm, so that each doubling takes the same room.
class Axes {
 public:
  explicit Axes(const MemoryPlot& plot)
      : least_(std::log2(static_cast<double>(plot.points.front().context_length))),
        most_(std::log2(static_cast<double>(plot.points.back().context_length))) {
    const auto largest = static_cast<double>(plot.points.back().memory.total());
    // What is available is shown as long as the model stays in sight beside it.
    top_bytes_ = 1.08 * std::max(largest, std::min(static_cast<double>(plot.available_bytes), 2.5 * largest));
  }

  double x(std::size_t context_length) const {
    const double share = (std::log2(static_cast<double>(context_length)) - least_) / std::max(most_ - least_, 1e-9);
    return kLeft + share * (kWidth - kLeft - kRight);
  }
  double y(double bytes) const {
    return kHeight - kBottom - std::min(bytes / top_bytes_, 1.0) * (kHeight - kBottom - kTop);
  }
  double top_bytes() const { return top_bytes_; }

 private:
  double least_;
  double most_;
  double top_bytes_ = 1.0;
};

using Layer = double (*)(const Memory& memory);  // the upper edge of an area

double weights_edge(const Memory& memory) {
  return static_cast<double>(memory.weights);
}
double buffers_edge(const Memory& memory) {
  return static_cast<double>(memory.without_kv());
}
double total_edge(const Memory& memory) {
  return static_cast<double>(memory.total());
}

struct Area {
  const char* name;
  Layer edge;
};
constexpr std::array kAreas = {Area{"weights", weights_edge}, Area{"buffers and program", buffers_edge},
                               Area{"KV cache", total_edge}};

// Areas are drawn from the highest down, each over the one before.
std::string areas(const MemoryPlot& plot, const Axes& axes) {
  std::string svg;
  for (std::size_t i = kAreas.size(); i-- > 0;) {
    std::string points = fmt::format("{:.1f},{:.1f} ", axes.x(plot.points.front().context_length), axes.y(0));
    for (const MemoryPlot::Point& point : plot.points)
      points += fmt::format("{:.1f},{:.1f} ", axes.x(point.context_length), axes.y(kAreas[i].edge(point.memory)));
    points += fmt::format("{:.1f},{:.1f}", axes.x(plot.points.back().context_length), axes.y(0));
    svg += fmt::format(R"(<polygon class="k{}" points="{}"/>)", i, points);
    svg +=
        fmt::format(R"(<rect class="k{0}" x="{1}" y="26" width="10" height="10"/><text x="{2}" y="35">{3}</text>)", i,
                    kLeft + 150 * static_cast<double>(i), kLeft + 150 * static_cast<double>(i) + 14, kAreas[i].name);
  }
  return svg;
}

std::string marks(const MemoryPlot& plot, const Axes& axes) {
  std::string svg;
  for (int i = 0; i <= kNumMarks; ++i) {
    const double bytes = axes.top_bytes() * i / kNumMarks;
    svg += fmt::format(
        R"(<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/><text x="{3}" y="{4:.1f}" text-anchor="end">{5:.3g} GiB</text>)",
        kLeft, kWidth - kRight, axes.y(bytes), kLeft - 6, axes.y(bytes) + 4, bytes / kGiB);
  }
  for (std::size_t i = 0; i < plot.points.size(); ++i) {
    const std::size_t length = plot.points[i].context_length;
    svg += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", axes.x(length), kHeight - 14,
                       grouped(length));
  }
  return svg;
}

std::string lines(const MemoryPlot& plot, const Axes& axes) {
  std::string svg;
  const auto available = static_cast<double>(plot.available_bytes);
  if (available <= axes.top_bytes()) {
    svg += fmt::format(
        R"(<line class="have" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/><text x="{3}" y="{4:.1f}">available {5:.3g} GiB</text>)",
        kLeft, kWidth - kRight, axes.y(available), kLeft + 6, axes.y(available) - 5, available / kGiB);
  }
  std::string points;
  for (const MemoryPlot::Point& point : plot.points) {
    const double bytes = static_cast<double>(point.memory.without_kv()) + point.copied_kv_bytes;
    points += fmt::format("{:.1f},{:.1f} ", axes.x(point.context_length), axes.y(bytes));
    if (bytes > axes.top_bytes()) break;  // it has left the picture
  }
  svg += fmt::format(R"(<polyline class="copied" points="{}"/>)", points);
  const double x = kLeft + 150 * static_cast<double>(kAreas.size());
  svg += fmt::format(
      R"(<line class="copied" x1="{}" x2="{}" y1="31" y2="31"/><text x="{}" y="35">the copied formula</text>)", x,
      x + 24, x + 30);
  return svg;
}

}  // namespace

std::string memory_svg(const MemoryPlot& plot) {
  const Axes axes(plot);
  const std::string caption =
      fmt::format(R"(<text x="{}" y="{}" text-anchor="end">tokens of context</text>)", kWidth - kRight, kHeight - 1);
  return vitrine::plot::draw({.title = plot.title,
                              .width = kWidth,
                              .height = kHeight,
                              .left = kLeft,
                              .content = marks(plot, axes) + areas(plot, axes) + lines(plot, axes) + caption});
}

std::string plan_html(const PlanPage& page) {
  plot::Page written{
      .title = page.title, .notes = page.notes, .figures = {}, .columns = page.columns, .rows = page.rows, .foot = {}};
  for (const MemoryPlot& plot : page.plots)
    written.figures.push_back(memory_svg(plot));
  return plot::html(written);
}

}  // namespace vitrine::plan
