#include "server/signal.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>

namespace vitrine::server {

void Signal::raise() {
  const std::scoped_lock lock(mutex_);
  if (is_closed_) return;
  asio::post(executor_, [self = weak_from_this()] {
    if (const auto signal = self.lock(); signal != nullptr && signal->timer_) signal->timer_->cancel();
  });
}

Awaitable<void> Signal::wait(std::chrono::milliseconds patience) {
  timer_->expires_after(patience);
  boost::system::error_code cancelled;
  co_await timer_->async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
}

void Signal::close() {
  const std::scoped_lock lock(mutex_);
  is_closed_ = true;
  timer_.reset();
}

}  // namespace vitrine::server
