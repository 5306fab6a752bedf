//! Groups: which lobbies make the group of each stage that people play together, and what a group draws.

use std::collections::{BTreeMap, BTreeSet};

use super::adjacency::Adjacency;
use super::read::Read;
use super::tree::{ForEach, Node};
use crate::design::{Design, Unit};
use crate::problem::make_hint;
use crate::read::Cursor;
use crate::stage::StageKind;
use crate::stage::ai_partner::AiPartner;
use crate::stage::env::Env;
use crate::stage::lobby::Lobby;

/// The lobbies that make the group of a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Makers {
    /// The lobbies that can be passed last before it.
    pub lobbies: BTreeSet<u16>,
    /// The stage, or the beginning, right before it on a way without a lobby.
    without: Option<Option<u16>>,
    /// True if a stage that could not be read comes before it, which may be a lobby.
    pub is_unsure: bool,
}

/// Reports lobbies whose group plays nothing, groups of another size than the stage that they play, and stages without
/// a group. A stage with faults is not checked. Returns what makes the group of each stage that people play together.
pub(crate) fn list_makers(read: &Read<'_>, design: &Design) -> BTreeMap<u16, Makers> {
    let adjacency = Adjacency::of(&read.tree, &read.stages, design);
    let mut all = BTreeMap::new();
    for (index, place) in (0..).zip(&read.places) {
        match read.kind(index) {
            Some(StageKind::Lobby(lobby)) => of_lobby(place, lobby, index, &adjacency, read),
            Some(kind) if kind.is_together() => {
                let makers = makers(index, &adjacency, read);
                if let StageKind::Env(env) = kind {
                    of_env(place, env, index, &makers, read);
                }
                of_writing(place, kind, index, &makers, read);
                all.insert(index, makers);
            }
            _ => {}
        }
    }
    all
}

/// Goes back from a stage on every way, up to the lobby that is found first.
fn makers(index: u16, adjacency: &Adjacency, read: &Read<'_>) -> Makers {
    let mut makers = Makers::default();
    let (mut seen, mut open) = (BTreeSet::new(), vec![(index, None)]);
    while let Some((stage, first)) = open.pop() {
        for before in adjacency.stages_before(stage) {
            // The first stage on the way to the wanted one.
            let first = first.unwrap_or(before);
            match before.map(|before| (before, read.kind(before))) {
                None => makers.without = makers.without.or(Some(first)),
                Some((_, None)) => makers.is_unsure = true,
                Some((lobby, Some(StageKind::Lobby(_)))) => drop(makers.lobbies.insert(lobby)),
                Some((before, _)) if seen.insert(before) => open.push((before, Some(first))),
                Some(_) => {}
            }
        }
    }
    makers
}

/// The episodes of a lobby's group, over every way up to the next lobby: the sizes of groups, and whether there is
/// anything that they do together, as far as could be read.
fn played(index: u16, adjacency: &Adjacency, read: &Read<'_>) -> (BTreeSet<usize>, bool) {
    let (mut sizes, mut is_together) = (BTreeSet::new(), false);
    let (mut seen, mut open) = (BTreeSet::new(), vec![index]);
    while let Some(stage) = open.pop() {
        for after in adjacency.stages_after(stage).flatten() {
            match read.kind(after) {
                None => is_together = true,
                Some(StageKind::Lobby(_)) => {}
                Some(kind) => {
                    let people = match kind {
                        StageKind::Env(env) => env.people(),
                        _ => 1,
                    };
                    sizes.extend((people > 1).then_some(people));
                    is_together |= kind.is_together();
                    if seen.insert(after) {
                        open.push(after);
                    }
                }
            }
        }
    }
    (sizes, is_together)
}

/// Reports a lobby that is to bring groups together again of which there are none.
fn reunion(place: &Cursor<'_>, lobby: &Lobby, index: u16, read: &Read<'_>) {
    let Some(id) = &lobby.matching.reunite else {
        return;
    };
    let before = read.stages.iter().take(usize::from(index)).flatten();
    let lobbies = before.filter_map(|stage| match &stage.kind {
        StageKind::Lobby(lobby) => Some((stage.id.as_str(), lobby)),
        _ => None,
    });
    let lobbies: Vec<(&str, &Lobby)> = lobbies.collect();
    let known: Vec<&str> = lobbies.iter().map(|(id, _)| *id).collect();
    match lobbies.iter().find(|(known, _)| known == id) {
        Some((_, other)) if other.group_size == lobby.group_size => {}
        Some((_, other)) => place.wrong_at(
            "match.reunite",
            format!(
                "the groups of `{id}` have {} people, and these {}; make the two equal",
                other.group_size, lobby.group_size
            ),
        ),
        None if known.is_empty() => place.wrong_at(
            "match.reunite",
            format!("there is no lobby `{id}` before this one; name one that stands before"),
        ),
        None => place.wrong_at(
            "match.reunite",
            format!(
                "there is no lobby `{id}` before this one; {}",
                make_hint(id, &known)
            ),
        ),
    }
}

fn of_lobby(place: &Cursor<'_>, lobby: &Lobby, index: u16, adjacency: &Adjacency, read: &Read<'_>) {
    reunion(place, lobby, index, read);
    let is_apart = |after: Option<u16>| {
        let kind = after.map(|after| read.kind(after));
        !matches!(kind, Some(None | Some(StageKind::Env(_))))
    };
    let limits = [
        (
            "match.max_p2p_rtt_ms",
            lobby.matching.max_p2p_rtt_ms.is_some(),
        ),
        ("match.max_loss", lobby.matching.max_loss.is_some()),
    ];
    for (key, _) in limits.into_iter().filter(|(_, is_there)| *is_there) {
        if adjacency.stages_after(index).any(is_apart) {
            place.wrong_at(
                key,
                "pages measure it when they get ready to play, so an env stage must come right after the lobby; move what is \
                 between, or leave this out",
            );
        }
    }
    let (sizes, is_together) = played(index, adjacency, read);
    let size = usize::from(lobby.group_size);
    if !is_together {
        place.report_problem(
            "a lobby makes a group, but no stage that people play together follows it, up to the next lobby; put an env \
             stage with `partner` among its players, or a chat, after it, or remove the lobby",
        );
    }
    if let Some(people) = sizes.into_iter().find(|people| *people != size) {
        let message = format!(
            "groups of {size}, but an env stage that follows has {people} people; make the two equal"
        );
        place.wrong_at("group_size", message);
    }
}

fn of_env(place: &Cursor<'_>, env: &Env, index: u16, makers: &Makers, read: &Read<'_>) {
    let players = env.people();
    let message = without_group(index, makers, players, read);
    if let Some(message) = message {
        place.wrong_at("players", format!("{players} people, but {message}"));
    }
}

/// Returns why there may be no group at a stage, if so.
fn without_group(index: u16, makers: &Makers, size: usize, read: &Read<'_>) -> Option<String> {
    let without = makers.without.filter(|_| !makers.is_unsure)?;
    let lobby = format!(
        "`- {{id: lobby, type: lobby, group_size: {size}, timeout_s: 60, on_timeout: wait}}`"
    );
    Some(match without {
        _ if makers.lobbies.is_empty() => format!(
            "no lobby comes before this stage, so nobody would ever have a partner; add one: {lobby}"
        ),
        before => {
            let before = before.and_then(|before| read.stages[usize::from(before)].as_ref());
            let by = match before {
                Some(_) if without == Some(index) => " over an earlier copy of itself".to_owned(),
                Some(stage) => format!(" over `{}`", stage.id),
                None => String::new(),
            };
            format!(
                "this stage can be reached{by} without passing a lobby, so there would be no group; \
                 put lobby and stage into one block that is shuffled, chosen or guarded as a whole"
            )
        }
    })
}

/// Checks a stage at which a group writes to each other: that there is one, that its places are named, and that no AI
/// partner is to pass for a person.
fn of_writing(place: &Cursor<'_>, kind: &StageKind, index: u16, makers: &Makers, read: &Read<'_>) {
    let Some(writing) = kind.writing() else {
        return;
    };
    let (names, key) = match kind {
        StageKind::Env(_) => ("chat.names", "chat"),
        _ => ("names", "type"),
    };
    if matches!(kind, StageKind::Chat(_))
        && let Some(message) = without_group(index, makers, 2, read)
    {
        place.wrong_at(key, format!("a group writes here, but {message}"));
    }
    let lobbies = makers.lobbies.iter().filter_map(|lobby| {
        let stage = read.stages[usize::from(*lobby)].as_ref()?;
        match &stage.kind {
            StageKind::Lobby(lobby) => Some((stage.id.as_str(), lobby)),
            _ => None,
        }
    });
    let lobbies: Vec<(&str, &Lobby)> = lobbies.collect();
    let (count, given) = (writing.names.len(), !writing.names.is_empty());
    let other = |(_, lobby): &&(&str, &Lobby)| usize::from(lobby.group_size) != count;
    if let Some((id, lobby)) = lobbies.iter().find(other).filter(|_| given) {
        let message = format!(
            "{count} names, but the groups of `{id}` have {} places; write one name a place",
            lobby.group_size
        );
        place.wrong_at(names, message);
    }
    let called = lobbies
        .iter()
        .filter_map(|(id, lobby)| Some((format!("of `{id}`"), lobby.bot.as_ref()?)));
    let own: Vec<&AiPartner> = match kind {
        StageKind::Env(env) => env.ai_partners().collect(),
        _ => Vec::new(),
    };
    let own = own.into_iter().map(|bot| ("of this stage".to_owned(), bot));
    if let Some((whose, _)) = called.chain(own).find(|(_, bot)| !bot.disclose) {
        let message = format!(
            "the AI partner {whose} is not to be told from people, but does not write, so people would find out; write \
             `disclose: true` there, or leave the chat out"
        );
        place.wrong_at(key, message);
    }
}

/// Gives every env stage that needs an AI partner for a person who is gone the partner of the lobby before it, unless
/// it names its own; reports stages that have neither.
pub(crate) fn check_ai_partners(read: &mut Read<'_>, makers: &BTreeMap<u16, Makers>) {
    for index in 0..read.stages.len() as u16 {
        let makers = makers.get(&index);
        let named = makers.into_iter().flat_map(|makers| &makers.lobbies);
        let named = named.map(|lobby| match read.kind(*lobby) {
            Some(StageKind::Lobby(lobby)) => lobby.bot.clone(),
            _ => None,
        });
        // If there are several lobbies, each must name one.
        let named: Option<Vec<_>> = named.collect();
        let lobby = named.and_then(|named| named.into_iter().next());
        let is_unsure = makers.is_some_and(|makers| makers.is_unsure);
        let Some(StageKind::Env(env)) = read.stages[usize::from(index)]
            .as_mut()
            .map(|stage| &mut stage.kind)
        else {
            continue;
        };
        let terms = &mut env.on_disconnect;
        let calls = terms.list_calls().first().copied();
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
pub(crate) fn check_shared(read: &mut Read<'_>, design: &Design) {
    let mut tree = std::mem::take(&mut read.tree);
    mark(&mut tree, read, design);
    read.tree = tree;
}

/// Returns whether people of a group that was made before these nodes play in them, and whether a lobby is among them.
fn mark<'n>(
    nodes: impl IntoIterator<Item = &'n mut Node>,
    read: &Read<'_>,
    design: &Design,
) -> (bool, bool) {
    let (mut together, mut lobby) = (false, false);
    for node in nodes {
        let (inner, makes) = match node {
            Node::Stage(stage) => match read.kind(*stage) {
                Some(kind) => (kind.is_together(), matches!(kind, StageKind::Lobby(_))),
                None => (false, false),
            },
            Node::Block(block) => {
                let (inner, makes) = mark(&mut block.block, read, design);
                block.shared = inner;
                if let (true, Some(ForEach::Factor(name))) = (inner, &block.for_each)
                    && design.unit_of(name) == Unit::Participant
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
