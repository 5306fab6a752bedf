//! The buttons of a running episode by which people tell AI partners what to do, and the presses under way. It must not
//! know of sessions, connections and logs.

use std::collections::VecDeque;

use protocol::Seat;
use study::stage::DirectiveButtons;

use super::rows::ModelCallRow;
use super::session::SessionId;

/// A press whose directive the archive has.
#[derive(Clone, Debug)]
pub(super) struct Press {
    /// Its row so far.
    pub row: ModelCallRow,
    /// The person.
    pub who: SessionId,
    /// The button, among those of the AI partner.
    pub button: u8,
}

/// The buttons of an episode.
#[derive(Clone, Debug, Default)]
pub(super) struct ButtonPlay {
    /// The AI partners that have some: the seat, the name in the study file, and the buttons.
    seats: Vec<(Seat, String, DirectiveButtons)>,
    /// The number of the next press, if there is no language model that also counts.
    pub next: u32,
    /// The directives that the archive has, in their order; `None` for one of a language model.
    sent: VecDeque<Option<Press>>,
}

impl ButtonPlay {
    /// Buttons that nobody has pressed.
    pub(super) fn new(seats: Vec<(Seat, String, DirectiveButtons)>) -> Self {
        Self {
            seats,
            ..Self::default()
        }
    }

    /// The seats of AI partners that have buttons.
    pub(super) fn list_seats(&self) -> Vec<Seat> {
        self.seats.iter().map(|(seat, ..)| *seat).collect()
    }

    /// The AI partner of a seat: its name in the study file, and its buttons.
    pub(super) fn find(&self, seat: Seat) -> Option<(&str, &DirectiveButtons)> {
        let found = self.seats.iter().find(|(of, ..)| *of == seat);
        found.map(|(_, name, buttons)| (name.as_str(), buttons))
    }

    /// The archive gets the directive of a language model.
    pub(super) fn note_model_directive(&mut self) {
        self.sent.push_back(None);
    }

    /// The archive gets the directive of a press.
    pub(super) fn note_press(&mut self, press: Press) {
        self.sent.push_back(Some(press));
    }

    /// Returns the press that the next directive came from, once the archive has handled it; `None` if it came from a
    /// language model.
    pub(super) fn take_directive(&mut self) -> Option<Press> {
        self.sent.pop_front().flatten()
    }
}
