#include <sys/socket.h>
#include <sys/uio.h>

#include "tcp_stream.h"

namespace mk::rt::net {

Incoming::Got Incoming::receive(int socket, int& error) {
  error = 0;
  if (free_ == filled_ && marks_.empty()) free_ = parsed_ = filled_ = 0;  // memory that is warm
  const uint64_t room = Bounce::kSize - (filled_ - free_);
  if (room == 0) return Got::kNothing;
  const uint64_t first = Bounce::straight(filled_, room);
  iovec pieces[2] = {{ring_.at(filled_), first}, {ring_.at(filled_ + first), room - first}};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = room > first ? 2 : 1;
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Got::kNothing;
  if (got <= 0) {
    error = got < 0 ? errno : 0;
    return Got::kEnd;
  }
  filled_ += uint64_t(got);
  while (parsed_ < filled_) {
    const uint64_t n = Bounce::straight(parsed_, filled_ - parsed_);
    parse(ring_.at(parsed_), n);
  }
  marks_.push_back({parsed_, copies_.started(), 0, 0, 0});
  return Got::kBytes;
}

// Takes n bytes that lie in one piece at place parsed_.
void Incoming::parse(const std::byte* bytes, uint64_t n) {
  const uint64_t end = parsed_ + n;
  while (parsed_ < end) {
    if (goodbye_) fail(MK_EABORTED, peer_ + " sent more after its goodbye");
    if (left_ > 0) {
      const uint64_t piece = std::min({left_, end - parsed_, Bounce::kPiece});
      copies_.start(heap_.base() + frame_.to + (frame_.bytes - left_), bytes, piece);
      left_ -= piece;
      parsed_ += piece;
      bytes += piece;
    } else {
      const uint64_t piece = std::min(sizeof frame_ - have_, end - parsed_);
      std::memcpy(reinterpret_cast<std::byte*>(&frame_) + have_, bytes, piece);
      have_ += piece;
      parsed_ += piece;
      bytes += piece;
      if (have_ < sizeof frame_) continue;
      check();
      left_ = frame_.bytes;
    }
    if (left_ > 0) continue;
    if (!goodbye_) arrive();
    have_ = 0;
  }
}

void Incoming::check() {
  const Frame& f = frame_;
  if (f.kind == Frame::kGoodbye && f.bytes == 0) {
    goodbye_ = true;
    return;
  }
  if (f.kind != Frame::kWrite) fail(MK_EABORTED, peer_ + " sent what is not a write");
  if (f.bytes > heap_.bytes() || f.to > heap_.bytes() - f.bytes)
    fail(MK_EABORTED, say("%s sent a write of %lu bytes to offset %lu, outside this rank's heap of %lu bytes",
                          peer_.c_str(), f.bytes, f.to, heap_.bytes()));
  if (f.words > inbox_words_ || f.slot > inbox_words_ - f.words)
    fail(MK_EABORTED, say("%s sent %u words from %u on, outside this rank's inbox of %u words", peer_.c_str(), f.words,
                          f.slot, inbox_words_));
}

void Incoming::advance(uint64_t finished, Events& events) {
  for (; !marks_.empty() && marks_.front().copy <= finished; marks_.pop_front()) {
    const Mark& m = marks_.front();
    free_ = m.place;
    if (m.words) events.arrived(m.slot, m.words, m.value);
  }
}

}  // namespace mk::rt::net
