#pragma once

namespace vitrine::server {

// Who may use a route.
enum class Scope {
  kPublic,  // everyone
  kUser,    // whoever has a key for the models
  kScrape,  // whoever has the key of a scraper or of an admin
  kAdmin,   // whoever has the key of an admin
};

}  // namespace vitrine::server
