//! One episode on this page: connections, keys, picture and words around the [`Peer`] that the page drives.
//!
//! Drawing follows the screen and decides nothing: the crate `peer` decides what belongs to an episode. This module must
//! not know of stages.

mod input;
mod report;
mod seat;
mod show;

use client_core::{Now, Peer};
use env_core::{Policy, Spec, World};
use protocol::control::{ChatView, ClientMessage, Plan, ShownButtons};
use protocol::{EnvWay, Seat, Tick};

use crate::episode::controls::KeyboardLayout;
use crate::episode::directive_buttons::ButtonLine;
use crate::episode::gamepads::Gamepads;
use crate::episode::keys::Keys;
use crate::episode::module::LoadedWorld;
use crate::episode::partners::PartnerNotices;
use crate::episode::pointer::{AskedPress, listen_to_pointers};
use crate::episode::screen::Screen;
use crate::episode::shared_seat::SeatLine;
use crate::episode::view::View;
use crate::net::peers::{self, PeerNews, Peers};
use crate::shell::dom;
use crate::shell::gamepads::read_gamepads;
use crate::shell::inbox::Inbox;

/// The episode's peer, which the page drives.
pub(crate) type EpisodePeer = Peer<Box<dyn World>>;

/// An episode as the person sees it.
pub(crate) struct Play {
    inbox: Inbox,
    /// `None` in a browser without WebRTC.
    peers: Option<Peers>,
    /// The other people, in words.
    pub(crate) partners: PartnerNotices,
    /// The page.
    pub(crate) screen: Screen,
    keys: Keys,
    /// The line that says who plays the seat, where the person shares it.
    seat: Option<SeatLine>,
    /// The buttons that give directives to AI partners.
    directives: Vec<ButtonLine>,
    gamepads: Gamepads,
    /// Presses on the picture of a host that it has not said the meaning of.
    presses: Vec<AskedPress>,
    /// The place of a pointer on the canvas while there is no picture under it yet, CSS pixels.
    resting: Option<(i32, [f64; 2])>,
    spec: Option<Spec>,
    view: Option<View>,
    /// The part of a large environment that has arrived, of 1.
    pub(crate) arrived: Option<f64>,
    /// The state of the picture: whether a turn of the person answers it, ticks that were simulated, and rollbacks.
    /// `None` if it must be made again.
    pictured: Option<(bool, Tick, u64)>,
    /// Of the picture that was told in words last.
    described: Option<(bool, Tick, u64)>,
    is_playable: bool,
    /// The number of times this page took its seat back.
    returns: u32,
    /// Until then, the person sees that they are back, page clock, microseconds.
    back_until_us: u64,
    is_back: bool,
    /// True if the person has read the outcome.
    is_left: bool,
    advisor: Option<Box<dyn Policy>>,
    advised: Option<(Tick, Tick)>,
}

impl Play {
    /// The page of an episode, whose module comes later.
    pub(crate) fn new(inbox: Inbox, plan: &Plan) -> Self {
        let partners = PartnerNotices::new(plan);
        let screen = Screen::new(&inbox, &partners.name_everybody(), plan.chat);
        if plan.touch {
            screen.make_room_for_touch();
        }
        Self {
            // Pages of a host have nothing to send each other.
            peers: (plan.way == EnvWay::Module)
                .then(|| connections(&inbox, plan))
                .flatten(),
            partners,
            screen,
            keys: Keys::default(),
            seat: None,
            directives: Vec::new(),
            gamepads: Gamepads::default(),
            presses: Vec::new(),
            resting: None,
            spec: None,
            arrived: None,
            view: None,
            pictured: None,
            described: None,
            is_playable: false,
            returns: 0,
            back_until_us: 0,
            is_back: !plan.running,
            is_left: false,
            advisor: None,
            advised: None,
            inbox,
        }
    }

    /// The same episode takes this page in again: a new part in it, under the picture that is there.
    pub(crate) fn begin_again(&mut self, plan: &Plan) {
        self.keys.release_all();
        self.show_held();
        self.begin_seat(plan);
        self.presses.clear();
        self.peers = (plan.way == EnvWay::Module)
            .then(|| connections(&self.inbox, plan))
            .flatten();
        self.partners = PartnerNotices::new(plan);
        (self.pictured, self.is_back) = (None, false);
        (self.advisor, self.advised) = (None, None);
    }

    /// Takes the places of people and their names from the chat beside the episode.
    pub(crate) fn handle_chat(&mut self, view: &ChatView) {
        if self.partners.handle_chat(view) {
            self.screen.show_partner(&self.partners.name_everybody());
        }
    }

    /// Shows the buttons for an AI partner; `pressed` is the one whose press was not answered yet.
    pub(crate) fn show_buttons(&mut self, shown: &ShownButtons, pressed: Option<u8>) {
        let mut lines = self.directives.iter();
        if let Some(line) = lines.find(|line| line.is_of(shown.seat)) {
            return line.show(shown, pressed);
        }
        let line = ButtonLine::new(&self.inbox, &self.screen.canvas, shown);
        line.show(shown, pressed);
        self.screen.add_line(&line.element);
        self.directives.push(line);
    }

    /// Prepares keys and picture for the loaded world; `layout` is that of the person's keyboard.
    ///
    /// # Errors
    /// The browser's error, if there is no picture to be had.
    pub(crate) fn handle_world(
        &mut self,
        plan: &Plan,
        loaded: &LoadedWorld,
        layout: &KeyboardLayout,
    ) -> Result<(), String> {
        if self.view.is_none() {
            let spec = loaded.world.spec().clone();
            self.keys = Keys::new(&spec, &plan.keys, plan.rules.press);
            self.prepare_seat(plan, &spec, layout);
            self.screen
                .explain_keys(&self.inbox, &spec, &self.keys, layout, plan.touch);
            if spec.pointer {
                listen_to_pointers(&self.inbox, &self.screen.canvas);
            }
            let view = View::new(
                self.screen.canvas.clone(),
                &loaded.sprites,
                plan.seat.index(),
            );
            self.view = Some(view.map_err(|error| format!("{error:?}"))?);
            self.spec = Some(spec);
        }
        Ok(())
    }

    /// The person has read the outcome; the next stage is on its way.
    pub(crate) fn handle_outcome_read(&mut self) {
        self.is_left = true;
    }

    /// The next news of the connections to the other people.
    pub(crate) fn poll_news(&mut self) -> Option<(Seat, PeerNews)> {
        self.peers.as_mut()?.poll_news()
    }

    /// The next signal to another person's page.
    pub(crate) fn poll_signal(&mut self) -> Option<ClientMessage> {
        self.peers.as_mut()?.poll_signal()
    }

    /// The connections to the other people; `None` in a browser without WebRTC.
    pub(crate) fn peers(&mut self) -> Option<&mut Peers> {
        self.peers.as_mut()
    }

    /// Asks for the gamepads, and draws; `at_ms` is the time of the frame.
    pub(crate) fn draw_frame(&mut self, peer: &mut EpisodePeer, now: Now, at_ms: f64) {
        for (code, is_down) in self.gamepads.update(read_gamepads()) {
            self.handle_key(peer, now, (code, is_down, now.page_us as f64 / 1_000.0));
        }
        let Some(view) = &mut self.view else { return };
        peer.handle_shown(now, (at_ms * 1_000.0) as u64);
        view.draw_frame(dom::page_ms().max(at_ms));
        peer.set_picture_size(view.size());
        if view.is_complete() && !self.is_playable {
            self.is_playable = true;
            dom::set_mark("coplay-playable");
        }
    }
}

fn connections(inbox: &Inbox, plan: &Plan) -> Option<Peers> {
    peers::is_supported().then(|| Peers::new(inbox.clone(), plan.seat, &plan.ice, plan.relay_only))
}
