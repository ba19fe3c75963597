#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "vitrine/terminal.h"
#include "vitrine/xray_source.h"

namespace vitrine::cli {

// What of an X-ray a terminal shows beside its overview.
struct XrayView {
  std::optional<std::size_t> step;             // whose way through the sampler is shown; absent: the first
  bool all_steps = false;                      // that of every token of the answer
  std::optional<std::size_t> attention_layer;  // a heat map of its heads, or of the one below
  std::optional<std::size_t> attention_head;
};

// Prints an X-ray on a page: time, tokens, layers with what each would have said, KV cache, sampler, memory. Throws
// base::Exception (kUsage) where the view names a step, layer or head that there is none of.
void print_xray(const Terminal& out, XraySource& xray, const XrayView& view);

}  // namespace vitrine::cli
