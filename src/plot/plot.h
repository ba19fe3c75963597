#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vitrine::plot {

// Bars side by side for each group, a colour for each series.
struct BarPlot {
  std::string title;
  std::vector<std::string> series;
  std::vector<std::string> groups;
  std::vector<std::vector<double>> values;  // [group][series]; what is no finite number of 0 or more has no bar
};
std::string bar_svg(const BarPlot& plot);

enum class Scale { kLinear, kLog };

// The linear one begins at 0, the logarithmic one near the least value above 0.
struct Axis {
  std::string title;
  Scale scale = Scale::kLinear;
};

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // by rising x
  bool has_line = true;                           // joins the points
  bool has_marks = true;                          // shows each of them
};

// Points that are not finite, or not above 0 on a logarithmic axis, are left out.
struct LinePlot {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
};
std::string line_svg(const LinePlot& plot);

}  // namespace vitrine::plot
