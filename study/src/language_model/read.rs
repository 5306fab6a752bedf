//! Reads a language model.

use serde_json::{Map, Value};

use super::{
    AskSchedule, Fallback, LanguageModel, ModelProvider, ModelTranscript, SpendingLimits,
    TokenPrice, WritingStyle,
};
use crate::folder::{self, Source};
use crate::limits::{MAX_CHAT_LENGTH, MAX_PAGE, MAX_TRANSCRIPT};
use crate::read::{Cursor, Fields};

/// The providers in the study file.
#[derive(Clone, Copy)]
enum Way {
    OpenAi,
    Mock,
}

/// Keys of the request that Coplay writes itself.
const OWN_KEYS: [&str; 6] = ["model", "messages", "max_tokens", "stream", "n", "api_key"];

/// Reads the language model of a partner, which participants know by this name.
pub(crate) fn read(
    source: Source<'_>,
    place: &Cursor<'_>,
    name: &str,
    shown_as: Option<&str>,
) -> Option<LanguageModel> {
    let mut fields = place.fields("a language model")?;
    fields.about(
        "A language model that writes messages, and may tell the policy of its seat what to do.",
    );
    let provider = provider(source, &mut fields);
    let doc = "The name of the model, as its provider has it, such as `llama3.1:8b`.";
    let model = fields
        .key("model", doc)
        .or("mock".to_owned(), |place| place.text(200));
    let doc = "A text file: the instructions that the model gets first. `{{ factor }}` stands for the level of a factor.";
    let prompt = fields
        .key("prompt", doc)
        .require_key("assistant.md", |place| {
            let file = place.file("file")?;
            folder::read_text(source.dir, &place, &file, MAX_PAGE, "assistant.md")
        });
    let doc = "Further keys of the request, as the provider takes them, such as `{temperature: 0.2, seed: 7}`.";
    let parameters = fields
        .key("parameters", doc)
        .or(Map::new(), |place| parameters(&place));
    let doc = "The maximum number of tokens of an answer.";
    let max_tokens = fields
        .key("max_tokens", doc)
        .or(200, |place| place.read_whole(1..=4_096, "tokens"));
    let schedule = schedule(&mut fields);
    let doc = "The time after which a request has failed and the fallback is used, in seconds, with all repetitions.";
    let timeout_s = fields
        .key("timeout_s", doc)
        .or(15, |place| place.read_whole(1..=120, "seconds"));
    let doc = "How often a request is repeated at most, if the provider is busy or has a fault.";
    let retries = fields
        .key("retries", doc)
        .or(2, |place| place.read_whole(0..=5, ""));
    let style = style(&mut fields);
    let doc = "What happens if no answer comes in time, or none that can be used.";
    let fallback = fields
        .key("fallback", doc)
        .or(Fallback::default(), |place| fallback(&place));
    let doc = "The price of a million tokens. Without it, requests count as free.";
    let price = fields.key("price", doc).maybe(|place| price(&place));
    let doc = "What the model may cost. A request that could go beyond is not made; the fallback is used instead.";
    let limits = fields
        .key("limits", doc)
        .or(usual_limits(), |place| limits(&place));
    fields.done();
    let (price, limits) = (price?, limits?);
    let has_limit = limits.session_cost.is_some() || limits.study_cost.is_some();
    if has_limit && price.is_none() {
        let message = "a limit on cost needs the price of tokens; write for example `price: {input: 0.15, output: 0.60}`, \
                       or limit `requests` alone";
        place.wrong_at("limits", message);
        return None;
    }
    Some(LanguageModel {
        name: name.to_owned(),
        shown_as: shown_as.unwrap_or(name).to_owned(),
        provider: provider?,
        model: model?,
        prompt: prompt?,
        parameters: parameters?,
        max_tokens: max_tokens?,
        schedule: schedule?,
        timeout_s: timeout_s?,
        retries: retries?,
        style: style?,
        fallback: fallback?,
        price,
        limits,
    })
}

fn provider(source: Source<'_>, fields: &mut Fields<'_>) -> Option<ModelProvider> {
    let ways = [("openai", Way::OpenAi), ("mock", Way::Mock)];
    let doc = "Where answers come from. `openai`: an endpoint that speaks the protocol of OpenAI, which most providers, \
               llama.cpp, Ollama and vLLM do. `mock`: a recorded transcript, for tests and rehearsals.";
    let way = fields
        .key("provider", doc)
        .require_key("openai", |place| place.read_word("provider", &ways));
    let doc = "For `openai`: the address of the endpoint up to `/chat/completions`, such as `http://127.0.0.1:11434/v1`.";
    let url = fields.key("url", doc).maybe(|place| address(&place));
    let doc = "For `mock`: the file of the transcript.";
    let transcript = fields
        .key("transcript", doc)
        .maybe(|place| transcript(source, &place));
    let (way, url, transcript) = (way?, url?, transcript?);
    let place = &fields.whole;
    match (way, url, transcript) {
        (Way::OpenAi, Some(url), None) => Some(ModelProvider::OpenAi { url }),
        (Way::Mock, None, Some(transcript)) => Some(ModelProvider::Mock { transcript }),
        (Way::OpenAi, None, _) => {
            place.wrong_at("url", "missing; write the address of the endpoint, such as `url: http://127.0.0.1:11434/v1`");
            None
        }
        (Way::Mock, _, None) => {
            place.wrong_at(
                "transcript",
                "missing; name the file with the answers, such as `transcript: answers.json`",
            );
            None
        }
        (Way::OpenAi, Some(_), Some(_)) => {
            place.wrong_at("transcript", "only for `provider: mock`; remove it");
            None
        }
        (Way::Mock, Some(_), Some(_)) => {
            place.wrong_at("url", "only for `provider: openai`; remove it");
            None
        }
    }
}

fn address(place: &Cursor<'_>) -> Option<String> {
    let url = place.text(500)?;
    let rest = ["https://", "http://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else {
        place.report_problem(format!(
            "`{url}` is no address; write one such as `https://llm.example.edu/v1`"
        ));
        return None;
    };
    let host = rest.split('/').next().unwrap_or_default();
    if host.contains('@') || rest.contains(['?', '#', ' ']) {
        place.report_problem("keys and queries do not belong into a study file; write the address alone, and give the key to `coplay serve --model-key`");
        return None;
    }
    Some(url.trim_end_matches('/').to_owned())
}

fn transcript(source: Source<'_>, place: &Cursor<'_>) -> Option<ModelTranscript> {
    let file = place.file("file")?;
    let text = folder::read_text(source.dir, place, &file, MAX_TRANSCRIPT, "answers.json")?;
    match serde_json::from_str::<ModelTranscript>(&text) {
        Ok(transcript) if transcript.answers.is_empty() => {
            place.report_problem(format!("`{file}` has no answers; write at least one, such as `{{\"answers\": [{{\"answer\": \"Hello\"}}]}}`"));
            None
        }
        Ok(transcript) => Some(transcript),
        Err(error) => {
            place.report_problem(format!("`{file}` is no transcript: {error}; write `{{\"answers\": [{{\"answer\": \"Hello\"}}]}}`"));
            None
        }
    }
}

fn parameters(place: &Cursor<'_>) -> Option<Map<String, Value>> {
    place.read_entries("keys of the request")?;
    let Value::Object(map) = place.json() else {
        return None;
    };
    let is_secret = |key: &str| {
        let key = key.to_ascii_lowercase();
        key.contains("key") || key.contains("authorization") || key.contains("secret")
    };
    let own = map
        .keys()
        .find(|key| OWN_KEYS.contains(&key.as_str()) || is_secret(key));
    if let Some(key) = own {
        let message = match is_secret(key) {
            true => {
                "a key does not belong into a study file; remove it, and give the key to `coplay serve --model-key`"
            }
            false => {
                "is written by Coplay itself; remove it, and use the key of the language model with this meaning if there is one"
            }
        };
        place.wrong_at(key, message);
        return None;
    }
    Some(map)
}

fn schedule(fields: &mut Fields<'_>) -> Option<AskSchedule> {
    let doc = "Whether the model is asked when an episode begins.";
    let at_start = fields
        .key("at_start", doc)
        .or(false, |place| place.read_flag());
    let doc = "Whether the model is asked when the person has written something.";
    let on_message = fields
        .key("on_message", doc)
        .or(true, |place| place.read_flag());
    let doc = "The time from one question to the next, in seconds, if the model is also asked without a message.";
    let every_s = fields
        .key("every_s", doc)
        .maybe(|place| place.read_whole(2..=3_600, "seconds"));
    let (at_start, on_message, every_s) = (at_start?, on_message?, every_s?);
    if !at_start && !on_message && every_s.is_none() {
        fields.whole.wrong_at(
            "on_message",
            "the model is never asked; write `at_start: true`, `on_message: true` or `every_s: 20`",
        );
        return None;
    }
    Some(AskSchedule {
        at_start,
        on_message,
        every_s,
    })
}

fn style(fields: &mut Fields<'_>) -> Option<WritingStyle> {
    let doc = "The maximum length of a message that the model writes, in characters. A longer one is cut.";
    let max_length = fields.key("max_length", doc).or(300, |place| {
        place.read_whole(1..=MAX_CHAT_LENGTH, "characters")
    });
    let doc = "The typing delay: each character of a message delays it by this many milliseconds.";
    let typing_ms = fields
        .key("typing_ms", doc)
        .or(25, |place| place.read_whole(0..=500, "milliseconds"));
    let doc = "The longest typing delay of a message, in seconds.";
    let typing_max_s = fields
        .key("typing_max_s", doc)
        .or(4, |place| place.read_whole(0..=60, "seconds"));
    Some(WritingStyle {
        max_length: max_length?,
        typing_ms: typing_ms?,
        typing_max_s: typing_max_s?,
    })
}

fn fallback(place: &Cursor<'_>) -> Option<Fallback> {
    let mut fields = place.fields("what stands in for an answer")?;
    let say = fields
        .key("say", "A message.")
        .maybe(|place| place.text(usize::from(MAX_CHAT_LENGTH)));
    let doc = "A directive for the policy of its seat, such as `wait`.";
    let directive = fields.key("do", doc).maybe(|place| place.text(60));
    fields.done();
    Some(Fallback {
        say: say?,
        directive: directive?,
    })
}

fn price(place: &Cursor<'_>) -> Option<TokenPrice> {
    let mut fields = place.fields("the price of a million tokens")?;
    let input = fields.key("input", "Of the prompt, in units of a currency.");
    let input = input.require_key("0.15", |place| place.read_number(0.0..=10_000.0, ""));
    let output = fields.key("output", "Of the answer, in units of the same currency.");
    let output = output.require_key("0.60", |place| place.read_number(0.0..=10_000.0, ""));
    fields.done();
    Some(TokenPrice {
        input: input?,
        output: output?,
    })
}

fn usual_limits() -> SpendingLimits {
    SpendingLimits {
        requests: 60,
        session_cost: None,
        study_cost: None,
    }
}

fn limits(place: &Cursor<'_>) -> Option<SpendingLimits> {
    let mut fields = place.fields("what a language model may cost")?;
    let doc = "The maximum number of requests in an episode.";
    let requests = fields.key("requests", doc);
    let requests = requests.or(usual_limits().requests, |place| {
        place.read_whole(1..=400, "requests")
    });
    let doc = "The maximum cost of a session, in the currency of `price`.";
    let session_cost = fields.key("session_cost", doc);
    let session_cost = session_cost.maybe(|place| place.read_number(0.0..=100_000.0, ""));
    let doc = "The maximum cost in the whole study, in the currency of `price`.";
    let study_cost = fields.key("study_cost", doc);
    let study_cost = study_cost.maybe(|place| place.read_number(0.0..=100_000.0, ""));
    fields.done();
    Some(SpendingLimits {
        requests: requests?,
        session_cost: session_cost?,
        study_cost: study_cost?,
    })
}
