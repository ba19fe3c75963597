#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/otlp.h"

namespace vitrine::otlp {

// Where spans go, and as whose.
struct OtlpSettings {
  std::string url;                   // that they are posted to
  std::vector<std::string> headers;  // "Name: value"
  std::vector<trace::ExportAttribute> resource;
};

// What the command line says; empty where it says nothing.
struct OtlpFlags {
  std::string endpoint;
  std::vector<std::string> headers;  // "NAME: VALUE"
};

// The flags first, else the variables of OpenTelemetry's specification: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT (as it
// stands), OTEL_EXPORTER_OTLP_ENDPOINT (a base), OTEL_EXPORTER_OTLP_TRACES_HEADERS and OTEL_EXPORTER_OTLP_HEADERS,
// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES; OTEL_SDK_DISABLED=true and OTEL_TRACES_EXPORTER=none turn the variables
// off. `version` is this program's. nullopt: spans go nowhere. Fails with kUsage (a flag) or kConfig (a variable).
base::Result<std::optional<OtlpSettings>> read_otlp_settings(const OtlpFlags& flags, const std::string& version);

// The URL that spans are posted to: /v1/traces is added to a base that does not end in /traces.
std::string traces_url(const std::string& base);

}  // namespace vitrine::otlp
