#pragma once

#include <ctime>

namespace vitrine::testing {

// Processor time of this process since the stopwatch was made: what else the machine does is not in it.
class LongRun {
 public:
  double seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

  // What a mebibyte of input may take at most; what is quadratic takes far longer. A sanitizer checks every access.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr double kMostSeconds = 60;
#else
  static constexpr double kMostSeconds = 1;
#endif

 private:
  std::clock_t start_ = std::clock();
};

}  // namespace vitrine::testing
