//! The buttons by which the person gives directives to AI partners.

use peer::{Peer, World};
use protocol::Seat;
use protocol::control::{ClientMessage, ShownButtons};

use super::Page;
use crate::effects::PageEvent;

/// The buttons of the last episode that has some, and the press that was not answered yet.
#[derive(Debug, Default)]
pub(super) struct Buttons {
    shown: Vec<ShownButtons>,
    pressed: Option<(Seat, u8)>,
}

impl<W: World> Page<W> {
    /// The buttons of the episode on the page, one entry for each AI partner that has some.
    pub fn buttons(&self) -> impl Iterator<Item = &ShownButtons> {
        let own = self.peer.as_ref().map(|peer| peer.plan().era);
        let shown = self.buttons.shown.iter();
        shown.filter(move |of| Some(of.era) == own)
    }

    /// The button whose press the server has not answered yet, with the seat of its AI partner.
    pub fn pressed_button(&self) -> Option<(Seat, u8)> {
        self.buttons.pressed
    }

    /// Handles a press of a button; returns false if the server cannot be reached now.
    pub fn handle_button(&mut self, seat: Seat, button: u8) -> bool {
        let is_it = |of: &&ShownButtons| of.seat == seat && usize::from(button) < of.labels.len();
        let era = self.buttons().find(is_it).map(|of| of.era);
        let is_over = self.is_judged() || !self.is_welcomed();
        let Some(era) = era.filter(|_| !is_over && self.buttons.pressed.is_none()) else {
            return false;
        };
        let tick = self.peer.as_ref().and_then(Peer::shown_tick);
        self.buttons.pressed = Some((seat, button));
        self.send(ClientMessage::Direct {
            era,
            seat,
            button,
            tick,
        });
        self.events.push_back(PageEvent::ButtonsChanged);
        true
    }

    /// Takes buttons from the server. Those of an earlier episode are not needed any more.
    pub(super) fn handle_buttons(&mut self, told: ShownButtons) {
        let buttons = &mut self.buttons;
        buttons
            .shown
            .retain(|of| of.era == told.era && of.seat != told.seat);
        buttons.pressed.take_if(|(seat, _)| *seat == told.seat);
        buttons.shown.push(told);
        buttons.shown.sort_by_key(|of| of.seat);
        self.events.push_back(PageEvent::ButtonsChanged);
    }

    /// A press that was under way may be lost with the connection: it can be made again.
    pub(super) fn forget_press(&mut self) {
        if self.buttons.pressed.take().is_some() {
            self.events.push_back(PageEvent::ButtonsChanged);
        }
    }
}
