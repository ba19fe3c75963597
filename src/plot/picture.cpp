#include "plot/picture.h"

#include <cmath>

#include <fmt/format.h>

#include "base/escape_html.h"

namespace vitrine::plot {
namespace {

constexpr std::string_view kStyle =
    R"(.p{--ink:#1b1f24;--paper:#fbfaf7;--line:#d6d3ca;--a:#173f9c;--b:#4f91e3;--c:#dd6c14;--d:#3f8f87;--e:#69717d;--f:#9b2f5f}
@media (prefers-color-scheme:dark){.p{--ink:#e8e6e1;--paper:#14171a;--line:#3a3f45;--a:#a6cdf2;--b:#2f63e0;--c:#cb673c;--d:#5cc4b6;--e:#a3abb5;--f:#e08bb0}}
.p text{fill:var(--ink);font:12px system-ui,sans-serif}.p .t{font-weight:600}.p .bg{fill:var(--paper)}
.p .k0{fill:var(--a)}.p .k1{fill:var(--b)}.p .k2{fill:var(--c)}.p .k3{fill:var(--d)}.p .k4{fill:var(--e)}.p .k5{fill:var(--f)}
.p .l0{stroke:var(--a)}.p .l1{stroke:var(--b)}.p .l2{stroke:var(--c)}.p .l3{stroke:var(--d)}.p .l4{stroke:var(--e)}.p .l5{stroke:var(--f)}
.p polyline{fill:none;stroke-width:2}.p .l1{stroke-dasharray:8 3}.p .l2{stroke-dasharray:3 3}.p .l3{stroke-dasharray:10 3 2 3}.p .l5{stroke-dasharray:1 3}
.p .grid{stroke:var(--line)}.p .have{stroke:var(--ink);stroke-width:1.5}.p .copied{stroke:var(--ink);stroke-width:1;stroke-dasharray:5 4;fill:none})";

constexpr std::size_t kNumColours = 6;

}  // namespace

std::string fill_class(std::size_t i) {
  return fmt::format("k{}", i % kNumColours);
}

std::string line_class(std::size_t i) {
  return fmt::format("l{}", i % kNumColours);
}

std::string short_number(double value) {
  return std::abs(value) >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string draw(const Picture& picture) {
  const std::string title = base::escape_html(picture.title);
  return fmt::format(
             R"(<svg class="p" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" role="img" aria-label="{2}"><style>{3}</style><rect class="bg" width="{0}" height="{1}"/><text class="t" x="{4}" y="16">{2}</text>)",
             picture.width, picture.height, title, kStyle, picture.left) +
         picture.content + "</svg>\n";
}

}  // namespace vitrine::plot
