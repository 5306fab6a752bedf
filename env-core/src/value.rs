//! The two forms of an observation: `f32`, and a byte a value.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::AddAssign;

/// A value of an observation: `f32`, or a whole number in a byte.
pub trait Value: AddAssign + Copy + Default + 'static {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// A whole number from -128 to 127.
    fn whole(value: i32) -> Self;
    /// Any number; for the compact form its whole part.
    fn number(value: f32) -> Self;
    /// The values of a list in this form.
    fn of(forms: &Forms) -> &[Self];
    /// Lets something write `f32`.
    fn floats(out: &mut [Self], write: impl FnOnce(&mut [f32]));

    /// One for yes, zero for no.
    #[inline]
    fn flag(yes: bool) -> Self {
        Self::whole(i32::from(yes))
    }
}

impl Value for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    #[inline]
    fn whole(value: i32) -> Self {
        value as f32
    }
    #[inline]
    fn number(value: f32) -> Self {
        value
    }
    #[inline]
    fn of(forms: &Forms) -> &[Self] {
        &forms.wide
    }
    fn floats(out: &mut [Self], write: impl FnOnce(&mut [f32])) {
        write(out);
    }
}

impl Value for i8 {
    const ZERO: Self = 0;
    const ONE: Self = 1;
    #[inline]
    fn whole(value: i32) -> Self {
        value as i8
    }
    #[inline]
    fn number(value: f32) -> Self {
        value as i8
    }
    #[inline]
    fn of(forms: &Forms) -> &[Self] {
        &forms.compact
    }
    fn floats(out: &mut [Self], write: impl FnOnce(&mut [f32])) {
        let mut values = vec![0.0; out.len()];
        write(&mut values);
        for (out, value) in out.iter_mut().zip(values) {
            *out = value as i8;
        }
    }
}

/// Values in both forms.
#[derive(Clone, Debug, Default)]
pub struct Forms {
    wide: Vec<f32>,
    compact: Vec<i8>,
}

impl Forms {
    /// Whole numbers in both forms.
    pub(crate) fn new(compact: Vec<i8>) -> Self {
        Self {
            wide: compact.iter().copied().map(f32::from).collect(),
            compact,
        }
    }

    /// Any numbers; those that no byte holds are for observations without a compact form.
    pub fn of_floats(wide: Vec<f32>) -> Self {
        Self {
            compact: wide.iter().map(|&value| value as i8).collect(),
            wide,
        }
    }
}
