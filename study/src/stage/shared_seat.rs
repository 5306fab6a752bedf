//! A seat that a person shares with AI partners. In the file: `shared_seat`.

use protocol::rules::{SharedSeats, SharingMode};
use serde::Serialize;

use super::ai_partner::{self, AiPartner};
use super::course::Mode;
use super::env::{Env, RunOn};
use crate::folder::Source;
use crate::keys;
use crate::read::Cursor;

/// The most AI partners that propose.
const MAX_PROPOSALS: usize = 4;

/// The key by which a person gives the seat away and takes it back.
const KEY: &str = "KeyH";

/// The way in which the people of an env stage share their seats with AI partners.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedSeat {
    /// The partners: a single one that plays, or several that propose.
    pub partners: Vec<AiPartner>,
    /// The part of the person.
    pub mode: Sharing,
    /// True if the partner plays from the start.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub begins_with_partner: bool,
    /// The keys, one for each partner.
    pub keys: Vec<String>,
}

/// The part of a person who shares a seat with AI partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Gives the seat away, and takes it back.
    Handover,
    /// The same, and corrects the partner while a key is down.
    Override,
    /// Chooses among the proposals of the partners.
    Choose,
}

impl SharedSeat {
    /// The partners, each with the key of the block under which it stands.
    pub(crate) fn located_partners(&self) -> impl Iterator<Item = (String, &AiPartner)> {
        let key = |at| match self.mode {
            Sharing::Choose => format!("proposals[{at}]"),
            Sharing::Handover | Sharing::Override => "partner".to_owned(),
        };
        let partners = self.partners.iter().enumerate();
        partners.map(move |(at, partner)| (key(at), partner))
    }

    /// As pages and files of episodes have it.
    pub fn to_wire(&self) -> SharedSeats {
        let policies = self.partners.iter().map(|partner| partner.policy.clone());
        SharedSeats {
            policies: policies.collect(),
            keys: self.keys.clone(),
            mode: match self.mode {
                Sharing::Handover => SharingMode::Handover,
                Sharing::Override => SharingMode::Override,
                Sharing::Choose => SharingMode::Choose,
            },
            begins_with_partner: self.begins_with_partner,
        }
    }
}

/// Reads how a seat is shared.
pub(super) fn read(source: Source<'_>, place: &Cursor<'_>) -> Option<SharedSeat> {
    let mut fields = place.fields("a shared seat")?;
    let ways = [
        ("handover", Sharing::Handover),
        ("override", Sharing::Override),
        ("choose", Sharing::Choose),
    ];
    let doc = "What the person does with the AI partner. `handover`: gives it the seat and takes the seat back with a key. \
               `override`: the same, and while the partner plays, each of the person's keys counts as long as it is down. \
               `choose`: in a stage with `mode: turns`, chooses one of several proposals.";
    let mode = fields.key("mode", doc);
    let mode = mode.or(Sharing::Handover, |place| place.read_word("mode", &ways));
    let doc = "The AI partner that plays the seat: the name of one of `partners`, or a block such as `{policy: cook}`. For \
               `handover` and `override`.";
    let partner = fields.key("partner", doc);
    let has_partner = partner.place.is_some();
    let partner = partner.maybe(|place| ai_partner::read(source, &place));
    let doc = "For `choose`: the AI partners that propose an action each, two to four. The keys `1`, `2`, … choose.";
    let proposals = fields.key("proposals", doc);
    let has_proposals = proposals.place.is_some();
    let proposals = proposals.maybe(|place| {
        let places = place.list_of("AI partners", 2..=MAX_PROPOSALS)?;
        let read: Vec<_> = places
            .iter()
            .map(|at| ai_partner::read(source, at))
            .collect();
        read.into_iter().collect::<Option<Vec<_>>>()
    });
    let starts = [("person", false), ("partner", true)];
    let doc = "Who plays from the start: `person` or `partner`. By default the partner with `override`, else the person.";
    let starts_at = fields.key("starts", doc);
    let has_start = starts_at.place.is_some();
    let begins = starts_at.maybe(|place| place.read_word("player", &starts));
    let doc = "The key by which a person gives the seat away and takes it back, a code of `KeyboardEvent.code`. The \
               environment does not get it.";
    let key = fields.key("key", doc);
    let has_key = key.place.is_some();
    let key = key.or(KEY.to_owned(), |place| keys::read_key(&place));
    fields.done();
    let (mode, key) = (mode?, key?);
    let chooses = mode == Sharing::Choose;
    let odd = [
        (
            chooses && has_partner,
            "partner",
            "several partners propose; write `proposals: [a, b]`",
        ),
        (
            chooses && has_start,
            "starts",
            "the person chooses in every turn; remove it",
        ),
        (
            chooses && has_key,
            "key",
            "the keys `1`, `2`, … choose; remove it",
        ),
        (
            !chooses && has_proposals,
            "proposals",
            "only with `mode: choose`; write `partner: NAME` in its place, or `mode: choose`",
        ),
    ];
    if let Some((_, key, why)) = odd.iter().find(|(is_odd, ..)| *is_odd) {
        place.wrong_at(key, *why);
        return None;
    }
    let missing = match chooses {
        true => (!has_proposals).then_some("proposals: [cook, random]"),
        false => (!has_partner).then_some("partner: {policy: cook}"),
    };
    if let Some(example) = missing {
        place.report_problem(format!("who is the partner? Write for example `{example}`"));
        return None;
    }
    let partners: Vec<AiPartner> = match mode {
        Sharing::Choose => proposals??,
        Sharing::Handover | Sharing::Override => vec![partner??],
    };
    let digits = 1..=partners.len();
    Some(SharedSeat {
        keys: match mode {
            Sharing::Choose => digits.map(|digit| format!("Digit{digit}")).collect(),
            Sharing::Handover | Sharing::Override => vec![key],
        },
        partners,
        mode,
        begins_with_partner: begins?.unwrap_or(mode == Sharing::Override),
    })
}

/// Reports a shared seat that does not fit its stage.
pub(super) fn check(env: &Env, place: &Cursor<'_>) -> bool {
    let Some(shared) = &env.shared_seat else {
        return true;
    };
    let turns = env.course.mode == Mode::Turns;
    let chooses = shared.mode == Sharing::Choose;
    let bound = env.keys.iter().find_map(|(action, codes)| {
        let key = codes.iter().find(|code| shared.keys.contains(code))?;
        Some((action, key))
    });
    let (key, why) = match bound {
        _ if env.run == RunOn::Host => (
            "shared_seat",
            "a host steps this environment, and pages alone can share a seat; remove this, or write `run: page`".to_owned(),
        ),
        _ if chooses && !turns => (
            "shared_seat.mode",
            "people cannot choose in time while ticks go by; write `mode: turns` in the stage, or `mode: override` here"
                .to_owned(),
        ),
        _ if turns && !chooses => (
            "shared_seat.mode",
            "nobody can give a seat away in turns, as each turn is one choice; write `mode: choose` with `proposals` here, \
             or remove `mode: turns` from the stage"
                .to_owned(),
        ),
        Some((action, key)) => (
            "shared_seat",
            format!("`{key}` is also a key of `{action}` in `keys`, and a key can mean one thing only; take another one"),
        ),
        None => return true,
    };
    place.wrong_at(key, why);
    false
}
