//! The ends of the frames of a TCP connection.
//!
//! Source: RFC 8489 §5 (a STUN message is a multiple of four bytes), RFC 8656 §12.5 (channel data is padded to one).

/// The length of a frame, bytes, including its first four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFrame {
    /// The message, or the channel data.
    pub body: usize,
    /// All that the stream brings of it: the body and its padding.
    pub whole: usize,
}

/// Measures a frame by its first four bytes; `None` if it is neither a STUN message nor channel data, or longer than
/// `most`.
pub fn measure(head: [u8; 4], most: usize) -> Option<StreamFrame> {
    let len = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let body = match head[0] >> 6 {
        0 => 20 + len,
        1 => 4 + len,
        _ => return None,
    };
    // A message that is not a multiple of four is malformed, and has no padding.
    let whole = if head[0] >> 6 == 1 {
        body.next_multiple_of(4)
    } else {
        body
    };
    (whole <= most).then_some(StreamFrame { body, whole })
}
