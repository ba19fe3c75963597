#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vitrine::server {

// A file of the pages, as web/dist has it, in the binary.
struct WebFile {
  std::string_view path;  // "/index.html", "/assets/index-Bq3xV1aZ.js"
  std::string_view content_type;
  std::string_view content;
  std::string etag;  // with its quotes; names the content

  // Its name changes with its content, so that whoever has it need not ask again.
  bool is_immutable() const { return path.starts_with("/assets/"); }
};

// All of them; the same memory for as long as the program runs. Any thread.
std::span<const WebFile> web_files();
// Null where there is none of that path.
const WebFile* find_web_file(std::string_view path);

}  // namespace vitrine::server
