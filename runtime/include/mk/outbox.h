// The kernel's side of a FIFO: one lane of inter_send hands commands to the proxy.
#pragma once

namespace mk {

template <class Waiter>
class Outbox {
 public:
  MK_DEVICE Outbox(Fifo* fifo, Control& control, int lane, Waiter& waiter)
      : fifo_(*fifo), control_(control), waiter_(waiter), lane_(lane), tickets_(control.tickets[lane]), taken_(load_acquire(&fifo->taken)) {}

  // Waits until the proxy has read the sources of the commands of launch `epoch` - 2, whose buffers this launch uses again.
  MK_DEVICE bool drained(uint32_t epoch) {
    const uint32_t sent = control_.sent[epoch & 1][lane_];
    if (!waiter_.at_least(&fifo_.done, sent, {Wanted::kDrained, 0, lane_})) return false;
    signal(&control_.drained[lane_], epoch);
    return true;
  }

  // Hands over one command, when there is room; false once anybody has given up.
  MK_DEVICE bool push(uint64_t from, uint64_t to, uint64_t bytes, uint32_t slot, uint32_t words, uint64_t value, int node) {
    if (tickets_ - taken_ >= kFifoSlots) {
      if (!waiter_.at_least(&fifo_.taken, tickets_ + 1 - kFifoSlots, {Wanted::kFifo, 0, lane_})) return false;
      taken_ = load_acquire(&fifo_.taken);
    }
    Command& to_fill = fifo_.command[tickets_ % kFifoSlots];
    to_fill.from = from;
    to_fill.to = to;
    to_fill.bytes = bytes;
    to_fill.value = value;
    to_fill.slot = slot;
    to_fill.words = words;
    to_fill.node = uint32_t(node);
    signal(&to_fill.ticket, ++tickets_);
    return true;
  }

  // At the end of a launch: what has been pushed is remembered for the launch after next.
  MK_DEVICE void end(uint32_t epoch) {
    control_.tickets[lane_] = tickets_;
    control_.sent[epoch & 1][lane_] = tickets_;
  }

 private:
  Fifo& fifo_;
  Control& control_;
  Waiter& waiter_;
  const int lane_;
  uint32_t tickets_, taken_;
};

}  // namespace mk
