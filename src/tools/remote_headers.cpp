#include "tools/remote_headers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "loader/gguf.h"
#include "tools/hub/download.h"
#include "tools/hub/files.h"

namespace vitrine::tools {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Result;

constexpr std::uint64_t kFirstBytes = std::uint64_t{1} << 20U;
constexpr std::uint64_t kMostHeaderBytes = std::uint64_t{128} << 20U;
constexpr std::size_t kMostTextBytes = std::size_t{16} << 20U;
constexpr std::uint64_t kSafetensorsLengthBytes = 8;
constexpr std::chrono::milliseconds kPauseSlice{50};
constexpr std::array<std::string_view, 2> kTexts = {"config.json", "model.safetensors.index.json"};
constexpr std::string_view kRopeFactors = "rope_freqs.weight";

Result<fs::path> make_temporary_folder() {
  std::error_code code;
  std::string path = (fs::temp_directory_path(code) / "vitrine-headers-XXXXXX").string();
  if (code || ::mkdtemp(path.data()) == nullptr) return hub::file_error(path, code ? code.value() : errno);
  return fs::path(path);
}

Result<void> resize(const fs::path& path, std::uint64_t bytes) {
  std::error_code code;
  fs::resize_file(path, bytes, code);
  return code ? Result<void>(hub::file_error(path, code.value())) : Result<void>();
}

// Over what is there; the file keeps its size.
Result<void> write_at(const fs::path& path, std::uint64_t offset, std::string_view bytes) {
  std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  return stream ? Result<void>() : Result<void>(hub::file_error(path, EIO));
}

bool is_busy(long status) {
  return status >= 500 || status == 429 || status == 408;
}

// Where an answer's body is cut to the range that was asked for, whether or not the server knows ranges.
class RangeSink {
 public:
  RangeSink(std::uint64_t first, std::uint64_t num_bytes) : first_(first), num_bytes_(num_bytes) {}

  Result<void> take(const hub::HttpResponse& head, std::span<const std::byte> bytes) {
    if (!to_skip_) {
      const bool is_range = head.header("content-range").starts_with(fmt::format("bytes {}-", first_));
      if (head.status == 206 && !is_range)
        return Error{ErrorKind::kUnavailable, "the server sent another range than was asked for"};
      to_skip_ = head.status == 206 ? 0 : first_;
    }
    const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(*to_skip_, bytes.size()));
    *to_skip_ -= skipped;
    const std::size_t taken = std::min(bytes.size() - skipped, static_cast<std::size_t>(num_bytes_ - text_.size()));
    text_.append(reinterpret_cast<const char*>(bytes.data()) + skipped, taken);
    // An error is how a transfer is ended.
    return is_full() ? Result<void>(Error{ErrorKind::kInterrupted, "enough"}) : Result<void>();
  }

  bool is_full() const { return text_.size() == num_bytes_; }
  std::string& text() { return text_; }

 private:
  std::uint64_t first_;
  std::uint64_t num_bytes_;
  std::optional<std::uint64_t> to_skip_;  // absent: no byte has come
  std::string text_;
};

// The beginnings of a repository's files, fetched into a folder.
class Fetcher {
 public:
  Fetcher(const hub::HubSpec& spec, const hub::PullSettings& settings, hub::Observer& observer, fs::path folder)
      : spec_(spec),
        settings_(settings),
        observer_(observer),
        client_(settings.timeouts, [this] { return observer_.cancelled(); }),
        folder_(std::move(folder)) {}

  Result<hub::RepoChoice> choose() {
    const auto files = hub::list_repo(client_, settings_.endpoint, spec_);
    if (!files) return files.error();
    return hub::choose_files(*files, spec_);
  }

  Result<void> fetch(const hub::RepoFile& file) {
    if (file.bytes == 0) return failed(file, ErrorKind::kBadFile, "the repository's listing states no size of it");
    if (file.path.ends_with(".safetensors")) return fetch_safetensors(file);
    if (std::ranges::find(kTexts, file.path) != kTexts.end()) return fetch_text(file);
    // Of a folder no other file has sizes in it.
    return file.path.ends_with(".gguf") ? fetch_gguf(file) : Result<void>();
  }

  std::uint64_t fetched_bytes() const { return fetched_bytes_; }
  fs::path path_of(const hub::RepoFile& file) const { return folder_ / fs::path(file.path).filename(); }

 private:
  Error failed(const hub::RepoFile& file, ErrorKind kind, std::string_view why) const {
    return {kind, fmt::format("hf:{}:{}: {}", spec_.repo_id(), file.path, why)};
  }

  Result<void> fetch_text(const hub::RepoFile& file) {
    if (file.bytes > kMostTextBytes) return failed(file, ErrorKind::kBadFile, "too large to be a configuration");
    const auto text = read(file, 0, file.bytes);
    return text ? hub::write_text(path_of(file), *text) : Result<void>(text.error());
  }

  Result<void> fetch_safetensors(const hub::RepoFile& file) {
    std::uint64_t there = 0;
    if (auto done = extend(file, there, std::min(kFirstBytes, file.bytes)); !done) return done;
    std::array<char, kSafetensorsLengthBytes> length{};
    if (there < length.size()) return failed(file, ErrorKind::kBadFile, "too short for a safetensors file");
    std::ifstream(path_of(file), std::ios::binary).read(length.data(), length.size());
    const auto header_bytes = std::bit_cast<std::uint64_t>(length);
    if (header_bytes > std::min(kMostHeaderBytes, file.bytes) - length.size())
      return failed(file, ErrorKind::kBadFile, fmt::format("its header claims {} bytes", header_bytes));
    return extend(file, there, std::max(there, header_bytes + length.size()));
  }

  // How long a GGUF's header is nothing says, so more of it is fetched until it can be read.
  Result<void> fetch_gguf(const hub::RepoFile& file) {
    const std::uint64_t most = std::min(kMostHeaderBytes, file.bytes);
    std::uint64_t there = 0;
    for (std::uint64_t wanted = std::min(kFirstBytes, most);; wanted = std::min(4 * wanted, most)) {
      if (auto done = extend(file, there, wanted); !done) return done;
      auto is_read = read_gguf_header(file, there);
      if (is_read && *is_read) return {};
      if (!is_read && is_read.error().kind != ErrorKind::kBadFile) return is_read.error();
      if (there < most && has_magic(file)) continue;
      return failed(file, ErrorKind::kBadFile,
                    is_read ? "its header does not end where it should" : is_read.error().message);
    }
  }

  bool has_magic(const hub::RepoFile& file) const {
    std::array<char, 4> magic{};
    std::ifstream(path_of(file), std::ios::binary).read(magic.data(), magic.size());
    return std::string_view(magic.data(), magic.size()) == "GGUF";
  }

  // Whether the header lies within the bytes that are there. Beyond them the file reads as zeros: a header that goes on
  // there is refused or seems to end there, and then its tensors begin behind them.
  Result<bool> read_gguf_header(const hub::RepoFile& file, std::uint64_t there) {
    const auto mapped = base::MappedFile::open(path_of(file));
    if (!mapped) return mapped.error();
    try {
      const std::span<const std::byte> bytes = mapped->bytes();
      const loader::GgufHeader header = loader::parse_gguf(bytes);
      const bool is_whole = there == bytes.size() || (!header.tensors.empty() && first_offset(header, bytes) <= there);
      if (!is_whole) return false;
      return fetch_rope_factors(file, header, bytes);
    } catch (const base::Exception& exception) {
      return exception.error();
    }
  }

  static std::uint64_t first_offset(const loader::GgufHeader& header, std::span<const std::byte> bytes) {
    const auto first = std::ranges::min_element(header.tensors, {},
                                                [](const loader::NamedTensor& tensor) { return tensor.view.data; });
    return static_cast<std::uint64_t>(first->view.data - bytes.data());
  }

  // They stand among the weights but belong to the configuration.
  Result<bool> fetch_rope_factors(const hub::RepoFile& file, const loader::GgufHeader& header,
                                  std::span<const std::byte> bytes) {
    const auto found = std::ranges::find(header.tensors, kRopeFactors, &loader::NamedTensor::name);
    if (found == header.tensors.end() || found->view.size_bytes() > kFirstBytes) return true;
    const auto offset = static_cast<std::uint64_t>(found->view.data - bytes.data());
    const auto text = read(file, offset, found->view.size_bytes());
    if (!text) return text.error();
    if (auto done = write_at(path_of(file), offset, *text); !done) return done.error();
    return true;
  }

  // Lets the file hold its first `wanted` bytes, of which `there` are there, and a hole behind them.
  Result<void> extend(const hub::RepoFile& file, std::uint64_t& there, std::uint64_t wanted) {
    if (wanted > there) {
      const auto text = read(file, there, wanted - there);
      if (!text) return text.error();
      if (there == 0) {
        if (auto done = hub::write_text(path_of(file), *text); !done) return done;
      } else if (auto done = write_at(path_of(file), there, *text); !done) {
        return done;
      }
      there = wanted;
    }
    return resize(path_of(file), file.bytes);
  }

  Result<std::string> read(const hub::RepoFile& file, std::uint64_t first, std::uint64_t num_bytes) {
    if (num_bytes == 0) return std::string();
    std::chrono::milliseconds pause = settings_.download.first_pause;
    for (int attempt = 0;; ++attempt, pause *= 2) {
      RangeSink sink(first, num_bytes);
      const auto response = client_.get(request(file, first, num_bytes),
                                        [&](const auto& head, auto bytes) { return sink.take(head, bytes); });
      if (sink.is_full()) {
        fetched_bytes_ += num_bytes;
        return std::move(sink.text());
      }
      if (!response && response.error().kind != ErrorKind::kUnavailable) return response.error();
      if (response && !response->ok() && !is_busy(response->status))
        return hub::http_status_error(*response, fmt::format("hf:{}:{}", spec_.repo_id(), file.path),
                                      !settings_.endpoint.token.empty());
      if (attempt >= settings_.download.num_retries)
        return failed(file, ErrorKind::kUnavailable,
                      !response        ? response.error().message
                      : response->ok() ? "shorter than its listing says"
                                       : fmt::format("HTTP status {}; try again later", response->status));
      wait(pause);
    }
  }

  // The next request ends at once where it was cancelled meanwhile.
  void wait(std::chrono::milliseconds pause) const {
    for (; pause.count() > 0 && !observer_.cancelled(); pause -= kPauseSlice)
      std::this_thread::sleep_for(std::min(pause, kPauseSlice));
  }

  hub::HttpRequest request(const hub::RepoFile& file, std::uint64_t first, std::uint64_t num_bytes) const {
    hub::HttpRequest request =
        settings_.endpoint.request(fmt::format("/{}/resolve/main/{}", spec_.repo_id(), hub::url_path(file.path)));
    request.headers.push_back(fmt::format("Range: bytes={}-{}", first, first + num_bytes - 1));
    return request;
  }

  const hub::HubSpec& spec_;
  const hub::PullSettings& settings_;
  hub::Observer& observer_;
  hub::HttpClient client_;
  fs::path folder_;
  std::uint64_t fetched_bytes_ = 0;
};

}  // namespace

RemoteHeaders::RemoteHeaders(RemoteHeaders&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      model_(std::move(other.model_)),
      name_(std::move(other.name_)),
      fetched_bytes_(other.fetched_bytes_) {}

RemoteHeaders::~RemoteHeaders() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<RemoteHeaders> RemoteHeaders::fetch(const hub::HubSpec& spec, const hub::PullSettings& settings,
                                           hub::Observer& observer) {
  auto folder = make_temporary_folder();
  if (!folder) return folder.error();
  RemoteHeaders headers(*folder);
  Fetcher fetcher(spec, settings, observer, *folder);
  const auto choice = fetcher.choose();
  if (!choice) return choice.error();
  hub::HubSpec chosen = spec;
  if (!choice->is_directory) chosen.file = choice->files.front().path;
  headers.name_ = chosen.text();
  if (choice->num_others > 0) {
    observer.note(fmt::format("{}: {} chosen of {} GGUF models; name another as {}:FILE", spec.text(), chosen.file,
                              choice->num_others + 1, spec.text()));
  }
  for (const hub::RepoFile& file : choice->files) {
    if (auto done = fetcher.fetch(file); !done) return done.error();
  }
  headers.model_ = choice->is_directory ? *folder : fetcher.path_of(choice->files.front());
  headers.fetched_bytes_ = fetcher.fetched_bytes();
  return headers;
}

}  // namespace vitrine::tools
