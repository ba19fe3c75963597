#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/model.h"
#include "trace/timeline.h"

namespace vitrine::cli {

// Times the parts of every forward pass (embedding, layers, final norm, head) by the moments at which their values are
// shown, and puts them into a timeline as spans below the prefill or decode span that they lie in, with layer, shape
// and bytes of what they gave. Set as the engine's observer; used by the engine's thread.
class ForwardTrace : public models::ForwardObserver {
 public:
  // The timeline is read while the passes run, and must outlive them.
  explicit ForwardTrace(const trace::Timeline& timeline) : timeline_(timeline) {}

  void on_values(std::string_view name, std::span<const float> values, std::size_t width) override;
  // To be called once, when the request has ended.
  void add_spans(trace::Timeline& timeline) const;

 private:
  struct Part {
    std::string_view name;  // static text
    trace::Stage stage;
    std::size_t layer_idx;  // of layers alone
    std::size_t num_rows;
    std::size_t width;
    trace::Interval time;
  };

  const trace::Timeline& timeline_;
  std::int64_t last_ns_ = 0;
  std::vector<Part> parts_;  // in order of time
};

}  // namespace vitrine::cli
