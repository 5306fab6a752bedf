//! A dishonest page: a page as everybody's, whose words are changed on their way out.

use protocol::chain::SigningKey;
use protocol::control::ClientMessage;
use protocol::datagram::{Datagram, DatagramLayout};
use protocol::seal::{Seal, Transcript};
use protocol::{Era, Seat, Tick};

use crate::rng::SeededRng;

/// About how long a page that comes and goes stays, ticks.
const STAY_TICKS: u32 = 7;

/// The length of a pause, ticks.
const PAUSE_TICKS: u32 = 12;

/// The way in which a page is dishonest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// It sends others other inputs than the server.
    TellsOthersOtherwise,
    /// Its packets for others have no inputs.
    WithholdsFromOthers,
    /// Its uploads have no inputs.
    WithholdsFromServer,
    /// It sends wrong digests.
    WrongDigests,
    /// It claims all the time to hear nobody.
    ClaimsSilence,
    /// It sends others other inputs than the server, and gives its seat up and takes it back again and again.
    ComesAndGoes,
    /// It says nothing for a while, seals inputs that it sent to nobody, and then sends others other inputs than the
    /// server.
    PausesAndSeals,
}

/// The dishonest page, its way to lie, and its first lie.
#[derive(Clone, Copy, Debug)]
pub struct Liar {
    /// The person.
    pub person: usize,
    /// The way to lie.
    pub lie: Lie,
    /// The first tick with a false input.
    pub from: u32,
}

impl Liar {
    /// Draws one of `people` in episodes of `horizon` ticks.
    pub fn draw(rng: &mut SeededRng, people: usize, horizon: u32) -> Self {
        Self {
            person: rng.draw_below(people as u64) as usize,
            lie: rng.draw_item(&[
                Lie::TellsOthersOtherwise,
                Lie::TellsOthersOtherwise,
                Lie::WithholdsFromOthers,
                Lie::WithholdsFromServer,
                Lie::WrongDigests,
                Lie::ClaimsSilence,
                Lie::ComesAndGoes,
                Lie::ComesAndGoes,
                Lie::PausesAndSeals,
                Lie::PausesAndSeals,
            ]),
            from: rng.draw_below(u64::from(horizon / 2).max(1)) as u32,
        }
    }

    /// Changes a packet for another page, of a page with this key in an episode.
    pub fn change_packet(
        self,
        bytes: &mut Vec<u8>,
        layout: DatagramLayout,
        episode: &str,
        key: &SigningKey,
    ) {
        if let Some(seal) = Seal::decode(bytes) {
            return self.change_seal(bytes, seal, episode, key);
        }
        // Measurements are left alone.
        let Ok(mut packet) = Datagram::decode(bytes, layout) else {
            return;
        };
        match self.lie {
            Lie::PausesAndSeals if self.pauses_at(packet.first) => packet.inputs.clear(),
            Lie::TellsOthersOtherwise | Lie::ComesAndGoes | Lie::PausesAndSeals => {
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

    /// Seals inputs that were sent to nobody. The seals of other liars are not changed: they are over the inputs that
    /// the server got, and prove nothing against anybody.
    fn change_seal(self, bytes: &mut Vec<u8>, mut seal: Seal, episode: &str, key: &SigningKey) {
        if self.lie == Lie::PausesAndSeals && seal.through.0 > self.from {
            let mut transcript = Transcript::new(episode, seal.from, seal.life, Tick(0));
            transcript.extend((0..seal.through.0).map(|tick| tick as u16 % 2));
            seal.signature = transcript.sign(key);
            *bytes = seal.encode().to_vec();
        }
    }

    /// True if a page that pauses sends nothing that begins at a tick.
    fn pauses_at(self, first: Tick) -> bool {
        (self.from..self.from + PAUSE_TICKS).contains(&first.0)
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
            Lie::PausesAndSeals => {
                let block = upload.block.as_ref();
                if block.is_some_and(|block| self.pauses_at(block.first)) {
                    upload.block = None;
                }
            }
            Lie::WrongDigests => {
                for (tick, digest) in &mut upload.digests {
                    *digest ^= u64::from(tick.0 >= self.from);
                }
            }
            Lie::TellsOthersOtherwise
            | Lie::WithholdsFromOthers
            | Lie::ClaimsSilence
            | Lie::ComesAndGoes => {}
        }
    }

    /// The claims that go out with a message, of the page and of the seats that others have.
    pub fn list_claims(self, message: &ClientMessage, own: Seat, seats: u8) -> Vec<ClientMessage> {
        let ClientMessage::Upload(upload) = message else {
            return Vec::new();
        };
        let era: Era = upload.era;
        match self.lie {
            Lie::ClaimsSilence => {
                let others = (0..seats).map(Seat).filter(|seat| *seat != own);
                let claim = |seat| ClientMessage::Silent {
                    era,
                    seat,
                    silent: true,
                };
                others.map(claim).collect()
            }
            Lie::ComesAndGoes => {
                // It has been there long enough to have lied.
                let inputs = upload.block.iter().flat_map(|block| {
                    let end = block.first.0 + block.inputs.len() as u32;
                    block.first.0..end
                });
                let mut inputs = inputs.filter(|tick| *tick >= self.from);
                let goes = inputs.any(|tick| tick % STAY_TICKS == 0);
                Vec::from_iter(goes.then_some(ClientMessage::TakeBack { era }))
            }
            _ => Vec::new(),
        }
    }
}
