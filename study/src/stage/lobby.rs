//! The waiting room that makes a group.

use std::collections::BTreeSet;

use serde::Serialize;

use super::ai_partner::{self, AiPartner};
use super::drawn_partner::DrawnPartner;
use crate::folder::Source;
use crate::formula::Formula;
use crate::limits::{MAX_FACTORS, MAX_SEATS};
use crate::outcome::{self, Outcome};
use crate::read::{Cursor, Fields};
use crate::yaml::Node;

/// The waiting room that makes a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lobby {
    /// People of a group.
    pub group_size: u8,
    /// The rules of matching.
    #[serde(rename = "match")]
    pub matching: Matching,
    /// The way in which people are asked whether they are still there.
    pub presence: PresenceCheck,
    /// Seconds until `on_timeout`.
    pub timeout_s: u32,
    /// The rule when that time is up.
    pub on_timeout: OnTimeout,
    /// Seconds for which the people of a group wait for each other before a later stage that they play together.
    pub regroup_s: u32,
    /// True if the others of a group come back when a page of it fails in its first episode.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rematch: bool,
    /// The AI partner; there if `on_timeout` is `bot` or `ask`.
    pub bot: Option<AiPartner>,
    /// The partner for which a participant waits, if the study draws it: a person, or an AI partner that comes as if it
    /// were one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partner: Option<DrawnPartner>,
    /// The bounds of the time after which such an AI partner comes, seconds, as long as too few people have waited here to
    /// draw one of their times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated_wait_s: Option<[u16; 2]>,
    /// The outcome of people who leave without a group.
    #[serde(rename = "else")]
    pub or_else: Outcome,
}

/// The rules of matching.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Matching {
    /// The order of the people who wait.
    pub order: MatchOrder,
    /// The longest round trip between two pages of a group, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_p2p_rtt_ms: Option<u16>,
    /// The greatest share of packets that may be lost between two pages of a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_loss: Option<f64>,
    /// A formula over `members` that a group fulfils. It is read once it is known what there is to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub composition: Option<Formula>,
    /// The factors of participants that the people of a group share; `None` if the study does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<Vec<String>>,
    /// The factors that they share in fact.
    #[serde(skip)]
    pub sharing: Sharing,
    /// True if people who were in a group together are kept apart.
    pub not_met_before: bool,
    /// The lobby before whose groups come together again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reunite: Option<String>,
}

/// The factors of participants that the people of a group share, known once the timeline is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// All shared factors: they split the waiting room.
    pub shared: BTreeSet<String>,
    /// The factors whose levels may differ within a group.
    pub free: BTreeSet<String>,
    /// The factors by which a guard around the lobby has already chosen who comes here.
    pub asked: Vec<String>,
}

/// The order of the people who wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchOrder {
    /// First come, first served.
    #[default]
    Fifo,
    /// Any, evenly.
    Random,
}

/// The way in which people who wait are asked whether they are still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PresenceCheck {
    /// Seconds of waiting until they are asked.
    pub prompt_after_s: u32,
    /// Seconds in which they answer.
    pub grace_s: u32,
}

impl Default for PresenceCheck {
    fn default() -> Self {
        Self {
            prompt_after_s: 60,
            grace_s: 15,
        }
    }
}

/// The rule of a lobby when its time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// AI partners take the places that are empty.
    Bot,
    /// The person waits on.
    Wait,
    /// The person leaves by `else`.
    Leave,
    /// The person chooses one of the three.
    Ask,
}

const DOC: &str = "The waiting room, in which groups are made.";

const ON_TIMEOUT: [(&str, OnTimeout); 4] = [
    ("bot", OnTimeout::Bot),
    ("wait", OnTimeout::Wait),
    ("leave", OnTimeout::Leave),
    ("ask", OnTimeout::Ask),
];

pub(super) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Lobby> {
    fields.about(DOC);
    let doc = "The number of people in a group. It must equal the number of people (`self`, `partner`) in the \
               `players` of the env stages that follow.";
    let group_size = fields.key("group_size", doc);
    let group_size = group_size.require_key("2", |place| place.read_whole(2..=MAX_SEATS, "people"));
    let matching = fields.key("match", "The rules for matching people.");
    let matching = matching.or(Matching::default(), |place| matching_of(&place));
    let doc = "The check that waiting participants are still there. Participants who do not answer lose their \
               place.";
    let presence = fields
        .key("presence", doc)
        .or(PresenceCheck::default(), |place| presence_of(&place));
    let timeout_s = fields.key(
        "timeout_s",
        "The waiting time until `on_timeout`, in seconds.",
    );
    let timeout_s = timeout_s.require_key("60", |place| place.read_whole(5..=3600, "seconds"));
    let doc = "What happens after `timeout_s`. `bot`: AI partners fill the empty places. `wait`: the participant \
               keeps waiting. `leave`: the session ends with the outcome `else`. `ask`: the participant chooses.";
    let on_timeout = fields.key("on_timeout", doc);
    let on_timeout = on_timeout.require_key("bot", |place| place.read_word("choice", &ON_TIMEOUT));
    let doc = "The longest time that a group waits for its members before a later stage that it plays together, in \
               seconds. Then `on_disconnect` of that stage decides about missing members.";
    let regroup_s = fields.key("regroup_s", doc);
    let regroup_s = regroup_s.or(300, |place| place.read_whole(5..=3600, "seconds"));
    let doc = "With `true`, participants come back for a new group when the page of a member fails in the first episode of \
               theirs, and `on_disconnect` ends this episode. By default, the session continues, and its outcome is \
               `partner_left`.";
    let rematch = fields.key("rematch", doc);
    let rematch = rematch.or(false, |place| place.read_flag());
    let bot = fields.key(
        "bot",
        "The AI partner. Needed with `on_timeout: bot` or `ask`.",
    );
    let there = bot.place.is_some();
    let bot = bot.maybe(|place| ai_partner::read(source, &place));
    let doc = "The partner that people wait for, in a waiting room that looks the same for all: a name of `partners`, or \
               `\"{{ factor }}\"`. For a person, people are matched. An AI partner comes as if it were one, with \
               `disclose: false`.";
    let partner = fields
        .key("partner", doc)
        .maybe(|place| place.text(200).map(DrawnPartner::of));
    let doc = "The shortest and the longest time until such an AI partner comes, in seconds. Once five people were matched \
               here since the server started, the wait of one of the last twenty is used instead. A `debrief` stage must \
               tell participants, and say so in `reveals`.";
    let simulated = fields.key("simulated_wait_s", doc);
    let simulated = simulated.maybe(|place| simulated_wait(&place));
    let doc = "The outcome of participants who leave without a group.";
    let or_else = fields.key("else", doc);
    let or_else = or_else.or(Outcome::LobbyTimeout, |place| outcome::read(&place));
    let on_timeout = on_timeout?;
    check_bot(fields, on_timeout, there)?;
    let (matching, bot) = (matching?, bot?);
    if on_timeout == OnTimeout::Ask && bot.as_ref().is_some_and(|bot| !bot.disclose) {
        let message = "with `on_timeout: ask` people choose the AI partner, so they know of it; write `true`, or another `on_timeout`";
        fields.whole.wrong_at("bot.disclose", message);
        return None;
    }
    let (partner, simulated_wait_s, timeout_s) = (partner?, simulated?, timeout_s?);
    if simulated_wait_s.is_some_and(|[_, most]| u32::from(most) >= timeout_s) {
        let message = format!(
            "waits longer than people do, whose time is up after `timeout_s: {timeout_s}`; write less"
        );
        fields.whole.wrong_at("simulated_wait_s", message);
        return None;
    }
    if partner.is_none() && simulated_wait_s.is_some() {
        let message = "never used, as no AI partner comes here as if it were a person; name one in `partner`, or remove it";
        fields.whole.wrong_at("simulated_wait_s", message);
        return None;
    }
    if on_timeout == OnTimeout::Wait && matching.reunite.is_some() {
        let message = "if somebody of the group has left, the others would wait for ever; write `bot`, `leave` or `ask`";
        fields.whole.wrong_at("on_timeout", message);
        return None;
    }
    Some(Lobby {
        group_size: group_size?,
        matching,
        presence: presence?,
        timeout_s,
        on_timeout,
        regroup_s: regroup_s?,
        rematch: rematch?,
        bot,
        partner,
        simulated_wait_s,
        or_else: or_else?,
    })
}

/// Reads the bounds of a simulated wait.
fn simulated_wait(place: &Cursor<'_>) -> Option<[u16; 2]> {
    let places = place.list_of("times, the shortest and the longest", 2..=2)?;
    let times: Vec<Option<u16>> = places
        .iter()
        .map(|place| place.read_whole(1..=3600, "seconds"))
        .collect();
    let times: Vec<u16> = times.into_iter().collect::<Option<_>>()?;
    let &[least, most] = times.as_slice() else {
        return None;
    };
    if least > most {
        place.report_problem(format!("the shortest time, {least}, is longer than the longest, {most}; write `[{most}, {least}]`"));
        return None;
    }
    Some([least, most])
}

/// Checks that an AI partner is there if one may be called, and only then.
fn check_bot(fields: &Fields<'_>, on_timeout: OnTimeout, there: bool) -> Option<()> {
    let path = format!("{}.bot", fields.whole.path);
    let word = fields
        .whole
        .node
        .get("on_timeout")
        .map(Node::what)
        .unwrap_or_default();
    let word = word.trim_matches('`');
    match (on_timeout, there) {
        (OnTimeout::Bot | OnTimeout::Ask, false) => {
            let message = format!(
                "missing, but `on_timeout: {word}` needs it; write for example `bot: {{policy: cook, disclose: true}}`"
            );
            fields.whole.report.add(fields.at(), &path, message);
            None
        }
        (OnTimeout::Wait | OnTimeout::Leave, true) => {
            let message = format!(
                "never used, as `on_timeout` is `{word}`; remove it or write `on_timeout: bot`"
            );
            fields.whole.wrong_at("bot", message);
            None
        }
        _ => Some(()),
    }
}

fn matching_of(place: &Cursor<'_>) -> Option<Matching> {
    let mut fields = place.fields("who is put together")?;
    let orders = [("fifo", MatchOrder::Fifo), ("random", MatchOrder::Random)];
    let doc = "The order in which people are matched and take their seats. `fifo`: by arrival. `random`: at random.";
    let order = fields
        .key("order", doc)
        .or(MatchOrder::Fifo, |place| place.read_word("order", &orders));
    let doc = "The longest allowed round trip between any two pages of a group, in milliseconds. The pages measure \
               it.";
    let rtt = fields
        .key("max_p2p_rtt_ms", doc)
        .maybe(|place| place.read_whole(1..=5_000, "milliseconds"));
    let doc = "The greatest allowed share of lost packets between any two pages of a group, in either direction.";
    let loss = fields
        .key("max_loss", doc)
        .maybe(|place| place.read_number(0.0..=1.0, ""));
    let doc = "A formula over `members`. A group is made only if it holds.";
    let composition = fields
        .key("composition", doc)
        .maybe(|place| place.text(1_000));
    let composition = composition.map(|_| None);
    let doc = "Factors that are assigned per participant and whose level is the same for all members of a group. Each \
               of them splits the waiting room. Factors that a shared stage uses are always the same.";
    let same = fields.key("same", doc).maybe(|place| {
        let names = place.list_of("factors", 0..=MAX_FACTORS)?;
        names.iter().map(Cursor::id).collect::<Option<Vec<_>>>()
    });
    let doc = "Whether people who were in one group before are kept apart.";
    let apart = fields
        .key("not_met_before", doc)
        .or(false, |place| place.read_flag());
    let doc = "The id of an earlier lobby. Its groups are made again, with the same places.";
    let reunite = fields.key("reunite", doc).maybe(|place| place.id());
    fields.done();
    let (apart, reunite) = (apart?, reunite?);
    if apart && reunite.is_some() {
        place.wrong_at(
            "not_met_before",
            "keeps people apart, but `reunite` puts the same people together; use only one of the two",
        );
        return None;
    }
    Some(Matching {
        order: order?,
        max_p2p_rtt_ms: rtt?,
        max_loss: loss?,
        composition: composition?,
        same: same?,
        sharing: Sharing::default(),
        not_met_before: apart,
        reunite,
    })
}

fn presence_of(place: &Cursor<'_>) -> Option<PresenceCheck> {
    let mut fields = place.fields("how people are asked whether they are there")?;
    let usual = PresenceCheck::default();
    let prompt = fields.key(
        "prompt_after_s",
        "The time without a key, touch or pointer movement until the check, in seconds.",
    );
    let prompt = prompt.or(usual.prompt_after_s, |place| {
        place.read_whole(5..=3600, "seconds")
    });
    let grace = fields.key("grace_s", "The time to answer the check, in seconds.");
    let grace = grace.or(usual.grace_s, |place| place.read_whole(5..=600, "seconds"));
    fields.done();
    Some(PresenceCheck {
        prompt_after_s: prompt?,
        grace_s: grace?,
    })
}
