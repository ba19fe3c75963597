#include "tools/hub/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/sha256.h"
#include "tools/hub/files.h"

namespace vitrine::hub {

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  VT_CHECK(impl_->context != nullptr && EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) == 1,
           "SHA-256 set-up");
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  VT_CHECK(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) == 1, "SHA-256 update");
}

std::string Sha256::hex() {
  base::Sha256Digest digest{};
  VT_CHECK(EVP_DigestFinal_ex(impl_->context, digest.data(), nullptr) == 1, "SHA-256 end");
  return base::hex_of(digest);
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

base::Result<std::string> sha256_file(const std::filesystem::path& path,
                                      const std::function<bool(std::uint64_t)>& on_bytes) {
  auto file = File::open_read(path);
  if (!file) return file.error();
  Sha256 sum;
  std::vector<std::byte> buffer(std::size_t{1} << 20U);
  std::uint64_t done = 0;
  while (true) {
    const auto got = file->read(buffer);
    if (!got) return got.error();
    if (*got == 0) return sum.hex();
    sum.update(std::span(buffer).first(*got));
    done += *got;
    if (!on_bytes(done)) return base::Error{base::ErrorKind::kInterrupted, "interrupted"};
  }
}

}  // namespace vitrine::hub
