#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/engine_fixture.h"
#include "support/random_seed.h"

namespace vitrine::engine {
namespace {

// What the engine does around a scheduler, with made-up tokens in the place of a model.
class Simulation {
 public:
  Simulation(SchedulerConfig config, std::size_t num_blocks)
      : config_(config), num_blocks_(num_blocks), scheduler_(config, num_blocks) {}

  RequestId add(std::vector<TokenId> prompt, std::size_t max_tokens, int priority = 0, std::string tenant = {}) {
    const auto id = static_cast<RequestId>(next_id_++);
    Request request = greedy_request(std::move(prompt), max_tokens);
    request.priority = priority;
    request.tenant = std::move(tenant);
    Sequence::Setup setup{id, std::move(request), nullptr, nullptr, {}, num_blocks_ * kvcache::kBlockTokens};
    if (!config_.contiguous_kv)
      setup.prefix_digests = kvcache::prefix_digests(kvcache::prefix_root("", ""), setup.request.prompt);
    auto sequence = std::make_unique<Sequence>(std::move(setup));
    live_.emplace(sequence->key(), sequence.get());
    scheduler_.add(std::move(sequence));
    return id;
  }
  void abort_any(std::mt19937& random) {
    if (live_.empty()) return;
    remove(*std::next(live_.begin(), static_cast<std::ptrdiff_t>(random() % live_.size()))->second);
  }

  // The rows of one step by request, after checks that must hold for every step.
  std::map<RequestId, std::size_t> step(std::size_t max_beside_answers = 512) {
    const std::vector<Sequence*> order = scheduler_.waiting_order();
    const SchedulerOutput& work = scheduler_.schedule(max_beside_answers);
    check_next(order, work);
    num_preempted_ += work.num_preempted;
    std::map<RequestId, std::size_t> rows_of;
    std::size_t num_chunk_rows = 0;
    bool prompts_began = false;
    for (const auto& [sequence, num_rows, starts] : work.rows) {
      EXPECT_TRUE(rows_of.emplace(sequence->id(), num_rows).second) << "a sequence appears twice";
      EXPECT_GT(num_rows, 0);
      EXPECT_LE(num_rows, sequence->num_pending());
      EXPECT_GE(sequence->table.capacity_tokens(), sequence->num_computed() + num_rows);
      EXPECT_FALSE(prompts_began && sequence->next_is_generated()) << "generated rows come first";
      prompts_began = !sequence->next_is_generated();
      num_chunk_rows += num_rows - (sequence->next_is_generated() && !starts ? 1 : 0);
    }
    EXPECT_LE(num_chunk_rows, config_.max_chunk_tokens);
    EXPECT_LE(work.rows.size(), config_.max_sequences);
    EXPECT_TRUE(live_.empty() || !work.rows.empty()) << "sequences wait and none runs";
    check_first_runs(rows_of);
    scheduler_.update();
    append_tokens(work);
    EXPECT_EQ(scheduler_.check_integrity(), "");
    return rows_of;
  }

  bool empty() const { return live_.empty(); }
  std::size_t num_preempted() const { return num_preempted_; }
  std::size_t num_finished() const { return num_finished_; }
  const Scheduler& scheduler() const { return scheduler_; }

 private:
  // A request that was first in the order when it began is never interrupted.
  void check_first_runs(const std::map<RequestId, std::size_t>& rows_of) {
    if (live_.empty()) return;
    const Sequence& first = *live_.begin()->second;
    const bool runs = rows_of.contains(first.id());
    EXPECT_TRUE(runs || !first_runs_.contains(first.id())) << "the first in order stands still";
    if (runs) first_runs_.insert(first.id());
  }
  // Whoever begins, the one that was said to be next does.
  static void check_next(const std::vector<Sequence*>& order, const SchedulerOutput& work) {
    const auto begins = [](const ScheduledRows& rows) { return rows.starts; };
    if (order.empty() || work.num_preempted > 0 || std::ranges::none_of(work.rows, begins)) return;
    EXPECT_TRUE(std::ranges::any_of(
        work.rows, [&](const ScheduledRows& rows) { return rows.starts && rows.sequence == order.front(); }));
  }
  void append_tokens(const SchedulerOutput& work) {
    std::vector<Sequence*> finished;
    for (const ScheduledRows& rows : work.rows) {
      if (rows.sequence->num_pending() > 0) continue;
      if (!rows.sequence->wants_token() || rows.sequence->append(1)) finished.push_back(rows.sequence);
    }
    for (Sequence* sequence : finished) {
      remove(*sequence);
      ++num_finished_;
    }
  }
  void remove(Sequence& sequence) {
    live_.erase(sequence.key());
    EXPECT_TRUE(scheduler_.remove(sequence.id()));
  }

  SchedulerConfig config_;
  std::size_t num_blocks_;
  Scheduler scheduler_;
  std::map<QueueKey, Sequence*> live_;
  std::set<RequestId> first_runs_;
  std::uint64_t next_id_ = 0;
  std::size_t num_preempted_ = 0;
  std::size_t num_finished_ = 0;
};

TEST(Scheduler, CutsAPromptIntoChunks) {
  Simulation simulation({.max_sequences = 4, .max_chunk_tokens = 64}, 100);
  const auto id = simulation.add(random_prompt(150, 1), 2);
  EXPECT_EQ(simulation.step().at(id), 64);
  EXPECT_EQ(simulation.step().at(id), 64);
  EXPECT_EQ(simulation.step().at(id), 22);
  EXPECT_EQ(simulation.step().at(id), 1);
  EXPECT_TRUE(simulation.empty());
}

TEST(Scheduler, GivesEveryAnswerItsRowBesideALongPrompt) {
  Simulation simulation({.max_sequences = 4, .max_chunk_tokens = 64}, 100);
  const auto answer = simulation.add(random_prompt(10, 1), 20);
  simulation.step();
  const auto prompt = simulation.add(random_prompt(500, 2), 20);
  const auto rows = simulation.step();
  EXPECT_EQ(rows.at(answer), 1);
  EXPECT_EQ(rows.at(prompt), 64);
}

TEST(Scheduler, AStepWithAnswersHoldsNoMorePromptRowsThanItIsTold) {
  Simulation simulation({.max_sequences = 4, .max_chunk_tokens = 64}, 100);
  const auto first = simulation.add(random_prompt(100, 1), 20);
  EXPECT_EQ(simulation.step(10).at(first), 64) << "nobody waits for a token yet";
  simulation.step(10);
  const auto prompt = simulation.add(random_prompt(500, 2), 20);
  const auto rows = simulation.step(10);
  EXPECT_EQ(rows.at(first), 1);
  EXPECT_EQ(rows.at(prompt), 10);
  EXPECT_EQ(simulation.step(0), (std::map<RequestId, std::size_t>{{first, 1}}));
}

TEST(Scheduler, FillsAChunkWithSeveralPrompts) {
  Simulation simulation({.max_sequences = 4, .max_chunk_tokens = 64}, 100);
  const auto first = simulation.add(random_prompt(40, 1), 5);
  const auto second = simulation.add(random_prompt(40, 2), 5);
  const auto rows = simulation.step();
  EXPECT_EQ(rows.at(first), 40);
  EXPECT_EQ(rows.at(second), 24);
}

TEST(Scheduler, AdmitsARequestOnlyWhenThereIsRoomForAllItsTokensAndOneMore) {
  Simulation simulation({.max_sequences = 4, .max_chunk_tokens = 64}, 4);
  simulation.add(random_prompt(20, 1), 5);
  const auto second = simulation.add(random_prompt(32, 2), 5);  // three blocks: 32 tokens and one more
  EXPECT_FALSE(simulation.step().contains(second));
  EXPECT_EQ(simulation.scheduler().num_waiting(), 1);
}

TEST(Scheduler, DoesNotOvertakeARequestThatWaitsForRoom) {
  Simulation simulation({.max_sequences = 4, .max_chunk_tokens = 512}, 8);
  simulation.add(random_prompt(60, 1), 5);
  const auto large = simulation.add(random_prompt(100, 2), 5);
  const auto small = simulation.add(random_prompt(5, 3), 5);
  const auto rows = simulation.step();
  EXPECT_FALSE(rows.contains(large));
  EXPECT_FALSE(rows.contains(small));
}

TEST(Scheduler, LetsTenantsTakeTurnsHoweverManyRequestsOneHas) {
  Simulation simulation({.max_sequences = 1, .max_chunk_tokens = 512}, 100);
  std::vector<RequestId> many;
  for (unsigned i = 0; i < 6; ++i)
    many.push_back(simulation.add(random_prompt(40, i), 2, 0, "many"));
  simulation.step();
  const auto late = simulation.add(random_prompt(40, 9), 2, 0, "late");
  simulation.step();
  EXPECT_TRUE(simulation.step().contains(late)) << "its tenant was not served yet";
  simulation.step();
  EXPECT_TRUE(simulation.step().contains(many[1])) << "in the order of their arrival";
}

TEST(Scheduler, AStaticBatchIsJoinedByNobodyAndFollowedWhenAllHaveEnded) {
  Simulation simulation({.max_sequences = 4, .max_chunk_tokens = 30, .static_batches = true}, 100);
  const auto quick = simulation.add(random_prompt(20, 1), 1);
  const auto slow = simulation.add(random_prompt(20, 2), 6);
  simulation.step();
  const auto late = simulation.add(random_prompt(20, 3), 2);
  int num_alone = 0;
  for (auto rows = simulation.step(); !rows.contains(late); rows = simulation.step()) {
    EXPECT_FALSE(rows.contains(quick));
    num_alone += rows.contains(slow) ? 1 : 0;
  }
  EXPECT_EQ(num_alone, 6) << "the rest of its prompt and five tokens more";
}

TEST(Scheduler, PutsPriorityBeforeTurns) {
  Simulation simulation({.max_sequences = 1, .max_chunk_tokens = 512}, 100);
  simulation.add(random_prompt(40, 1), 1, 0, "served");
  simulation.step();
  simulation.add(random_prompt(40, 2), 1, 0, "new");
  const auto urgent = simulation.add(random_prompt(40, 3), 1, 1, "served");
  EXPECT_TRUE(simulation.step().contains(urgent));
}

// Two requests that fit alone but not together must not preempt each other in turn.
TEST(Scheduler, FinishesTwoRequestsThatDoNotFitTogether) {
  Simulation simulation({.max_sequences = 2, .max_chunk_tokens = 512}, 7);
  simulation.add(random_prompt(64, 1), 40);
  simulation.add(random_prompt(48, 2), 40);
  int num_steps = 0;
  while (!simulation.empty() && num_steps < 1000) {
    simulation.step();
    ++num_steps;
  }
  EXPECT_EQ(simulation.num_finished(), 2);
  EXPECT_LE(num_steps, 82);
}

TEST(Scheduler, PreemptsTheLastInOrderAndTakesItUpAgain) {
  Simulation simulation({.max_sequences = 4, .max_chunk_tokens = 512}, 6);
  simulation.add(random_prompt(30, 1), 60);
  simulation.add(random_prompt(30, 2), 60);
  for (int i = 0; i < 500 && !simulation.empty(); ++i) {
    simulation.step();
  }
  EXPECT_EQ(simulation.num_finished(), 2);
  EXPECT_EQ(simulation.num_preempted(), 1);
}

TEST(Scheduler, AContiguousLayoutReservesTheLongestAnswerAtOnce) {
  Simulation simulation({.max_sequences = 4, .max_chunk_tokens = 512, .contiguous_kv = true}, 10);
  simulation.add(random_prompt(20, 1), 40);                    // 4 blocks
  simulation.add(random_prompt(20, 2), 60);                    // 5
  const auto third = simulation.add(random_prompt(20, 3), 2);  // 2: paged it would have room
  EXPECT_FALSE(simulation.step().contains(third));
  EXPECT_EQ(simulation.scheduler().blocks().pool().num_in_use(), 9);
  while (!simulation.empty())
    simulation.step();
  EXPECT_EQ(simulation.num_finished(), 3);
  EXPECT_EQ(simulation.num_preempted(), 0);
}

TEST(Scheduler, AContiguousLayoutWithoutALimitReservesAllThatOneCanHave) {
  Simulation simulation({.max_sequences = 4, .max_chunk_tokens = 512, .contiguous_kv = true}, 10);
  simulation.add(random_prompt(20, 1), 100'000);
  simulation.add(random_prompt(20, 2), 1);
  EXPECT_EQ(simulation.step().size(), 1U);
  EXPECT_EQ(simulation.scheduler().blocks().pool().num_in_use(), 10);
}

TEST(Scheduler, HoldsItsInvariantsOverRandomArrivalsAndAborts) {
  const unsigned seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::size_t num_preempted = 0;
  std::size_t num_finished = 0;
  for (int round = 0; round < 12; ++round) {
    const SchedulerConfig config{
        .max_sequences = 1 + random() % 8, .max_chunk_tokens = 1 + random() % 64, .contiguous_kv = round % 4 == 3};
    const std::size_t num_blocks = 8 + random() % 24;
    Simulation simulation(config, num_blocks);
    for (int i = 0; i < 400; ++i) {
      const std::size_t max_prompt = num_blocks * kvcache::kBlockTokens - 1;
      const std::size_t prompt_tokens = 1 + random() % (random() % 8 == 0 ? max_prompt : 60);
      if (random() % 4 == 0) {
        simulation.add(random_prompt(prompt_tokens, random() % 4), random() % 60, static_cast<int>(random() % 8 == 0),
                       std::string(1, static_cast<char>('a' + random() % 3)));
      }
      if (random() % 40 == 0) simulation.abort_any(random);
      simulation.step();
      ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round << " step " << i;
    }
    for (int i = 0; i < 100'000 && !simulation.empty(); ++i) {
      simulation.step();
    }
    ASSERT_TRUE(simulation.empty()) << "round " << round << " does not end";
    num_preempted += simulation.num_preempted();
    num_finished += simulation.num_finished();
  }
  EXPECT_GT(num_finished, 500);
  EXPECT_GT(num_preempted, 0);
}

}  // namespace
}  // namespace vitrine::engine
