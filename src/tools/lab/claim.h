#pragma once

#include <span>
#include <string>

#include "tools/lab/report.h"
#include "tools/lab/spread.h"

namespace vitrine::lab {

// Something said everywhere that a run can be held against: that one thing is more, less or the same as another.
struct Claim {
  std::string what;  // of the ratio: "tokens per second, continuous to static batches"
  Spread ratio;
  Comparison expected = Comparison::kMore;
};

// One that came out otherwise makes it kContradicts, else one that can't be told kUnclear. The text has every ratio,
// and says of each that is not as expected that it is not.
Conclusion judge(std::span<const Claim> claims);

}  // namespace vitrine::lab
