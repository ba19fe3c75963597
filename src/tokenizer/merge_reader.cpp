#include "tokenizer/merge_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace vitrine::tokenizer {

MergeReader::MergeReader(std::string_view list, const Vocabulary& vocabulary, MergeTable& table,
                         std::size_t prefix_bytes)
    : list_(list), vocabulary_(vocabulary), table_(table), prefix_bytes_(prefix_bytes), batch_(kBatch) {}

base::Result<void> MergeReader::add(NamedMerge merge) {
  Waiting& waiting = batch_[num_waiting_++];
  ++num_added_;
  waiting.merge = merge;
  waiting.text.assign(merge.left);
  waiting.text.append(merge.right.substr(std::min(merge.right.size(), prefix_bytes_)));
  for (const std::string_view piece : {merge.left, merge.right, std::string_view(waiting.text)})
    vocabulary_.prefetch(piece);
  if (num_waiting_ > kBatch / 2) {
    const Waiting& earlier = batch_[num_waiting_ - kBatch / 2];
    for (const std::string_view piece : {earlier.merge.left, earlier.merge.right, std::string_view(earlier.text)})
      vocabulary_.prefetch_further(piece);
  }
  return num_waiting_ == kBatch ? finish() : base::Result<void>();
}

base::Result<void> MergeReader::finish() {
  const std::span<Waiting> batch = std::span(batch_).first(num_waiting_);
  std::uint32_t rank = num_added_ - static_cast<std::uint32_t>(batch.size());
  for (Waiting& waiting : batch) {
    if (const auto missing = look_up(waiting)) {
      const auto index = rank + static_cast<std::uint32_t>(&waiting - batch.data());
      return base::bad_file(fmt::format("{}[{}]: {}", list_, index, *missing));
    }
    table_.prefetch(waiting.left, waiting.right);
  }
  for (const Waiting& waiting : batch)
    table_.insert(waiting.left, waiting.right, {rank++, waiting.merged});
  num_waiting_ = 0;
  return {};
}

// Answers what is wrong with it.
std::optional<std::string> MergeReader::look_up(Waiting& waiting) const {
  const auto& [left_text, right_text] = waiting.merge;
  if (left_text.empty() || right_text.empty()) return "a merge needs two texts that are not empty";
  const auto left = vocabulary_.find(left_text);
  const auto right = vocabulary_.find(right_text);
  if (!left || !right) return fmt::format("\"{}\" is not in the vocabulary", left ? right_text : left_text);
  if (right_text.size() <= prefix_bytes_) return "a merge's right side is no longer than the prefix";
  const auto merged = vocabulary_.find(waiting.text);
  if (!merged) return fmt::format("\"{}\" is not in the vocabulary", waiting.text);
  waiting.left = *left;
  waiting.right = *right;
  waiting.merged = *merged;
  return std::nullopt;
}

}  // namespace vitrine::tokenizer
