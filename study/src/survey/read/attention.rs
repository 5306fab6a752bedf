//! Reads which items show whether people read the questions.

use ::survey::MOST;

use crate::problem::make_hint;
use crate::read::Cursor;
use crate::survey::{Attention, Purpose, Survey};

pub(super) fn read_attention(place: &Cursor<'_>) -> Option<Attention> {
    let mut fields = place.fields("attention items")?;
    let items = fields.key("items", "The names of elements with a `correctAnswer`.");
    let items = items.require_key("[imc]", |place| {
        let places = place.list("names", MOST)?;
        places
            .iter()
            .map(|place| place.text(60))
            .collect::<Option<Vec<_>>>()
    });
    let doc = "`flag`: wrong answers are flagged in the data. Nothing else happens.";
    let purpose = fields.key("use", doc);
    let purpose = purpose.or(Purpose::Flag, |place| {
        place.read_word("choice", &[("flag", Purpose::Flag)])
    });
    fields.done();
    Some(Attention {
        items: items?,
        purpose: purpose?,
    })
}

pub(super) fn check_attention(
    survey: &Survey,
    attention: &Attention,
    place: &Cursor<'_>,
) -> Option<()> {
    let names: Vec<&str> = survey.names().collect();
    let mut whole = Some(());
    for (index, name) in attention.items.iter().enumerate() {
        let message = match names.contains(&name.as_str()) {
            true if survey.correct.contains_key(name) => continue,
            true => format!("`{name}` has no right answer; give the element a `correctAnswer`"),
            false => format!(
                "the form has no element `{name}`; {}",
                make_hint(name, &names)
            ),
        };
        place.wrong_at(&format!("items[{index}]"), message);
        whole = None;
    }
    whole
}
