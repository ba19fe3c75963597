#include "server/web_files.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/sha256.h"

namespace vitrine {

struct EmbeddedFile {
  const char* path;
  const char* begin;
  const char* end;
};

}  // namespace vitrine

#include <vitrine_web_files.inc>

namespace vitrine::server {
namespace {

std::string_view content_type_of(std::string_view path) {
  constexpr auto kTypes = std::to_array<std::pair<std::string_view, std::string_view>>({
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
  });
  for (const auto& [ending, type] : kTypes) {
    if (path.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

WebFile make_file(std::string_view path, const char* begin, const char* end) {
  const std::string_view content(begin, static_cast<std::size_t>(end - begin));
  base::Sha256 hash;
  hash.update(std::as_bytes(std::span(content)));
  return {path, content_type_of(path), content, "\"" + base::hex_of(hash.finish()).substr(0, 32) + "\""};
}

std::vector<WebFile> make_files() {
  std::vector<WebFile> files;
  for (const auto& [path, begin, end] : kEmbeddedFiles)
    files.push_back(make_file(path, begin, end));
  return files;
}

}  // namespace

std::span<const WebFile> web_files() {
  static const std::vector<WebFile> kFiles = make_files();
  return kFiles;
}

const WebFile* find_web_file(std::string_view path) {
  const auto files = web_files();
  const auto found = std::ranges::find(files, path, &WebFile::path);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace vitrine::server
