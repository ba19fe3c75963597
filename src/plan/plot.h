#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/memory.h"

namespace vitrine::plan {

// Memory against context length, of one number of sequences and one KV type.
struct MemoryPlot {
  struct Point {
    std::size_t context_length = 0;
    Memory memory;
    double copied_kv_bytes = 0.0;  // what the formula that is copied from page to page says of the cache
  };
  std::string title;
  std::vector<Point> points;  // two or more, of rising length
  std::size_t available_bytes = 0;
};

// An SVG picture that needs nothing else: weights, buffers and cache one above the other, a line for what is available
// and a dashed one for the copied formula. It follows the reader's light or dark scheme.
std::string memory_svg(const MemoryPlot& plot);

// A page that needs nothing else.
struct PlanPage {
  std::string title;
  std::vector<std::string> notes;  // paragraphs
  std::vector<MemoryPlot> plots;
  std::vector<std::string> columns;  // of the table
  std::vector<std::vector<std::string>> rows;
};
std::string plan_html(const PlanPage& page);

}  // namespace vitrine::plan
