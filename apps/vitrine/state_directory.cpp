#include "vitrine/state_directory.h"

#include <string>
#include <system_error>

#include "base/result.h"
#include "tools/hub/environment.h"

namespace vitrine::cli {

namespace fs = std::filesystem;

fs::path state_path() {
  using hub::environment;
  if (const std::string own = environment("VITRINE_STATE"); !own.empty()) return own;
  if (const std::string xdg = environment("XDG_STATE_HOME"); !xdg.empty()) return fs::path(xdg) / "vitrine";
  const std::string home = environment("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".local" / "state" / "vitrine";
}

fs::path state_directory() {
  const fs::path path = state_path();
  std::error_code error;
  const bool is_new = !path.empty() && fs::create_directories(path, error);
  if (is_new) fs::permissions(path, fs::perms::owner_all, error);
  return fs::is_directory(path, error) ? path : fs::path();
}

fs::path required_state_path() {
  fs::path path = state_path();
  if (!path.empty()) return fs::absolute(path);
  throw base::Exception(base::ErrorKind::kConfig,
                        "state folder: neither VITRINE_STATE nor HOME is set; set VITRINE_STATE");
}

}  // namespace vitrine::cli
