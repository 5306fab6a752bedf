//! One episode on this page: a [`Peer`], and around it the module, the connections, keys, picture and words.
//!
//! [`Play::tick`] is called by the Worker, hidden page or not. Drawing follows the screen and decides nothing.
//! What belongs to an episode is decided in the crate `peer`. This module must not know of stages.

mod input;
mod report;
mod show;

use std::cell::RefCell;
use std::rc::Rc;

use env_core::{Policy, Spec, World};
use peer::recorder::Recorder;
use peer::{Effect, Now, Peer, Status};
use policy::Partners;
use protocol::control::{Plan, ServerMessage};
use protocol::{Controller, Era, Life, Tick};

use crate::episode::controls::Layout;
use crate::episode::keys::Keys;
use crate::episode::module::Module;
use crate::episode::partners::Companions;
use crate::episode::screen::Screen;
use crate::episode::view::View;
use crate::messages;
use crate::net::peers::{self, News, Peers};
use crate::net::server_socket::Socket;
use crate::shell::dom;
use crate::shell::inbox::Inbox;

/// An episode.
pub(crate) struct Play {
    inbox: Inbox,
    peer: Peer<Module>,
    /// None in a browser without WebRTC.
    peers: Option<Peers>,
    companions: Companions,
    /// The page.
    pub(crate) screen: Screen,
    keys: Keys,
    spec: Option<Spec>,
    view: Option<View>,
    /// What the picture shows: whether a turn of the person answers it, ticks that were simulated, and rollbacks. None
    /// if it must be made again.
    pictured: Option<(bool, Tick, u64)>,
    is_playable: bool,
    /// How often this page took its seat back.
    returns: u32,
    /// Until when the person is told to be back, page clock, microseconds.
    back_until_us: u64,
    is_back: bool,
    /// Whether the person has read the outcome.
    is_left: bool,
    advisor: Option<Box<dyn Policy>>,
    advised: Option<(Tick, Tick)>,
}

impl Play {
    /// Begins to link up and shows the page; the module is given later.
    pub(crate) fn new(inbox: Inbox, plan: Plan, now: Now) -> Self {
        let mut play = Self {
            peers: connections(&inbox, &plan),
            companions: Companions::new(&plan),
            screen: Screen::new(&inbox, &partner_name(&plan), plan.chat),
            keys: Keys::default(),
            spec: None,
            view: None,
            pictured: None,
            is_playable: false,
            returns: 0,
            back_until_us: 0,
            is_back: !plan.running,
            is_left: false,
            advisor: None,
            advised: None,
            inbox,
            peer: Peer::new(plan, now),
        };
        play.peer.handle_hidden(now, dom::document().hidden());
        play
    }

    /// The same episode takes this page in again: a new part in it, under the picture that is there.
    pub(crate) fn begin_again(&mut self, plan: Plan, now: Now) {
        self.keys.release_all();
        self.peers = connections(&self.inbox, &plan);
        self.companions = Companions::new(&plan);
        self.peer = Peer::new(plan, now);
        self.peer.handle_hidden(now, dom::document().hidden());
        (self.pictured, self.is_back) = (None, false);
        (self.advisor, self.advised) = (None, None);
    }

    /// The episode.
    pub(crate) fn era(&self) -> Era {
        self.peer.plan().era
    }

    /// What the page says of the episode when it comes back to the server.
    pub(crate) fn playing(&self) -> Option<(Era, Life)> {
        self.peer.playing()
    }

    /// What must not be lost.
    pub(crate) fn recorder(&self) -> Rc<RefCell<Recorder>> {
        self.peer.recorder()
    }

    /// The tick that is shown.
    pub(crate) fn tick_shown(&self) -> Option<Tick> {
        self.peer.session().map(|session| session.current())
    }

    /// Whether the server's word on the end is there.
    pub(crate) fn is_judged(&self, now: Now) -> bool {
        matches!(self.peer.status(now), Status::Over(_))
    }

    /// The module is there: shows the first state. `layout` is that of the person's keyboard.
    ///
    /// # Errors
    /// The browser's error, if there is no picture to be had.
    pub(crate) fn loaded(
        &mut self,
        now: Now,
        module: Module,
        partners: Partners,
        layout: &Layout,
    ) -> Result<(), String> {
        if self.view.is_none() {
            let (spec, plan) = (module.spec().clone(), self.peer.plan());
            self.keys = Keys::new(&spec, &plan.keys, plan.rules.press);
            self.screen
                .explain(&self.inbox, &spec, &self.keys, layout, plan.touch);
            let (canvas, seat) = (self.screen.canvas.clone(), self.peer.plan().seat.index());
            let view = View::new(canvas, &module.facts().sprites, seat);
            self.view = Some(view.map_err(|error| format!("{error:?}"))?);
            self.spec = Some(spec);
        }
        self.peer.handle_partners(partners);
        self.peer.handle_world(now, module);
        Ok(())
    }

    /// A message of the server about this episode.
    pub(crate) fn message(&mut self, now: Now, message: ServerMessage) {
        if let ServerMessage::Signal { from, data } = &message {
            if let Some(peers) = &mut self.peers {
                peers.signal(*from, data);
            }
            return;
        }
        self.companions.hear(now.page_us, &message);
        self.peer.handle_message(now, message);
    }

    /// The server has let this page in again, or the connection to it is gone; the match goes on.
    pub(crate) fn connection(&mut self, now: Now, open: bool) {
        self.peer.handle_connection(now, open);
    }

    /// The page may be about to go: sends what is confirmed.
    pub(crate) fn flush(&mut self, now: Now) {
        self.peer.flush(now);
    }

    /// The seat is somebody else's, or another page's of the same person: tells what was seen until now.
    pub(crate) fn lose(&mut self, now: Now) {
        self.peer.lose(now);
    }

    /// The person has read the outcome; the next stage is on its way.
    pub(crate) fn leave(&mut self) {
        self.is_left = true;
    }

    /// One turn of the clockwork.
    pub(crate) fn tick(&mut self, now: Now) {
        while let Some((seat, news)) = self.peers.as_mut().and_then(Peers::poll) {
            match news {
                News::Opened => self.peer.handle_channel(now, seat, true),
                News::Closed => self.peer.handle_channel(now, seat, false),
                News::Datagram(bytes) => self.peer.handle_datagram(now, seat, &bytes),
            }
        }
        self.peer.handle_timeout(now);
    }

    /// Does what the peer asks for, and shows how things stand.
    pub(crate) fn settle(&mut self, now: Now, socket: &Socket) {
        while let Some(effect) = self.peer.poll_effect() {
            match (effect, &mut self.peers) {
                (Effect::Send(message), _) => socket.send(&message),
                (Effect::Datagram { to, bytes }, Some(peers)) => peers.send(to, &bytes),
                (Effect::Connect { seat }, Some(peers)) => peers.connect(seat),
                (Effect::Disconnect { seat }, Some(peers)) => peers.close(seat),
                // It will not open: the way is through the server.
                (Effect::Connect { seat }, None) => self.peer.handle_channel(now, seat, false),
                (Effect::Datagram { .. } | Effect::Disconnect { .. }, None) => {}
            }
        }
        while let Some(signal) = self.peers.as_mut().and_then(Peers::poll_signal) {
            socket.send(&signal);
        }
        self.picture(now);
        self.show(now, socket.is_open());
    }

    /// Draws; `at_ms` is the time of the frame.
    pub(crate) fn frame(&mut self, now: Now, at_ms: f64) {
        let Some(view) = &mut self.view else { return };
        self.peer.handle_shown(now, (at_ms * 1_000.0) as u64);
        view.frame(dom::page_ms().max(at_ms));
        if view.is_complete() && !self.is_playable {
            self.is_playable = true;
            dom::mark("coplay-playable");
        }
    }
}

fn connections(inbox: &Inbox, plan: &Plan) -> Option<Peers> {
    peers::is_supported().then(|| Peers::new(inbox.clone(), plan.seat, &plan.ice, plan.relay_only))
}

/// What the partners are called; nothing if there are none.
fn partner_name(plan: &Plan) -> String {
    let seats = plan.controllers.iter().enumerate();
    let others = seats.filter(|(seat, _)| *seat != plan.seat.index());
    let name = |(_, controller): (usize, &Controller)| match controller {
        Controller::Ai { .. } if plan.disclose_ai => messages::say().partner_ai,
        _ => messages::say().partner,
    };
    others.map(name).collect::<Vec<_>>().join(", ")
}
