//! The report of an episode, for tests and the demonstration.

use client_core::{Now, Status};
use env_core::{Action, Spec, World};
use protocol::control::Link;
use protocol::{Controller, Seat, Tick};
use serde_json::{Value, json};

use super::{EpisodePeer, Play};

impl Play {
    /// The action that a scripted cook would take now in the seat of this person; `None` while its last one is on the way.
    pub(crate) fn advise(&mut self, peer: &mut EpisodePeer, now: Now) -> Option<Action> {
        let (seat, seed) = (peer.plan().seat.index(), peer.plan().seed);
        let runs = peer.t0_us().is_some_and(|t0_us| now.server_us >= t0_us);
        let plays_from = peer.plays_from();
        let (Some(session), Some(spec)) = (peer.session_mut(), &self.spec) else {
            return None;
        };
        let current = session.current();
        let waits = self
            .advised
            .is_some_and(|(asked, until)| asked == current || current <= until);
        if session.ended().is_some() || !runs || current < plays_from || waits {
            return None;
        }
        if self.advisor.is_none() {
            let mut cook = policy::by_name("cook", spec)?;
            cook.reset(seat, seed);
            self.advisor = Some(cook);
        }
        let mut observation = Vec::new();
        session.world().observe(seat, &mut observation);
        let action = self.advisor.as_mut()?.act(&observation);
        let still = action == spec.noop;
        self.advised = Some((
            current,
            if still {
                Tick(current.0.saturating_sub(1))
            } else {
                session.input_tick()
            },
        ));
        (!still).then_some(action)
    }

    /// Everything that a test or a demonstration asks of an episode.
    pub(crate) fn report(&self, peer: &mut EpisodePeer, now: Now) -> Value {
        let names = |spec: &Spec| {
            let actions = spec.actions.iter();
            actions
                .map(|action| action.name.clone())
                .collect::<Vec<_>>()
        };
        let status = peer.status(now);
        let verdict = match &status {
            Status::Over(verdict) => Some(json!({
                "reason": format!("{:?}", verdict.reason),
                "ticks": verdict.ticks.0,
                "score": verdict.score,
                "digest": format!("{:016x}", verdict.digest),
            })),
            _ => None,
        };
        let plan = peer.plan();
        let seats = (0..plan.controllers.len()).map(|seat| Seat(seat as u8));
        let presence = seats.clone().map(|seat| {
            self.partners
                .presence(seat)
                .map(|presence| format!("{presence:?}"))
        });
        let links = seats.map(|seat| peer.link_to(seat).map(link_name));
        let mut report = json!({
            "era": plan.era.0,
            "episode": plan.episode,
            "seat": plan.seat.0,
            "life": plan.life.0,
            "env": plan.env,
            "hosted": peer.is_hosted(),
            "ai_seats": plan.controllers.iter().filter(|c| **c != Controller::Human).count(),
            "action_names": self.spec.as_ref().map(names).unwrap_or_default(),
            "status": status_name(&status),
            "link": peer.link().map_or("none", link_name),
            "links": links.collect::<Vec<_>>(),
            "presence": presence.collect::<Vec<_>>(),
            "returns": self.returns,
            "unsaved": peer.recorder().lock().unsaved_ticks(),
            "started_us": peer.t0_us(),
            "verdict": verdict,
        });
        let of_session = session_report(peer);
        if let (Some(report), Value::Object(more)) = (report.as_object_mut(), of_session) {
            report.extend(more);
        }
        report
    }
}

fn link_name(link: Link) -> &'static str {
    match link {
        Link::Direct => "direct",
        Link::Relay => "relay",
    }
}

fn status_name(status: &Status) -> &'static str {
    match status {
        Status::Loading => "loading",
        Status::Linking => "linking",
        Status::Ready => "ready",
        Status::Playing => "playing",
        Status::Held { .. } => "held",
        Status::Returning => "returning",
        Status::Lost => "lost",
        Status::Stopped => "stopped",
        Status::Finished => "finished",
        Status::Over(_) => "over",
    }
}

/// The part of the report that needs a session; null before there is one.
fn session_report(peer: &mut EpisodePeer) -> Value {
    let seats = peer.plan().controllers.len() as u8;
    let plays_from = peer.plays_from().0;
    if let Some(shown) = peer.shown_view() {
        let mut score = 0;
        peer.view(|world| score = world.score());
        return json!({
            "tick": shown.tick.0,
            "views": shown.views,
            "plays_from": plays_from,
            "score": score,
        });
    }
    let Some(session) = peer.session_mut() else {
        return Value::Null;
    };
    let score = session.world().score();
    let rtt_us = (0..seats).map(|seat| session.rtt_us(Seat(seat))).max();
    let digest = session.ended().and(session.digests().last());
    let stats = session.stats();
    json!({
        "tick": session.current().0,
        "confirmed": session.confirmed().0,
        "ended": session.ended().map(|tick| tick.0),
        "plays_from": plays_from,
        "delay_ms": session.delay_ms(),
        "score": score,
        "rollbacks": stats.rollbacks,
        "max_rollback_depth": stats.max_depth,
        "resimulated": stats.resimulated,
        "held_ms": stats.held_us / 1_000,
        "rtt_ms": f64::from(rtt_us.unwrap_or(0)) / 1_000.0,
        "input_delay": session.config().input_delay,
        "datagrams_sent": stats.datagrams_sent,
        "bytes_sent": stats.bytes_sent,
        "datagrams_received": stats.datagrams_received,
        "dropped": stats.dropped,
        "digest": digest.map(|(_, digest)| format!("{digest:016x}")),
    })
}
