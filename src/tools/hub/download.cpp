#include "tools/hub/download.h"

#include <charconv>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "tools/hub/files.h"
#include "tools/hub/sha256.h"

namespace vitrine::hub {
namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Result;

namespace {

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "bytes 100-199/200"
struct ContentRange {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> total;
};

std::optional<ContentRange> parse_content_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (!text.starts_with("bytes ") || dash == std::string_view::npos || slash == std::string_view::npos)
    return std::nullopt;
  const auto first = parse_count(text.substr(6, dash - 6));
  if (!first) return std::nullopt;
  return ContentRange{*first, parse_count(text.substr(slash + 1))};
}

// An ETag with its quotes and weak mark taken off.
std::string_view bare_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return etag;
}

bool is_transient(long status) {
  return status >= 500 || status == 429 || status == 408;
}

// One file on its way: the .part file, and beside it the ETag by which a server can tell that it is still the same.
class PartFile {
 public:
  PartFile(const Download& download, Observer& observer) : download_(download), observer_(observer) {}

  Result<void> open() {
    auto file = File::open_append(path());
    if (!file) return file.error();
    const auto size = file->size();
    if (!size) return size.error();
    file_.emplace(std::move(*file));
    bytes_ = *size;
    total_ = download_.bytes;
    sha256_ = download_.sha256;
    if (const auto etag = read_text(etag_path(), 1024)) etag_ = *etag;
    // Without an ETag only a known sum can tell whether old bytes belong to today's file.
    if (bytes_ > 0 && ((etag_.empty() && !sha256_) || (total_ && bytes_ > *total_))) return restart();
    return {};
  }

  HttpRequest request() const {
    HttpRequest request = download_.request;
    if (bytes_ > 0) {
      request.headers.push_back(fmt::format("Range: bytes={}-", bytes_));
      if (!etag_.empty() && !etag_.starts_with("W/")) request.headers.push_back("If-Range: " + etag_);
    }
    return request;
  }

  Result<void> on_body(const HttpResponse& head, std::span<const std::byte> bytes) {
    if (!has_head_) {
      if (auto begun = begin(head); !begun) return begun;
    }
    if (total_ && bytes.size() > *total_ - bytes_) {
      return base::bad_file(
          fmt::format("{}: the server sends more than the {} bytes it announced", download_.label, *total_));
    }
    if (auto done = file_->write(bytes); !done) return done;
    bytes_ += bytes.size();
    observer_.progress(download_.label, bytes_, total_.value_or(0));
    return {};
  }

  void next_attempt() { has_head_ = false; }

  Result<void> restart() {
    if (auto done = file_->truncate(); !done) return done;
    bytes_ = 0;
    etag_.clear();
    total_ = download_.bytes;
    sha256_ = download_.sha256;
    return {};
  }

  // Takes what the server says about an answer without a body, then tells whether all bytes are here.
  Result<bool> is_whole(const HttpResponse& head) {
    if (!has_head_ && head.ok()) {
      if (auto begun = begin(head); !begun) return begun.error();
    }
    return !total_ || bytes_ == *total_;
  }

  bool is_whole_already() const { return total_ && bytes_ == *total_ && sha256_; }

  Result<std::string> finish() {
    if (auto done = file_->sync(); !done) return done.error();
    if (sha256_) {
      if (auto checked = check_sum(); !checked) return checked.error();
    }
    if (auto done = rename_path(path(), download_.destination); !done) return done.error();
    if (auto done = remove_tree(etag_path()); !done) return done.error();
    return sha256_.value_or("");
  }

  std::uint64_t bytes() const { return bytes_; }

 private:
  fs::path path() const { return download_.destination.string() + ".part"; }
  fs::path etag_path() const { return download_.destination.string() + ".etag"; }

  Result<void> begin(const HttpResponse& head) {
    has_head_ = true;
    std::optional<std::uint64_t> announced = parse_count(head.header("content-length"));
    if (head.status == 206) {
      const auto range = parse_content_range(head.header("content-range"));
      if (!range || range->first != bytes_) {
        return Error{ErrorKind::kUnavailable, download_.label + ": the server sent another range than was asked for"};
      }
      announced = range->total;
    } else if (bytes_ > 0) {  // the file has changed, or the server knows no ranges
      if (auto done = restart(); !done) return done;
    }
    if (auto agreed = agree_on_total(announced, head); !agreed) return agreed;
    if (!sha256_ && is_sha256_hex(bare_etag(head.header("x-linked-etag"))))
      sha256_ = bare_etag(head.header("x-linked-etag"));
    etag_ = head.header("etag");
    if (auto done = write_text(etag_path(), etag_); !done) return done;
    return total_ ? check_space(download_.destination.parent_path(), *total_ - bytes_) : Result<void>();
  }

  Result<void> agree_on_total(std::optional<std::uint64_t> announced, const HttpResponse& head) {
    if (const auto linked = parse_count(head.header("x-linked-size")); linked && !announced) announced = linked;
    if (total_ && announced && *total_ != *announced) {
      return base::bad_file(fmt::format("{}: the server announces {} bytes where {} were expected; try again later",
                                        download_.label, *announced, *total_));
    }
    if (announced) total_ = announced;
    return {};
  }

  Result<void> check_sum() {
    const std::string label = "checking " + download_.label;
    const auto sum = sha256_file(path(), [&](std::uint64_t done) {
      observer_.progress(label, done, bytes_);
      return !observer_.cancelled();
    });
    if (!sum) return sum.error().kind == ErrorKind::kInterrupted ? interrupted() : sum.error();
    if (*sum == *sha256_) return {};
    if (auto done = restart(); !done) return done;
    return base::bad_file(fmt::format("{}: SHA-256 is {} where {} was expected; the bytes were thrown away, pull again",
                                      download_.label, *sum, *sha256_));
  }

  const Download& download_;
  Observer& observer_;
  std::optional<File> file_;
  std::string etag_;
  std::uint64_t bytes_ = 0;
  std::optional<std::uint64_t> total_;
  std::optional<std::string> sha256_;
  bool has_head_ = false;
};

// What one request came to.
enum class Outcome { kWhole, kAgain };

Result<Outcome> attempt(HttpClient& client, PartFile& part, const Download& download, std::string& reason) {
  part.next_attempt();
  const auto response = client.get(part.request(), [&](const HttpResponse& head, std::span<const std::byte> bytes) {
    return part.on_body(head, bytes);
  });
  if (!response) {
    if (response.error().kind != ErrorKind::kUnavailable) return response.error();
    reason = response.error().message;
    return Outcome::kAgain;
  }
  if (response->status == 416) {
    reason = download.label + ": the server has no more bytes where the part file ends";
    if (auto done = part.restart(); !done) return done.error();
    return Outcome::kAgain;
  }
  if (is_transient(response->status)) {
    reason = fmt::format("{}: HTTP status {}", url_origin(download.request.url), response->status);
    return Outcome::kAgain;
  }
  if (!response->ok()) return http_status_error(*response, download.label, !download.request.bearer_token.empty());
  const auto whole = part.is_whole(*response);
  if (!whole) return whole.error();
  if (*whole) return Outcome::kWhole;
  reason = url_origin(download.request.url) + ": the connection ended early";
  return Outcome::kAgain;
}

// False where the observer cancelled.
bool pause(std::chrono::milliseconds time, const Observer& observer) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (observer.cancelled()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace

Error http_status_error(const HttpResponse& response, std::string_view what, bool has_token) {
  const long status = response.status;
  // Hubs answer 401 for what is absent too, so as not to tell which private repositories exist.
  if (status == 401 || status == 403) {
    const std::string_view fix =
        has_token ? "accept its terms on its web page with the account of HF_TOKEN, or check the name"
                  : "check the name; if it is gated, accept its terms on its web page and set HF_TOKEN to a read token";
    return {ErrorKind::kNoPermission, fmt::format("{}: access refused (HTTP {}); {}", what, status, fix)};
  }
  if (status == 404) return {ErrorKind::kMissing, fmt::format("{}: not there (HTTP 404); check the name", what)};
  return {ErrorKind::kUnavailable, fmt::format("{}: HTTP status {}; try again later", what, status)};
}

Result<std::string> download_file(HttpClient& client, const Download& download, const DownloadOptions& options,
                                  Observer& observer) {
  PartFile part(download, observer);
  if (auto opened = part.open(); !opened) return opened.error();
  if (part.is_whole_already()) return part.finish();
  if (part.bytes() > 0) observer.note(fmt::format("{}: going on after {}", download.label, format_bytes(part.bytes())));
  auto wait = options.first_pause;
  for (int num_idle = 0;;) {
    const std::uint64_t before = part.bytes();
    std::string reason;
    const auto outcome = attempt(client, part, download, reason);
    if (!outcome) return outcome.error().kind == ErrorKind::kInterrupted ? interrupted() : outcome.error();
    if (*outcome == Outcome::kWhole) return part.finish();
    const bool advanced = part.bytes() > before;
    num_idle = advanced ? 1 : num_idle + 1;
    if (advanced) wait = options.first_pause;
    if (num_idle > options.num_retries) {
      return Error{ErrorKind::kUnavailable, reason + "; check the network, the same command goes on from here"};
    }
    observer.note(fmt::format("{}; trying again in {:.1f} s", reason, std::chrono::duration<double>(wait).count()));
    if (!pause(wait, observer)) return interrupted();
    wait *= 2;
  }
}

}  // namespace vitrine::hub
