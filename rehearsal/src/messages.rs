//! Compares the messages that bots wrote to each other with the table of messages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use dataset::cells::unquote_cell;
use serde::Deserialize;
use study::{StageKind, Study};

use super::record::Record;

/// A message in the exported table. No two messages of a rehearsal have the same text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Message {
    stage_id: String,
    group_id: String,
    episode_id: String,
    participant_id: String,
    #[serde(default)]
    partner: String,
    number: u32,
    tick: Option<u32>,
    at_unix_us: u64,
    text: String,
}

/// The messages in the data.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages(Vec<Message>);

impl Messages {
    /// Reads an exported table.
    ///
    /// # Errors
    /// The table cannot be read.
    pub(super) fn read(table: &Path) -> anyhow::Result<Self> {
        let mut reader = csv::Reader::from_path(table)?;
        let all: Result<Vec<Message>, csv::Error> = reader.deserialize().collect();
        let mut all = all.with_context(|| format!("the table {}", table.display()))?;
        for message in &mut all {
            message.text = unquote_cell(&message.text).into_owned();
        }
        Ok(Self(all))
    }

    /// The messages of a participant.
    pub(super) fn sent_by<'a>(&'a self, participant: &'a str) -> impl Iterator<Item = &'a str> {
        let own = self.0.iter();
        let own = own.filter(move |message| message.participant_id == participant);
        own.map(|message| message.text.as_str())
    }

    /// Problems of the messages by themselves: each belongs to a stage at which people write, to an episode if the
    /// stage has any, and has a unique number in the order of its group.
    pub(super) fn list_wrong(&self, study: &Study) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut last: BTreeMap<&str, (u32, u64)> = BTreeMap::new();
        for message in &self.0 {
            let mut stages = study.timeline.iter();
            let stage = stages.find(|stage| stage.id == message.stage_id);
            let kind = stage.map(|stage| &stage.kind);
            let writes = kind.is_some_and(|kind| kind.writing().is_some());
            let is_beside = matches!(kind, Some(StageKind::Env(_)));
            let is_of_it = is_beside != message.episode_id.is_empty();
            if !writes || !is_of_it || message.tick.is_some() && !is_beside {
                wrong.push(format!("a message cannot have come about so: {message:?}"));
            }
            let order = (message.number, message.at_unix_us);
            let before = last.insert(&message.group_id, order);
            if before.is_some_and(|(number, at_unix_us)| number >= order.0 || at_unix_us > order.1)
            {
                wrong.push(format!(
                    "a message is not in the order of its group: {message:?}"
                ));
            }
        }
        wrong
    }

    /// Problems of the messages that a session wrote and read: every message that anybody was shown is stored once,
    /// unless its author has withdrawn; and no message is stored twice, or was never written.
    pub(super) fn held_against(
        &self,
        record: &Record,
        participant: &str,
        withdrawn: &BTreeSet<String>,
    ) -> Vec<String> {
        let of_people = || self.0.iter().filter(|known| known.partner.is_empty());
        let count = |text: &str| of_people().filter(|known| known.text == text).count();
        // A language model may say the same thing twice.
        let of_model = |text: &str| {
            let mut all = self.0.iter();
            all.any(|known| !known.partner.is_empty() && known.text == text)
        };
        let shown = record.heard.difference(withdrawn);
        let shown = shown.filter(|text| !of_model(text));
        let lost = shown.filter(|text| count(text) != 1).map(|text| {
            let times = count(text);
            format!("the data have the message {text:?}, which was shown, {times} times")
        });
        let unshown = record.wrote.difference(&record.heard);
        let twice = unshown.filter(|text| count(text) > 1);
        let twice = twice.map(|text| format!("the data have a message more than once: {text:?}"));
        let extra = self.sent_by(participant);
        let extra = extra.filter(|text| !record.wrote.contains(*text));
        let extra =
            extra.map(|text| format!("the data have a message that was not written: {text:?}"));
        lost.chain(twice).chain(extra).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(participant: &str, number: u32, text: &str) -> Message {
        Message {
            stage_id: "plan".to_owned(),
            group_id: "G-1".to_owned(),
            participant_id: participant.to_owned(),
            number,
            at_unix_us: u64::from(number),
            text: text.to_owned(),
            ..Message::default()
        }
    }

    fn texts(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_message_that_was_shown_and_is_not_there_is_found_and_so_is_one_that_nobody_wrote() {
        let of = |wrote: &[&str], heard: &[&str]| Record {
            wrote: texts(wrote),
            heard: texts(heard),
            ..Record::default()
        };
        let all = Messages(vec![message("P-1", 0, "mine"), message("P-2", 1, "yours")]);
        let wrong = |record: &Record, withdrawn: &[&str]| {
            all.held_against(record, "P-1", &texts(withdrawn))
                .join("; ")
        };
        assert_eq!(wrong(&of(&["mine"], &["mine", "yours"]), &[]), "");
        assert_eq!(
            wrong(&of(&["mine", "late"], &["mine"]), &[]),
            "",
            "it was never taken"
        );
        assert!(wrong(&of(&["mine", "gone"], &["mine", "gone"]), &[]).contains("\"gone\""));
        assert!(wrong(&of(&["mine"], &["theirs"]), &[]).contains("0 times"));
        assert_eq!(wrong(&of(&["mine"], &["theirs"]), &["theirs"]), "");
        assert!(wrong(&of(&[], &[]), &[]).contains("not written"));
        let twice = Messages(vec![message("P-1", 0, "mine"), message("P-1", 1, "mine")]);
        let none = BTreeSet::new();
        for heard in [&["mine"][..], &[]] {
            let found = twice.held_against(&of(&["mine"], heard), "P-1", &none);
            assert_eq!(found.len(), 1, "{found:?}");
        }
    }

    #[test]
    fn a_message_of_no_stage_at_which_one_writes_or_out_of_order_is_found() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/rehearsal");
        let (study, _) = catalog::read_study(&folder).unwrap();
        let beside = Message {
            stage_id: "play".to_owned(),
            episode_id: "E-1".to_owned(),
            tick: Some(3),
            ..message("P-1", 2, "beside")
        };
        let fine = Messages(vec![
            message("P-1", 0, "a"),
            message("P-2", 1, "b"),
            beside.clone(),
        ]);
        assert_eq!(fine.list_wrong(&study), Vec::<String>::new());
        let at = |stage_id: &str| Message {
            stage_id: stage_id.to_owned(),
            ..beside.clone()
        };
        for wrong in [at("plan"), at("alone"), at("nowhere")] {
            assert_eq!(Messages(vec![wrong]).list_wrong(&study).len(), 1);
        }
        let again = [message("P-1", 1, "a"), message("P-2", 1, "b")];
        assert!(Messages(again.to_vec()).list_wrong(&study)[0].contains("order"));
    }
}
