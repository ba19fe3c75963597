#pragma once

namespace vitrine::server {

// Who may use a route: everyone, whoever has a key, whoever has the key of an admin.
enum class Scope { kPublic, kUser, kAdmin };

}  // namespace vitrine::server
