#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace vitrine::lab {

// Where the middle half of some runs lies. A shared machine spoils single runs; the middle half hardly.
struct Spread {
  double median = 0.0;
  double low = 0.0;   // a quarter of the runs lie below
  double high = 0.0;  // a quarter above
  std::size_t num_runs = 0;
};
Spread spread_of(std::span<const double> runs);

// Run by run, since two runs next to each other saw the same machine.
Spread ratio_of(std::span<const double> numerators, std::span<const double> denominators);

enum class Comparison {
  kMore,
  kSame,
  kLess,
  kUnclear,  // too few runs, or they contradict each other
};
inline constexpr std::size_t kFewestRuns = 3;
inline constexpr double kMargin = 0.1;  // what counts as a difference

// Of a ratio: more (or less) where its middle half lies on that side of 1 and its median is further from it than
// `margin`; the same where the middle half lies within the margin.
Comparison compare(const Spread& ratio, double margin = kMargin);

// "2.1x" or, with a spread worth telling, "2.1x (1.8 to 2.6)".
std::string times(const Spread& ratio);
// "2.1x", "12x", "0.34x".
std::string times(double ratio);

}  // namespace vitrine::lab
