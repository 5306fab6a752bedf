//! Every packet that is put on the wire, in a file that Wireshark reads.
//!
//! Source: the pcap savefile format, version 2.4, <https://www.tcpdump.org/manpages/pcap-savefile.5.html>.

use std::io::{self, Write};

/// Packets begin with their IP header: LINKTYPE_RAW.
const RAW: u32 = 101;
/// The longest packet.
const LONGEST: u32 = 65_535;

/// A file with packets, whole as far as it was flushed.
pub(crate) struct Capture<W: Write>(W);

impl<W: Write> Capture<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn begin(mut out: W) -> io::Result<Self> {
        // Microseconds, version 2.4, and two fields that are always 0.
        for word in [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, LONGEST, RAW] {
            out.write_all(&u32::to_le_bytes(word))?;
        }
        Ok(Self(out))
    }

    /// Adds a packet that was sent at a time, microseconds.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn add(&mut self, now_us: u64, packet: &[u8]) -> io::Result<()> {
        let len = packet.len() as u32;
        let (s, us) = ((now_us / 1_000_000) as u32, (now_us % 1_000_000) as u32);
        for word in [s, us, len, len] {
            self.0.write_all(&word.to_le_bytes())?;
        }
        self.0.write_all(packet)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_header_and_packets_with_their_time() {
        let mut bytes = Vec::new();
        let mut capture = Capture::begin(&mut bytes).unwrap();
        capture.add(2_000_003, &[0x45, 9]).unwrap();
        capture.finish().unwrap();
        assert_eq!(bytes[..8], [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]);
        assert_eq!(bytes[20..24], [101, 0, 0, 0]);
        let record = [2, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0x45, 9];
        assert_eq!(bytes[24..], record);
    }
}
