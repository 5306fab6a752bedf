//! The episode on the page: its module, its connections to other people, and its picture.

use client_core::{Now, PageEffect, Partners, Peer};
use protocol::rules::SharedSeats;
use protocol::{EnvWay, Era};

use super::App;
use super::stages::Card;
use crate::episode::module::{self, LoadedWorld};
use crate::episode::play::{EpisodePeer, Play};
use crate::episode::sound;
use crate::messages;
use crate::net::peers::PeerNews;
use crate::shell::inbox::Input;
use crate::shell::{dom, panic_handler};

impl App {
    /// Does something with the episode; `None` if there is none.
    pub(super) fn with_play<T>(
        &mut self,
        now_us: u64,
        action: impl FnOnce(&mut Play, &mut EpisodePeer, Now) -> T,
    ) -> Option<T> {
        let play = self.play.as_mut()?;
        self.page
            .with_peer(now_us, |peer, now| action(play, peer, now))
    }

    /// True if a key belongs to a world now, rather than to the page.
    pub(crate) fn owns_key(&self, code: &str) -> bool {
        let play = self.play.as_ref().filter(|_| !self.page.is_judged());
        play.is_some_and(|play| play.has_key(code))
    }

    /// Shows an episode that begins, or takes this page in again.
    pub(super) fn begin_episode(&mut self, is_return: bool) {
        let Some(peer) = self.page.peer() else { return };
        let recorder = peer.recorder();
        panic_handler::keep_upload(move || {
            let mut recorder = recorder.try_lock()?;
            recorder.close_chunk();
            recorder.upload()
        });
        if let Some(play) = self.play.as_mut().filter(|_| is_return) {
            return play.begin_again(peer.plan());
        }
        let play = Play::new(self.inbox.clone(), peer.plan());
        if matches!(self.card, Card::Lobby(_) | Card::Regroup(_)) {
            sound::play_match();
        }
        self.card = Card::Plain;
        if dom::document().hidden() {
            dom::document().set_title(messages::current_words().matched_title);
        }
        self.layout.turn_to(&play.screen.whole);
        self.play = Some(play);
        self.frames.request_frame();
    }

    /// Shows the buttons that give directives to AI partners, and the result of the last press.
    pub(super) fn show_buttons(&mut self) {
        let pressed = self.page.pressed_button();
        let Some(play) = self.play.as_mut() else {
            return;
        };
        for shown in self.page.buttons() {
            let pressed = pressed.filter(|(seat, _)| *seat == shown.seat);
            play.show_buttons(shown, pressed.map(|(_, button)| button));
        }
    }

    /// Keeps the report of an episode that left the page.
    pub(super) fn leave_episode(&mut self, now_us: u64, mut peer: EpisodePeer) {
        let now = self.page.now(now_us);
        if let Some(play) = self.play.take() {
            self.last_play = play.report(&mut peer, now);
        }
    }

    /// Loads the environment and the models of the episode.
    pub(super) fn load_world(&self, era: Era) {
        let Some(plan) = self.page.peer().map(Peer::plan) else {
            return;
        };
        let (way, module, params) = (plan.way, plan.module.clone(), plan.params.clone());
        let models = plan.networks.clone();
        let keeps_rewards = plan.asks_rewards() && way != EnvWay::Host;
        let shared = plan.shared.clone();
        let shared = shared.map(|shared| (shared, SharedSeats::list_seats(&plan.controllers)));
        let inbox = self.inbox.clone();
        wasm_bindgen_futures::spawn_local(async move {
            let partners = module::load_partners(&models).await;
            let loaded = match partners {
                Ok(partners) => {
                    let told = inbox.clone();
                    let told = move |part| told.send(Input::Loading(era, part));
                    let world = module::load_world(way, &module, &params, told).await;
                    let world =
                        world.and_then(|it| module::share_seats(it, &partners, shared.as_ref()));
                    world.map(|it| (module::tally_rewards(it, keeps_rewards), partners))
                }
                Err(error) => Err(error),
            };
            inbox.send(Input::Loaded(era, Box::new(loaded)));
        });
    }

    /// A part of the environment has arrived, of 1.
    pub(super) fn handle_loading(&mut self, era: Era, part: f64) {
        let plan = self.page.peer().map(Peer::plan);
        if let (Some(_), Some(play)) = (plan.filter(|plan| plan.era == era), &mut self.play) {
            play.arrived = Some(part);
        }
    }

    /// The environment and the models are loaded, or could not be.
    pub(super) fn handle_loaded(
        &mut self,
        now_us: u64,
        era: Era,
        loaded: Result<(LoadedWorld, Partners), String>,
    ) {
        let plan = self.page.peer().map(Peer::plan);
        let (Some(plan), Some(play)) = (plan.filter(|plan| plan.era == era), &mut self.play) else {
            return;
        };
        let prepared = loaded.and_then(|(loaded, partners)| {
            play.handle_world(plan, &loaded, &self.keyboard)?;
            Ok((loaded.world, partners))
        });
        match prepared {
            Ok((world, partners)) => self.page.handle_world(now_us, era, world, partners),
            Err(error) => {
                self.page.report_trouble(&error);
                self.layout
                    .show_notice(Some(messages::current_words().no_module));
            }
        }
    }

    /// Draws. Frames are wanted for as long as an episode is on the page.
    pub(super) fn handle_frame(&mut self, now_us: u64, at_ms: f64) {
        self.with_play(now_us, |play, peer, now| play.draw_frame(peer, now, at_ms));
        if self.play.is_some() {
            self.frames.request_frame();
        }
    }

    /// Handles that the page lost the focus: no key is held any more.
    pub(super) fn release_keys(&mut self, now_us: u64) {
        self.with_play(now_us, Play::handle_blur);
    }

    /// Gives the page the news of the connections to other people.
    pub(super) fn hand_over_peer_news(&mut self, now_us: u64) {
        while let Some((seat, news)) = self.play.as_mut().and_then(Play::poll_news) {
            match news {
                PeerNews::Begun => self.page.handle_channel_begun(now_us, seat),
                PeerNews::Opened => self.page.handle_channel(now_us, seat, true),
                PeerNews::Closed => self.page.handle_channel(now_us, seat, false),
                PeerNews::Datagram(bytes) => self.page.handle_datagram(now_us, seat, &bytes),
            }
        }
        while let Some(signal) = self.play.as_mut().and_then(Play::poll_signal) {
            self.page.send(signal);
        }
    }

    /// Carries out what concerns the connections to other people.
    pub(super) fn carry_out_for_peers(&mut self, now_us: u64, effect: PageEffect) {
        let peers = self.play.as_mut().and_then(Play::peers);
        match (effect, peers) {
            (PageEffect::Datagram { to, bytes }, Some(peers)) => peers.send(to, &bytes),
            (PageEffect::OpenChannel { seat }, Some(peers)) => peers.connect(seat),
            (PageEffect::CloseChannel { seat }, Some(peers)) => peers.close(seat),
            (PageEffect::Signal { from, data }, Some(peers)) => peers.handle_signal(from, &data),
            // It will not open: the way is through the server.
            (PageEffect::OpenChannel { seat }, None) => {
                self.page.handle_channel(now_us, seat, false);
            }
            _ => {}
        }
    }

    /// Shows how the episode stands.
    pub(super) fn show_episode(&mut self, now_us: u64) {
        let is_connected = self.page.is_open();
        self.with_play(now_us, |play, peer, now| {
            play.follow_resting_pointer(peer, now);
            play.take_pointed(peer, now);
            play.update_picture(peer, now);
            play.show_state(peer, now, is_connected);
        });
    }

    /// The person has read the outcome of an episode.
    pub(super) fn handle_outcome_read(&mut self, now_us: u64) {
        if let Some(play) = &mut self.play {
            play.handle_outcome_read();
        }
        self.page.handle_outcome_read(now_us);
    }
}
