#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/escape_html.h"
#include "plot/picture.h"
#include "plot/plot.h"

namespace vitrine::plot {
namespace {

using base::escape_html;

constexpr double kBarWidth = 800;
constexpr double kBarHeight = 240;
constexpr double kBarLeft = 24;
constexpr double kBarBottom = 30;
constexpr double kBarTop = 60;
constexpr double kLegendY = 26;
constexpr double kLegendStep = 128;

bool is_drawn(double value) {
  return std::isfinite(value) && value >= 0.0;
}

double highest(const BarPlot& plot) {
  double most = 0.0;
  for (const auto& values : plot.values) {
    for (const double value : values)
      if (is_drawn(value)) most = std::max(most, value);
  }
  return most > 0.0 ? most : 1.0;
}

std::string bars_of(const BarPlot& plot, std::size_t group, double left, double width, double scale) {
  std::string svg;
  const double bar = 0.8 * width / static_cast<double>(plot.series.size());
  for (std::size_t series = 0; series < plot.series.size(); ++series) {
    const double value = plot.values[group][series];
    if (!is_drawn(value)) continue;
    const double x = left + 0.1 * width + bar * static_cast<double>(series);
    const double y = kBarHeight - kBarBottom - value * scale;
    svg += fmt::format(
        R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{} {}: {}</title></rect>)",
        fill_class(series), x, y, 0.9 * bar, value * scale, escape_html(plot.groups[group]),
        escape_html(plot.series[series]), short_number(value));
    svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x + 0.45 * bar, y - 4,
                       short_number(value));
  }
  return svg + fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", left + width / 2,
                           kBarHeight - 10, escape_html(plot.groups[group]));
}

std::string bar_legend(const BarPlot& plot) {
  if (plot.series.size() < 2) return "";
  std::string svg;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const double x = kBarLeft + kLegendStep * static_cast<double>(i);
    svg += fmt::format(R"(<rect class="{}" x="{}" y="{}" width="10" height="10"/><text x="{}" y="{}">{}</text>)",
                       fill_class(i), x, kLegendY, x + 14, kLegendY + 9, escape_html(plot.series[i]));
  }
  return svg;
}

}  // namespace

std::string bar_svg(const BarPlot& plot) {
  const double scale = (kBarHeight - kBarBottom - kBarTop) / highest(plot);
  const double width = (kBarWidth - kBarLeft) / static_cast<double>(std::max<std::size_t>(1, plot.groups.size()));
  std::string svg = bar_legend(plot);
  for (std::size_t group = 0; group < plot.groups.size(); ++group)
    svg += bars_of(plot, group, kBarLeft + width * static_cast<double>(group), width, scale);
  svg += fmt::format(R"(<line class="grid" x1="{0}" y1="{1}" x2="{2}" y2="{1}"/>)", kBarLeft, kBarHeight - kBarBottom,
                     kBarWidth);
  return draw({.title = plot.title, .width = kBarWidth, .height = kBarHeight, .left = kBarLeft, .content = svg});
}

}  // namespace vitrine::plot
