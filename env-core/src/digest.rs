//! The digest of a value: FNV-1a, 64 bits, over its canonical (postcard) bytes, computed without writing them.
//!
//! It finds differences between honest machines; it is no defence against a forger.

use postcard::ser_flavors::Flavor;
use serde::Serialize;

const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Hasher of FNV-1a, 64 bits.
///
/// Source: Fowler, Noll and Vo; RFC 9923.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv1a(u64);

impl Fnv1a {
    /// The hasher that has seen nothing.
    pub const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// The hasher that has seen these bytes too.
    #[inline]
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let mut hash = self.0;
        // A plain loop: recordings are hashed in debug builds too, where a closure a byte is slow.
        for &byte in bytes {
            hash = (hash ^ byte as u64).wrapping_mul(PRIME);
        }
        Self(hash)
    }

    /// The hash of the bytes so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

impl Flavor for Fnv1a {
    type Output = u64;

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        *self = self.with(&[byte]);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        *self = self.with(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<u64> {
        Ok(self.0)
    }
}

/// The digest of a value: equal values have equal digests on every machine.
///
/// # Panics
/// If the value's `Serialize` refuses, which plain data never does.
pub fn digest<T: Serialize + ?Sized>(value: &T) -> u64 {
    postcard::serialize_with_flavor(value, Fnv1a::EMPTY)
        .expect("plain data serialises, and hashing cannot fail")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_vectors() {
        assert_eq!(Fnv1a::EMPTY.with(b"").value(), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Fnv1a::EMPTY.with(b"a").value(), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Fnv1a::EMPTY.with(b"foobar").value(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn is_the_hash_of_the_canonical_bytes() {
        let value = (7_u8, 300_u32, -5_i64, [1_u16, 2], "text", Some(1.5_f32));
        let bytes = postcard::to_allocvec(&value).expect("plain data");
        assert_eq!(digest(&value), Fnv1a::EMPTY.with(&bytes).value());
    }
}
