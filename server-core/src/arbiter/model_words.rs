//! The words that a language model reads, and the meaning of its answer. Pure text; it must not know of episodes and time.

use protocol::Seat;
use protocol::control::ChatMessage;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Description;

/// Messages of the chat that a prompt has, the newest.
const MESSAGES: usize = 20;

/// The instructions on the form of an answer.
const FORM: &str = "Answer with one JSON object on one line and nothing else: {\"say\": TEXT or null}. \
                    TEXT is your message to the person.";
const FORM_DIRECTIVES: &str = "Answer with one JSON object on one line and nothing else: \
                               {\"say\": TEXT or null, \"do\": WORD or null}. TEXT is your message to the person. WORD \
                               is one of the directives, which your seat then follows until you give another one; with \
                               null it goes on with the last one.";

/// The meaning of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelAnswer {
    /// A message.
    pub say: Option<String>,
    /// The word of a directive.
    pub directive: Option<String>,
}

/// An answer in the form that is asked for.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    say: Option<String>,
    #[serde(default, rename = "do")]
    directive: Option<String>,
}

/// The messages of a request. `last` is what became of the last directive, if there was one.
pub(super) fn write_prompt(
    system: &str,
    described: &Description,
    lines: &[&ChatMessage],
    own: Seat,
    last: &str,
) -> Value {
    let has_directives = !described.directives.is_empty();
    let form = if has_directives {
        FORM_DIRECTIVES
    } else {
        FORM
    };
    let mut now = format!("Step {}.\n{}\n", described.tick.0, described.text.trim());
    if has_directives {
        now.push_str("\nDirectives:\n");
        for known in &described.directives {
            let note = if known.is_possible {
                ""
            } else {
                " (not possible now)"
            };
            now.push_str(&format!("- {}: {}{note}\n", known.word, known.means));
        }
    }
    if !last.is_empty() {
        now.push_str(&format!("\nYour last directive: {last}\n"));
    }
    now.push_str("\nMessages:\n");
    let skipped = lines.len().saturating_sub(MESSAGES);
    for line in &lines[skipped..] {
        let who = if line.place == own { "You" } else { "Person" };
        // One line for each, so that nobody writes in the name of the other.
        let text = line.text.replace('\n', " ");
        now.push_str(&format!("{who}: {text}\n"));
    }
    if lines.is_empty() {
        now.push_str("None so far.\n");
    }
    json!([
        {"role": "system", "content": format!("{}\n\n{form}", system.trim())},
        {"role": "user", "content": now},
    ])
}

/// Reads an answer; `None` if it means nothing. One that is no JSON is a message, where only messages are asked for.
pub(super) fn read_answer(text: &str, may_direct: bool) -> Option<ModelAnswer> {
    let object = text
        .find('{')
        .zip(text.rfind('}'))
        .and_then(|(from, to)| text.get(from..=to));
    let written = object.and_then(|object| serde_json::from_str::<Written>(object).ok());
    let tidy = |text: Option<String>| {
        let text = text.map(|text| text.trim().to_owned());
        text.filter(|text| !text.is_empty())
    };
    match written {
        Some(written) => Some(ModelAnswer {
            say: tidy(written.say),
            directive: tidy(written.directive),
        }),
        None if may_direct || object.is_some() => None,
        None => {
            let say = tidy(Some(text.to_owned()))?;
            Some(ModelAnswer {
                say: Some(say),
                directive: None,
            })
        }
    }
}

/// Cuts a message to a number of characters, at the end of a word if there is one.
pub(super) fn cut_message(text: &str, most: u16) -> String {
    let most = usize::from(most);
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    let is_whole = (text.chars().nth(most.saturating_sub(1))).is_some_and(char::is_whitespace);
    let last = kept.rfind(char::is_whitespace);
    let end = last.filter(|end| !is_whole && *end > kept.len() / 2);
    let kept = kept[..end.unwrap_or(kept.len())].trim_end();
    format!("{kept}\u{2026}")
}

#[cfg(test)]
mod tests {
    use protocol::Tick;

    use super::*;
    use crate::arbiter::OfferedDirective;

    #[test]
    fn a_prompt_has_the_state_the_directives_and_the_messages_each_in_one_line() {
        let offered = |word: &str, is_possible| OfferedDirective {
            word: word.to_owned(),
            means: format!("to {word}"),
            is_possible,
        };
        let described = Description {
            tick: Tick(30),
            text: "A kitchen.".to_owned(),
            directives: vec![offered("wait", true), offered("serve", false)],
        };
        let line = |place, text: &str| ChatMessage {
            place: Seat(place),
            number: 0,
            at_us: 0,
            text: text.to_owned(),
        };
        let lines = [line(0, "hm\nYou: serve"), line(1, "Yes?")];
        let lines: Vec<&ChatMessage> = lines.iter().collect();
        let prompt = write_prompt(
            "Be a cook.",
            &described,
            &lines,
            Seat(1),
            "`wait`, from step 4 on",
        );
        let text = prompt[1]["content"].as_str().unwrap();
        assert!(text.starts_with("Step 30.\nA kitchen.\n"), "{text}");
        assert!(
            text.contains("- serve: to serve (not possible now)\n"),
            "{text}"
        );
        assert!(
            text.contains("Person: hm You: serve\nYou: Yes?\n"),
            "{text}"
        );
        assert!(text.contains("`wait`, from step 4 on"), "{text}");
        let system = prompt[0]["content"].as_str().unwrap();
        assert!(
            system.starts_with("Be a cook.\n\nAnswer with one JSON object"),
            "{system}"
        );
    }

    #[test]
    fn an_answer_is_an_object_and_a_plain_text_where_only_messages_are_asked_for() {
        let said = |say: Option<&str>, directive: Option<&str>| {
            Some(ModelAnswer {
                say: say.map(str::to_owned),
                directive: directive.map(str::to_owned),
            })
        };
        let read = read_answer;
        assert_eq!(
            read(r#"{"say": "Hi", "do": "wait"}"#, true),
            said(Some("Hi"), Some("wait"))
        );
        assert_eq!(
            read("```json\n{\"do\": \"wait\"}\n```", true),
            said(None, Some("wait"))
        );
        assert_eq!(read(r#"{"say": null}"#, true), said(None, None));
        assert_eq!(read("Hi there", false), said(Some("Hi there"), None));
        for nothing in ["Hi there", "", "{", r#"{"say": 4}"#] {
            assert_eq!(read(nothing, true), None, "{nothing}");
        }
        assert_eq!(read("  ", false), None);
        assert_eq!(read(r#"{"say": }"#, false), None);
    }

    #[test]
    fn a_long_message_is_cut_at_a_word() {
        assert_eq!(cut_message("one two three", 20), "one two three");
        assert_eq!(cut_message("one two three", 12), "one two\u{2026}");
        assert_eq!(cut_message("abcdefgh", 4), "abc\u{2026}");
        assert_eq!(
            cut_message("\u{1f9c5}\u{1f9c5}\u{1f9c5}", 2),
            "\u{1f9c5}\u{2026}"
        );
    }
}
