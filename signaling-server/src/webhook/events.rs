//! Events of the webhook, made of what becomes durable. They have pseudonyms alone: no recruiter's identifier, token, link,
//! code or name of a researcher.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use protocol::control::EndReason;
use serde_json::{Map, Value, json};
use server_core::arbiter::{StageAnswers, WaitRow, Write};
use study::{Payment, Progress, Study};

/// An event.
#[derive(Debug)]
pub(super) struct HookEvent {
    pub(super) name: &'static str,
    /// The pseudonym of the person that it is about, if it is one.
    pub(super) participant: Option<String>,
    /// An object with everything else, the pseudonym among it.
    pub(super) facts: Value,
}

/// Makes events, and remembers which were sent already.
#[derive(Debug)]
pub(super) struct EventMaker {
    study: Arc<Study>,
    /// The visit at which each participant was last.
    visits: BTreeMap<String, (u16, u16)>,
    /// The participants whose end was sent.
    ended: BTreeSet<String>,
}

/// Returns the participant about whom no earlier record may be sent any more.
pub(super) fn find_gone(write: &Write) -> Option<&str> {
    match write {
        Write::Withdrawal { participant, .. }
        | Write::Erase { participant }
        | Write::Forget { participant } => Some(participant),
        _ => None,
    }
}

impl EventMaker {
    pub(super) fn new(study: Arc<Study>) -> Self {
        Self {
            study,
            visits: BTreeMap::new(),
            ended: BTreeSet::new(),
        }
    }

    /// The events of a change.
    pub(super) fn make_events(&mut self, write: &Write) -> Vec<HookEvent> {
        match write {
            Write::NewSession {
                participant,
                progress,
                payment,
                ..
            } => {
                let mut events = vec![about("session_started", participant, json!({}))];
                events.extend(self.tell_place(participant, progress, payment.as_deref()));
                events
            }
            Write::Place {
                participant,
                progress,
                answers,
                payment,
                ..
            } => {
                let given = answers.as_ref();
                let mut events: Vec<_> = given
                    .map(|given| self.tell_answers(participant, given))
                    .into_iter()
                    .collect();
                events.extend(self.tell_place(participant, progress, payment.as_deref()));
                events
            }
            Write::Reopen {
                participant,
                progress,
                ..
            } => {
                self.ended.remove(participant);
                self.tell_place(participant, progress, None)
            }
            Write::Withdrawal { participant, .. } => {
                vec![about("withdrawn", participant, json!({}))]
            }
            Write::Erase { participant } => vec![about("erased", participant, json!({}))],
            Write::Forget { participant } => {
                self.visits.remove(participant);
                vec![about("forgotten", participant, json!({}))]
            }
            write => self.tell_rest(write).into_iter().collect(),
        }
    }

    /// Makes the events for somebody's position and end; nothing if both are known.
    fn tell_place(
        &mut self,
        participant: &str,
        progress: &Progress,
        payment: Option<&Payment>,
    ) -> Vec<HookEvent> {
        let mut events = Vec::new();
        let place = (progress.index(), progress.visit());
        if self.visits.insert(participant.to_owned(), place) != Some(place) {
            let facts = json!({ "stage": self.stage_id(place.0), "visit": place.1 });
            events.push(about("stage_reached", participant, facts));
        }
        if let Some(payment) = payment
            && self.ended.insert(participant.to_owned())
        {
            let mut facts = pay_facts(payment);
            facts["outcome"] = json!(payment.outcome.name());
            events.push(about("session_ended", participant, facts));
        }
        events
    }

    fn tell_answers(&self, participant: &str, given: &StageAnswers) -> HookEvent {
        let read = |value: &str| serde_json::from_str(value).unwrap_or(Value::Null);
        let answers = given.answers.iter();
        let answers: Map<String, Value> = answers
            .map(|answer| (answer.name.clone(), read(&answer.value)))
            .collect();
        let facts = json!({
            "stage": self.stage_id(given.stage),
            "visit": given.visit,
            "answers": answers,
            "pages_ms": given.pages_ms,
        });
        about("answers", participant, facts)
    }

    fn tell_rest(&self, write: &Write) -> Option<HookEvent> {
        match write {
            Write::Wait(row) => Some(self.tell_wait(row)),
            Write::Episode(row) => Some(HookEvent {
                name: "episode_started",
                participant: None,
                facts: json!({
                    "episode": row.episode,
                    "group": row.group,
                    "stage": self.stage_id(row.stage),
                    "participants": row.participants,
                }),
            }),
            Write::EpisodeEnded {
                episode,
                reason,
                ending,
            } => Some(HookEvent {
                name: "episode_ended",
                participant: None,
                facts: json!({
                    "episode": episode,
                    "reason": reason_name(*reason),
                    "ticks": ending.as_ref().map(|ending| ending.ticks.0),
                    "score": ending.as_ref().map(|ending| ending.score),
                }),
            }),
            Write::Message(row) => {
                let facts = json!({
                    "group": row.group,
                    "message": row.number,
                    "partner": row.partner,
                    "stage": self.stage_id(row.stage),
                    "episode": row.episode,
                    "tick": row.tick.map(|tick| tick.0),
                    "text": row.text,
                });
                Some(about("chat_message", &row.participant, facts))
            }
            Write::DeskMessage(row) => {
                let facts = json!({
                    "message": row.number,
                    "sender": if row.is_own() { "participant" } else { "researcher" },
                    "audience": row.audience,
                    "stage": self.stage_id(row.stage),
                    "text": row.text,
                    "answer_within_s": row.check.as_ref().map(|check| check.within_s),
                });
                Some(about("desk_message", &row.participant, facts))
            }
            Write::CheckAnswer {
                participant,
                number,
                answer,
                ..
            } => {
                let facts = json!({ "message": number, "answer": answer });
                Some(about("check_answered", participant, facts))
            }
            Write::Intervention {
                order,
                participant,
                detail,
                ..
            } => Some(HookEvent {
                name: "intervention",
                participant: participant.clone(),
                facts: json!({ "order": order, "participant": participant, "detail": detail }),
            }),
            Write::Correction {
                participant,
                payment,
            } => Some(about("payment_corrected", participant, pay_facts(payment))),
            _ => None,
        }
    }

    fn tell_wait(&self, row: &WaitRow) -> HookEvent {
        let mut facts = json!({
            "stage": self.stage_id(row.stage),
            "since_us": row.since_us,
        });
        let Some(end) = &row.end else {
            return about("wait_began", &row.participant, facts);
        };
        facts["why"] = json!(store::waited_for(end.why));
        facts["group"] = json!(end.group);
        about("wait_ended", &row.participant, facts)
    }

    fn stage_id(&self, index: u16) -> &str {
        let stage = self.study.timeline.get(usize::from(index));
        stage.map_or("", |stage| &stage.id)
    }
}

/// An event about one person.
fn about(name: &'static str, participant: &str, mut facts: Value) -> HookEvent {
    facts["participant"] = json!(participant);
    HookEvent {
        name,
        participant: Some(participant.to_owned()),
        facts,
    }
}

/// The amounts of a payment, in the smallest unit of the currency.
fn pay_facts(payment: &Payment) -> Value {
    json!({ "currency": payment.currency, "total": payment.total, "bonus": payment.bonus })
}

fn reason_name(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Played => "played",
        EndReason::PartnerLeft => "partner_left",
        EndReason::Technical => "technical",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use server_core::arbiter::{Attendance, Identity};

    use super::*;

    fn maker() -> (EventMaker, Progress) {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
        let (study, _) = catalog::read_study(&dir).unwrap();
        let progress = Progress::new(&study, study::UnitAssignment::default());
        (EventMaker::new(Arc::new(study)), progress)
    }

    #[test]
    fn a_session_is_told_without_what_would_say_who_it_is() {
        let (mut maker, progress) = maker();
        let identity = Identity {
            provider: "prolific".to_owned(),
            participant: "5f1c0a2b".to_owned(),
            parameters: BTreeMap::new(),
        };
        let write = Write::NewSession {
            number: 0,
            participant: "P-1".to_owned(),
            token: "secret-token".to_owned(),
            link: Some("secret-link".to_owned()),
            identity: Some(identity),
            progress,
            attendance: Attendance::default(),
            payment: None,
        };
        let events = maker.make_events(&write);
        let names: Vec<_> = events.iter().map(|event| event.name).collect();
        assert_eq!(names, ["session_started", "stage_reached"]);
        let told: String = events.iter().map(|event| event.facts.to_string()).collect();
        assert!(told.contains("P-1"));
        for secret in ["secret", "5f1c0a2b", "prolific"] {
            assert!(!told.contains(secret), "{told}");
        }
    }

    #[test]
    fn a_place_is_told_once_and_a_withdrawal_always() {
        let (mut maker, progress) = maker();
        let place = || Write::Place {
            participant: "P-1".to_owned(),
            progress: progress.clone(),
            answers: None,
            attendance: Attendance::default(),
            payment: None,
        };
        assert_eq!(maker.make_events(&place()).len(), 1);
        assert_eq!(
            maker.make_events(&place()).len(),
            0,
            "only a draft has changed"
        );
        let gone = Write::Withdrawal {
            participant: "P-1".to_owned(),
            receipt: "W-1".to_owned(),
        };
        assert_eq!(find_gone(&gone), Some("P-1"));
        let told = maker.make_events(&gone);
        assert_eq!(told[0].name, "withdrawn");
        assert!(!told[0].facts.to_string().contains("W-1"));
    }
}
