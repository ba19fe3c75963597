#include <utility>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/decode_stage.h"
#include "tokenizer/decode_steps.h"

// The steps of decoding by which pieces become bytes, and bytes text.
namespace vitrine::tokenizer {
namespace {

// Moves what is certain of `bytes` to `out`, a U+FFFD for what is broken; a character that is cut off at the end stays
// unless `at_end`.
void drain(std::string& bytes, BadBytes bad_bytes, bool at_end, std::string& out) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const base::CodePoint code_point = base::decode_utf8(rest);
    if (code_point.truncated && !at_end) break;
    const bool by_byte = !code_point.valid && bad_bytes != BadBytes::kMaximalSubpart;
    const std::size_t length = by_byte ? 1 : code_point.length;
    out += code_point.valid ? rest.substr(0, length) : base::kReplacementUtf8;
    rest.remove_prefix(length);
  }
  bytes.erase(0, bytes.size() - rest.size());
}

template <typename Step>
class ByteLevelStage : public PieceStage<Step> {
 public:
  using PieceStage<Step>::PieceStage;
  void finish() override {
    drain_all(true);
    this->next_.end_piece();
    this->next_.finish();
  }

 protected:
  void take(std::string piece) override {
    this->step_.apply_to_bytes(piece);
    bytes_ += piece;
    drain_all(false);
  }

 private:
  void drain_all(bool at_end) {
    std::string out;
    drain(bytes_, BadBytes::kMaximalSubpart, at_end, out);
    this->next_.text(out);
  }

  std::string bytes_;  // that do not make up a character yet
};

class ByteLevelDecoder : public StepWith<ByteLevelDecoder, ByteLevelStage> {
 public:
  bool joins_bytes() const override { return true; }
  void apply_to_bytes(std::string& piece) const override {
    if (auto bytes = bytes_of_spelling(piece)) piece = *std::move(bytes);
  }
};

template <typename Step>
class ByteTokensStage : public PieceStage<Step> {
 public:
  ByteTokensStage(const Step& step, DecodeStage& next, bool whole)
      : PieceStage<Step>(step, next, whole), whole_(whole), by_run_(step.bad_bytes == BadBytes::kWholeRun) {}

  void finish() override {
    end_run();
    this->next_.finish();
  }

 protected:
  void take(std::string piece) override {
    if (const auto byte = byte_of_token(piece)) return take_byte(static_cast<char>(*byte));
    end_run();
    this->give(repaired(std::move(piece), this->step_.bad_bytes));
  }

 private:
  void take_byte(char byte) {
    in_run_ = true;
    bytes_.push_back(byte);
    if (by_run_ && whole_) return;
    if (run_is_bad_ || (by_run_ && is_broken())) return give_bad_bytes();
    std::string out;
    drain(bytes_, this->step_.bad_bytes, false, out);
    this->next_.text(out);
  }

  // Characters before the broken bytes are given out first.
  bool is_broken() {
    std::string_view rest = bytes_;
    while (!rest.empty()) {
      const base::CodePoint code_point = base::decode_utf8(rest);
      if (!code_point.valid) return !code_point.truncated;
      this->next_.text(rest.substr(0, code_point.length));
      rest.remove_prefix(code_point.length);
      bytes_.erase(0, code_point.length);
      rest = bytes_;
    }
    return false;
  }

  // Each is a piece of its own.
  void give_bad_bytes() {
    run_is_bad_ = true;
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      this->give(base::kReplacementUtf8);
    bytes_.clear();
  }

  void end_run() {
    if (!in_run_) return;
    if (by_run_ && !base::is_valid_utf8(bytes_)) {
      give_bad_bytes();
    } else if (!run_is_bad_) {
      std::string out;
      drain(bytes_, this->step_.bad_bytes, true, out);
      this->give(out);
    }
    in_run_ = run_is_bad_ = false;
  }

  bool whole_, by_run_;
  bool in_run_ = false;
  bool run_is_bad_ = false;
  std::string bytes_;  // of the run, not given out yet
};

class ByteTokensDecoder : public StepWith<ByteTokensDecoder, ByteTokensStage> {
 public:
  explicit ByteTokensDecoder(BadBytes kind) : bad_bytes(kind) {}
  void apply_to_bytes(std::string& piece) const override {
    if (const auto byte = byte_of_token(piece)) piece.assign(1, static_cast<char>(*byte));
  }

  const BadBytes bad_bytes;
};

class RepairDecoder : public StepWith<RepairDecoder, RewriteStage> {
 public:
  explicit RepairDecoder(BadBytes kind) : bad_bytes_(kind) {}
  std::string rewritten(std::string piece) const { return repaired(std::move(piece), bad_bytes_); }

 private:
  BadBytes bad_bytes_;
};

}  // namespace

std::string repaired(std::string bytes, BadBytes bad_bytes) {
  if (base::is_valid_utf8(bytes)) return bytes;
  std::string out;
  drain(bytes, bad_bytes, true, out);
  return out;
}

std::unique_ptr<DecodeStep> make_byte_level_decoder() {
  return std::make_unique<ByteLevelDecoder>();
}
std::unique_ptr<DecodeStep> make_byte_tokens_decoder(BadBytes bad_bytes) {
  return std::make_unique<ByteTokensDecoder>(bad_bytes);
}
std::unique_ptr<DecodeStep> make_repair_decoder(BadBytes bad_bytes) {
  return std::make_unique<RepairDecoder>(bad_bytes);
}

}  // namespace vitrine::tokenizer
