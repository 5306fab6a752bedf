//! The work of a page beside the ticks: connections, uploads, and a world that broke down.

use env_core::World;
use protocol::Seat;
use protocol::control::ClientMessage;

use super::{Peer, Stage};
use crate::effects::Now;

/// Everything but the ticks is looked after this often, microseconds.
const BEAT_US: u64 = 50_000;
/// The same while it is counted how many packets are lost: those go out more often, microseconds.
const COUNTING_US: u64 = 5_000;
/// Pause between uploads, microseconds.
const UPLOAD_US: u64 = 250_000;
/// An upload waits this long for the answer to the one before, microseconds: a server that is late gets fewer and longer
/// uploads, and so less work. It is less than the time after which the server takes a page for behind.
const ANSWER_US: u64 = 400_000;
/// Pause between chunks of what was shown, microseconds: the last chunk is lost with a page that dies, and each further
/// chunk in a second costs the bytes in which it learns what is likely.
const CHUNK_US: u64 = 1_000_000;
/// Pause between round trips in the timing, microseconds.
const RTT_US: u64 = 1_000_000;
/// A hold of this length puts the data channels in doubt, microseconds: shorter ones are the network's jitter.
const DOUBT_US: u64 = 100_000;

impl<W: World> Peer<W> {
    /// Looks after everything but the ticks.
    pub(super) fn beat(&mut self, now: Now) {
        let is_counting = matches!(self.stage, Stage::Linking(..)) && self.plan.measures_loss;
        let pause_us = if is_counting { COUNTING_US } else { BEAT_US };
        self.beat_us = now.page_us + pause_us;
        if self.verdict.is_some() {
            return;
        }
        match &mut self.stage {
            Stage::Linking(_, is_ready) => {
                self.net.keep_up(now.page_us);
                if !self.plan.running {
                    self.net.send_probes(now);
                }
                let ready = self.plan.running || self.net.is_ready(now.page_us);
                if !*is_ready && now.is_set && ready && self.net.is_connected() {
                    *is_ready = true;
                    self.net.tell_ready();
                }
            }
            Stage::Playing(session) => {
                let is_over = session.ended().is_some();
                let held = self.held_us;
                if held.is_some_and(|since_us| now.page_us > since_us + DOUBT_US) {
                    self.net.doubt_links(now.page_us);
                }
                // The session sends nothing before tick 0, and silence after the end says nothing about the link.
                if now.server_us < self.t0_us {
                    self.net.send_probes(now);
                } else if !is_over {
                    self.net.keep_up(now.page_us);
                    self.net.tell_changes(now.page_us);
                }
                self.upload(now);
                self.tell_fault();
            }
            Stage::Hosted(_) => self.upload(now),
            Stage::Lost => self.take_back(now),
            Stage::Loading | Stage::Stopped => {}
        }
    }

    /// Sends the unsent records, from time to time.
    pub(super) fn upload(&mut self, now: Now) {
        let mut recorder = self.recorder.lock();
        let (next_us, answer_us) = self.upload_us;
        // On a host, choices are answered when they enter a tick.
        let is_answered = recorder.is_answered() || matches!(self.stage, Stage::Hosted(_));
        let is_due = now.page_us >= next_us && (is_answered || now.page_us >= answer_us);
        if !is_due || !self.may_upload || !self.net.is_connected() {
            return;
        }
        self.upload_us = (now.page_us + UPLOAD_US, now.page_us + ANSWER_US);
        if let Stage::Playing(session) = &self.stage {
            let stats = session.stats();
            recorder.count(stats.dropped, stats.equivocations);
            if now.page_us >= self.rtt_us {
                self.rtt_us = now.page_us + RTT_US;
                let seats = 0..self.plan.controllers.len() as u8;
                recorder.timing().rtt_us = seats.map(|seat| session.rtt_us(Seat(seat))).collect();
            }
        }
        if now.page_us >= self.chunk_us {
            self.chunk_us = now.page_us + CHUNK_US;
            recorder.close_chunk();
        }
        while let Some(upload) = recorder.upload() {
            self.net.send_to_server(ClientMessage::Upload(upload));
        }
    }

    /// A world that broke down stands still and is over; the server's replica finds the same and ends the episode.
    fn tell_fault(&mut self) {
        let fault = self.session_mut().and_then(|s| s.world().fault());
        if let Some(fault) = fault
            && !std::mem::replace(&mut self.is_fault_told, true)
        {
            let message = format!("the environment was stopped: {fault}");
            self.net.send_to_server(ClientMessage::Trouble { message });
        }
    }
}
