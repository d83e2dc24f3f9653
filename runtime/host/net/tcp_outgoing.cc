#include <sys/socket.h>
#include <sys/uio.h>

#include "tcp_stream.h"

namespace mk::rt::net {

bool Outgoing::post(const Write& write) {
  if (queue_.size() >= kQueue) return false;
  queue_.push_back(write);
  return true;
}

void Outgoing::goodbye() {
  Write last{};
  queue_.push_back(last);  // id 0
}

void Outgoing::put(const Frame& frame) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&frame);
  const uint64_t first = Bounce::straight(filled_, sizeof frame);
  std::memcpy(ring_.at(filled_), bytes, first);
  std::memcpy(ring_.at(filled_ + first), bytes + first, sizeof frame - first);
  filled_ += sizeof frame;
}

void Outgoing::fill() {
  if (sent_ == filled_ && marks_.empty()) sent_ = whole_ = filled_ = bytes_end_ = 0;  // memory that is warm
  while (!queue_.empty()) {
    const Write& w = queue_.front();
    if (!begun_) {
      if (room() < sizeof(Frame)) return;
      put({w.id ? Frame::kWrite : Frame::kGoodbye, w.slot, w.words, 0, w.value, w.to, w.bytes});
      begun_ = true;
      read_ = 0;
    }
    while (read_ < w.bytes) {
      const uint64_t n = std::min(w.bytes - read_, Bounce::kPiece);
      if (room() < n) return;
      const uint64_t first = Bounce::straight(filled_, n);
      for (uint64_t piece : {first, n - first}) {
        if (piece == 0) continue;
        copies_.start(ring_.at(filled_), heap_.base() + w.from + read_, piece);
        read_ += piece;
        filled_ += piece;
      }
      if (read_ < w.bytes) marks_.push_back({filled_, copies_.started(), 0, 0});
    }
    marks_.push_back({filled_, copies_.started(), w.id, w.bytes});
    queue_.pop_front();
    begun_ = false;
  }
}

void Outgoing::advance(uint64_t finished, Events& events) {
  for (; !marks_.empty() && marks_.front().copy <= finished; marks_.pop_front()) {
    whole_ = marks_.front().place;
    if (marks_.front().bytes) bytes_end_ = whole_;
    if (marks_.front().id) events.done(marks_.front().id);
  }
}

int Outgoing::send(int socket) {
  while (sent_ < whole_) {
    const uint64_t n = whole_ - sent_, first = Bounce::straight(sent_, n);
    iovec pieces[2] = {{ring_.at(sent_), first}, {ring_.at(sent_ + first), n - first}};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = n > first ? 2 : 1;
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN || errno == EINTR ? 0 : errno;
    sent_ += uint64_t(sent);
  }
  return 0;
}

bool Outgoing::carries_bytes() const {
  const auto bytes = [](const auto& w) { return w.bytes > 0; };
  return sent_ < bytes_end_ || std::any_of(queue_.begin(), queue_.end(), bytes) ||
         std::any_of(marks_.begin(), marks_.end(), bytes);
}

void Outgoing::drop(Events& events) {
  for (const Mark& m : marks_)
    if (m.id) events.done(m.id);
  for (const Write& w : queue_)
    if (w.id) events.done(w.id);
  marks_.clear();
  queue_.clear();
  sent_ = whole_ = filled_;
}

}  // namespace mk::rt::net
