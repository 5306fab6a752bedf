//! Fuzz targets: each takes arbitrary bytes and panics if a law is broken.
//!
//! The same functions run under a fuzzing engine (`fuzz_targets/`, see `README.md`), and in the tests over
//! committed corpora and seeded mutations of them.

#![forbid(unsafe_code)]

mod arbiter;
mod host;
mod input;
mod memory;
mod mutate;
mod peer;
mod seeds;
mod session;
mod state;
mod survey;
mod turn;

use protocol::control::{self, ClientMessage, ServerMessage};
use protocol::datagram::{Datagram, DatagramLayout};
use protocol::{DecodeError, log, seen as seen_log, signal as signals};

pub use self::survey::{answers, form};
pub use arbiter::arbiter;
pub use host::host;
pub use mutate::mutate;
pub use peer::peer;
pub use seeds::seeds;
pub use session::session;
pub use state::state;
pub use turn::turn;

/// A target: bytes in, panic if a law is broken.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also that of its folder in `corpus/`.
pub const TARGETS: [(&str, Target); 15] = [
    ("answers", answers),
    ("arbiter", arbiter),
    ("control_client", control_client),
    ("control_server", control_server),
    ("datagram", datagram),
    ("form", form),
    ("host", host),
    ("log", log),
    ("peer", peer),
    ("records", records),
    ("seen", seen),
    ("session", session),
    ("signal", signal),
    ("state", state),
    ("turn", turn),
];

/// A page's message is refused, or comes back when it is encoded again.
pub fn control_client(bytes: &[u8]) {
    if let Ok(message) = control::decode::<ClientMessage>(bytes) {
        assert_eq!(control::decode(&control::encode(&message)), Ok(message));
    }
}

/// A server's message is refused, or comes back when it is encoded again.
pub fn control_server(bytes: &[u8]) {
    if let Ok(message) = control::decode::<ServerMessage>(bytes) {
        assert_eq!(control::decode(&control::encode(&message)), Ok(message));
    }
}

/// Another page's signal is refused, or comes back when it is encoded again.
pub fn signal(bytes: &[u8]) {
    let Ok(signal) = str::from_utf8(bytes).map(signals::decode) else {
        return;
    };
    if let Ok(signal) = signal {
        match signals::decode(&signals::encode(&signal)) {
            // JSON has shorter ways to say the same.
            Err(DecodeError::TooLong { .. }) => {}
            again => assert_eq!(again, Ok(signal)),
        }
    }
}

/// A datagram is refused, or is the one encoding of what it says. The first two bytes choose the layout.
pub fn datagram(bytes: &[u8]) {
    let [seats, actions, packet @ ..] = bytes else {
        return;
    };
    let layout = DatagramLayout {
        seats: seats % 16 + 1,
        actions: u16::from(*actions) + 1,
    };
    if let Ok(datagram) = Datagram::decode(packet, layout) {
        let mut again = Vec::new();
        datagram.encode(layout, &mut again);
        assert_eq!(again, packet, "{datagram:?}");
    }
}

/// A chunk of frames is refused, or is the one encoding of what it says. The first byte chooses the number of seats.
pub fn seen(bytes: &[u8]) {
    let Some((&seats, chunk)) = bytes.split_first() else {
        return;
    };
    let seats = usize::from(seats % 17);
    if let Ok(frames) = seen_log::decode(chunk, seats) {
        let mut again = Vec::new();
        seen_log::encode(&frames, seats, &mut again);
        assert_eq!(again, chunk, "{frames:?}");
    }
}

/// A log is refused, or is written again as it was read, whatever is in its frames: the checksums are right,
/// which no engine guesses. The bodies come with their lengths in two bytes before them, the header first.
pub fn records(bytes: &[u8]) {
    let (mut whole, mut rest) = (log::MAGIC.to_vec(), bytes);
    let mut number = 0_u32;
    while let Some((len, after)) = rest.split_first_chunk() {
        let (body, after) = after.split_at(after.len().min(u16::from_le_bytes(*len).into()));
        let head = [(body.len() as u32).to_le_bytes(), number.to_le_bytes()].concat();
        let sum = crc32fast::hash(&[&head, body].concat());
        whole.extend([&head, &sum.to_le_bytes()[..], body].concat());
        number += 1;
        rest = after;
    }
    log(&whole);
}

/// A log is refused, or is written again as it was read; its torn tail changes nothing of it.
pub fn log(bytes: &[u8]) {
    let Ok(log) = log::read_log(bytes) else {
        return;
    };
    assert_eq!(log.torn, log.valid_len < bytes.len());
    assert_eq!(log.rows().len(), log.through.0 as usize * log.count_seats());
    let whole = log::Log {
        torn: false,
        ..log.clone()
    };
    assert_eq!(log::read_log(&bytes[..log.valid_len]), Ok(whole.clone()));
    let begun = log::LogWriter::begin(&log.header);
    let (mut writer, mut again) = begun.expect("what was read fits");
    for record in &log.records {
        writer
            .append(record, &mut again)
            .expect("what was read fits");
    }
    let (valid_len, version) = (again.len(), protocol::VERSION);
    assert_eq!(
        log::read_log(&again),
        Ok(log::Log {
            valid_len,
            version,
            ..whole
        }),
        "a longer encoding may say the same, but not more"
    );
}
