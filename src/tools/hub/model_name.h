#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vitrine::hub {

// True for a name that is safe as one path component: 1 to 128 of [A-Za-z0-9._-], first a letter or a digit.
bool is_model_name(std::string_view name);

// True for "tok:NAME" with NAME a model name: a tokenizer by itself.
bool is_tokenizer_name(std::string_view name);

// A name made from any text (a file's stem) by replacing what is not allowed with '-'; "model" where nothing is left.
std::string make_model_name(std::string_view text);

// hf:ORG/REPO[:FILE]. FILE may hold '/', but no component of it is "." or ".." or empty.
struct HubSpec {
  std::string org;
  std::string repo;
  std::string file;  // empty: to be chosen

  std::string repo_id() const { return org + "/" + repo; }
  std::string text() const { return "hf:" + repo_id() + (file.empty() ? "" : ":" + file); }
};

// nullopt where `text` is not of that form.
std::optional<HubSpec> parse_hub_spec(std::string_view text);

// True for a relative path of plain components, as a repository may name its files.
bool is_safe_relative_path(std::string_view path);

}  // namespace vitrine::hub
