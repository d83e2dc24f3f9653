// mbarrier: a phase ends when the arrivals and the announced bytes are in.
#pragma once

namespace mk {

class Barrier {
 public:
  MK_DEVICE void init(int arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals)); }
  // Arrives and announces bytes that loads will bring.
  MK_DEVICE void expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  MK_DEVICE void arrive() { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory"); }
  // Waits for the end of the phase of that parity. Ends, because the other roles of the CTA never block for good.
  MK_DEVICE void wait(int parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(address()), "r"(parity) : "memory");
  }
  MK_DEVICE uint32_t address() const { return shared_address(&word_); }

 private:
  uint64_t word_;
};

}  // namespace mk
