#include "backends/cpu/screening.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vitrine::backends::cpu {
namespace {

constexpr std::size_t kMaxPause = 63;
// Of float16 scales and codes of eight bits no product with a row of this length leaves the range of floats.
constexpr double kMaxLength = 0x1p80;

}  // namespace

std::optional<float> length_of_row(const std::int8_t* codes, const GroupFactors* factors, std::size_t k) {
  double squares = 0.0;
  for (std::size_t group = 0; group < k / kActivationGroup; ++group) {
    std::int32_t of_codes = 0;
    for (std::size_t i = 0; i < kActivationGroup; ++i) {
      const std::int32_t code = codes[group * kActivationGroup + i];
      of_codes += code * code;
    }
    const auto scale = static_cast<double>(factors[group].scale);
    squares += scale * scale * static_cast<double>(of_codes);
  }
  const double length = std::sqrt(squares) * (1.0 + 0x1p-20);
  if (!(length <= kMaxLength)) return std::nullopt;
  return std::nextafter(static_cast<float>(length), std::numeric_limits<float>::infinity());
}

bool ScreeningPace::is_due() {
  if (num_paused_ == pause_) return true;
  ++num_paused_;
  return false;
}

bool ScreeningPace::is_worthwhile(std::size_t num_left, std::size_t num_tiles) {
  const bool is_worthwhile = num_left <= num_tiles / 5;
  pause_ = is_worthwhile ? 0 : std::min(2 * pause_ + 1, kMaxPause);
  num_paused_ = 0;
  return is_worthwhile;
}

}  // namespace vitrine::backends::cpu
