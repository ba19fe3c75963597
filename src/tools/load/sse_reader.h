#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitrine::tools {

// Reads server-sent events (WHATWG HTML, section 9.2) from bytes that come in pieces of any size. Only the data of an
// event is kept; comments, ids and names are passed over. Lines end in LF, CR or CRLF and in nothing else.
class SseReader {
 public:
  // The data of the events that these bytes complete, in order.
  std::vector<std::string> feed(std::string_view bytes);

 private:
  void end_line(std::vector<std::string>& events);

  std::string line_;
  std::string data_;  // of the event that is being read
  bool has_data_ = false;
  bool after_cr_ = false;  // an LF now is the end of the same line
};

}  // namespace vitrine::tools
