#include "engine/fake_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "base/check.h"
#include "sampling/sampler.h"

namespace vitrine::engine {
namespace {

// What the cache holds for one position.
struct Record {
  std::uint64_t hash = 0;
  TokenId token = 0;
  ops::Role role = ops::Role::kPrompt;

  friend bool operator==(const Record&, const Record&) = default;
};

constexpr std::uint64_t kFirstHash = 0x9E3779B97F4A7C15U;

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

Record next_record(std::uint64_t hash, TokenId token, ops::Role role) {
  const auto input = static_cast<std::uint64_t>(token) * 2 + static_cast<std::uint64_t>(role);
  return {mix(hash + kFirstHash * (input + 1)), token, role};
}

void fill_logits(const Record& record, std::span<float> logits) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(mix(record.hash + i) % 8192) / 1024.0F;
  }
  logits[kNanToken] = -1000.0F;  // only a prompt can hold it
  if (record.token == kNanToken) logits[5] = std::numeric_limits<float>::quiet_NaN();
}

std::array<float, 4> hidden_of(const Record& record) {
  std::array<float, 4> hidden{};
  for (std::size_t i = 0; i < hidden.size(); ++i)
    hidden[i] = static_cast<float>(mix(record.hash + i) % 2048) / 1024.0F - 1.0F;
  if (record.token == kNanToken) hidden[1] = std::numeric_limits<float>::quiet_NaN();
  return hidden;
}

class FakeWorkspace : public models::Workspace {
 public:
  explicit FakeWorkspace(std::size_t max_logit_rows) : logits_(max_logit_rows * kFakeVocabSize) {}
  std::span<float> logits(std::size_t logit_row_idx) override {
    return std::span(logits_).subspan(logit_row_idx * kFakeVocabSize, kFakeVocabSize);
  }
  std::span<const float> final_hidden(std::size_t row_idx) const override { return hidden[row_idx]; }
  std::size_t activation_bytes() const override { return 1000; }
  std::size_t scratch_bytes() const override { return 100; }

  std::vector<std::array<float, 4>> hidden;

 private:
  std::vector<float> logits_;
};

std::byte* record_place(kvcache::KvCache& cache, std::span<const kvcache::BlockId> blocks, std::size_t position) {
  const auto block = blocks[position / kvcache::kBlockTokens];
  return cache.head_block(0, block, 0).keys + position % kvcache::kBlockTokens * sizeof(Record);
}

Record load(kvcache::KvCache& cache, std::span<const kvcache::BlockId> blocks, std::size_t position) {
  Record record;
  std::memcpy(&record, record_place(cache, blocks, position), sizeof(record));
  return record;
}

}  // namespace

// The hash of the positions before the rows; each must be there, in order and in its role.
std::uint64_t FakeModel::check_past(const models::SequenceRows& rows, kvcache::KvCache& cache) const {
  std::uint64_t hash = kFirstHash;
  for (std::size_t position = 0; position < rows.first_position; ++position) {
    const Record found = load(cache, rows.block_table, position);
    const Record expected = next_record(hash, found.token, shares_answers_ ? found.role : rows.role(position));
    EXPECT_EQ(found, expected) << "the blocks of a sequence hold something else at position " << position;
    hash = expected.hash;
  }
  return hash;
}

FakeModel::FakeModel(bool shares_answers) : shares_answers_(shares_answers) {
  config_.vocab_size = kFakeVocabSize;
  config_.context_length = kFakeContextLength;
}

kvcache::KvCacheShape FakeModel::kv_shape(tensor::DType type) const {
  static_assert(sizeof(Record) <= 8 * sizeof(std::uint16_t), "a record fits the keys of one position of 8 channels");
  return {.num_layers = 1, .num_kv_heads = 1, .head_dim = 8, .type = type};
}

std::unique_ptr<models::Workspace> FakeModel::make_workspace(std::size_t, std::size_t max_logit_rows) const {
  return std::make_unique<FakeWorkspace>(max_logit_rows);
}

void FakeModel::score(std::span<const float>, models::Workspace&) const {
  VT_CHECK(false, "hidden states that say something");
}

void FakeModel::for_each(std::size_t count, const std::function<void(std::size_t)>& task) const {
  std::thread([&] {
    for (std::size_t i = count; i > 0; --i)
      task(i - 1);
  }).join();
}

void FakeModel::forward(const models::ForwardBatch& batch, kvcache::KvCache& cache, models::Workspace& workspace,
                        models::ForwardObserver*) const {
  num_rows_computed_ += batch.num_rows();
  max_rows_of_a_step_ = std::max(max_rows_of_a_step_, batch.num_rows());
  std::set<std::pair<kvcache::BlockId, std::size_t>> written;
  std::vector<Record> records;
  for (const models::SequenceRows& rows : batch.sequences) {
    EXPECT_EQ(rows.first_row, records.size()) << "rows must follow each other without gaps";
    std::uint64_t hash = check_past(rows, cache);
    for (std::size_t i = 0; i < rows.num_rows; ++i) {
      const std::size_t position = rows.first_position + i;
      records.push_back(next_record(hash, batch.token_ids[rows.first_row + i], rows.role(position)));
      hash = records.back().hash;
      const auto block = rows.block_table[position / kvcache::kBlockTokens];
      EXPECT_TRUE(written.emplace(block, position % kvcache::kBlockTokens).second) << "two sequences write one slot";
      std::memcpy(record_place(cache, rows.block_table, position), &records.back(), sizeof(Record));
    }
  }
  EXPECT_EQ(records.size(), batch.num_rows());
  if (batch.wants_final_hidden) {
    auto& hidden = static_cast<FakeWorkspace&>(workspace).hidden;
    hidden.clear();
    for (const Record& record : records)
      hidden.push_back(hidden_of(record));
  }
  EXPECT_TRUE(std::ranges::is_sorted(batch.logit_rows));
  for (std::size_t i = 0; i < batch.logit_rows.size(); ++i) {
    fill_logits(records[batch.logit_rows[i]], workspace.logits(i));
  }
}

std::vector<std::vector<float>> reference_hidden(const std::vector<TokenId>& prompt) {
  std::vector<std::vector<float>> rows;
  Record record{kFirstHash};
  for (const TokenId token : prompt) {
    record = next_record(record.hash, token, ops::Role::kPrompt);
    const auto hidden = hidden_of(record);
    rows.emplace_back(hidden.begin(), hidden.end());
  }
  return rows;
}

std::vector<TokenId> reference_answer(const Request& request, std::size_t max_total_tokens) {
  const sampling::Sampler sampler(request.sampling);
  std::vector<TokenId> tokens = request.prompt;
  std::vector<float> logits(kFakeVocabSize);
  Record record{kFirstHash};
  for (const TokenId token : request.prompt) {
    record = next_record(record.hash, token, ops::Role::kPrompt);
  }
  const std::size_t num_prompt = request.prompt.size();
  const std::size_t end =
      std::min(max_total_tokens, request.max_tokens ? num_prompt + *request.max_tokens : max_total_tokens);
  while (tokens.size() < end) {
    fill_logits(record, logits);
    const auto sampled = sampler.sample(logits, tokens, tokens.size() - num_prompt);
    tokens.push_back(sampled->id);
    if (std::ranges::count(request.stop_tokens, sampled->id) > 0) break;
    if (!request.ignore_eos && std::ranges::count(request.eog_tokens, sampled->id) > 0) break;
    record = next_record(record.hash, sampled->id, ops::Role::kGenerated);
  }
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(num_prompt));
  return tokens;
}

std::vector<TokenId> random_prompt(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(size);
  std::ranges::generate(tokens, [&random] { return static_cast<TokenId>(random() % 60); });
  return tokens;
}

}  // namespace vitrine::engine
