#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/escape_html.h"
#include "plot/picture.h"
#include "plot/plot.h"

namespace vitrine::plot {
namespace {

using base::escape_html;
using Point = std::pair<double, double>;

constexpr double kLineWidth = 800;
constexpr double kLineHeight = 360;
constexpr double kLineLeft = 70;
constexpr double kLineRight = 36;
constexpr double kLineTop = 70;
constexpr double kLineBottom = 52;
constexpr int kNumTicks = 4;
constexpr double kMostTicks = 8;
constexpr double kKeyStep = 180;
constexpr std::size_t kKeysOfRow = 4;

// From values to places between `low_end` and `high_end`.
class Ruler {
 public:
  Ruler(const Axis& axis, double low, double high, double low_end, double high_end)
      : is_log_(axis.scale == Scale::kLog), low_end_(low_end), high_end_(high_end) {
    low_ = is_log_ ? std::log10(low) : 0.0;
    high_ = is_log_ ? std::log10(high) : high;
    if (high_ - low_ < 1e-9) high_ = low_ + 1.0;
  }

  double place(double value) const {
    const double share = ((is_log_ ? std::log10(value) : value) - low_) / (high_ - low_);
    return low_end_ + share * (high_end_ - low_end_);
  }
  // Powers of ten, with 2 and 5 where there are few; or round parts of a linear axis.
  std::vector<double> ticks() const { return is_log_ ? log_ticks() : linear_ticks(); }

 private:
  std::vector<double> linear_ticks() const {
    const double rough = high_ / kNumTicks;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10.0 * power;
    for (const double factor : {5.0, 2.0, 1.0})
      if (factor * power >= rough) step = factor * power;
    std::vector<double> values;
    for (int i = 0; step * i <= high_ * 1.0001; ++i)
      values.push_back(step * i);
    return values;
  }
  std::vector<double> log_ticks() const {
    const double decades = std::max(1.0, std::ceil((high_ - low_) / kMostTicks));
    std::vector<double> values;
    for (double exponent = std::floor(low_); exponent <= high_; exponent += decades) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor > 1.0 && high_ - low_ > 2.5) continue;
        const double value = factor * std::pow(10.0, exponent);
        if (std::log10(value) >= low_ - 1e-9 && std::log10(value) <= high_ + 1e-9) values.push_back(value);
      }
    }
    return values;
  }

  bool is_log_;
  double low_end_;
  double high_end_;
  double low_ = 0.0;
  double high_ = 1.0;
};

bool is_shown(double value, const Axis& axis) {
  return std::isfinite(value) && (axis.scale == Scale::kLinear || value > 0.0);
}

std::vector<Point> shown_points(const Series& series, const LinePlot& plot) {
  std::vector<Point> points;
  for (const Point& point : series.points)
    if (is_shown(point.first, plot.x) && is_shown(point.second, plot.y)) points.push_back(point);
  return points;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = 0.0;

  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return !std::isfinite(low); }
};

std::string grid(const Ruler& x, const Ruler& y) {
  std::string svg;
  for (const double value : y.ticks()) {
    svg += fmt::format(
        R"(<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/><text x="{3}" y="{4:.1f}" text-anchor="end">{5}</text>)",
        kLineLeft, kLineWidth - kLineRight, y.place(value), kLineLeft - 6, y.place(value) + 4, short_number(value));
  }
  for (const double value : x.ticks()) {
    svg += fmt::format(
        R"(<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/><text x="{0:.1f}" y="{3}" text-anchor="middle">{4}</text>)",
        x.place(value), kLineTop, kLineHeight - kLineBottom, kLineHeight - kLineBottom + 16, short_number(value));
  }
  return svg;
}

std::string line_of(const Series& series, const std::vector<Point>& points, std::size_t idx, const Ruler& x,
                    const Ruler& y) {
  std::string svg;
  if (series.has_line && points.size() > 1) {
    svg += fmt::format(R"(<polyline class="{}" points=")", line_class(idx));
    for (const auto& [at, value] : points)
      svg += fmt::format("{:.1f},{:.1f} ", x.place(at), y.place(value));
    svg += R"("/>)";
  }
  if (!series.has_marks) return svg;
  for (const auto& [at, value] : points) {
    svg += fmt::format(R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4"><title>{} at {}: {}</title></circle>)",
                       fill_class(idx), x.place(at), y.place(value), escape_html(series.name), short_number(at),
                       short_number(value));
  }
  return svg;
}

std::string key(const LinePlot& plot) {
  std::string svg;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const double left = kLineLeft + kKeyStep * static_cast<double>(i % kKeysOfRow);
    const std::size_t row = i / kKeysOfRow;
    const double y = 30 + 18 * static_cast<double>(row);
    const Series& series = plot.series[i];
    if (series.has_line)
      svg += fmt::format(R"(<polyline class="{}" points="{},{} {},{}"/>)", line_class(i), left, y, left + 24, y);
    if (series.has_marks)
      svg += fmt::format(R"(<circle class="{}" cx="{}" cy="{}" r="4"/>)", fill_class(i), left + 12, y);
    svg += fmt::format(R"(<text x="{}" y="{}">{}</text>)", left + 30, y + 4, escape_html(series.name));
  }
  return svg;
}

std::string axis_titles(const LinePlot& plot) {
  return fmt::format(R"(<text x="{}" y="{}" text-anchor="end">{}</text><text x="{}" y="{}">{}</text>)",
                     kLineWidth - kLineRight, kLineHeight - 10, escape_html(plot.x.title), 6, kLineTop - 8,
                     escape_html(plot.y.title));
}

}  // namespace

std::string line_svg(const LinePlot& plot) {
  Range xs;
  Range ys;
  for (const Series& series : plot.series) {
    for (const auto& [at, value] : shown_points(series, plot)) {
      xs.take(at);
      ys.take(value);
    }
  }
  std::string svg = key(plot) + axis_titles(plot);
  if (!xs.empty()) {
    const bool is_log = plot.y.scale == Scale::kLog;
    const Ruler x(plot.x, xs.low, xs.high, kLineLeft, kLineWidth - kLineRight);
    const Ruler y(plot.y, is_log ? 0.8 * ys.low : 0.0, (is_log ? 1.25 : 1.05) * ys.high, kLineHeight - kLineBottom,
                  kLineTop);
    svg += grid(x, y);
    for (std::size_t i = 0; i < plot.series.size(); ++i)
      svg += line_of(plot.series[i], shown_points(plot.series[i], plot), i, x, y);
  }
  return draw({.title = plot.title, .width = kLineWidth, .height = kLineHeight, .left = kLineLeft, .content = svg});
}

}  // namespace vitrine::plot
