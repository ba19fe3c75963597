// The prefix cache under the engine of the commands: a hit changes how much is computed, never a bit of the answer.
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/reference_data.h"
#include "vitrine/answer.h"
#include "vitrine/runtime.h"

namespace vitrine::testing {
namespace {

std::vector<TokenId> some_prompt(std::size_t count, std::size_t vocab_size) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < count; ++i)
    ids.push_back(static_cast<TokenId>((i * 2654435761U + 77U) % vocab_size));
  return ids;
}

cli::Answer ask(cli::Runtime& runtime, std::vector<TokenId> prompt) {
  cli::AnswerOptions options;
  options.sampling.temperature = 0.0F;
  options.sampling.logprobs = true;
  options.sampling.top_logprobs = 5;
  options.max_tokens = 20;
  options.ignore_eos = true;
  trace::Timeline timeline;
  return cli::answer_prompt(runtime, std::move(prompt), options, timeline, {});
}

void expect_same_bits(const cli::Answer& a, const cli::Answer& b) {
  EXPECT_EQ(a.token_ids, b.token_ids);
  ASSERT_EQ(a.logprobs.size(), b.logprobs.size());
  for (std::size_t i = 0; i < a.logprobs.size(); ++i) {
    EXPECT_EQ(a.logprobs[i].logprob, b.logprobs[i].logprob) << i;
    ASSERT_EQ(a.logprobs[i].top.size(), b.logprobs[i].top.size());
    for (std::size_t k = 0; k < a.logprobs[i].top.size(); ++k)
      EXPECT_EQ(a.logprobs[i].top[k].logprob, b.logprobs[i].top[k].logprob) << i << " " << k;
  }
}

// Prompts that share their first `shared` tokens, in one engine and each in an engine of its own.
void expect_hits_change_nothing(const std::string& path, std::size_t length, std::size_t shared) {
  cli::RuntimeFlags flags;
  flags.context_length = 2 * length;
  flags.max_chunk_tokens = 50;
  trace::Timeline timeline;
  cli::Runtime runtime(path, flags, timeline);
  const std::vector<TokenId> first = some_prompt(length, runtime.model().config().vocab_size);
  std::vector<TokenId> second = first;
  for (std::size_t i = shared; i < second.size(); ++i)
    second[i] = first[second.size() - 1 - i];
  for (const auto& prompt : {first, first, second}) {
    const cli::Answer warm = ask(runtime, prompt);
    trace::Timeline fresh_timeline;
    cli::Runtime fresh(path, flags, fresh_timeline);
    const cli::Answer cold = ask(fresh, prompt);
    EXPECT_EQ(cold.cached_tokens, 0U);
    expect_same_bits(warm, cold);
  }
  // Whole blocks of 16, and never the last token of a prompt: its logits are wanted.
  EXPECT_EQ(ask(runtime, first).cached_tokens, (length - 1) / 16 * 16);
  second.back() = first.front();
  EXPECT_EQ(ask(runtime, second).cached_tokens, (length - 1) / 16 * 16);
}

TEST(PrefixCache, AHitChangesNoBitOfATinyModel) {
  for (const char* name : {"llama", "gemma3", "mistral"})
    expect_hits_change_nothing(data_path(std::string("models/") + name).string(), 70, 37);
}

TEST(PrefixCache, AHitChangesNoBitOfARealModel) {
  const char* path = std::getenv("VITRINE_TEST_MODEL");
  if (path == nullptr) VT_SKIP_WITHOUT("VITRINE_TEST_MODEL, a GGUF file");
  expect_hits_change_nothing(path, 600, 300);
}

}  // namespace
}  // namespace vitrine::testing
