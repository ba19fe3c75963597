#include "vitrine/prefill_progress.h"

#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "base/elapsed.h"

namespace vitrine::cli {

void PrefillProgress::show(std::size_t num_computed, std::size_t num_prompt_tokens) {
  if (!is_shown_at_all_ || num_computed >= num_prompt_tokens) return clear();
  const double elapsed_s = base::seconds_since(start_);
  const double rate = elapsed_s > 0.0 ? static_cast<double>(num_computed) / elapsed_s : 0.0;
  const std::string line =
      fmt::format("reading the prompt: {} of {} tokens  {:.0f} %  {:.0f} tok/s", num_computed, num_prompt_tokens,
                  100.0 * static_cast<double>(num_computed) / static_cast<double>(num_prompt_tokens), rate);
  err_.print("\r\033[K" + line.substr(0, static_cast<std::size_t>(err_.width())));
  std::fflush(err_.stream());
  is_on_screen_ = true;
}

void PrefillProgress::clear() {
  if (is_on_screen_) err_.print("\r\033[K");
  is_on_screen_ = false;
}

}  // namespace vitrine::cli
