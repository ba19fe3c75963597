#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "engine/engine_fixture.h"
#include "support/reference_data.h"

namespace vitrine::engine {
namespace {

// bug056: generation that reaches the end of the context stops with "length".
TEST(Engine, StopsWithLengthAtTheEndOfTheContext_bug056) {
  TestEngine test({.context_length = 64});
  Request request = greedy_request(random_prompt(50, 1), 200);
  request.ignore_eos = true;
  const auto& answer = test.answer_to(request);
  EXPECT_EQ(answer.last.finish_reason, FinishReason::kLength);
  EXPECT_EQ(answer.token_ids.size(), 14);
  EXPECT_EQ(answer.token_ids, reference_answer(request, 64));
  testing::count_cases("bugs", 1);
}

// bug058: max_tokens of 0, 1, 2, 3 gives just as many tokens.
TEST(Engine, GeneratesExactlyMaxTokens_bug058) {
  for (std::size_t max_tokens = 0; max_tokens <= 3; ++max_tokens) {
    TestEngine test;
    Request request = greedy_request(random_prompt(20, 1), max_tokens);
    request.ignore_eos = true;
    const auto& answer = test.answer_to(request);
    EXPECT_EQ(answer.token_ids.size(), max_tokens);
    EXPECT_EQ(answer.last.completion_tokens, max_tokens);
    EXPECT_EQ(answer.last.finish_reason, FinishReason::kLength);
  }
  testing::count_cases("bugs", 1);
}

// bug060: cached prompt tokens are reported, and prompt_tokens still counts them.
TEST(Engine, ReportsCachedTokensInEveryEvent_bug060) {
  TestEngine test;
  const auto& first = test.answer_to(greedy_request(random_prompt(40, 1), 3));
  std::vector<std::size_t> cached;
  const auto second = generate(
      test.engine(), greedy_request(random_prompt(40, 1), 3),
      [&cached](const TokenEvent& event) { cached.push_back(event.cached_tokens); }, nullptr);
  EXPECT_EQ(first.last.cached_tokens, 0);
  EXPECT_EQ(cached, (std::vector<std::size_t>{32, 32, 32}));
  EXPECT_EQ(second->last.cached_tokens, 32);
  EXPECT_EQ(second->last.prompt_tokens, first.last.prompt_tokens);
  testing::count_cases("bugs", 1);
}

// bug086: the same greedy request three times, later ones served from the prefix cache.
TEST(Engine, AnswersTheSameGreedyRequestAlikeThreeTimes_bug086) {
  TestEngine test;
  const Request request = greedy_request(random_prompt(128, 1), 30);
  const auto first = test.answer_to(request).token_ids;
  EXPECT_EQ(test.answer_to(request).token_ids, first);
  const auto& third = test.answer_to(request);
  EXPECT_EQ(third.token_ids, first);
  EXPECT_EQ(third.last.cached_tokens, 112);
  testing::count_cases("bugs", 1);
}

// bug088: a seeded request beside an unseeded one.
TEST(Engine, AnswersASeededRequestAlikeBesideOthers_bug088) {
  const Request seeded = seeded_request(random_prompt(30, 1), 40, 42);
  for (int i = 0; i < 3; ++i) {
    TestEngine test({.max_sequences = 4});
    Request unseeded = seeded_request(random_prompt(50, 2), 60, 0);
    unseeded.sampling.seed.reset();
    test.submit(unseeded);
    test.step();
    const auto& answer = test.submit(seeded);
    test.run();
    EXPECT_EQ(answer.token_ids, reference_answer(seeded));
  }
  testing::count_cases("bugs", 1);
}

TEST(Engine, StopsAtAStopTokenAndDeliversIt) {
  Request request = greedy_request(random_prompt(20, 1), 50);
  const auto unstopped = reference_answer(request);
  request.stop_tokens = {unstopped[6]};
  TestEngine test;
  const auto& answer = test.answer_to(request);
  EXPECT_EQ(answer.last.finish_reason, FinishReason::kStop);
  EXPECT_EQ(answer.last.token, unstopped[6]);
  EXPECT_EQ(answer.token_ids, reference_answer(request));
}

TEST(Engine, GoesOnAfterAnEogTokenOnlyWhenToldTo) {
  Request request = greedy_request(random_prompt(20, 1), 30);
  request.eog_tokens = {reference_answer(request)[4]};
  TestEngine test;
  EXPECT_EQ(test.answer_to(request).last.finish_reason, FinishReason::kStop);
  request.ignore_eos = true;
  const auto& answer = test.answer_to(request);
  EXPECT_EQ(answer.last.finish_reason, FinishReason::kLength);
  EXPECT_EQ(answer.token_ids.size(), 30);
}

TEST(Engine, EndsOnlyTheRequestWhoseLogitsAreNotNumbers) {
  TestEngine test({.max_sequences = 3});
  const Request healthy = greedy_request(random_prompt(40, 1), 25);
  auto prompt = random_prompt(30, 2);
  prompt.back() = kNanToken;
  const auto& before = test.submit(healthy);
  const auto& faulty = test.submit(greedy_request(prompt, 25));
  const auto& after = test.submit(greedy_request(random_prompt(33, 3), 25));
  test.run();
  EXPECT_EQ(faulty.last.finish_reason, FinishReason::kError);
  EXPECT_NE(faulty.last.error.find("numerical error"), std::string::npos);
  EXPECT_EQ(before.token_ids, reference_answer(healthy));
  EXPECT_EQ(after.token_ids, reference_answer(greedy_request(random_prompt(33, 3), 25)));
}

TEST(Engine, AbortsARequestWithinOneStepAndFreesItsBlocks) {
  TestEngine test({.prefix_cache = false});
  const auto& answer = test.submit(greedy_request(random_prompt(100, 1), 1000));
  test.step();
  test.step();
  test.engine().abort(answer.last.request);
  test.step();
  EXPECT_EQ(answer.last.finish_reason, FinishReason::kAbort);
  EXPECT_EQ(answer.token_ids.size(), 2);
  EXPECT_EQ(test.engine().stats().num_blocks_in_use, 0);
  EXPECT_FALSE(test.engine().has_work());
  test.engine().abort(answer.last.request);
  test.step();
}

TEST(Engine, AbortsARequestThatStillWaits) {
  TestEngine test({.max_sequences = 1});
  const auto& running = test.submit(greedy_request(random_prompt(20, 1), 10));
  const auto& waiting = test.submit(greedy_request(random_prompt(20, 2), 10));
  test.step();
  test.engine().abort(waiting.last.request);
  test.run();
  EXPECT_EQ(waiting.last.finish_reason, FinishReason::kAbort);
  EXPECT_TRUE(waiting.token_ids.empty());
  EXPECT_EQ(running.token_ids.size(), 10);
}

TEST(Engine, LetsACallbackSubmitAndAbort) {
  TestEngine test;
  std::vector<TokenId> followed;
  const auto follow = [&followed](const TokenEvent& event) {
    if (event.token) followed.push_back(*event.token);
  };
  const auto id = test.engine().submit(greedy_request(random_prompt(20, 1), 100), [&](const TokenEvent& event) {
    if (event.token && event.completion_tokens == 3) {
      test.engine().abort(event.request);
      EXPECT_TRUE(test.engine().submit(greedy_request(random_prompt(20, 2), 5), follow));
    }
  });
  ASSERT_TRUE(id);
  test.run();
  EXPECT_EQ(followed, reference_answer(greedy_request(random_prompt(20, 2), 5)));
}

TEST(Engine, KeepsGeneratedBlocksOutOfThePrefixCache) {
  TestEngine test;
  const Request first = greedy_request(random_prompt(32, 1), 64);
  auto continued = first.prompt;
  const auto& answer = test.answer_to(first);
  continued.insert(continued.end(), answer.token_ids.begin(), answer.token_ids.end());
  const Request second = greedy_request(continued, 10);
  const auto& next = test.answer_to(second);
  EXPECT_EQ(next.last.cached_tokens, 32);
  EXPECT_EQ(next.token_ids, reference_answer(second));
}

TEST(Engine, CachesAPromptThatAsksForNoTokens) {
  TestEngine test;
  test.answer_to(greedy_request(random_prompt(64, 1), 0));
  EXPECT_EQ(test.answer_to(greedy_request(random_prompt(64, 1), 1)).last.cached_tokens, 48);
}

TEST(Engine, DoesNotShareCachedPrefixesBetweenSalts) {
  TestEngine test;
  Request request = greedy_request(random_prompt(64, 1), 1);
  request.cache_salt = "alice";
  test.answer_to(request);
  request.cache_salt = "bob";
  EXPECT_EQ(test.answer_to(request).last.cached_tokens, 0);
  request.cache_salt = "alice";
  EXPECT_EQ(test.answer_to(request).last.cached_tokens, 48);
}

TEST(Engine, AFloodOfOneTenantsPromptsLeavesOthersTheirPrefixes) {
  EngineConfig config;
  config.max_sequences = 4;
  config.kv_memory_bytes = kv_bytes_of_blocks(32);
  TestEngine test(config);
  Request quiet = greedy_request(random_prompt(161, 1), 1);
  quiet.cache_salt = quiet.tenant = "quiet";
  test.answer_to(quiet);
  for (unsigned i = 0; i < 200; ++i) {
    Request unique = greedy_request(random_prompt(60, 100 + i), 1);
    unique.cache_salt = unique.tenant = "flood";
    test.submit(unique);
  }
  test.run();
  EXPECT_EQ(test.answer_to(quiet).last.cached_tokens, 160);
}

TEST(Engine, ExplainsWhyAPromptIsNotCached) {
  using Reason = kvcache::PrefixExplanation::Reason;
  TestEngine test;
  Request request = greedy_request(random_prompt(64, 1), 1);
  std::optional<kvcache::PrefixExplanation> prefix;
  const auto explain = [&] {
    trace::Timeline timeline;
    ASSERT_TRUE(test.engine().submit(
        request, [&](const TokenEvent& event) { prefix = event.prefix; }, &timeline));
    test.run();
    ASSERT_TRUE(prefix);
  };
  explain();
  EXPECT_EQ(prefix->reason, Reason::kNothingFollows);
  explain();
  EXPECT_EQ(prefix->reason, Reason::kWholeBlocksCached);
  request.prompt[20] = 62;
  explain();
  EXPECT_EQ(prefix->reason, Reason::kTokenDiffers);
  EXPECT_EQ(prefix->num_cached_tokens, 16);
  EXPECT_EQ(prefix->position, 20);
  EXPECT_EQ(prefix->requested_token, 62);
}

TEST(Engine, CachesNothingWhenThePrefixCacheIsOff) {
  TestEngine test({.prefix_cache = false});
  const Request request = greedy_request(random_prompt(64, 1), 5);
  test.answer_to(request);
  EXPECT_EQ(test.answer_to(request).last.cached_tokens, 0);
  EXPECT_EQ(test.engine().stats().num_blocks_cached, 0);
}

TEST(Engine, ServesAHigherPriorityFirst) {
  TestEngine test({.max_sequences = 1});
  const auto& low = test.submit(greedy_request(random_prompt(20, 1), 5));
  Request urgent = greedy_request(random_prompt(20, 2), 5);
  urgent.priority = 1;
  const auto& high = test.submit(urgent);
  for (int i = 0; i < 5; ++i) {
    test.step();
  }
  EXPECT_TRUE(high.last.finish_reason);
  EXPECT_TRUE(low.token_ids.empty());
  test.run();
  EXPECT_EQ(low.token_ids.size(), 5);
}

TEST(Engine, DeliversLogprobsWhenAsked) {
  TestEngine test;
  Request request = greedy_request(random_prompt(20, 1), 1);
  request.sampling.logprobs = true;
  request.sampling.top_logprobs = 3;
  const auto& answer = test.answer_to(request);
  ASSERT_EQ(answer.last.top_logprobs.size(), 3);
  EXPECT_EQ(answer.last.top_logprobs[0].id, answer.token_ids[0]);
  EXPECT_EQ(answer.last.top_logprobs[0].logprob, answer.last.logprob);
}

TEST(Engine, GivesTimesThatSumToTheWholeAndAFirstTokenTime) {
  TestEngine test;
  const auto start = std::chrono::steady_clock::now();
  const auto& answer = test.answer_to(greedy_request(random_prompt(500, 1), 50));
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const RequestTimings& timings = answer.last.timings;
  EXPECT_LE(timings.total_s(), wall);
  EXPECT_GT(timings.prefill_s, 0);
  EXPECT_GT(timings.decode_s, 0);
  EXPECT_GT(timings.sample_s, 0);
  ASSERT_TRUE(timings.first_token_s);
  EXPECT_GE(*timings.first_token_s, timings.queue_s + timings.prefill_s);
}

TEST(Engine, RecordsASpanForEachWaitChunkStepAndSample) {
  TestEngine test({.max_chunk_tokens = 64});
  trace::Timeline timeline;
  const auto answer = generate(test.engine(), greedy_request(random_prompt(150, 1), 4), nullptr, nullptr, &timeline);
  timeline.finish();
  ASSERT_TRUE(answer);
  const auto count = [&timeline](trace::Stage stage) {
    return std::ranges::count(timeline.spans(), stage, &trace::Span::stage);
  };
  EXPECT_EQ(count(trace::Stage::kQueue), 1);
  EXPECT_EQ(count(trace::Stage::kPrefill), 3);
  EXPECT_EQ(count(trace::Stage::kDecode), 3);
  EXPECT_EQ(count(trace::Stage::kSample), 4);
  EXPECT_NEAR(static_cast<double>(timeline.stage_ns(trace::Stage::kPrefill)) * 1e-9, answer->last.timings.prefill_s,
              1e-6);
  EXPECT_TRUE(std::ranges::any_of(timeline.attributes(), [](const trace::Attribute& attribute) {
    return attribute.key == "first_position" && attribute.value == trace::AttributeValue{std::int64_t{128}};
  }));
}

std::vector<trace::Span> by_start(const trace::Timeline& timeline) {
  std::vector<trace::Span> spans(timeline.spans().begin(), timeline.spans().end());
  std::ranges::stable_sort(spans, {}, [](const trace::Span& span) { return span.time.start_ns; });
  return spans;
}

// Each begins where the one before ended.
void expect_without_gaps(const trace::Timeline& timeline) {
  const std::vector<trace::Span> spans = by_start(timeline);
  for (std::size_t i = 1; i < spans.size(); ++i)
    EXPECT_EQ(spans[i].time.start_ns, spans[i - 1].time.end_ns) << i << ": " << spans[i].name;
}

TEST(Engine, SpansOfARequestFollowEachOtherWithoutAGap) {
  TestEngine test({.max_chunk_tokens = 64});
  trace::Timeline timeline;
  const auto answer = generate(test.engine(), greedy_request(random_prompt(150, 1), 4), nullptr, nullptr, &timeline);
  ASSERT_TRUE(answer);
  timeline.finish();
  expect_without_gaps(timeline);
  const RequestTimings& timings = answer->last.timings;
  EXPECT_NEAR(static_cast<double>(timeline.stage_ns(trace::Stage::kLookup)) * 1e-9, timings.lookup_s, 1e-7);
  EXPECT_GT(timings.lookup_s, 0);
  const std::vector<trace::Span> spans = by_start(timeline);
  EXPECT_NEAR(static_cast<double>(spans.back().time.end_ns - spans.front().time.start_ns) * 1e-9, timings.total_s(),
              1e-6);
}

TEST(Engine, ChoicesThatShareATimelineWriteToItOneAfterTheOther) {
  TestEngine test({.kv_memory_bytes = kv_bytes_of_blocks(64), .max_sequences = 4});
  trace::Timeline timeline;
  std::size_t num_ended = 0;
  for (const std::size_t max_tokens : {3U, 1U, 20U, 8U}) {
    ASSERT_TRUE(test.engine().submit(
        greedy_request(random_prompt(20, static_cast<unsigned>(max_tokens)), max_tokens),
        [&](const TokenEvent& event) { num_ended += event.finish_reason ? 1 : 0; }, &timeline));
  }
  while (num_ended < 4)
    test.engine().step();
  timeline.finish();
  expect_without_gaps(timeline);
  EXPECT_EQ(std::ranges::count(timeline.spans(), trace::Stage::kDecode, &trace::Span::stage), 19);
}

TEST(Engine, ACallbackThatRecordsSpansStandsForItself) {
  TestEngine test;
  trace::Timeline timeline;
  const auto note = [&](const TokenEvent&) { const trace::ScopedSpan span(timeline, trace::Stage::kDetokenize); };
  ASSERT_TRUE(test.engine().submit(greedy_request(random_prompt(20, 1), 4), note, &timeline));
  while (test.engine().has_work())
    test.engine().step();
  timeline.finish();
  EXPECT_EQ(std::ranges::count(timeline.spans(), "callback", &trace::Span::name), 0);
  EXPECT_EQ(std::ranges::count(timeline.spans(), trace::Stage::kDetokenize, &trace::Span::stage), 4);
}

TEST(Engine, NotesItsMemoryInTheLedgerAndTakesItBack) {
  using enum base::MemoryKind;
  base::MemoryLedger ledger;
  const FakeModel model;
  {
    auto engine = Engine::create(model, {.context_length = 160}, ledger).value_or_throw();
    EXPECT_EQ(ledger.bytes(kKv), kv_bytes_of_blocks(10));
    EXPECT_EQ(ledger.bytes(kActivations), 1000);
    ASSERT_TRUE(generate(*engine, greedy_request(random_prompt(40, 1), 2), nullptr, nullptr));
    EXPECT_EQ(ledger.bytes(kPrefixCache), kv_bytes_of_blocks(2));
    EXPECT_EQ(ledger.bytes(kKv), kv_bytes_of_blocks(8));
  }
  EXPECT_EQ(ledger.total_bytes(), 0);
}

TEST(Engine, RefusesSettingsThatCannotWork) {
  base::MemoryLedger ledger;
  const FakeModel model;
  const auto error = [&](EngineConfig config) {
    return Engine::create(model, std::move(config), ledger).error().message;
  };
  EXPECT_NE(error({.context_length = 5000}).find("4096"), std::string::npos);
  EXPECT_NE(error({.kv_memory_bytes = 10}).find("--kv-memory 10"), std::string::npos);
  EXPECT_NE(error({.max_chunk_tokens = 0}).find("--chunk 0"), std::string::npos);
  EXPECT_NE(error({.kv_type = tensor::DType::kQ4_0}).find("q4_0"), std::string::npos);
}

TEST(Engine, TakesRequestsFromOtherThreadsWhileItRuns) {
  TestEngine test({.max_sequences = 4});
  Engine& engine = test.engine();
  std::jthread runner([&engine](std::stop_token stop) {
    while (engine.wait_for_work(stop)) {
      engine.step();
    }
  });
  std::vector<std::jthread> clients;
  std::atomic<int> num_finished = 0;
  constexpr int kClients = 4;
  constexpr int kRequests = 20;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < kRequests; ++i) {
        const auto id = engine.submit(greedy_request(random_prompt(40, static_cast<unsigned>(client)), 10),
                                      [&](const TokenEvent& event) { num_finished += event.finish_reason ? 1 : 0; });
        ASSERT_TRUE(id);
        if (i % 5 == 0) engine.abort(*id);
      }
    });
  }
  clients.clear();
  while (engine.has_work()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  runner.request_stop();
  runner.join();
  EXPECT_EQ(num_finished, kClients * kRequests);
  EXPECT_EQ(engine.check_integrity(), "");
}

TEST(Generate, StopsWhenTheFlagIsSet) {
  TestEngine test;
  std::atomic<bool> stop = false;
  const auto answer = generate(
      test.engine(), greedy_request(random_prompt(20, 1), 1000),
      [&stop](const TokenEvent& event) { stop = event.completion_tokens >= 5; }, &stop);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->last.finish_reason, FinishReason::kAbort);
  EXPECT_EQ(answer->token_ids.size(), 5);
}

TEST(Generate, FailsWithTheReasonOfARefusal) {
  TestEngine test;
  const auto answer = generate(test.engine(), greedy_request({}, 1), nullptr, nullptr);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, base::ErrorKind::kUsage);
  EXPECT_NE(answer.error().message.find("prompt"), std::string::npos);
}

// The next turn of a conversation: the prompt, the answer and what the user says then.
Request next_turn(const Request& request, const Generation& answer) {
  Request next = greedy_request(request.prompt, 10);
  next.prompt.insert(next.prompt.end(), answer.token_ids.begin(), answer.token_ids.end());
  for (const TokenId id : random_prompt(7, 99))
    next.prompt.push_back(id);
  next.cache_salt = request.cache_salt;
  return next;
}

TEST(Settling, TheNextTurnFindsTheAnswerInTheCacheAndHasTheSameBits) {
  TestEngine test({.settle_answers = true});
  Request request = greedy_request(random_prompt(40, 1), 100);
  request.ignore_eos = true;
  const Generation first = test.answer_to(request);
  ASSERT_EQ(first.token_ids.size(), 100U);
  const Request next = next_turn(request, first);
  const auto& second = test.answer_to(next);
  EXPECT_EQ(second.last.cached_tokens, 128U) << "of 140, in whole blocks";
  EXPECT_EQ(second.token_ids, reference_answer(next));
}

TEST(PublishedAnswers, AreInTheCacheForTheNextTurnAtOnce) {
  TestEngine test({.publish_answers = true});
  Request request = greedy_request(random_prompt(40, 1), 100);
  request.ignore_eos = true;
  const Generation first = test.answer_to(request);
  ASSERT_EQ(first.token_ids.size(), 100U);
  const std::size_t num_rows = test.model().num_rows_computed();
  EXPECT_EQ(test.answer_to(next_turn(request, first)).last.cached_tokens, 128U) << "of 139 computed, in whole blocks";
  EXPECT_EQ(test.model().num_rows_computed() - num_rows, 147U - 128U + 9U) << "nothing was read twice";
}

TEST(ContiguousKv, AnswersAlikeBesideOthersAndInChunks) {
  for (const std::size_t chunk : {std::size_t{5}, std::size_t{512}}) {
    TestEngine test({.kv_memory_bytes = kv_bytes_of_blocks(12),
                     .max_sequences = 4,
                     .max_chunk_tokens = chunk,
                     .contiguous_kv = true});
    std::vector<Request> requests;
    std::vector<const Generation*> answers;
    for (unsigned i = 0; i < 12; ++i) {
      requests.push_back(seeded_request(random_prompt(10 + 7 * i, i % 3), 3 + 5 * i, i));
      answers.push_back(&test.submit(requests.back()));
    }
    test.run();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(answers[i]->token_ids, reference_answer(requests[i]));
      EXPECT_EQ(answers[i]->last.cached_tokens, 0U);
    }
    EXPECT_EQ(test.engine().stats().num_preemptions, 0U);
    EXPECT_EQ(test.engine().stats().num_blocks_in_use, 0U);
    EXPECT_EQ(test.engine().stats().num_blocks_cached, 0U);
  }
}

TEST(ContiguousKv, SharesNothing) {
  base::MemoryLedger ledger;
  const auto both = Engine::create(FakeModel(), {.publish_answers = true, .contiguous_kv = true}, ledger);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().kind, base::ErrorKind::kUsage);
  TestEngine test({.contiguous_kv = true, .settle_answers = true});
  EXPECT_FALSE(test.engine().config().prefix_cache);
  test.answer_to(greedy_request(random_prompt(40, 1), 8));
  EXPECT_FALSE(test.engine().has_work()) << "there is nothing to settle for";
}

TEST(ContiguousKv, APausedRequestGivesItsRunUpAndGoesOnTheSame) {
  TestEngine test({.kv_memory_bytes = kv_bytes_of_blocks(4), .max_sequences = 2, .contiguous_kv = true});
  const Request request = seeded_request(random_prompt(30, 1), 30, 1);
  const Request other = seeded_request(random_prompt(30, 2), 30, 2);
  const auto& first = test.submit(request);
  test.step();
  test.engine().pause(first.last.request);
  const auto& second = test.submit(other);
  while (!second.last.finish_reason)
    test.step();
  test.engine().resume(first.last.request);
  test.run();
  EXPECT_EQ(first.token_ids, reference_answer(request));
  EXPECT_EQ(second.token_ids, reference_answer(other));
}

// Room for a further token was asked for, though none was wanted: it never began.
TEST(Engine, APromptThatAsksForNoTokensMayFillTheCacheToTheLast) {
  for (const bool is_contiguous : {false, true}) {
    TestEngine test({.context_length = 64, .contiguous_kv = is_contiguous});
    EXPECT_EQ(test.answer_to(greedy_request(random_prompt(64, 1), 0)).last.finish_reason, FinishReason::kLength);
  }
}

TEST(WithoutKvCache, ComputesEveryPositionAgainForEachTokenAndAnswersAlike) {
  for (const std::size_t chunk : {std::size_t{5}, std::size_t{512}}) {
    TestEngine test({.max_sequences = 2, .max_chunk_tokens = chunk, .kv_cache = false});
    const Request request = seeded_request(random_prompt(20, 1), 10, 7);
    EXPECT_EQ(test.answer_to(request).token_ids, reference_answer(request));
    EXPECT_EQ(test.model().num_rows_computed(), 245U) << "20 and 21 to 29";
    EXPECT_EQ(test.answer_to(request).last.cached_tokens, 0U);
    const Request other = seeded_request(random_prompt(33, 2), 10, 8);
    const auto& first = test.submit(request);
    const auto& second = test.submit(other);
    test.run();
    EXPECT_EQ(first.token_ids, reference_answer(request));
    EXPECT_EQ(second.token_ids, reference_answer(other));
  }
}

TEST(Settling, KeepsTenantsApart) {
  TestEngine test({.settle_answers = true});
  Request request = greedy_request(random_prompt(40, 1), 100);
  request.cache_salt = "one";
  const Generation first = test.answer_to(request);
  Request next = next_turn(request, first);
  next.cache_salt = "two";
  EXPECT_EQ(test.answer_to(next).last.cached_tokens, 0U);
}

TEST(Settling, GivesWayToWhatIsAskedFor) {
  TestEngine test({.max_sequences = 1, .max_chunk_tokens = 16, .settle_answers = true});
  Request request = greedy_request(random_prompt(300, 1), 200);
  request.ignore_eos = true;
  const auto& first = test.submit(request);
  while (!first.last.finish_reason)
    test.step();
  for (int i = 0; i < 3; ++i)
    test.step();  // it is being settled
  EXPECT_EQ(test.engine().stats().num_running, 1U);
  const auto& other = test.submit(greedy_request(random_prompt(16, 2), 5));
  test.step();
  EXPECT_EQ(other.token_ids.size(), 1U) << "the step that follows is the newcomer's alone";
  test.run();
  EXPECT_EQ(test.engine().stats().num_preemptions, 0U);
}

TEST(Settling, TakesSmallStepsSoThatWhoComesWaitsForOneAtMost) {
  TestEngine test({.settle_answers = true});
  Request request = greedy_request(random_prompt(40, 1), 100);
  request.ignore_eos = true;
  const auto& first = test.submit(request);
  while (!first.last.finish_reason)
    test.step();
  while (test.engine().has_work()) {
    const std::size_t before = test.model().num_rows_computed();
    test.step();
    EXPECT_LE(test.model().num_rows_computed() - before, 32U);
  }
}

TEST(Settling, BeginsWhenNothingElseHasBeenToDoForAWhile) {
  TestEngine test({.settle_answers = true, .settle_delay = std::chrono::hours{1}});
  Request request = greedy_request(random_prompt(40, 1), 20);
  request.ignore_eos = true;
  const auto& first = test.submit(request);
  while (!first.last.finish_reason)
    test.step();
  const std::size_t num_rows = test.model().num_rows_computed();
  test.engine().run_between_steps([] { return false; });
  test.step();  // rests until the errand, which is there already
  EXPECT_EQ(test.model().num_rows_computed(), num_rows);
  bool has_answer = false;  // of the engine's thread, which is this one
  std::jthread client([&test, &has_answer] {
    EXPECT_TRUE(test.engine().submit(greedy_request(random_prompt(16, 2), 1), [&has_answer](const TokenEvent& event) {
      has_answer = event.finish_reason.has_value();
    }));
  });
  while (!has_answer)
    test.step();  // the first rests until the client comes, unless it is there already
  EXPECT_EQ(test.model().num_rows_computed(), num_rows + 16U) << "the newcomer's rows alone";
}

TEST(Settling, IsBoundedUnderLoadAndEndsAtTheEndOfTheContext) {
  TestEngine test({.context_length = 64, .max_sequences = 2, .settle_answers = true});
  for (unsigned i = 0; i < 20; ++i) {
    Request request = greedy_request(random_prompt(40, i), 1000);
    request.ignore_eos = i % 2 == 0;  // goes on to the end of the context
    test.submit(request);
  }
  std::size_t most = 0;
  for (int i = 0; i < 2000 && test.engine().has_work(); ++i) {
    test.step();
    const EngineStats stats = test.engine().stats();
    most = std::max(most, stats.num_waiting + stats.num_running);
  }
  EXPECT_FALSE(test.engine().has_work());
  EXPECT_LE(most, 20U + 2U);
}

}  // namespace
}  // namespace vitrine::engine
