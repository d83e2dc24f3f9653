// Flags and counters at system scope, the clock, and claiming.
#pragma once

namespace mk {

MK_DEVICE uint32_t load_acquire(const uint32_t* p) {
  uint32_t v;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
MK_DEVICE uint64_t load_acquire(const uint64_t* p) {
  uint64_t v;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
MK_DEVICE uint32_t load_relaxed(const uint32_t* p) {
  uint32_t v;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
// A look at a flag, several of which may be under way at once. Only after fence_looked, which follows them all, is what the
// flags announce there to be seen.
MK_DEVICE uint32_t look(const uint32_t* p) { return load_relaxed(p); }
MK_DEVICE void fence_looked() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
// Sets a flag that one thread writes at a time; whoever acquires the value sees all that this thread wrote before.
MK_DEVICE void signal(uint32_t* p, uint32_t v) { asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
MK_DEVICE void signal(uint64_t* p, uint64_t v) { asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); }
// Adds inside this device; returns the old value. Orders what comes before and after.
MK_DEVICE uint32_t add_device(uint32_t* p, uint32_t v) {
  uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
}
// True for the one caller, of all ranks, that finds the word 0.
MK_DEVICE bool claim(uint32_t* p) {
  uint32_t old;
  asm volatile("atom.acq_rel.sys.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(p) : "memory");
  return old == 0;
}
MK_DEVICE uint64_t now_ns() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}
MK_DEVICE void pause() {}

}  // namespace mk
