#pragma once

#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace vitrine::server {

namespace asio = boost::asio;

// A coroutine of the server. All of them run on the one thread that serves the sockets, so what they share needs no
// lock; what takes long goes to run_on.
template <typename T>
using Awaitable = asio::awaitable<T>;

// Runs `work` on a thread of the pool and waits for what it returns or throws.
template <typename Work>
Awaitable<std::invoke_result_t<Work&>> run_on(asio::thread_pool& pool, Work work) {
  auto on_pool = [](Work job) -> Awaitable<std::invoke_result_t<Work&>> { co_return job(); };
  auto started = on_pool(std::move(work));
  co_return co_await asio::co_spawn(pool, std::move(started), asio::use_awaitable);
}

}  // namespace vitrine::server
