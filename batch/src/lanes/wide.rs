//! Work on a block with the widest instructions that the processor has; all give the same bits.

use env_core::Action;

use super::bytes::LANES;
use super::gains::Gains;

/// The rules of a game: its tables, and how a block of it steps. Both functions are inlined into what is compiled for the
/// processor.
pub(crate) trait Rules<const SEATS: usize> {
    /// Sixty-four states side by side.
    type Block: Send;

    /// Advances every lane; `actions` is `[lane, seat]`.
    fn step(
        &self,
        block: &mut Self::Block,
        actions: &[[Action; SEATS]; LANES],
        gains: &mut Gains<SEATS>,
    );

    /// Writes which actions may have an effect, `[lane, seat, action]`.
    fn write_masks(&self, block: &mut Self::Block, masks: &mut [u8]);
}

/// Advances a block.
#[expect(
    unsafe_code,
    reason = "what a processor can do is known only while the program runs"
)]
pub(super) fn step_wide<R: Rules<SEATS>, const SEATS: usize>(
    rules: &R,
    block: &mut R::Block,
    actions: &[[Action; SEATS]; LANES],
    gains: &mut Gains<SEATS>,
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has these instructions, as was just asked; the function is safe in all else.
        return unsafe { step_avx2(rules, block, actions, gains) };
    }
    rules.step(block, actions, gains);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn step_avx2<R: Rules<SEATS>, const SEATS: usize>(
    rules: &R,
    block: &mut R::Block,
    actions: &[[Action; SEATS]; LANES],
    gains: &mut Gains<SEATS>,
) {
    rules.step(block, actions, gains);
}

/// Writes the masks of a block.
#[expect(
    unsafe_code,
    reason = "what a processor can do is known only while the program runs"
)]
pub(super) fn write_masks<R: Rules<SEATS>, const SEATS: usize>(
    rules: &R,
    block: &mut R::Block,
    masks: &mut [u8],
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: as above.
        return unsafe { write_masks_avx2(rules, block, masks) };
    }
    rules.write_masks(block, masks);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn write_masks_avx2<R: Rules<SEATS>, const SEATS: usize>(
    rules: &R,
    block: &mut R::Block,
    masks: &mut [u8],
) {
    rules.write_masks(block, masks);
}
