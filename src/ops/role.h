#pragma once

#include <cstdint>

namespace vitrine::ops {

// What a row is in its request: position p is kPrompt if p is below the prompt's length, else kGenerated. Each
// (matrix, role) has one fixed numeric path, so a row's bits depend on its request alone (docs/numerics.md).
enum class Role : std::uint8_t { kPrompt, kGenerated };

}  // namespace vitrine::ops
