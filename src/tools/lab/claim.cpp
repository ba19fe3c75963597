#include "tools/lab/claim.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace vitrine::lab {
namespace {

std::string_view expectation(Comparison expected) {
  if (expected == Comparison::kMore) return "more";
  return expected == Comparison::kLess ? "less" : "the same";
}

std::string remark(const Claim& claim) {
  const Comparison found = compare(claim.ratio);
  if (found == claim.expected) return "";
  if (claim.ratio.num_runs < kFewestRuns) return " (too few runs to tell)";
  if (found == Comparison::kUnclear) return " (the runs vary too much to tell)";
  return fmt::format(" (against what is said: {})", expectation(claim.expected));
}

}  // namespace

Conclusion judge(std::span<const Claim> claims) {
  Conclusion conclusion{Verdict::kAsExpected, ""};
  for (const Claim& claim : claims) {
    const Comparison found = compare(claim.ratio);
    if (found == Comparison::kUnclear && conclusion.verdict == Verdict::kAsExpected)
      conclusion.verdict = Verdict::kUnclear;
    if (found != Comparison::kUnclear && found != claim.expected) conclusion.verdict = Verdict::kContradicts;
    if (!conclusion.text.empty()) conclusion.text += "; ";
    conclusion.text += fmt::format("{}: {}{}", claim.what, times(claim.ratio), remark(claim));
  }
  conclusion.text += ".";
  return conclusion;
}

}  // namespace vitrine::lab
