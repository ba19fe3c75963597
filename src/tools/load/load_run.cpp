#include "tools/load/load_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/elapsed.h"
#include "base/result.h"
#include "tools/load/sse_reader.h"

namespace vitrine::tools {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxErrorBytes = 300;

std::string request_body(const LoadTarget& target, const std::string& prompt) {
  Json body;
  body["model"] = target.model;
  body["messages"] = Json::array({{{"role", "user"}, {"content", prompt}}});
  body["max_tokens"] = target.max_tokens;
  body["temperature"] = 0;
  body["stream"] = true;
  body["stream_options"]["include_usage"] = true;
  if (target.ignore_eos) body["ignore_eos"] = true;
  return body.dump();
}

std::size_t count_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::size_t>() : 0;
}

using EasyHandle = std::unique_ptr<CURL, decltype([](CURL* handle) { curl_easy_cleanup(handle); })>;
using MultiHandle = std::unique_ptr<CURLM, decltype([](CURLM* handle) { curl_multi_cleanup(handle); })>;
using HeaderList = std::unique_ptr<curl_slist, decltype([](curl_slist* list) { curl_slist_free_all(list); })>;

// One request on its way. It stays where it is: the handle knows its address.
class Flight {
 public:
  Flight(const LoadTarget& target, const std::string& prompt, double due_s, Clock::time_point start)
      : start_(start), body_(request_body(target, prompt)), handle_(curl_easy_init()) {
    outcome_.start_s = due_s;
    add_header("Content-Type: application/json");
    if (!target.api_key.empty()) add_header("Authorization: Bearer " + target.api_key);
    const std::string url = target.url + "/chat/completions";
    CURL* easy = handle_.get();
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body_.data());
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(target.timeout_s * 1000));
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Flight::on_bytes);
  }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  CURL* handle() const { return handle_.get(); }

  LoadOutcome land(CURLcode code) {
    long status = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    outcome_.end_s = now_s();
    if (outcome_.completion_tokens == 0) outcome_.completion_tokens = outcome_.piece_times_s.size();
    if (code != CURLE_OK) {
      outcome_.error = curl_easy_strerror(code);
    } else if (status != 200) {
      outcome_.error = fmt::format("status {}: {}", status, head_.substr(0, kMaxErrorBytes));
    } else if (outcome_.error.empty() && !is_done_) {
      outcome_.error = "the stream ended without [DONE]";
    }
    return std::move(outcome_);
  }

 private:
  static std::size_t on_bytes(const char* bytes, std::size_t size, std::size_t count, void* self) {
    static_cast<Flight*>(self)->take({bytes, size * count});
    return size * count;
  }

  void add_header(const std::string& line) { headers_.reset(curl_slist_append(headers_.release(), line.c_str())); }
  double now_s() const { return base::seconds_since(start_); }

  void take(std::string_view bytes) {
    if (head_.size() < kMaxErrorBytes) head_ += bytes;
    for (const std::string& event : reader_.feed(bytes))
      take_event(event);
  }

  void take_event(const std::string& event) {
    if (event == "[DONE]") {
      is_done_ = true;
      return;
    }
    const Json json = Json::parse(event, nullptr, false);
    if (!json.is_object()) return;
    if (json.contains("error")) outcome_.error = event.substr(0, kMaxErrorBytes);
    if (const auto usage = json.find("usage"); usage != json.end() && usage->is_object()) take_usage(*usage);
    if (has_text(json)) outcome_.piece_times_s.push_back(now_s());
  }

  void take_usage(const Json& usage) {
    outcome_.prompt_tokens = count_of(usage, "prompt_tokens");
    outcome_.completion_tokens = count_of(usage, "completion_tokens");
    const auto details = usage.find("prompt_tokens_details");
    if (details != usage.end() && details->is_object()) outcome_.cached_tokens = count_of(*details, "cached_tokens");
  }

  // Thinking counts as text: it comes token by token like any other.
  static bool has_text(const Json& json) {
    const auto choices = json.find("choices");
    if (choices == json.end() || !choices->is_array() || choices->empty() || !choices->front().is_object())
      return false;
    const auto delta = choices->front().find("delta");
    if (delta == choices->front().end() || !delta->is_object()) return false;
    return std::ranges::any_of(std::array{"content", "reasoning_content", "reasoning"}, [&](const char* name) {
      const auto text = delta->find(name);
      return text != delta->end() && text->is_string() && !text->get_ref<const std::string&>().empty();
    });
  }

  Clock::time_point start_;
  std::string body_;
  EasyHandle handle_;
  HeaderList headers_;
  SseReader reader_;
  LoadOutcome outcome_;
  std::string head_;  // the first bytes of the answer, for an error
  bool is_done_ = false;
};

class LoadRun {
 public:
  LoadRun(const LoadTarget& target, const LoadSchedule& schedule,
          const std::function<void(std::size_t num_ended)>& on_end)
      : target_(target), schedule_(schedule), on_end_(on_end), multi_(curl_multi_init()) {}

  std::vector<LoadOutcome> run() {
    outcomes_.resize(schedule_.prompts.size());
    while (num_ended_ < outcomes_.size()) {
      begin_due();
      int num_running = 0;
      curl_multi_perform(multi_.get(), &num_running);
      // Where a request ended the next may begin at once.
      if (!collect()) curl_multi_poll(multi_.get(), nullptr, 0, wait_ms(), nullptr);
    }
    return std::move(outcomes_);
  }

 private:
  double now_s() const { return base::seconds_since(start_); }
  bool is_open() const { return !schedule_.starts_s.empty(); }

  void begin_due() {
    while (next_ < outcomes_.size()) {
      const double due_s = is_open() ? schedule_.starts_s[next_] : now_s();
      if (is_open() ? due_s > now_s() : flights_.size() >= schedule_.concurrency) return;
      auto flight = std::make_unique<Flight>(target_, schedule_.prompts[next_], due_s, start_);
      curl_multi_add_handle(multi_.get(), flight->handle());
      flights_.emplace_back(next_++, std::move(flight));
    }
  }

  // Whether any request has ended.
  bool collect() {
    const std::size_t num_before = num_ended_;
    int num_left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &num_left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* const handle = message->easy_handle;
      const CURLcode code = message->data.result;
      const auto place =
          std::ranges::find_if(flights_, [&](const auto& item) { return item.second->handle() == handle; });
      curl_multi_remove_handle(multi_.get(), handle);
      outcomes_[place->first] = place->second->land(code);
      flights_.erase(place);
      ++num_ended_;
      if (on_end_) on_end_(num_ended_);
    }
    return num_ended_ > num_before;
  }

  int wait_ms() const {
    if (!is_open() || next_ >= outcomes_.size()) return 1000;
    return static_cast<int>(std::clamp((schedule_.starts_s[next_] - now_s()) * 1000.0, 0.0, 1000.0));
  }

  const LoadTarget& target_;
  const LoadSchedule& schedule_;
  const std::function<void(std::size_t num_ended)>& on_end_;
  Clock::time_point start_ = Clock::now();
  MultiHandle multi_;
  std::vector<std::pair<std::size_t, std::unique_ptr<Flight>>> flights_;
  std::vector<LoadOutcome> outcomes_;
  std::size_t next_ = 0;
  std::size_t num_ended_ = 0;
};

}  // namespace

std::vector<double> poisson_starts(std::size_t num_requests, double rate, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> starts;
  double at = 0.0;
  for (std::size_t i = 0; i < num_requests; ++i) {
    starts.push_back(at);
    const double uniform = (static_cast<double>(random() >> 11U) + 0.5) * 0x1p-53;
    at -= std::log(uniform) / rate;
  }
  return starts;
}

std::vector<LoadOutcome> run_load(const LoadTarget& target, const LoadSchedule& schedule,
                                  const std::function<void(std::size_t num_ended)>& on_end) {
  return LoadRun(target, schedule, on_end).run();
}

}  // namespace vitrine::tools
