#include "chat/encode_chat.h"

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace vitrine::chat {
namespace {

using Json = nlohmann::ordered_json;
using tokenizer::EncodedToken;
using tokenizer::Tokenizer;

// 128 random bits in decimal: no message can hold it by intent, and no filter of a template changes it.
std::string make_mark() {
  std::random_device random;
  std::string mark;
  for (int word = 0; word < 4; ++word)
    mark += fmt::format("{:010}", static_cast<std::uint32_t>(random()));
  return mark;
}

// The texts of the special tokens, and where a mark splits them: behind their first byte.
class SpecialTexts {
 public:
  explicit SpecialTexts(const Tokenizer& tokenizer) {
    for (std::size_t id = 0; id < tokenizer.vocab_size(); ++id) {
      const std::string_view piece = tokenizer.piece(static_cast<TokenId>(id));
      if (!tokenizer.is_special(static_cast<TokenId>(id)) || piece.empty()) continue;
      texts_.push_back(piece);
      can_start_[static_cast<unsigned char>(piece.front())] = true;
    }
    std::ranges::sort(texts_);
  }

  bool can_start(char byte) const { return can_start_[static_cast<unsigned char>(byte)]; }
  // Whether a special token stands at the start of `text`, or may once more text follows it.
  bool may_stand_at(std::string_view text) const {
    return std::ranges::any_of(texts_, [&](std::string_view special) {
      const std::size_t length = std::min(special.size(), text.size());
      return special.substr(0, length) == text.substr(0, length);
    });
  }

 private:
  std::vector<std::string_view> texts_;
  std::array<bool, 256> can_start_{};
};

// Puts marks into every text of a conversation that a caller can choose.
class Marker {
 public:
  // kEverywhere: behind each byte that could begin a special token, so that not even a template that takes messages
  // apart can put one together unseen. kWhereNeeded: in special tokens and at ends that could become one.
  enum class Density { kEverywhere, kWhereNeeded };

  Marker(const SpecialTexts& specials, std::string_view mark, Density density)
      : specials_(specials), mark_(mark), density_(density) {}

  RenderRequest marked(RenderRequest request) {
    for (Json& message : request.messages)
      mark_members(message);
    mark_value(request.tools);
    return request;
  }
  bool has_marked() const { return has_marked_; }

 private:
  void mark_members(Json& message) {
    if (!message.is_object()) return;
    for (auto member = message.begin(); member != message.end(); ++member) {
      if (member.key() != "role") mark_value(member.value());
    }
  }
  // Requests have been checked for depth by the parser of JSON; render checks it again.
  void mark_value(Json& value) {
    if (value.is_string()) {
      value = mark_text(value.get_ref<const std::string&>());
    } else if (value.is_structured()) {
      for (Json& element : value)
        mark_value(element);
    }
  }
  std::string mark_text(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      result += text[i];
      if (!specials_.can_start(text[i])) continue;
      if (density_ == Density::kWhereNeeded && !specials_.may_stand_at(text.substr(i))) continue;
      result += mark_;
      has_marked_ = true;
    }
    return result;
  }

  const SpecialTexts& specials_;
  std::string_view mark_;
  Density density_;
  bool has_marked_ = false;
};

// A text without its marks, and the positions where they stood, in order.
struct Unmarked {
  std::string text;
  std::vector<std::size_t> places;
};

Unmarked take_marks_out(std::string_view marked, std::string_view mark) {
  Unmarked result;
  for (std::size_t begin = 0; begin <= marked.size();) {
    const std::size_t end = std::min(marked.find(mark, begin), marked.size());
    result.text += marked.substr(begin, end - begin);
    if (end == marked.size()) break;
    result.places.push_back(result.text.size());
    begin = end + mark.size();
  }
  return result;
}

// Where in `text` the messages' own beginnings of special tokens lie; each place is one behind such a byte.
base::Result<std::vector<std::size_t>> find_places(const ChatTemplate& chat_template, const RenderRequest& request,
                                                   const SpecialTexts& specials, std::string_view text) {
  const std::string mark = make_mark();
  for (const Marker::Density density : {Marker::Density::kEverywhere, Marker::Density::kWhereNeeded}) {
    Marker marker(specials, mark, density);
    const RenderRequest marked = marker.marked(request);
    if (!marker.has_marked()) return std::vector<std::size_t>{};
    const auto rendered = chat_template.render(marked);
    if (!rendered) continue;
    Unmarked unmarked = take_marks_out(*rendered, mark);
    if (unmarked.text == text) return std::move(unmarked.places);
  }
  return base::usage_error(
      "messages: one holds the text of a special token, and the chat template changes it so that the two can't be told "
      "apart; leave that text out");
}

// Appends the ids of a text in which no special token counts.
base::Result<void> append_plain(const Tokenizer& tokenizer, std::string_view text, std::vector<TokenId>& ids) {
  const auto plain = tokenizer.encode(text, {.parse_special = false, .add_special = false});
  if (!plain) return plain.error();
  ids.insert(ids.end(), plain->begin(), plain->end());
  return {};
}

// Copies the ids of `tokens`, but encodes anew each stretch between the template's own special tokens that holds one
// of somebody else.
class Splicer {
 public:
  Splicer(const Tokenizer& tokenizer, std::string_view text, std::span<const std::size_t> places)
      : tokenizer_(tokenizer), text_(text), places_(places) {}

  base::Result<std::vector<TokenId>> splice(std::span<const EncodedToken> tokens) {
    for (const EncodedToken& token : tokens) {
      const bool is_special = tokenizer_.is_special(token.id) && token.end > token.start;
      const bool is_foreign = is_special && holds_place(token);
      if (is_special && !is_foreign) {
        if (auto done = end_stretch(token.start); !done) return done.error();
        ids_.push_back(token.id);
        stretch_begin_ = token.end;
        continue;
      }
      has_foreign_ = has_foreign_ || is_foreign;
      stretch_.push_back(token.id);
    }
    if (auto done = end_stretch(text_.size()); !done) return done.error();
    return std::move(ids_);
  }

 private:
  bool holds_place(const EncodedToken& token) const {
    const auto place = std::ranges::upper_bound(places_, token.start);
    return place != places_.end() && *place <= token.end;
  }
  base::Result<void> end_stretch(std::size_t end) {
    if (has_foreign_) {
      const auto done = append_plain(tokenizer_, text_.substr(stretch_begin_, end - stretch_begin_), ids_);
      if (!done) return done;
    } else {
      ids_.insert(ids_.end(), stretch_.begin(), stretch_.end());
    }
    stretch_.clear();
    has_foreign_ = false;
    return {};
  }

  const Tokenizer& tokenizer_;
  std::string_view text_;
  std::span<const std::size_t> places_;
  std::vector<TokenId> ids_, stretch_;
  std::size_t stretch_begin_ = 0;
  bool has_foreign_ = false;
};

}  // namespace

base::Result<RenderedChat> render_chat(const ChatTemplate& chat_template, const RenderRequest& request,
                                       const Tokenizer& tokenizer) {
  RenderRequest fixed = request;  // both renderings must see the same time
  if (!fixed.now) fixed.now = LocalTime::now();
  auto text = chat_template.render(fixed);
  if (!text) return text.error();
  auto places = find_places(chat_template, fixed, SpecialTexts(tokenizer), *text);
  if (!places) return places.error();
  return RenderedChat{*std::move(text), *std::move(places)};
}

base::Result<std::vector<TokenId>> encode_rendered(const RenderedChat& chat, const Tokenizer& tokenizer) {
  const auto tokens = tokenizer.encode_with_offsets(chat.text, {.parse_special = true, .add_special = false});
  if (!tokens) return tokens.error();
  return Splicer(tokenizer, chat.text, chat.foreign_places).splice(*tokens);
}

}  // namespace vitrine::chat
