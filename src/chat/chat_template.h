#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

struct VitrineTemplate;

namespace vitrine::chat {

// What a template may use up. Templates come with model files and are not trusted.
struct TemplateLimits {
  std::uint64_t num_steps = 1'000'000;  // instructions; 64 bytes of text made cost as much as one
  std::uint32_t depth = 64;             // macro calls inside each other
  std::size_t source_bytes = std::size_t{1} << 20;
  std::size_t output_bytes = std::size_t{4} << 20;
};

// Wall-clock fields without a zone, as strftime_now prints them; month and day count from 1.
struct LocalTime {
  int year = 1970;
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;

  static LocalTime now();
  // "2025-03-14T15:09:26" or "2025-03-14".
  static base::Result<LocalTime> parse(std::string_view text);
};

// One prompt to render, with the arguments of transformers' apply_chat_template.
struct RenderRequest {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  nlohmann::ordered_json tools;               // null: the template sees None
  nlohmann::ordered_json variables;           // an object or null: further variables of the template, such as bos_token
  std::optional<bool> add_generation_prompt;  // unset: true, but false where the final message is continued
  bool continue_final_message = false;        // the text ends inside the last message, for the model to go on there
  std::optional<LocalTime> now;               // unset: the clock

  // Takes over the members of an options object as apply_chat_template's keyword arguments: add_generation_prompt,
  // continue_final_message and tools set their fields, the rest become variables. Fails with kUsage on a wrong type.
  base::Result<void> apply_options(const nlohmann::ordered_json& options);
};

// A compiled chat template (Jinja as transformers runs it: the immutable sandbox, trim_blocks, lstrip_blocks, loop
// controls). Move-only; render may be called from several threads at once.
class ChatTemplate {
 public:
  // Fails with kBadFile on a syntax error (naming the line) and on a source over its limit.
  static base::Result<ChatTemplate> compile(std::string_view source, const TemplateLimits& limits = {});

  // Fails with kUsage where the template refuses the request or the request is malformed, and with kBadFile where the
  // template goes over its limits.
  base::Result<std::string> render(const RenderRequest& request) const;

  // Renders one user message, for the time when a model is loaded: fails with kBadFile if that alone goes over the
  // limits. A template may refuse such a short conversation; that is no failure here.
  base::Result<void> dry_run() const;

 private:
  struct Free {
    void operator()(VitrineTemplate* compiled) const;
  };

  explicit ChatTemplate(VitrineTemplate* compiled) : compiled_(compiled) {}

  std::unique_ptr<VitrineTemplate, Free> compiled_;
};

}  // namespace vitrine::chat
