//! A dishonest page: a page as everybody's, whose words are changed on their way out.

use protocol::control::ClientMessage;
use protocol::datagram::{Datagram, DatagramLayout};
use protocol::{Era, Seat};

use crate::rng::SeededRng;

/// The way in which a page is dishonest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// It tells others other inputs than the server.
    TellsOthersOtherwise,
    /// Its packets for others have no inputs.
    WithholdsFromOthers,
    /// Its uploads have no inputs.
    WithholdsFromServer,
    /// The digests that it says are wrong.
    WrongDigests,
    /// It claims all the time to hear nobody.
    ClaimsSilence,
}

/// The dishonest page, its way to lie, and its first lie.
#[derive(Clone, Copy, Debug)]
pub struct Liar {
    /// The person.
    pub person: usize,
    /// How.
    pub lie: Lie,
    /// The first tick of which something else is told.
    pub from: u32,
}

impl Liar {
    /// Draws one of `people` in episodes of `horizon` ticks.
    pub fn draw(rng: &mut SeededRng, people: usize, horizon: u32) -> Self {
        Self {
            person: rng.below(people as u64) as usize,
            lie: rng.pick(&[
                Lie::TellsOthersOtherwise,
                Lie::TellsOthersOtherwise,
                Lie::WithholdsFromOthers,
                Lie::WithholdsFromServer,
                Lie::WrongDigests,
                Lie::ClaimsSilence,
            ]),
            from: rng.below(u64::from(horizon / 2).max(1)) as u32,
        }
    }

    /// Changes a packet for another page.
    pub fn change_packet(self, bytes: &mut Vec<u8>, layout: DatagramLayout) {
        // Seals and measurements are left alone: a page without a proof proves nothing against itself either.
        let Ok(mut packet) = Datagram::decode(bytes, layout) else {
            return;
        };
        match self.lie {
            Lie::TellsOthersOtherwise => {
                for (tick, input) in (packet.first.0..).zip(&mut packet.inputs) {
                    if tick >= self.from && tick % 3 != 0 {
                        *input = (*input + 1) % layout.actions;
                    }
                }
            }
            Lie::WithholdsFromOthers if packet.first.0 >= self.from => packet.inputs.clear(),
            _ => return,
        }
        packet.encode(layout, bytes);
    }

    /// Changes a message for the server.
    pub fn change_message(self, message: &mut ClientMessage) {
        let ClientMessage::Upload(upload) = message else {
            return;
        };
        match self.lie {
            Lie::WithholdsFromServer => {
                let block = upload.block.as_ref();
                if block.is_some_and(|block| block.first.0 >= self.from) {
                    upload.block = None;
                }
            }
            Lie::WrongDigests => {
                for (tick, digest) in &mut upload.digests {
                    *digest ^= u64::from(tick.0 >= self.from);
                }
            }
            Lie::TellsOthersOtherwise | Lie::WithholdsFromOthers | Lie::ClaimsSilence => {}
        }
    }

    /// The claims that go out with a message, of the seats that others have.
    pub fn claims(self, message: &ClientMessage, own: Seat, seats: u8) -> Vec<ClientMessage> {
        let era: Era = match message {
            ClientMessage::Upload(upload) if self.lie == Lie::ClaimsSilence => upload.era,
            _ => return Vec::new(),
        };
        let others = (0..seats).map(Seat).filter(|seat| *seat != own);
        let claim = |seat| ClientMessage::Silent {
            era,
            seat,
            silent: true,
        };
        others.map(claim).collect()
    }
}
