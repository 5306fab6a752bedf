//! Checks of groups: the lobby that makes each, the stages that it plays, the AI partners that stand in, and the blocks
//! for which it draws.

use std::collections::{BTreeMap, BTreeSet};

use crate::design::{Design, Unit};
use crate::read::Place;
use crate::stage::{Env, Kind, Lobby, Stage};

use super::adjacency::Adjacency;
use super::read::Read;
use super::{ForEach, Node};

/// Reports lobbies without their env stage and groups without their lobby. A stage that has faults of its own is not
/// judged. Gives the lobby before each env stage that has one.
pub(crate) fn lobbies(read: &Read<'_>, design: &Design) -> BTreeMap<u16, u16> {
    let adjacency = Adjacency::of(&read.tree, &read.stages, design);
    let mut lobbies = BTreeMap::new();
    for (index, place) in (0..).zip(&read.places) {
        match read.kind(index) {
            Some(Kind::Lobby(lobby)) => after_lobby(
                place,
                lobby,
                &adjacency.after(index).collect::<Vec<_>>(),
                read,
            ),
            Some(Kind::Env(env)) => {
                let before: Vec<_> = adjacency.before(index).collect();
                before_env(place, env, index, &before, read);
                let is_lobby = |stage: &u16| matches!(read.kind(*stage), Some(Kind::Lobby(_)));
                lobbies.extend(
                    before
                        .into_iter()
                        .flatten()
                        .find(is_lobby)
                        .map(|lobby| (index, lobby)),
                );
            }
            _ => {}
        }
    }
    lobbies
}

fn after_lobby(place: &Place<'_>, lobby: &Lobby, after: &[Option<u16>], read: &Read<'_>) {
    let mut told = BTreeSet::new();
    for next in after {
        let message = match next.map(|next| read.stages[usize::from(next)].as_ref()) {
            Some(None) => continue,
            Some(Some(Stage { kind: Kind::Env(env), .. })) if env.people() == usize::from(lobby.group_size) => continue,
            Some(Some(Stage { kind: Kind::Env(env), .. })) => {
                let players = env.people();
                let message = format!(
                    "groups of {}, but the env stage that follows has {players} {}; make the two equal",
                    lobby.group_size,
                    if players == 1 { "person" } else { "people" },
                );
                place.wrong_at("group_size", message);
                continue;
            }
            Some(Some(Stage { id, kind: Kind::Lobby(_) })) => {
                format!("the lobby `{id}` can come right after this lobby, and a group that plays nothing is of no use; put the env stage right after each lobby, or remove one")
            }
            _ => "a lobby makes a group, but no env stage follows it; put the env stage right after the lobby, or remove the lobby".to_owned(),
        };
        if told.insert(message.clone()) {
            place.wrong(message);
        }
    }
}

fn before_env(place: &Place<'_>, env: &Env, index: u16, before: &[Option<u16>], read: &Read<'_>) {
    let players = env.people();
    let is_fit = |before: &Option<u16>| {
        let stage = before.map(|before| read.stages[usize::from(before)].as_ref());
        matches!(
            stage,
            Some(
                None | Some(Stage {
                    kind: Kind::Lobby(_),
                    ..
                })
            )
        )
    };
    let Some(other) = before
        .iter()
        .find(|before| !is_fit(before))
        .filter(|_| players > 1)
    else {
        return;
    };
    let lobby = format!(
        "`- {{id: lobby, type: lobby, group_size: {players}, timeout_s: 60, on_timeout: wait}}`"
    );
    let message = match other {
        Some(other) if before.iter().any(is_fit) => {
            let id = read.stages[usize::from(*other)]
                .as_ref()
                .map_or("", |stage| stage.id.as_str());
            let id = if *other == index {
                "an earlier copy of itself".to_owned()
            } else {
                format!("`{id}`")
            };
            format!(
                "{players} people, and {id} can come right before this stage instead of the lobby, so there would be no group; \
                 put lobby and stage next to each other into one block that is repeated, shuffled or guarded as a whole"
            )
        }
        _ => format!(
            "{players} people, but no lobby comes right before this stage, so nobody would ever have a partner; add one: {lobby}"
        ),
    };
    place.wrong_at("players", message);
}

/// Gives every env stage that calls an AI partner for a person who is gone the one of the lobby before it, unless it
/// names its own; reports those that have neither.
pub(crate) fn bots(read: &mut Read<'_>, lobbies: &BTreeMap<u16, u16>) {
    for index in 0..read.stages.len() as u16 {
        let lobby = lobbies
            .get(&index)
            .and_then(|lobby| match read.kind(*lobby) {
                Some(Kind::Lobby(lobby)) => lobby.bot.clone(),
                _ => None,
            });
        // The lobby may be what could not be read.
        let is_unsure = index > 0 && read.stages[usize::from(index) - 1].is_none();
        let Some(Kind::Env(env)) = read.stages[usize::from(index)]
            .as_mut()
            .map(|stage| &mut stage.kind)
        else {
            continue;
        };
        let terms = &mut env.on_disconnect;
        let calls = terms.calls().first().copied();
        let Some(key) = calls.filter(|_| terms.bot.is_none() && !is_unsure) else {
            continue;
        };
        terms.bot = lobby;
        if terms.bot.is_none() {
            let message = "calls an AI partner, but neither this block nor a lobby before the stage names one; \
                           write for example `bot: {policy: cook, disclose: true}` in this block";
            read.places[usize::from(index)].wrong_at(&format!("on_disconnect.{key}"), message);
        }
    }
}

/// Marks the blocks for which a group draws, because its people play a stage of the block together.
pub(crate) fn shared(read: &mut Read<'_>, design: &Design) {
    let mut tree = std::mem::take(&mut read.tree);
    mark(&mut tree, read, design);
    read.tree = tree;
}

/// Whether people of a group that was made before these nodes play in them, and whether a lobby is among them.
fn mark<'n>(
    nodes: impl IntoIterator<Item = &'n mut Node>,
    read: &Read<'_>,
    design: &Design,
) -> (bool, bool) {
    let (mut together, mut lobby) = (false, false);
    for node in nodes {
        let (inner, makes) = match node {
            Node::Stage(stage) => match read.kind(*stage) {
                Some(Kind::Env(env)) => (env.people() > 1, false),
                kind => (false, matches!(kind, Some(Kind::Lobby(_)))),
            },
            Node::Block(block) => {
                let (inner, makes) = mark(&mut block.block, read, design);
                block.shared = inner;
                if let (true, Some(ForEach::Factor(name)), Unit::Participant) =
                    (inner, &block.for_each, design.unit)
                {
                    let message = format!(
                        "`{name}` is drawn for each participant, but a group that a lobby made before plays here together; \
                         write `unit: group` in the design, or put the lobby into the block too"
                    );
                    read.blocks[usize::from(block.number)].wrong_at("for_each", message);
                }
                (inner, makes)
            }
        };
        together |= inner && !lobby;
        lobby |= makes;
    }
    (together, lobby)
}
