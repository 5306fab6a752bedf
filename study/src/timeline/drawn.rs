//! Partners that the study draws: the possible partners at each stage, and their faults.

use std::collections::{BTreeMap, BTreeSet};

use super::fill::{self, Reference};
use super::groups::Makers;
use super::names::Scope;
use super::read::Read;
use super::tree::Bindings;
use crate::limits::MAX_COMBINATIONS;
use crate::partners::{NamedPartner, Partners};
use crate::read::Cursor;
use crate::stage::env::Env;
use crate::stage::lobby::Lobby;
use crate::stage::players::{Player, SeatChoice};
use crate::stage::{DrawnPartner, StageKind};

/// Enters the partners that each stage can draw, and reports texts that name no partner, or a partner that cannot play
/// there.
pub(crate) fn check(
    read: &mut Read<'_>,
    scopes: &BTreeMap<u16, Scope>,
    partners: &Partners,
    makers: &BTreeMap<u16, Makers>,
) {
    for (index, place) in (0..).zip(read.places.clone()) {
        let Some(scope) = scopes.get(&index) else {
            continue;
        };
        let check = Check {
            place,
            scope,
            partners,
        };
        let stage = read.stages[usize::from(index)].as_mut();
        match stage.map(|stage| &mut stage.kind) {
            Some(StageKind::Env(env)) => check.env(env),
            Some(StageKind::Lobby(lobby)) => check.lobby(lobby),
            _ => {}
        }
    }
    for (stage, makers) in makers {
        check_writing(read, *stage, makers);
    }
    check_debriefing(read);
}

/// Returns the texts of a stage that can contain names, with their keys.
pub(super) fn texts(kind: &StageKind) -> Vec<(String, &str)> {
    match kind {
        StageKind::Env(env) => {
            let players = env.players.iter().enumerate();
            let drawn = players.filter_map(|(at, player)| match player {
                Player::Drawn(drawn) => Some((format!("players[{at}]"), drawn.text.as_str())),
                _ => None,
            });
            let seat = match &env.seat {
                Some(SeatChoice::Drawn(text)) => Some(("seat".to_owned(), text.as_str())),
                _ => None,
            };
            drawn.chain(seat).collect()
        }
        StageKind::Lobby(lobby) => (lobby.partner.iter())
            .map(|drawn| ("partner".to_owned(), drawn.text.as_str()))
            .collect(),
        _ => Vec::new(),
    }
}

/// The check of one stage.
struct Check<'a> {
    place: Cursor<'a>,
    scope: &'a Scope,
    partners: &'a Partners,
}

impl Check<'_> {
    /// Returns the words that a text can become.
    fn words(&self, text: &str) -> BTreeSet<String> {
        let found = fill::list_references(&text.into(), "");
        let names = found.into_iter().filter_map(|(_, found)| found.ok());
        let names: BTreeSet<String> = names.flatten().map(|(name, _): Reference| name).collect();
        let with = |bindings: &Bindings, name: &str| {
            let levels = self.scope.get(name).map_or(&[][..], Vec::as_slice);
            let with = levels.iter().map(|level| {
                let mut longer = bindings.clone();
                longer.insert(name.to_owned(), level.clone());
                longer
            });
            with.take(MAX_COMBINATIONS).collect::<Vec<_>>()
        };
        let all = names.iter().fold(vec![Bindings::new()], |all, name| {
            let all = all.iter().flat_map(|bindings| with(bindings, name));
            all.take(MAX_COMBINATIONS).collect()
        });
        let words = all
            .iter()
            .filter_map(|bindings| fill::fill_text(text, bindings));
        words.collect()
    }

    /// Enters the partners that a text can become; returns the pools among them.
    fn enter(&self, drawn: &mut DrawnPartner, key: &str) -> BTreeSet<String> {
        let mut pools = BTreeSet::new();
        for word in self.words(&drawn.text) {
            match self.partners.get(&word) {
                Some(NamedPartner::Ai(partner)) => {
                    drawn.choices.insert(word, partner.clone());
                }
                Some(NamedPartner::Pool(pool)) => {
                    for member in &pool.members {
                        if let Some(NamedPartner::Ai(partner)) = self.partners.get(member) {
                            drawn.choices.insert(member.clone(), partner.clone());
                        }
                    }
                    pools.insert(word);
                }
                Some(NamedPartner::Person) => {
                    drawn.people.insert(word);
                }
                Some(NamedPartner::Assistant(_)) => {
                    self.place.wrong_at(key, format!("`{word}` has no policy, so it cannot play; name it as the `assistant` of an env stage, or give it a `policy`"));
                }
                None if self.partners.is_faulty(&word) => {}
                None => {
                    let text = &drawn.text;
                    let hint = self.partners.make_hint(&word);
                    let message = match *text == word {
                        true => format!("unknown partner `{word}`; {hint}"),
                        false => {
                            format!("`{text}` can come to `{word}`, which is no partner; {hint}")
                        }
                    };
                    self.place.wrong_at(key, message);
                }
            }
        }
        pools
    }

    fn env(&self, env: &mut Env) {
        let mut seen = BTreeSet::new();
        let seats = env.players.len();
        for (at, player) in env.players.iter_mut().enumerate() {
            let Player::Drawn(drawn) = player else {
                continue;
            };
            let key = format!("players[{at}]");
            for pool in self.enter(drawn, &key) {
                if !seen.insert(pool.clone()) {
                    self.place.wrong_at(&key, format!("the pool `{pool}` has one member at a time, and another seat has it already; make a second pool for this seat"));
                }
            }
            if let Some(person) = drawn.people.first() {
                let text = &drawn.text;
                self.place.wrong_at(&key, format!("`{person}` is a person, and people come from a lobby; write `partner` here, and `partner: \"{text}\"` in a lobby before this stage"));
            }
        }
        self.seat(env, seats);
    }

    /// Checks the seat of the participant.
    fn seat(&self, env: &Env, seats: usize) {
        let Some(seat) = &env.seat else { return };
        if env.people() > 1 {
            self.place.wrong_at("seat", "several people play here, and their places in the group decide who sits where; leave this out, or write `match: {order: random}` in the lobby");
            return;
        }
        let words = match seat {
            SeatChoice::Fixed(seat) => BTreeSet::from([seat.to_string()]),
            SeatChoice::Random(_) => return,
            SeatChoice::Drawn(text) => self.words(text),
        };
        let is_seat = |word: &String| word.parse::<usize>().is_ok_and(|seat| seat < seats);
        if let Some(word) = words.iter().find(|word| !is_seat(word)) {
            self.place.wrong_at("seat", format!(
                "can come to `{word}`, and there are {seats} seats here; write a number from 0 to {}",
                seats.saturating_sub(1)
            ));
        }
    }

    fn lobby(&self, lobby: &mut Lobby) {
        let Some(drawn) = &mut lobby.partner else {
            return;
        };
        self.enter(drawn, "partner");
        if let Some((name, _)) = drawn.choices.iter().find(|(_, partner)| partner.disclose) {
            self.place.wrong_at("partner", format!("the waiting room acts as if a person came, but `{name}` is disclosed as an AI; write `disclose: false` at `partners.{name}`, or leave the lobby out for it"));
        }
        match (drawn.choices.is_empty(), lobby.simulated_wait_s) {
            (false, None) => self.place.wrong_at("partner", "an AI partner can come here, and it is not said after how long; write for example `simulated_wait_s: [8, 30]`"),
            (true, Some(_)) => self.place.wrong_at("simulated_wait_s", "never used, as only people come here; remove it"),
            _ => {}
        }
    }
}

/// Reports a stage at which people write to each other, if its AI partner is drawn and must not be distinguishable from
/// them.
fn check_writing(read: &Read<'_>, stage: u16, makers: &Makers) {
    let Some(kind) = read.kind(stage).filter(|kind| kind.writing().is_some()) else {
        return;
    };
    let of_lobbies = makers.lobbies.iter().filter_map(|lobby| read.kind(*lobby));
    let mut drawn = of_lobbies.chain([kind]).flat_map(StageKind::drawn_partners);
    if drawn.any(|drawn| drawn.choices.values().any(|partner| !partner.disclose)) {
        let key = if matches!(kind, StageKind::Env(_)) {
            "chat"
        } else {
            "type"
        };
        read.places[usize::from(stage)].wrong_at(key, "an AI partner that is not to be told from people can play here, but does not write, so people would find out; write `disclose: true` there, or leave the chat out");
    }
}

/// Reports waiting rooms that deceive, if no debriefing after them says so.
fn check_debriefing(read: &Read<'_>) {
    let deceives = |kind: &StageKind| match kind {
        StageKind::Lobby(lobby) => lobby.simulated_wait_s.is_some(),
        _ => false,
    };
    let stages = || read.stages.iter().zip(&read.places).enumerate();
    for (at, (stage, place)) in stages() {
        let Some(stage) = stage.as_ref().filter(|stage| deceives(&stage.kind)) else {
            continue;
        };
        let reveals = |kind: &StageKind| match kind {
            StageKind::Debrief(debrief) => debrief.reveals.contains(&stage.id),
            _ => false,
        };
        let mut after = read.stages.iter().skip(at + 1);
        // One that could not be read may be the debriefing.
        if !after.any(|stage| stage.as_ref().is_none_or(|stage| reveals(&stage.kind))) {
            place.wrong_at("simulated_wait_s", format!("participants wait here for nobody, and no debriefing after it says so; tell them in the text of a `debrief` stage, and write there `reveals: [{}]`", stage.id));
        }
    }
    for (at, (stage, place)) in stages() {
        let Some(StageKind::Debrief(debrief)) = stage.as_ref().map(|stage| &stage.kind) else {
            continue;
        };
        for (number, id) in debrief.reveals.iter().enumerate() {
            let mut before = read.stages.iter().take(at).flatten();
            if !before.any(|stage| stage.id == *id && deceives(&stage.kind)) {
                place.wrong_at(&format!("reveals[{number}]"), format!("no lobby `{id}` with `simulated_wait_s` comes before this stage; name one, or remove this"));
            }
        }
    }
}
