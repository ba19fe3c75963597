#pragma once

#include <string>
#include <string_view>

namespace vitrine::plot {

// An SVG picture that needs nothing else and follows the reader's light or dark scheme.
struct Picture {
  std::string title;  // shown at the top, and read out in place of the picture
  double width = 800;
  double height = 320;
  double left = 70;     // where the title begins
  std::string content;  // SVG elements; their classes are those below
};
// Classes: k0 to k5 fills and l0 to l5 lines of six series, grid, have (a limit), copied (a dashed line).
std::string draw(const Picture& picture);

// Colours of six series, `i` taken modulo six.
std::string fill_class(std::size_t i);
std::string line_class(std::size_t i);

// "0.0123", "12.3", "1230": three digits that count.
std::string short_number(double value);

}  // namespace vitrine::plot
