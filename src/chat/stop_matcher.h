#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine::chat {

// Cuts a generated text at the first stop string. Text comes in pieces of whole characters; what may still become part
// of a stop string is held back, everything else goes out at once. The pieces put out are, joined, the text before the
// stop string that begins first, however the text was cut into pieces. Linear in the text (one Knuth-Morris-Pratt
// automaton per stop string). One per sequence, not thread-safe.
class StopMatcher {
 public:
  static constexpr std::size_t kMaxStops = 16;
  static constexpr std::size_t kMaxStopBytes = 256;

  // Fails with kUsage on too many stop strings, an empty or an over-long one.
  static base::Result<StopMatcher> create(std::vector<std::string> stops);

  // The text that can go out after this piece; empty once stopped.
  std::string feed(std::string_view piece);

  // The generation has ended: the text still held back.
  std::string finish();

  // Whether a stop string was found; the generation is to end.
  bool stopped() const { return stopped_; }
  // Which one, by its index.
  std::optional<std::size_t> stop_idx() const { return stopped_ ? hit_stop_idx_ : std::nullopt; }

 private:
  struct Pattern {
    std::string text;
    std::vector<std::size_t> border;  // [text.size()]: longest proper border of each prefix
    std::size_t num_matched = 0;      // bytes of `text` that end at the current position
  };

  explicit StopMatcher(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {}

  void step(char byte);
  std::size_t earliest_pending() const;
  std::string release(std::size_t end);

  std::vector<Pattern> patterns_;
  std::string held_;            // the text from held_start_ on
  std::size_t held_start_ = 0;  // positions count bytes of the whole text
  std::size_t position_ = 0;
  std::optional<std::size_t> hit_start_;
  std::optional<std::size_t> hit_stop_idx_;
  bool stopped_ = false;
};

}  // namespace vitrine::chat
