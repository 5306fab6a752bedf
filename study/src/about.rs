//! The block `study` of the file: what the study is, and how long it keeps its data.

use serde::Serialize;

use crate::read::{Cursor, Fields};
use crate::text::{self, Languages, Text};

/// The block `study` of the file.
#[derive(Serialize)]
pub(crate) struct About {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) title: Text,
    pub(crate) contact: String,
    #[serde(skip_serializing_if = "is_true")]
    pub(crate) help_button: bool,
    pub(crate) language: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) languages: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<String>,
    #[serde(flatten)]
    pub(crate) keeping: Keeping,
}

impl About {
    /// The languages that its texts are in.
    pub(crate) fn languages(&self) -> Languages<'_> {
        Languages {
            own: &self.language,
            all: &self.languages,
        }
    }
}

/// The times for which a participant's data are kept, and a session waits for its participant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Keeping {
    /// Days after which recorded data are erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<u16>,
    /// The data that are erased when a participant withdraws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_withdraw: Option<OnWithdraw>,
    /// The rule for the data of a participant who leaves early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_leave: Option<OnLeave>,
    /// Hours after which a session that was left cannot be taken up again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_h: Option<u16>,
}

/// The data that are erased when a participant withdraws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnWithdraw {
    /// Their own data; the data of their partners stay.
    EraseOwn,
    /// The episodes of their groups too.
    EraseGroup,
}

/// The rule for the data of a participant who leaves early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLeave {
    /// They stay.
    Keep,
    /// They are erased, as if the participant had withdrawn them.
    Erase,
}

/// Leaves a key out that has its default.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_true(value: &bool) -> bool {
    *value
}

/// Reads it.
pub(crate) fn read(place: &Cursor<'_>) -> Option<About> {
    let mut fields = place.fields("what the study is")?;
    let id = fields.key("id", "The name of the study in data and files.");
    let id = id.require_key("my-study", |place| place.id());
    let version = fields.key("version", "Your own version number.");
    let version = version.require_key("1.0.0", |place| place.text(40));
    let doc = "The main language of the study, such as `en` or `pt-BR`. Every text by language must include it.";
    let language = fields
        .key("language", doc)
        .or("en".to_owned(), |place| text::read_language(&place));
    let own = language.as_deref().unwrap_or("en");
    let doc = "The languages that participants can choose, including `language`. Every page and every text by \
               language must exist in each. By default the languages in which the title and all pages exist.";
    let languages = fields
        .key("languages", doc)
        .or(Vec::new(), |place| text::read_languages(&place, own));
    let all = languages.as_deref().unwrap_or_default();
    let known = Languages { own, all };
    let title = fields.key("title", "The title at the top of every page.");
    let title = title.require_key("Cooking together", |place| text::read(&place, known, 200));
    let contact = fields.key(
        "contact",
        "The contact for participants, such as an e-mail address.",
    );
    let contact = contact.require_key("lab@example.edu", |place| place.text(200));
    let doc = "Whether every page has a button with which participants write to the researchers, who answer at the \
               dashboard. Without it, they can only answer. By default `true`.";
    let help_button = fields.key("help_button", doc);
    let help_button = help_button.or(true, |place| place.read_flag());
    let doc =
        "The protocol number of the ethics board. It is stored with the study in the data folder.";
    let protocol = fields.key("protocol", doc).maybe(|place| place.text(100));
    let keeping = keeping(&mut fields);
    fields.done();
    Some(About {
        id: id?,
        version: version?,
        title: title?,
        contact: contact?,
        help_button: help_button?,
        language: language?,
        languages: languages?,
        protocol: protocol?,
        keeping: keeping?,
    })
}

fn keeping(fields: &mut Fields<'_>) -> Option<Keeping> {
    let days = fields.key(
        "retention_days",
        "The retention period, in days. Recorded data are erased this many days after the participant was last \
         seen; outcome and payment stay. By default nothing is erased.",
    );
    let days = days.maybe(|place| place.read_whole(1..=36_500, "days"));
    let ways = [
        ("erase_own", OnWithdraw::EraseOwn),
        ("erase_group", OnWithdraw::EraseGroup),
    ];
    let doc = "What is erased when a participant withdraws. `erase_own`: the participant's own data; partners keep \
               their part of shared episodes. `erase_group`: also the episodes of their groups. By default \
               `erase_own`.";
    let withdraw = fields
        .key("on_withdraw", doc)
        .maybe(|place| place.read_word("choice", &ways));
    let choices = [("keep", OnLeave::Keep), ("erase", OnLeave::Erase)];
    let doc = "What becomes of the data of a participant who leaves with the button. `keep`: they stay. `erase`: they \
               are erased as `on_withdraw` says. By default `keep`.";
    let leave = fields
        .key("on_leave", doc)
        .maybe(|place| place.read_word("choice", &choices));
    let doc = "The time after which an abandoned session ends as `timed_out`, in hours. By default three times \
               `recruitment.minutes`, for sessions that have passed their first stage.";
    let hours = fields
        .key("expires_h", doc)
        .maybe(|place| place.read_whole(1..=8_760, "hours"));
    Some(Keeping {
        retention_days: days?,
        on_withdraw: withdraw?,
        on_leave: leave?,
        expires_h: hours?,
    })
}
