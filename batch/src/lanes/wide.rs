//! Work with the widest instructions that the processor has; all give the same bits.

/// Work on a block, inlined into what is compiled for the processor.
pub(super) trait Work {
    fn run(self);
}

/// Does some work with the widest instructions.
#[expect(
    unsafe_code,
    reason = "what a processor can do is known only while the program runs"
)]
pub(super) fn run_wide(work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has these instructions, as was just asked; the function is safe in all else.
        return unsafe { run_avx2(work) };
    }
    work.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2(work: impl Work) {
    work.run();
}
