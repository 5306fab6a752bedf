//! What tests and the demonstration ask of an episode.

use env_core::{Action, Spec, World};
use protocol::control::{Link, Plan};
use protocol::{Controller, Seat, Tick};
use rollback::Session;
use serde_json::{Value, json};

use super::Play;
use crate::module::Module;

impl Play {
    /// What a scripted cook would do now in the seat of this person; none while its last action is on the way.
    pub(crate) fn advise(&mut self, server_us: u64) -> Option<Action> {
        let (Some(session), Some(spec)) = (&mut self.session, &self.spec) else {
            return None;
        };
        let current = session.current();
        let waits = self
            .advised
            .is_some_and(|(asked, until)| asked == current || current <= until);
        if session.ended().is_some() || server_us < self.t0_us || waits {
            return None;
        }
        if self.advisor.is_none() {
            let mut cook = policy::by_name("cook", spec)?;
            cook.reset(self.plan.seat.index(), self.plan.seed);
            self.advisor = Some(cook);
        }
        let mut observation = Vec::new();
        session
            .world()
            .observe(self.plan.seat.index(), &mut observation);
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
    pub(crate) fn report(&mut self) -> Value {
        let names = |spec: &Spec| {
            spec.actions
                .iter()
                .map(|action| action.name.clone())
                .collect::<Vec<_>>()
        };
        let mut report = json!({
            "era": self.plan.era.0,
            "episode": self.plan.episode,
            "seat": self.plan.seat.0,
            "env": self.plan.env,
            "ai_seats": self.plan.controllers.iter().filter(|c| **c != Controller::Human).count(),
            "action_names": self.spec.as_ref().map(names).unwrap_or_default(),
            "link": match self.link {
                None => "none",
                Some(Link::Direct) => "direct",
                Some(Link::Relay) => "relay",
            },
            "unsaved": self.recorder.borrow().unsaved(),
            "started_us": self.t0_us,
            "verdict": self.verdict.as_ref().map(|verdict| json!({
                "reason": format!("{:?}", verdict.reason),
                "ticks": verdict.ticks.0,
                "score": verdict.score,
                "digest": format!("{:016x}", verdict.digest),
            })),
        });
        if let Some(session) = &mut self.session {
            let of_session = session_report(session, &self.plan);
            if let (Some(report), Value::Object(more)) = (report.as_object_mut(), of_session) {
                report.extend(more);
            }
        }
        report
    }
}

fn session_report(session: &mut Session<Module>, plan: &Plan) -> Value {
    let score = session.world().score();
    let rtt_us = (0..plan.controllers.len())
        .map(|seat| session.rtt_us(Seat(seat as u8)))
        .max()
        .unwrap_or(0);
    let digest = session.ended().and(session.digests().last());
    let stats = session.stats();
    json!({
        "tick": session.current().0,
        "confirmed": session.confirmed().0,
        "ended": session.ended().map(|tick| tick.0),
        "score": score,
        "rollbacks": stats.rollbacks,
        "max_rollback_depth": stats.max_depth,
        "resimulated": stats.resimulated,
        "held_ms": stats.held_us / 1_000,
        "rtt_ms": f64::from(rtt_us) / 1_000.0,
        "input_delay": session.config().input_delay,
        "datagrams_sent": stats.datagrams_sent,
        "bytes_sent": stats.bytes_sent,
        "datagrams_received": stats.datagrams_received,
        "dropped": stats.dropped,
        "digest": digest.map(|(_, digest)| format!("{digest:016x}")),
    })
}
