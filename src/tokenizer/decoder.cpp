#include "tokenizer/decoder.h"

#include <utility>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"

namespace vitrine::tokenizer {
namespace {

std::string replace_all(std::string_view text, const DecodeRules::Replacement& replacement) {
  std::string result;
  std::size_t start = 0;
  for (std::size_t found; (found = text.find(replacement.from, start)) != std::string_view::npos;) {
    result.append(text, start, found - start);
    result += replacement.to;
    start = found + replacement.from.size();
  }
  result.append(text, start);
  return result;
}

}  // namespace

std::optional<unsigned char> DecodeRules::byte_token(std::string_view piece) const {
  return byte_fallback ? byte_of_token(piece) : std::nullopt;
}

std::string DecodeRules::bytes_of(std::string_view piece) const {
  if (const auto byte = byte_token(piece)) return std::string(1, static_cast<char>(*byte));
  if (byte_level) {
    if (auto bytes = bytes_of_spelling(piece)) return *std::move(bytes);
    return std::string(piece);  // a special token, not in the alphabet: it stands for its own text
  }
  std::string text(piece);
  for (const Replacement& replacement : replacements)
    text = replace_all(text, replacement);
  return text;
}

// The endings are those that the WordPiece decoder of Hugging Face's tokenizers cleans up, piece by piece.
std::string DecodeRules::word_part(std::string_view piece, bool is_first) const {
  std::string text(piece);
  if (!is_first && piece.starts_with(continuation_prefix)) {
    text.erase(0, continuation_prefix.size());
  } else if (!is_first) {
    text.insert(0, 1, ' ');
  }
  if (!cleans_up) return text;
  static const std::vector<Replacement> endings = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const Replacement& ending : endings)
    text = replace_all(text, ending);
  return text;
}

std::string PieceDecoder::push(std::string_view piece) {
  std::string out;
  if (const auto byte = rules_->byte_token(piece)) {
    push_byte_token(static_cast<char>(*byte), out);
  } else {
    if (!rules_->byte_level) end_run(out);
    if (!is_first_) pending_ += rules_->separator;
    pending_ += rules_->continuation_prefix.empty() ? rules_->bytes_of(piece) : rules_->word_part(piece, is_first_);
    drain(false, out);
  }
  is_first_ = false;
  return strip(std::move(out));
}

std::string PieceDecoder::finish() {
  std::string out;
  end_run(out);
  std::string text = strip(std::move(out));
  text.insert(0, std::exchange(unstripped_, {}));
  return text;
}

void PieceDecoder::push_byte_token(char byte, std::string& out) {
  pending_.push_back(byte);
  const bool by_run = rules_->bad_bytes == DecodeRules::BadBytes::kWholeRun;
  if (by_run && run_is_bad_) return take_bad_bytes(pending_.size(), out);
  if (!(by_run && whole_)) drain(false, out);
}

// Ends a run of byte tokens: what is pending can no longer become a character.
void PieceDecoder::end_run(std::string& out) {
  if (rules_->bad_bytes == DecodeRules::BadBytes::kWholeRun && whole_ && !base::is_valid_utf8(pending_)) {
    take_bad_bytes(pending_.size(), out);
  }
  drain(true, out);
  run_is_bad_ = false;
}

void PieceDecoder::drain(bool at_end, std::string& out) {
  std::size_t pos = 0;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const base::CodePoint code_point = base::decode_utf8(rest);
    if (code_point.truncated && !at_end) break;
    if (code_point.valid) {
      out.append(rest, 0, code_point.length);
      rest.remove_prefix(code_point.length);
      continue;
    }
    if (rules_->bad_bytes == DecodeRules::BadBytes::kMaximalSubpart) {
      out += base::kReplacementUtf8;
      rest.remove_prefix(code_point.length);
    } else if (rules_->bad_bytes == DecodeRules::BadBytes::kSingleBytes) {
      out += base::kReplacementUtf8;
      rest.remove_prefix(1);
    } else {
      run_is_bad_ = true;
      for (; !rest.empty(); rest.remove_prefix(1))
        out += base::kReplacementUtf8;
    }
  }
  pos = pending_.size() - rest.size();
  pending_.erase(0, pos);
}

void PieceDecoder::take_bad_bytes(std::size_t count, std::string& out) {
  for (std::size_t i = 0; i < count; ++i)
    out += base::kReplacementUtf8;
  pending_.erase(0, count);
}

std::string PieceDecoder::strip(std::string text) {
  if (strips_left_ == 0) return text;
  text.insert(0, std::exchange(unstripped_, {}));
  const std::string_view unit = rules_->strip_text;
  std::size_t start = 0;
  while (strips_left_ > 0 && text.compare(start, unit.size(), unit) == 0) {
    start += unit.size();
    --strips_left_;
  }
  text.erase(0, start);
  if (strips_left_ == 0) return text;
  if (unit.starts_with(text)) {  // may still become one more to strip
    unstripped_ = std::exchange(text, {});
  } else {
    strips_left_ = 0;
  }
  return text;
}

}  // namespace vitrine::tokenizer
